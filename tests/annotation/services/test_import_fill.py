"""What a file gives later, where nothing was stored: it is filled in, said so, and never silently dropped."""

from pathlib import Path
from typing import Any

import pytest

from annotation.formats.keys import id_key
from annotation.models import AuditEntry, Context, FinalLabel, ImportBatch, Item, Output, Unit
from annotation.services import imports
from annotation.services.errors import Refused
from annotation.services.import_compare import Filling
from annotation.services.import_fill import fill_in
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from scoring.services.measure import report
from scoring.services.options import Options
from tests.material import (
    Rows,
    answer_everything,
    compounds,
    in_order,
    load_rows,
    new_campaign,
    run,
    run_json,
    triples,
    write_csv,
)
from tests.shared import case

pytestmark = pytest.mark.django_db


def without(rows: Rows, *names: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]


def of_fence(**more: object) -> list[dict[str, Any]]:
    """One compound whose type its words do not settle, in five contexts."""
    return [{**row, **more} for row in case("c08_reimport_v1.csv")]


# References and marks


@pytest.mark.parametrize("choice", ["refuse", "keep", "replace"])
def test_references_that_come_later_are_filled_in_and_counted(choice: str, tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)
    path = write_csv(tmp_path / "again.csv", compounds(1))
    found = run_json("import_items", campaign.slug, path, "--on-conflict", choice)
    assert (found["added"], found["unchanged"], found["filled"], found["conflicts"]) == (0, 0, 5, [])
    assert found["filled_fields"] == {"reference": 5}
    given = [row["reference"] for row in compounds(1)]
    assert list(Context.objects.order_by("pk").values_list("reference", flat=True)) == given
    again = run_json("import_items", campaign.slug, path, "--on-conflict", choice)
    assert (again["added"], again["unchanged"], again["filled"], again["filled_fields"]) == (0, 5, 0, {})
    assert report(campaign, "bleu", Options())["n"] == 5
    assert verify(campaign) == []


def test_another_system_may_bring_the_references(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path, system="base")
    found = load_rows(campaign, compounds(1, translation="别的。"), tmp_path, system="large")
    assert (found.added, found.filled, found.filled_fields) == (5, 5, {"reference": 5})
    assert not Context.objects.filter(reference="").exists()


def test_a_dry_run_says_what_would_be_filled_in_and_a_conflict_fills_in_nothing(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)
    shown = load_rows(campaign, compounds(1), tmp_path, dry_run=True)
    assert (shown.filled, shown.stored) == (5, False)
    rows = compounds(1)
    rows[0]["translation"] = "另一句。"
    refused = load_rows(campaign, rows, tmp_path)
    assert (refused.stored, refused.filled, refused.filled_fields) == (False, 0, {})
    assert not Context.objects.exclude(reference="").exists()


def test_a_row_whose_sentence_differs_fills_in_nothing_until_its_text_is_taken(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)
    rows = compounds(1)
    rows[0]["source"] = "yesterday the sleepy gardener 1 waved ."
    kept = load_rows(campaign, rows, tmp_path, on_conflict="keep")
    assert (kept.filled, len(kept.conflicts)) == (4, 1)
    assert Context.objects.get(key="c1-1").reference == ""
    taken = load_rows(campaign, rows, tmp_path, on_conflict="replace")
    assert (taken.replaced, taken.filled) == (1, 1)
    context = Context.objects.get(key="c1-1")
    assert (context.source, context.reference) == (rows[0]["source"], rows[0]["reference"])


def test_a_reference_that_another_row_of_the_context_gives_is_stored_at_once(tmp_path: Path) -> None:
    """Whichever system's row comes first."""
    campaign = new_campaign("compound")
    rows = [*compounds(1, system="base", reference=""), *compounds(1, system="large")]
    assert load_rows(campaign, rows, tmp_path).added == 10
    assert not Context.objects.filter(reference="").exists()
    assert load_rows(campaign, rows, tmp_path).unchanged == 10


def test_the_mark_of_another_source_is_filled_in_and_taken_away_by_a_decision(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    marked = compounds(1, source_differs="")
    marked[0]["source_differs"] = "yes"
    assert load_rows(campaign, marked, tmp_path).filled_fields == {"source_differs": 1}
    assert report(campaign, "bleu", Options())["left_out"] == 1
    marked[0]["source_differs"] = ""
    assert load_rows(campaign, marked, tmp_path).unchanged == 5  # left out: nothing is said
    marked[0]["source_differs"] = "no"
    refused = load_rows(campaign, marked, tmp_path)
    assert [(c["field"], c["old"], c["new"]) for c in refused.conflicts] == [("source_differs", "yes", "no")]
    load_rows(campaign, marked, tmp_path, on_conflict="replace")
    assert report(campaign, "bleu", Options())["left_out"] == 0


# Types and patterns


def test_a_type_that_comes_later_is_filled_in(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(of_fence(), "pattern"), tmp_path)
    found = load_rows(campaign, of_fence(), tmp_path)
    assert (found.unchanged, found.filled, found.filled_fields) == (0, 5, {"type": 5})
    assert Unit.objects.get().type == "VP"
    assert load_rows(campaign, of_fence(), tmp_path).unchanged == 5


def test_another_type_is_a_conflict_that_is_decided(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, of_fence(), tmp_path)
    changed = of_fence(pattern="NP")
    refused = load_rows(campaign, changed, tmp_path)
    assert (refused.stored, refused.unchanged) == (False, 0)
    assert {(c["field"], c["old"], c["new"]) for c in refused.conflicts} == {("type", "VP", "NP")}
    load_rows(campaign, changed, tmp_path, on_conflict="keep")
    assert Unit.objects.get().type == "VP"
    found = load_rows(campaign, changed, tmp_path, on_conflict="replace")
    assert (found.replaced, Unit.objects.get().type) == (5, "NP")
    assert Item.objects.count() == 5
    assert load_rows(campaign, changed, tmp_path).unchanged == 5


def test_a_new_context_says_of_its_compound_what_the_others_did_not(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = of_fence(type="VP", pattern="VP:V+DET+ADJ+N")
    load_rows(campaign, without(rows[:3], "type"), tmp_path)
    found = load_rows(campaign, rows[3:4], tmp_path)
    assert (found.added, found.filled_fields) == (1, {"type": 1})
    refused = load_rows(campaign, [{**rows[4], "pattern": "VP:other"}], tmp_path)
    assert [(c["key"], c["field"]) for c in refused.conflicts] == [("f05", "pattern")]
    assert load_rows(campaign, [{**rows[4], "pattern": "VP:other"}], tmp_path, on_conflict="keep").added == 1
    assert Unit.objects.get().pattern == "VP:V+DET+ADJ+N"


def test_a_type_that_the_words_settle_is_no_conflict(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = compounds(1, compound="liked the dog", source="she liked the dog", type="VP")
    load_rows(campaign, rows, tmp_path)
    found = load_rows(campaign, [{**row, "type": "NP"} for row in rows], tmp_path)
    assert (found.unchanged, found.conflicts) == (5, ())
    assert [(issue.line, issue.column) for issue in found.warnings] == [(2, "type")]
    assert found.warnings[0].message == (
        "The file says NP; by its words “liked the dog” is VP, which counts."
    )


# Class, split, label


def test_what_describes_a_triple_may_come_later(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(3), tmp_path)
    rows = triples(3, split="tst", label="1")
    for row in rows:
        row["class"] = "adv"
    rows[2] |= {"class": "", "label": ""}
    found = load_rows(campaign, rows, tmp_path)
    assert (found.added, found.unchanged, found.filled, found.conflicts) == (0, 0, 3, ())
    assert found.filled_fields == {"class": 2, "split": 3, "label": 2}
    assert [row[5:] for row in in_order(campaign)] == [
        ("adv", "test", "1"), ("adv", "test", "1"), ("", "test", ""),
    ]  # fmt: skip
    rows[0]["label"] = "0"
    assert [c["field"] for c in load_rows(campaign, rows, tmp_path).conflicts] == ["label"]


def test_labels_that_come_later_reach_the_reports_and_no_final_label(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    finalize(campaign)
    before = list(FinalLabel.objects.order_by("pk").values())
    load_rows(campaign, triples(4, label="0"), tmp_path)
    assert list(FinalLabel.objects.order_by("pk").values()) == before

    def plausible(source: str) -> Any:
        rows = report(campaign, "statistics", Options(labels=source))["rows"]
        return next(row["plausible"] for row in rows if row["by"] == "all")

    assert (plausible("imported"), plausible("final")) == (0, 4)
    assert finalize(campaign).changed == 0


# A write like others


def test_filling_in_is_written_down_and_listed(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)
    load_rows(campaign, compounds(1), tmp_path)
    entry = AuditEntry.objects.filter(action="items imported").latest("pk")
    assert (entry.detail["filled"], entry.detail["filled_fields"]) == (5, {"reference": 5})
    assert ImportBatch.objects.latest("pk").report["filled"] == 5


def test_the_command_says_what_was_filled_in(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)
    path = write_csv(tmp_path / "again.csv", compounds(1))
    shown = run("import_items", campaign.slug, path, "--dry-run").out
    assert "To be filled in, in 5 rows: reference (5)." in shown
    done = run("import_items", campaign.slug, path).out
    assert "Filled in, in 5 rows: reference (5)." in done


def test_nothing_is_filled_in_where_the_file_cannot_be_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(1), "reference"), tmp_path)

    def fail(*_args: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(imports, "audit", fail)
    with pytest.raises(OSError, match="disk is full"):
        load_rows(campaign, compounds(2), tmp_path)
    assert not Context.objects.exclude(reference="").exists()
    assert (Output.objects.count(), ImportBatch.objects.count()) == (5, 1)


def test_what_is_there_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    context = Context.objects.get(key="c1-1")
    with pytest.raises(Refused, match="changed while this file was stored"):
        fill_in(campaign, [Filling(2, "reference", context.pk, "别的。")])
    with pytest.raises(Refused, match="changed while this file was stored"):
        fill_in(campaign, [Filling(2, "item_id", context.pk, id_key("x1"))])
    context.refresh_from_db()
    assert (context.key, context.reference) == ("c1-1", compounds(1)[0]["reference"])


def test_many_values_are_filled_in_with_few_statements(
    tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, without(compounds(40), "reference"), tmp_path)
    with django_assert_max_num_queries(25):
        assert load_rows(campaign, compounds(40), tmp_path).filled == 200
