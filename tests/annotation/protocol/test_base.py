"""The two protocols as data, and how a label is read."""

import csv
import dataclasses
import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.base import PROTOCOLS, Protocol, get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence
from tests.shared import shared

COMPOUND, TRIPLE = get_protocol("compound"), get_protocol("triple")
FULL_WIDTH = {code - 0xFEE0: code for code in range(0xFF01, 0xFF5F)}


def test_it_finds_the_two_protocols_by_name_and_names_them_for_an_unknown_one() -> None:
    assert list(PROTOCOLS) == ["compound", "triple"]
    with pytest.raises(ProtocolError, match=r"“pairwise”.*compound and triple"):
        get_protocol("pairwise")


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_cannot_be_changed(protocol: Protocol) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        protocol.default_k = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        protocol.default_rules[3] = "majority"  # type: ignore[index]


def test_it_orders_the_scale_from_low_to_high() -> None:
    assert COMPOUND.labels == ("0", "1")
    assert COMPOUND.scale_values == (0.0, 1.0)
    assert TRIPLE.labels == ("0", "0.5", "1")
    assert TRIPLE.scale_values == (0.0, 0.5, 1.0)
    assert [answer.key for answer in TRIPLE.scale] == ["rarely", "sometimes", "often"]


def test_it_orders_a_worded_scale_by_the_scale_and_not_by_the_alphabet() -> None:
    words = ["often", "never", "sometimes"]
    by_scale = sorted(words, key=lambda word: TRIPLE.labels.index(TRIPLE.parse_label(word)))
    assert by_scale == ["never", "sometimes", "often"]
    assert by_scale != sorted(words)


def test_it_reads_every_label_of_the_worded_case_file() -> None:
    with shared("cases/c26_agr_worded_scale.csv").open(encoding="utf-8", newline="") as file:
        read = [TRIPLE.parse_label(row["label"]) for row in csv.DictReader(file)]
    assert len(read) == 24
    # From the file by hand: 7 never, 8 sometimes, 9 often.
    assert {label: read.count(label) for label in TRIPLE.labels} == {"0": 7, "0.5": 8, "1": 9}


def test_it_knows_the_columns_of_the_item_files() -> None:
    assert COMPOUND.needed_columns == ("compound", "source", "translation")
    assert [c.name for c in COMPOUND.columns if c.needed and c.may_be_empty] == ["translation"]
    assert TRIPLE.needed_columns == ("head", "relation", "tail")
    assert TRIPLE.column_names == ("triple_id", "head", "relation", "tail", "class", "split", "label")
    assert (COMPOUND.id_column, TRIPLE.id_column) == ("item_id", "triple_id")
    assert (COMPOUND.contexts_per_unit, TRIPLE.contexts_per_unit) == (5, None)
    assert (COMPOUND.default_k, TRIPLE.default_k) == (1, 2)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_speaks_english_and_chinese_everywhere(protocol: Protocol) -> None:
    words = [protocol.title, protocol.unit, protocol.cannot_judge]
    words += [answer.words for answer in protocol.scale]
    words += [cause.words for cause in protocol.cannot_judge_causes]
    assert all(w.en.isascii() and any("\u4e00" <= character <= "\u9fff" for character in w.zh) for w in words)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *[(text, "1") for text in ("1", "1.0", "1.", "1.000", "１", "１．０", "true", "True", "TRUE")],
        *[(text, "1") for text in ("correct", "Correct", "CORRECT", "ｃｏｒｒｅｃｔ")],
        *[(text, "1") for text in ("正确", " 正确\u3000", "\ufeff1")],
        *[(text, "0") for text in ("0", "0.0", ".0", "０", "false", "False", "FALSE")],
        *[(text, "0") for text in ("incorrect", "Wrong", "INCORRECT", "错误", "\t0\n", "0\u200b")],
    ],
)
def test_it_reads_what_files_write_for_a_compound(text: str, label: str) -> None:
    assert COMPOUND.parse_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *[(text, "1") for text in ("1", "1.0", "１", "Always/Often", "always / often", "ALWAYS", "often")],
        *[(text, "1") for text in ("总是／经常成立", "总是/经常成立", "总是", "经常", "Ｏｆｔｅｎ")],
        *[(text, "0.5") for text in ("0.5", ".5", "0.50", "０．５", "sometimes", "Sometimes")],
        *[(text, "0.5") for text in ("有时成立", "有时")],
        *[(text, "0") for text in ("0", "0.0", "０", "Rarely/Never/Ambiguous/Invalid")],
        *[(text, "0") for text in ("rarely", "Never", "AMBIGUOUS", "invalid", "很少", "从不", "含义不明")],
        *[(text, "0") for text in ("不成立", "不成立（不合语法、关系不符）")],
        ("很少／从不成立，或含义不明、不成立", "0"),
    ],
)
def test_it_reads_what_files_write_for_a_triple(text: str, label: str) -> None:
    assert TRIPLE.parse_label(text) == label


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "2", "-1", "+1", "10", "01", "0.5", "0,0", "1e0", "nan", "inf", "None", "yes", "y"),
        *("¹", "①", "½", "1 0", "1/1", "0.99999999999999999999999", "always", "correct.", "对", "正確"),
    ],
)
def test_it_refuses_anything_else_for_a_compound(text: str) -> None:
    with pytest.raises(ProtocolError, match="correct or incorrect"):
        COMPOUND.parse_label(text, in_file=True)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0.49999", "0.5000000000000000000001", "0.75", "0,5", "5", "1.5", "-0.5", "5e-1", "½"),
        *("true", "false", "correct", "often/always", "alway", "never sometimes", "有时候吧"),
    ],
)
def test_it_refuses_anything_else_for_a_triple(text: str) -> None:
    with pytest.raises(ProtocolError, match=r"0\.5 or sometimes"):
        TRIPLE.parse_label(text, in_file=True)


def test_it_quotes_the_wrong_label_and_not_a_whole_sentence() -> None:
    with pytest.raises(ProtocolError, match="“perhaps” is not an answer"):
        TRIPLE.parse_label("perhaps")
    with pytest.raises(ProtocolError) as refusal:
        TRIPLE.parse_label("word " * 10_000)
    assert len(refusal.value.message) < 300


@given(st.decimals(min_value=-2, max_value=2, places=4))
@settings(deadline=None)
def test_it_compares_numbers_exactly(number: Decimal) -> None:
    text = f"{number:f}"
    expected = {Decimal("0"): "0", Decimal("0.5"): "0.5", Decimal("1"): "1"}.get(number)
    if expected is None or text.startswith("-"):
        with pytest.raises(ProtocolError):
            TRIPLE.parse_label(text)
    else:
        assert TRIPLE.parse_label(text) == expected


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_reads_its_own_codes_keys_and_words_in_any_case_and_width(protocol: Protocol) -> None:
    for answer in protocol.scale:
        for text in (answer.score, answer.key, answer.words.en, answer.words.zh):
            for variant in (text, text.upper(), text.title(), text.translate(FULL_WIDTH), f"\u00a0{text} "):
                assert protocol.parse_label(variant) == answer.score


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_reads_no_spelling_in_two_ways(protocol: Protocol) -> None:
    spellings = [spelling for answer in protocol.scale for spelling in answer.accepted]
    assert len(spellings) == len(set(spellings))


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_gives_the_answer_of_a_label_code(protocol: Protocol) -> None:
    assert [protocol.answer(label) for label in protocol.labels] == list(protocol.scale)
    with pytest.raises(ProtocolError, match=f"“2” is not a label of the {protocol.name} scale"):
        protocol.answer("2")


@pytest.mark.parametrize("text", ["perhaps", " "])
@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
def test_it_lists_what_is_accepted_with_scores_only_to_who_brings_a_file(
    protocol: Protocol, text: str
) -> None:
    with pytest.raises(ProtocolError) as to_expert:
        protocol.parse_label(text)
    with pytest.raises(ProtocolError) as to_manager:
        protocol.parse_label(text, in_file=True)

    assert not re.search("[0-9]", to_expert.value.message)
    for answer in protocol.scale:
        assert answer.words.en in to_expert.value.message
        assert answer.words.zh in to_expert.value.message
    for example in protocol.examples:
        assert example in to_manager.value.message


def test_it_says_what_a_file_may_hold_with_the_connecting_words_of_another_language() -> None:
    chinese = {
        "{one} or {other}": "{one} 或 {other}",
        "{one} or {other} (or {third})": "{one} 或 {other}（或 {third}）",
    }
    with pytest.raises(ProtocolError) as refused:
        COMPOUND.parse_label("", in_file=True)

    said = refused.value.message
    assert isinstance(said, Sentence)
    said = said.translated(lambda text: chinese.get(text, text), lambda *forms: "")
    assert "1 或 0, correct 或 incorrect（或 wrong）, true 或 false, 正确 或 错误" in said
