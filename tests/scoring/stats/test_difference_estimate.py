"""The difference estimate: unbiased over all samples, sharp where the judge is good, the released figures."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from scoring.stats.compound_check import compound_check, read_lexicon
from scoring.stats.difference_estimate import (
    DifferenceEstimate,
    difference_estimate,
)
from scoring.stats.error_rates import WRONG, Instances
from tests.scoring.stats.released import analysis, judged_instances, judged_outputs
from tests.shared import shared

Verdicts = NDArray[np.int8]


def estimate(
    truth: Verdicts, judge: Verdicts, sampled: list[int], **changed: NDArray[np.bool_]
) -> DifferenceEstimate:
    """`truth` and `judge` of five contexts a compound; experts judge the compounds named."""
    unit = np.arange(truth.size) // 5
    verdict = np.where(np.isin(unit, sampled), truth, -1).astype(np.int8)
    instances = Instances(
        unit=unit,
        context=np.arange(truth.size),
        verdict=verdict,
        cannot_judge=np.zeros(truth.size, dtype=np.bool_),
    )
    return difference_estimate(instances, judge, labels="x", judge="y", **changed)


def world(compounds: int, seed: int, *, slips: float) -> tuple[Verdicts, Verdicts]:
    rng = np.random.default_rng(seed)
    rate = rng.beta(0.5, 1.5, compounds)
    truth = (rng.random((compounds, 5)) >= rate[:, None]).astype(np.int8).ravel()
    return truth, np.where(rng.random(truth.size) < slips, 1 - truth, truth).astype(np.int8)


def aggregate(verdicts: Verdicts) -> float:
    return float((verdicts.reshape(-1, 5) == WRONG).any(axis=1).mean())


def test_it_is_unbiased_over_all_samples_however_bad_the_judge() -> None:
    truth, _ = world(13, 1, slips=0)
    judge = np.ones(65, dtype=np.int8)  # finds no error at all
    found = [estimate(truth, judge, list(sample)) for sample in combinations(range(13), 10)]
    instance = [one.instance.estimate for one in found if one.instance.estimate is not None]
    whole = [one.aggregate.estimate for one in found if one.aggregate.estimate is not None]
    assert len(instance) == len(whole) == 286
    assert np.mean(instance) == pytest.approx(1 - float(truth.mean()))
    assert np.mean(whole) == pytest.approx(aggregate(truth))


def test_its_interval_is_that_of_the_textbook() -> None:
    truth, judge = world(200, 2, slips=0.05)
    found = estimate(truth, judge, list(range(60)))
    human = (truth.reshape(-1, 5) == WRONG).mean(axis=1)
    apart = (human - (judge.reshape(-1, 5) == WRONG).mean(axis=1))[:60]
    # Cochran's formula; the added half observations widen it a little.
    error = np.sqrt((1 - 60 / 200) * apart.var(ddof=1) / 60)
    these = found.instance.interval_these
    both = found.instance.interval
    assert these is not None
    assert both is not None
    assert (these[1] - these[0]) / 2 == pytest.approx(2.001 * error, rel=0.06)
    error = np.sqrt(error**2 + human[:60].var(ddof=1) / 200)
    assert (both[1] - both[0]) / 2 == pytest.approx(2.001 * error, rel=0.06)
    unequal = (truth != judge)[:300].mean()
    assert found.instance.design_effect == pytest.approx(
        apart.var(ddof=1) * 5 / (unequal - apart.mean() ** 2)
    )
    assert found.instance.gain == pytest.approx(human[:60].var(ddof=1) / apart.var(ddof=1))


def test_its_intervals_cover_the_rate_of_these_compounds() -> None:
    truth, judge = world(300, 3, slips=0.04)
    rng = np.random.default_rng(4)
    hits = np.zeros(2)
    for _ in range(150):
        found = estimate(truth, judge, rng.choice(300, 60, replace=False).tolist())
        for place, (one, true) in enumerate(
            ((found.instance, 1 - float(truth.mean())), (found.aggregate, aggregate(truth)))
        ):
            assert one.interval_these is not None
            hits[place] += one.interval_these[0] <= true <= one.interval_these[1]
    assert (hits / 150 > 0.90).all()


def test_a_judge_without_a_fault_in_the_sample_leaves_an_interval() -> None:
    truth, _ = world(100, 5, slips=0)
    found = estimate(truth, truth, list(range(20)))
    assert found.instance.estimate == pytest.approx(1 - float(truth.mean()))
    assert found.instance.gain is None
    for one in (found.instance, found.aggregate):
        assert one.interval_these is not None
        assert one.interval_these[0] < one.interval_these[1]


def test_it_reproduces_the_released_rates_from_a_sixth_of_the_compounds() -> None:
    lexicon = read_lexicon(shared("data/cognition/lexicon").read_bytes(), compatible=True)
    measured: dict[str, tuple[float, float, float]] = {}
    for kind, rates in {"NP": (791 / 3600, 389 / 720), "VP": (801 / 3600, 400 / 720)}.items():
        instances, outputs = judged_instances(kind), judged_outputs(kind)
        judge = compound_check(
            instances,
            analyses=[analysis(output.compound) for output in outputs],
            translations=[output.hypothesis for output in outputs],
            lexicon=lexicon,
            labels="imported",
            seed=0,
        ).verdict
        units = np.unique(instances.unit)
        drawn = np.isin(instances.unit, np.random.default_rng(7).choice(units, 120, replace=False))
        sample = Instances(unit=instances.unit, context=instances.context, cannot_judge=instances.cannot_judge,
                           verdict=np.where(drawn, instances.verdict, -1).astype(np.int8))  # fmt: skip
        found = difference_estimate(sample, judge, labels="imported", judge="lexicon")
        for one, rate in zip((found.instance, found.aggregate), rates, strict=True):
            assert (one.population, one.sample) == (720, 120)
            assert one.interval_these is not None
            assert one.interval_these[0] < rate < one.interval_these[1]
            assert one.gain is not None
            assert one.gain > 4
        wrong = instances.verdict == WRONG
        found_wrong, found_right = (judge == WRONG)[wrong].mean(), (judge != WRONG)[~wrong].mean()
        measured[kind] = float(found_wrong), float(found_right), float((judge == WRONG).mean())
    # What the judge's errors on noun phrases would make of the verb phrases: 25.5 where 22.25 is true.
    found_wrong, found_right, _of_nouns = measured["NP"]
    borrowed = (measured["VP"][2] + found_right - 1) / (found_wrong + found_right - 1)
    assert 100 * borrowed == pytest.approx(25.5, abs=0.05)


def test_it_refuses_a_judge_that_left_something_out() -> None:
    truth, judge = world(20, 1, slips=0.1)
    judge[7] = -1
    with pytest.raises(ProtocolError, match="1 instances have no automatic verdict, the first in 1"):
        estimate(truth, judge, list(range(12)))
    with pytest.raises(ValueError, match="each instance"):
        estimate(truth, judge[:5], [])


def test_it_counts_what_was_drawn_and_not_judged_in_full() -> None:
    truth, judge = world(30, 1, slips=0.1)
    drawn = np.arange(150) < 100
    found = estimate(truth, judge, list(range(15)), drawn=drawn)
    assert found.incomplete == 5
    assert found.instance.sample == 15
    assert estimate(truth, judge, list(range(15))).incomplete == 0


def test_it_says_when_the_sample_is_too_small() -> None:
    truth, judge = world(30, 1, slips=0.1)
    document = estimate(truth, judge, [1, 2, 3]).as_json()
    assert document["instance"]["percent"] is None
    assert document["instance"]["reason"].startswith("3 compounds of the sample are judged in full")
    assert document["instance"]["automatic_percent"] == pytest.approx(100 * (judge == 0).mean())
