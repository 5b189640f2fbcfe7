"""The aggregate error rate corrected for the experts' own noise, where instances were judged twice.

A compound counts as wrong as soon as one of its five contexts does, so every slip of an expert has five chances to
turn a right compound wrong: 2 % false alarms give a perfect system an instance rate of 2 % and an aggregate rate of
9.6 %. The correction takes the noise from instances that were judged more than once.

**Model.** Each instance is truly right or wrong. A judgement calls a right instance wrong with probability *f* (false
alarm) and a wrong one right with *m* (miss), independently of everything else, the same for all experts, compounds
and contexts. A compound truly has T of its contexts wrong, T = 0 … 5 with unknown probabilities, and any T of them are
equally likely to be the wrong ones. Corrected aggregate = P(T > 0), corrected instance rate = E(T) / 5; the
probabilities of T are those under which all judgements of the compounds are likeliest (EM).

**The noise.** Two judgements of an instance show how often experts differ, not who erred. Hence by name:

- `symmetric` (default): f = m. Two judgements differ in 2f(1 − f) of the instances.
- `false-alarms`: all differences are false alarms (m = 0): the strongest correction.
- `misses`: all differences are misses (f = 0): corrects upward.
- `resolved`: the differences were settled, and the settled verdict is taken as the truth of these instances.

The first three are assumptions; together they show how far the figure depends on them. Judgements repeated by the
*same* expert measure that expert's wavering only: a habit repeats itself, so f and m come out too small.

**Intervals.** Compounds are drawn anew, and their noise is estimated anew. Draws in which the model has no answer count
as 0 in the lower bound and as 1 in the upper one: there the judgements would be a toss. Where a bound comes to lie at 0
or 1 the draws say nothing about how far a rate at the edge may be off, and the likelihood does (`noise_edges`), so that
no interval is without width. Few pairs and much noise make for wide intervals, and that is what is known then.

Sources: Dawid and Skene (1979), Applied Statistics 28, 20–28; Rogan and Gladen (1978), American Journal of
Epidemiology 107, 71–76; Hui and Walter (1980), Biometrics 36, 167–171, for what two judgements cannot tell.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.error_rates import CONTEXTS, CORRECT, WRONG
from scoring.stats.noise_edges import kept_shares
from scoring.stats.proportions import RESAMPLES, Interval, percent, percent_interval, reasons, wilson

Model = Literal["symmetric", "false-alarms", "misses", "resolved"]
Source = Literal["overlap", "repeats"]
Floats = NDArray[np.float64]

MODELS: tuple[Model, ...] = ("symmetric", "false-alarms", "misses", "resolved")
# Fewer twice-judged instances say next to nothing about rates of a few per cent.
FEWEST_DOUBLES = 50
_STEPS = 300
_MOST_UNDEFINED = 0.05
# A bound nearer to 0 or 1 than this part of a compound lies at the edge.
_EDGE = 0.1


UNKNOWN_NOISE = say(
    "the noise cannot be estimated in too many resamples: more instances judged twice are needed"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Judgements:
    """All independent judgements of one system's instances, one row each, shape (judgements,).

    `unit`: the compound. `context`: the context's key. `verdict`: 1 correct, 0 wrong; "cannot judge" is left out
    beforehand. `order`: where one judgement of each instance is needed (`single` below), the lowest counts.
    `resolved`, optional: the settled verdict of the instance, -1 where it was not settled.
    """

    unit: Sequence[Hashable]
    context: Sequence[Hashable]
    verdict: NDArray[np.int8]
    order: NDArray[np.int64]
    resolved: NDArray[np.int8] | None = None

    def __post_init__(self) -> None:
        sizes = {len(self.unit), len(self.context), self.verdict.size, self.order.size}
        if self.resolved is not None:
            sizes.add(self.resolved.size)
        if len(sizes) != 1:
            raise ValueError("all columns of judgements need the same length")
        if not np.isin(self.verdict, (CORRECT, WRONG)).all():
            raise ValueError("a judgement is 1 (correct) or 0 (wrong): leave out what could not be judged")


@dataclass(frozen=True, kw_only=True)
class Corrected:
    """Rates as one judgement per instance gives them, and corrected for the noise of judging; shares 0 to 1.

    Attributes:
        compounds: with five judged contexts; `doubles`: instances with two judgements or more, `differing` of the
            first two of them, with the 95 % interval of their share in `differing_interval`.
        single_instance, single_aggregate: from the first judgement of each instance, nothing corrected.
        false_alarm, miss: f and m under the model.
        instance, aggregate: corrected, with their 95 % intervals, and the `method` that gave these.
        reason: why there is no corrected figure.
    """

    model: Model
    source: Source
    compounds: int
    doubles: int
    differing: int
    single_instance: float | None = None
    single_aggregate: float | None = None
    false_alarm: float | None = None
    miss: float | None = None
    differing_interval: Interval | None = None
    instance: float | None = None
    instance_interval: Interval | None = None
    aggregate: float | None = None
    aggregate_interval: Interval | None = None
    method: str | None = None
    reason: str | None = None
    ci95_reason: str | None = None
    signature: str = ""

    def as_json(self) -> dict[str, Any]:
        """Percent 0 to 100, full precision, reasons where undefined."""
        return {
            "model": self.model,
            "source": self.source,
            "compounds": self.compounds,
            "doubles": self.doubles,
            "differing": self.differing,
            "differing_ci95": percent_interval(self.differing_interval),
            "single": {
                "instance_percent": percent(self.single_instance),
                "aggregate_percent": percent(self.single_aggregate),
            },
            "false_alarm_percent": percent(self.false_alarm),
            "miss_percent": percent(self.miss),
            "instance": {"percent": percent(self.instance), "ci95": percent_interval(self.instance_interval)},
            "aggregate": {
                "percent": percent(self.aggregate),
                "ci95": percent_interval(self.aggregate_interval),
            },
            "ci95_method": self.method,
            **reasons(self.reason, "reason"),
            **reasons(self.ci95_reason or self.reason, "ci95_reason"),
            "signature": self.signature,
        }


def noise_corrected(
    judgements: Judgements,
    *,
    labels: str,
    model: Model = "symmetric",
    source: Source = "overlap",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Corrected:
    """Instance and aggregate error rates without the experts' noise; see the module for the model.

    Args:
        judgements: all judgements of one system and run; only compounds with exactly five judged contexts are used.
        labels: names the round the judgements come from, for the signature.
        model: how differences are shared out between false alarms and misses.
        source: "overlap" (different experts) or "repeats" (the same expert again).
        seed, resamples: of the bootstrap over compounds.

    Returns:
        Figures, or a reason: too few instances judged twice, differences too many for the model, or none settled.

    How to read it: beside the plain aggregate, not instead of it. The two differ by what noise alone can explain;
    where the three assumed models disagree much, the correction is no better than its assumption.

    >>> rng = np.random.default_rng(3)
    >>> truth = np.repeat(rng.random(400) < 0.4, 5)  # compounds are right or wrong as a whole
    >>> wrong = np.concatenate([truth ^ (rng.random(2000) < 0.03) for _ in range(2)])
    >>> found = noise_corrected(Judgements(
    ...     unit=np.tile(np.repeat(np.arange(400), 5), 2).tolist(), context=np.tile(np.arange(2000), 2).tolist(),
    ...     verdict=(~wrong).astype(np.int8), order=np.repeat([1, 2], 2000)), labels="main", resamples=200)
    >>> [round(float(x), 2) for x in (truth.mean(), found.single_aggregate, found.aggregate, found.false_alarm)]
    [0.38, 0.48, 0.39, 0.03]
    """
    if model not in MODELS:
        raise ValueError(f"there is no noise model {model}: choose one of {', '.join(MODELS)}")
    table = _Table(judgements)
    known = Corrected(
        model=model, source=source, compounds=table.n, doubles=table.doubles, differing=table.differing,
        signature=_signature(table, labels, model, source, seed, resamples),
    )  # fmt: skip
    reason = table.not_estimable(model)
    if reason is not None:
        return replace(known, reason=reason)
    once = table.counts[None, :].astype(np.float64)
    known = _not_corrected(known, table, once)
    noise = _noise(once @ table.sums, model)
    if not np.isfinite(noise).all():
        reason = say("experts differ more often than this model allows: their verdicts are close to a toss")
        return replace(known, reason=reason)
    instance, aggregate = _rates(table, once, noise)
    rates = float(instance[0]), float(aggregate[0])
    found = _intervals(table, model, noise, rates, seed=seed, resamples=resamples)
    of_instance, of_aggregate, method = found or (None, None, None)
    return replace(
        known,
        false_alarm=float(noise[0, 0]),
        miss=float(noise[0, 1]),
        instance=rates[0],
        instance_interval=of_instance,
        aggregate=rates[1],
        aggregate_interval=of_aggregate,
        method=method,
        ci95_reason=None if found else UNKNOWN_NOISE,
    )


def _signature(table: "_Table", labels: str, model: Model, source: Source, seed: int, resamples: int) -> str:
    return (
        f"noise-corrected|ver:2|model:{model}|source:{source}|contexts:{CONTEXTS}|compounds:{table.n}"
        f"|doubles:{table.doubles}|labels:{labels}|interval:cluster-bootstrap(+likelihood)|level:95|rs:{seed}|bs:{resamples}"
        f"|numpy:{np.__version__}"
    )


def _not_corrected(known: Corrected, table: "_Table", once: Floats) -> Corrected:
    """What the first judgement of each instance gives, and how often the second differs."""
    single = (once @ table.singles)[0] / table.n
    return replace(
        known,
        single_instance=float(single[0]) / CONTEXTS,
        single_aggregate=float(single[1]),
        differing_interval=wilson(table.differing, table.doubles),
    )


def _intervals(
    table: "_Table", model: Model, noise: Floats, rates: tuple[float, float], *, seed: int, resamples: int
) -> tuple[Interval, Interval, str] | None:
    """Of the instance and the aggregate rate, and the method; None where the noise is known too little for any.

    Compounds are drawn anew, and their noise is estimated anew; at the edge the likelihood widens what comes of it.
    """
    draws = np.random.default_rng(seed).multinomial(table.n, table.counts / table.n, size=resamples)
    noises = _noise(draws @ table.sums, model)
    defined = np.isfinite(noises).all(axis=1)
    if defined.mean() < 1 - _MOST_UNDEFINED:
        return None
    drawn = _rates(table, draws[defined].astype(np.float64), noises[defined])
    unknown = int((~defined).sum())
    found = [_percentiles(of_rate, rate, unknown) for of_rate, rate in zip(drawn, rates, strict=True)]
    edge = _EDGE / table.n
    at_edge = [low < edge or high > 1 - edge for low, high in found]
    if not any(at_edge):
        return found[0], found[1], "cluster-bootstrap"
    ends = _ends_of_noise(table, model, noises[defined])
    if not np.isfinite(ends).all():
        return None
    kept = kept_shares(table.likelihood(np.concatenate([noise, ends])), table.counts)
    low, high = np.mean(kept, axis=0).tolist()
    of_likelihood = ((low, high), kept[0])
    instance, aggregate = (
        (min(own[0], other[0]), max(own[1], other[1])) if is_edge else own
        for own, other, is_edge in zip(found, of_likelihood, at_edge, strict=True)
    )
    return instance, aggregate, "cluster-bootstrap-and-likelihood"


def _ends_of_noise(table: "_Table", model: Model, noises: Floats) -> Floats:
    """(2, 2) the least and the most noise that the pairs bear out; NaN where there is no end to it."""
    pairs = (table.counts @ table.sums).astype(np.float64)
    differing = pairs[1]
    of_pairs = []
    for share in wilson(differing, table.doubles):
        more = share * table.doubles / differing if differing else 0.0
        alike = (1 - share) * table.doubles / max(table.doubles - differing, 1)
        changed = pairs * np.array([alike, more, alike, more, more, 1.0])
        if not differing:  # none seen: of which kind they would be is open
            changed[1] = share * table.doubles
        of_pairs.append(changed)
    found = np.concatenate([_noise(np.array(of_pairs), model), noises])
    ends = np.quantile(noises, [0.025, 0.975], axis=0)
    return np.array([np.minimum(found[0], ends[0]), np.maximum(found[1], ends[1])])


class _Table:
    """Compounds by kind: what was judged how often in each of their contexts.

    A kind is the multiset of its five contexts, each as (wrong judgements, right judgements, the pair that tells of
    noise). `sums`, (kinds, 6): instances judged twice with 0, 1, 2 wrong of their first two; of the differing ones
    those settled as right and as wrong; instances judged twice. `singles`, (kinds, 2): wrong contexts by first
    judgements, and whether there is one.
    """

    def __init__(self, judgements: Judgements) -> None:
        instances: dict[tuple[Hashable, Hashable], list[int]] = {}
        for row, key in enumerate(zip(judgements.unit, judgements.context, strict=True)):
            instances.setdefault(key, []).append(row)
        units: dict[Hashable, list[tuple[int, int, int, int]]] = {}
        for (unit, _), rows in instances.items():
            units.setdefault(unit, []).append(_instance(judgements, rows))
        kinds = Counter(tuple(sorted(of_unit)) for of_unit in units.values() if len(of_unit) == CONTEXTS)
        self.kinds = sorted(kinds)
        self.counts = np.array([kinds[kind] for kind in self.kinds], dtype=np.int64)
        self.n = int(self.counts.sum())
        self.sums = np.array([_pair_sums(kind) for kind in self.kinds]).reshape(-1, 6)
        self.singles = np.array(
            [
                (sum(first for _, _, first, _ in kind), any(first for _, _, first, _ in kind))
                for kind in self.kinds
            ],
            dtype=np.float64,
        ).reshape(-1, 2)
        totals = self.counts @ self.sums
        self.doubles, self.differing, self.settled = (
            int(totals[5]),
            int(totals[1]),
            int(totals[3] + totals[4]),
        )

    def not_estimable(self, model: Model) -> str | None:
        if not self.n:
            return say("no compound here has exactly five judged contexts")
        if self.doubles < FEWEST_DOUBLES:
            return say(
                "{doubles} instances were judged twice; fewer than {fewest} say too little about noise",
                doubles=self.doubles,
                fewest=FEWEST_DOUBLES,
            )
        if model == "resolved" and self.settled < self.differing:
            return say(
                "only {settled} of the {differing} instances on which experts differ were settled",
                settled=self.settled,
                differing=self.differing,
            )
        return None

    def likelihood(self, noise: Floats) -> Floats:
        """(draws, kinds, 6) probability of each kind when T = 0 … 5 contexts are truly wrong."""
        f, m = noise[:, 0, None], noise[:, 1, None]
        wrongs = np.array([[context[0] for context in kind] for kind in self.kinds])
        rights = np.array([[context[1] for context in kind] for kind in self.kinds])
        # Polynomial in "is wrong": its coefficient at T sums over all choices of T contexts.
        polynomial = np.zeros((len(noise), len(self.kinds), CONTEXTS + 1))
        polynomial[..., 0] = 1
        for place in range(CONTEXTS):
            w, r = wrongs[:, place], rights[:, place]
            if_right = f**w * (1 - f) ** r
            if_wrong = (1 - m) ** w * m**r
            polynomial[..., 1:] = (
                polynomial[..., 1:] * if_right[..., None] + polynomial[..., :-1] * if_wrong[..., None]
            )
            polynomial[..., 0] *= if_right
        choices = np.array([comb(CONTEXTS, t) for t in range(CONTEXTS + 1)], dtype=np.float64)
        return np.asarray(polynomial / choices)


def _instance(judgements: Judgements, rows: list[int]) -> tuple[int, int, int, int]:
    """Wrong and right judgements, whether the first is wrong, and what the first two tell of noise: -1 judged once,
    0 both right, 2 both wrong, 1 differing and not settled, 3 settled as right, 4 settled as wrong."""
    in_order = sorted(rows, key=lambda row: (int(judgements.order[row]), row))
    wrong = [int(judgements.verdict[row] == WRONG) for row in in_order]
    pair = -1
    if len(wrong) >= 2:
        pair = wrong[0] + wrong[1]
        settled = -1 if judgements.resolved is None else int(judgements.resolved[in_order[0]])
        if pair == 1 and settled in (CORRECT, WRONG):
            pair = 3 if settled == CORRECT else 4
    return sum(wrong), len(wrong) - sum(wrong), wrong[0], pair


def _pair_sums(kind: Sequence[tuple[int, int, int, int]]) -> list[float]:
    pairs = [context[3] for context in kind if context[3] >= 0]
    differing = [pair for pair in pairs if pair in (1, 3, 4)]
    return [pairs.count(0), len(differing), pairs.count(2), pairs.count(3), pairs.count(4), len(pairs)]


def _noise(sums: Floats, model: Model) -> Floats:
    """(draws, 2) f and m from the sums of pairs, NaN where the model has no answer."""
    return np.array([_noise_of(*row, model=model) for row in sums.tolist()])


def _noise_of(
    right: float, differ: float, wrong: float, as_right: float, as_wrong: float, n: float, *, model: Model
) -> tuple[float, float]:
    nothing = (float("nan"), float("nan"))
    if not n:
        return nothing
    if model == "resolved":
        return _noise_of_settled(right / n, wrong / n, as_right / n, as_wrong / n)
    differing = differ / n
    if model == "symmetric":
        return nothing if differing >= 0.5 else ((1 - sqrt(1 - 2 * differing)) / 2,) * 2
    # With one kind of slip, instances without it always agree. Of the others (share s) both judgements slip in s·x²,
    # one in 2·s·x(1 − x), none in s(1 − x)²: x from the last two.
    agree = right if model == "false-alarms" else wrong
    if not differ:
        return (0.0, 0.0)
    if not agree:
        return nothing
    slip = differ / (differ + 2 * agree)
    return (slip, 0.0) if model == "false-alarms" else (0.0, slip)


def _noise_of_settled(right: float, wrong: float, as_right: float, as_wrong: float) -> tuple[float, float]:
    """f and m where the truth of differing pairs is known.

    With p the share of truly wrong instances: as_wrong = 2pm(1 − m), as_right = 2(1 − p)f(1 − f), and both-wrong
    pairs are p(1 − m)² + (1 − p)f². One equation in p is left, solved by Brent's method.
    """
    from scipy.optimize import brentq  # noqa: PLC0415

    def slips(p: float) -> tuple[float, float]:
        m = (1 - sqrt(max(0.0, 1 - 2 * as_wrong / p))) / 2 if p else 0.0
        f = (1 - sqrt(max(0.0, 1 - 2 * as_right / (1 - p)))) / 2 if p < 1 else 0.0
        return f, m

    def excess(p: float) -> float:
        f, m = slips(p)
        return p * (1 - m) ** 2 + (1 - p) * f**2 - wrong

    low, high = 2 * as_wrong, 1 - 2 * as_right
    if low > high or excess(low) > 0 or excess(high) < 0:
        return float("nan"), float("nan")
    return slips(float(brentq(excess, low, high, xtol=1e-12)))


def _rates(table: _Table, counts: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """(draws,) corrected instance and aggregate rates: EM for the probabilities of T, all draws at once."""
    likelihood = table.likelihood(noise)
    shares = np.full((len(counts), CONTEXTS + 1), 1 / (CONTEXTS + 1))
    weights = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(_STEPS):
        joint = likelihood * shares[:, None, :]
        whole = joint.sum(axis=2)
        posterior = np.divide(weights, whole, out=np.zeros_like(whole), where=whole > 0)
        new = shares * np.einsum("dk,dkt->dt", posterior, likelihood)
        new /= new.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - shares).max())
        shares = new
        if moved < 1e-8:
            break
    return shares @ np.arange(CONTEXTS + 1) / CONTEXTS, 1 - shares[:, 0]


def _percentiles(values: Floats, value: float, unknown: int) -> Interval:
    """Of the draws, those without an answer at either end; the estimate is always inside."""
    low = float(np.quantile(np.append(values, np.zeros(unknown)), 0.025))
    high = float(np.quantile(np.append(values, np.ones(unknown)), 0.975))
    return min(low, value), max(high, value)
