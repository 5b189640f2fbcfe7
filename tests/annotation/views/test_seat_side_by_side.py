"""The judging page side by side: what it hands out, and the same page without a script."""

import re

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.api.bodies import MOST_ROWS
from annotation.models import Annotation, Assignment, AuditEntry, Campaign
from tests.annotation.views.test_seat import at, client_of, filled_in, make_work, page_data, rows_of
from tests.factories import (
    Cast,
    answer,
    make_assignment,
    make_cast,
    make_display,
    make_side_by_side,
    make_variants,
    seat_number,
    signed_in,
)
from tests.pages import text_of

pytestmark = pytest.mark.django_db


def make_wide(*, units: int = 1, variants: int = 2, **campaign: object) -> Cast:
    """Ada and Lin judge all units; the first context of each has so many translations more."""
    cast = make_work("compound", units=0)
    Campaign.objects.filter(pk=cast.campaign.pk).update(**campaign)
    make_side_by_side(cast.campaign)
    make_work("compound", units=units, cast=cast, part_index=1)
    for row in Assignment.objects.filter(expert=cast.ada, row=1):
        for place, item in enumerate(make_variants(row.item, variants), start=6):
            for slot, expert in enumerate((cast.ada, cast.lin), start=1):
                where = {"part": row.part, "position": row.position, "row": place, "queue": row.queue}
                make_assignment(item, expert, slot=slot, **where)
    return cast


def test_it_hands_the_script_the_rows_of_each_context_together() -> None:
    cast = make_wide(reference="shown")
    data = page_data(client_of(cast.ada).get(at("judge/")).content)
    (screen,) = data["screens"]
    assert [row["context"] for row in screen["rows"]] == [1, 1, 1, 2, 3, 4, 5]
    allowed = {
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
    assert all(set(row) == allowed for row in screen["rows"])


def test_it_costs_what_the_other_display_costs_whatever_the_size() -> None:
    cast = make_wide(units=3)
    answer(rows_of(cast.ada)[0])
    client = client_of(cast.ada)
    counts: list[int] = []
    for more, display in ((0, "alone"), (0, "side_by_side"), (27, "side_by_side")):
        make_work("compound", units=more, cast=cast, part_index=2 + len(counts))
        make_display(cast.campaign, display)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(at("judge/")).status_code == 200
        counts.append(len(queries))
    assert len(set(counts)) == 1, counts


class TestWithoutAScript:
    def test_all_contexts_stand_below_one_another(self) -> None:
        cast = make_wide(variants=11, reference="on_demand")
        body = client_of(cast.ada).get(at("judge/")).content.decode()
        form = body[body.index('id="sheet"') : body.index("context-template")]
        assert re.findall(r"Sentence (\d)<", form) == ["1", "2", "3", "4", "5"]
        assert len(re.findall(r'<li class="context(?: form-only)?" data-row>', form)) == 16
        # Before the script is there, no more is shown than it will show: nine of the first context's twelve.
        assert len(re.findall(r'<li class="context" data-row>', form)) == 9
        numbers = re.findall(r'data-slot="number">(\d+)<', form)
        assert numbers == [*map(str, range(1, 13)), "1", "1", "1", "1"]
        assert form.count('<details class="form-extra"><summary>Reference<') == 5

    def test_it_saves_the_whole_unit_and_says_how_it_was_shown(self) -> None:
        cast = make_wide()
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(row)}": "correct" for row in rows_of(cast.ada)}
        first = rows_of(cast.ada)[0]
        fields[f"label_{seat_number(first)}"] = "wrong"
        client.post(at("judge/"), filled_in(client, 1, **fields))
        assert [row.label for row in rows_of(cast.ada)] == ["0", "1", "1", "1", "1", "1", "1"]
        found = Annotation.objects.all()
        assert {one.conditions["display"] for one in found} == {"side_by_side"}
        assert {one.source for one in found} == {"form"}

    def test_what_is_filled_in_comes_back_with_what_is_missing(self) -> None:
        cast = make_wide()
        client = client_of(cast.ada)
        row = rows_of(cast.ada)[6]
        response = client.post(
            at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "wrong"}), follow=True
        )
        body = response.content.decode()
        assert "6 rows of this unit have no answer yet." in body
        assert re.search(rf'name="label-{seat_number(row)}" value="wrong" checked', body)

    def test_a_row_without_its_cause_is_named_with_its_sentence(self) -> None:
        cast = make_wide()
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(row)}": "cannot_judge" for row in rows_of(cast.ada)[4:6]}
        said = text_of(client.post(at("judge/"), filled_in(client, 1, **fields)))
        assert "Say why rows 2 (sentence 1), 1 (sentence 5) cannot be judged" in said


class TestTheKeys:
    def test_they_are_told_as_they_work(self) -> None:
        cast = make_wide()
        assert (
            "to the next sentence; after the last: save"
            in client_of(cast.ada).get(at("judge/")).content.decode()
        )

    def test_alone_they_are_told_as_ever(self) -> None:
        cast = make_work("compound", units=1)
        assert "to the next sentence" not in client_of(cast.ada).get(at("judge/")).content.decode()


class TestChoosing:
    @pytest.mark.parametrize(
        ("protocol", "asked", "kept"),
        [
            ("compound", "side_by_side", "side_by_side"),
            ("compound", "", "alone"),
            ("triple", "side_by_side", "alone"),
        ],
    )
    def test_it_is_chosen_with_the_campaign(self, protocol: str, asked: str, kept: str) -> None:
        mei = make_cast().mei
        given = {"title": "Wide", "slug": "wide", "protocol": protocol, "display": asked}
        assert signed_in(mei).post("/campaigns/new/", given).status_code == 302
        assert Campaign.objects.get(slug="wide").display == kept

    def test_it_is_changed_in_the_settings_and_written_down(self) -> None:
        cast = make_work("compound", units=2)
        given = {
            "title": "Main",
            "display": "side_by_side",
            "reference": "on_demand",
            "highlight": "source",
            "reasons": "optional",
        }
        signed_in(cast.mei).post("/campaigns/main/settings/", given)
        assert Campaign.objects.get(pk=cast.campaign.pk).display == "side_by_side"
        assert AuditEntry.objects.get().detail == {"display": ["alone", "side_by_side"]}

    def test_it_is_fixed_once_judging_began(self) -> None:
        cast = make_work("compound", units=1)
        answer(rows_of(cast.ada)[0])
        body = signed_in(cast.mei).get("/campaigns/main/settings/").content.decode()
        field = body[body.index('name="display"') : body.index('name="reference"')]
        assert "disabled" in field
        assert "Judging has begun" in field


def test_a_wide_screen_is_saved_without_a_script() -> None:
    """Four fields of each row are sent at least, and Django alone takes 1,000."""
    cast = make_wide(variants=246)
    client = client_of(cast.ada)
    rows = rows_of(cast.ada)
    given = {"label": "correct", "cause": "", "note": ""}
    fields = {f"{name}_{seat_number(row)}": value for row in rows for name, value in given.items()}

    form = filled_in(client, 1, **fields)
    client.post(at("judge/"), form)

    assert len(form) > 1000
    assert Annotation.objects.count() == len(rows)
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS == 20 * MOST_ROWS
