"""The same items again with or without their ids: they are known by their texts, and the campaign does not double."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Context, Item, Output, Unit
from annotation.services.exports import names_of, table, take
from annotation.services.imports import Report
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from tests.material import (
    Rows,
    answer_everything,
    compounds,
    exported,
    in_order,
    judge_rows,
    load,
    load_rows,
    new_campaign,
    triples,
)
from tests.shared import case

pytestmark = pytest.mark.django_db


def without(rows: Rows, *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def told(found: Report) -> list[tuple[int, int]]:
    return [(found.added, found.unchanged)]


def messages(found: Report) -> str:
    return " ".join(issue.message for issue in found.warnings)


# Without ids, where the items have some


@pytest.mark.parametrize("left_out", [("item_id",), ("item_id", "context_no")], ids=["numbers", "sentences"])
def test_compounds_without_their_ids_are_the_ones_that_are_there(
    left_out: tuple[str, ...], tmp_path: Path
) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path)
    again = load_rows(campaign, without(compounds(2)[::-1], *left_out), tmp_path)
    assert (again.added, again.unchanged, again.conflicts, again.warnings) == (0, 10, (), ())
    assert Item.objects.count() == 10


def test_a_corrected_text_without_its_id_is_a_conflict(tmp_path: Path) -> None:
    """c08, without the column of ids: the number of items never becomes 10."""
    campaign = new_campaign("compound")
    load_rows(campaign, case("c08_reimport_v1.csv"), tmp_path)
    second = without(case("c08_reimport_v2.csv"), "item_id")
    refused = load_rows(campaign, second, tmp_path)
    assert [(c["key"], c["field"]) for c in refused.conflicts] == [("f02", "translation")]
    assert (refused.stored, Item.objects.count()) == (False, 5)
    found = load_rows(campaign, second, tmp_path, on_conflict="replace")
    assert (found.replaced, Item.objects.active().count()) == (1, 5)
    assert {(item.key, item.given_key) for item in Item.objects.active()} == {
        (f"f0{number}", True) for number in range(1, 6)
    }


def test_a_corrected_sentence_is_known_by_its_number(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    rows = without(compounds(1), "item_id")
    rows[2]["source"] = "yesterday the sleepy gardener 1 waved ."
    found = load_rows(campaign, rows, tmp_path)
    assert [(c["key"], c["field"]) for c in found.conflicts] == [("c1-3", "source")]


def test_a_further_system_without_ids_joins_the_contexts_that_are_there(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    rows = without(compounds(1, translation="别的。"), "item_id")
    assert told(load_rows(campaign, rows, tmp_path, system="large")) == [(5, 0)]
    assert (Context.objects.count(), Unit.objects.count(), Output.objects.count()) == (5, 1, 10)
    assert set(Item.objects.values_list("given_key", flat=True)) == {True}
    rows_of = take(table(campaign, "items", names=names_of(campaign, real=True))).rows
    assert [row["item_id"] for row in rows_of] == [row["item_id"] for row in compounds(1)] * 2


def test_triples_without_their_ids_are_the_ones_that_are_there(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4, label="1"), tmp_path)
    again = load_rows(campaign, without(triples(4, label="1"), "triple_id"), tmp_path)
    assert (again.added, again.unchanged, again.warnings) == (0, 4, ())
    changed = load_rows(campaign, without(triples(4, label="0"), "triple_id"), tmp_path)
    assert [c["key"] for c in changed.conflicts] == ["t1", "t2", "t3", "t4"]


def test_rows_that_several_items_could_be_are_taken_in_order_with_a_warning(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = [*triples(3), {**triples(3)[1], "triple_id": "t4"}]
    load_rows(campaign, rows, tmp_path)
    plain = without(rows, "triple_id")
    again = load_rows(campaign, [*plain, plain[1]], tmp_path)
    assert told(again) == [(1, 4)]
    said = [
        (issue.line, issue.message) for issue in again.warnings if "items of the campaign" in issue.message
    ]
    assert [line for line, _message in said] == [3, 5]
    assert said[0][1] == (
        "2 items of the campaign have the texts of this row; it is taken for “t2”, in the order of import. To say "
        "which one is meant, add the column triple_id."
    )
    assert load_rows(campaign, [*plain, plain[1]], tmp_path).unchanged == 5


def test_a_repeated_number_is_told_apart_by_its_sentence(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, case("c10_contexts_four_six_scattered.csv"), tmp_path)
    rows = without(case("c10_contexts_four_six_scattered.csv"), "item_id")
    again = load_rows(campaign, rows[::-1], tmp_path)
    assert (again.added, again.unchanged, again.conflicts) == (0, 20, ())


def test_a_new_sentence_without_id_and_number_is_new(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    rows = without(compounds(1), "item_id", "context_no")
    rows[0]["source"] = "now the sleepy gardener 1 waves ."
    found = load_rows(campaign, rows, tmp_path)
    assert told(found) == [(1, 4)]
    assert "has 6 contexts, in the campaign and this file together" in messages(found)


# With ids, where the items have none


@pytest.mark.parametrize("protocol", ["compound", "triple"])
def test_ids_that_come_later_are_filled_in(protocol: str, tmp_path: Path) -> None:
    campaign = new_campaign(protocol, k=1)
    rows, column = (compounds(1), "item_id") if protocol == "compound" else (triples(5), "triple_id")
    load_rows(campaign, without(rows, column), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    found = load_rows(campaign, rows, tmp_path)
    assert (found.added, found.unchanged, found.filled) == (0, 0, 5)
    assert found.filled_fields == {column: 5}
    assert "5 items of the campaign came without an id" in messages(found)
    assert [row[1] for row in in_order(campaign)] == [row[column] for row in rows]
    assert Assignment.objects.filter(answered_at__isnull=False).count() == Item.objects.count() == 5
    for again in (rows, without(rows, column)):
        assert told(load_rows(campaign, again, tmp_path)) == [(0, 5)]
    judged = judge_rows(campaign, [{column: rows[0][column], "annotator": "ada", "label": "1"}])
    assert judged.unchanged == 1
    assert verify(campaign) == []


def test_a_campaign_that_got_its_ids_later_is_as_if_it_had_them_from_the_start(tmp_path: Path) -> None:
    later, first = new_campaign(), new_campaign(slug="first")
    load_rows(later, without(triples(3), "triple_id"), tmp_path)
    load_rows(later, triples(3), tmp_path)
    load_rows(first, triples(3), tmp_path)
    assert exported(later, "items", "csv") == exported(first, "items", "csv")
    keys = Unit.objects.order_by("position")
    assert list(keys.filter(campaign=later).values_list("key", flat=True)) == list(
        keys.filter(campaign=first).values_list("key", flat=True)
    )


def test_ids_reach_the_texts_that_were_replaced_and_the_new_outputs(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "item_id"), tmp_path, system="base")
    rows = [*compounds(1, system="base"), *compounds(1, system="large", translation="别的。")]
    rows[0]["translation"] = "改过的。"
    found = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert (found.added, found.replaced, found.filled) == (5, 1, 10)
    assert set(Item.objects.values_list("given_key", flat=True)) == {True}
    assert set(Item.objects.filter(retired_why="replaced").values_list("key", flat=True)) == {"c1-1"}
    assert load_rows(campaign, rows, tmp_path).unchanged == 10


def test_ids_of_equal_triples_are_given_in_order(tmp_path: Path) -> None:
    campaign = new_campaign()
    same = [{**triples(1)[0], "triple_id": name} for name in ("a", "b", "c")]
    load_rows(campaign, without(same[:2], "triple_id"), tmp_path)
    found = load_rows(campaign, same, tmp_path)
    assert (found.added, found.filled) == (1, 2)
    assert "they get the ids in the order of import" in messages(found)
    assert [row[1] for row in in_order(campaign)] == ["a", "b", "c"]


def test_another_sentence_under_an_id_is_another_context(tmp_path: Path) -> None:
    """An id says more than a compound and a number."""
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "item_id"), tmp_path)
    rows = compounds(1)[:1]
    rows[0]["source"] = "now the sleepy gardener 1 waves ."
    found = load_rows(campaign, rows, tmp_path)
    assert (found.added, found.filled) == (1, 0)
    assert "Context 1 of “the sleepy gardener 1” is in the campaign already" in messages(found)


def test_an_id_that_another_item_has_stays_with_that(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    load_rows(campaign, without(triples(4)[2:], "triple_id"), tmp_path)
    rows = triples(4)
    rows[2]["triple_id"] = "t1"
    found = load_rows(campaign, [rows[2]], tmp_path)
    assert {c["field"] for c in found.conflicts} == {"head", "relation", "tail"}
    assert found.filled == 0


# Several units of one compound


def test_a_test_set_that_holds_a_compound_twice_comes_back(tmp_path: Path) -> None:
    """Blocks apart are units apart; an export names them alike, and each context stays in its own."""
    campaign = new_campaign("compound")
    rows = compounds(1)
    load_rows(campaign, rows, tmp_path, system="base")
    unit = Unit.objects.get()
    Unit.objects.filter(pk=unit.pk).update(key=f"{unit.key} (2)")
    (tmp_path / "copy.csv").write_bytes(exported(campaign, "items", "csv"))
    assert load(campaign, tmp_path / "copy.csv").unchanged == 5
    other = load_rows(campaign, compounds(1, translation="别的。"), tmp_path, system="large")
    assert (other.added, other.units) == (5, 0)
    assert set(Item.objects.values_list("unit", flat=True)) == {unit.pk}
    assert verify(campaign) == []
