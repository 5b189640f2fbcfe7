"""What an export of judgements says is what an import of it stores: nothing lost, nothing added the second time."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from annotation.formats.judgements import read_judgements
from annotation.formats.tables import read_table
from annotation.formats.writers import write_table
from annotation.models import Annotation, Assignment, Campaign, Item
from annotation.services import judgement_compare
from annotation.services.errors import Refused
from annotation.services.exports import names_of, table, take
from annotation.services.items import withdraw
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import import_judgements
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    as_csv,
    compounds,
    exported,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    screens_of_work,
    sheet,
    triple_campaign,
)

pytestmark = pytest.mark.django_db


def known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same compounds in words whose atoms are known, so that an answer may name them."""
    words = {"the sleepy gardener 1": "the dog", "the sleepy gardener 2": "every doctor"}
    for row in rows:
        given = row["compound"]
        row |= {"compound": words[given], "source": row["source"].replace(given, words[given])}
    return rows


def two_systems(campaign: Campaign, folder: Path) -> None:
    """Two systems, one of them in two runs; some of their translations are the same."""
    load_rows(campaign, known(compounds(2, system="base")), folder)
    second = known(compounds(2, system="large", run="1"))
    for row in second[:4]:
        row["translation"] = f"{row['translation']} 别的"
    load_rows(campaign, second, folder)
    third = [{**row, "run": "", "translation": f"{row['translation']} 又"} for row in second]
    load_rows(campaign, third, folder)


def judge(assignment: Assignment, label: str) -> None:
    assignment.refresh_from_db()
    save(sheet([assignment], label), assignment.expert_id, slug=assignment.round.campaign.slug)


def told(campaign: Campaign, *, history: bool = False) -> list[dict[str, Any]]:
    """Every answer as an export tells it, without what belongs to the place where it was given."""
    chosen = table(campaign, "annotations", names=names_of(campaign, real=True), history=history)
    names = (
        "position", "item_id", "triple_id", "translation", "systems", "slot", "annotator", "label", "cannot_judge",
        "problem", "detail", "reasons", "atoms", "note", "unsure", "revision", "seconds",
    )  # fmt: skip
    rows = [{name: row[name] for name in names if name in row} for row in take(chosen).rows]
    return sorted(rows, key=lambda row: (row["position"], row["slot"], row["revision"]))


def bring(
    campaign: Campaign, source: Campaign, form: str = "csv", *, history: bool = False
) -> JudgementReport:
    chosen = table(source, "annotations", names=names_of(source, real=True), history=history)
    cells = [[row[name] for name in chosen.columns] for row in take(chosen).rows]
    content = b"".join(write_table(form, chosen.columns, cells))
    return import_judgements(
        campaign, read_judgements(read_table(content, name=f"a.{form}"), protocol=campaign.protocol)
    )


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_it_brings_the_judgements_of_several_systems_back(tmp_path: Path, form: str) -> None:
    source = new_campaign("compound", slug="source", k=2)
    two_systems(source, tmp_path)
    assign_parts(source, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(source, lambda row: str(row.item_id % 2))
    first, *_rest = next(screens_of_work(source))
    first.refresh_from_db()
    save(
        sheet([first], "0", reasons=("missing",), atoms=(1,), note="两个", unsure=True),
        first.expert_id,
        slug="source",
    )
    second = Assignment.objects.filter(round__campaign=source).exclude(pk=first.pk).latest("pk")
    save(sheet([second], "", cannot_judge="source_broken"), second.expert_id, slug="source")

    target = new_campaign("compound", slug="target", k=2)
    two_systems(target, tmp_path)
    report = bring(target, source, form)
    assert report.as_json()["errors"] == []
    assert report.ok
    n = Assignment.objects.filter(round__campaign=source).count()
    assert report.added == n > 40
    mine = [row | {"revision": 1} for row in told(source)]
    assert told(target) == mine
    again = bring(target, source, form)
    assert (again.added, again.unchanged, again.ok) == (0, n, True)
    assert verify(target) == []


def test_it_takes_the_output_without_a_name_where_the_cells_are_empty(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, contexts=1), tmp_path)
    other = compounds(1, contexts=1, system="large")
    other[0]["translation"] = "别的。"
    load_rows(campaign, other, tmp_path)
    rows = [{"item_id": "c1-1", "annotator": "ann", "label": "1", "system": "", "run": ""}]
    assert judge_rows(campaign, rows).added == 1
    assert Assignment.objects.get().item.translation != "别的。"
    plain = judge_rows(campaign, [{"item_id": "c1-1", "annotator": "bob", "label": "1"}])
    assert "say which one is meant" in plain.errors[0].message


def test_the_labels_say_which_output_they_are_about(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    two_systems(campaign, tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    finalize(campaign)
    rows = list(csv.DictReader(io.StringIO(exported(campaign, "labels", "csv").decode("utf-8-sig"))))
    found = {(row["item_id"], row["system"], row["run"]) for row in rows}
    assert len(found) == len(rows) > 10
    assert ("c1-1", "large", "1") in found
    assert ("c2-1", "base", "") in found  # the same text as that of large/1


# Slots


def slots_of(campaign: Campaign) -> dict[tuple[str, str], int]:
    rows = Assignment.objects.filter(round__campaign=campaign)
    return {
        (key, name): slot for key, name, slot in rows.values_list("item__key", "expert__username", "slot")
    }


def judged(*rows: tuple[str, str, object, object], **more: object) -> list[dict[str, object]]:
    return [
        {"triple_id": key, "annotator": name, "label": label, "slot": slot, **more}
        for key, name, label, slot in rows
    ]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Four triples for two experts each."""
    return triple_campaign(tmp_path, 4)


def test_it_keeps_the_slots_that_a_file_names(campaign: Campaign) -> None:
    rows = judged(
        ("t1", "ann", "1", ""), ("t1", "bob", "0", 1), ("t2", "bob", "1", "2.0"), ("t2", "ann", "1", 1)
    )
    assert judge_rows(campaign, rows).added == 4
    assert slots_of(campaign) == {("t1", "ann"): 2, ("t1", "bob"): 1, ("t2", "bob"): 2, ("t2", "ann"): 1}
    assert judge_rows(campaign, rows).unchanged == 4


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        (1, "Slot 1 of this item belongs to another expert already."),
        (3, "There is no slot 3; items of this campaign have 2."),
        ("x", "“x” is no slot"),
        (0, "“0” is no slot"),
    ],
)
def test_it_refuses_a_slot_that_is_taken_or_is_none(campaign: Campaign, slot: object, sentence: str) -> None:
    judge_rows(campaign, judged(("t1", "ann", "1", 1)))
    found = judge_rows(campaign, judged(("t2", "bob", "1", 1), ("t1", "bob", "1", slot)))
    (issue,) = (*found.errors, *found.file.errors)
    assert (issue.line, issue.column) == (3, "slot")
    assert sentence in issue.message
    assert slots_of(campaign) == {("t1", "ann"): 1}


def test_it_refuses_another_slot_than_the_experts_own(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    mine = Assignment.objects.get(item__key="t1", expert__username="ada").slot
    found = judge_rows(campaign, judged(("t1", "ada", "1", 3 - mine)))
    assert found.errors[0].message == f"ada has slot {mine} of this item, not slot {3 - mine}."
    assert judge_rows(campaign, judged(("t1", "ada", "1", mine))).added == 1


# Later revisions


def revisions(*rows: tuple[int, str], key: str = "t1") -> list[dict[str, object]]:
    return [{"triple_id": key, "annotator": "ann", "label": label, "revision": n} for n, label in rows]


def history_of(key: str = "t1") -> list[tuple[int, str]]:
    rows = Annotation.objects.filter(assignment__item__key=key)
    return list(rows.order_by("revision").values_list("revision", "label"))


def test_it_adds_a_later_revision_to_those_before(campaign: Campaign) -> None:
    judge_rows(campaign, revisions((1, "1")))
    found = judge_rows(campaign, revisions((2, "0")))
    assert (found.added, found.unchanged, found.as_json()["conflicts"]) == (1, 0, [])
    assert history_of() == [(1, "1"), (2, "0")]
    row = Assignment.objects.get()
    assert (row.revision, row.label) == (2, "0")
    again = judge_rows(campaign, revisions((2, "0")))
    assert (again.added, again.unchanged) == (0, 1)
    whole = judge_rows(campaign, revisions((1, "1"), (2, "0"), (3, "0.5"), (4, "0")))
    assert whole.added == 1
    assert history_of() == [(1, "1"), (2, "0"), (3, "0.5"), (4, "0")]
    assert verify(campaign) == []


def test_a_later_revision_makes_the_final_label_stale(campaign: Campaign) -> None:
    judge_rows(campaign, judged(*(("t1", name, "1", "") for name in ("ann", "bob"))))
    finalize(campaign)
    judge_rows(campaign, revisions((2, "0")))
    result = finalize(campaign)
    assert result.changed == 1


def test_it_refuses_a_gap_between_revisions(campaign: Campaign) -> None:
    judge_rows(campaign, revisions((1, "1")))
    found = judge_rows(campaign, revisions((3, "0")))
    (issue,) = found.errors
    assert (issue.line, issue.column) == (2, "revision")
    assert issue.message == (
        "Revision 3 cannot be added, since revision 2 is missing. Import a file that holds every revision."
    )
    assert history_of() == [(1, "1")]


def test_gaps_between_the_numbers_of_a_whole_story_do_not_matter(campaign: Campaign) -> None:
    story = revisions((3, "1"), (4, "0"), (9, "0.5"))
    assert judge_rows(campaign, story[:1]).added == 1
    assert judge_rows(campaign, story[:2]).added == 1
    assert judge_rows(campaign, story).added == 1
    for again in (story, story[2:]):
        found = judge_rows(campaign, again)
        assert (found.added, found.unchanged, found.ok) == (0, 1, True)
    assert history_of() == [(1, "1"), (2, "0"), (3, "0.5")]
    assert Assignment.objects.get().revision == 3
    assert verify(campaign) == []


def test_another_answer_in_a_story_with_gaps_is_a_conflict(campaign: Campaign) -> None:
    judge_rows(campaign, revisions((1, "1"), (5, "0")))
    found = judge_rows(campaign, revisions((1, "1"), (5, "0.5")))
    assert found.conflicts == [{"line": 3, "key": "t1", "field": "label", "old": "0", "new": "0.5"}]
    part = judge_rows(campaign, revisions((7, "1")))
    assert "since revision 3 is missing. Import a file that holds every revision." in part.errors[0].message
    assert history_of() == [(1, "1"), (2, "0")]


def test_a_single_row_is_the_first_revision_whatever_its_number(campaign: Campaign) -> None:
    for _time in range(2):
        judge_rows(campaign, revisions((5, "1")))
        assert history_of() == [(1, "1")]


def test_an_earlier_revision_with_another_label_is_a_conflict(campaign: Campaign) -> None:
    judge_rows(campaign, revisions((1, "1"), (2, "0")))
    found = judge_rows(campaign, revisions((1, "0.5"), (2, "0"), (3, "1")))
    assert found.conflicts == [{"line": 2, "key": "t1", "field": "label", "old": "1", "new": "0.5"}]
    found = judge_rows(campaign, [{"triple_id": "t1", "annotator": "ann", "label": "1"}])
    assert (found.conflicts[0]["old"], found.conflicts[0]["new"]) == ("0", "1")
    assert history_of() == [(1, "1"), (2, "0")]


def test_the_current_answers_alone_are_brought_once(campaign: Campaign, tmp_path: Path) -> None:
    """A plain export holds the last revision only; imported elsewhere it is the first there."""
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    judge(Assignment.objects.get(item__key="t1", expert__username="ada"), "0")
    judge(Assignment.objects.get(item__key="t1", expert__username="ada"), "0.5")
    other = triple_campaign(tmp_path, 4, slug="other")
    assert bring(other, campaign).added == 8
    assert (bring(other, campaign).added, bring(other, campaign).unchanged) == (0, 8)
    third = triple_campaign(tmp_path, 4, slug="third")
    assert bring(third, campaign, history=True).added == 8
    assert told(third, history=True) == told(campaign, history=True)


# Long files


def test_it_writes_in_chunks_and_tells_how_far_it_is(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgement_compare, "CHUNK", 2)
    rows = judged(*((f"t{i}", name, "1", "") for name in ("ann", "bob") for i in range(1, 5)))
    file = read_judgements(read_table(write(rows), name="j.csv"), protocol="triple")
    seen: list[tuple[int, int]] = []
    report = import_judgements(campaign, file, progress=lambda done, total: seen.append((done, total)))
    assert report.added == 8
    assert seen == [(4, 8), (8, 8)]
    assert verify(campaign) == []


def test_a_file_that_was_cut_off_adds_the_rest(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgement_compare, "CHUNK", 1)
    file = read_judgements(
        read_table(write(judged(*((f"t{i}", "ann", "1", "") for i in range(1, 5)))), name="j.csv"),
        protocol="triple",
    )

    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_judgements(campaign, file, progress=stop)
    assert Annotation.objects.count() == 2
    report = import_judgements(campaign, file)
    assert (report.added, report.unchanged) == (2, 2)
    assert Annotation.objects.count() == Assignment.objects.count() == 4


def test_it_stops_where_somebody_took_a_slot_meanwhile(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgement_compare, "CHUNK", 1)
    rows = judged(*((f"t{i}", "ann", "1", 1) for i in range(1, 5)))
    file = read_judgements(read_table(write(rows), name="j.csv"), protocol="triple")

    def meanwhile(done: int, total: int) -> None:
        if done == 1:
            judge_rows(campaign, judged(("t3", "bob", "1", 1)))

    with pytest.raises(Refused, match="2 judgements are stored; import the file again"):
        import_judgements(campaign, file, progress=meanwhile)
    again = import_judgements(campaign, file)
    assert [issue.message for issue in again.errors] == [
        "Slot 1 of this item belongs to another expert already."
    ]


def write(rows: list[dict[str, object]]) -> bytes:
    return as_csv(rows).encode()


def test_the_command_brings_a_whole_export_back(campaign: Campaign, tmp_path: Path) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "0")
    path = tmp_path / "a.csv"
    assert run("export", "main", "--what", "annotations", "--format", "csv", "-o", path).code == 0
    triple_campaign(tmp_path, 4, slug="other")
    assert run_json("import_annotations", "other", path)["added"] == 8
    assert slots_of(Campaign.objects.get(slug="other")) == slots_of(campaign)


def test_a_history_with_answers_to_a_withdrawn_item_comes_back(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    withdraw(campaign, Item.objects.get(key="t2").pk, reason="odd", by=make_user("mei"))
    report = bring(campaign, campaign, history=True)
    assert (report.added, report.unchanged, report.ok) == (0, 6, True)
    assert [issue.message for issue in report.warnings] == 2 * [
        "The item was withdrawn; its row was skipped."
    ]


def test_the_wide_form_comes_back_column_by_column(tmp_path: Path) -> None:
    source = new_campaign("compound", slug="source", k=2)
    two_systems(source, tmp_path)
    assign_parts(source, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(source, lambda row: str(row.item_id % 2))
    unsure = Assignment.objects.filter(round__campaign=source, expert__username="bo").latest("pk")
    save(sheet([unsure], "", cannot_judge="source_broken"), unsure.expert_id, slug="source")
    path = tmp_path / "wide.csv"
    ran = run("export", "source", "--what", "annotations", "--wide", "--format", "csv", "-o", path, "--json")
    assert ran.document["columns"][-2:] == ["ada", "bo"]
    target = new_campaign("compound", slug="target", k=2)
    two_systems(target, tmp_path)
    added = [
        run_json("import_annotations", "target", path, "--column", name, "--annotator", name)["added"]
        for name in ("ada", "bo")
    ]
    n = Assignment.objects.filter(round__campaign=source, expert__username="ada").count()
    assert added == [n, n - 1]

    def labels(campaign: Campaign) -> dict[tuple[str, str, str], str]:
        rows = Assignment.objects.filter(round__campaign=campaign).exclude(label="")
        names = ("item__key", "item__translation", "expert__username", "label")
        return {(key, text, name): label for key, text, name, label in rows.values_list(*names)}

    assert labels(target) == labels(source)
    assert (
        run("export", "source", "--what", "annotations", "--wide", "--history", "--format", "csv").code == 2
    )
