"""Two systems' BLEU and chrF, against sacrebleu on the very same resamples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.errors import ProtocolError
from scoring.stats import paired_texts
from scoring.stats.bleu import TextScore, bleu_of_sums, chrf_of_sums, corpus_bleu, corpus_chrf
from scoring.stats.paired_texts import compare_texts, score_with_interval
from scoring.stats.significance import drawn_counts

quickly = settings(max_examples=25, deadline=None, derandomize=True)
text = st.text("甲乙丙丁，", min_size=1, max_size=12)


def corpus(n: int, seed: int) -> tuple[list[str], list[str], list[str]]:
    """References and two systems, the second worse."""
    rng = np.random.default_rng(seed)
    letters = list("的一是在不了有和人这中大为上个国我以要他")
    references = ["".join(rng.choice(letters, rng.integers(6, 14))) for _ in range(n)]

    def noisy(rate: float) -> list[str]:
        return [
            "".join(str(rng.choice(letters)) if rng.random() < rate else one for one in line)
            for line in references
        ]

    return references, noisy(0.15), noisy(0.3)


def sacrebleu_scores(metric: str, hypotheses: list[str], references: list[str]) -> float:
    import sacrebleu

    if metric == "BLEU":
        return float(sacrebleu.corpus_bleu(hypotheses, [references], tokenize="char").score)
    return float(sacrebleu.corpus_chrf(hypotheses, [references]).score)


SCORERS = {"BLEU": corpus_bleu, "CHRF": corpus_chrf}


@given(st.lists(st.tuples(st.one_of(st.just(""), text), text), min_size=1, max_size=6))
@quickly
def test_chrf_of_sums_is_sacrebleus(rows: list[tuple[str, str]]) -> None:
    hypotheses, references = [row[0] for row in rows], [row[1] for row in rows]
    statistics = corpus_chrf(hypotheses, references).statistics
    assert float(chrf_of_sums(statistics.sum(axis=0))) == pytest.approx(
        sacrebleu_scores("CHRF", hypotheses, references), abs=1e-9
    )


@pytest.mark.parametrize("metric", ["BLEU", "CHRF"])
def test_its_interval_is_that_of_sacrebleu_on_the_same_resamples(metric: str) -> None:
    references, better, worse = corpus(30, 1)
    scored = [(name, SCORERS[metric](texts, references)) for name, texts in (("a", better), ("b", worse))]
    found = compare_texts(scored, seed=7, resamples=120, shuffles=9)
    draws = drawn_counts(np.random.default_rng(7), 30, 120).astype(int)
    apart, alone = [], []
    for counts in draws:
        rows = np.repeat(np.arange(30), counts)
        a, b = (
            sacrebleu_scores(metric, [texts[row] for row in rows], [references[row] for row in rows])
            for texts in (better, worse)
        )
        apart.append(a - b)
        alone.append(a)
    assert found.differences[0].interval == pytest.approx(tuple(np.quantile(apart, [0.025, 0.975])), abs=1e-9)
    assert found.systems[0].interval == pytest.approx(tuple(np.quantile(alone, [0.025, 0.975])), abs=1e-9)
    for system, texts in zip(found.systems, (better, worse), strict=True):
        assert system.score == pytest.approx(sacrebleu_scores(metric, texts, references), abs=1e-9)


@pytest.mark.parametrize("metric", ["BLEU", "CHRF"])
def test_its_p_is_that_of_all_swaps(metric: str) -> None:
    references, better, worse = corpus(7, 3)
    scored = [(name, SCORERS[metric](texts, references)) for name, texts in (("a", better), ("b", worse))]
    found = compare_texts(scored, seed=1, resamples=100, shuffles=8000).differences[0]
    assert found.difference is not None
    extreme = []
    for swapped in product((False, True), repeat=7):
        x = [b if swap else a for a, b, swap in zip(better, worse, swapped, strict=True)]
        y = [a if swap else b for a, b, swap in zip(better, worse, swapped, strict=True)]
        apart = sacrebleu_scores(metric, x, references) - sacrebleu_scores(metric, y, references)
        extreme.append(abs(apart) >= abs(found.difference) - 1e-9)
    exact = float(np.mean(extreme))
    assert found.p == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 8000) ** 0.5 + 2e-4)


def test_it_draws_whole_compounds_where_it_is_told_so() -> None:
    references, better, worse = corpus(12, 2)
    once = [(name, corpus_bleu(texts, references)) for name, texts in (("a", better), ("b", worse))]
    five = [(name, corpus_bleu(texts * 5, references * 5)) for name, texts in (("a", better), ("b", worse))]
    alone = compare_texts(once, seed=1, shuffles=99)
    clustered = compare_texts(five, clusters=list(range(12)) * 5, seed=1, shuffles=99)
    # A compound that stands there five times over weighs five times as much in every sum: the same figures.
    assert (clustered.n, clustered.units) == (60, 12)
    assert clustered.differences[0].interval == pytest.approx(alone.differences[0].interval)
    loose = compare_texts(five, seed=1, shuffles=99).differences[0].interval
    tight = clustered.differences[0].interval
    assert loose is not None
    assert tight is not None
    assert loose[1] - loose[0] < tight[1] - tight[0]


def test_it_says_why_there_is_no_interval() -> None:
    references, better, _ = corpus(10, 2)
    score = corpus_bleu(better, references)
    same = compare_texts([("a", score), ("b", score)], shuffles=99).differences[0]
    assert (same.difference, same.interval, same.p) == (0.0, None, 1.0)
    assert same.ci95_reason is not None
    empty = corpus_bleu(better, references, keep=[False] * 10)
    nothing = compare_texts([("a", empty), ("b", empty)])
    assert nothing.systems[0].as_json()["ci95_reason"] == empty.reason
    assert nothing.differences[0].reason == empty.reason


def one_fewer(references: list[str], texts: list[str]) -> TextScore:
    return corpus_bleu(texts, references, keep=[False] + [True] * (len(texts) - 1))


def test_it_refuses_to_compare_what_is_not_alike() -> None:
    references, better, worse = corpus(10, 2)
    score = corpus_bleu(better, references)
    with pytest.raises(ProtocolError, match="one metric"):
        compare_texts([("a", score), ("b", corpus_chrf(worse, references))])
    with pytest.raises(ProtocolError, match="same sentences"):
        compare_texts([("a", score), ("b", one_fewer(references, worse))])
    with pytest.raises(ValueError, match="one per kept sentence"):
        compare_texts([("a", score)], clusters=[1, 2])


def test_its_interval_is_that_of_plain_draws_but_for_chance() -> None:
    references, better, worse = corpus(60, 4)
    scored = [(name, corpus_bleu(texts, references)) for name, texts in (("a", better), ("b", worse))]
    rng, resamples = np.random.default_rng(3), 4000
    counts = np.stack([np.bincount(rng.integers(0, 60, 60), minlength=60) for _ in range(resamples)])
    plain = [bleu_of_sums(counts @ score.statistics) for _, score in scored]
    found = compare_texts(scored, seed=7, resamples=resamples, shuffles=9).differences[0].interval
    assert found is not None
    # An end of a 95 % interval is known to about 2.7 standard deviations / the root of the resamples.
    apart = plain[0] - plain[1]
    error = 2.7 * apart.std() / resamples**0.5
    assert found == pytest.approx(tuple(np.quantile(apart, [0.025, 0.975])), abs=4 * 2**0.5 * error)


def test_sums_in_four_bytes_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    references, better, worse = corpus(200, 5)
    scored = [(name, corpus_chrf(texts, references)) for name, texts in (("a", better), ("b", worse))]
    narrow = compare_texts(scored, resamples=100, shuffles=99)
    monkeypatch.setattr(paired_texts, "_exact_up_to", lambda largest: np.float64)
    assert compare_texts(scored, resamples=100, shuffles=99) == narrow
    monkeypatch.undo()
    assert paired_texts._exact_up_to(2**24) is np.float64


def test_one_systems_score_has_the_interval_it_has_in_a_comparison() -> None:
    references, hypotheses, _ = corpus(30, 5)
    clusters = [number // 5 for number in range(30)]
    score = corpus_bleu(hypotheses, references)
    (compared, _) = compare_texts([("a", score), ("b", score)], clusters=clusters, seed=3, shuffles=9).systems
    found = score_with_interval(score, clusters=clusters, seed=3)
    assert compared.interval is not None
    assert found["ci95"] == list(compared.interval)
    assert (found["score"], found["ci95_method"]) == (score.score, "cluster-bootstrap|units:6|rs:3|bs:1000")
    empty = score_with_interval(corpus_bleu([], []))
    assert (empty["ci95"], empty["ci95_method"]) == (None, None)
    assert empty["ci95_reason"]
