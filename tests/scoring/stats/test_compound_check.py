"""The automatic check against the released outputs and lexicon, and each of its rules apart."""

import json

import numpy as np
import pytest

from annotation.formats.errors import FormatError
from annotation.protocol.compound import analyse
from scoring.stats.compound_check import CompoundCheck, Lexicon, compound_check, find_fault, read_lexicon
from scoring.stats.error_rates import UNDECIDED, Instances
from tests.scoring.stats.released import analysis, expected, judged_instances, judged_outputs
from tests.shared import shared

SMALL = "the\t/\nanother\t另/又\nsmall\t小\ndog\t狗/犬\nmet\t遇见\nmod1\t店里\nliked\t喜欢/\nwith\t/\n"


def small(*, compatible: bool = False) -> Lexicon:
    return read_lexicon(SMALL.encode(), compatible=compatible)


def fault(compound: str, translation: str, *, compatible: bool = False) -> str:
    return find_fault(analyse(compound), translation, small(compatible=compatible))


def check_released(kind: str, *, compatible: bool) -> CompoundCheck:
    outputs = judged_outputs(kind)
    content = shared("data/cognition/lexicon").read_bytes()
    return compound_check(
        judged_instances(kind),
        analyses=[analysis(output.compound) for output in outputs],
        translations=[output.hypothesis for output in outputs],
        lexicon=read_lexicon(content, compatible=compatible),
        labels="imported",
    )


def check(rows: list[tuple[str, str, int]]) -> CompoundCheck:
    """Check (compound, translation, expert's verdict) rows with the small lexicon."""
    return compound_check(
        Instances(
            unit=np.array([compound for compound, _, _ in rows], dtype=object),
            context=np.arange(len(rows)),
            verdict=np.array([verdict for _, _, verdict in rows], dtype=np.int8),
            cannot_judge=np.zeros(len(rows), dtype=np.bool_),
        ),
        analyses=[analyse(compound) for compound, _, _ in rows],
        translations=[translation for _, translation, _ in rows],
        lexicon=small(),
        labels="single/1",
    )


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_reproduces_the_published_check_in_compatible_mode(kind: str) -> None:
    result, reference = check_released(kind, compatible=True), expected("cognition", "auto_evaluator", kind)
    assert dict(result.cells) == reference["cells"]
    document = result.as_json()
    assert round(document["error_precision"], 2) == reference["error_precision"]
    assert round(document["error_recall"], 2) == reference["error_recall"]
    assert (document["n"], document["judged"], document["unchecked"]) == (3600, 3600, 0)


def test_it_differs_from_the_published_check_only_through_its_quirks() -> None:
    plain, quirky = check_released("NP", compatible=False), check_released("NP", compatible=True)
    assert plain.verdict.tolist() == quirky.verdict.tolist()
    plain, quirky = check_released("VP", compatible=False), check_released("VP", compatible=True)
    changed = np.flatnonzero(plain.verdict != quirky.verdict)
    assert [judged_outputs("VP")[row].compound.split()[0] for row in changed] == ["liked"]
    assert plain.faults[changed[0]] == 'no form of "liked"'


def test_it_counts_the_checks_own_error_rates() -> None:
    result = check_released("NP", compatible=True)
    assert result.rates.instance.errors == 695  # 2 + 693 of the reference cells
    assert result.rates.aggregate.decided.n == 720


def test_it_wants_a_form_of_every_atom() -> None:
    assert fault("another small dog", "另 一只 小 狗 跑 了 。") == ""
    assert fault("another small dog", "又一只小犬跑了。") == ""
    assert fault("another small dog", "一只小狗跑了。") == 'no form of "another"'
    assert fault("another small dog", "另一只狗跑了。") == 'no form of "small"'
    assert fault("another small dog", "") == 'no form of "another"'


def test_it_wants_no_form_where_the_lexicon_says_so() -> None:
    assert fault("the dog", "狗跑了。") == ""


def test_it_cleans_the_translation_as_bleu_does() -> None:
    assert fault("another dog", "另 一@@ 只\u3000狗") == ""
    lexicon = read_lexicon("another\t另外 一只\ndog\t狗\n".encode())
    assert find_fault(analyse("another dog"), "另@@ 外 一@@ 只 狗", lexicon) == ""


def test_it_wants_determiner_and_adjective_before_the_last_noun() -> None:
    assert fault("another small dog", "狗很小，另说") == '"another" does not come before "dog"'
    assert fault("another small dog", "另一只狗很小") == '"small" does not come before "dog"'
    assert fault("another small dog", "狗很小，另一只狗") == ""


def test_it_wants_the_modifier_before_the_noun_except_in_verb_phrases() -> None:
    assert fault("the dog at the store", "店里的狗") == ""
    assert fault("the dog at the store", "狗在店里") == '"at the store" does not come before "dog"'
    assert fault("with the dog at the store", "和狗在店里") == '"at the store" does not come before "dog"'
    assert fault("met the dog at the store", "遇见狗在店里") == ""


def test_it_passes_an_empty_form_in_compatible_mode_only() -> None:
    assert fault("liked the dog", "狗", compatible=True) == ""
    assert fault("liked the dog", "狗") == 'no form of "liked"'


def test_it_takes_the_later_of_two_lines_in_compatible_mode_and_both_otherwise() -> None:
    content = "the\t/\nbuilding\t楼\nbuilding\t房子\n".encode()
    both, later = read_lexicon(content), read_lexicon(content, compatible=True)
    assert find_fault(analyse("the building"), "那座楼", both) == ""
    assert find_fault(analyse("the building"), "那座楼", later) == 'no form of "building"'
    assert both.warnings == ("Line 3: building is listed twice; the forms of both lines count.",)
    assert later.warnings == ("Line 3: building is listed twice; the later line counts.",)


def test_it_reads_forms_as_regular_expressions_in_compatible_mode_only() -> None:
    content = "the\t/\ndog\t狗.\n".encode()
    assert find_fault(analyse("the dog"), "狗儿", read_lexicon(content, compatible=True)) == ""
    assert find_fault(analyse("the dog"), "狗儿", read_lexicon(content)) == 'no form of "dog"'


def test_it_reads_a_lexicon_with_mark_blank_lines_and_windows_line_ends() -> None:
    lexicon = read_lexicon(b"\xef\xbb\xbf" + "the\t/\r\n\r\nDog\t狗\r\n".encode())
    assert set(lexicon.patterns) == {"the", "dog"}
    assert find_fault(analyse("The dog"), "狗", lexicon) == ""


@pytest.mark.parametrize(
    ("content", "line", "word"),
    [
        ("the\t/\ndog 狗\n".encode(), 2, "one tab"),
        (b"the\t/\ndog\t\n", 2, "one tab"),
        ("the\t/\n\ndog\t狗\t犬\n".encode(), 3, "one tab"),
        ("\t狗\n".encode(), 1, "one tab"),
        (b"the\t//\n", 1, "one tab"),
        (b"the\t/\ndog\t\xb9\xb7\n", 2, "UTF-8"),
    ],
)
def test_it_names_the_line_of_a_lexicon_it_cannot_read(content: bytes, line: int, word: str) -> None:
    with pytest.raises(FormatError, match=word) as raised:
        read_lexicon(content)
    assert raised.value.line == line


def test_it_names_the_line_of_a_form_that_is_no_regular_expression() -> None:
    content = "the\t/\ndog\t狗(\n".encode()
    with pytest.raises(FormatError, match="regular expression") as raised:
        read_lexicon(content, compatible=True)
    assert raised.value.line == 2
    assert read_lexicon(content).patterns["dog"][0].pattern == r"狗\("


def test_it_counts_what_it_cannot_check_apart() -> None:
    result = check([("the dog", "狗", 1), ("the cat", "猫", 1), ("the sleepy gardener", "园丁", 0)])
    assert result.verdict.tolist() == [1, UNDECIDED, UNDECIDED]
    assert sum(result.cells.values()) == 1
    document = result.as_json()
    assert (document["n"], document["unchecked"]) == (1, 2)
    assert any("not recognised" in warning for warning in document["warnings"])


def test_it_names_atoms_the_lexicon_does_not_know() -> None:
    result = check([("every dog", "每只狗", 1)])
    assert result.faults == ("not checked: not in the lexicon: every",)
    assert result.warnings == ("1 instances not checked: not in the lexicon: every.",)


def test_it_leaves_unjudged_instances_out_of_the_comparison() -> None:
    result = check([("another dog", "另一只狗", -1), ("another dog", "狗", 0)])
    assert sum(result.cells.values()) == 1
    assert result.as_json()["n"] == 2


def test_it_gives_null_and_a_reason_where_precision_or_recall_are_undefined() -> None:
    document = check([("another dog", "另一只狗", 1)]).as_json()
    assert document["error_precision"] is None
    assert document["error_precision_reason"] == "no instance is called wrong"
    assert document["error_recall"] is None
    assert document["error_recall_reason"] == "experts call no instance wrong"


def test_precision_and_recall_have_intervals_over_compounds() -> None:
    # The contexts of a compound fail together: twenty of one compound count as one.
    found = check([("the small dog", "狗", 0)] * 20).as_json()
    assert found["error_recall"] == 100
    assert found["error_recall_ci95"][0] < 10
    whole = check_released("NP", compatible=True).as_json()
    for name in ("error_precision", "error_recall"):
        low, high = whole[f"{name}_ci95"]
        assert low < whole[name] < high
    assert whole["error_recall_ci95_method"] == "cluster-bootstrap"


def test_it_writes_the_contracts_document() -> None:
    document = json.loads(json.dumps(check([("another dog", "狗", 0)]).as_json()))
    assert {"n", "error_precision", "error_recall", "cells", "instance", "aggregate"} <= set(document)
    assert document["error_precision"] == 100.0
    assert document["cells"]["human_bad_auto_bad"] == 1
    assert document["signature"].startswith("compound-check|ver:1|mode:strict|")


def test_it_refuses_columns_of_unequal_length() -> None:
    with pytest.raises(ValueError, match="each instance"):
        compound_check(judged_instances("NP"), analyses=[], translations=[], lexicon=small(), labels="-")
