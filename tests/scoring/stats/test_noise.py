"""The correction for experts' noise: worlds made by its own model give back what they were made of."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring.stats.noise import Corrected, Judgements, Model, noise_corrected

Bools = NDArray[np.bool_]


def truth(compounds: int, seed: int) -> Bools:
    """(compounds, 5) truly wrong contexts, hanging together as in the released data: 54 % hold one, 22 % are wrong."""
    rng = np.random.default_rng(seed)
    number = rng.choice(6, compounds, p=np.array([331, 179, 96, 56, 38, 20]) / 720)
    return rng.permuted(np.arange(5)[None, :] < number[:, None], axis=1)


def judgements(wrong: Bools, *, false_alarm: float, miss: float, seed: int, doubled: float = 1.0,
               resolve: bool = False) -> Judgements:  # fmt: skip
    """One judgement of each instance, and a second one of some compounds, made by the model."""
    rng = np.random.default_rng(seed)
    compounds = len(wrong)
    twice = rng.random(compounds) < doubled
    columns: dict[str, list[int]] = {"unit": [], "context": [], "verdict": [], "order": [], "resolved": []}
    for order, rows in ((1, np.arange(compounds)), (2, np.flatnonzero(twice))):
        slips = np.where(
            wrong[rows], rng.random((rows.size, 5)) < miss, rng.random((rows.size, 5)) < false_alarm
        )
        columns["unit"] += np.repeat(rows, 5).tolist()
        columns["context"] += (np.repeat(rows, 5) * 5 + np.tile(np.arange(5), rows.size)).tolist()
        columns["verdict"] += (1 - (wrong[rows] ^ slips)).ravel().tolist()
        columns["order"] += [order] * rows.size * 5
        columns["resolved"] += (1 - wrong[rows]).ravel().tolist()
    return Judgements(
        unit=columns["unit"],
        context=columns["context"],
        verdict=np.array(columns["verdict"], dtype=np.int8),
        order=np.array(columns["order"]),
        resolved=np.array(columns["resolved"], dtype=np.int8) if resolve else None,
    )


def inside(value: float, interval: tuple[float, float] | None) -> bool:
    assert interval is not None
    return interval[0] <= value <= interval[1]


@pytest.mark.parametrize(
    ("model", "false_alarm", "miss"),
    [("symmetric", 0.03, 0.03), ("false-alarms", 0.03, 0.0), ("misses", 0.0, 0.06), ("resolved", 0.02, 0.06)],
)
def test_it_gives_back_the_truth_of_a_world_made_by_its_model(
    model: Model, false_alarm: float, miss: float
) -> None:
    wrong = truth(2000, seed=1)
    told = judgements(
        wrong, false_alarm=false_alarm, miss=miss, seed=2, doubled=0.5, resolve=model == "resolved"
    )
    found = noise_corrected(told, labels="x", model=model, resamples=200)
    assert found.false_alarm == pytest.approx(false_alarm, abs=0.006)
    assert found.miss == pytest.approx(miss, abs=0.02)
    assert found.instance is not None
    assert found.aggregate is not None
    assert found.single_aggregate is not None
    # The truth of this world is one draw; the intervals are about such compounds and hold it all the more.
    assert inside(float(wrong.mean()), found.instance_interval)
    assert inside(float(wrong.any(axis=1).mean()), found.aggregate_interval)
    plain = abs(found.single_aggregate - wrong.any(axis=1).mean())
    assert abs(found.aggregate - wrong.any(axis=1).mean()) < plain / 2


def test_the_rule_of_any_context_amplifies_noise() -> None:
    right = np.zeros((1500, 5), dtype=np.bool_)
    found = noise_corrected(judgements(right, false_alarm=0.02, miss=0.0, seed=1), labels="x", model="false-alarms",
                            resamples=100)  # fmt: skip
    assert found.single_instance == pytest.approx(0.02, abs=0.005)
    assert found.single_aggregate == pytest.approx(1 - 0.98**5, abs=0.02)
    assert found.aggregate == pytest.approx(0, abs=0.01)


def test_it_corrects_nothing_where_experts_never_differ() -> None:
    wrong = truth(300, seed=4)
    found = noise_corrected(judgements(wrong, false_alarm=0, miss=0, seed=1), labels="x", resamples=100)
    assert (found.false_alarm, found.miss) == (0.0, 0.0)
    assert found.aggregate == pytest.approx(wrong.any(axis=1).mean(), abs=1e-6)
    assert found.instance == pytest.approx(wrong.mean(), abs=1e-6)
    assert found.differing_interval is not None
    assert found.differing_interval[1] > 0  # never differing in 1,500 does not mean never


def log_likelihood(told: Judgements, shares: NDArray[np.float64], f: float, m: float) -> float:
    """The model word for word: over all choices of T wrong contexts, judgement by judgement."""
    units: dict[object, dict[object, list[int]]] = {}
    for unit, context, verdict in zip(told.unit, told.context, told.verdict.tolist(), strict=True):
        units.setdefault(unit, {}).setdefault(context, []).append(verdict)
    total = 0.0
    for contexts in units.values():
        of_context = []
        for verdicts in contexts.values():
            right = np.prod([f if verdict == 0 else 1 - f for verdict in verdicts])
            wrong = np.prod([1 - m if verdict == 0 else m for verdict in verdicts])
            of_context.append((right, wrong))
        chance = 0.0
        for t in range(6):
            chosen = list(combinations(range(5), t))
            each = [np.prod([of_context[k][k in those] for k in range(5)]) for those in chosen]
            chance += shares[t] * float(np.mean(each))
        total += float(np.log(chance))
    return total


def test_no_other_shares_of_wrong_contexts_explain_the_judgements_better() -> None:
    from scipy.optimize import minimize

    told = judgements(truth(60, seed=6), false_alarm=0.05, miss=0.05, seed=7, doubled=0.6)
    found = noise_corrected(told, labels="x", resamples=100)
    assert found.false_alarm is not None
    assert found.miss is not None
    noise = found.false_alarm, found.miss

    def cost(logits: NDArray[np.float64]) -> float:
        shares = np.exp(np.append(logits, 0.0))
        return -log_likelihood(told, shares / shares.sum(), *noise)

    best = minimize(cost, np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    shares = np.exp(np.append(best.x, 0.0))
    shares /= shares.sum()
    assert found.aggregate == pytest.approx(1 - shares[0], abs=2e-3)
    assert found.instance == pytest.approx(shares @ np.arange(6) / 5, abs=2e-3)


def reason(told: Judgements, model: Model = "symmetric") -> str | None:
    found = noise_corrected(told, labels="x", model=model, resamples=100)
    assert isinstance(found, Corrected)
    assert (found.aggregate is None) == (found.reason is not None)
    return found.reason


def test_it_says_why_the_noise_cannot_be_known() -> None:
    wrong = truth(60, seed=1)
    once = judgements(wrong, false_alarm=0.02, miss=0.02, seed=1, doubled=0.0)
    assert reason(once) == "0 instances were judged twice; fewer than 50 say too little about noise"
    toss = judgements(wrong, false_alarm=0.5, miss=0.5, seed=8)
    if reason(toss) is not None:
        assert "close to a toss" in str(reason(toss))
    unsettled = judgements(wrong, false_alarm=0.1, miss=0.1, seed=1)
    assert "were settled" in str(reason(unsettled, "resolved"))
    four = Judgements(
        unit=[1] * 4, context=[1, 2, 3, 4], verdict=np.ones(4, dtype=np.int8), order=np.ones(4, dtype=int)
    )
    assert reason(four) == "no compound here has exactly five judged contexts"


def test_it_refuses_unknown_models_and_verdicts() -> None:
    told = judgements(truth(60, seed=1), false_alarm=0.02, miss=0.02, seed=1)
    with pytest.raises(ValueError, match="no noise model"):
        noise_corrected(told, labels="x", model="optimistic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="leave out"):
        Judgements(unit=[1], context=[1], verdict=np.array([-1], dtype=np.int8), order=np.array([1]))


def test_it_writes_percent_and_signs_the_model() -> None:
    found = noise_corrected(judgements(truth(60, seed=1), false_alarm=0.04, miss=0.04, seed=1), labels="main",
                            source="repeats", resamples=100)  # fmt: skip
    document = found.as_json()
    assert found.aggregate is not None
    assert document["aggregate"]["percent"] == 100 * found.aggregate
    assert "model:symmetric|source:repeats" in str(document["signature"])
