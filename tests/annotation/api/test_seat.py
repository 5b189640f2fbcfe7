"""An expert's own work for programs: what comes next, saving it, and every way in which saving can end."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign, Round, User
from annotation.services.access import create_token, revoke_token
from annotation.services.parts import assign_parts
from annotation.services.people import deactivate
from annotation.services.seat import hand_in
from annotation.services.verify import verify
from tests.factories import make_side_by_side, make_user
from tests.material import compounds, load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db

HERE = "/api/v1/campaigns/main"


class Program:
    """Somebody's program, with their token."""

    def __init__(self, user: User | None, *, scheme: str = "Bearer") -> None:
        self.headers = {"Authorization": f"{scheme} {create_token(user, 'program')[1]}"} if user else {}
        self.client = Client(raise_request_exception=False)

    def get(self, path: str) -> Any:
        return self.client.get(path, headers=self.headers)

    def post(self, path: str, body: Any) -> Any:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(path, data, content_type="application/json", headers=self.headers)


def informed(name: str) -> User:
    """This expert, who has read what is recorded."""
    User.objects.filter(username=name).update(notice_read_at=timezone.now())
    return User.objects.get(username=name)


@pytest.fixture
def ada(tmp_path: Path) -> Program:
    """The program of ada, who has six triples to judge, as has bo."""
    campaign = new_campaign()
    load_rows(campaign, triples(6), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    return Program(informed("ada"))


@pytest.fixture
def compound(tmp_path: Path) -> Program:
    """The program of ada, who has two compounds to judge."""
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    return Program(informed("ada"))


def answers(screen: dict[str, Any], label: object = "1", **more: Any) -> dict[str, Any]:
    """The body that answers every row of a screen."""
    rows = [
        {"assignment": row["assignment"], "revision": row["revision"], "label": label}
        for row in screen["rows"]
    ]
    return {"client_key": str(uuid.uuid4()), "answers": rows, "seconds": 2.5, **more}


def place(screen: dict[str, Any]) -> str:
    return f"{HERE}/units/{screen['id']}/answers/"


def first(program: Program) -> dict[str, Any]:
    screen: dict[str, Any] = program.get(f"{HERE}/next/").json()["units"][0]
    return screen


# What comes next


def test_it_gives_the_next_screens_and_how_far_one_is(ada: Program) -> None:
    answer = ada.get(f"{HERE}/next/?count=5")
    assert answer.status_code == 200
    document = answer.json()
    assert [screen["position"] for screen in document["units"]] == [1, 2, 3, 4, 5]
    assert set(document["units"][0]["rows"][0]) == {
        "assignment",
        "revision",
        "answer",
        "head",
        "relation",
        "tail",
    }
    assert (document["progress"]["total"], document["progress"]["done"]) == (6, 0)
    # By ids that follow the file, an expert could tell its classes apart: they stand in blocks there.
    for screen in document["units"]:
        assert screen["id"] == screen["rows"][0]["assignment"]
    rest = ada.get(f"{HERE}/next/?count=5&after={document['units'][-1]['queue']}").json()["units"]
    assert [screen["position"] for screen in rest] == [6]
    assert len(ada.get(f"{HERE}/next/").json()["units"]) == 1
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "query", ["count=x", "count=-1", "after=1.5", "count=%00", f"count={10**20}", "after=٣"]
)
def test_it_says_what_is_wrong_with_a_number_in_the_address(ada: Program, query: str) -> None:
    answer = ada.get(f"{HERE}/next/?{query}")
    assert answer.status_code == 400
    name = query.split("=")[0]
    assert answer.json() == {
        "detail": f"{name}: This is a whole number from 0 to 999999999999999.",
        "code": "invalid",
    }


def test_it_gives_one_screen_and_the_last_ones(ada: Program) -> None:
    screen = first(ada)
    ada.post(place(screen), answers(screen, "sometimes"))
    again = ada.get(f"{HERE}/screens/{screen['position']}/").json()
    assert again["rows"][0]["answer"]["label"] == "sometimes"
    assert ada.get(f"{HERE}/recent/").json()["units"] == [again]
    for position in (99, 2**40, 2**70):
        assert ada.get(f"{HERE}/screens/{position}/").status_code == 404


# Saving


def test_it_saves_and_gives_what_comes_next_in_one_request(ada: Program) -> None:
    screen = first(ada)
    answer = ada.post(place(screen), answers(screen, "1", count=2, after=screen["queue"]))
    assert answer.status_code == 200
    document = answer.json()
    assert document["saved"] == [{"assignment": screen["rows"][0]["assignment"], "revision": 1}]
    assert [one["position"] for one in document["next"]["units"]] == [2, 3]
    stored = Annotation.objects.get()
    assert (stored.label, stored.seconds, stored.source) == ("1", 2.5, "api")


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (1, "1"), (0, "0"), (0.5, "0.5"), ("0.5", "0.5"), ("Sometimes", "0.5"), ("always/often", "1"), ("从不", "0"),
        (1.0, "1"), ("１", "1"),
    ],
)  # fmt: skip
def test_it_reads_labels_in_every_spelling(ada: Program, given: object, label: str) -> None:
    screen = first(ada)
    assert ada.post(place(screen), answers(screen, given)).status_code == 200
    assert Annotation.objects.get().label == label


@pytest.mark.parametrize(
    ("given", "label"), [(True, "1"), (False, "0"), (0, "0"), ("incorrect", "0"), ("正确", "1")]
)
def test_it_reads_verdicts_in_every_spelling(compound: Program, given: object, label: str) -> None:
    screen = first(compound)
    answer = compound.post(place(screen), answers(screen, given))
    assert answer.status_code == 200
    assert [row["revision"] for row in answer.json()["saved"]] == [1] * 5
    assert set(Annotation.objects.values_list("label", flat=True)) == {label}


def test_it_saves_a_cause_a_note_and_a_mark(ada: Program) -> None:
    from annotation.protocol.triple import TRIPLE, ZERO_DETAILS

    screen = first(ada)
    cause = TRIPLE.cannot_judge_causes[0].code
    body = answers(screen)
    body["answers"][0] |= {"label": None, "cannot_judge": cause, "note": " 两个词 \n", "flag": True}
    assert ada.post(place(screen), body).status_code == 200
    stored = Annotation.objects.get()
    assert (stored.label, stored.cannot_judge, stored.note, stored.unsure) == ("", cause, "两个词", True)
    screen = first(ada)
    body = answers(screen, 0)
    body["answers"][0]["detail"] = ZERO_DETAILS[1].code
    assert ada.post(place(screen), body).status_code == 200
    assert Annotation.objects.order_by("pk").last().detail == "never"  # type: ignore[union-attr]


def test_it_saves_several_screens_in_the_order_given(ada: Program) -> None:
    """One that is refused stops no other, but what follows it on its own screen."""
    screens = ada.get(f"{HERE}/next/?count=4").json()["units"]
    sheets = [{"unit": screen["id"], **answers(screen)} for screen in reversed(screens)]
    stale = {"unit": screens[1]["id"], **answers(screens[1], "0")}
    sheets = [
        *sheets[:2],
        {**stale, "client_key": str(uuid.uuid4()), "answers": [{**stale["answers"][0], "revision": 5}]},
    ]
    sheets += [
        {"unit": screens[1]["id"], **answers(screens[1])},
        {"unit": screens[0]["id"], **answers(screens[0])},
    ]

    reply = ada.post(f"{HERE}/answers/", {"sheets": sheets})
    assert reply.status_code == 200
    assert reply.json() == {"saved": [True, True, False, False, True]}
    arrived = Annotation.objects.order_by("created_at", "id")
    assert [row.assignment.position for row in arrived] == [4, 3, 1]
    assert {row.source for row in arrived} == {"api"}

    again = ada.post(f"{HERE}/answers/", {"sheets": sheets})
    assert again.json() == reply.json()
    assert Annotation.objects.count() == 3


@pytest.mark.parametrize("given", ["hello\n", "\n\thello ", "\u3000hello\u3000"])
def test_it_stores_a_note_without_the_blanks_around_it(ada: Program, given: str) -> None:
    screen = first(ada)
    body = answers(screen)
    body["answers"][0]["note"] = given
    assert ada.post(place(screen), body).status_code == 200
    assert ada.post(place(screen), body).status_code == 200  # sent again
    assert Annotation.objects.get().note == "hello"


def test_it_answers_a_repeated_request_alike(ada: Program) -> None:
    screen = first(ada)
    body = answers(screen, "1", count=1, after=screen["queue"])
    replies = [ada.post(place(screen), body) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert len({reply.content for reply in replies}) == 1
    assert Annotation.objects.count() == 1
    # Only the answers make a request another one, not the time it took.
    assert ada.post(place(screen), {**body, "seconds": 9.0}).status_code == 200
    assert Annotation.objects.count() == 1


def test_it_refuses_other_answers_under_the_same_key(ada: Program) -> None:
    screen = first(ada)
    body = answers(screen, "1")
    ada.post(place(screen), body)
    body["answers"][0]["label"] = "0"
    answer = ada.post(place(screen), body)
    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")
    body["answers"][0]["revision"] = 1
    answer = ada.post(place(screen), body)
    assert answer.status_code == 422
    assert Annotation.objects.get().label == "1"


def test_it_shows_who_is_late_what_is_stored(ada: Program) -> None:
    screen = first(ada)
    ada.post(place(screen), answers(screen, "0.5"))
    answer = ada.post(place(screen), answers(screen, "1"))
    assert (answer.status_code, answer.json()["code"]) == (409, "stale")
    assert answer.json()["current"] == [
        {
            "assignment": screen["rows"][0]["assignment"],
            "revision": 1,
            "label": "sometimes",
            "cannot_judge": None,
        }
    ]
    assert Annotation.objects.get().label == "0.5"


def test_it_saves_all_rows_of_a_screen_or_none(compound: Program) -> None:
    screen = first(compound)
    single = {**answers(screen), "answers": [answers(screen)["answers"][3]]}
    assert compound.post(place(screen), single).status_code == 200
    answer = compound.post(place(screen), answers(screen, 0))
    assert answer.status_code == 409
    assert [row["revision"] for row in answer.json()["current"]].count(1) == 1
    body = answers(screen, 1)
    body["answers"] = [row for n, row in enumerate(body["answers"]) if n != 3]
    body["answers"][2]["label"] = "perhaps"
    assert compound.post(place(screen), body).status_code == 400
    assert Annotation.objects.count() == 1
    assert verify(Campaign.objects.get()) == []


def test_it_says_that_a_part_is_handed_in_or_a_round_closed(ada: Program) -> None:
    screens = ada.get(f"{HERE}/next/?count=9").json()["units"]
    for screen in screens:
        ada.post(place(screen), answers(screen))
    again = ada.get(f"{HERE}/screens/1/").json()
    user = User.objects.get(username="ada")
    for index in (0, 1):
        hand_in(Campaign.objects.get(), expert_id=user.pk, index=index)
    answer = ada.post(place(again), answers(again, 0))
    assert (answer.status_code, answer.json()["code"]) == (409, "closed")
    assert "handed in" in answer.json()["detail"]
    Round.objects.update(state=Round.State.CLOSED)
    assert "round is closed" in ada.post(place(again), answers(again, 0)).json()["detail"]


def test_it_keeps_an_answer_aside_whose_item_was_withdrawn(ada: Program) -> None:
    screen = first(ada)
    Assignment.objects.filter(expert__username="ada", position=screen["position"]).update(
        withdrawn_at=timezone.now()
    )
    answer = ada.post(place(screen), answers(screen))
    assert (answer.status_code, answer.json()["code"]) == (409, "kept_aside")
    assert not Annotation.objects.exists()


def test_it_stores_the_circumstances_an_answer_was_given_under(ada: Program) -> None:
    """Not those in which it arrived: it may have waited in the browser."""
    campaign = Campaign.objects.get()
    before = campaign.guidelines.get()
    campaign.rounds.update(guideline=campaign.guidelines.create(version=2))
    Campaign.objects.update(reference="hidden")
    document = ada.get(f"{HERE}/next/?count=2").json()
    assert document["guideline"] == before.pk  # the one she knows
    assert document["read_first"] == [f"{settings.ASSAY_URL}/campaigns/{campaign.slug}/guidelines/change/"]
    campaign.guidelines.get(version=2).acknowledgements.create(user=User.objects.get(username="ada"))
    document = ada.get(f"{HERE}/next/?count=2").json()
    assert document["guideline"] == campaign.guidelines.get(version=2).pk
    assert document["read_first"] == []
    given = {"language": "zh-hans", "reference": "shown"}

    first_answer = answers(document["units"][0], guideline=before.pk, conditions=given)
    second_answer = answers(document["units"][1])
    for screen, body in zip(document["units"], (first_answer, second_answer), strict=True):
        assert ada.post(place(screen), body).status_code == 200

    told, untold = Annotation.objects.order_by("pk")
    assert (told.guideline, told.conditions["language"], told.conditions["reference"]) == (
        before,
        "zh-hans",
        "shown",
    )
    assert (untold.guideline.version, untold.conditions["language"], untold.conditions["reference"]) == (
        2,
        "en",
        "hidden",
    )


def test_a_screen_side_by_side_names_the_context_of_each_row_and_its_answers_say_so(
    compound: Program, tmp_path: Path
) -> None:
    """What a program does not say about the display is the campaign's."""
    load_rows(Campaign.objects.get(), compounds(2, system="large", translation="别的译文。"), tmp_path)
    make_side_by_side(Campaign.objects.get())
    assign_parts(Campaign.objects.get(), experts=["ada"], design="single", seed=1)
    document = compound.get(f"{HERE}/next/?count=9").json()
    for screen in document["units"]:
        contexts = [row["context"] for row in screen["rows"]]
        assert contexts == sorted(contexts)
    untold, told = document["units"][:2]
    assert compound.post(place(untold), answers(untold)).status_code == 200
    body = answers(told, conditions={"display": "alone"})
    assert compound.post(place(told), body).status_code == 200
    odd = answers(told, conditions={"display": "both"})
    assert compound.post(place(told), odd).status_code == 400

    shown = [one.conditions["display"] for one in Annotation.objects.order_by("pk")]
    n = len(untold["rows"])
    assert (set(shown[:n]), set(shown[n:])) == ({"side_by_side"}, {"alone"})


def test_a_program_waits_until_its_person_knows_what_is_recorded(ada: Program) -> None:
    """The token may be older than their part in the campaign."""
    screen = first(ada)
    User.objects.update(notice_read_at=None)
    stranger = Program(make_user("otto", notice_read_at=None))

    asked = [
        ada.get(f"{HERE}/{path}")
        for path in (
            "next/",
            "recent/",
            f"screens/{screen['position']}/",
            f"screens/{screen['position']}/words/",
        )
    ]
    sent = ada.post(place(screen), answers(screen))

    for reply in (*asked, sent):
        assert (reply.status_code, reply.json()["code"]) == (409, "notice_unread")
        assert f"{settings.ASSAY_URL}/recorded/" in reply.json()["detail"]
    assert not Annotation.objects.exists()
    assert (
        stranger.get(f"{HERE}/next/").status_code
        == stranger.post(place(screen), answers(screen)).status_code
        == 404
    )
    informed("ada")
    assert ada.post(place(screen), answers(screen)).status_code == 200


# What is no answer


def wrong_bodies(screen: dict[str, Any]) -> list[Any]:
    whole = answers(screen)
    row = whole["answers"][0]

    def with_row(**change: Any) -> dict[str, Any]:
        return {**whole, "answers": [{**row, **change}]}

    without_key = {name: value for name, value in whole.items() if name != "client_key"}
    return [
        b"[" * 200_000, b'{"answers":' * 200_000,
        "", "null", "[]", "{", b"\xff\xfe", "NaN", json.dumps(whole) + "x", without_key,
        json.dumps(whole).replace("2.5", "1e999"), json.dumps(whole).replace("2.5", "NaN"),
        {**whole, "client_key": "17"}, {**whole, "answers": []}, {**whole, "answers": [row, row]},
        {**whole, "answers": [row] * 101}, {**whole, "answers": "all"}, {**whole, "seconds": -1},
        {**whole, "seconds": "soon"}, {**whole, "session": "\0"}, {**whole, "session": "s" * 37},
        {**whole, "count": 10**30}, {**whole, "after": 2**64}, {**whole, "session_position": 2**64},
        with_row(assignment=0), with_row(assignment="x"), with_row(assignment=None), with_row(revision=-1),
        with_row(revision=2**64), with_row(label="2"), with_row(label=[]), with_row(label=None), with_row(label=""),
        with_row(label=True), with_row(label="1\0"), with_row(label="x" * 100_000), with_row(cannot_judge="bored"),
        with_row(label=None, cannot_judge="bored"), with_row(note="长" * 501), with_row(note="\0"),
        with_row(detail="\0"), with_row(detail="d" * 35), with_row(reasons=["\0"]), with_row(reasons=["lazy"]),
        with_row(atoms=[-1]), with_row(atoms=[2**70]), with_row(problem="\0"), with_row(flag="perhaps"),
        with_row(atoms=[0]), with_row(reasons=["missing"]), {**whole, "guideline": 0}, {**whole, "guideline": 2**64},
        {**whole, "foo": 1}, {**whole, "x" * 10_000: 1}, {**whole, "\u0001": 1}, with_row(notes="a"),
        {**whole, "conditions": {"dispaly": "alone"}},
        {**whole, "conditions": {"language": "fr"}}, {**whole, "conditions": {"reference": 1}},
    ]  # fmt: skip


def test_it_names_a_member_that_there_is_not(ada: Program) -> None:
    screen = first(ada)
    body = answers(screen)
    body["answers"][0]["notes"] = "a slip"
    answer = ada.post(place(screen), body)
    assert (answer.status_code, answer.json()["detail"]) == (
        400,
        "The body is not as it should be: Object contains unknown field `notes` - at `$.answers[0]`.",
    )


def test_it_answers_every_wrong_body_with_a_sentence(ada: Program) -> None:
    screen = first(ada)
    for body in wrong_bodies(screen):
        answer = ada.post(place(screen), body)
        assert 400 <= answer.status_code < 500, (body, answer.content)
        assert answer.headers["Content-Type"] == "application/json"
        assert len(answer.content) < 2000
    assert not Annotation.objects.exists()
    assert ada.post(place(screen), answers(screen)).status_code == 200


def test_no_body_is_nested_so_deeply_that_an_address_breaks(ada: Program) -> None:
    unit = first(ada)["id"]
    own = ("answers/", "later/", "later/back/", "questions/")
    for address in (*(f"{HERE}/units/{unit}/{name}" for name in own), f"{HERE}/time/"):
        answer = ada.post(address, b'{"x":' * 200_000)
        assert (answer.status_code, answer.json()) == (
            400,
            {
                "detail": "The body is not as it should be: Object contains unknown field `x`.",
                "code": "invalid",
            },
        )


def test_it_calls_a_row_that_is_answered_twice_invalid(ada: Program) -> None:
    screen = first(ada)
    (row,) = answers(screen)["answers"]
    answer = ada.post(place(screen), {**answers(screen), "answers": [row, row]})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_it_gives_no_screen_where_none_is_asked_for(ada: Program) -> None:
    document = ada.get(f"{HERE}/next/?count=0").json()
    assert document["units"] == []
    assert document["progress"] == ada.get(f"{HERE}/next/").json()["progress"]
    assert ada.get(f"{HERE}/recent/?count=0").json()["units"] == []


def test_it_finds_no_rows_beyond_every_number(ada: Program) -> None:
    screen = first(ada)
    for assignment in (2**31, 2**63 - 1, 2**63, 2**64, 10**30):
        body = answers(screen)
        body["answers"][0]["assignment"] = assignment
        assert ada.post(place(screen), body).status_code in (400, 404)
        later = ada.post(f"{HERE}/units/{screen['id']}/later/", {"assignments": [assignment]})
        assert later.status_code in (400, 404)
    for unit in (2**31, 2**63, 10**30):
        assert ada.post(f"{HERE}/units/{unit}/answers/", answers(screen)).status_code == 404


def test_it_puts_a_screen_off(ada: Program) -> None:
    screen = first(ada)
    rows = [row["assignment"] for row in screen["rows"]]
    answer = ada.post(f"{HERE}/units/{screen['id']}/later/", {"assignments": rows})
    assert answer.status_code == 200
    assert answer.json()["queue"] > screen["queue"]
    assert first(ada)["id"] != screen["id"]


# Who may


def test_it_lets_nobody_touch_anothers_work(ada: Program) -> None:
    bo = Program(informed("bo"))
    screen = first(ada)
    for path, body in (
        (place(screen), answers(screen)),
        (f"{HERE}/units/{screen['id']}/later/", {"assignments": [screen["rows"][0]["assignment"]]}),
    ):
        answer = bo.post(path, body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert not Annotation.objects.exists()


@pytest.mark.parametrize("role", ["manager", "viewer", None])
def test_it_knows_experts_only(ada: Program, role: str | None) -> None:
    from annotation.models import Membership

    eve = make_user("eve")
    if role:
        Membership.objects.create(campaign=Campaign.objects.get(), user=eve, role=role, pseudonym="X1")
    program = Program(eve)
    screen = first(ada)
    for path in ("next/", "recent/", "screens/1/"):
        assert program.get(f"{HERE}/{path}").status_code == 404
    assert program.post(place(screen), answers(screen)).status_code == 404
    assert program.post(f"{HERE}/units/{screen['id']}/later/", {"assignments": [1]}).status_code == 404
    assert program.get("/api/v1/campaigns/none/next/").status_code == 404


def test_it_asks_for_a_token(ada: Program) -> None:
    screen = first(ada)
    nobody = Program(None)
    for answer in (nobody.get(f"{HERE}/next/"), nobody.post(place(screen), answers(screen))):
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_it_takes_no_token_that_has_ended(ada: Program) -> None:
    user = User.objects.get(username="ada")
    token, raw = create_token(user, "old laptop")
    program = Program(None)
    program.headers = {"Authorization": f"Token {raw}"}
    assert program.get(f"{HERE}/next/").status_code == 200
    revoke_token(user, token.pk)
    screen = first(ada)
    assert program.get(f"{HERE}/next/").status_code == 401
    assert program.post(place(screen), answers(screen)).status_code == 401
    deactivate(user, None)
    assert ada.get(f"{HERE}/next/").status_code == 401
    assert ada.post(place(screen), answers(screen)).status_code == 401
    for raw in ("", "assay_", "assay_unknown", "x" * 5000, "assay_\xff"):
        program.headers = {"Authorization": f"Bearer {raw}"}
        assert program.get(f"{HERE}/next/").status_code == 401
    assert not Annotation.objects.exists()


def test_a_session_that_has_ended_is_told_so_by_every_address(ada: Program) -> None:
    screen = first(ada)
    user = User.objects.get(username="ada")
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    deactivate(user, None)
    asked = client.get(f"{HERE}/next/")
    sent = client.post(place(screen), json.dumps(answers(screen)), content_type="application/json")
    assert (sent.status_code, sent.json()) == (asked.status_code, asked.json())
    assert sent.status_code == 401
    assert sent.headers["WWW-Authenticate"] == asked.headers["WWW-Authenticate"]
    assert not Annotation.objects.exists()


def test_a_revision_that_no_row_has_reached_is_called_so(ada: Program) -> None:
    screen = first(ada)
    body = answers(screen)
    body["answers"][0]["revision"] = 5
    answer = ada.post(place(screen), body)
    assert (answer.status_code, answer.json()["code"]) == (409, "stale")
    assert answer.json()["detail"].startswith("A row names a revision that it has not reached")
    assert [row["revision"] for row in answer.json()["current"]] == [0]


def test_it_takes_a_session_with_its_csrf_token(ada: Program) -> None:
    screen = first(ada)
    user = User.objects.get(username="ada")
    client = Client(enforce_csrf_checks=True)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    body = json.dumps(answers(screen))
    refused = client.post(place(screen), body, content_type="application/json")
    assert refused.status_code == 403
    client.cookies["csrftoken"] = "a" * 32
    answer = client.post(
        place(screen), body, content_type="application/json", headers={"X-CSRFToken": "a" * 32}
    )
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert Annotation.objects.get().source == "seat"


def test_a_session_is_answered_as_a_token_is(ada: Program) -> None:
    """The seat's calls go past Django REST framework; nobody can tell by the answers."""
    user = User.objects.get(username="ada")
    seat = Client(raise_request_exception=False)
    seat.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    screen = first(ada)
    done = answers(screen)
    stale = answers(screen, 0)
    bodies = [
        done,
        done,
        stale,
        {**done, "answers": []},
        {**answers(screen), "count": -1},
        "{",
        *wrong_bodies(screen),
    ]
    for body in bodies:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        by_session = seat.post(place(screen), data, content_type="application/json")
        by_token = ada.post(place(screen), body)
        assert (by_session.status_code, by_session.content) == (by_token.status_code, by_token.content), body
    unknown = f"{HERE}/units/0/answers/"
    assert seat.post(unknown, data, content_type="application/json").json()["code"] == "invalid"
    assert seat.get(unknown).status_code == ada.get(unknown).status_code == 405


def test_a_session_saves_for_nobody_else_and_not_after_a_new_password(ada: Program) -> None:
    user = User.objects.get(username="ada")
    seat = Client()
    seat.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    screens = ada.get(f"{HERE}/next/?count=3").json()["units"]

    def post(screen: dict[str, Any], **headers: str) -> Any:
        body = json.dumps(answers(screen))
        return seat.post(place(screen), body, content_type="application/json", headers=headers)

    assert post(screens[0], **{"X-Assay-Expert": str(user.pk)}).status_code == 200
    refused = post(screens[1], **{"X-Assay-Expert": str(user.pk + 1)})
    assert (refused.status_code, refused.json()["code"]) == (403, "other_user")
    user.set_password("another green river")
    user.save()
    assert post(screens[1]).status_code == 401
    assert Annotation.objects.count() == 1
