"""What an agreement report holds, and how it is written down.

A figure without a value says why in a sentence and by a code that stays the same in every language.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from annotation.protocol.sentences import say
from scoring.stats.agreement_table import ExcludedPair

VERSION = "1.0"

NAMES = (
    "raw",
    "contrast",
    "cohen",
    "cohen_linear",
    "cohen_quadratic",
    "fleiss",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "gwet_ac1",
    "gwet_ac2",
)

REASONS = {
    "no_items": say("no items"),
    "one_rater": say("only one rater"),
    "no_common_items": say("no common items"),
    "one_category": say("only one category was used, so nothing can be said beyond chance"),
    "no_expected_contrast": say(
        "an end of the scale was not used, so no contrast is to be expected by chance"
    ),
    "different_raters": say("not all common items were judged by the same two people; see the pairs"),
    "unequal_raters": say("the items differ in how many judgements they have"),
    "no_slots": say("more than two people, and not recorded who was first and who second expert of an item"),
    "category_unused": say("nobody used this category on a common item"),
    "no_defined_pair": say("the coefficient is undefined for every pair"),
    "no_value": say("no value, so no interval"),
    "not_requested": say("no interval was asked for"),
    "one_unit": say("a single item or cluster says nothing about the spread"),
    "too_many_pairs": say("too many pairs to resample together; the pairs have intervals of their own"),
}

# Figures that can lie below −1 (see `agreement`), and how to read them there.
BELOW = {
    "contrast": say(
        "The contrast coefficient or its interval reaches below −1. It has no lower end: next to no contrast is "
        "expected by chance here, so that it says little. Look at the share of contrasts instead."
    ),
    "gwet_ac2": say(
        "Gwet's AC2 or its interval reaches below −1. Its weights allow that where much agreement is expected by "
        "chance; it means that far less was found."
    ),
}


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """One figure.

    Attributes:
        value: the figure, or None where it is undefined.
        ci95: 95 % interval in the unit of the value, or None.
        n: items it rests on (with two judgements or more).
        reason_code, ci95_reason_code: keys of `REASONS`; set where value or interval is None.
        ci95_method: "bootstrap" or "dirichlet".
        warning: what is to be kept in mind about it, as a sentence.
    """

    value: float | None
    n: int
    ci95: tuple[float, float] | None = None
    reason_code: str | None = None
    ci95_reason_code: str | None = None
    ci95_method: str | None = None
    warning: str | None = None

    @property
    def reason(self) -> str | None:
        """Why there is no value, as a sentence."""
        return None if self.reason_code is None else REASONS[self.reason_code]

    @property
    def ci95_reason(self) -> str | None:
        """Why there is no interval, as a sentence."""
        return None if self.ci95_reason_code is None else REASONS[self.ci95_reason_code]

    def as_json(self) -> dict[str, object]:
        """Plain values, full precision."""
        return {
            "value": self.value,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "n": self.n,
            "reason": self.reason,
            "reason_code": self.reason_code,
            "ci95_reason": self.ci95_reason,
            "ci95_reason_code": self.ci95_reason_code,
            "ci95_method": self.ci95_method,
            "warning": self.warning,
        }


def with_warning(name: str, found: Coefficient) -> Coefficient:
    """The figure of that name, with how to read it where it or its interval lies below −1."""
    reached = [number for number in (found.value, *(found.ci95 or ())) if number is not None]
    return replace(found, warning=BELOW[name]) if name in BELOW and min(reached, default=0) < -1 else found


def undefined(code: str, n: int) -> Coefficient:
    """A figure that has no value, for the reason named."""
    return Coefficient(value=None, n=n, reason_code=code, ci95_reason_code="no_value")


@dataclass(frozen=True, kw_only=True)
class PairMean:
    """The plain mean of a coefficient over the pairs of people for which it is defined.

    `coefficient.n` counts the common items of these pairs, an item once for each pair.
    """

    coefficient: Coefficient
    n_pairs: int
    of_pairs: int

    def as_json(self) -> dict[str, object]:
        """Plain values, full precision."""
        return self.coefficient.as_json() | {"n_pairs": self.n_pairs, "of_pairs": self.of_pairs}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two people, the number of items both judged, and their coefficients on these."""

    a: str
    b: str
    n: int
    coefficients: Mapping[str, Coefficient]

    def as_json(self) -> dict[str, object]:
        """Plain values, full precision."""
        return {"a": self.a, "b": self.b, "n": self.n, "coefficients": _plain(self.coefficients)}


@dataclass(frozen=True, kw_only=True)
class AgreementReport:
    """Every agreement figure of one set of ratings.

    Attributes:
        n_items: items with at least one label. Each figure carries the n it rests on.
        n_judgements: labels.
        raters: people, two spellings of one name counted once.
        distribution: how often each declared category was given, unused ones included.
        coefficients: the figures by `NAMES`.
        contrast_share: share of items with a contrast (0…1).
        mean_over_pairs: Cohen's kappas as means over the pairs of people.
        pairs: every two people, also those without common items.
        specific_agreement: agreement on each declared category.
        excluded: pairs that are one person under two names.
        signature: how the figures came about.
    """

    n_items: int
    n_judgements: int
    raters: tuple[str, ...]
    distribution: Mapping[str, int]
    coefficients: Mapping[str, Coefficient]
    contrast_share: Coefficient
    mean_over_pairs: Mapping[str, PairMean]
    pairs: tuple[Pair, ...]
    specific_agreement: Mapping[str, Coefficient]
    excluded: tuple[ExcludedPair, ...]
    signature: str

    def as_json(self) -> dict[str, object]:
        """The report as `report agreement` prints it: plain values, full precision, coefficients as in `agreement`."""
        warnings = dict.fromkeys(found.warning for found in self.coefficients.values() if found.warning)
        return {
            "n_items": self.n_items,
            "n_judgements": self.n_judgements,
            "raters": list(self.raters),
            "distribution": dict(self.distribution),
            "coefficients": _plain(self.coefficients),
            "contrast_share": self.contrast_share.as_json(),
            "mean_over_pairs": {name: mean.as_json() for name, mean in self.mean_over_pairs.items()},
            "pairs": [pair.as_json() for pair in self.pairs],
            "specific_agreement": _plain(self.specific_agreement),
            "excluded": [
                {
                    "a": pair.a,
                    "b": pair.b,
                    "n": pair.n,
                    "reason": pair.reason,
                    "reason_code": pair.reason_code,
                }
                for pair in self.excluded
            ],
            "warnings": [*warnings],
            "signature": self.signature,
        }


def _plain(coefficients: Mapping[str, Coefficient]) -> dict[str, object]:
    return {name: coefficient.as_json() for name, coefficient in coefficients.items()}
