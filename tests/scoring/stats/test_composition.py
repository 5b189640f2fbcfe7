"""Table 1 against the released triples, and what is left out of it."""

import json
from collections.abc import Collection

import numpy as np
import pytest

from scoring.stats.composition import Composition, LabelledTriples, composition
from tests.scoring.stats.released import expected, labelled_triples, triples


def released(training_nodes: Collection[str] | None = None) -> Composition:
    return composition(labelled_triples(), labels="imported", training_nodes=training_nodes)


def small(labels: list[int], **columns: list[str]) -> LabelledTriples:
    size = len(labels)
    texts = {"head": ["h"] * size, "relation": ["xWant"] * size, "tail": ["t"] * size}
    texts |= {"item_class": [""] * size, "split": [""] * size} | columns
    return LabelledTriples(
        head=texts["head"],
        relation=texts["relation"],
        tail=texts["tail"],
        item_class=texts["item_class"],
        split=texts["split"],
        label=np.array(labels, dtype=np.int8),
    )


def test_it_gives_every_row_of_the_published_table() -> None:
    table = expected("ckbp_v2", "table1")
    wanted = [("all", "all", table["all"])]
    wanted += [("split", {"tst": "test"}.get(value, value), row) for value, row in table["split"].items()]
    for by, key in (("group", "group"), ("class", "cls"), ("relation", "relation")):
        wanted += [(by, value, row) for value, row in table[key].items()]
    assert [
        (row.by, row.value, {"n": row.n, "plausible": row.plausible, "pct": round(100 * (row.share or 0), 2)})
        for row in released().rows
    ] == wanted


def test_it_leaves_unseen_blank_without_a_training_set() -> None:
    assert {row["unseen_percent"] for row in released().as_json()["rows"]} == {None}


def test_it_gives_the_share_of_distinct_nodes_a_training_set_lacks() -> None:
    rows = triples()
    heads = {row["head"] for row in rows}
    table = released(training_nodes=heads)
    nodes = heads | {row["tail"] for row in rows}
    assert table.rows[0].unseen == pytest.approx(1 - len(heads) / len(nodes))
    assert all(row.unseen == 0 for row in released(training_nodes=nodes).rows)
    assert all(row.unseen == 1 for row in released(training_nodes=[]).rows)


def test_it_counts_items_without_a_label_apart() -> None:
    table = composition(small([1, 0, -1], split=["dev", "dev", "test"]), labels="final")
    assert table.unlabelled == 1
    assert [(row.value, row.n, row.share) for row in table.rows] == [
        ("all", 2, 0.5),
        ("dev", 2, 0.5),
        ("test", 0, None),
        ("xWant", 2, 0.5),
    ]
    assert table.as_json()["rows"][2]["reason"] == "no triple here has a label"


def test_it_shows_both_names_of_the_test_split_as_one() -> None:
    table = composition(small([1, 0, 1], split=["tst", "test", "dev"]), labels="final")
    assert [(row.value, row.n) for row in table.rows if row.by == "split"] == [("dev", 1), ("test", 2)]


def test_it_keeps_relations_apart_that_differ_in_case() -> None:
    table = composition(small([1, 0, 1], relation=["xwant", "xWant", "general Effect"]), labels="final")
    assert [row.value for row in table.rows if row.by == "relation"] == ["xWant", "general Effect", "xwant"]


def test_it_has_no_rows_for_columns_nobody_filled() -> None:
    assert [row.by for row in composition(small([1]), labels="final").rows] == ["all", "relation"]


def test_it_takes_no_items() -> None:
    table = composition(small([]), labels="final", training_nodes={"h"})
    assert [(row.value, row.n, row.share, row.unseen) for row in table.rows] == [("all", 0, None, None)]


def test_it_refuses_columns_of_unequal_length_and_unknown_labels() -> None:
    with pytest.raises(ValueError, match="same length"):
        small([1, 0], head=["h"])
    with pytest.raises(ValueError, match="label is 1"):
        small([2])


def test_it_writes_the_contracts_rows() -> None:
    document = json.loads(json.dumps(released().as_json()))
    assert set(document) == {"rows", "unlabelled", "signature"}
    assert {"by", "value", "n", "plausible", "percent", "unseen_percent"} < set(document["rows"][0])
    for row in document["rows"]:
        assert row["ci95"][0] <= row["percent"] <= row["ci95"][1]
        assert row["ci95"][1] > row["ci95"][0]
    assert "labels:imported" in document["signature"]
