"""Character BLEU against sacrebleu, the small cases and the released figures."""

import builtins
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from scoring.stats.bleu import (
    TextScore,
    bleu_of_sums,
    chrf_of_sums,
    clean,
    corpus_bleu,
    corpus_chrf,
    punctuation_class,
    remove_spaces,
)
from tests.scoring.stats.released import column, expected, judged_outputs


def score_case(name: str) -> TextScore:
    return corpus_bleu(column(name, "translation"), column(name, "reference"))


@cache
def score_released(kind: str, ascii_marks: bool = False) -> TextScore:
    """A released system, rows left out whose source is not the test set's; its punctuation changed if asked."""
    outputs = judged_outputs(kind)
    changed = str.maketrans(
        {"，": ",", "。": ".", "？": "?", "！": "!", "：": ":", "；": ";"} if ascii_marks else {}
    )
    return corpus_bleu(
        [output.hypothesis.translate(changed) for output in outputs],
        [output.reference for output in outputs],
        keep=[output.source == output.judged_source for output in outputs],
    )


@pytest.mark.parametrize(
    ("name", "score"),
    [
        # cases/expected_values.json
        ("cases/c36_bleu_subword_output.tsv", 77.7952),
        ("cases/c37_bleu_empty_output.tsv", 64.1926),
        ("cases/c38_bleu_pairs_axes.tsv", 77.7952),
        ("cases/c53_bleu_pairs_segmenter.tsv", 77.7952),
    ],
)
def test_it_scores_the_small_cases(name: str, score: float) -> None:
    assert score_case(name).score == pytest.approx(score, abs=1e-4)


def test_it_needs_no_segmenter(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_import = builtins.__import__

    def without_jieba(name: str, *rest: Any, **options: Any) -> Any:
        if name.split(".")[0] == "jieba":
            raise ImportError("no segmenter is installed")
        return plain_import(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_jieba)
    assert score_case("cases/c53_bleu_pairs_segmenter.tsv").score == pytest.approx(77.7952, abs=1e-4)


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_gives_the_released_systems_score_with_its_signature(kind: str) -> None:
    score, reference = score_released(kind), expected("cognition", "bleu", f"{kind}_exact")
    assert score.score == pytest.approx(reference["char"], abs=0.005)
    assert score.n == reference["n"]
    assert score.left_out == 3600 - reference["n"]
    assert (
        score.signature.rpartition("|version:")[0] == reference["signature_char"].rpartition("|version:")[0]
    )
    assert score.warnings == ()


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_warns_of_ascii_punctuation_and_shows_what_it_costs(kind: str) -> None:
    score = score_released(kind, ascii_marks=True)
    assert score.score == pytest.approx(
        expected("cognition", "bleu", f"{kind}_exact", "char_if_hyp_punctuation_is_ascii"), abs=0.1
    )
    assert len(score.warnings) == 1
    assert "translations is ascii, that of the references is full-width" in score.warnings[0]


@pytest.mark.parametrize(
    ("mark", "text"),
    [
        ("▁", "▁那个▁园丁▁笑了▁。"), ("##", "那 ##个 ##园 ##丁 ##笑 ##了 ##。"), ("￭", "那个￭ 园丁 ￭笑了 。"),
        ("Ġ", "那个 Ġ园丁笑了。"), ("</w>", "那个</w> 园丁</w> 笑了</w> 。</w>"), ("@@", "那个园@@丁笑了。"),
    ],
)  # fmt: skip
def test_it_warns_of_subword_marks_that_are_not_undone(mark: str, text: str) -> None:
    reference = "那个园丁笑了。"
    score = corpus_bleu([text, "那个 园@@ 丁 笑 了 。", text, text], [reference, reference, reference, text])
    (warning,) = score.warnings
    assert warning.startswith(f"2 translations hold the subword mark “{mark}”")
    (warning,) = corpus_bleu([text], [reference]).warnings
    assert warning.startswith(f"1 translation holds the subword mark “{mark}”")


def test_it_says_why_bleu_is_0_where_nothing_has_four_characters() -> None:
    score = corpus_bleu(["狗笑了", "狗"], ["狗笑了", "狗"])
    assert score.score == 0.0
    assert score.warnings == (
        "No translation has four characters, so BLEU is 0 whatever they say; chrF can tell them apart.",
    )
    assert corpus_chrf(["狗笑了", "狗"], ["狗笑了", "狗"]).warnings == ()
    assert corpus_bleu(["狗笑了", "", "狗笑了。"], ["狗笑了", "狗", "狗笑了。"]).warnings == ()


@given(st.lists(st.text("甲乙丙丁戊", min_size=1, max_size=12), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_identical_texts_score_100_at_most(texts: list[str]) -> None:
    for score, of_sums in ((corpus_bleu, bleu_of_sums), (corpus_chrf, chrf_of_sums)):
        found = score(texts, texts)
        assert found.score is not None
        assert found.score <= 100.0
        assert of_sums(found.statistics.sum(axis=0)) <= 100.0


def test_it_counts_an_empty_translation_as_one() -> None:
    score = corpus_bleu(["", "狗笑了。"], ["猫哭了。", "狗笑了。"])
    assert score.n == 2
    assert score.score is not None
    assert 0 < score.score < 60
    assert corpus_bleu(["", ""], ["猫哭了。", "狗笑了。"]).score == 0.0


@pytest.mark.parametrize("reference", ["", "  ", "\u3000", "\u200b"])
def test_it_names_the_row_of_an_empty_reference(reference: str) -> None:
    with pytest.raises(ProtocolError, match="row 2: the reference is empty"):
        corpus_bleu(["狗。", "猫。"], ["狗。", reference])
    with pytest.raises(ProtocolError, match="NP-0002: the reference is empty"):
        corpus_bleu(["狗。", "猫。"], ["狗。", reference], names=["NP-0001", "NP-0002"])


def test_it_takes_an_empty_reference_of_a_row_left_out() -> None:
    score = corpus_bleu(["狗。笑了", "猫。"], ["狗。笑了", ""], keep=[True, False])
    assert (score.n, score.left_out) == (1, 1)
    assert score.score == pytest.approx(100.0)


def test_it_refuses_lists_of_unequal_length() -> None:
    with pytest.raises(ProtocolError, match="2 translations and 1 references"):
        corpus_bleu(["狗。", "猫。"], ["狗。"])
    with pytest.raises(ValueError, match="keep and names"):
        corpus_bleu(["狗。"], ["狗。"], keep=[True, True])


def test_it_refuses_lists_of_references() -> None:
    transposed: Any = [["狗。"], ["猫。"]]
    with pytest.raises(TypeError, match="not a list"):
        corpus_bleu(["狗。", "猫。"], transposed)
    missing: Any = [None, "猫。"]
    with pytest.raises(TypeError, match="row 1"):
        corpus_bleu(missing, ["狗。", "猫。"])


def test_it_gives_null_and_a_reason_without_rows() -> None:
    document = corpus_bleu(["狗。"], [""], keep=[False]).as_json()
    assert document["score"] is None
    assert document["reason"]
    assert (document["n"], document["left_out"]) == (0, 1)
    assert "tok:char" in document["signature"]


@pytest.mark.parametrize(
    ("given_text", "cleaned"),
    [
        ("那个 困@@ 倦 的 园@@ 丁", "那个困倦的园丁"),
        ("那个 困@@", "那个困"),
        ("那个\u3000园\u00a0丁\u2009笑\t了\n。", "那个园丁笑了。"),
        ("\ufeff狗\u200b笑\u2060了", "狗笑了"),
        ("泰勒 Swift 's", "泰勒Swift's"),
        ("给 me@@example 写信", "给me@@example写信"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("", ""),
    ],
)
def test_it_cleans_joiners_and_every_kind_of_space(given_text: str, cleaned: str) -> None:
    assert clean(given_text) == cleaned


def test_it_scores_references_with_and_without_spaces_alike() -> None:
    hypotheses = ["那个园丁笑了。", "泰勒Swift走了。"]
    with_spaces = corpus_bleu(hypotheses, ["那个 园丁\u3000笑了 。", "泰勒 Swift\u200b 走了。"])
    assert with_spaces.score == pytest.approx(100.0)


@given(st.text(alphabet="甲乙@ \u3000\u200ba", max_size=30))
def test_it_leaves_no_space_and_cleans_once_for_all(text: str) -> None:
    once = clean(text)
    assert remove_spaces(once) == once
    assert not any(character.isspace() for character in once)


lines = st.lists(
    st.tuples(
        st.text(alphabet="甲乙丙丁。", max_size=9), st.text(alphabet="甲乙丙丁。", min_size=1, max_size=9)
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(lines)
def test_it_adds_statistics_up_to_sacrebleus_own_score(pairs: list[tuple[str, str]]) -> None:
    from sacrebleu.metrics.bleu import BLEU

    hypotheses, references = [hypothesis for hypothesis, _ in pairs], [reference for _, reference in pairs]
    score = corpus_bleu(hypotheses, references)
    reference_score = BLEU(tokenize="char").corpus_score(hypotheses, [references]).score
    assert score.score == pytest.approx(reference_score, abs=1e-12)
    assert score.statistics.shape == (len(pairs), 10)
    assert bleu_of_sums(score.statistics.sum(axis=0)) == pytest.approx(reference_score, abs=1e-12)


def test_it_aggregates_many_resamples_at_once_as_sacrebleu_does_one_by_one() -> None:
    from sacrebleu.metrics.bleu import BLEU

    statistics = score_released("NP").statistics
    rng = np.random.default_rng(2)
    weights = rng.multinomial(
        statistics.shape[0], np.full(statistics.shape[0], 1 / statistics.shape[0]), size=20
    )
    sums = weights @ statistics
    metric = BLEU(tokenize="char")
    one_by_one = [metric._compute_score_from_stats(row.tolist()).score for row in sums]
    assert bleu_of_sums(sums) == pytest.approx(one_by_one, abs=1e-12)


def test_it_gives_chrf_as_sacrebleu_does() -> None:
    from sacrebleu.metrics.chrf import CHRF

    hypotheses = [clean(text) for text in column("cases/c36_bleu_subword_output.tsv", "translation")]
    references = column("cases/c36_bleu_subword_output.tsv", "reference")
    score = corpus_chrf(column("cases/c36_bleu_subword_output.tsv", "translation"), references)
    assert score.score == pytest.approx(CHRF().corpus_score(hypotheses, [references]).score, abs=1e-12)
    assert score.statistics.shape == (5, 18)
    assert "nc:6|nw:0" in score.signature


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["狗笑了。", "猫，走了！"], "full-width"),
        (["狗笑了.", "猫,走了!"], "ascii"),
        (["狗笑了。", "猫,走了!"], "mixed"),
        (["狗笑了", "3.10和1,000"], "none"),
        ([], "none"),
        (["价格是3.50元。"], "full-width"),
    ],
)
def test_it_tells_how_texts_are_punctuated(texts: list[str], kind: str) -> None:
    assert punctuation_class(texts) == kind


def test_it_writes_a_document_without_arrays() -> None:
    document = json.loads(json.dumps(score_case("cases/c38_bleu_pairs_axes.tsv").as_json()))
    assert set(document) == {"n", "left_out", "score", "reason", "warnings", "signature"}
