"""`python -m benchmarks.campaigns`: how often the intervals of a whole campaign hold what was planted.

A campaign is simulated without a database, by the rules and statistics that the site uses: 400 triples, four experts in
the cyclic design, two of them on each triple. What is true of a triple is drawn anew every time, 22 % plausible. An
expert *errs* at their planted rate, which is a whole point off; on a further share, more often on hard triples and then
both experts at once, they are half a point off. A checker who makes no error judges a spot check, drawn in strata of
part and experts.

- *spot check*: an expert's errors, and triples on which either erred. The interval is about these 400 triples, so it is
  compared with what the experts really did on them; and, which no sample of a finite lot promises, with the planted
  rates.
- *agreement*, the share of *contrasts* and that of *plausible* triples by ckbp2: the interval is about triples like
  these, judged by these experts, so it is compared with the same figure over a million triples.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.assignment import Plan, PlanUnit, plan
from annotation.protocol.labels import final_label
from annotation.protocol.sampling import stratified_sample
from scoring.stats.agreement import AgreementReport, agreement
from scoring.stats.agreement_input import ratings_from_numbers
from scoring.stats.proportions import share_of_units
from scoring.stats.spot_checks import Checked, check_estimate

TRIPLES, CHECKED, K = 400, 120, 2
ERRS = {"A1": 0.03, "A2": 0.05, "A3": 0.08, "A4": 0.12}  # a whole point off
HARD = (0.5, 4.5)  # beta: how often they are half a point off differs between triples
NEAR = HARD[0] / sum(HARD)
TRUE = {"0": 0.60, "0.5": 0.18, "1": 0.22}
SCALE = ("0", "0.5", "1")
POPULATION = 1_000_000
FIGURES = (
    "raw",
    "contrast",
    "fleiss",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "gwet_ac1",
    "gwet_ac2",
)

Codes = NDArray[np.int64]


class Case(NamedTuple):
    """One interval beside the true value; None where there was no interval."""

    figure: str
    true: float
    interval: tuple[float, float] | None


class Judged(NamedTuple):
    """Triples with their true category, and of each its two experts (columns of ERRS) and what they said."""

    truth: Codes
    experts: Codes
    said: Codes

    def wrong(self) -> NDArray[np.bool_]:
        """Which judgements are a whole point off."""
        return np.asarray(np.abs(self.said - self.truth[:, None]) == len(SCALE) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1000, help="of each bootstrap")
    arguments = parser.parse_args()
    sys.stdout.write(section(arguments.repetitions, arguments.resamples) + "\n")


def section(repetitions: int, resamples: int = 1000) -> str:
    """The section for RESULTS.md."""
    true = population()
    found: dict[str, list[Case]] = defaultdict(list)
    for seed in range(repetitions):
        for case in campaign(seed, true, resamples=resamples):
            found[case.figure].append(case)
    lines = [
        "## Campaigns simulated from the plan to the labels: coverage of the 95 % intervals",
        "",
        f"{repetitions} repetitions: {TRIPLES} triples, cyclic, four experts who err on "
        f"{', '.join(f'{100 * rate:g}' for rate in ERRS.values())} % and are half a point off on {100 * NEAR:g} %, "
        f"a spot check of {CHECKED}. A coverage of 95 % is known to ± {_known_to(repetitions):.1f} points. "
        "What each interval is compared with: the head of benchmarks/campaigns.py.",
        "",
        "| 95 % interval of | true, mean | covered, % | width, mean | without |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [_line(figure, cases) for figure, cases in found.items()]
    return "\n".join(lines)


def _line(figure: str, cases: list[Case]) -> str:
    held = [case for case in cases if case.interval is not None]
    covered = np.mean([case.interval[0] <= case.true <= case.interval[1] for case in held if case.interval])
    width = np.mean([case.interval[1] - case.interval[0] for case in held if case.interval])
    true = np.mean([case.true for case in cases])
    return f"| {figure} | {true:.3f} | {100 * covered:.1f} | {width:.3f} | {len(cases) - len(held)} |"


def _known_to(repetitions: int) -> float:
    return float(2 * 100 * (0.95 * 0.05 / repetitions) ** 0.5)


# One campaign ----------------------------------------------------------------------------------------------------


def campaign(seed: int, true: dict[str, float], *, resamples: int) -> Iterator[Case]:
    """Plan, judge, check, measure, label."""
    rng = np.random.default_rng([seed, 11])
    keys = [f"t{i}" for i in range(TRIPLES)]
    planned = plan("cyclic", experts=list(ERRS), units=[PlanUnit(key, 1) for key in keys], k=K, seed=seed)
    part_of, experts = _dealt(planned, keys)
    judged = judge(rng, experts)
    yield from _spot_check(judged, keys, part_of, seed=seed)
    yield from _agreement(judged, true, seed=seed, resamples=resamples)
    labels = [final_label("ckbp2", [SCALE[code] for code in row], k=K).label for row in judged.said]
    share = share_of_units(labels.count("1"), TRIPLES, nothing="")
    yield Case("share plausible, by ckbp2", true["plausible"], share.interval)


def _dealt(planned: Plan, keys: list[str]) -> tuple[list[int], Codes]:
    """Of each triple its part and its experts, the first slot first."""
    column = {name: number for number, name in enumerate(ERRS)}
    place = {key: (part.index, part.experts) for part in planned.parts for key in part.unit_keys}
    return [place[key][0] for key in keys], np.array(
        [[column[name] for name in place[key][1]] for key in keys]
    )


def judge(rng: np.random.Generator, experts: Codes) -> Judged:
    """What these experts say of as many triples."""
    n = len(experts)
    truth = rng.choice(len(SCALE), n, p=list(TRUE.values()))
    middle = truth == 1
    near = rng.random((n, K)) < rng.beta(*HARD, (n, 1))
    errs = (rng.random((n, K)) < _rate_where_possible()[experts]) & ~middle[:, None]
    beside = np.where(rng.random((n, K)) < 0.5, 0, 2)
    half_off = np.where(middle[:, None], beside, 1)
    said = np.where(errs, 2 - truth[:, None], np.where(near, half_off, truth[:, None]))
    return Judged(truth, experts, said)


def _rate_where_possible() -> NDArray[np.float64]:
    """Nobody is a whole point off where the truth lies in the middle: the planted rates are over all triples."""
    return np.array(list(ERRS.values())) / (1 - TRUE["0.5"])


def _spot_check(judged: Judged, keys: list[str], part_of: list[int], *, seed: int) -> Iterator[Case]:
    names = list(ERRS)
    strata = [
        f"{part}:{'+'.join(sorted(names[one] for one in row))}"
        for part, row in zip(part_of, judged.experts, strict=True)
    ]
    drawn = set(stratified_sample(keys, strata, CHECKED, minimum=1, seed=seed).keys)
    is_drawn, stratum = np.array([key in drawn for key in keys]), np.array(strata)
    wrong = judged.wrong()
    either = np.asarray(wrong.any(axis=1))
    overall = check_estimate(_checked(stratum, is_drawn, either, np.ones(len(keys), dtype=np.bool_)))
    yield Case(
        "spot check: triples on which either erred, of these 400", float(either.mean()), overall.interval
    )
    yield Case("the same, beside the planted rate", _either(), overall.interval)
    for column, name in enumerate(names):
        mine = (judged.experts == column).any(axis=1)
        erred = (wrong & (judged.experts == column)).any(axis=1)
        found = check_estimate(_checked(stratum, is_drawn, erred, mine))
        yield Case(f"spot check: errors of {name}, of these", float(erred[mine].mean()), found.interval)
        yield Case(f"the same of {name}, beside the planted rate", ERRS[name], found.interval)


def _checked(
    stratum: NDArray[np.str_], drawn: NDArray[np.bool_], erred: NDArray[np.bool_], of: NDArray[np.bool_]
) -> dict[str, Checked]:
    return {
        str(name): Checked(
            size=int((stratum == name).sum()),
            checked=int((drawn & (stratum == name)).sum()),
            errors=int((erred & drawn & (stratum == name)).sum()),
        )
        for name in np.unique(stratum[of])
    }


def _either() -> float:
    """The planted share of triples on which one of two neighbours in the circle errs, or both."""
    rates, possible = _rate_where_possible(), 1 - TRUE["0.5"]
    pairs = [(rates[one], rates[one - 1]) for one in range(len(rates))]
    return float(np.mean([possible * (1 - (1 - a) * (1 - b)) for a, b in pairs]))


def _agreement(judged: Judged, true: dict[str, float], *, seed: int, resamples: int) -> Iterator[Case]:
    found = _measured(judged, seed=seed, resamples=resamples)
    for name in FIGURES:
        yield Case(f"agreement: {name}", true[name], found.coefficients[name].ci95)
    yield Case("share of contrasts", true["contrasts"], found.contrast_share.ci95)


def _measured(judged: Judged, *, seed: int, resamples: int = 0) -> AgreementReport:
    """The figures of agreement; without intervals where nothing is drawn anew."""
    n = len(judged.truth)
    ratings = ratings_from_numbers(
        item=np.repeat(np.arange(n), K),
        rater=judged.experts.ravel(),
        label=judged.said.ravel(),
        slot=np.tile(np.arange(1, K + 1), n),
        raters=list(ERRS),
        categories=SCALE,
        scale=[float(label) for label in SCALE],
        items=np.arange(n),
    )
    if not resamples:
        return agreement(ratings, seed=seed, intervals=False)
    return agreement(ratings, seed=seed, resamples=resamples)


def population() -> dict[str, float]:
    """The figures over a million triples, experts dealt as in the design."""
    rng = np.random.default_rng([0, 12])
    first = np.arange(POPULATION) % len(ERRS)
    judged = judge(rng, np.stack([first, (first - 1) % len(ERRS)], axis=1))
    found = _measured(judged, seed=0)
    values = {name: found.coefficients[name].value for name in FIGURES} | {
        "contrasts": found.contrast_share.value
    }
    top, least = (judged.said == 2).any(axis=1), judged.said.min(axis=1) >= 1
    return {name: value for name, value in values.items() if value is not None} | {
        "plausible": float((top & least).mean())
    }


if __name__ == "__main__":
    main()
