"""How the translations of a compound are shown: chosen, kept, stored with every answer."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, Assignment, AuditEntry, Campaign, Part, Round, User
from annotation.services.answers import save_answers
from annotation.services.campaign_settings import change_settings, locked
from annotation.services.campaigns import create_campaign
from annotation.services.errors import Refused
from annotation.services.parts import assign_parts
from annotation.services.screens import next_screens, progress
from annotation.services.seat import hand_in, postpone, review_part
from annotation.services.sheets import Answer, Sheet
from annotation.services.verify import verify
from tests.at_once import told, while_in_work
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_compound,
    make_display,
    make_part,
    make_side_by_side,
    make_variants,
    seat_number,
)
from tests.material import compounds, load_rows, new_campaign, run_json, sheet

pytestmark = pytest.mark.django_db


def with_unit() -> tuple[Cast, list[Assignment]]:
    """Ada's only unit: three contexts, the first with three translations, the second with two; shown side by side."""
    cast = make_cast(protocol="compound", k=1)
    make_side_by_side(cast.campaign)
    part = make_part(cast.campaign.rounds.get(), index=0)
    items = make_compound(cast.campaign, 1, contexts=3)
    items += [*make_variants(items[0], 2), *make_variants(items[1], 1)]
    order = [items[3], items[1], items[0], items[2], items[4], items[5]]  # as a repeat mixes them
    rows = [
        make_assignment(item, cast.ada, part=part, position=1, row=n, queue=1)
        for n, item in enumerate(order, start=1)
    ]
    return cast, rows


def save(cast: Cast, given: Sheet, **more: Any) -> Any:
    return save_answers(given, slug=cast.campaign.slug, expert_id=cast.ada.pk, **more)


def displays() -> set[str]:
    return {str(one.conditions["display"]) for one in Annotation.objects.all()}


def two_systems(folder: Path, *, display: str = "alone", units: int = 6) -> Campaign:
    """Two experts, two distinct translations of every context; given out."""
    campaign = create_campaign(
        slug="main", protocol="compound", annotators_per_item=2, seed=7, display=display
    )
    load_rows(campaign, compounds(units, system="base"), folder)
    load_rows(campaign, compounds(units, system="large", translation="别的译文。"), folder)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    return campaign


class TestScreens:
    def test_rows_of_a_context_stand_together_and_say_so(self) -> None:
        cast, rows = with_unit()
        (screen,) = next_screens(cast.campaign, expert_id=cast.ada.pk)
        assert [row["context"] for row in screen["rows"]] == [1, 1, 1, 2, 2, 3]
        by_context: dict[int, set[str]] = {}
        for row in screen["rows"]:
            by_context.setdefault(row["context"], set()).add(row["source"])
        assert all(len(sources) == 1 for sources in by_context.values())
        assert screen["id"] == seat_number(rows[0]) == screen["rows"][0]["assignment"]

    def test_alone_nothing_more_is_told(self) -> None:
        cast, _rows = with_unit()
        make_display(cast.campaign, "alone")
        (screen,) = next_screens(cast.campaign, expert_id=cast.ada.pk)
        assert not any("context" in row for row in screen["rows"])

    def test_what_saving_gives_next_is_what_the_page_reads(self) -> None:
        cast, rows = with_unit()
        part = Part.objects.get()
        more = []
        for position in (2, 3):
            items = make_compound(cast.campaign, 7 * position, contexts=2)
            more.append(
                [
                    make_assignment(item, cast.ada, part=part, position=position, row=row, queue=position)
                    for row, item in enumerate([*items, *make_variants(items[0], 2)], start=1)
                ]
            )
        for given in (rows, more[0]):  # the first is read anew, the second known
            judged = save(cast, sheet(given), after=0, count=5)
            assert judged.screens == next_screens(cast.campaign, expert_id=cast.ada.pk, count=5)
            assert judged.screens[0]["rows"][1]["context"] == 1

    def test_it_names_no_system_and_no_run(self, tmp_path: Path) -> None:
        campaign = two_systems(tmp_path, display="side_by_side")
        ada = User.objects.get(username="ada")
        shown = next_screens(campaign, expert_id=ada.pk, count=50)
        assert {frozenset(row) for screen in shown for row in screen["rows"]} == {
            frozenset(
                {
                    "assignment",
                    "revision",
                    "answer",
                    "context",
                    "source",
                    "span",
                    "translation",
                    "raw",
                    "reference",
                }
            )
        }
        first = [row["translation"] == "别的译文。" for screen in shown for row in screen["rows"][::2]]
        assert set(first) == {True, False}  # either system's stands first somewhere


class TestAUnitIsOneScreen:
    def test_it_is_counted_postponed_and_handed_in_as_one(self, tmp_path: Path) -> None:
        campaign = two_systems(tmp_path, display="side_by_side")
        ada = User.objects.get(username="ada")
        part = Part.objects.filter(assignments__expert=ada).order_by("index")[0]
        standing = progress(campaign, expert_id=ada.pk)
        assert standing["total"] == 6
        shown = next_screens(campaign, expert_id=ada.pk, count=50)
        assert {len(screen["rows"]) for screen in shown} == {10}
        mine = Assignment.objects.filter(expert=ada, part=part)
        first = list(mine.filter(position=mine.order_by("queue")[0].position).order_by("row"))
        postpone(campaign, expert_id=ada.pk, screen_id=first[0].pk, assignments=[row.pk for row in first])
        assert len(review_part(campaign, expert_id=ada.pk, index=part.index).postponed) == 1
        for position in mine.values_list("position", flat=True).distinct():
            rows = list(mine.filter(position=position).order_by("row"))
            assert len(save_answers(sheet(rows), slug="main", expert_id=ada.pk).saved) == 10
        hand_in(campaign, expert_id=ada.pk, index=part.index)
        assert verify(campaign) == []

    def test_a_part_of_its_rows_is_saved_all_or_nothing(self) -> None:
        cast, rows = with_unit()
        Assignment.objects.filter(pk=rows[3].pk).update(
            revision=1, label="1", answered_at="2026-01-01T00:00Z"
        )
        with pytest.raises(Refused, match="answered elsewhere"):
            save(cast, sheet(rows))
        assert Annotation.objects.count() == 0


class TestConditions:
    def test_every_answer_says_how_it_was_shown(self) -> None:
        cast, rows = with_unit()
        save(cast, sheet(rows))
        assert displays() == {"side_by_side"}

    def test_a_page_knows_best_what_it_showed(self) -> None:
        cast, rows = with_unit()
        given = sheet(rows)
        save(cast, Sheet(**(vars(given) | {"conditions": {"display": "alone"}})))
        assert displays() == {"alone"}

    def test_triples_stand_alone(self) -> None:
        cast = make_cast()
        assert Campaign.objects.get(pk=cast.campaign.pk).display == "alone"

    def test_a_choice_that_changed_since_is_never_taken_for_true(self) -> None:
        """What a process remembers of the sheet before is compared with what is stored."""
        cast, rows = with_unit()
        make_display(cast.campaign, "alone")
        save(cast, sheet(rows[:1]))
        make_side_by_side(cast.campaign)
        save(cast, sheet(rows[1:2]))
        save(cast, sheet(rows[2:3]))
        found = Annotation.objects.order_by("pk").values_list("conditions__display", flat=True)
        assert list(found) == ["alone", "side_by_side", "side_by_side"]

    def test_it_costs_no_statement(self) -> None:
        cast, rows = with_unit()
        counts = []
        for first, display in ((0, "alone"), (2, "side_by_side")):
            make_display(cast.campaign, display)
            save(cast, sheet(rows[first : first + 1]))
            with CaptureQueriesContext(connection) as queries:
                save(cast, sheet(rows[first + 1 : first + 2]), after=0, count=2)
            counts.append(len(queries))
        assert counts == [1, 1] if connection.vendor == "postgresql" else [6, 6]


class TestChoosing:
    def test_it_is_chosen_when_a_campaign_is_opened(self) -> None:
        document = run_json("create_campaign", "wide", "--protocol", "compound", "--display", "side_by_side")
        assert document["display"] == "side_by_side"
        campaign = Campaign.objects.get(slug="wide")
        assert Campaign.objects.get(pk=campaign.pk).display == "side_by_side"
        assert AuditEntry.objects.get(action="campaign created").detail["display"] == "side_by_side"
        assert new_campaign("compound").display == "alone"

    @pytest.mark.parametrize(
        ("protocol", "display", "said"),
        [("triple", "side_by_side", "stand alone"), ("compound", "no", "is no")],
    )
    def test_it_refuses_what_is_none(self, protocol: str, display: str, said: str) -> None:
        with pytest.raises(Refused, match=said):
            create_campaign(slug="wide", protocol=protocol, display=display)
        assert not Campaign.objects.exists()

    @pytest.mark.parametrize("display", ["side_by_side", "alone"])
    def test_what_is_given_out_is_laid_out_anew(self, display: str, tmp_path: Path) -> None:
        before = "alone" if display == "side_by_side" else "side_by_side"
        campaign = two_systems(tmp_path, display=before)
        given = set(Assignment.objects.values_list("pk", "item", "expert", "slot", "part"))
        mei = User.objects.create_user("mei")

        assert change_settings(campaign, {"display": display}, by=mei) == {"display": [before, display]}

        assert set(Assignment.objects.values_list("pk", "item", "expert", "slot", "part")) == given
        for person in User.objects.filter(assignments__isnull=False).distinct():
            shown = next_screens(campaign, expert_id=person.pk, count=100)
            assert len(shown) == (6 if display == "side_by_side" else 12)
            assert sum(len(screen["rows"]) for screen in shown) == 60
            parts = [screen["part"] for screen in shown]
            assert parts == sorted(parts)  # part after part, as before
        assert verify(campaign) == []
        entry = AuditEntry.objects.get(action="settings changed")
        assert entry.detail == {"display": [before, display]}

    def test_the_first_answer_fixes_it(self, tmp_path: Path) -> None:
        campaign = two_systems(tmp_path)
        mei = User.objects.create_user("mei")
        row = Assignment.objects.all()[0]
        save_answers(sheet([row]), slug="main", expert_id=row.expert_id)
        places = set(Assignment.objects.values_list("pk", "position", "row", "queue"))
        with pytest.raises(Refused, match="Judging has begun"):
            change_settings(campaign, {"display": "side_by_side", "title": "Other"}, by=mei)
        assert Campaign.objects.get(pk=campaign.pk).display == "alone"
        assert set(Assignment.objects.values_list("pk", "position", "row", "queue")) == places
        assert Campaign.objects.get().title == "main"

    def test_an_open_dry_run_keeps_it_and_a_closed_one_does_not(self) -> None:
        cast, rows = with_unit()
        main = cast.campaign.rounds.get()
        trial = Round.objects.create(
            campaign=cast.campaign, kind=Round.Kind.DRY_RUN, k=1, guideline=main.guideline
        )
        Part.objects.update(round=trial)
        Assignment.objects.update(round=trial)
        save(cast, sheet(rows))
        with pytest.raises(Refused, match="A dry run is open"):
            change_settings(cast.campaign, {"display": "alone"}, by=cast.mei)
        Round.objects.filter(pk=trial.pk).update(state=Round.State.CLOSED)
        assert "display" not in locked(cast.campaign)
        change_settings(cast.campaign, {"display": "alone"}, by=cast.mei)
        assert Campaign.objects.get(pk=cast.campaign.pk).display == "alone"
        assert displays() == {"side_by_side"}  # what was stored stays


def test_programs_may_say_what_they_showed() -> None:
    cast, rows = with_unit()
    answers = tuple(Answer(assignment=row.pk, revision=0, label="1") for row in rows)
    given = Sheet(
        screen=rows[0].pk, client_key=uuid.uuid4(), answers=answers, conditions={"display": "alone"}
    )
    save(cast, given, source=Annotation.Source.API)
    assert displays() == {"alone"}


class TestAtTheSameMoment:
    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("first", ["saving", "changing"])
    def test_an_answer_comes_before_the_change_or_is_stored_as_it_was_shown(
        self, first: str, tmp_path: Path
    ) -> None:
        campaign = two_systems(tmp_path)
        mei = User.objects.create_user("mei")
        row = Assignment.objects.all()[0]
        given = Sheet(**(vars(sheet([row])) | {"conditions": {"display": "alone"}}))
        saving = told("saved", lambda: save_answers(given, slug="main", expert_id=row.expert_id))
        change = {"display": "side_by_side"}
        changing = told("changed", lambda: change_settings(campaign, change, by=mei))

        if first == "saving":
            assert while_in_work(saving, changing) == ["saved", "refused"]
            assert Campaign.objects.get(pk=campaign.pk).display == "alone"
        else:
            assert while_in_work(changing, saving) == ["changed", "saved"]
            assert Campaign.objects.get(pk=campaign.pk).display == "side_by_side"
        assert displays() == {"alone"}
        assert verify(campaign) == []
