"""Precedents: what they are about, the settled items they may name, and what an expert finds."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import Assignment, AuditEntry, Item, Precedent, Round, Thread
from annotation.protocol.errors import ProtocolError
from annotation.services.batches import close_batch
from annotation.services.errors import NotYours, Refused
from annotation.services.labels import finalize
from annotation.services.precedents import (
    add_precedent,
    all_precedents,
    precedents_about,
    retire_precedent,
    settled,
)
from annotation.services.screens import screen_at
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast, make_cast, make_judged, make_precedent

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def add(cast: Cast, **fields: Any) -> Precedent:
    values: dict[str, Any] = {
        "about": "relation",
        "key": "xWant",
        "text_en": "A wish that comes later.",
        "text_zh": "之后才有的愿望。",
        "by": cast.mei,
        **fields,
    }
    return add_precedent(cast.campaign, **values)


def settle(cast: Cast) -> None:
    """Two triples judged, the batch closed, the labels final."""
    design = make_judged(cast, ("1", "1"), ("0", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    finalize(cast.campaign)


class TestAdding:
    def test_it_is_added_once_and_may_be_added_anew_after_it_was_taken_back(self, cast: Cast) -> None:
        first = add(cast, version=1)

        assert add(cast, version=1) == first
        retire_precedent(cast.campaign, pk=first.pk, by=cast.mei)
        retire_precedent(cast.campaign, pk=first.pk, by=cast.mei)
        assert add(cast) != first
        actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
        assert actions == ["precedent added", "precedent taken back", "precedent added"]

    @pytest.mark.parametrize(
        "fields",
        [
            {"key": "xwant"},
            {"about": "atom", "key": "dog"},
            {"about": "label", "key": "1"},
            {"text_en": " "},
            {"text_zh": "长" * 1001},
            {"text_en": "a\0b"},
            {"version": 2},
        ],
    )
    def test_it_refuses_what_is_no_precedent_here(self, cast: Cast, fields: dict[str, Any]) -> None:
        with pytest.raises(ProtocolError):
            add(cast, **fields)

        assert not Precedent.objects.exists()

    def test_it_names_settled_items(self, cast: Cast) -> None:
        settle(cast)

        made = add(cast, positions=[2, 1])

        assert sorted(made.items.values_list("position", flat=True)) == [1, 2]

    @pytest.mark.parametrize(
        "why", ["no label", "batch open", "answer missing", "under discussion", "judged again", "withdrawn"]
    )
    def test_it_never_names_an_open_item(self, cast: Cast, why: str) -> None:
        design = make_judged(cast, ("1", None if why == "answer missing" else "1"))
        item = Item.objects.get()
        if why != "batch open":
            design.closed_at = timezone.now()
            design.save()
        if why != "no label":
            finalize(cast.campaign)
        if why == "under discussion":
            Thread.objects.create(item=item)
        if why == "judged again":
            again = Round.objects.create(
                campaign=cast.campaign,
                kind=Round.Kind.RESOLUTION,
                k=2,
                guideline=cast.campaign.guidelines.get(),
            )
            Assignment.objects.create(
                round=again, unit=item.unit, item=item, expert=cast.ada, slot=1, position=900, queue=900
            )
        if why == "withdrawn":
            Item.objects.update(retired_at=timezone.now(), retired_why="withdrawn")

        with pytest.raises(Refused, match="not settled: 1"):
            add(cast, positions=[1])

        assert not Precedent.objects.exists()

    def test_it_takes_back_only_what_is_this_campaigns(self, cast: Cast) -> None:
        other = make_precedent(cast.otto.memberships.get().campaign)

        with pytest.raises(NotYours):
            retire_precedent(cast.campaign, pk=other.pk, by=cast.mei)


class TestFinding:
    def test_it_finds_by_every_word_in_either_language(self, cast: Cast) -> None:
        made = add(cast)
        add(cast, key="xNeed", text_en="Beforehand.", text_zh="事先。")

        for text in ("wish LATER", "之后", "xwant"):
            assert [
                line.pk for line in precedents_about(cast.campaign, expert_id=cast.ada.pk, text=text)
            ] == [made.pk], text
        assert precedents_about(cast.campaign, expert_id=cast.ada.pk, text="wish beforehand") == []
        assert precedents_about(cast.campaign, expert_id=cast.ada.pk) == []

    def test_it_finds_what_is_about_the_unit_on_a_screen(self) -> None:
        cast = make_work("triple", units=1)
        made = make_precedent(cast.campaign)
        make_precedent(cast.campaign, key="xNeed")
        make_precedent(cast.campaign, text_en="gone", retired_at=timezone.now())
        screen = screen_at(cast.campaign, expert_id=cast.ada.pk, position=1)

        assert [
            line.pk for line in precedents_about(cast.campaign, expert_id=cast.ada.pk, screen=screen)
        ] == [made.pk]

    def test_it_finds_atoms_and_patterns_of_a_compound(self) -> None:
        cast = make_work("compound", units=1)
        cast.campaign.units.update(pattern="NP:DET+N", atoms=[["DET", "The", 0, 3], ["N", "dog", 4, 7]])
        made = {
            make_precedent(cast.campaign, about="atom", key="the").pk,
            make_precedent(cast.campaign, about="pattern", key="NP:DET+N").pk,
        }
        make_precedent(cast.campaign, about="atom", key="hotdog")
        screen = screen_at(cast.campaign, expert_id=cast.ada.pk, position=1)

        assert {
            line.pk for line in precedents_about(cast.campaign, expert_id=cast.ada.pk, screen=screen)
        } == made

    def test_an_item_that_is_opened_again_is_not_named_until_it_is_settled(
        self, cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        settle(cast)
        add(cast, positions=[1, 2])
        Thread.objects.create(item=Item.objects.get(position=1))

        with django_assert_num_queries(2):
            (line,) = precedents_about(cast.campaign, expert_id=cast.ada.pk, text="wish")

        assert [unit.tail for unit in line.items] == ["PersonX rest 2"]
        Thread.objects.update(resolved_at=timezone.now())
        assert len(all_precedents(cast.campaign)[0].items) == 2

    def test_those_taken_back_stand_last_and_are_found_by_nobody(self, cast: Cast) -> None:
        gone = make_precedent(cast.campaign, retired_at=timezone.now())
        made = add(cast, text_en="Another.")

        assert [line.pk for line in all_precedents(cast.campaign)] == [made.pk, gone.pk]
        assert [line.pk for line in precedents_about(cast.campaign, expert_id=cast.ada.pk, text="xWant")] == [
            made.pk
        ]

    def test_settled_asks_for_a_label_not_for_a_reason_without_one(self, cast: Cast) -> None:
        design = make_judged(cast, ("", "1"))
        close_batch(cast.campaign, design.pk, by=cast.mei)
        finalize(cast.campaign)

        assert not settled(Item.objects.all()).exists()
