"""Guidelines by version: stored once, acknowledged by whom they are news to, and what a change touches."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import Acknowledgement, AuditEntry, Guideline, Question, Round, Thread
from annotation.protocol.errors import ProtocolError
from annotation.services import guidelines
from annotation.services.batches import close_batch
from annotation.services.errors import NotYours, Refused
from annotation.services.guidelines import (
    Outdated,
    acknowledge,
    guideline_state,
    new_version,
    pending,
    version_lines,
)
from annotation.services.rejudgement import plan_rejudgement, touching_versions
from annotation.services.seat import guideline_shown
from annotation.services.subjects import subjects_of
from annotation.services.touches import MOST_POSITIONS, positions_in, touched_items
from tests.factories import (
    Cast,
    make_cast,
    make_compound,
    make_guideline,
    make_judged,
    make_member,
    make_triple,
    make_user,
    save_label,
)

pytestmark = pytest.mark.django_db

TEXTS = {
    "text_en": "Judge with care.",
    "text_zh": "请仔细判断。",
    "change_en": "Care is new.",
    "change_zh": "新增：仔细。",
}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def store(cast: Cast, *, base: int = 1, **fields: Any) -> Guideline:
    values = {"touches": {}, "by": cast.mei, **fields}
    texts = {**TEXTS, **values.pop("texts", {})}
    return new_version(cast.campaign, base=base, texts=texts, **values)


def waiting(cast: Cast, user: Any = None) -> guidelines.Pending | None:
    member = cast.campaign.memberships.get(user=user or cast.ada)
    return pending(member, shown=guideline_shown(cast.campaign))


class TestWriting:
    def test_it_moves_the_open_rounds_and_leaves_the_closed_ones(self, cast: Cast) -> None:
        first = cast.campaign.guidelines.get()
        over = Round.objects.create(
            campaign=cast.campaign, kind=Round.Kind.DRY_RUN, k=2, guideline=first, state=Round.State.CLOSED
        )

        stored = store(cast, touches={"relations": ["xWant"]})

        assert (stored.version, stored.text_zh, stored.touches) == (
            2,
            "请仔细判断。",
            {"relations": ["xWant"]},
        )
        assert cast.campaign.rounds.get(kind="main").guideline == stored
        over.refresh_from_db()
        assert over.guideline == first
        entry = AuditEntry.objects.get(action="guidelines changed")
        assert (entry.actor, entry.detail["version"]) == (cast.mei, 2)

    def test_the_second_of_two_managers_is_told_and_nothing_is_lost(self, cast: Cast) -> None:
        theirs = store(cast)

        with pytest.raises(Outdated) as outdated:
            store(cast, texts={"text_en": "Judge in haste."})

        assert outdated.value.latest == theirs
        assert cast.campaign.guidelines.count() == 2
        assert store(cast, base=2, texts={"text_en": "Judge in haste."}).version == 3

    def test_it_stores_once_what_was_sent_twice(self, cast: Cast) -> None:
        assert store(cast) == store(cast)
        assert cast.campaign.guidelines.count() == 2

    @pytest.mark.parametrize("name", sorted(TEXTS))
    @pytest.mark.parametrize("text", ["", " \n", "a\0b", "长" * 100_001])
    def test_it_refuses_a_text_that_cannot_be_stored(self, cast: Cast, name: str, text: str) -> None:
        with pytest.raises(ProtocolError):
            store(cast, texts={name: text})

        assert cast.campaign.guidelines.count() == 1

    def test_it_refuses_a_version_that_changes_nothing(self, cast: Cast) -> None:
        with pytest.raises(Refused, match="nothing was changed"):
            store(cast, texts={"text_en": "Judge.", "text_zh": "请判断。"})

    def test_it_keeps_nothing_where_a_later_step_fails(
        self, cast: Cast, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*arguments: object, **named: object) -> None:
            raise RuntimeError("the disk is full")

        monkeypatch.setattr(guidelines, "audit", fail)
        with pytest.raises(RuntimeError):
            store(cast)

        assert cast.campaign.guidelines.count() == 1
        assert cast.campaign.rounds.get().guideline.version == 1

    @pytest.mark.parametrize("answer", ["", "The nearest dog."])
    def test_it_gives_the_answer_of_its_question_a_line(self, cast: Cast, answer: str) -> None:
        answered = (
            {"answer": answer, "answered_by": cast.mei, "answered_at": timezone.now()} if answer else {}
        )
        item = make_triple(cast.campaign, 1)
        question = Question.objects.create(
            campaign=cast.campaign,
            unit=item.unit,
            asked_by=cast.ada,
            client_key=uuid4(),
            text="?",
            **answered,
        )

        store(cast, question=question.pk)

        question.refresh_from_db()
        line = "This is a rule now: see version 2 of the guidelines."
        assert question.answer == (f"{answer}\n{line}" if answer else line)
        assert (question.answered_by, question.read_at) == (cast.mei, None)

    def test_it_ties_the_discussion_it_comes_from(self, cast: Cast) -> None:
        thread = Thread.objects.create(item=make_triple(cast.campaign, 1))

        stored = store(cast, thread=thread.pk)

        thread.refresh_from_db()
        assert thread.guideline == stored

    @pytest.mark.parametrize("name", ["question", "thread"])
    def test_it_stores_nothing_for_what_belongs_to_another_campaign(self, cast: Cast, name: str) -> None:
        other = cast.otto.memberships.get().campaign
        item = make_triple(other, 1)
        Thread.objects.create(pk=77, item=item)
        Question.objects.create(
            pk=77, campaign=other, unit=item.unit, asked_by=cast.otto, client_key=uuid4(), text="?"
        )

        with pytest.raises(NotYours):
            store(cast, **{name: 77})

        assert cast.campaign.guidelines.count() == 1


class TestAcknowledging:
    def test_the_first_version_is_news_to_nobody(
        self, cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        member = cast.campaign.memberships.get(user=cast.ada)
        shown = guideline_shown(cast.campaign)

        with django_assert_num_queries(0):
            assert pending(member, shown=shown) is None

    def test_it_waits_for_who_was_there_before_the_version(self, cast: Cast) -> None:
        stored = store(cast)
        make_member(cast.campaign, bo := make_user("bo"), "expert", "A3")

        found = waiting(cast)

        assert found is not None
        assert (found.version, found.known.version) == (stored, 1)
        assert waiting(cast, bo) is None

    def test_it_tells_all_changes_since_the_version_one_knows(self, cast: Cast) -> None:
        member = cast.campaign.memberships.get(user=cast.ada)
        make_guideline(cast.campaign)
        acknowledge(member, version=2)
        make_guideline(cast.campaign)
        make_guideline(cast.campaign)

        found = waiting(cast)

        assert found is not None
        assert (found.known.version, [one.version for one in found.changes]) == (2, [3, 4])
        acknowledge(member, version=4)
        acknowledge(member, version=4)
        assert waiting(cast) is None
        assert Acknowledgement.objects.filter(guideline__version=4).count() == 1

    @pytest.mark.parametrize("version", [0, 3])
    def test_it_knows_no_version_that_is_not_in_force(self, cast: Cast, version: int) -> None:
        store(cast)

        with pytest.raises(NotYours):
            acknowledge(cast.campaign.memberships.get(user=cast.ada), version=version)

    def test_managers_see_how_many_have_acknowledged_it_or_a_later_one(
        self, cast: Cast, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        make_guideline(cast.campaign)
        make_guideline(cast.campaign, touches={"relations": ["xWant"]})
        make_triple(cast.campaign, 1)
        make_triple(cast.campaign, 2, relation="xNeed")
        acknowledge(cast.campaign.memberships.get(user=cast.ada), version=3)
        make_member(cast.campaign, make_user("bo"), "expert", "A3")

        with django_assert_num_queries(3):
            lines = version_lines(cast.campaign)
        with django_assert_num_queries(4):  # two of them ask what would be judged again
            state = guideline_state(cast.campaign)

        assert [(line.guideline.version, line.acknowledged, line.asked, line.touched) for line in lines] == [
            (3, 1, 2, 1),
            (2, 1, 2, 0),
            (1, 0, 0, 0),
        ]
        assert (state.version, state.acknowledged, state.asked, state.rejudge) == (3, 1, 2, 0)


def to_judge_again(cast: Cast) -> list[int]:
    """The positions of what a re-judgement would hold; the campaign's page counts them."""
    plan = plan_rejudgement(cast.campaign, touching_versions(cast.campaign))
    assert guideline_state(cast.campaign).rejudge == plan.n_items
    return [cast.campaign.items.get(pk=item).position for item in plan.items]


class TestTouching:
    def test_it_finds_triples_by_relation_and_position(self, cast: Cast) -> None:
        for position, relation in enumerate(("xWant", "xNeed", "xAttr"), start=1):
            make_triple(cast.campaign, position, relation=relation)

        def positions(touches: dict[str, Any]) -> list[int]:
            return list(touched_items(cast.campaign, touches).values_list("position", flat=True))

        assert positions({"relations": ["xNeed"]}) == [2]
        assert positions({"relations": ["xNeed"], "items": [3, 9]}) == [2, 3]
        assert positions({}) == []

    def test_it_finds_compounds_by_pattern_and_by_whole_atoms(self) -> None:
        cast = make_cast(protocol="compound")
        atoms = [["DET", "The", 0, 3], ["N", "dog", 4, 7]]
        make_compound(cast.campaign, 1, contexts=1, compound="The dog", pattern="NP:DET+N", atoms=atoms)
        other = [["DET", "the", 0, 3], ["N", "hotdog", 4, 10], ["MOD", "he liked", 11, 19]]
        make_compound(cast.campaign, 2, contexts=1, compound="the hotdog he liked", pattern="P2", atoms=other)

        def compounds(touches: dict[str, Any]) -> list[str]:
            return list(touched_items(cast.campaign, touches).values_list("unit__compound", flat=True))

        assert compounds({"atoms": ["dog"]}) == ["The dog"]
        assert compounds({"atoms": ["the"]}) == ["The dog", "the hotdog he liked"]
        assert compounds({"atoms": ["he liked"], "patterns": ["NP:DET+N"]}) == [
            "The dog",
            "the hotdog he liked",
        ]
        found = subjects_of(cast.campaign)
        assert (found.patterns, found.atoms) == (("NP:DET+N", "P2"), ("dog", "he liked", "hotdog", "the"))

    def test_it_counts_what_was_judged_before_the_change_and_is_not_being_judged_again(
        self, cast: Cast
    ) -> None:
        design = make_judged(cast, ("1", "1"), ("1", "0"), ("1", "1"))
        close_batch(cast.campaign, design.pk, by=cast.mei)
        version = make_guideline(cast.campaign, touches={"items": [1, 2]})

        assert to_judge_again(cast) == [1, 2]
        for row in cast.campaign.rounds.get().assignments.filter(item__position=1):
            row.refresh_from_db()
            save_label(row, "0")  # under the new version
        assert version.version == 2
        assert to_judge_again(cast) == [2]

        again = Round.objects.create(
            campaign=cast.campaign, kind=Round.Kind.REJUDGEMENT, k=2, guideline=version
        )
        row = cast.campaign.rounds.get(kind="main").assignments.get(item__position=2, slot=1)
        again.assignments.create(
            item=row.item, unit=row.unit, expert=row.expert, slot=1, position=900, queue=900
        )
        assert to_judge_again(cast) == []


@pytest.mark.parametrize(
    ("text", "positions"),
    [("", []), ("3, 7，12-14", [3, 7, 12, 13, 14]), (" 5;5 4 ", [4, 5]), ("1–3", [1, 2, 3])],
)
def test_it_reads_positions(text: str, positions: list[int]) -> None:
    assert positions_in(text) == positions


@pytest.mark.parametrize("text", ["x", "3-1", "1-9999999", "-4", "1.5", "0x3"])
def test_it_refuses_what_is_no_position(text: str) -> None:
    with pytest.raises(Refused):
        positions_in(text)


def test_it_takes_no_more_positions_than_can_be_looked_up() -> None:
    assert len(positions_in(f"1-{MOST_POSITIONS}")) == MOST_POSITIONS


@pytest.mark.parametrize("protocol", ["compound", "triple"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bundled_guidelines_name_every_letter_that_does_something(protocol: str, language: str) -> None:
    """As the seat has them, but for those that mean nothing beside a triple."""
    keys = (settings.BASE_DIR / "static/seat/keys.js").read_text()
    table = (settings.BASE_DIR / f"annotation/guidelines/{protocol}.{language}.md").read_text()
    named = set(re.findall(r"`([a-z])`", table))
    bound = dict(re.findall(r"(\w+): \"Key([A-Z])\"", keys.partition("const ALWAYS")[0]))
    if protocol == "triple":
        bound = {name: key for name, key in bound.items() if name not in ("rest", "reference", "words")}
    assert {key.lower() for key in bound.values()} - named == set()
