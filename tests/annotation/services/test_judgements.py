"""Importing judgements: whose answer to which item, in which slot; nothing is ever overwritten."""

import csv
from pathlib import Path
from typing import Any

import pytest
from django.db.models import ProtectedError

from annotation.formats.judgements import read_judgements
from annotation.formats.tables import read_table
from annotation.models import Annotation, Assignment, AuditEntry, Campaign, Item, Membership, User
from annotation.services.errors import Refused
from annotation.services.items import withdraw
from annotation.services.judgements import import_judgements
from annotation.services.parts import assign_parts
from annotation.services.people import deactivate
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    as_csv,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    save,
    sheet,
    triple_campaign,
    triples,
    write_csv,
)
from tests.shared import case, shared

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Four triples for two experts each."""
    return triple_campaign(tmp_path, 4)


def labels() -> dict[tuple[str, str], str]:
    """(item, person) → label."""
    rows = Assignment.objects.values_list("item__key", "expert__username", "label")
    return {(key, name): label for key, name, label in rows}


def judged(*rows: tuple[str, str, object], **more: object) -> list[dict[str, object]]:
    return [{"triple_id": key, "annotator": name, "label": label, **more} for key, name, label in rows]


def test_it_reads_mixed_spellings_of_labels(campaign: Campaign) -> None:
    found = judge_rows(
        campaign,
        judged(("t1", "ann", "1.0"), ("t2", "ann", "Always/Often"), ("t3", "ann", "０"), ("t4", "ann", ".5")),
    )
    assert (found.added, found.annotators) == (4, ["ann"])
    assert labels() == {("t1", "ann"): "1", ("t2", "ann"): "1", ("t3", "ann"): "0", ("t4", "ann"): "0.5"}
    assert verify(campaign) == []


def test_it_reads_text_and_numbers_of_a_workbook_alike(tmp_path: Path) -> None:
    from openpyxl import Workbook

    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    book = Workbook()
    given: list[object] = ["1", 1, 0, "0", True]
    book.worksheets[0].append(["item_id", "annotator", "label"])
    for number, label in enumerate(given, start=1):
        book.worksheets[0].append([f"c1-{number}", "ann", label])
    book.save(tmp_path / "verdicts.xlsx")
    ran = run("import_annotations", campaign.slug, tmp_path / "verdicts.xlsx", "--json")
    assert ran.code == 0, ran.err
    assert [labels()[f"c1-{number}", "ann"] for number in range(1, 6)] == ["1", "1", "0", "0", "1"]


def test_it_stores_nothing_where_one_label_is_none(campaign: Campaign) -> None:
    found = judge_rows(campaign, judged(("t1", "ann", "1"), ("t2", "ann", "perhaps"), ("t3", "ann", "2")))
    assert [(issue.line, issue.column) for issue in found.file.errors] == [(3, "label"), (4, "label")]
    assert found.added == 0
    assert not Assignment.objects.exists()
    assert not User.objects.exists()


def test_it_names_an_unknown_item_and_stores_nothing(campaign: Campaign) -> None:
    found = judge_rows(campaign, judged(("t1", "ann", "1"), ("t9", "ann", "1")))
    assert [issue.line for issue in found.errors] == [3]
    assert "There is no item “t9”" in found.errors[0].message
    assert not Annotation.objects.exists()


def test_it_finds_items_by_their_texts_where_there_is_no_id(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(3)
    load_rows(campaign, [rows[0], rows[1], rows[2], {**rows[1], "triple_id": "t4"}], tmp_path)
    texts = [{name: row[name] for name in ("head", "relation", "tail")} for row in rows]
    # The repeated triple takes its two rows in order.
    given = [{**texts[1], "label": "1"}, {**texts[2], "label": "0"}, {**texts[1], "label": "0.5"}]
    found = judge_rows(campaign, given, annotator="ann")
    assert found.added == 3
    assert labels() == {("t2", "ann"): "1", ("t3", "ann"): "0", ("t4", "ann"): "0.5"}


# By position


def test_it_matches_rows_by_position(campaign: Campaign) -> None:
    found = judge_rows(
        campaign, [{"label": x} for x in ("1", "0", "0.5", "1")], annotator="ann", by_position=True
    )
    assert found.added == 4
    assert [labels()[f"t{i}", "ann"] for i in range(1, 5)] == ["1", "0", "0.5", "1"]


@pytest.mark.parametrize("n", [3, 5])
def test_it_refuses_another_number_of_rows_by_position(campaign: Campaign, n: int) -> None:
    with pytest.raises(Refused, match=f"The file has {n} rows and the campaign 4 items"):
        judge_rows(campaign, [{"label": "1"}] * n, annotator="ann", by_position=True)
    assert not Assignment.objects.exists()


def test_it_checks_the_key_columns_that_are_there(campaign: Campaign) -> None:
    rows = [{"tail": row["tail"], "label": "1"} for row in triples(4)]
    rows[1], rows[2] = rows[2], rows[1]
    found = judge_rows(campaign, rows, annotator="ann", by_position=True)
    assert [(issue.line, issue.message) for issue in found.errors] == [
        (3, "The tail is not that of the item at position 2."),
        (4, "The tail is not that of the item at position 3."),
    ]
    assert not Assignment.objects.exists()


def test_it_checks_the_texts_beside_an_id(campaign: Campaign) -> None:
    texts = [{name: row[name] for name in ("head", "relation", "tail")} for row in triples(4)]
    rows = [{"triple_id": f"t{place}", **row, "label": "1"} for place, row in enumerate(texts, start=1)]
    rows[1]["head"] = "zzz"
    rows[2]["relation"] = "xReact"
    found = judge_rows(campaign, rows, annotator="ann")
    assert [(issue.line, issue.message) for issue in found.errors] == [
        (3, "The head is not that of the item “t2”."),
        (4, "The relation is not that of the item “t3”."),
    ]
    assert not Assignment.objects.exists()

    rows[1]["head"], rows[2]["relation"] = (
        " ",
        f"{texts[2]['relation']}\u200b",
    )  # empty, and the same to a reader
    assert judge_rows(campaign, rows, annotator="ann").added == 4


def test_it_checks_the_compound_and_context_beside_an_id(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path)
    names = ("item_id", "compound", "context_no")
    rows = [{**{name: row[name] for name in names}, "label": "1"} for row in compounds(1)]
    rows[0]["compound"], rows[1]["context_no"], rows[2]["context_no"] = "another", "3", "3.0"
    found = judge_rows(campaign, rows, annotator="ann")
    assert [(issue.line, issue.message) for issue in found.errors] == [
        (2, "The compound is not that of the item “c1-1”."),
        (3, "The context_no is not that of the item “c1-2”."),
    ]


def test_it_checks_the_ids_of_rows_by_position(campaign: Campaign) -> None:
    rows = [{"triple_id": f"t{i}", "label": "1"} for i in (1, 3, 2, 4)]
    found = judge_rows(campaign, rows, annotator="ann", by_position=True)
    assert [issue.line for issue in found.errors] == [3, 4]
    assert not Assignment.objects.exists()


def test_it_keeps_positions_when_an_item_was_withdrawn(campaign: Campaign) -> None:
    withdraw(campaign, Item.objects.get(key="t2").pk, reason="nonsense", by=make_user("mei"))
    found = judge_rows(
        campaign, [{"label": x} for x in ("1", "0", "0.5", "1")], annotator="ann", by_position=True
    )
    assert (found.added, [issue.line for issue in found.warnings]) == (3, [3])
    assert labels() == {("t1", "ann"): "1", ("t3", "ann"): "0.5", ("t4", "ann"): "1"}


def test_it_reads_one_column_per_expert(campaign: Campaign) -> None:
    given = [("1", "0"), ("0", "1"), ("1", "1"), ("0.5", "")]
    rows = [{"triple_id": f"t{i}", "label1": a, "label2": b} for i, (a, b) in enumerate(given, start=1)]
    assert judge_rows(campaign, rows, annotator="ann", column="label1").added == 4
    second = judge_rows(campaign, rows, annotator="bob", column="label2")
    assert second.added == 3
    assert "1 row has no label" in second.file.warnings[0].message
    assert labels()["t2", "bob"] == "1"
    assert ("t4", "bob") not in labels()


# Slots


def test_it_gives_each_judge_the_next_free_slot(campaign: Campaign) -> None:
    judge_rows(campaign, judged(("t1", "ann", "1"), ("t1", "bob", "0"), ("t2", "bob", "1")))
    judge_rows(campaign, judged(("t2", "ann", "0.5")))
    slots = Assignment.objects.values_list("item__key", "expert__username", "slot")
    assert {(key, name): slot for key, name, slot in slots} == {
        ("t1", "ann"): 1, ("t1", "bob"): 2, ("t2", "bob"): 1, ("t2", "ann"): 2,
    }  # fmt: skip


def test_it_has_no_place_for_more_judges_than_an_item_has(campaign: Campaign) -> None:
    found = judge_rows(
        campaign, judged(*(("t1", name, "1") for name in ("ann", "bob", "cid")), ("t2", "cid", "1"))
    )
    assert [(issue.line, issue.column) for issue in found.errors] == [(4, "annotator")]
    assert "has its 2 experts already; a judgement by cid has no place" in found.errors[0].message
    assert not Assignment.objects.exists()
    assert not Membership.objects.exists()


def test_it_answers_the_open_assignment_of_its_author(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    before = list(Assignment.objects.order_by("pk").values_list("pk", "slot", "position"))
    assert judge_rows(campaign, judged(("t1", "ADA", "1"), ("t1", "bo", "0"))).added == 2
    assert list(Assignment.objects.order_by("pk").values_list("pk", "slot", "position")) == before
    assert Assignment.objects.get(item__key="t1", expert__username="ada").label == "1"
    found = judge_rows(campaign, judged(("t2", "cleo", "1")))
    assert "a judgement by cleo has no place" in found.errors[0].message
    assert verify(campaign) == []


def test_it_never_overwrites_an_answer_given_at_the_seat(campaign: Campaign) -> None:
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    row = Assignment.objects.get(item__key="t1", expert__username="ada")
    save(sheet([row], "0.5"), row.expert_id)
    found = judge_rows(campaign, judged(("t1", "ada", "1"), ("t2", "ada", "1")))
    assert [(c["key"], c["old"], c["new"]) for c in found.conflicts] == [("t1", "0.5", "1")]
    row.refresh_from_db()
    assert (row.label, row.revision) == ("0.5", 1)
    assert Annotation.objects.count() == 1


# Revisions and repeats


def c28() -> list[dict[str, object]]:
    """The judgements in the order of saving; the n-th of one person on one item is their n-th revision."""
    rows: list[dict[str, object]] = []
    seen: dict[tuple[str, str], int] = {}
    with shared("cases/c28_agr_revisions.csv").open(encoding="utf-8") as file:
        for row in sorted(csv.DictReader(file), key=lambda row: int(row["t"])):
            who = row["item_id"], row["annotator"]
            seen[who] = seen.get(who, 0) + 1
            rows.append(
                {
                    "item_id": row["item_id"],
                    "annotator": row["annotator"],
                    "label": row["label"],
                    "revision": seen[who],
                }
            )
    return rows


def test_it_keeps_every_revision_and_counts_the_latest(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    rows = [{**row, "item_id": f"t{i}"} for i, row in enumerate(compounds(2, contexts=3), start=1)]
    load_rows(campaign, rows, tmp_path)
    found = judge_rows(campaign, list(reversed(c28())))
    assert found.added == 12
    assert Annotation.objects.count() == len(c28()) == 15
    again = judge_rows(campaign, c28())
    assert (again.added, again.unchanged) == (0, 12)
    row = Assignment.objects.get(item__key="t1", expert__username="a")
    assert (row.revision, row.label) == (2, "1")
    assert list(row.annotations.values_list("revision", "label")) == [(1, "0"), (2, "1")]
    # expected_values.json, c28
    figures = run("report", campaign.slug, "--kind", "agreement", "--json").document["coefficients"]
    assert figures["raw"]["value"] == pytest.approx(0.833333, abs=1e-4)
    assert figures["cohen"]["value"] == pytest.approx(0.666667, abs=1e-4)
    assert figures["cohen"]["n"] == 6
    assert verify(campaign) == []


def times_of_c28() -> list[dict[str, object]]:
    """The same with the moments of saving for numbers, which leave gaps."""
    rows = case("c28_agr_revisions.csv")
    return [{("revision" if name == "t" else name): row[name] for name in row} for row in rows]


def test_it_takes_rising_numbers_with_gaps_for_the_order_of_revisions(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    rows = [{**row, "item_id": f"t{i}"} for i, row in enumerate(compounds(2, contexts=3), start=1)]
    load_rows(campaign, rows, tmp_path)
    found = judge_rows(campaign, times_of_c28()[::-1])
    assert (found.added, found.ok, Annotation.objects.count()) == (12, True, 15)
    again = judge_rows(campaign, times_of_c28())
    assert (again.added, again.unchanged, Annotation.objects.count()) == (0, 12, 15)
    saved = Annotation.objects.filter(assignment__expert__username="a").order_by("revision")
    for item, labels in {"t1": [(1, "0"), (2, "1")], "t5": [(1, "1"), (2, "0")], "t6": [(1, "1")]}.items():
        assert list(saved.filter(assignment__item__key=item).values_list("revision", "label")) == labels
    # expected_values.json, c28
    figures = run("report", campaign.slug, "--kind", "agreement", "--json").document["coefficients"]
    assert figures["raw"]["value"] == pytest.approx(0.833333, abs=1e-4)
    assert figures["cohen"]["value"] == pytest.approx(0.666667, abs=1e-4)
    assert verify(campaign) == []


def test_it_asks_for_numbers_where_one_person_judges_an_item_twice(campaign: Campaign) -> None:
    found = judge_rows(campaign, judged(("t1", "ann", "1"), ("t1", "Ann", "0")))
    assert [issue.line for issue in found.file.errors] == [3]
    assert "number them in a column “revision”" in found.file.errors[0].message


def test_it_adds_nothing_the_second_time_and_reports_another_label(
    campaign: Campaign, tmp_path: Path
) -> None:
    rows = judged(("t1", "ann", "1"), ("t2", "ann", "0"))
    judge_rows(campaign, rows)
    again = judge_rows(campaign, rows)
    assert (again.added, again.unchanged, again.ok) == (0, 2, True)
    rows[1]["label"] = "0.5"
    ran = run("import_annotations", campaign.slug, write_csv(tmp_path / "j.csv", rows), "--json")
    assert ran.code == 1
    assert ran.document["conflicts"] == [{"line": 3, "key": "t2", "field": "label", "old": "0", "new": "0.5"}]
    assert "Nothing was stored" in ran.err
    assert Annotation.objects.count() == 2


def test_it_finds_out_without_storing(campaign: Campaign) -> None:
    table = read_table(as_csv(judged(("t1", "ann", "1"))).encode(), name="j.csv")
    found = import_judgements(campaign, read_judgements(table, protocol="triple"), dry_run=True)
    assert (found.added, found.ok, found.annotators) == (1, True, ["ann"])
    assert not User.objects.exists()
    assert not Assignment.objects.exists()


# Which output is meant


def test_it_asks_which_translation_is_meant_where_two_systems_differ(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    large = compounds(1, system="large")
    large[0]["translation"] = "别的。"
    load_rows(campaign, large, tmp_path)
    found = judge_rows(campaign, [{"item_id": "c1-1", "annotator": "ann", "label": "1"}])
    assert "has 2 different translations; say which one is meant" in found.errors[0].message
    both = [
        {"item_id": "c1-1", "annotator": "ann", "label": x, "system": s}
        for x, s in (("1", "base"), ("0", "large"))
    ]
    assert judge_rows(campaign, both).added == 2
    assert Assignment.objects.get(item__translation="别的。").label == "0"
    # Where both produced the same text one judgement is enough.
    assert judge_rows(campaign, [{"item_id": "c1-2", "annotator": "ann", "label": "1"}]).added == 1


def both_systems(first: str, second: str) -> list[dict[str, object]]:
    """One person's answers to one item, given for each of the two systems that produced its text."""
    answers = (("base", first), ("large", second))
    return [
        {"item_id": "c1-1", "annotator": "ann", "label": label, "system": system} for system, label in answers
    ]


def test_it_takes_one_answer_to_a_text_of_two_systems(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    for system in ("base", "large"):
        load_rows(campaign, compounds(1, system=system), tmp_path)
    found = judge_rows(campaign, both_systems("1", "1"))
    assert (found.added, found.ok) == (1, True)
    again = judge_rows(campaign, both_systems("1", "1"))
    assert (again.added, again.unchanged, again.ok) == (0, 1, True)
    assert Annotation.objects.get().label == "1"


def test_it_refuses_two_answers_to_a_text_of_two_systems(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    for system in ("base", "large"):
        load_rows(campaign, compounds(1, system=system), tmp_path)
    found = judge_rows(campaign, both_systems("1", "0"))
    (issue,) = found.errors
    assert (issue.line, issue.column) == (3, "label")
    assert "The same expert's label of “c1-1” stands on line 2 already." in issue.message
    assert not Annotation.objects.exists()


def test_a_row_without_a_revision_is_the_first(campaign: Campaign) -> None:
    rows = judged(("t1", "ann", "1"), revision="") + judged(("t1", "ann", "0"), revision=1)
    assert [issue.line for issue in judge_rows(campaign, rows).errors] == [3]
    rows[1]["revision"] = 2
    assert judge_rows(campaign, rows).added == 1
    assert Assignment.objects.get().label == "0"


# People


def test_it_makes_closed_accounts_for_authors_nobody_knows(campaign: Campaign, tmp_path: Path) -> None:
    ran = run(
        "import_annotations",
        campaign.slug,
        write_csv(tmp_path / "j.csv", [{"triple_id": "t1", "label": "1"}]),
        "--json",
    )
    assert ran.code == 0
    assert ran.document["annotators"] == ["released"]
    user = User.objects.get()
    assert (user.username, user.is_active, user.has_usable_password()) == ("released", False, False)
    assert not user.invitations.exists()
    member = campaign.memberships.get()
    assert (member.role, member.pseudonym) == ("expert", "A1")
    run(
        "import_annotations",
        campaign.slug,
        write_csv(tmp_path / "j.csv", [{"triple_id": "t2", "label": "1"}]),
    )
    assert User.objects.count() == 1


def test_it_knows_one_person_by_every_spelling(campaign: Campaign) -> None:
    mei = make_user("mei")
    judge_rows(campaign, judged(("t1", "ＭＥＩ", "1"), ("t2", "Mei", "1")))
    assert set(Assignment.objects.values_list("expert", flat=True)) == {mei.pk}
    mei.refresh_from_db()
    assert mei.is_active


@pytest.mark.parametrize("role", ["manager", "viewer"])
@pytest.mark.parametrize("is_active", [True, False], ids=["open", "closed"])
def test_it_refuses_judgements_of_who_is_no_expert_of_the_campaign(
    campaign: Campaign, role: str, is_active: bool
) -> None:
    mei = make_user("mei", is_active=is_active)
    Membership.objects.create(campaign=campaign, user=mei, role=role, pseudonym="M1")
    with pytest.raises(Refused, match="one person has one role"):
        judge_rows(campaign, judged(("t1", "mei", "1")))
    assert not Assignment.objects.exists()


@pytest.mark.parametrize("name", ["a\u200bnn", "a\x07nn", "ann; bo"])
def test_it_refuses_a_name_that_nobody_could_have_on_a_page(name: str, campaign: Campaign) -> None:
    with pytest.raises(Refused, match="leave it out"):
        judge_rows(campaign, judged(("t1", name, "1")))
    assert not Assignment.objects.exists()


def test_it_refuses_a_name_that_is_too_long(campaign: Campaign) -> None:
    with pytest.raises(Refused, match="longer than 150 characters"):
        judge_rows(campaign, judged(("t1", "m" * 151, "1")))
    assert not User.objects.exists()


def test_it_keeps_everything_of_somebody_who_left(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=2)
    rows = [{**row, "item_id": f"r{i}"} for i, row in enumerate(compounds(2, contexts=3), start=1)]
    load_rows(campaign, rows, tmp_path)
    path = shared("cases/c17_removed_annotator_labels.csv")
    assert run("import_annotations", campaign.slug, path).code == 0

    def seen() -> list[Any]:
        agreement = run("report", campaign.slug, "--kind", "agreement", "--json").document
        # expected_values.json, c17
        assert agreement["coefficients"]["cohen"]["value"] == pytest.approx(0.666667, abs=1e-4)
        return [agreement, run("export", campaign.slug, "--what", "annotations", "--format", "csv").out]

    before = seen()
    assert before[1].count("\r\n") == 13
    person = User.objects.get(username="b")
    User.objects.filter(pk=person.pk).update(is_active=True)
    deactivate(User.objects.get(pk=person.pk), None)
    assert seen() == before
    with pytest.raises(ProtectedError):
        User.objects.get(pk=person.pk).delete()
    assert seen() == before


def test_it_writes_down_that_judgements_were_imported(campaign: Campaign) -> None:
    judge_rows(campaign, judged(("t1", "ann", "1")))
    entry = AuditEntry.objects.get(action="judgements imported")
    assert entry.detail == {"file": "judgements.csv", "added": 1}


def test_it_says_what_was_wrong_with_the_call(campaign: Campaign, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "j.csv", [{"triple_id": "t1", "label": "1"}])
    ran = run("import_annotations", campaign.slug, path, "--annotator", " ", "--json")
    assert ran.code == 2
    assert "--annotator needs a name" in ran.document["errors"][0]["message"]
    ran = run("import_annotations", campaign.slug, path, "--column", "verdict", "--json")
    assert ran.code == 1
    assert "“triple_id”, “label”" in ran.document["errors"][0]["message"]


def test_it_says_whose_accounts_the_judgements_attach_to(campaign: Campaign, tmp_path: Path) -> None:
    make_user("Ada")
    make_user("gone", is_active=False)
    rows = judged(("t1", "ada", 1), ("t1", "gone", 1), ("t2", "nobody-yet", 1))
    file = read_judgements(read_table(as_csv(rows).encode(), name="j.csv"), protocol="triple")
    before = import_judgements(campaign, file, dry_run=True)
    (warning,) = before.as_json()["warnings"]
    assert str(warning["message"]).startswith(
        "“Ada” is an existing account and will be an expert of this campaign"
    )
    assert not campaign.memberships.exists()

    ran = run("import_annotations", "main", write_csv(tmp_path / "j.csv", rows))
    assert (ran.code, "“Ada” is an existing account" in ran.out) == (0, True)
    assert judge_rows(campaign, rows).warnings == []  # they take part already


def test_it_lists_unknown_items_and_bad_labels_in_one_go(campaign: Campaign) -> None:
    rows = judged(("t1", "ann", "perhaps"), ("t99", "ann", 1), ("t3", "ann", 7), ("t4", "ann", 1))
    found = judge_rows(campaign, rows)
    assert [(error["line"], error["column"]) for error in found.as_json()["errors"]] == [
        (2, "label"),
        (3, None),
        (4, "label"),
    ]
    assert (found.ok, labels()) == (False, {})
