"""What a set of labelled triples consists of: counts, % plausible and % unseen by split, group, class and
relation.

Table 1 of the CKBP v2 paper. "% unseen" is the share of a subset's distinct heads and tails that do not
occur in a training set; it exists only where the user supplies one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say
from annotation.protocol.triple import CLASS_GROUPS
from scoring.stats.groups import ClassGroups, Mask, class_groups, classes, masks, relations
from scoring.stats.proportions import Interval, percent, percent_interval, reasons, share_of_units

PLAUSIBLE, IMPLAUSIBLE, UNLABELLED = 1, 0, -1

By = Literal["all", "split", "group", "class", "relation"]

# One split under two names in the released files.
_SPLIT_NAMES = {"tst": "test"}


@dataclass(frozen=True, kw_only=True)
class LabelledTriples:
    """Triples row by row: texts, "" where unknown, and `label` 1 plausible, 0 implausible, -1 without a
    label. `class_groups` says which classes stand in which group.

    Raises ValueError when lengths differ or a label is something else.
    """

    head: Sequence[str]
    relation: Sequence[str]
    tail: Sequence[str]
    item_class: Sequence[str]
    split: Sequence[str]
    label: NDArray[np.int8]
    class_groups: ClassGroups = field(default_factory=lambda: CLASS_GROUPS)

    def __post_init__(self) -> None:
        columns = (self.head, self.relation, self.tail, self.item_class, self.split)
        if {len(column) for column in columns} != {self.label.size}:
            raise ValueError("all columns of triples need the same length")
        if not np.isin(self.label, (PLAUSIBLE, IMPLAUSIBLE, UNLABELLED)).all():
            raise ValueError("a label is 1 (plausible), 0 (implausible) or -1 (none)")


@dataclass(frozen=True, kw_only=True)
class CompositionRow:
    """One subset: `n` labelled triples, `plausible` of them, and the shares (0 to 1), None if undefined.

    `interval` is that of the share of plausible ones over triples (Wilson, exact at none or all). The share of unseen
    nodes counts these nodes and stands for no others, so it has none.
    """

    by: By
    value: str
    n: int
    plausible: int
    share: float | None
    interval: Interval | None
    method: str | None
    unseen: float | None
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        """`{by, value, n, plausible, percent, ci95, ci95_method, unseen_percent}`, with reasons where undefined."""
        return {
            "by": self.by,
            "value": self.value,
            "n": self.n,
            "plausible": self.plausible,
            "percent": percent(self.share),
            "ci95": percent_interval(self.interval),
            "ci95_method": self.method,
            "unseen_percent": percent(self.unseen),
            **reasons(self.reason, "reason", "ci95_reason"),
        }


@dataclass(frozen=True, kw_only=True)
class Composition:
    """The rows of Table 1; triples without a label stand in none of them and are counted in `unlabelled`."""

    rows: tuple[CompositionRow, ...]
    unlabelled: int
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{rows, unlabelled, signature}`."""
        return {
            "rows": [row.as_json() for row in self.rows],
            "unlabelled": self.unlabelled,
            "signature": self.signature,
        }


def composition(
    triples: LabelledTriples, *, labels: str, training_nodes: Collection[str] | None = None
) -> Composition:
    """Count, % plausible and % unseen of all triples and of each split, group, class and relation that
    occurs.

    Arguments: `triples`; `labels` names the labels used, for the signature; `training_nodes` are the heads
    and tails of a training set, compared as they stand. Without them `unseen` is None: not known is not
    nought. tst and test are one split, shown as test.

    How to read it: relations differ much in % plausible, and xReason has five triples, so read `n` with
    each row.

    >>> triples = LabelledTriples(
    ...     head=["PersonX eat", "PersonX run"], relation=["xWant", "xWant"], tail=["sleep", "rest"],
    ...     item_class=["adv", "test_set"], split=["tst", "dev"], label=np.array([1, 0], dtype=np.int8))
    >>> table = composition(triples, labels="imported", training_nodes={"sleep", "PersonX run", "rest"})
    >>> [(row.value, row.n, row.plausible, row.unseen) for row in table.rows[:3]]
    [('all', 2, 1, 0.25), ('dev', 1, 0, 0.0), ('test', 1, 1, 0.5)]
    """
    seen = None if training_nodes is None else frozenset(training_nodes)
    return Composition(
        rows=tuple(_row(triples, by, value, mask, seen) for by, value, mask in _subsets(triples)),
        unlabelled=int((triples.label == UNLABELLED).sum()),
        signature=(
            f"composition|ver:1|n:{triples.label.size}|labels:{labels}"
            f"|training:{'none' if seen is None else len(seen)}"
        ),
    )


def _subsets(triples: LabelledTriples) -> Iterator[tuple[By, str, Mask]]:
    yield "all", "all", np.ones(triples.label.size, dtype=np.bool_)
    splits = [_SPLIT_NAMES.get(split, split) for split in triples.split]
    tables: tuple[tuple[By, dict[str, Mask]], ...] = (
        ("split", masks(splits, ["train", "dev", "test"])),
        ("group", class_groups(triples.item_class, triples.class_groups)),
        ("class", classes(triples.item_class, triples.class_groups)),
        ("relation", relations(triples.relation)),
    )
    for by, rows in tables:
        for value, mask in rows.items():
            yield by, value, mask


def _row(
    triples: LabelledTriples, by: By, value: str, mask: Mask, seen: frozenset[str] | None
) -> CompositionRow:
    labelled = np.flatnonzero(mask & (triples.label != UNLABELLED))
    plausible = int((triples.label[labelled] == PLAUSIBLE).sum())
    n = labelled.size
    share = share_of_units(plausible, n, nothing=say("no triple here has a label"))
    return CompositionRow(
        by=by,
        value=value,
        n=n,
        plausible=plausible,
        share=share.share,
        interval=share.interval,
        method=share.method,
        unseen=None if seen is None or not n else _unseen(triples, labelled.tolist(), seen),
        reason=share.reason,
    )


def _unseen(triples: LabelledTriples, rows: Sequence[int], seen: frozenset[str]) -> float:
    nodes = {triples.head[row] for row in rows} | {triples.tail[row] for row in rows}
    return len(nodes - seen) / len(nodes)
