"""Where a triple comes from, told by its nodes: in-domain or out-of-domain, given the nodes of a training set.

CKBP's class says how an item was sampled: `test_set` from the test split of the graph that models are trained on,
so both its nodes are of that graph (in-domain, ID); `cs_head` from a head of that graph and a tail from elsewhere;
`all_head` from any head (both out-of-domain, OOD). A class that was stored can be checked against the nodes, and
items that came without one can be given one:

    head and tail among the nodes → test_set (ID)
    the head alone                → cs_head (OOD)
    the head not among them       → all_head (OOD)

`adv` (adversarial) says how a triple was made, which no list of nodes can tell: such items keep it in the table, and
the cross-table shows where their nodes lie.

Sources: Fang et al. (2021, EMNLP) for the three samples; Fang et al. (2023), CKBP v2, for ID and OOD.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.protocol.triple import CLASS_GROUPS
from scoring.stats.composition import CompositionRow, LabelledTriples, composition
from scoring.stats.groups import ClassGroups

BOTH, HEAD_ALONE, NO_HEAD = "test_set", "cs_head", "all_head"
DERIVED = (BOTH, HEAD_ALONE, NO_HEAD)
NO_CLASS = ""


def classes_from_nodes(head: Sequence[str], tail: Sequence[str], nodes: Collection[str]) -> tuple[str, ...]:
    """The class of each triple by its nodes alone: test_set, cs_head or all_head.

    Args:
        head, tail: (triples,) texts, compared with `nodes` as they stand.
        nodes: heads and tails of the training set.

    Raises:
        ValueError: heads and tails of different number.

    >>> nodes = {"PersonX eat", "PersonX rest"}
    >>> classes_from_nodes(["PersonX eat", "PersonX eat", "dog bark"],
    ...                    ["PersonX rest", "cat run", "PersonX rest"], nodes)
    ('test_set', 'cs_head', 'all_head')
    """
    if len(head) != len(tail):
        raise ValueError("each head needs a tail")
    known = frozenset(nodes)
    return tuple(
        NO_HEAD if first not in known else BOTH if second in known else HEAD_ALONE
        for first, second in zip(head, tail, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """How many labelled triples are stored under one class ("" for none) and derived under another."""

    stored: str
    derived: str
    n: int
    plausible: int

    def as_json(self) -> dict[str, Any]:
        """`{stored, derived, n, plausible}`."""
        return {"stored": self.stored, "derived": self.derived, "n": self.n, "plausible": self.plausible}


@dataclass(frozen=True, kw_only=True)
class DerivedClasses:
    """Table 1 by the derived classes, and the derived beside the stored ones.

    Attributes:
        rows: by group (ID, OOD, Adv) and class, as in `composition`; items stored as adversarial stay so.
        crossings: stored class by derived class, every pair that occurs.
        compared: triples stored as in-domain or out-of-domain; of these, `other_class` are derived under another
            class and `other_group` in the other domain.
        nodes: how many different nodes were given.
    """

    rows: tuple[CompositionRow, ...]
    crossings: tuple[Crossing, ...]
    compared: int
    other_class: int
    other_group: int
    nodes: int
    signature: str

    def as_json(self) -> dict[str, Any]:
        """`{rows, crossings, compared, other_class, other_group, nodes, signature}`."""
        return {
            "rows": [row.as_json() for row in self.rows],
            "crossings": [crossing.as_json() for crossing in self.crossings],
            "compared": self.compared,
            "other_class": self.other_class,
            "other_group": self.other_group,
            "nodes": self.nodes,
            "signature": self.signature,
        }


def derived_classes(triples: LabelledTriples, nodes: Collection[str], *, labels: str) -> DerivedClasses:
    """Classes by the nodes beside the stored ones, which stay as they are; triples without a label are left out.

    Args:
        triples: with their stored classes; nodes: of the training set; labels: names the labels, for the signature.

    How to read it: a triple derived as OOD that is stored as ID holds a node that this training set lacks; many of
    them say that the file is not the training set the classes were made from, or writes its nodes otherwise.

    >>> import numpy as np
    >>> triples = LabelledTriples(
    ...     head=["eat", "eat", "bark"], relation=["xWant"] * 3, tail=["rest", "run", "rest"],
    ...     item_class=["test_set", "test_set", "adv"], split=["test"] * 3, label=np.array([1, 0, 1], dtype=np.int8))
    >>> found = derived_classes(triples, {"eat", "rest"}, labels="imported")
    >>> [(row.value, row.n, row.plausible) for row in found.rows if row.by == "group"]
    [('ID', 1, 1), ('OOD', 1, 0), ('Adv', 1, 1)]
    >>> [(crossing.stored, crossing.derived) for crossing in found.crossings], found.compared, found.other_group
    ([('test_set', 'test_set'), ('test_set', 'cs_head'), ('adv', 'all_head')], 2, 1)
    """
    by_nodes = classes_from_nodes(triples.head, triples.tail, nodes)
    shown = [
        stored if stored in triples.class_groups["Adv"] else derived
        for stored, derived in zip(triples.item_class, by_nodes, strict=True)
    ]
    groups = _with_derived(triples.class_groups)
    group_of = {name: group for group, members in groups.items() for name in members}
    table = composition(
        replace(triples, item_class=shown, class_groups=groups), labels=labels, training_nodes=nodes
    )
    crossings = _crossings(triples, by_nodes)
    of_nodes = {*triples.class_groups["ID"], *triples.class_groups["OOD"]}
    compared = [one for one in crossings if one.stored in of_nodes]
    return DerivedClasses(
        rows=tuple(row for row in table.rows if row.by in ("group", "class")),
        crossings=crossings,
        compared=sum(one.n for one in compared),
        other_class=sum(one.n for one in compared if one.stored != one.derived),
        other_group=sum(one.n for one in compared if group_of[one.stored] != group_of[one.derived]),
        nodes=len(frozenset(nodes)),
        signature=f"classes-from-nodes|ver:1|nodes:{len(frozenset(nodes))}|{table.signature}",
    )


def _with_derived(groups: ClassGroups) -> ClassGroups:
    """The groups with the three classes that nodes give, which keep their meaning where a campaign has others."""
    others = {
        group: tuple(name for name in members if name not in DERIVED) for group, members in groups.items()
    }
    return {
        group: (*(name for name in CLASS_GROUPS[group] if name in DERIVED), *others[group])
        for group in groups
    }


def _crossings(triples: LabelledTriples, derived: Sequence[str]) -> tuple[Crossing, ...]:
    counts: Counter[tuple[str, str]] = Counter()
    plausible: Counter[tuple[str, str]] = Counter()
    for stored, found, label in zip(triples.item_class, derived, triples.label.tolist(), strict=True):
        if label >= 0:
            counts[stored, found] += 1
            plausible[stored, found] += label
    known = [name for members in triples.class_groups.values() for name in members]
    others = sorted({stored for stored, _found in counts} - {*known, NO_CLASS})
    return tuple(
        Crossing(stored=stored, derived=found, n=counts[stored, found], plausible=plausible[stored, found])
        for stored in (*known, *others, NO_CLASS)
        for found in DERIVED
        if counts[stored, found]
    )
