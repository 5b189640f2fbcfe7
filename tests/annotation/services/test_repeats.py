"""Hidden repeats: late enough, one after another with all the rest, and nothing that tells them from other units."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Annotation, Assignment, AuditEntry, Campaign, HandIn, Item, Round, User
from annotation.protocol.moves import Moves
from annotation.services import repeats
from annotation.services.answers import save_answers
from annotation.services.campaign_state import close_campaign
from annotation.services.campaigns import main_round
from annotation.services.errors import NotYours, Refused
from annotation.services.items import withdraw
from annotation.services.moves import move_units, planned_moves
from annotation.services.parts import assign_parts
from annotation.services.people import add_member, deactivate
from annotation.services.repeat_draws import draws_of, take_out
from annotation.services.repeats import draw_repeats, plan_repeats
from annotation.services.rounds import close_round, reopen_round
from annotation.services.screens import next_screens, progress, recent_screens, screen_at
from annotation.services.seat import find_screens, hand_in, postpone, review_part, take_back
from annotation.services.sheets import Answer, Sheet, Timing
from annotation.services.verify import verify
from tests.factories import make_user, rows_on, signed_in
from tests.material import compounds, load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db

Screen = dict[str, Any]


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Distances for campaigns of a few dozen units."""
    monkeypatch.setattr(repeats, "DISTANCE", 8)
    monkeypatch.setattr(repeats, "AHEAD", 4)


def made(folder: Path, n: int = 40, *, protocol: str = "triple") -> Campaign:
    campaign = new_campaign(protocol)
    rows = triples(n) if protocol == "triple" else compounds(n, contexts=2, system="base")
    load_rows(campaign, rows, folder)
    k = 2 if protocol == "triple" else 1
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic" if k == 2 else "single", seed=1)
    return campaign


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Forty triples for Ada and Lin, in two parts; Ada has judged twenty, the last two in a sitting of today."""
    campaign = made(tmp_path)
    judge(campaign, "ada", 18, session="monday")
    judge(campaign, "ada", 2, session="tuesday")
    return campaign


def expert(name: str) -> User:
    return User.objects.get(username=name)


def judge(
    campaign: Campaign, name: str, count: int, *, session: str = "later", label: str = "1"
) -> list[Screen]:
    """The next screens of somebody, answered one after the other."""
    done, user = [], expert(name)
    for _number in range(count):
        (screen,) = next_screens(campaign, expert_id=user.pk)
        answer(campaign, name, screen, session=session, label=label)
        done.append(screen)
    return done


def answer(
    campaign: Campaign, name: str, screen: Screen, *, session: str = "later", label: str = "1"
) -> None:
    user = expert(name)
    rows = rows_on(screen, user)
    save_answers(
        Sheet(
            screen=rows[0].pk,
            client_key=uuid4(),
            answers=tuple(
                Answer(assignment=row.pk, revision=shown["revision"], label=label)
                for row, shown in zip(rows, screen["rows"], strict=True)
            ),
            timing=Timing(session=session),
        ),
        slug=campaign.slug,
        expert_id=user.pk,
    )


def upcoming(campaign: Campaign, name: str = "ada") -> list[Screen]:
    return next_screens(campaign, expert_id=expert(name).pk, count=200)


def text(screen: Screen) -> str:
    return str(screen["compound"] if "compound" in screen else screen["rows"][0]["head"])


def drawn(campaign: Campaign, *, percent: float = 20, seed: int = 3) -> set[str]:
    """Draw, and the units that come again."""
    round_ = draw_repeats(campaign, percent=percent, seed=seed, by=None)
    heads = round_.assignments.values_list("unit__compound", "item__head")
    return {compound or head for compound, head in heads}


class TestDrawing:
    def test_it_puts_a_share_of_the_judged_units_among_those_to_come(self, campaign: Campaign) -> None:
        judged = [text(one) for one in recent_screens(campaign, expert_id=expert("ada").pk)]
        before = [text(one) for one in upcoming(campaign)]

        again = drawn(campaign)
        after = [text(one) for one in upcoming(campaign)]

        assert len(again) == 4  # of twenty
        assert again <= set(judged)
        assert [one for one in after if one not in again] == before
        assert set(after) == set(before) | again
        assert len(after) == len(before) + 4

    def test_it_never_takes_what_was_judged_in_the_sitting_that_goes_on(self, campaign: Campaign) -> None:
        current = [text(one) for one in recent_screens(campaign, expert_id=expert("ada").pk, count=2)]

        again = drawn(campaign, percent=100)

        assert len(again) == 18
        assert not again & set(current)

    def test_it_takes_nothing_while_everything_was_judged_in_one_sitting(self, tmp_path: Path) -> None:
        campaign = made(tmp_path)
        judge(campaign, "ada", 20, session="monday")

        with pytest.raises(Refused, match="No unit can be given again"):
            draw_repeats(campaign, percent=20, seed=3, by=None)

        (ada, _lin) = plan_repeats(campaign, percent=20, seed=3).shares
        assert (ada.answered, ada.old_enough, ada.open, ada.n) == (20, 0, 20, 0)

    @pytest.mark.parametrize(("minutes", "old"), [(29, 0), (31, 18)])
    def test_of_answers_without_a_sitting_a_pause_ends_it(
        self, tmp_path: Path, minutes: int, old: int
    ) -> None:
        campaign = made(tmp_path)
        judge(campaign, "ada", 18, session="")
        Annotation.objects.update(created_at=timezone.now() - timedelta(minutes=minutes))
        judge(campaign, "ada", 1, session="")

        (ada, _lin) = plan_repeats(campaign, percent=20, seed=3).shares

        assert ada.old_enough == old

    def test_what_a_program_sent_before_a_pause_is_old_without_a_second_sitting(self, tmp_path: Path) -> None:
        campaign = made(tmp_path)
        judge(campaign, "ada", 18, session="")
        Annotation.objects.update(created_at=timezone.now() - timedelta(hours=1))

        (ada, _lin) = plan_repeats(campaign, percent=20, seed=3).shares

        assert (ada.old_enough, ada.lacks) == (18, "")

    def test_two_experts_share_no_sitting(self, tmp_path: Path) -> None:
        """Lin's answers stand between Ada's in time."""
        campaign = made(tmp_path)
        judge(campaign, "ada", 3, session="")
        judge(campaign, "lin", 3, session="")
        judge(campaign, "ada", 1, session="")

        assert [share.old_enough for share in plan_repeats(campaign, percent=20, seed=3).shares] == [0, 0]

    def test_it_says_what_is_lacking_expert_by_expert(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        campaign = made(tmp_path)
        judge(campaign, "ada", 20, session="monday")

        (ada, lin) = plan_repeats(campaign, percent=20, seed=3).shares
        assert (ada.lacks, lin.lacks) == ("old", "judged")
        with pytest.raises(Refused, match="A1 judged 20, of these old enough 0, open 20; A2 judged 0"):
            draw_repeats(campaign, percent=20, seed=3, by=None)
        judge(campaign, "ada", 1, session="tuesday")
        monkeypatch.setattr(repeats, "AHEAD", 50)
        assert plan_repeats(campaign, percent=20, seed=3).shares[0].lacks == "open"
        monkeypatch.setattr(repeats, "AHEAD", 4)
        monkeypatch.setattr(repeats, "DISTANCE", 500)
        assert plan_repeats(campaign, percent=20, seed=3).shares[0].lacks == "distance"

    def test_it_gives_a_unit_again_once_only(self, campaign: Campaign) -> None:
        first = drawn(campaign, percent=50)
        second = drawn(campaign, percent=50)

        assert len(first) == 10
        assert len(second) == 8  # all that were left of eighteen
        assert not first & second
        assert [draw.round.number for draw in draws_of(campaign)] == [3, 2]
        assert verify(campaign) == []

    def test_it_keeps_each_slot_and_goes_by_the_main_rounds_guidelines(self, campaign: Campaign) -> None:
        round_ = draw_repeats(campaign, percent=20, seed=3, by=None)

        main = main_round(campaign)
        slots = dict(main.assignments.filter(expert=expert("ada")).values_list("item", "slot"))
        assert {row.item_id: row.slot for row in round_.assignments.all()}.items() <= slots.items()
        assert (round_.number, round_.k, round_.guideline_id) == (2, main.k, main.guideline_id)
        assert verify(campaign) == []

    def test_it_is_written_down_without_the_units(self, campaign: Campaign) -> None:
        draw_repeats(campaign, percent=20, seed=3, by=None)

        entry = AuditEntry.objects.filter(campaign=campaign, action="round opened").get()

        assert entry.detail == {
            "round": "repeat", "number": 2, "percent": 20, "seed": 3, "distance": 8, "drawn": {"A1": 4, "A2": 0},
        }  # fmt: skip

    def test_the_second_of_two_who_confirm_the_same_is_refused(self, campaign: Campaign) -> None:
        shown = plan_repeats(campaign, percent=20, seed=3)
        draw_repeats(campaign, percent=20, seed=3, by=None, after=shown.after)

        with pytest.raises(Refused, match="drawn since this was shown"):
            draw_repeats(campaign, percent=20, seed=3, by=None, after=shown.after)

        assert len(draws_of(campaign)) == 1

    @pytest.mark.parametrize("percent", [0, -1, 101, float("nan")])
    def test_it_refuses_a_share_that_is_none(self, campaign: Campaign, percent: float) -> None:
        with pytest.raises(Refused, match="between 0 and 100"):
            draw_repeats(campaign, percent=percent, seed=3, by=None)

    def test_a_draw_that_breaks_off_leaves_nothing(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = [(one["id"], one["position"], one["queue"]) for one in upcoming(campaign)]

        def fail(*_args: object, **_more: object) -> None:
            raise RuntimeError("power cut")

        monkeypatch.setattr(repeats, "store_in_chunks", fail)
        with pytest.raises(RuntimeError):
            draw_repeats(campaign, percent=20, seed=3, by=None)

        assert [(one["id"], one["position"], one["queue"]) for one in upcoming(campaign)] == before
        assert draws_of(campaign) == []

    def test_the_number_of_queries_does_not_depend_on_the_campaign(
        self, campaign: Campaign, tmp_path: Path
    ) -> None:
        with CaptureQueriesContext(
            connection,
        ) as small:
            plan_repeats(campaign, percent=20, seed=3)
        load_rows(campaign, triples(80), tmp_path)
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
        judge(campaign, "ada", 10, session="wednesday")
        with CaptureQueriesContext(connection) as large:
            plan_repeats(campaign, percent=20, seed=3)

        assert len(large) == len(small) <= 8

    def test_compounds_come_again_as_wholes(self, tmp_path: Path) -> None:
        campaign = made(tmp_path, protocol="compound")
        name = "ada"
        judge(campaign, name, 12, session="monday")
        judge(campaign, name, 1, session="tuesday")
        before = {text(one): {row["source"] for row in one["rows"]} for one in _all_screens(campaign, name)}

        again = drawn(campaign, percent=30)

        coming = {text(one): one for one in upcoming(campaign, name)}
        assert len(again) == 4
        for unit in again:
            assert {row["source"] for row in coming[unit]["rows"]} == before[unit]
        assert verify(campaign) == []

    def test_withdrawn_items_do_not_come_again(self, campaign: Campaign) -> None:
        mei = make_user("mei")
        old = Assignment.objects.filter(expert=expert("ada"), answered_at__isnull=False)
        for item in Item.objects.filter(pk__in=old.values("item"))[:15]:
            withdraw(campaign, item.pk, reason="broken", by=mei)

        again = drawn(campaign, percent=100)

        assert len(again) <= 5
        assert not again & set(Item.objects.filter(retired_at__isnull=False).values_list("head", flat=True))

    def test_it_refuses_where_the_main_round_is_closed(self, campaign: Campaign) -> None:
        close_round(main_round(campaign), outcome={}, by=None)

        with pytest.raises(Refused, match="main round is closed"):
            draw_repeats(campaign, percent=20, seed=3, by=None)


def _all_screens(campaign: Campaign, name: str) -> list[Screen]:
    return [*recent_screens(campaign, expert_id=expert(name).pk, count=200), *upcoming(campaign, name)]


class TestOrder:
    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.integers(9, 30), st.integers(1, 100), st.integers(0, 1000), st.lists(st.integers(0, 7), max_size=3)
    )
    def test_nothing_is_lost_and_no_repeat_comes_early(
        self, tmp_path: Path, judged: int, percent: int, seed: int, later: list[int]
    ) -> None:
        """Whatever was postponed, twice over, one screen at a time through the whole list."""
        campaign = new_campaign(slug=f"c{Campaign.objects.count()}")
        load_rows(campaign, triples(45), tmp_path)
        assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=seed)
        seen = [text(one) for one in judge(campaign, "ada", judged, session="monday")]
        seen += [text(one) for one in judge(campaign, "ada", 1, session="tuesday")]
        for index in later:
            screen = upcoming(campaign)[index]
            rows = [row.pk for row in rows_on(screen, expert("ada"))]
            postpone(campaign, expert_id=expert("ada").pk, screen_id=rows[0], assignments=rows)
        coming = [text(one) for one in upcoming(campaign)]

        again: set[str] = set()
        for turn in range(2):
            plan = plan_repeats(campaign, percent=percent, seed=seed + turn)
            if plan.n:
                again |= drawn(campaign, percent=percent, seed=seed + turn)
        # The unit may be put off, judged in between, drawn twice: each open unit comes once, in its order.
        ada = expert("ada").pk
        while screens := next_screens(campaign, expert_id=ada):
            answer(campaign, "ada", screens[0], session="wednesday")
            seen.append(text(screens[0]))

        assert [one for one in seen[judged + 1 :] if one not in again] == coming
        assert sorted(seen) == sorted(list(dict.fromkeys(seen)) + list(again))
        for unit in again:
            first, second = [place for place, one in enumerate(seen) if one == unit]
            assert second - first > 8
        places = Assignment.objects.filter(round__campaign=campaign, expert=expert("ada"))
        assert places.values("position").distinct().count() == 45 + len(again)
        assert verify(campaign) == []

    def test_a_page_that_was_open_goes_on_with_what_it_holds(self, campaign: Campaign) -> None:
        """Four screens are held; the places of the queue that the page knows still lead on."""
        held = next_screens(campaign, expert_id=expert("ada").pk, count=4)
        again = drawn(campaign, percent=50)

        rest = next_screens(campaign, expert_id=expert("ada").pk, count=200, after=held[-1]["queue"])

        assert [one["id"] for one in held] == [one["id"] for one in upcoming(campaign)[:4]]
        assert [one["position"] for one in held] == [one["position"] for one in upcoming(campaign)[:4]]
        assert len(rest) == 20 - 4 + len(again)
        assert not {one["id"] for one in held} & {one["id"] for one in rest}

    def test_an_answer_that_comes_while_repeats_are_placed_is_kept(
        self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between reading and storing, Ada saves the very unit in front of which a repeat was to stand."""
        planned = plan_repeats(campaign, percent=20, seed=3)
        spot = planned.shares[0].spots[0].before
        make_room = repeats._make_room

        def answer_first(*args: Any, **more: Any) -> None:
            found = screen_at(campaign, expert_id=expert("ada").pk, position=spot.position)
            assert found
            answer(campaign, "ada", found)
            make_room(*args, **more)

        monkeypatch.setattr(repeats, "_make_room", answer_first)
        again = drawn(campaign)

        assert len(upcoming(campaign)) == 20 - 1 + len(again)
        assert Assignment.objects.filter(pk__in=spot.assignments, label="1").count() == 1
        assert verify(campaign) == []

    def test_a_repeat_can_be_put_off_and_taken_back(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        screen = next(one for one in upcoming(campaign) if text(one) in again)
        part = [one for one in upcoming(campaign) if one["part"] == screen["part"]]
        rows = [row.pk for row in rows_on(screen, expert("ada"))]
        wanted: dict[str, Any] = {"expert_id": expert("ada").pk, "screen_id": rows[0], "assignments": rows}

        postpone(campaign, **wanted)
        put_off = [text(one) for one in upcoming(campaign) if one["part"] == screen["part"]]
        take_back(campaign, **wanted)

        assert put_off[-1] == text(screen)
        assert len(put_off) == len(part)
        assert text(upcoming(campaign)[0]) == text(screen)


class TestHiding:
    def test_the_original_is_out_of_sight_until_the_part_is_handed_in(self, campaign: Campaign) -> None:
        """Who saw both could make the one like the other."""
        ada = expert("ada").pk
        again = drawn(campaign)
        unit = next(text(one) for one in upcoming(campaign) if text(one) in again)
        original = Assignment.objects.get(round=main_round(campaign), expert=ada, item__head=unit)

        def looked_up() -> list[bool]:
            return [
                unit in [text(one) for one in recent_screens(campaign, expert_id=ada)],
                unit in [text(one) for one in find_screens(campaign, expert_id=ada, text=unit).screens],
                screen_at(campaign, expert_id=ada, position=original.position) is not None,
            ]

        hidden = looked_up()
        while text(judge(campaign, "ada", 1)[0]) != unit:
            assert looked_up() == [False, False, False]

        assert hidden == [False, False, False]
        repeat = Assignment.objects.get(round__kind="repeat", expert=ada, item__head=unit)
        assert screen_at(campaign, expert_id=ada, position=repeat.position) is not None
        assert screen_at(campaign, expert_id=ada, position=original.position) is None
        assert repeat.part is not None
        HandIn.objects.create(part=repeat.part, expert_id=ada)
        assert looked_up() == [True, True, True]

    def test_a_remark_on_a_hidden_original_is_not_shown_before_handing_in(self, campaign: Campaign) -> None:
        ada = expert("ada").pk
        again = drawn(campaign, percent=100)
        rows = Assignment.objects.filter(round=main_round(campaign), expert=ada, item__head__in=again)
        Annotation.objects.filter(assignment__in=rows).update(unsure=True)

        reviews = [review_part(campaign, expert_id=ada, index=index) for index in (0, 1)]

        assert [len(review.unsure) for review in reviews] == [0, 0]

    def test_others_are_not_touched(self, campaign: Campaign) -> None:
        before = _all_screens(campaign, "lin")
        drawn(campaign)

        assert _all_screens(campaign, "lin") == before

    def test_a_part_is_handed_in_with_its_repeats(self, campaign: Campaign) -> None:
        ada = expert("ada").pk
        again = drawn(campaign, percent=50)
        with pytest.raises(Refused, match="units without an answer"):
            hand_in(campaign, expert_id=ada, index=1)
        judge(campaign, "ada", 20 + len(again))

        for index in (0, 1):
            hand_in(campaign, expert_id=ada, index=index)

        assert upcoming(campaign) == []
        assert all(part["handed_in"] for part in progress(campaign, expert_id=ada)["parts"])
        repeat = Assignment.objects.filter(round__kind=Round.Kind.REPEAT, expert=ada)[0]
        found = screen_at(campaign, expert_id=ada, position=repeat.position)
        assert found
        with pytest.raises(Refused, match="handed in"):
            answer(campaign, "ada", found)

    def test_each_answer_counts_one_whichever_it_is(self, campaign: Campaign) -> None:
        ada = expert("ada").pk
        before = progress(campaign, expert_id=ada)
        again = drawn(campaign)
        counts = [progress(campaign, expert_id=ada)]
        for _number in range(20 + len(again)):
            judge(campaign, "ada", 1)
            counts.append(progress(campaign, expert_id=ada))

        assert counts[0]["done"] == before["done"]
        assert [one["done"] for one in counts] == list(range(20, 41 + len(again)))
        assert {one["total"] for one in counts} == {40 + len(again)}
        assert [part["index"] for part in counts[0]["parts"]] == [part["index"] for part in before["parts"]]

    def test_no_response_says_which_unit_it_is(self, campaign: Campaign) -> None:
        """Every body that the seat gets on its way through the list, page and data, is the same for both kinds."""
        again = drawn(campaign, percent=50)
        client = signed_in(expert("ada"))
        shapes: dict[bool, set[str]] = {True: set(), False: set()}
        parts = set()
        for _number in range(20 + len(again)):
            page = client.get(reverse("judge", args=["main"])).content.decode()
            found = client.get(reverse("api_next", args=["main"]), {"count": 1}).json()
            (screen,) = found["units"]
            page_again = client.get(reverse("judge", args=["main"]), {"position": screen["position"]})
            body = {
                "client_key": str(uuid4()),
                "count": 5,
                "answers": [
                    {"assignment": row["assignment"], "revision": row["revision"], "label": "1"}
                    for row in screen["rows"]
                ],
            }
            saved = client.post(
                reverse("api_answers", args=["main", screen["id"]]), body, content_type="application/json"
            )
            bodies = [page, json.dumps(found), page_again.content.decode(), saved.content.decode()]
            assert saved.status_code == 200, saved.content
            assert not [
                one for one in bodies if re.search(r"repeat|gold|spot|again\b.*judg", one, re.IGNORECASE)
            ]
            parts |= {
                screen["part"],
                found["progress"]["part"],
                *(one["part"] for one in saved.json()["next"]["units"]),
            }
            shapes[text(screen) in again].add(shape(screen))
        looks = [client.get(reverse(name, args=["main"])).content.decode() for name in ("work", "history")]
        looks.append(client.get(reverse("api_recent", args=["main"])).content.decode())
        looks.append(client.get(reverse("hand_in", args=["main", 0])).content.decode())

        assert shapes[True] == shapes[False]
        assert len(shapes[True]) == 1
        assert parts == {1}  # the one that Ada is in, as before
        assert not [one for one in looks if re.search(r"repeat|gold", one, re.IGNORECASE)]

    def test_places_and_numbers_run_on_without_a_gap(self, campaign: Campaign) -> None:
        drawn(campaign, percent=50)

        coming = upcoming(campaign)

        positions = [one["position"] for one in coming]
        assert positions == list(range(positions[0], positions[0] + len(coming)))
        of_part = {part: [one["queue"] for one in coming if one["part"] == part] for part in (0, 1)}
        for queue in of_part.values():
            assert queue == list(range(queue[0], queue[0] + len(queue))) if queue else True


def shape(value: Any) -> str:
    """What kinds of values stand where."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shape(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(sorted({shape(one) for one in value})) + "]"
    return type(value).__name__


class TestEnding:
    def test_what_is_not_judged_yet_can_be_taken_out(self, campaign: Campaign) -> None:
        ada = expert("ada").pk
        again = drawn(campaign, percent=50)
        while text(judge(campaign, "ada", 1)[0]) not in again:
            pass

        taken = take_out(campaign, 2, by=None)
        (draw,) = draws_of(campaign)

        assert taken == len(again) - 1
        assert (draw.given, draw.answered) == (1, 1)
        assert not {text(one) for one in upcoming(campaign)} & again
        assert (
            len(recent_screens(campaign, expert_id=ada, count=200))
            == progress(campaign, expert_id=ada)["done"] - 1
        )  # the original of the one that was judged, until the part is handed in
        assert take_out(campaign, 2, by=None) == 0
        assert AuditEntry.objects.filter(action="repeats taken out").count() == 1

    def test_there_is_no_such_draw(self, campaign: Campaign) -> None:
        with pytest.raises(NotYours):
            take_out(campaign, 1, by=None)

    def test_the_main_round_takes_its_repeats_along(self, campaign: Campaign) -> None:
        ada = expert("ada").pk
        drawn(campaign)
        main = main_round(campaign)

        close_round(main, outcome={}, by=None)
        closed = (upcoming(campaign), progress(campaign, expert_id=ada)["parts"])
        reopen_round(main, by=None)

        assert closed[0] == []
        assert all(part["closed"] for part in closed[1])
        assert len(upcoming(campaign)) == 24
        assert not any(part["closed"] for part in progress(campaign, expert_id=ada)["parts"])

    def test_somebody_who_joins_later_gets_none(self, campaign: Campaign) -> None:
        add_member(campaign, make_user("mia"), "expert")

        assert [share.n for share in plan_repeats(campaign, percent=20, seed=3).shares] == [4, 0, 0]


def test_two_draws_at_once_give_nothing_twice(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second begins before the first has stored anything; it waits, looks again, and is refused."""
    shown = plan_repeats(campaign, percent=20, seed=3)
    plan = repeats.plan_repeats
    turns: list[Round] = []

    def other_first(*args: Any, **more: Any) -> Any:
        if not turns:
            monkeypatch.setattr(repeats, "plan_repeats", plan)
            turns.append(draw_repeats(campaign, percent=20, seed=3, by=None, after=shown.after))
        return plan(*args, **more)

    monkeypatch.setattr(repeats, "plan_repeats", other_first)
    with pytest.raises(Refused, match="drawn since"):
        draw_repeats(campaign, percent=20, seed=3, by=None, after=shown.after)


def test_a_corrected_text_is_asked_for_once_and_is_no_repeat(campaign: Campaign, tmp_path: Path) -> None:
    """The unit whose text is put right was to come again: the repeat is taken away, the new text asked for."""
    again = drawn(campaign)
    unit = sorted(again)[0]
    key = Item.objects.get(head=unit).key
    rows = [row if row["triple_id"] != key else {**row, "tail": "PersonX posts it"} for row in triples(40)]

    load_rows(campaign, rows, tmp_path, on_conflict="replace")

    coming = [text(one) for one in upcoming(campaign)]
    assert coming.count(unit) == 1
    assert len(coming) == 20 + 3 + 1
    assert len({one["position"] for one in upcoming(campaign)}) == len(coming)
    assert verify(campaign) == []


class TestLeaving:
    """A repeat is the same expert's or nothing: with its expert it goes."""

    def give_away(self, campaign: Campaign) -> Moves:
        add_member(campaign, make_user("bo"), "expert")
        asked: dict[str, Any] = {
            "giver": campaign.memberships.get(user__username="ada").pk,
            "takers": [campaign.memberships.get(user__username="bo").pk],
        }
        shown = planned_moves(campaign, **asked)
        assert move_units(campaign, **asked, confirmed_hash=shown.hash, by=None) == shown
        return shown

    def still_open(self, campaign: Campaign) -> int:
        again = Assignment.objects.filter(round__kind=Round.Kind.REPEAT, withdrawn_at__isnull=True)
        return again.filter(round__campaign=campaign, answered_at__isnull=True).count()

    def test_moving_everything_withdraws_the_repeats_and_says_so(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        assert again
        shown = self.give_away(campaign)
        assert (shown.repeats, self.still_open(campaign)) == (len(again), 0)
        assert upcoming(campaign) == []
        entry = AuditEntry.objects.get(action="units moved")
        assert entry.detail["repeats_withdrawn"] == len(again)
        assert verify(campaign) == []

    def test_one_that_was_judged_stays(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        row = Assignment.objects.filter(round__kind=Round.Kind.REPEAT).order_by("queue").first()
        assert row is not None
        row.label, row.revision, row.answered_at = "1", 1, timezone.now()
        row.save()
        assert self.give_away(campaign).repeats == len(again) - 1
        row.refresh_from_db()
        assert row.withdrawn_at is None

    def test_of_a_slow_expert_they_stay(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        add_member(campaign, make_user("bo"), "expert")
        asked: dict[str, Any] = {
            "giver": campaign.memberships.get(user__username="ada").pk,
            "takers": [campaign.memberships.get(user__username="bo").pk],
            "n": 2,
        }
        shown = planned_moves(campaign, **asked)
        move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)
        assert (shown.repeats, self.still_open(campaign)) == (0, len(again))

    def test_one_that_is_judged_after_the_preview_makes_it_out_of_date(self, campaign: Campaign) -> None:
        drawn(campaign)
        add_member(campaign, make_user("bo"), "expert")
        asked: dict[str, Any] = {
            "giver": campaign.memberships.get(user__username="ada").pk,
            "takers": [campaign.memberships.get(user__username="bo").pk],
        }
        shown = planned_moves(campaign, **asked)
        row = Assignment.objects.filter(round__kind=Round.Kind.REPEAT).order_by("queue").first()
        assert row is not None
        row.label, row.revision, row.answered_at = "1", 1, timezone.now()
        row.save()
        with pytest.raises(Refused, match="since this was shown"):
            move_units(campaign, **asked, confirmed_hash=shown.hash, by=None)

    def test_repeats_alone_need_nobody_who_takes_them(self, campaign: Campaign) -> None:
        drawn(campaign)
        Assignment.objects.filter(
            expert=expert("ada"), round__kind=Round.Kind.MAIN, answered_at__isnull=True
        ).update(withdrawn_at=timezone.now())
        ada = campaign.memberships.get(user__username="ada").pk
        shown = planned_moves(campaign, giver=ada, takers=[])
        assert (shown.moves, shown.repeats > 0) == ((), True)
        move_units(campaign, giver=ada, takers=[], confirmed_hash=shown.hash, by=None)
        assert self.still_open(campaign) == 0
        with pytest.raises(Refused, match="nothing to move"):
            planned_moves(campaign, giver=ada, takers=[])

    def test_a_closed_account_ends_them_too(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        deactivate(expert("ada"), by=None)
        assert self.still_open(campaign) == 0
        entry = AuditEntry.objects.filter(action="repeats taken out").get()
        assert entry.detail == {"pseudonym": "A1", "units": len(again)}

    def test_verify_finds_those_of_who_left(self, campaign: Campaign) -> None:
        again = drawn(campaign)
        User.objects.filter(username="ada").update(is_active=False)
        found = verify(campaign)
        assert {one.rule for one in found} == {"repeats wait for somebody"}
        assert len(found) == len(again)
        assert "judged again by A1, who has left" in found[0].where


def test_it_refuses_in_a_closed_campaign_in_its_own_words(campaign: Campaign) -> None:
    close_campaign(campaign, reason="done", by=None)
    with pytest.raises(Refused, match="This campaign is closed; open it again first"):
        draw_repeats(campaign, percent=20, seed=3, by=None)
