"""Two sets of labels of the same items side by side: what is kept, what turns, what is won and lost.

A state is a label, or the reason why there is none. Everything here describes: both sets are made of the same answers,
and no sample of rules was drawn, so there are no intervals.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from scoring.stats.coefficients import cohen_kappa, disagreement
from scoring.stats.proportions import percent, percent_interval, reasons, share_of_units

Change = Literal["kept", "flipped", "gained", "lost", "without"]
CHANGES: tuple[Change, ...] = ("kept", "flipped", "gained", "lost", "without")

NOTHING_COMMON = say("no item has a label both ways")
ONE_LABEL = say("both ways give all items one and the same label, so chance alone makes them agree")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelChanges:
    """How two sets of labels differ.

    Attributes:
        change: (items,) what becomes of each: `kept` and `flipped` have a label both ways, `gained` only in the second
            set, `lost` only in the first, `without` in neither.
        cells: how many items go from one state to another, by both.
        equal, kappa: of the items with a label both ways, the share (0 to 1) whose label is the same, and that
            corrected for chance (Cohen 1960).
        reason, kappa_reason: why there is none.
    """

    change: NDArray[np.object_]
    cells: dict[tuple[str, str], int]
    equal: float | None
    kappa: float | None
    reason: str | None
    kappa_reason: str | None
    signature: str

    @property
    def counts(self) -> dict[str, int]:
        """How many items of each kind."""
        return {name: int((self.change == name).sum()) for name in CHANGES}

    def as_json(self) -> dict[str, Any]:
        """`{n_items, kept, flipped, gained, lost, without, table, between, signature}`."""
        return {
            "n_items": self.change.size,
            **self.counts,
            "table": [{"from": one, "to": other, "n": n} for (one, other), n in self.cells.items()],
            "between": {
                "n": self.counts["kept"] + self.counts["flipped"],
                "percent": percent(self.equal),
                "kappa": self.kappa,
                **reasons(self.reason, "reason"),
                **reasons(self.kappa_reason, "kappa_reason"),
            },
            "signature": self.signature,
        }


def label_changes(
    before: Sequence[str], after: Sequence[str], *, labels: Sequence[str], source: str
) -> LabelChanges:
    """What becomes of each item.

    Args:
        before, after: (items,) the state of each item: one of `labels`, or a reason why it has none.
        labels: the two or more labels there are.
        source: names both sets, for the signature.

    How to read it: items that flip change every figure built on the labels; those gained and lost change what the
    figures are of.

    >>> found = label_changes(["1", "0", "tie", "1"], ["1", "1", "0", "tie"], labels=["0", "1"], source="a>b")
    >>> found.change.tolist(), found.equal
    (['kept', 'flipped', 'gained', 'lost'], 0.5)
    """
    if len(before) != len(after):
        raise ValueError("both sets need a state for each item")
    change = np.array(
        [
            _CHANGE[one in labels, other in labels, one == other]
            for one, other in zip(before, after, strict=True)
        ],
        dtype=object,
    )
    cells = Counter(zip(before, after, strict=True))
    table = np.array([[cells[one, other] for other in labels] for one in labels], dtype=np.float64)
    n = table.sum()
    nominal = disagreement(range(len(labels)), "nominal")
    kappa = float(cohen_kappa(table, nominal)) if n else float("nan")
    defined = bool(np.isfinite(kappa))
    return LabelChanges(
        change=change,
        cells=dict(sorted(cells.items())),
        equal=float(np.trace(table) / n) if n else None,
        kappa=kappa if defined else None,
        reason=None if n else NOTHING_COMMON,
        kappa_reason=None if defined else (ONE_LABEL if n else NOTHING_COMMON),
        signature=f"label-changes|ver:1|n:{len(before)}|labels:{source}|numpy:{np.__version__}",
    )


# By whether there is a label before, one after, and whether they are the same.
_CHANGE: dict[tuple[bool, bool, bool], Change] = {
    (True, True, True): "kept",
    (True, True, False): "flipped",
    (False, True, False): "gained",
    (True, False, False): "lost",
    (False, False, True): "without",
    (False, False, False): "without",
}


def equal_to_label(answer: NDArray[np.integer[Any]], label: NDArray[np.integer[Any]]) -> dict[str, Any]:
    """How often one expert's answers equal the labels: `{n, equal, percent, ci95}`.

    Args:
        answer, label: (items,) numbers of the categories, -1 for none.

    How to read it: labels are made of these answers, so this is higher than agreement with others, the more so the
    fewer experts judge an item. Compare it between sets of labels, not with an agreement coefficient.

    >>> found = equal_to_label(np.array([1, 0, 1, -1]), np.array([1, 1, -1, 0]))
    >>> found["n"], found["equal"], found["percent"]
    (2, 1, 50.0)
    """
    both = (answer >= 0) & (label >= 0)
    equal = int((both & (answer == label)).sum())
    share = share_of_units(equal, int(both.sum()), nothing=say("no item of theirs has a label"))
    return {
        "n": share.n,
        "equal": equal,
        "percent": percent(share.share),
        "ci95": percent_interval(share.interval),
        **reasons(share.reason, "reason"),
    }
