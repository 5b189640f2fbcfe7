"""A corrected text: what is judged again, by whom, and what becomes of the answers that were given."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign, Context, HandIn, Item, Output, User
from annotation.services.batches import batches_of, close_batch
from annotation.services.discussion import open_thread
from annotation.services.errors import Refused
from annotation.services.items import Wanted, item_page, restore, withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens, progress
from annotation.services.seat import hand_in
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load,
    load_rows,
    new_campaign,
    run,
    save,
    triples,
    write_csv,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db

V1, V2 = "cases/c08_reimport_v1.csv", "cases/c08_reimport_v2.csv"


@pytest.fixture
def fence() -> Campaign:
    """One compound in five contexts, given to ada and bo, both of whom have judged it."""
    campaign = new_campaign("compound", k=2)
    assert load(campaign, shared(V1)).added == 5
    assert load(campaign, shared(V1)).added == 0
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    return campaign


def person(name: str) -> User:
    return User.objects.get(username=name)


def answers_to(key: str, *, retired: bool) -> list[tuple[str, str]]:
    """Who answered what to the old or the new text of an item."""
    rows = Annotation.objects.filter(
        assignment__item__key=key, assignment__item__retired_at__isnull=not retired
    ).order_by("assignment__expert__username", "revision")
    return list(rows.values_list("assignment__expert__username", "label"))


def test_it_reports_the_one_text_that_changed(fence: Campaign) -> None:
    ran = run("import_items", fence.slug, shared(V2), "--json")
    assert ran.code == 1
    (conflict,) = ran.document["conflicts"]
    assert (conflict["key"], conflict["field"]) == ("f02", "translation")
    assert conflict["old"] != conflict["new"]
    assert (ran.document["added"], ran.document["unchanged"], ran.document["stored"]) == (0, 4, False)
    assert Item.objects.count() == 5
    assert answers_to("f02", retired=False) == [("ada", "1"), ("bo", "1")]


def test_it_changes_nothing_where_the_old_text_is_kept(fence: Campaign) -> None:
    ran = run("import_items", fence.slug, shared(V2), "--on-conflict", "keep", "--json")
    assert ran.code == 0
    assert (ran.document["added"], ran.document["replaced"]) == (0, 0)
    assert Item.objects.count() == 5
    assert answers_to("f02", retired=False) == [("ada", "1"), ("bo", "1")]
    assert progress(fence, expert_id=person("ada").pk)["done"] == 1


def test_it_ties_answers_to_the_old_text_and_asks_the_same_people_again(fence: Campaign) -> None:
    old = Item.objects.get(key="f02")
    ran = run("import_items", fence.slug, shared(V2), "--on-conflict", "replace", "--json")
    assert ran.code == 0, ran.err
    assert (ran.document["replaced"], ran.document["added"], ran.document["items"]) == (1, 0, 1)
    new = Item.objects.active().get(key="f02")
    assert (new.position, new.key, new.unit_id, new.context_id) == (
        old.position, old.key, old.unit_id, old.context_id,
    )  # fmt: skip
    assert Item.objects.active().filter(campaign=fence).count() == 5
    old.refresh_from_db()
    assert (old.retired_why, old.translation) == ("replaced", "他们一起刷了旧栅栏。")
    assert answers_to("f02", retired=True) == [("ada", "1"), ("bo", "1")]
    assert answers_to("f02", retired=False) == []
    asked = Assignment.objects.filter(item=new).order_by("slot").values_list("expert__username", "slot")
    assert list(asked) == [("ada", 1), ("bo", 2)]
    (screen,) = next_screens(fence, expert_id=person("ada").pk, count=5)
    assert [row["translation"] for row in screen["rows"]] == [new.translation]
    assert [row["answer"] for row in screen["rows"]] == [None]
    standing = progress(fence, expert_id=person("ada").pk)
    assert (standing["total"], standing["done"]) == (2, 1)
    assert verify(fence) == []


def test_it_labels_the_new_text_by_the_new_answers_only(fence: Campaign) -> None:
    finalize(fence)
    load(fence, shared(V2), on_conflict="replace")
    result = finalize(fence)
    assert (result.labelled, result.unlabelled) == (4, {"incomplete": 1})
    for name in ("ada", "bo"):
        rows = Assignment.objects.filter(expert__username=name, answered_at__isnull=True)
        (row,) = rows
        answer = Answer(assignment=row.pk, revision=0, label="0")
        save(Sheet(screen=row.pk, client_key=uuid.uuid4(), answers=(answer,)), row.expert_id)
    result = finalize(fence)
    assert (result.labelled, result.unlabelled) == (5, {})
    assert Item.objects.active().get(key="f02").final_label.label == "0"
    assert verify(fence) == []


def test_it_gives_a_handed_in_part_back_where_a_text_in_it_changed(fence: Campaign) -> None:
    for name in ("ada", "bo"):
        expert = person(name)
        for part in progress(fence, expert_id=expert.pk)["parts"]:
            hand_in(fence, expert_id=expert.pk, index=part["index"])
    assert HandIn.objects.count() == 2
    load(fence, shared(V2), on_conflict="replace")
    assert HandIn.objects.count() == 0
    row = Assignment.objects.get(expert__username="ada", answered_at__isnull=True)
    answer = Answer(assignment=row.pk, revision=0, label="1")
    assert save(Sheet(screen=row.pk, client_key=uuid.uuid4(), answers=(answer,)), row.expert_id)


def test_it_moves_open_work_to_the_new_text_in_its_place() -> None:
    campaign = new_campaign("compound", k=1)
    load(campaign, shared(V1))
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    standing = Assignment.objects.filter(withdrawn_at__isnull=True).order_by("position", "row")
    before = list(standing.values_list("position", "row", "queue", "slot", "expert"))
    load(campaign, shared(V2), on_conflict="replace")
    assert list(standing.values_list("position", "row", "queue", "slot", "expert")) == before
    (screen,) = next_screens(campaign, expert_id=person("ada").pk, count=5)
    assert len(screen["rows"]) == 5
    assert "他们一起刷粉了旧栅栏。" not in {row["translation"] for row in screen["rows"]}
    assert Item.objects.active().get(key="f02").translation in {row["translation"] for row in screen["rows"]}
    assert verify(campaign) == []


def test_it_changes_in_place_what_was_not_judged(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3, split="dev", label="1"), tmp_path)
    pk = Item.objects.get(key="t2").pk
    rows = triples(3, split="dev", label="1")
    rows[1] |= {"split": "test", "label": "0"}
    found = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert found.replaced == 1
    item = Item.objects.get(key="t2")
    assert (item.pk, item.split, item.imported_label, item.retired_at) == (pk, "test", "0", None)


def test_it_replaces_a_triple_and_keeps_its_place(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "0.5")
    rows = triples(4)
    rows[1] |= {"tail": "PersonX burns it"}
    found = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert (found.added, found.replaced, found.items) == (1, 1, 2)
    assert [item.tail for item in Item.objects.active().order_by("position")] == [
        "PersonX seals it 1", "PersonX burns it", "PersonX seals it 3", "PersonX seals it 4",
    ]  # fmt: skip
    assert answers_to("t2", retired=True) == [("ada", "0.5"), ("bo", "0.5")]
    exported = run("export", campaign.slug, "--what", "items", "--format", "csv").out.splitlines()
    assert [line.split(",")[0] for line in exported[1:]] == ["t1", "t2", "t3", "t4"]
    assert load_rows(campaign, rows, tmp_path).unchanged == 4
    assert verify(campaign) == []


def test_it_asks_for_every_translation_of_a_changed_source_again(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    load_rows(campaign, compounds(1, system="large", translation="别的。"), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    rows = compounds(1, system="base") + compounds(1, system="large", translation="别的。")
    for row in rows:
        if row["context_no"] == 3:
            row["source"] = "yesterday the sleepy gardener 1 waved ."
    found = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert found.replaced == 2
    context = Context.objects.get(key="c1-3")
    assert context.source[context.start : context.end] == "the sleepy gardener 1"
    assert Assignment.objects.filter(item__context=context, answered_at__isnull=True).count() == 2
    assert Item.objects.filter(context=context, retired_why="replaced").count() == 2
    assert all(output.item.retired_at is None for output in Output.objects.filter(context=context))
    assert load_rows(campaign, rows, tmp_path).unchanged == 10
    assert verify(campaign) == []


def test_it_leaves_the_item_to_the_system_whose_output_did_not_change(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    load_rows(campaign, compounds(1, system="large"), tmp_path)
    assert Item.objects.count() == 5
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    rows = compounds(1, system="large")
    rows[0]["translation"] = "改过的。"
    load_rows(campaign, rows, tmp_path, on_conflict="replace")
    items = Item.objects.active().filter(context__key="c1-1").order_by("position")
    assert [item.translation for item in items] == [compounds(1)[0]["translation"], "改过的。"]
    assert items[1].position == 6
    # The new item waits until parts are assigned again, and goes to the unit's expert.
    ran = run("assign_parts", campaign.slug, "--experts", "ada", "--json")
    assert ran.code == 0, ran.err
    assert (ran.document["late_items"], ran.document["loads"]) == (1, {"ada": 0})
    assert Assignment.objects.get(item=items[1]).expert == person("ada")
    assert verify(campaign) == []


def test_it_withdraws_open_work_on_a_text_that_another_item_holds_already(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    large = compounds(1, system="large")
    large[0]["translation"] = "别的。"
    load_rows(campaign, large, tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    load_rows(campaign, compounds(1, system="large"), tmp_path, on_conflict="replace")
    old = Item.objects.get(translation="别的。")
    assert old.retired_why == "replaced"
    shown = next_screens(campaign, expert_id=person("ada").pk, count=9)
    assert "别的。" not in {row["translation"] for screen in shown for row in screen["rows"]}
    assert sum(len(screen["rows"]) for screen in shown) == 5
    assert verify(campaign) == []


def test_it_stores_a_further_system_whose_source_is_the_corrected_one(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    rows = compounds(1, system="large", translation="别的。")
    rows[0]["source"] = "yesterday the sleepy gardener 1 waved ."
    found = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert (found.added, found.replaced) == (5, 1)
    assert Output.objects.filter(system__name="large").count() == 5
    assert Context.objects.get(key="c1-1").source == rows[0]["source"]
    assert verify(campaign) == []


@pytest.mark.parametrize(("field", "value"), [("compound", "the idle gardener 1"), ("context_no", 7)])
def test_it_does_not_make_one_item_of_two(field: str, value: Any, tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    rows = compounds(1)
    rows[0][field] = value
    with pytest.raises(Refused, match="That is another item: give it an id of its own"):
        load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert load_rows(campaign, compounds(1), tmp_path).unchanged == 5


def test_it_corrects_the_text_of_a_withdrawn_item(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    withdraw(campaign, Item.objects.get(key="t1").pk, reason="a typing error", by=make_user("mei"))
    rows = triples(2)
    rows[0]["tail"] = "PersonX seals it well"
    found = load(campaign, write_csv(tmp_path / "items.csv", rows), on_conflict="replace")
    assert found.replaced == 1
    assert [item.tail for item in Item.objects.active().order_by("position")] == [
        "PersonX seals it well", "PersonX seals it 2",
    ]  # fmt: skip


def test_it_asks_nobody_about_judgements_from_elsewhere(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(1), tmp_path)
    judge_rows(campaign, [{"triple_id": "t1", "label": "1"}], annotator="released")
    rows = triples(1)
    rows[0]["tail"] = "PersonX burns it"
    load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert answers_to("t1", retired=True) == [("released", "1")]
    assert not Assignment.objects.filter(item__retired_at__isnull=True).exists()
    assert judge_rows(campaign, [{"triple_id": "t1", "label": "0"}], annotator="released").added == 1


# Beside another text of the context ------------------------------------------------------------------------------


def row(text: str, **more: object) -> dict[str, object]:
    """Another translation of the first sentence."""
    return compounds(1)[0] | {"translation": text} | more


@pytest.fixture
def two(tmp_path: Path) -> Campaign:
    """Systems a and b with a text each, judged by ada and bo, who differ."""
    campaign = new_campaign("compound", k=2)
    for name in "ab":
        load_rows(campaign, [row(f"译文{name}")], tmp_path, system=name)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda one: str(one.slot % 2))
    return campaign


def item_of(system: str) -> Item:
    return Output.objects.select_related("item").get(system__name=system).item


def out(item: Item, reason: str = "unclear") -> None:
    withdraw(item.campaign, item.pk, reason=reason, by=make_user("mei"))


def counting(item: Item) -> list[str]:
    """Answers that count, of a text or of none."""
    rows = item.assignments.filter(withdrawn_at__isnull=True, answered_at__isnull=False)
    return list(rows.order_by("slot").values_list("label", flat=True))


def test_a_withdrawn_translation_gets_the_corrected_source_too(two: Campaign, tmp_path: Path) -> None:
    judged = item_of("a")
    out(judged, reason="a typing error")
    changed = row("译文b", source="the sleepy gardener 1 never waved .")
    assert load_rows(two, [changed], tmp_path, system="b", on_conflict="replace").replaced == 1

    stands = item_of("a")
    assert (stands.retired_why, stands.position) == ("withdrawn", judged.position)
    (line,) = item_page(two, Wanted(state="withdrawn")).lines
    assert line.withdrawn_because == "a typing error"
    restore(two, stands.pk, by=User.objects.get(username="mei"))
    assert counting(stands) == []  # what was said of the old sentence does not count for the new one
    finalize(two)
    assert not Item.objects.filter(pk=stands.pk, final_label__label__in="01").exists()
    assign_parts(two, experts=["ada", "bo"], design="cyclic", seed=1, again=0)
    assert stands.assignments.filter(answered_at__isnull=True).count() == 2
    assert verify(two) == []


def closed(item: Item) -> None:
    (batch,) = batches_of(item.campaign)
    close_batch(item.campaign, batch.pk, by=None)


def discussed(item: Item) -> None:
    closed(item)
    open_thread(item.campaign, item.pk, by=None)


def labelled(item: Item) -> None:
    closed(item)
    finalize(item.campaign)


def main_round_over(item: Item) -> None:
    item.campaign.rounds.filter(kind="main").update(state="closed")


@pytest.mark.parametrize("settled", [closed, discussed, labelled, main_round_over])
@pytest.mark.parametrize("withdrawn", [False, True])
def test_it_takes_no_settled_answers_away_for_a_text_that_another_item_holds(
    settled: Callable[[Item], None], withdrawn: bool, two: Campaign, tmp_path: Path
) -> None:
    item = item_of("b")
    settled(item)
    if withdrawn:
        out(item)
    answers = counting(item)
    with pytest.raises(Refused, match=r"is in a closed batch|The main round is closed"):
        load_rows(two, [row("译文a")], tmp_path, system="b", on_conflict="replace")
    assert item_of("b") == item
    item.refresh_from_db()
    assert (item.retired_why, counting(item)) == ("withdrawn" if withdrawn else "", answers)


def test_rows_that_were_withdrawn_before_keep_their_moment(two: Campaign, tmp_path: Path) -> None:
    item = item_of("b")
    before = timezone.now()
    item.assignments.filter(slot=1).update(withdrawn_at=before)
    load_rows(two, [row("译文a")], tmp_path, system="b", on_conflict="replace")
    item.refresh_from_db()
    moments = item.assignments.order_by("slot").values_list("withdrawn_at", flat=True)
    assert list(moments) == [before, item.retired_at]


@pytest.mark.parametrize("known", ["译文a", " 译文 a"])
def test_a_text_that_equals_a_withdrawn_one_is_that_one(known: str, two: Campaign, tmp_path: Path) -> None:
    item = item_of("a")
    out(item)
    assert load_rows(two, [row(known)], tmp_path, system="b", on_conflict="replace").replaced == 1
    assert (item_of("a"), item_of("b")) == (item, item)
    restore(two, item.pk, by=User.objects.get(username="mei"))
    assert counting(item) == ["1", "0"]
    assert verify(two) == []


def test_a_withdrawn_text_that_no_system_produces_any_more_does_not_come_back(
    two: Campaign, tmp_path: Path
) -> None:
    item = item_of("b")
    out(item)
    load_rows(two, [row("译文a")], tmp_path, system="b", on_conflict="replace")
    item.refresh_from_db()
    assert item.retired_why == "replaced"
    assert verify(two) == []


# Looking at it before


@pytest.mark.parametrize("settled", [lambda item: None, closed, discussed, main_round_over])
@pytest.mark.parametrize("changed", ["a text of its own", "another item's text", "source", "both"])
def test_a_dry_run_says_of_replacing_what_the_run_does(
    settled: Callable[[Item], None], changed: str, two: Campaign, tmp_path: Path
) -> None:
    settled(item_of("b"))
    text = {"a text of its own": "译文c", "source": "译文b"}.get(changed, "译文a")
    texts = {} if "text" in changed else {"source": "the sleepy gardener 1 never waved ."}
    rows = [row(text, **texts, system="b"), row("译文d", **texts, system="c")]

    seen = load_rows(two, rows, tmp_path, on_conflict="replace", dry_run=True)

    if seen.refusals:
        assert not seen.can_be_stored
        assert (seen.added, seen.filled) == (0, 0)
        with pytest.raises(Refused) as refused:
            load_rows(two, rows, tmp_path, on_conflict="replace")
        assert (seen.refusals[0].line, seen.refusals[0].message) == (2, refused.value.message)
    else:
        assert seen.can_be_stored
        done = load_rows(two, rows, tmp_path, on_conflict="replace")
        told = ("added", "unchanged", "replaced", "filled", "filled_fields")
        assert [getattr(seen, name) for name in told] == [getattr(done, name) for name in told]


def test_a_dry_run_names_every_row_that_would_be_refused(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4, split="dev"), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    (batch,) = batches_of(campaign)
    close_batch(campaign, batch.pk, by=None)
    changed = triples(4, split="dev")
    changed[0]["tail"], changed[2]["tail"], changed[3]["split"] = "another", "a third", "test"
    path = write_csv(tmp_path / "changed.csv", changed)

    asked = run("import_items", campaign.slug, path, "--dry-run", "--on-conflict", "replace", "--json")
    assert asked.code == 1
    assert [one["line"] for one in asked.document["refusals"]] == [2, 4]
    assert "position 1 is in a closed batch" in asked.document["refusals"][0]["message"]
    assert asked.document["errors"] == asked.document["refusals"]
    told = run("import_items", campaign.slug, path, "--dry-run", "--on-conflict", "replace")
    assert "2 rows would be refused" in told.err
    assert run("import_items", campaign.slug, path, "--on-conflict", "replace").code == 1


@pytest.mark.parametrize(("choice", "code"), [("refuse", 1), ("keep", 0), ("replace", 0)])
def test_a_dry_run_ends_as_the_run_would(choice: str, code: int, fence: Campaign) -> None:
    asked = run("import_items", fence.slug, shared(V2), "--on-conflict", choice, "--dry-run", "--json")
    assert (asked.code, asked.document["stored"]) == (code, False)
    done = run("import_items", fence.slug, shared(V2), "--on-conflict", choice, "--json")
    assert done.code == code
    for name in ("added", "unchanged", "replaced", "filled"):
        assert asked.document[name] == done.document[name], name


def test_a_dry_run_says_what_was_chosen(fence: Campaign) -> None:
    keep = run("import_items", fence.slug, shared(V2), "--on-conflict", "keep", "--dry-run").out
    assert "the stored ones stay" in keep
    assert "replace" not in keep
    assert (
        "To be replaced: 1 text."
        in run("import_items", fence.slug, shared(V2), "--on-conflict", "replace", "--dry-run").out
    )
