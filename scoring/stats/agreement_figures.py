"""The figures of one set of ratings, view by view (see `agreement` for what they mean and how to read them)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from scoring.stats.agreement_report import NAMES, Coefficient, PairMean, undefined, with_warning
from scoring.stats.agreement_table import MISSING, Ratings
from scoring.stats.agreement_views import place_view, pooled_sums, pooled_view, tables_only
from scoring.stats.coefficients import (
    Distance,
    cohen_kappa,
    contrast_coefficient,
    contrast_share,
    disagreement,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    ordinal_metric,
    raw_agreement,
    specific_agreement,
)
from scoring.stats.intervals import Figure, Sampler, Units, interval
from scoring.stats.kinds import Whole

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

COHEN: dict[str, Distance] = {"cohen": "nominal", "cohen_linear": "linear", "cohen_quadratic": "quadratic"}
# Pseudo-count per cell in small samples. A half for the contrast (the protocol's rule): its cells are rare.
# Elsewhere 1/q², one made-up item in all (Perks): over 72 simulated settings (30 to 150 items, two and three
# categories, raw agreement from 0.76 up) intervals of the other figures then cover 94 % on average and 84 % at
# worst; with a half per cell 86 to 91 % and 49 % at worst, with the bootstrap 77 % and 8 %.
CONTRAST_PRIOR = 0.5
# A table of kinds × sums beyond this (160 MB) is not resampled jointly.
_LARGEST_JOINT_TABLE = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How figures are made: the declared scale, the seed and number of resamples, the weights of AC2."""

    scale: tuple[float, ...]
    seed: int
    resamples: int
    intervals: bool
    ac2_weights: Distance

    @property
    def q(self) -> int:
        """Number of declared categories."""
        return len(self.scale)

    @property
    def prior(self) -> float:
        """Pseudo-count per cell in small samples, but for the contrast."""
        return 1 / self.q**2


@dataclass(frozen=True, kw_only=True)
class Figures:
    """All figures of one set of ratings, without its pairs."""

    coefficients: dict[str, Coefficient]
    contrast_share: Coefficient
    specific: dict[str, Coefficient]
    mean_over_pairs: dict[str, PairMean]


def figures(ratings: Ratings, setting: Setting) -> Figures:
    """Every figure over all items of these ratings."""
    nothing = _nothing_to_compare(ratings)
    if nothing is not None:
        return _nothing(ratings, nothing)
    cohens, means = _cohens(ratings, setting)
    contrast, share = _contrast(ratings, setting)
    pooled, specific = _pooled(ratings, setting)
    found = pooled | cohens | {"contrast": contrast}
    return Figures(
        coefficients={name: with_warning(name, found[name]) for name in NAMES},
        contrast_share=share,
        specific=specific,
        mean_over_pairs=means,
    )


def _nothing_to_compare(ratings: Ratings) -> str | None:
    judged = ratings.table != MISSING
    if not judged.any():
        return "no_items"
    if int(judged.any(axis=0).sum()) < 2:
        return "one_rater"
    return None if _common(ratings.table).any() else "no_common_items"


def _nothing(ratings: Ratings, code: str) -> Figures:
    none = undefined(code, 0)
    of_pairs = len(ratings.raters) * (len(ratings.raters) - 1) // 2
    return Figures(
        coefficients=dict.fromkeys(NAMES, none),
        contrast_share=none,
        specific=dict.fromkeys(ratings.categories, none),
        mean_over_pairs=dict.fromkeys(COHEN, PairMean(coefficient=none, n_pairs=0, of_pairs=of_pairs)),
    )


def _common(labels: Whole) -> npt.NDArray[np.bool_]:
    common: npt.NDArray[np.bool_] = (labels != MISSING).sum(axis=1) >= 2
    return common


@dataclass(frozen=True)
class _View:
    """Units, and what they are resampled with; without a sampler `no_interval` says why."""

    units: Units
    sampler: Sampler | None
    no_interval: str | None
    prior: float

    def coefficient(self, figure: Figure, *, n: int, if_undefined: str) -> Coefficient:
        value = float(figure(self.units.totals()))
        if not np.isfinite(value):
            return undefined(if_undefined, n)
        if self.sampler is None:
            return Coefficient(value=value, n=n, ci95_reason_code=self.no_interval)
        ci95, method = interval(self.sampler, figure, value=value, prior=self.prior)
        return Coefficient(value=value, n=n, ci95=ci95, ci95_method=method)


def _view(units: Units, setting: Setting, *, prior: float, no_interval: str | None = None) -> _View:
    if not setting.intervals:
        no_interval = "not_requested"
    elif units.n < 2:
        no_interval = "one_unit"
    sampler = None if no_interval else Sampler(units, setting.seed, setting.resamples)
    return _View(units, sampler, no_interval, prior)


def _pooled(ratings: Ratings, setting: Setting) -> tuple[dict[str, Coefficient], dict[str, Coefficient]]:
    view = _view(pooled_view(ratings), setting, prior=setting.prior)
    common = _common(ratings.table)
    n = ratings.how_many(common)
    found = {
        name: view.coefficient(figure, n=n, if_undefined="one_category")
        for name, figure in _pooled_figures(setting).items()
    }
    numbers = (ratings.table[common] != MISSING).sum(axis=1)
    if numbers.min() != numbers.max():
        found["fleiss"] = undefined("unequal_raters", n)
    users = pooled_sums(view.units.totals(), setting.q).users
    specific = {
        category: view.coefficient(
            _specific_figure(k, setting.q), n=int(users[k]), if_undefined="category_unused"
        )
        for k, category in enumerate(ratings.categories)
    }
    return found, specific


def _pooled_figures(setting: Setting) -> dict[str, Figure]:
    q = setting.q
    nominal = disagreement(setting.scale, "nominal")
    squared = disagreement(setting.scale, "quadratic")
    ac2 = disagreement(setting.scale, setting.ac2_weights)

    def gwet(sums: FloatArray, weights: FloatArray) -> FloatArray:
        parts = pooled_sums(sums, q)
        return gwet_ac(parts.pairs, parts.prevalence / parts.judged[..., None], weights)

    def alpha(sums: FloatArray, metric: FloatArray | None) -> FloatArray:
        table = pooled_sums(sums, q).coincidences
        return krippendorff_alpha(table, ordinal_metric(table) if metric is None else metric)

    return {
        "raw": lambda sums: raw_agreement(pooled_sums(sums, q).pairs),
        "fleiss": lambda sums: fleiss_kappa(pooled_sums(sums, q).pairs),
        "alpha_nominal": lambda sums: alpha(sums, nominal),
        "alpha_ordinal": lambda sums: alpha(sums, None),
        "alpha_interval": lambda sums: alpha(sums, squared),
        "gwet_ac1": lambda sums: gwet(sums, nominal),
        "gwet_ac2": lambda sums: gwet(sums, ac2),
    }


def _specific_figure(k: int, q: int) -> Figure:
    return lambda sums: specific_agreement(pooled_sums(sums, q).ordered_pairs)[..., k]


def _contrast(ratings: Ratings, setting: Setting) -> tuple[Coefficient, Coefficient]:
    labels = ratings.slot_labels()
    if labels is None:
        none = undefined("no_slots", ratings.how_many(_common(ratings.table)))
        return none, none
    n = ratings.how_many(_common(labels))
    if n == 0:
        none = undefined("no_common_items", 0)
        return none, none
    q, slots = setting.q, list(combinations(range(labels.shape[1]), 2))
    view = _view(place_view(ratings, labels, slots), setting, prior=CONTRAST_PRIOR)

    def coefficient(sums: FloatArray) -> FloatArray:
        return contrast_coefficient(_tables(sums, q))

    def share(sums: FloatArray) -> FloatArray:
        return contrast_share(_tables(sums, q))

    return (
        view.coefficient(coefficient, n=n, if_undefined="no_expected_contrast"),
        view.coefficient(share, n=n, if_undefined="no_common_items"),
    )


def _cohens(ratings: Ratings, setting: Setting) -> tuple[dict[str, Coefficient], dict[str, PairMean]]:
    of_pairs = list(combinations(range(len(ratings.raters)), 2))
    judged = ratings.table != MISSING
    pairs = [(a, b) for a, b in of_pairs if (judged[:, a] & judged[:, b]).any()]
    view = _people_view(ratings, pairs, setting)
    means = {
        name: _mean_over_pairs(view, disagreement(setting.scale, distance), of_pairs=len(of_pairs))
        for name, distance in COHEN.items()
    }
    if len(pairs) == 1:
        return {name: mean.coefficient for name, mean in means.items()}, means
    n = ratings.how_many(_common(ratings.table))
    return {name: undefined("different_raters", n) for name in COHEN}, means


def _people_view(ratings: Ratings, pairs: Sequence[tuple[int, int]], setting: Setting) -> _View:
    q, width = setting.q, len(ratings.raters)
    most_kinds = min(len(ratings.items), (q + 1) ** width)
    if most_kinds * len(pairs) * q * q > _LARGEST_JOINT_TABLE:
        tables = tables_only(ratings, pairs)
        return _view(tables, setting, prior=setting.prior, no_interval="too_many_pairs")
    return _view(place_view(ratings, ratings.table, pairs), setting, prior=setting.prior)


def _mean_over_pairs(view: _View, weights: FloatArray, *, of_pairs: int) -> PairMean:
    q = len(weights)
    observed = _tables(view.units.totals(), q)
    defined = np.isfinite(cohen_kappa(observed, weights))
    n = int(observed[defined].sum())
    if not defined.any():
        code = "one_category" if len(observed) == 1 else "no_defined_pair"
        return PairMean(coefficient=undefined(code, int(observed.sum())), n_pairs=0, of_pairs=of_pairs)

    def mean(sums: FloatArray) -> FloatArray:
        kappas: FloatArray = cohen_kappa(_tables(sums, q)[..., defined, :, :], weights)
        return np.asarray(kappas.mean(axis=-1))

    coefficient = view.coefficient(mean, n=n, if_undefined="no_defined_pair")
    return PairMean(coefficient=coefficient, n_pairs=int(defined.sum()), of_pairs=of_pairs)


def _tables(sums: FloatArray, q: int) -> FloatArray:
    return sums.reshape(*sums.shape[:-1], -1, q, q)
