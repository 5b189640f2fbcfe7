"""Importing items: whole or not at all, invisible until published, the same file twice adds nothing."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import (
    AuditEntry,
    Campaign,
    Context,
    ImportBatch,
    Item,
    Output,
    System,
    Unit,
)
from annotation.services import import_store, imports
from annotation.services.errors import Refused
from annotation.services.exports import names_of, table, take
from annotation.services.fix_text import fix_text
from annotation.services.imports import Report, store
from annotation.services.instances import instance_counts
from annotation.services.item_files import read_item_file
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from scoring.services.measure import report
from scoring.services.options import Options
from tests.factories import make_user
from tests.material import (
    Rows,
    compounds,
    in_order,
    load,
    load_rows,
    new_campaign,
    run,
    triples,
    write_csv,
)

pytestmark = pytest.mark.django_db


def stored_rows() -> list[int]:
    return [model._default_manager.count() for model in (Unit, Context, Item, Output, ImportBatch)]


# All or nothing


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_it_stores_the_same_whatever_the_size_of_a_chunk(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", chunk)
    rows = compounds(3)
    # Contexts scattered over the file, so that units, contexts and items meet in different chunks.
    mixed = rows[::3] + rows[1::3] + rows[2::3]
    campaign = new_campaign("compound")
    found = load_rows(campaign, mixed, tmp_path, system="base")
    assert (found.stored, found.rows, found.added, found.units, found.items) == (True, 15, 15, 3, 15)
    assert [row[1] for row in in_order(campaign)] == [row["item_id"] for row in mixed]
    assert [row[0] for row in in_order(campaign)] == list(range(1, 16))
    assert Context.objects.count() == 15
    assert verify(campaign) == []


def test_it_stores_nothing_where_one_row_is_wrong(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(4)
    rows[2]["relation"] = "xWish"
    found = load_rows(campaign, rows, tmp_path)
    assert not found.stored
    assert [(issue.line, issue.column) for issue in found.errors] == [(4, "relation")]
    assert (found.rows, found.added) == (4, 0)
    assert stored_rows() == [0, 0, 0, 0, 0]


def test_it_leaves_nothing_behind_when_the_third_chunk_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", 5)
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path, system="base")
    before = (stored_rows(), in_order(campaign))

    def break_off(done: int, total: int) -> None:
        if done == 15:
            raise OSError("the disk is full")

    file = read_item_file(campaign, write_csv(tmp_path / "more.csv", compounds(6)), system="large")
    with pytest.raises(OSError, match="disk is full"):
        store(campaign, file.rows, sha256=file.sha256, progress=break_off)
    assert (stored_rows(), in_order(campaign)) == before
    assert load_rows(campaign, compounds(6), tmp_path, system="large").added == 30


def leave_behind(campaign: Campaign, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ImportBatch:
    """Five compounds of which a killed import wrote two chunks of five rows."""
    monkeypatch.setattr(import_store, "CHUNK", 5)
    monkeypatch.setattr(imports, "_discard", lambda batch: None)  # a killed process tidies nothing up

    def kill(done: int, total: int) -> None:
        if done == 10:
            raise KeyboardInterrupt

    file = read_item_file(campaign, write_csv(folder / "killed.csv", compounds(5)), system="killed")
    with pytest.raises(KeyboardInterrupt):
        store(campaign, file.rows, sha256=file.sha256, progress=kill)
    monkeypatch.undo()
    return ImportBatch.objects.get(campaign=campaign, published_at__isnull=True)


def test_it_sweeps_what_a_killed_import_left_once_its_lease_has_lapsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign("compound")
    left = leave_behind(campaign, tmp_path, monkeypatch)
    assert Item.objects.count() == 10
    with pytest.raises(Refused, match="under way"):
        load_rows(campaign, compounds(3), tmp_path, system="base")
    ImportBatch.objects.filter(pk=left.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    found = load_rows(campaign, compounds(3), tmp_path, system="base")
    assert (found.added, found.items) == (15, 15)
    assert not ImportBatch.objects.filter(pk=left.pk).exists()
    assert [row[0] for row in in_order(campaign)] == list(range(1, 16))
    assert verify(campaign) == []


def test_it_stops_an_import_whose_place_another_one_has_taken(tmp_path: Path) -> None:
    campaign = new_campaign()
    file = read_item_file(campaign, write_csv(tmp_path / "items.csv", triples(3)))

    def taken_over(done: int, total: int) -> None:
        ImportBatch.objects.filter(campaign=campaign).update(published_at=timezone.now())

    with pytest.raises(Refused, match="another one has replaced it"):
        store(campaign, file.rows, sha256=file.sha256, progress=taken_over)


@pytest.mark.django_db(transaction=True)
def test_it_refuses_a_second_import_at_the_same_time(tmp_path: Path) -> None:
    campaign = new_campaign()
    first = read_item_file(campaign, write_csv(tmp_path / "a.csv", triples(4)))
    second = read_item_file(campaign, write_csv(tmp_path / "b.csv", triples(6)))
    refused: list[str] = []

    def other() -> None:
        try:
            store(Campaign.objects.get(), second.rows, sha256=second.sha256)
        except Refused as error:
            refused.append(error.message)
        finally:
            connection.close()

    def in_between(done: int, total: int) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    found = store(campaign, first.rows, sha256=first.sha256, progress=in_between)
    assert refused == ["Another import into this campaign is under way; wait until it is done."]
    assert found.added == Item.objects.active().count() == 4
    assert load(campaign, tmp_path / "b.csv").added == 2


# Beside a manager who corrects a text


def stored_beside(campaign: Campaign, folder: Path, change: Callable[[], object], rows: Rows) -> Report:
    """The file, a row at a time; the change is made behind the first one."""

    def at_first(done: int, total: int) -> None:
        if done == 1:
            change()

    file = read_item_file(campaign, write_csv(folder / "late.csv", rows), system="late")
    return store(campaign, file.rows, sha256=file.sha256, progress=at_first)


@pytest.mark.parametrize(
    ("corrected", "shared"), [({"translation": "改过的。"}, False), ({"source": "He waved again."}, True)]
)
def test_a_text_that_is_corrected_while_a_file_with_it_is_stored(
    corrected: dict[str, str], shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", 1)
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    item, mei = Item.objects.get(position=3), make_user("mei")

    found = stored_beside(
        campaign,
        tmp_path,
        lambda: fix_text(campaign, item.pk, texts=corrected, by=mei),
        compounds(1),
    )

    base, late = Output.objects.filter(context=item.context).order_by("system")
    assert (late.translation, late.item.translation) == (item.translation, item.translation)
    assert (late.item.retired_at, late.item == base.item) == (None, shared)
    assert found.items == Item.objects.filter(batch__file_name="late.csv").count() == (0 if shared else 1)
    assert instance_counts(campaign).as_json()["instances"] == 10
    assert verify(campaign) == []


def test_a_text_of_the_file_that_is_typed_on_the_page_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_store, "CHUNK", 1)
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    item, mei = Item.objects.get(position=3), make_user("mei")
    rows = compounds(1)
    rows[2]["translation"] = "新的。"
    with pytest.raises(Refused, match="changed while this file was stored"):
        stored_beside(
            campaign,
            tmp_path,
            lambda: fix_text(campaign, item.pk, texts={"translation": "新的。"}, by=mei),
            rows,
        )
    assert Output.objects.count() == 5
    assert load_rows(campaign, rows, tmp_path, system="late").added == 5
    assert verify(campaign) == []


def test_what_is_filled_in_is_not_lost_with_a_text_that_is_corrected_meanwhile(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(1), tmp_path)
    mei = make_user("mei")
    item = Item.objects.get()
    file = read_item_file(campaign, write_csv(tmp_path / "more.csv", triples(2, split="test")))

    def change(done: int, total: int) -> None:
        fix_text(campaign, item.pk, texts={"tail": "PersonX burns it"}, by=mei)

    with pytest.raises(Refused, match=r"changed while this file was stored \(split\)"):
        store(campaign, file.rows, sha256=file.sha256, progress=change)
    assert [one.split for one in Item.objects.all()] == ["", ""]


# Invisible until published


def readers(campaign: Campaign, expert: int) -> dict[str, Any]:
    """What everybody who reads items sees."""
    names = names_of(campaign, real=True)
    rates = report(campaign, "error-rates", Options(system="base"))
    return {
        "items": list(take(table(campaign, "items", names=names)).rows),
        "labels": list(take(table(campaign, "labels", names=names)).rows),
        "annotations": list(take(table(campaign, "annotations", names=names)).rows),
        "screens": next_screens(campaign, expert_id=expert, count=50),
        "rates": rates,
        "bleu": report(campaign, "bleu", Options()),
        "preview": run("assign_parts", campaign.slug, "--experts", "ada", "--preview", "--json").out,
        "dry run": run("export", campaign.slug, "--what", "items", "--format", "jsonl").out,
        "verify": verify(campaign),
    }


def test_it_shows_unpublished_rows_to_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    expert = campaign.memberships.get().user_id
    before = readers(campaign, expert)
    # The killed import holds further outputs of the two compounds that are there, and the rest of five.
    leave_behind(campaign, tmp_path, monkeypatch)
    monkeypatch.setattr(import_store, "CHUNK", 5)
    assert Output.objects.filter(system__name="killed").count() == 10
    assert readers(campaign, expert) == before


def test_it_finds_no_judged_item_in_an_unpublished_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign("compound")
    leave_behind(campaign, tmp_path, monkeypatch)
    judgements = [{"item_id": "c1-1", "annotator": "ann", "label": "1"}]
    ran = run("import_annotations", campaign.slug, write_csv(tmp_path / "j.csv", judgements), "--json")
    assert ran.code == 1
    assert "There is no item “c1-1”" in ran.document["errors"][0]["message"]


# The same file again, and further systems


def test_it_adds_nothing_the_second_time(tmp_path: Path) -> None:
    campaign = new_campaign()
    first = load_rows(campaign, triples(5), tmp_path)
    again = load_rows(campaign, triples(5), tmp_path)
    assert (first.added, first.unchanged) == (5, 0)
    assert (again.stored, again.added, again.unchanged, again.items) == (True, 0, 5, 0)
    assert ImportBatch.objects.count() == 1
    assert AuditEntry.objects.filter(action="items imported").count() == 1


def test_it_tells_a_repeated_triple_without_ids_from_the_first(tmp_path: Path) -> None:
    rows = [{name: row[name] for name in ("head", "relation", "tail")} for row in triples(3)]
    twice = [rows[0], rows[1], rows[0], rows[2]]
    campaign = new_campaign()
    found = load_rows(campaign, twice, tmp_path)
    assert (found.added, len(found.warnings)) == (4, 1)
    assert load_rows(campaign, twice, tmp_path).unchanged == 4
    assert load_rows(campaign, [*twice, rows[0]], tmp_path).added == 1
    assert Item.objects.filter(head=rows[0]["head"]).count() == 3


def test_it_shares_one_item_between_identical_outputs(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = compounds(2)
    load_rows(campaign, rows, tmp_path, system="base")
    # Segmentation is no difference: it is taken away before anybody reads.
    large = [{**row, "translation": str(row["translation"]).replace(" ", "")} for row in rows]
    large[3]["translation"] = "另一句。"
    found = load_rows(campaign, large, tmp_path, system="large", run="2")
    assert (found.added, found.items, found.units) == (10, 1, 0)
    assert Item.objects.count() == 11
    assert Output.objects.count() == 20
    assert Output.objects.filter(system__name="large", run="2").count() == 10
    assert (
        Output.objects.get(system__name="large", context__key="c1-1").translation == large[0]["translation"]
    )
    assert Item.objects.get(translation="另一句。").position == 11


def test_it_reads_both_systems_of_one_file(tmp_path: Path) -> None:
    rows = compounds(1, system="base") + compounds(1, system="large")
    campaign = new_campaign("compound")
    found = load_rows(campaign, rows, tmp_path)
    assert (found.added, found.items) == (10, 5)
    assert load_rows(campaign, rows, tmp_path).unchanged == 10
    rates = run("report", campaign.slug, "--kind", "error-rates", "--json")
    assert rates.code == 1
    assert "name one: “base”, “large”. See --system, --run." in rates.err


@pytest.mark.parametrize("options", [{"system": "git\u200b"}, {"system": "git", "run": "1\x07"}])
def test_it_refuses_a_name_of_a_system_or_run_that_cannot_be_seen_whole(
    options: dict[str, str], tmp_path: Path
) -> None:
    campaign = new_campaign("compound")
    refused = load_rows(campaign, compounds(1), tmp_path, **options)
    assert [(issue.line, issue.column) for issue in refused.errors] == [(2, [*options][-1])]
    assert ", which cannot be seen; leave it out." in refused.errors[0].message
    assert not Output.objects.exists()


def test_a_system_that_was_named_so_before_stays_so(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="git")
    System.objects.update(name="git\u200b")
    assert load_rows(campaign, compounds(1), tmp_path, system="git\u200b").unchanged == 5


@pytest.mark.parametrize("name", ["Git", "ｇｉｔ", " git"])
def test_it_warns_of_a_new_system_that_is_written_like_a_known_one(name: str, tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    assert not load_rows(campaign, compounds(1), tmp_path, system="git").warnings
    assert not load_rows(campaign, compounds(1), tmp_path, system="git", run="2").warnings
    (warning,) = load_rows(campaign, compounds(1), tmp_path, system=name).warnings
    assert (warning.line, warning.column) == (2, "system")
    assert f"The system “{name}” is new, and is written like “git” but for case" in warning.message
    assert not load_rows(campaign, compounds(1), tmp_path, system=name).warnings


def test_it_warns_of_rows_without_a_system_where_others_are_named(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="git")
    (warning,) = load_rows(campaign, compounds(1), tmp_path).warnings
    assert (warning.line, warning.column) == (None, "system")
    assert warning.message.startswith("5 rows name no system, and the campaign holds translations of “git”")
    assert not load_rows(campaign, compounds(1), tmp_path).warnings


def test_it_takes_a_withdrawn_item_for_there_already(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    Item.objects.filter(key="t2").update(retired_at=timezone.now(), retired_why="withdrawn")
    again = load_rows(campaign, triples(3), tmp_path)
    assert (again.stored, again.added, again.unchanged) == (True, 0, 3)


def test_it_reports_changed_texts_as_conflicts_and_stores_nothing(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    rows = triples(5)
    rows[1]["tail"] = "PersonX burns it"
    found = load_rows(campaign, rows, tmp_path)
    assert not found.stored
    assert (found.added, found.unchanged) == (0, 2)
    assert [(c["line"], c["key"], c["field"], c["old"], c["new"]) for c in found.conflicts] == [
        (3, "t2", "tail", "PersonX seals it 2", "PersonX burns it")
    ]
    assert Item.objects.count() == 3


def test_it_stores_the_other_rows_where_the_old_text_is_kept(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    rows = triples(5)
    rows[1]["tail"] = "PersonX burns it"
    found = load_rows(campaign, rows, tmp_path, on_conflict="keep")
    assert (found.stored, found.added, found.replaced) == (True, 2, 0)
    assert Item.objects.get(key="t2").tail == "PersonX seals it 2"
    assert Item.objects.active().count() == 5


def test_it_keeps_a_new_output_whose_reference_differs(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")
    rows = compounds(1, translation="别的。")
    rows[0]["reference"] = "另一个参考。"
    kept = load_rows(campaign, rows, tmp_path, system="large", on_conflict="keep")
    assert (kept.added, len(kept.conflicts)) == (5, 1)
    assert Output.objects.filter(system__name="large").count() == 5
    assert Context.objects.get(key="c1-1").reference == compounds(1)[0]["reference"]


def test_it_says_which_text_is_longer_than_can_be_stored(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(2)
    rows[0]["triple_id"] = "x" * 1001
    rows[1]["class"] = "y" * 41
    rows[0]["class"] = "adv"
    found = load_rows(campaign, rows, tmp_path)
    assert [(issue.line, issue.column) for issue in found.errors] == [(2, "triple_id"), (3, "class")]
    assert "1,001 characters; at most 1,000" in found.errors[0].message
    compound = new_campaign("compound", slug="compounds")
    found = load_rows(compound, compounds(1, system="s" * 101, run="r" * 101, pattern="p" * 61), tmp_path)
    assert {issue.column for issue in found.errors} == {"system", "run", "pattern"}


# One triple under two ids


def twin(of: int, name: str) -> dict[str, Any]:
    """Another row for the triple of that number."""
    return triples(of)[of - 1] | {"triple_id": name}


def told(report: Report) -> list[tuple[int | None, str]]:
    return [(issue.line, issue.message) for issue in report.warnings]


def test_it_says_that_a_triple_stands_under_two_ids(tmp_path: Path) -> None:
    campaign = new_campaign()
    report = load_rows(campaign, [*triples(2), twin(1, "t99")], tmp_path)
    assert (report.stored, report.added) == (True, 3)
    ((line, message),) = told(report)
    assert line == 4
    assert (
        "The same triple stands on line 2 already, as “t1”; with the id “t99” it is another item" in message
    )


@pytest.mark.parametrize("dry_run", [True, False])
def test_it_says_that_a_triple_is_in_the_campaign_under_another_id(dry_run: bool, tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    rows = [*triples(2), twin(2, "t99") | {"tail": " personx seals it 2"}, twin(2, "t98")]
    report = load_rows(campaign, rows, tmp_path, dry_run=dry_run)
    assert (report.errors, report.added) == ((), 2)
    found = told(report)
    assert [line for line, _message in found] == [5, 5]
    assert "stands on line 3 already, as “t2”" in found[0][1]
    assert "is in the campaign already, as “t2”; with the id “t98” it is another item" in found[1][1]
    assert told(load_rows(campaign, triples(2), tmp_path)) == []


def test_it_says_so_of_a_text_that_would_become_that_of_another_item(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(2), tmp_path)
    report = load_rows(campaign, [twin(2, "t1")], tmp_path, on_conflict="replace")
    assert report.replaced == 1
    ((line, message),) = told(report)
    assert (line, "as “t2”" in message) == (2, True)
