"""Every estimate with an interval: over small random tables it has a width, and holds the estimate.

The one exception is a finite population that was seen in full: there the rate is known.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.agreement import agreement, ratings_from_matrix
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.consistency import Repeats, self_consistency, shift
from scoring.stats.difference_estimate import difference_estimate
from scoring.stats.error_rates import Instances, error_rates
from scoring.stats.measure_intervals import auc_bounds, call_bounds
from scoring.stats.paired_predictions import Predictions, compare_predictions
from scoring.stats.paired_texts import score_with_interval
from scoring.stats.proportions import share_of_units, share_over_clusters
from scoring.stats.significance import compare_systems
from scoring.stats.spot_checks import Checked, check_estimate
from scoring.stats.systems import JudgedSystem

Interval = tuple[float, float] | None

SOME = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 10_000)
RATES = st.sampled_from((0.0, 0.05, 0.3, 0.5, 0.9, 1.0))


def check(value: float | None, interval: Interval, *, why: str | None = None, width: bool = True) -> None:
    """An interval with a width that holds the value, or none and a reason."""
    if interval is None:
        assert value is None or why
        return
    assert value is not None
    low, high = interval
    assert low - 1e-9 <= value <= high + 1e-9
    assert high - low > 1e-6 or not width


def instances(rng: np.random.Generator, compounds: int, rate: float, *, undecided: float = 0.0) -> Instances:
    verdict = (rng.random(compounds * 5) >= rate).astype(np.int8)
    verdict[rng.random(verdict.size) < undecided] = -1
    return Instances(
        unit=np.repeat(np.arange(compounds), 5),
        context=np.arange(compounds * 5),
        verdict=verdict,
        cannot_judge=np.zeros(verdict.size, dtype=np.bool_),
    )


@SOME
@given(n=st.integers(1, 12), errors=st.integers(0, 12), seed=SEEDS, rate=RATES)
def test_shares(n: int, errors: int, seed: int, rate: float) -> None:
    share = share_of_units(min(errors, n), n, nothing="nothing")
    check(share.share, share.interval)
    rng = np.random.default_rng(seed)
    judged = rng.integers(1, 6, n)
    clustered = share_over_clusters(
        rng.binomial(judged, rate), judged, seed=seed, resamples=200, nothing="nothing"
    )
    check(clustered.share, clustered.interval)


@SOME
@given(compounds=st.integers(1, 9), rate=RATES, undecided=st.sampled_from((0.0, 0.3)), seed=SEEDS)
def test_error_rates(compounds: int, rate: float, undecided: float, seed: int) -> None:
    made = instances(np.random.default_rng(seed), compounds, rate, undecided=undecided)
    found = error_rates(made, labels="", seed=seed, resamples=200).overall
    for share in (found.instance, found.aggregate.decided, found.all_contexts_wrong):
        check(share.share, share.interval, why=share.reason)


@SOME
@given(
    n=st.integers(1, 12),
    people=st.integers(2, 4),
    rate=RATES,
    missing=st.sampled_from((0.0, 0.4)),
    clustered=st.booleans(),
    seed=SEEDS,
)
def test_agreement(n: int, people: int, rate: float, missing: float, clustered: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.choice(3, (n, 1), p=(0.6, 0.1, 0.3))
    table = np.where(rng.random((n, people)) < rate, rng.integers(3, size=(n, people)), first)
    table[rng.random(table.shape) < missing] = -1
    ratings = ratings_from_matrix(
        table,
        raters=tuple("abcd"[:people]),
        categories=("0", "0.5", "1"),
        scale=(0, 0.5, 1),
        clusters=np.arange(n) // 2 if clustered else None,
    )
    found = agreement(ratings, seed=seed, resamples=100)
    of_pairs = [mean.coefficient for mean in found.mean_over_pairs.values()]
    for one in (*found.coefficients.values(), *of_pairs):
        check(one.value, one.ci95, why=one.ci95_reason)


def triples(rng: np.random.Generator, n: int, share: float) -> NDArray[np.bool_]:
    return rng.random(n) < share


@SOME
@given(
    n=st.integers(1, 14),
    share=RATES,
    runs=st.integers(1, 3),
    ties=st.booleans(),
    perfect=st.booleans(),
    seed=SEEDS,
)
def test_auc_and_f1(n: int, share: float, runs: int, ties: bool, perfect: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plausible = triples(rng, n, share)
    digits = 0 if ties else 6
    scores: list[NDArray[np.float64]] = [
        plausible.astype(np.float64) if perfect else np.round(rng.random(n), digits) for _ in range(runs)
    ]
    label = plausible.astype(np.int8)
    own = compare_predictions(label, [Predictions(name="a", runs=tuple(scores))], labels="").groups[0].spreads
    value = {spread.measure: spread.mean for spread in own}
    bounds = {"auc": auc_bounds(plausible, scores), **call_bounds(plausible, [one >= 0.5 for one in scores])}
    for name, one in bounds.items():
        interval = None if one.interval is None else (100 * one.interval[0], 100 * one.interval[1])
        check(value[name] if interval is not None else None, interval, why=one.reason)


@SOME
@given(n=st.integers(1, 12), share=RATES, seed=SEEDS, alike=st.booleans())
def test_differences(n: int, share: float, seed: int, alike: bool) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.random(n), rng.random(n)
    label = triples(rng, n, share).astype(np.int8)
    pair = [Predictions(name="a", runs=(one,)), Predictions(name="b", runs=(one if alike else other,))]
    for group in compare_predictions(label, pair, labels="", seed=seed, resamples=100, shuffles=20).groups:
        for found in group.differences:
            check(found.difference, found.interval, why=found.ci95_reason or found.reason)
    first = instances(rng, n, share)
    second = first if alike else instances(rng, n, 0.3)
    systems = [JudgedSystem(name=name, runs=(made,)) for name, made in (("a", first), ("b", second))]
    for found in compare_systems(systems, labels="", seed=seed, resamples=100, shuffles=20).differences:
        check(found.difference, found.interval, why=found.ci95_reason or found.reason)


@st.composite
def strata(draw: st.DrawFn) -> dict[str, Checked]:
    def one() -> Checked:
        size = draw(st.integers(1, 12))
        checked = draw(st.integers(0, size))
        return Checked(size=size, checked=checked, errors=draw(st.integers(0, checked)))

    return {str(number): one() for number in range(draw(st.integers(1, 3)))}


@SOME
@given(parts=strata())
def test_spot_checks(parts: dict[str, Checked]) -> None:
    found = check_estimate(parts)
    for made, some in [(found, list(parts.values())), *((found.by[name], [parts[name]]) for name in parts)]:
        check(made.rate, made.interval, why=made.reason, width=any(part.checked < part.size for part in some))


@SOME
@given(compounds=st.integers(2, 30), judged=st.integers(0, 30), rate=RATES, slips=RATES, seed=SEEDS)
def test_difference_estimates(compounds: int, judged: int, rate: float, slips: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = instances(rng, compounds, rate)
    judge = np.where(rng.random(made.verdict.size) < slips, 1 - made.verdict, made.verdict).astype(np.int8)
    sampled = np.repeat(np.arange(compounds) < judged, 5)
    sample = Instances(
        unit=made.unit,
        context=made.context,
        verdict=np.where(sampled, made.verdict, -1).astype(np.int8),
        cannot_judge=made.cannot_judge,
    )
    found = difference_estimate(sample, judge, labels="", judge="")
    for one in (found.instance, found.aggregate):
        check(one.estimate, one.interval, why=one.reason)
        check(one.estimate, one.interval_these, why=one.reason, width=one.sample < one.population)


@SOME
@given(n=st.integers(0, 12), rate=RATES, seed=SEEDS)
def test_what_is_judged_twice(n: int, rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(-1, 2, n)
    again = np.where(rng.random(n) < rate, rng.integers(-1, 2, n), first)
    moved = shift(first, again)
    check(moved.difference, moved.interval, why=moved.reason)
    repeats = Repeats(item=list(range(n)), person=["a"] * n, first=first, again=again)
    document = self_consistency(
        repeats, categories=("0", "1"), scale=(0, 1), seed=seed, resamples=100
    ).as_json()
    for found in figures_of(document):
        check(
            found["value"],
            None if found["ci95"] is None else tuple(found["ci95"]),
            why=found.get("ci95_reason"),
        )


def figures_of(document: object) -> Iterator[dict[str, Any]]:
    """Everything in a document that has a value and an interval."""
    if isinstance(document, dict):
        if {"value", "ci95"} <= document.keys():
            yield document
        for value in document.values():
            yield from figures_of(value)
    elif isinstance(document, list | tuple):
        for value in document:
            yield from figures_of(value)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 8), slips=RATES, clustered=st.booleans(), seed=SEEDS)
def test_scores_of_texts(n: int, slips: float, clustered: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    references = ["".join(rng.choice(list("园丁医生小狗笑了去商店"), 8)) for _ in range(n)]
    hypotheses = ["".join("错" if rng.random() < slips else sign for sign in text) for text in references]
    for score in (corpus_bleu(hypotheses, references), corpus_chrf(hypotheses, references)):
        clusters = [number // 2 for number in range(n)] if clustered else None
        found = score_with_interval(score, clusters=clusters, seed=seed, resamples=100)
        interval = None if found["ci95"] is None else tuple(found["ci95"])
        check(found["score"], interval, why=found.get("ci95_reason"))
