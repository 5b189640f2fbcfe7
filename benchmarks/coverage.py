"""`python -m benchmarks.coverage`: how often the 95 % intervals hold the true value, as a Markdown table.

Worlds whose true figures are known are made anew for every repetition:

- *compounds*: five contexts; the chance that a context is wrong differs between compounds (beta, mean 0.22, design
  effect 2.1, as in the released judgements);
- *experts*: two, each slips on 5 % of the contexts, on hard compounds more often (beta), so that disagreements
  come in clusters as well;
- *systems*: two that share what makes a compound hard;
- *triples*: single items on three categories, 22 % plausible, contrasts on 3 %;
- *models*: of such triples, one that scores them (AUC 0.95, normal scores), one that answers yes or no as seldom right
  as a published one (F1 0.40), and two experts whose slips are their own (the human row, a mean of two).

At one size more is measured, in a table of its own (`--more`): the coefficients that are not in the first table, of two
and three judgements an item and as a mean over pairs of people; character BLEU and chrF, compounds drawn from a large
set of them; the noise-corrected rates, where some compounds are wrong, few or none.

Intervals that cover between 93 and 97 % at 200 units and more are what is wanted.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.stats.agreement import agreement, ratings_from_matrix
from scoring.stats.agreement_report import Coefficient
from scoring.stats.agreement_table import Ratings
from scoring.stats.bleu import TextScore, bleu_of_sums, chrf_of_sums, corpus_bleu, corpus_chrf
from scoring.stats.coefficients import (
    Distance,
    cohen_kappa,
    contrast_coefficient,
    disagreement,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    ordinal_metric,
)
from scoring.stats.difference_estimate import difference_estimate
from scoring.stats.error_rates import CONTEXTS, Instances, error_rates
from scoring.stats.measure_intervals import Bounds, auc_bounds, call_bounds
from scoring.stats.noise import Judgements, noise_corrected
from scoring.stats.paired_texts import score_with_interval
from scoring.stats.proportions import wilson
from scoring.stats.significance import compare_systems
from scoring.stats.systems import JudgedSystem

PAGE = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
SIZES = (60, 200, 720)
MORE_SIZES = (200,)
NAIVE = "the same, contexts taken as independent"

WRONG_RATE, DESIGN_EFFECT = 0.22, 2.1
# Beta-binomial: design effect 1 + (contexts − 1) / (a + b + 1).
_TOGETHER = (CONTEXTS - 1) / (DESIGN_EFFECT - 1) - 1
OF_WRONG = (WRONG_RATE * _TOGETHER, (1 - WRONG_RATE) * _TOGETHER)
OF_SLIPS = (0.5, 9.5)
POPULATION = 2160
# First and second expert's category of a triple: 0, a half, 1.
TRIPLES = np.array([[0.70, 0.03, 0.016], [0.03, 0.02, 0.015], [0.014, 0.015, 0.16]])
PLAUSIBLE_SHARE, MODEL_AUC = 0.22, 0.95
# How often a plausible and an implausible triple are called plausible: by a poor model, by an expert.
POOR, EXPERT = (0.40, 0.16), (0.90, 0.02)
# A triple's true category, and what an expert makes of each.
TRUE_CATEGORY = np.array([0.70, 0.10, 0.20])
SEEN_AS = np.array([[0.94, 0.04, 0.02], [0.20, 0.60, 0.20], [0.03, 0.07, 0.90]])
SCALE = (0.0, 0.5, 1.0)
PEOPLE = 4  # who judge two at a time
SLIPS_EACH_WAY, FEW_WRONG = 0.05, 0.03  # of the worlds in which noise is corrected
TEXTS = 1500  # compounds that those with translations are drawn from


class Case(NamedTuple):
    """One interval beside the true value; None where there was no interval."""

    figure: str
    true: float
    interval: tuple[float, float] | None


Rows = dict[str, dict[int, list[Case]]]  # by figure and size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--resamples", type=int, default=1000, help="of each bootstrap")
    parser.add_argument("--more", action="store_true", help="the second table instead of the first")
    arguments = parser.parse_args()
    worlds, sizes = (MORE_WORLDS, MORE_SIZES) if arguments.more else (WORLDS, SIZES)
    rows = measured(arguments.repetitions, arguments.resamples, worlds=worlds, sizes=sizes)
    sys.stdout.write(table(rows, arguments.repetitions, sizes=sizes))


def write(repetitions: int, resamples: int = 1000) -> str:
    """Put the table into docs/coverage.md; the section for RESULTS.md that sums it up."""
    rows = measured(repetitions, resamples)
    page = PAGE.read_text(encoding="utf-8")
    made = table(rows, repetitions).strip()
    page = re.sub(r"\| 95 % interval of .*? points\.", lambda _: made, page, count=1, flags=re.DOTALL)
    page = re.sub(r"--repetitions \d+", f"--repetitions {repetitions}", page, count=1)
    PAGE.write_text(page, encoding="utf-8")
    return summary(rows, repetitions)


def measured(
    repetitions: int,
    resamples: int,
    *,
    worlds: "Sequence[World] | None" = None,
    sizes: Sequence[int] = SIZES,
) -> Rows:
    """Every interval of every repetition, and the true value beside it."""
    rows: Rows = defaultdict(lambda: defaultdict(list))
    for size in sizes:
        for seed in range(repetitions):
            for world in worlds or WORLDS:
                for case in world(size, seed, resamples):
                    rows[case.figure][size].append(case)
    return rows


def table(rows: Rows, repetitions: int, *, sizes: Sequence[int] = SIZES) -> str:
    """The Markdown table: a row per figure, a column per size, coverage in percent and mean width."""
    head = " | ".join(f"n = {size}" for size in sizes)
    lines = [f"| 95 % interval of | {head} |", "| --- |" + " ---: |" * len(sizes)]
    lines += [
        f"| {figure} | " + " | ".join(_cell(by_size.get(size, [])) for size in sizes) + " |"
        for figure, by_size in rows.items()
    ]
    return "\n".join([*lines, "", _known_to(repetitions)]) + "\n"


def summary(rows: Rows, repetitions: int) -> str:
    """For each size the least and the most that an interval covers, and which cover too little or too much."""
    lines = [
        "## Coverage of the 95 % intervals",
        "",
        f"{_known_to(repetitions)} Every figure: docs/coverage.md. Left out here is the interval that takes contexts "
        "as independent, which is there to show what goes wrong.",
        "",
        "| n | least, % | most, % | below 93 or above 97 % |",
        "| ---: | ---: | ---: | --- |",
    ]
    for size in SIZES:
        found = {figure: _covered(by_size[size]) for figure, by_size in rows.items() if figure != NAIVE}
        shares = {figure: 100 * share for figure, share in found.items() if share is not None}
        beyond = [f"{figure} {share:.1f}" for figure, share in shares.items() if not 93 <= share <= 97]
        lines.append(
            f"| {size} | {min(shares.values()):.1f} | {max(shares.values()):.1f} | {', '.join(beyond) or 'none'} |"
        )
    return "\n".join(lines)


def _known_to(repetitions: int) -> str:
    error = 100 * (0.95 * 0.05 / repetitions) ** 0.5
    return f"{repetitions} repetitions: a coverage of 95 % is known to ± {2 * error:.1f} points."


def _covered(cases: list[Case]) -> float | None:
    """The share of the intervals that hold the true value; None without an interval."""
    held = [case.interval[0] <= case.true <= case.interval[1] for case in cases if case.interval]
    return float(np.mean(held)) if held else None


def _cell(cases: list[Case]) -> str:
    share = _covered(cases)
    if share is None:
        return "none"
    widths = [case.interval[1] - case.interval[0] for case in cases if case.interval]
    missing = "" if len(widths) == len(cases) else f", {len(cases) - len(widths)} without"
    return f"{100 * share:.1f} ({np.mean(widths):.3f}{missing})"


def _wrong(rng: np.random.Generator, compounds: int) -> NDArray[np.bool_]:
    """(compounds, contexts) truly wrong."""
    return np.asarray(rng.random((compounds, CONTEXTS)) < rng.beta(*OF_WRONG, (compounds, 1)))


def _instances(wrong: NDArray[np.bool_]) -> Instances:
    return Instances(
        unit=np.repeat(np.arange(len(wrong)), CONTEXTS),
        context=np.arange(wrong.size),
        verdict=(~wrong).astype(np.int8).ravel(),
        cannot_judge=np.zeros(wrong.size, dtype=np.bool_),
    )


def _share_of_compounds(number: int) -> float:
    """The chance that a compound has so many wrong contexts."""
    from scipy.stats import betabinom  # noqa: PLC0415

    return float(betabinom.pmf(number, CONTEXTS, *OF_WRONG))


def _error_rates(n: int, seed: int, resamples: int) -> Iterator[Case]:
    wrong = _wrong(np.random.default_rng([seed, 1]), n)
    rates = error_rates(_instances(wrong), labels="", seed=seed, resamples=resamples).overall
    yield Case("instance error rate", WRONG_RATE, rates.instance.interval)
    yield Case(NAIVE, WRONG_RATE, wilson(int(wrong.sum()), wrong.size))
    yield Case("aggregate error rate", 1 - _share_of_compounds(0), rates.aggregate.decided.interval)
    yield Case("all contexts wrong", _share_of_compounds(CONTEXTS), rates.all_contexts_wrong.interval)


def _agreement_of_compounds(n: int, seed: int, resamples: int) -> Iterator[Case]:
    rng = np.random.default_rng([seed, 2])
    wrong = _wrong(rng, n)
    slips = rng.random((2, n, CONTEXTS)) < rng.beta(*OF_SLIPS, (n, 1))
    table = (~(wrong[None] ^ slips)).reshape(2, -1).T.astype(np.int64)
    ratings = ratings_from_matrix(
        table, raters=("a", "b"), categories=("0", "1"), clusters=np.repeat(np.arange(n), CONTEXTS)
    )
    a, b = OF_SLIPS
    once, twice = a / (a + b), a * (a + 1) / ((a + b) * (a + b + 1))
    both = WRONG_RATE * (1 - 2 * once + twice) + (1 - WRONG_RATE) * twice
    apart = once - twice
    share = both + apart
    kappa = 1 - 2 * apart / (2 * share * (1 - share))
    found = _coefficients(ratings, seed, resamples)
    yield _case("compounds: raw agreement", 1 - 2 * apart, found["raw"])
    for name in ("alpha_nominal", "cohen", "contrast"):
        yield _case(f"compounds: {name}", kappa, found[name])


def _agreement_of_triples(n: int, seed: int, resamples: int) -> Iterator[Case]:
    rng = np.random.default_rng([seed, 3])
    cells = rng.choice(9, n, p=TRIPLES.ravel())
    ratings = ratings_from_matrix(
        np.stack([cells // 3, cells % 3], axis=1),
        raters=("a", "b"),
        categories=("0", "0.5", "1"),
        scale=(0, 0.5, 1),
    )
    found = _coefficients(ratings, seed, resamples)
    rows, columns = TRIPLES.sum(axis=1), TRIPLES.sum(axis=0)
    nominal = (np.trace(TRIPLES) - rows @ columns) / (1 - rows @ columns)
    mean = (rows + columns) / 2
    yield _case("triples: raw agreement", float(np.trace(TRIPLES)), found["raw"])
    yield _case(
        "triples: alpha_nominal",
        float(1 - (1 - np.trace(TRIPLES)) / (1 - mean @ mean)),
        found["alpha_nominal"],
    )
    yield _case("triples: cohen", float(nominal), found["cohen"])
    yield _case("triples: contrast", float(contrast_coefficient(TRIPLES[None])), found["contrast"])


def _coefficients(ratings: Ratings, seed: int, resamples: int) -> dict[str, Coefficient]:
    return dict(agreement(ratings, seed=seed, resamples=resamples).coefficients)


def _case(figure: str, true: float, coefficient: Coefficient) -> Case:
    return Case(figure, true, coefficient.ci95)


def _systems(n: int, seed: int, resamples: int) -> Iterator[Case]:
    rng = np.random.default_rng([seed, 4])
    hard = rng.beta(*OF_WRONG, (n, 1))
    first, second = rng.random((n, CONTEXTS)) < hard, rng.random((n, CONTEXTS)) < hard * 0.8
    pair = [
        JudgedSystem(name=name, runs=(_instances(wrong),)) for name, wrong in (("a", first), ("b", second))
    ]
    instance, aggregate = compare_systems(
        pair, labels="", seed=seed, resamples=resamples, shuffles=1
    ).differences
    nodes, weights = _beta_nodes()
    any_wrong = weights @ ((1 - 0.8 * nodes) ** CONTEXTS - (1 - nodes) ** CONTEXTS)
    yield Case("difference of two systems, instance", 20 * WRONG_RATE, instance.interval)
    yield Case("difference of two systems, aggregate", 100 * float(any_wrong), aggregate.interval)


def _beta_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import roots_jacobi  # noqa: PLC0415

    a, b = OF_WRONG
    nodes, weights = roots_jacobi(40, b - 1, a - 1)
    return (nodes + 1) / 2, weights / weights.sum()


def _estimates(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """n compounds judged of 2,160, a judge that slips on 5 % of the contexts on everything."""
    rng = np.random.default_rng([seed, 5])
    wrong = _wrong(rng, POPULATION)
    judge = wrong ^ (rng.random(wrong.shape) < rng.beta(*OF_SLIPS, (POPULATION, 1)))
    instances = _instances(wrong)
    sampled = np.repeat(np.arange(POPULATION) < n, CONTEXTS)
    verdict = np.where(sampled, instances.verdict, -1).astype(np.int8)
    sample = Instances(
        unit=instances.unit, context=instances.context, verdict=verdict, cannot_judge=instances.cannot_judge
    )
    found = difference_estimate(sample, (~judge).astype(np.int8).ravel(), labels="", judge="")
    these = float(wrong.mean()), float(wrong.any(axis=1).mean())
    yield Case("difference estimate, instance", WRONG_RATE, found.instance.interval)
    yield Case("difference estimate, aggregate", 1 - _share_of_compounds(0), found.aggregate.interval)
    yield Case("the same, instance, of these compounds", these[0], found.instance.interval_these)
    yield Case("the same, aggregate, of these compounds", these[1], found.aggregate.interval_these)


def _models(n: int, seed: int, _resamples: int) -> Iterator[Case]:
    rng = np.random.default_rng([seed, 6])
    plausible = rng.random(n) < PLAUSIBLE_SHARE
    if not 0 < plausible.sum() < n:
        return
    scores = rng.normal(size=n) + 2**0.5 * NormalDist().inv_cdf(MODEL_AUC) * plausible
    yield _of_bounds("AUC of a model's scores", MODEL_AUC, auc_bounds(plausible, [scores]))
    poor = [rng.random(n) < np.where(plausible, *POOR)]
    experts = [rng.random(n) < np.where(plausible, *EXPERT) for _ in range(2)]
    for name, calls, (found, alarmed) in (("a poor model", poor, POOR), ("two experts", experts, EXPERT)):
        hits, named = PLAUSIBLE_SHARE * found, PLAUSIBLE_SHARE * found + (1 - PLAUSIBLE_SHARE) * alarmed
        true = {"f1": 2 * hits / (named + PLAUSIBLE_SHARE), "precision": hits / named, "recall": found}
        area = (1 + found - alarmed) / 2
        yield _of_bounds(f"AUC of {name}", area, auc_bounds(plausible, [one.astype(float) for one in calls]))
        for measure, bounds in call_bounds(plausible, calls).items():
            yield _of_bounds(f"{measure} of {name}", true[measure], bounds)


def _of_bounds(figure: str, true: float, found: Bounds) -> Case:
    return Case(figure, true, found.interval)


def _more_of_triples(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """The other coefficients of the same two experts."""
    rng = np.random.default_rng([seed, 7])
    cells = rng.choice(9, n, p=TRIPLES.ravel())
    ratings = _of_categories(np.stack([cells // 3, cells % 3], axis=1), "ab")
    found = _coefficients(ratings, seed, resamples)
    pairs = (TRIPLES + TRIPLES.T) / 2
    for name, true in {**_of_pairs(pairs), **_weighted_kappas(TRIPLES)}.items():
        yield _case(f"triples: {name}", true, found[name])


def _three_experts(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """Three judgements of each triple, whose slips are their own."""
    rng = np.random.default_rng([seed, 8])
    found = _coefficients(_of_categories(_seen(rng, n, 3), "abc"), seed, resamples)
    true = _of_pairs(_pair_of_experts())
    for name in ("alpha_nominal", *true):
        yield _case(f"three experts: {name}", true[name] if name in true else _alpha_nominal(), found[name])


def _rotating_pairs(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """Four experts, two of them at each triple, every pair at as many; what is meant is the mean over the pairs."""
    rng = np.random.default_rng([seed, 9])
    who = np.array(list(combinations(range(PEOPLE), 2)))[np.arange(n) % 6]
    answers = np.full((n, PEOPLE), -1)
    np.put_along_axis(answers, who, _seen(rng, n, 2), axis=1)
    means = agreement(_of_categories(answers, "abcd"), seed=seed, resamples=resamples).mean_over_pairs
    pair = _pair_of_experts()
    true = {"cohen": _kappa(pair, "nominal"), **_weighted_kappas(pair)}
    for name, value in true.items():
        yield _case(f"mean over six pairs: {name}", value, means[name].coefficient)


def _of_categories(answers: NDArray[np.int64], people: str) -> Ratings:
    return ratings_from_matrix(
        answers, raters=tuple(people), categories=tuple(f"{value:g}" for value in SCALE), scale=SCALE
    )


def _seen(rng: np.random.Generator, n: int, experts: int) -> NDArray[np.int64]:
    """(n, experts) the category that each of them gives."""
    true = rng.choice(3, n, p=TRUE_CATEGORY)
    beyond = np.cumsum(SEEN_AS, axis=1)[true]
    return np.asarray((rng.random((n, experts, 1)) > beyond[:, None, :]).sum(axis=2))


def _pair_of_experts() -> NDArray[np.float64]:
    return np.asarray(np.einsum("t,ta,tb->ab", TRUE_CATEGORY, SEEN_AS, SEEN_AS))


def _of_pairs(pairs: NDArray[np.float64]) -> dict[str, float]:
    """True coefficients by the chances of pairs of answers, which sum to 1."""
    many = pairs * 1e9  # alpha's correction for few answers is none then
    nominal, quadratic = disagreement(SCALE, "nominal"), disagreement(SCALE, "quadratic")
    return {
        "fleiss": float(fleiss_kappa(pairs)),
        "alpha_ordinal": float(krippendorff_alpha(many, ordinal_metric(many))),
        "alpha_interval": float(krippendorff_alpha(many, quadratic)),
        "gwet_ac1": float(gwet_ac(pairs, pairs.sum(axis=1), nominal)),
        "gwet_ac2": float(gwet_ac(pairs, pairs.sum(axis=1), quadratic)),
    }


def _alpha_nominal() -> float:
    return float(krippendorff_alpha(_pair_of_experts() * 1e9, disagreement(SCALE, "nominal")))


def _kappa(pairs: NDArray[np.float64], distance: Distance) -> float:
    return float(cohen_kappa(pairs, disagreement(SCALE, distance)))


def _weighted_kappas(pairs: NDArray[np.float64]) -> dict[str, float]:
    return {"cohen_linear": _kappa(pairs, "linear"), "cohen_quadratic": _kappa(pairs, "quadratic")}


def _texts(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """Compounds drawn from many, each with its five sentences; meant is the score of all of them."""
    rows = (
        np.random.default_rng([seed, 10]).integers(TEXTS, size=(n, 1)) * CONTEXTS + np.arange(CONTEXTS)
    ).ravel()
    clusters = np.repeat(np.arange(n), CONTEXTS).tolist()
    for whole, of_sums in ((_translations()[0], bleu_of_sums), (_translations()[1], chrf_of_sums)):
        statistics = whole.statistics[rows]
        score = float(of_sums(statistics.sum(axis=0)[None])[0])
        drawn = replace(whole, statistics=statistics, n=len(rows), score=score)
        found = score_with_interval(drawn, clusters=clusters, seed=seed, resamples=resamples)
        assert whole.score is not None
        interval = found["ci95"]
        yield Case(
            f"character {whole.metric}".replace("CHRF", "chrF"),
            whole.score,
            None if interval is None else tuple(interval),
        )


@cache
def _translations() -> tuple[TextScore, TextScore]:
    """Sentences of invented characters, and translations that change some of them, in hard compounds more."""
    rng = np.random.default_rng(11)
    hypotheses, references = [], []
    for hard in rng.beta(1.0, 4.0, TEXTS):
        for _ in range(CONTEXTS):
            reference = 0x4E00 + (rng.random(rng.integers(8, 20)) ** 2 * 800).astype(int)
            changed = np.where(
                rng.random(reference.size) < hard, 0x4E00 + rng.integers(800, size=reference.size), reference
            )
            kept = changed[rng.random(reference.size) > hard / 3]
            references.append("".join(map(chr, reference)))
            hypotheses.append("".join(map(chr, kept)))
    return corpus_bleu(hypotheses, references), corpus_chrf(hypotheses, references)


def _noise(n: int, seed: int, resamples: int) -> Iterator[Case]:
    """All instances judged twice, slips alike in both directions; compounds are wrong as usual, seldom, or never."""
    rng = np.random.default_rng([seed, 12])
    nothing = np.zeros((n, CONTEXTS), dtype=np.bool_)
    few = nothing.copy()
    few[:, 0] = rng.random(n) < FEW_WRONG
    worlds = {
        "noise-corrected": (_wrong(rng, n), WRONG_RATE, 1 - _share_of_compounds(0)),
        "noise-corrected, few wrong": (few, FEW_WRONG / CONTEXTS, FEW_WRONG),
        "noise-corrected, none wrong": (nothing, 0.0, 0.0),
    }
    for name, (wrong, instance, aggregate) in worlds.items():
        slips = rng.random((2, *wrong.shape)) < SLIPS_EACH_WAY
        told = Judgements(
            unit=np.tile(np.repeat(np.arange(n), CONTEXTS), 2).tolist(),
            context=np.tile(np.arange(wrong.size), 2).tolist(),
            verdict=(~(wrong ^ slips)).astype(np.int8).ravel(),
            order=np.repeat([1, 2], wrong.size),
        )
        found = noise_corrected(told, labels="", seed=seed, resamples=resamples)
        yield Case(f"{name}: instance", instance, found.instance_interval)
        yield Case(f"{name}: aggregate", aggregate, found.aggregate_interval)


World = Callable[[int, int, int], Iterator[Case]]
WORLDS: tuple[World, ...] = (
    _error_rates,
    _agreement_of_compounds,
    _agreement_of_triples,
    _systems,
    _estimates,
    _models,
)
MORE_WORLDS: tuple[World, ...] = (_more_of_triples, _three_experts, _rotating_pairs, _texts, _noise)


if __name__ == "__main__":
    main()
