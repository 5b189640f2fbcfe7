"""In-domain and out-of-domain by the nodes of a training set, beside the classes that are stored."""

import json

import numpy as np
import pytest

from scoring.stats.composition import LabelledTriples
from scoring.stats.node_classes import classes_from_nodes, derived_classes
from tests.scoring.stats.released import labelled_triples, triples


def small(*rows: tuple[str, str, str, int]) -> LabelledTriples:
    """(head, tail, stored class, label)"""
    return LabelledTriples(
        head=[row[0] for row in rows],
        relation=["xWant"] * len(rows),
        tail=[row[1] for row in rows],
        item_class=[row[2] for row in rows],
        split=["test"] * len(rows),
        label=np.array([row[3] for row in rows], dtype=np.int8),
    )


def test_the_class_is_told_by_the_nodes_as_they_stand() -> None:
    heads, tails = ["a", "a", "c", "c", "A"], ["b", "c", "b", "c", "b"]
    assert classes_from_nodes(heads, tails, ["a", "b"]) == (
        "test_set", "cs_head", "all_head", "all_head", "all_head",
    )  # fmt: skip
    assert classes_from_nodes(heads, tails, []) == ("all_head",) * 5
    assert classes_from_nodes([], [], ["a"]) == ()
    with pytest.raises(ValueError, match="each head needs a tail"):
        classes_from_nodes(["a"], [], ["a"])


def test_stored_and_derived_classes_cross() -> None:
    judged = small(
        ("a", "b", "test_set", 1), ("a", "x", "test_set", 0), ("x", "b", "cs_head", 1), ("a", "b", "adv", 1),
        ("a", "b", "", 0), ("a", "b", "mine", 1), ("a", "b", "all_head", 0), ("a", "b", "all_head", -1),
    )  # fmt: skip
    found = derived_classes(judged, {"a", "b", "z"}, labels="final")
    assert [(one.stored, one.derived, one.n, one.plausible) for one in found.crossings] == [
        ("test_set", "test_set", 1, 1), ("test_set", "cs_head", 1, 0), ("cs_head", "all_head", 1, 1),
        ("all_head", "test_set", 1, 0), ("adv", "test_set", 1, 1), ("mine", "test_set", 1, 1),
        ("", "test_set", 1, 0),
    ]  # fmt: skip
    # Of the four stored as ID or OOD one keeps its class; cs_head and all_head are one domain.
    assert (found.compared, found.other_class, found.other_group, found.nodes) == (4, 3, 2, 3)
    assert [(row.value, row.n) for row in found.rows if row.by == "group"] == [
        ("ID", 4),
        ("OOD", 2),
        ("Adv", 1),
    ]
    assert judged.item_class[1] == "test_set"
    json.dumps(found.as_json(), allow_nan=False)
    assert found.signature.startswith("classes-from-nodes|ver:1|nodes:3|composition|")


def test_the_released_triples_are_told_apart_by_the_nodes_of_their_in_domain_class() -> None:
    rows = triples()
    in_domain = [row for row in rows if row["class"] == "test_set"]
    nodes = {text for row in in_domain for text in (row["head"], row["tail"])}
    found = derived_classes(labelled_triples(), nodes, labels="imported")
    crossed = {(one.stored, one.derived): (one.n, one.plausible) for one in found.crossings}
    assert crossed["test_set", "test_set"] == (845, 292)
    alone = [row for row in rows if row["head"] in nodes and row["tail"] not in nodes]
    for stored in ("cs_head", "all_head", "adv"):
        of_class = [row for row in alone if row["class"] == stored]
        plausible = sum(row["label"] == "1" for row in of_class)
        assert crossed.get((stored, "cs_head"), (0, 0)) == (len(of_class), plausible)
    assert found.compared == 2498
    assert sum(n for n, _plausible in crossed.values()) == 5006
    groups = {row.value: row.n for row in found.rows if row.by == "group"}
    assert (sum(groups.values()), groups["Adv"]) == (5006, 2508)
