"""The expert's pages: whose they are, what they hold, what they cost, and that they work without a script."""

import json
import re
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import Annotation, Assignment, Campaign, Design, HandIn, Part, Round, User
from annotation.protocol.compound import COMPOUND, WRONG_REASONS
from annotation.protocol.display import HIDDEN
from annotation.services import sentences
from annotation.services.campaigns import GUIDELINES
from annotation.services.parts import assign_parts
from annotation.services.seat import postpone
from annotation.views import seat_form
from tests.annotation.services.test_later_repeats import judged, system
from tests.factories import (
    Cast,
    answer,
    make_assignment,
    make_batch,
    make_cast,
    make_compound,
    make_member,
    make_part,
    make_repeat,
    make_triple,
    make_user,
    seat_number,
)
from tests.material import answer_open, load_rows
from tests.pages import body_of, text_of

pytestmark = pytest.mark.django_db

PAGES = ("work/", "judge/", "history/", "parts/0/hand-in/", "guidelines/")


def make_work(protocol: str, *, units: int, part_index: int = 0, cast: Cast | None = None) -> Cast:
    """Ada and Lin judge all units of one part."""
    cast = cast or make_cast(protocol=protocol)
    round_ = cast.campaign.rounds.get()
    design = Design.objects.create(round=round_, name="single", seed=1, hash="0" * 64, plan={})
    part = Part.objects.create(round=round_, design=design, index=part_index)
    batch = make_batch(cast.campaign)
    first = cast.campaign.units.count() + 1
    for position in range(first, first + units):
        items = (
            [make_triple(cast.campaign, position, batch=batch)]
            if protocol == "triple"
            else make_compound(cast.campaign, position, batch=batch)
        )
        for slot, expert in enumerate((cast.ada, cast.lin), start=1):
            for item in items:
                make_assignment(item, expert, slot=slot, part=part)
    return cast


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def at(page: str, slug: str = "main") -> str:
    return f"/campaigns/{slug}/{page}"


def page_data(body: bytes) -> dict[str, Any]:
    found = re.search(rb'<script id="seat-data" type="application/json">(.*?)</script>', body, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def hidden(body: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', body)
    assert found, name
    return found.group(1)


def filled_in(client: Client, position: int, **fields: object) -> dict[str, object]:
    """The form of a screen as the browser would send it, with these fields on top (`label_17` is `label-17`)."""
    body = client.get(at("judge/"), {"position": position}).content.decode()
    form: dict[str, object] = {name: hidden(body, name) for name in ("client_key", "painted", "position")}
    form |= dict(re.findall(r'name="(revision-\d+)" value="(\d+)"', body))
    form |= {
        name.replace("_", "-", 1) if name[0] in "lrcnfp" else name: value for name, value in fields.items()
    }
    return form


def carried(response: Any) -> dict[str, str]:
    """What the form of a page that came back carries."""
    body = response.content.decode()
    return {name: hidden(body, name) for name in ("client_key", "painted")}


def set_clock(monkeypatch: pytest.MonkeyPatch, start: float, seconds: float) -> None:
    monkeypatch.setattr(seat_form, "time", SimpleNamespace(time=lambda: start + seconds))


def rows_of(user: User) -> list[Assignment]:
    return list(Assignment.objects.filter(expert=user).order_by("position", "row"))


class TestWhose:
    @pytest.mark.parametrize("page", PAGES)
    @pytest.mark.parametrize("who", ["mei", "vera", "otto"])
    def test_it_does_not_exist_for_anybody_but_an_expert(self, page: str, who: str) -> None:
        cast = make_work("triple", units=2)

        response = client_of(getattr(cast, who)).get(at(page))

        assert response.status_code == 404

    @pytest.mark.parametrize("page", PAGES)
    def test_it_asks_strangers_to_sign_in(self, page: str) -> None:
        make_work("triple", units=2)

        response = Client().get(at(page))

        assert response.status_code == 302
        assert response.headers["Location"].startswith("/sign-in/")

    @pytest.mark.parametrize("page", PAGES)
    def test_it_is_kept_by_no_browser_and_no_proxy(self, page: str) -> None:
        cast = make_work("triple", units=2)

        response = client_of(cast.ada).get(at(page))

        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "no-store"
        assert "Cookie" in response.headers["Vary"]

    def test_it_shows_no_screen_of_another_expert(self) -> None:
        cast = make_work("triple", units=1)
        make_assignment(make_triple(cast.campaign, 2), cast.lin, part=Part.objects.get())

        client = client_of(cast.ada)

        assert client.get(at("judge/"), {"position": 2}).status_code == 404
        assert client.get(at("parts/7/hand-in/")).status_code == 404
        assert client.post(at("judge/"), {"position": 2, "action": "later"}).status_code == 404

    @pytest.mark.parametrize("position", ["0x1", "-1", "9" * 12, "one"])
    def test_it_finds_nothing_at_an_odd_address(self, position: str) -> None:
        cast = make_work("triple", units=1)

        assert client_of(cast.ada).get(at("judge/"), {"position": position}).status_code == 404


class TestBlindness:
    def test_it_hands_the_script_nothing_but_the_allowed_fields(self) -> None:
        cast = make_work("triple", units=3)
        item = rows_of(cast.ada)[0].item
        item.item_class, item.split, item.imported_label = "adv-secret", "tst-secret", "1"
        item.save()
        lin = rows_of(cast.lin)[0]
        answer(lin, "0.5")

        body = client_of(cast.ada).get(at("judge/")).content
        data = page_data(body)

        assert b"secret" not in body
        allowed = {"id", "protocol", "position", "queue", "part", "postponed", "rows"}
        assert all(set(screen) == allowed for screen in data["screens"])
        fields = {"assignment", "revision", "head", "relation", "tail", "answer"}
        assert all(set(row) == fields for screen in data["screens"] for row in screen["rows"])
        assert data["screens"][0]["rows"][0]["answer"] is None

    def test_it_does_not_mention_scores_to_the_expert(self) -> None:
        cast = make_work("triple", units=1)

        data = page_data(client_of(cast.ada).get(at("judge/")).content)

        assert set(data["answers"]) == {"often", "sometimes", "rarely"}
        assert not {"0", "0.5", "1"} & set(data["answers"].values())


class TestCost:
    @pytest.mark.parametrize(
        ("page", "queries"),
        [("work/", 10), ("judge/", 10), ("history/", 7), ("parts/0/hand-in/", 12), ("guidelines/", 3)],
    )
    @pytest.mark.parametrize("units", [3, 60])
    def test_it_costs_the_same_in_a_small_and_a_large_campaign(
        self, page: str, queries: int, units: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        cast = make_work("compound", units=units)
        answer(rows_of(cast.ada)[0])
        client = client_of(cast.ada)

        with django_assert_num_queries(queries):
            assert client.get(at(page)).status_code == 200


class TestWithoutAScript:
    def test_it_saves_the_press_of_a_button_and_goes_on(self) -> None:
        cast = make_work("triple", units=2)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)

        response = client.post(
            at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "sometimes"})
        )

        assert response.headers["Location"] == "/campaigns/main/judge/?position=2"
        row.refresh_from_db()
        assert (row.label, row.revision) == ("0.5", 1)
        stored = Annotation.objects.get()
        assert stored.source == "form"
        assert stored.seconds is not None

    def test_it_stores_the_lowest_value_and_leaves_what_is_blank(self) -> None:
        """c21: zero is an answer; a row without one is not done."""
        cast = make_work("compound", units=1)
        rows = rows_of(cast.ada)
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(rows[0])}": "wrong", f"label_{seat_number(rows[1])}": "correct"}

        response = client.post(at("judge/"), filled_in(client, 1, **fields), follow=True)

        body = response.content.decode()
        assert "3 rows of this unit have no answer yet. What you answered is stored." in body
        assert [row.label for row in rows_of(cast.ada)] == ["0", "1", "", "", ""]
        assert re.search(rf'name="label-{seat_number(rows[0])}" value="wrong" checked', body)
        work = client.get(at("work/")).content.decode()
        assert "0 / 1" in work

    def test_it_shows_the_stored_answer_and_saving_it_again_changes_nothing(self) -> None:
        """c22."""
        cast = make_work("triple", units=2)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        client.post(at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "rarely"}))

        body = client.get(at("judge/"), {"position": 1}).content.decode()
        assert 'value="rarely" data-answer="rarely" aria-pressed="true"' in body
        assert hidden(body, f"revision-{seat_number(row)}") == "1"
        client.post(at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "rarely"}))

        assert Annotation.objects.count() == 1

    def test_it_stores_a_form_sent_twice_once(self) -> None:
        cast = make_work("triple", units=2)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        form = filled_in(client, 1, **{f"label_{seat_number(row)}": "often"})

        first, second = client.post(at("judge/"), form), client.post(at("judge/"), form)

        assert first.status_code == second.status_code == 302
        assert Annotation.objects.count() == 1

    def test_it_keeps_the_choice_where_another_answer_came_first(self) -> None:
        cast = make_work("triple", units=2)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        late = filled_in(
            client, 1, **{f"label_{seat_number(row)}": "often", f"note_{seat_number(row)}": "sure"}
        )
        client.post(at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "rarely"}))

        response = client.post(at("judge/"), late)

        body = response.content.decode()
        assert response.status_code == 409
        assert "answered elsewhere" in body
        assert 'value="often" data-answer="often" aria-pressed="true"' in body
        assert hidden(body, f"revision-{seat_number(row)}") == "1"
        assert [stored.label for stored in Annotation.objects.all()] == ["0"]

    def test_it_asks_for_the_cause_and_keeps_the_rest(self) -> None:
        cast = make_work("compound", units=1)
        rows = rows_of(cast.ada)
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(row)}": "correct" for row in rows} | {
            f"label_{seat_number(rows[2])}": "cannot_judge"
        }

        response = client.post(at("judge/"), filled_in(client, 1, **fields))

        assert response.status_code == 400
        assert "choose a cause" in response.content.decode()
        assert Annotation.objects.count() == 0
        assert response.content.decode().count(" checked") >= 5

    def test_the_time_before_a_refused_save_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cast = make_work("compound", units=1)
        rows = [seat_number(row) for row in rows_of(cast.ada)]
        client, now = client_of(cast.ada), time.time()
        fields = {f"label_{row}": "correct" for row in rows} | {f"label_{rows[2]}": "cannot_judge"}
        at_second = partial(set_clock, monkeypatch, now)
        at_second(0)
        form = filled_in(client, 1, **fields)

        at_second(6)
        empty = {name: value for name, value in form.items() if not name.startswith("label")}
        said = client.post(at("judge/"), empty)
        assert "5 rows of this unit have no answer yet." in text_of(said)
        assert "What you answered is stored." not in text_of(said)
        at_second(20)
        form |= carried(said)
        form |= carried(client.post(at("judge/"), form))
        at_second(30)
        client.post(at("judge/"), form | {f"cause-{rows[2]}": "source_broken"})

        seconds = Annotation.objects.values_list("seconds", flat=True)
        assert len(seconds) == 5
        assert set(seconds) == {30.0}

    def test_no_time_counts_twice_and_none_is_taken_on_trust(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cast = make_work("triple", units=1)
        number = seat_number(rows_of(cast.ada)[0])
        client, now = client_of(cast.ada), time.time()
        form = filled_in(client, 1, **{f"label_{number}": "often"})
        made = carried(
            client.post(at("judge/"), form | {"painted": "1000.000:made-up", f"label-{number}": "?"})
        )
        assert float(made["painted"].split(":")[0]) >= now - 1
        client.post(at("judge/"), form)

        set_clock(monkeypatch, now, 60)
        late = form | {f"label-{number}": "rarely"}
        for key in (form["client_key"], str(uuid4())):
            response = client.post(at("judge/"), late | {"client_key": key})
            assert response.status_code == 409
            assert float(carried(response)["painted"].split(":")[0]) >= now + 59

    def test_what_was_refused_is_no_correction_and_shows_no_reference(self) -> None:
        cast = make_work("compound", units=1)
        type(cast.campaign).objects.update(reference="on_demand")
        rows = [seat_number(row) for row in rows_of(cast.ada)]
        reference = rows_of(cast.ada)[2].item.context
        assert reference is not None
        type(reference).objects.update(reference="懒狗睡着了。")
        client = client_of(cast.ada)
        fields = {f"label_{row}": "correct" for row in rows} | {f"label_{rows[2]}": "cannot_judge"}

        body = client.post(at("judge/"), filled_in(client, 1, **fields)).content.decode()

        assert 'id="correction" hidden' in body
        opened = re.findall(r"<details[^>]* open>(.*?)</details>", body, re.DOTALL)
        assert len(opened) == 1
        assert "Why it cannot be judged" in opened[0]
        assert "懒狗" not in opened[0]
        assert body.count("懒狗") > body.count("&quot;懒狗")

    def test_it_names_the_rows_that_lack_a_cause_or_a_reason(self) -> None:
        cast = make_work("compound", units=1)
        rows = [seat_number(row) for row in rows_of(cast.ada)]
        client = client_of(cast.ada)
        type(cast.campaign).objects.update(reasons="required")

        def said(*labels: str) -> str:
            fields = {f"label_{row}": label for row, label in zip(rows, labels, strict=True)}
            return text_of(client.post(at("judge/"), filled_in(client, 1, **fields)))

        c, x, w = "correct", "cannot_judge", "wrong"
        assert "Say why row 3 cannot be judged: choose a cause beside it." in said(c, c, x, c, c)
        assert "Say why rows 3, 5 cannot be judged: choose a cause beside each." in said(c, w, x, c, x)
        assert "Say why row 2 is wrong: choose at least one reason beside it." in said(c, w, c, c, c)
        assert "Say why rows 1, 2 are wrong: choose at least one reason beside each." in said(w, w, c, c, c)

    def test_it_speaks_of_one_blank_row_as_one(self) -> None:
        cast = make_work("compound", units=1)
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(row)}": "correct" for row in rows_of(cast.ada)[:4]}

        response = client.post(at("judge/"), filled_in(client, 1, **fields), follow=True)

        assert "One row of this unit has no answer yet. What you answered is stored." in text_of(response)

    def test_it_puts_a_unit_off(self) -> None:
        cast = make_work("triple", units=2)
        client = client_of(cast.ada)

        response = client.post(at("judge/"), {"position": 1, "action": "later"})

        assert response.headers["Location"].endswith("?position=2")
        assert rows_of(cast.ada)[0].postponed_at is not None

    def test_it_takes_a_note_of_five_hundred_rare_characters_and_keeps_a_longer_one(self) -> None:
        """c52: counted in code points; what is too long comes back as it was typed."""
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        fields = {f"label_{seat_number(row)}": "often", f"note_{seat_number(row)}": "𠮷" * 501}

        refused = client.post(at("judge/"), filled_in(client, 1, **fields))
        stored = client.post(
            at("judge/"), filled_in(client, 1, **fields | {f"note_{seat_number(row)}": "𠮷" * 500})
        )

        assert refused.status_code == 400
        assert "𠮷" * 501 in refused.content.decode()
        assert stored.status_code == 302
        assert Annotation.objects.get().note == "𠮷" * 500

    def test_it_says_what_a_label_may_be_in_the_language_of_the_page(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A form that was tampered with; scores are not for experts."""
        monkeypatch.setattr(sentences, "gettext", lambda text: f"[{text}]")
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)

        response = client.post(at("judge/"), filled_in(client, 1, **{f"label_{seat_number(row)}": "perhaps"}))

        said = re.search(
            r"\[“perhaps” is not an answer of this scale; write one of: ([^\]]*)\]", text_of(response)
        )
        assert response.status_code == 400
        assert said
        assert "sometimes (有时成立)" in said[1]
        assert not re.search("[0-9]", said[1])

    @pytest.mark.parametrize("broken", ["client_key", "revision"])
    def test_it_refuses_a_form_that_lost_a_field(self, broken: str) -> None:
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        form = filled_in(client, 1, **{f"label_{seat_number(row)}": "often"})
        form = {name: value for name, value in form.items() if not name.startswith(broken)}

        response = client.post(at("judge/"), form)

        assert response.status_code == 409
        assert "open the page again" in response.content.decode()

    def test_it_stores_the_guideline_and_the_language_of_the_page(self) -> None:
        cast = make_work("triple", units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        page = client.get(
            at("judge/"), {"position": 1}, headers={"Accept-Language": "zh-hans"}
        ).content.decode()
        form = filled_in(client, 1, **{f"label_{seat_number(row)}": "often"})
        shown = cast.campaign.guidelines.get()
        cast.campaign.rounds.update(guideline=cast.campaign.guidelines.create(version=2))

        client.post(
            at("judge/"), form | {name: hidden(page, name) for name in ("guideline", "page_language")}
        )

        stored = Annotation.objects.get()
        assert (stored.guideline, stored.conditions["language"]) == (shown, "zh-hans")

    @pytest.mark.parametrize("field", ["revision", "atoms", "guideline"])
    def test_it_takes_no_number_that_is_none(self, field: str) -> None:
        """A form that was tampered with: no number of forty digits reaches the database."""
        cast = make_work("compound", units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        form = filled_in(client, 1, **{f"label_{seat_number(row)}": "wrong"})
        name = field if field == "guideline" else f"{field}-{seat_number(row)}"

        response = client.post(at("judge/"), form | {name: "9" * 40})

        assert response.status_code in (302, 409)


class TestText:
    def test_it_shows_texts_literally(self) -> None:
        """c50: markup is text, in the page and in what the script gets."""
        cast = make_work("triple", units=1)
        item = rows_of(cast.ada)[0].item
        item.head, item.tail = "PersonX <unk> & </script><script>alert(1)</script>", "{{ 7*7 }} 3.10"
        item.save()

        body = client_of(cast.ada).get(at("judge/")).content

        assert b"<script>alert" not in body
        assert b"&lt;unk&gt; &amp;" in body
        assert b"{{ 7*7 }} 3.10" in body
        assert page_data(body)["screens"][0]["rows"][0]["head"] == item.head

    def test_it_marks_the_compound_in_its_source_only(self) -> None:
        cast = make_work("compound", units=1)
        context = rows_of(cast.ada)[0].item.context
        assert context
        context.source, context.start, context.end = "𠮷 saw lazy dog 1 .", 6, 16
        context.save()

        body = client_of(cast.ada).get(at("judge/")).content.decode()

        assert body.count("<mark") == 1
        assert '𠮷 saw <mark class="compound">lazy dog 1</mark> .' in body

    def test_it_escapes_markup_in_guidelines(self) -> None:
        cast = make_work("triple", units=1)
        guideline = cast.campaign.guidelines.get()
        guideline.text_en = "# Rules\n\n<script>alert(1)</script>\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        guideline.save()

        body = client_of(cast.ada).get(at("guidelines/")).content.decode()

        assert "<script>alert" not in body
        assert "<h2>Rules</h2>" in body
        assert "<td>1</td>" in body

    def test_it_speaks_chinese(self) -> None:
        cast = make_work("triple", units=1)
        client = client_of(cast.ada)

        body = client.get(at("judge/"), headers={"Accept-Language": "zh-hans"}).content.decode()

        assert "之后" in body
        assert page_data(body.encode())["answers"]["sometimes"] == "有时成立"


class TestLookingBack:
    def test_it_finds_ones_own_answers_by_their_words(self) -> None:
        cast = make_work("triple", units=3)
        for row in rows_of(cast.ada)[:2]:
            answer(row, "1")
        client = client_of(cast.ada)

        found = client.get(
            at("history/"), {"q": "rest 2 xWant"}, headers={"Accept": "application/json"}
        ).json()
        nothing = client.get(at("history/"), {"q": "rest 3"}).content.decode()

        assert [screen["position"] for screen in found["units"]] == [2]
        assert "Nothing found." in nothing

    @pytest.mark.parametrize(
        ("language", "joined"), [("en", "afterwards, PersonX wants"), ("zh-hans", "之后， PersonX 想要")]
    )
    def test_what_joins_a_triple_stands_there_in_words(self, language: str, joined: str) -> None:
        """As it stands on the judging page; the relation's own name, which can be searched for, behind it."""
        cast = make_work("triple", units=1)
        answer(rows_of(cast.ada)[0], "1")
        client = client_of(cast.ada)
        client.cookies["django_language"] = language
        for page in ("history/", "history/?q=xWant", "my-questions/?position=1"):
            shown = text_of(client.get(at(page)))
            assert f"PersonX finish a marathon {joined} PersonX rest 1 (xWant)" in shown

    def test_each_of_ones_own_answers_says_of_which_part_it_is(self) -> None:
        cast = make_work("triple", units=3)
        answer(rows_of(cast.ada)[0], "1")
        assert text_of(client_of(cast.ada).get(at("history/"))).count("Part 1") == 1


OUT_OF_SIGHT = (
    "Some of your earlier answers are out of sight for now. They are stored and count, and come back at the latest "
    "when the part is handed in."
)


class TestOutOfSight:
    """Beside a later batch with repeats: who cannot see what they answered is told that it is not lost."""

    @pytest.fixture
    def campaign(self, tmp_path: Path) -> Campaign:
        make_user("ada")
        made = judged(tmp_path, "first", n=6)
        load_rows(made, system("late", n=6, same=range(5)), tmp_path, system="late")
        assign_parts(made, experts=["ada"], design="single", seed=1, again=50)
        assert Round.objects.filter(kind="repeat").exists()
        return made

    @pytest.fixture
    def ada(self, campaign: Campaign) -> Client:
        return client_of(User.objects.get(username="ada"))

    @pytest.mark.parametrize("words", ["", "dog"])
    def test_looking_back_says_so(self, ada: Client, words: str) -> None:
        response = ada.get(at("history/"), {"q": words})

        assert OUT_OF_SIGHT in text_of(response)
        assert "Nothing answered yet." not in text_of(response)
        as_json = ada.get(at("history/"), {"q": words}, headers={"Accept": "application/json"}).json()
        assert as_json["partial"] is True

    def test_the_script_knows_where_its_list_is_empty(self, ada: Client) -> None:
        data = page_data(ada.get(at("judge/")).content)

        assert data["recent"] == []
        assert data["partial"] is True

    def test_every_address_without_a_screen_says_the_same(self, ada: Client) -> None:
        said = set()
        for position in (1, 2, 90000):
            response = ada.get(at("judge/"), {"position": position})
            assert response.status_code == 404
            said.add(text_of(response))
        said.add(text_of(ada.post(at("judge/"), {"position": 1, "action": "save"})))

        assert len(said) == 1
        assert OUT_OF_SIGHT in said.pop()

    def test_handing_in_says_so_until_it_is_done(self, campaign: Campaign, ada: Client) -> None:
        assert OUT_OF_SIGHT in text_of(ada.get(at("parts/0/hand-in/")))
        answer_open(campaign)
        assert OUT_OF_SIGHT in text_of(ada.get(at("parts/0/hand-in/")))

        for part in Part.objects.all():
            ada.post(at(f"parts/{part.index}/hand-in/"))

        assert OUT_OF_SIGHT not in text_of(ada.get(at("history/")))
        assert OUT_OF_SIGHT not in text_of(ada.get(at("parts/0/hand-in/")))
        assert ada.get(at("judge/"), {"position": 1}).status_code == 200

    def test_nothing_is_said_of_hidden_repeats(self) -> None:
        """That one is told so would tell that some are there."""
        cast = make_work("triple", units=3)
        original = answer(rows_of(cast.ada)[0], "1")
        make_repeat(original, position=300)
        ada = client_of(cast.ada)

        for page in ("history/", "history/?q=nothing-like-it", "parts/0/hand-in/"):
            assert OUT_OF_SIGHT not in text_of(ada.get(at(page)))
        assert "Nothing answered yet." in text_of(ada.get(at("history/")))
        assert page_data(ada.get(at("judge/")).content)["partial"] is False
        assert OUT_OF_SIGHT not in text_of(ada.get(at("judge/"), {"position": original.position}))

    def test_where_nothing_is_hidden_nothing_is_said(self, tmp_path: Path) -> None:
        ada = client_of(make_user("ada"))
        judged(tmp_path, "first", n=2)

        for page in ("history/", "history/?q=nothing-like-it", "parts/0/hand-in/"):
            assert OUT_OF_SIGHT not in text_of(ada.get(at(page)))
        assert page_data(ada.get(at("judge/")).content)["partial"] is False
        assert OUT_OF_SIGHT not in text_of(ada.get(at("judge/"), {"position": 90000}))


CLOSED_ROUNDS = (
    "What you answered in rounds that are closed by now is stored. It is not shown here until every round of this "
    "campaign has ended."
)


class TestClosedRounds:
    """Answers of closed rounds are not shown while another is open, in which they might be judged again."""

    @pytest.fixture
    def cast(self) -> Cast:
        """Ada answered in a round that is closed by now; the main round is open, and she has nothing in it."""
        cast = make_work("triple", units=3)
        main = cast.campaign.rounds.get(kind="main")
        before = Round.objects.create(
            campaign=cast.campaign, kind="dry_run", guideline=main.guideline, state="closed", k=2
        )
        Part.objects.update(round=before)
        Assignment.objects.update(round=before)
        make_part(main, 7)
        answer(rows_of(cast.ada)[0], "1")
        return cast

    @pytest.mark.parametrize("words", ["", "nothing-like-it"])
    def test_looking_back_says_so(self, cast: Cast, words: str) -> None:
        ada = client_of(cast.ada)
        response = ada.get(at("history/"), {"q": words})

        assert CLOSED_ROUNDS in text_of(response)
        assert "Nothing answered yet." not in text_of(response)
        found = ada.get(at("history/"), {"q": words}, headers={"Accept": "application/json"}).json()
        assert (found["units"], found["closed"], found["partial"]) == ([], True, False)

    def test_the_script_is_told_too(self, cast: Cast) -> None:
        assert page_data(client_of(cast.ada).get(at("judge/")).content)["closed"] is True

    def test_beside_answers_of_an_open_round_it_is_said_as_well(self, cast: Cast) -> None:
        item = make_triple(cast.campaign, 70)
        answer(make_assignment(item, cast.ada, part=Part.objects.get(index=7), position=70))
        page = client_of(cast.ada).get(at("history/"))

        assert CLOSED_ROUNDS in text_of(page)
        assert page.content.decode().count('class="history-item"') == 1

    def test_once_all_batches_are_closed_it_says_that_nothing_is_open_for_judging(self, cast: Cast) -> None:
        item = make_triple(cast.campaign, 70)
        answer(make_assignment(item, cast.ada, part=Part.objects.get(index=7), position=70))
        ada, none_open = client_of(cast.ada), "Nothing is open for judging now"
        assert none_open not in text_of(ada.get(at("history/"))) + text_of(ada.get(at("work/")))
        Design.objects.update(closed_at=timezone.now())

        for page in ("history/", "work/", "judge/"):
            shown = text_of(ada.get(at(page)))
            assert none_open in shown, page
            assert "ended" in shown, page
            assert "rounds that are open now" not in shown, page

    def test_once_no_round_is_open_they_are_shown(self, cast: Cast) -> None:
        cast.campaign.rounds.update(state="closed")
        page = client_of(cast.ada).get(at("history/"))

        assert CLOSED_ROUNDS not in text_of(page)
        assert page.content.decode().count('class="history-item"') == 1

    def test_nothing_is_said_to_who_answered_nothing_there(self, cast: Cast) -> None:
        page = text_of(client_of(cast.lin).get(at("history/")))

        assert CLOSED_ROUNDS not in page
        assert "Nothing answered yet." in page

    def test_a_hidden_repeat_changes_nothing_of_it(self) -> None:
        """Its round is none that an expert knows: it goes by the round of its part."""
        cast = make_work("triple", units=3)
        again = answer(make_repeat(answer(rows_of(cast.ada)[0], "1"), position=300))
        Round.objects.filter(pk=again.round_id).update(state="closed")

        assert CLOSED_ROUNDS not in text_of(client_of(cast.ada).get(at("history/")))


class TestHandingIn:
    def test_it_lists_what_deserves_a_second_look_and_refuses_an_open_part(self) -> None:
        cast = make_work("triple", units=3)
        rows = rows_of(cast.ada)
        client = client_of(cast.ada)
        fields = {
            f"label_{seat_number(rows[0])}": "often",
            f"flag_{seat_number(rows[0])}": "on",
            f"note_{seat_number(rows[0])}": "hm",
        }
        client.post(at("judge/"), filled_in(client, 1, **fields))
        postpone(cast.campaign, expert_id=cast.ada.pk, screen_id=rows[1].pk, assignments=[rows[1].pk])

        body = client.get(at("parts/0/hand-in/")).content.decode()
        refused = client.post(at("parts/0/hand-in/"), follow=True)

        assert "“hm”" in body
        assert "2 units have no full answer yet." in body
        assert "judge them before you hand it in" in refused.content.decode()
        assert not HandIn.objects.exists()

    def test_it_hands_in_once_and_says_thanks(self) -> None:
        cast = make_work("triple", units=1)
        answer(rows_of(cast.ada)[0])
        client = client_of(cast.ada)
        before = text_of(client.get(at("parts/0/hand-in/")))

        client.post(at("parts/0/hand-in/"))
        response = client.post(at("parts/0/hand-in/"), follow=True)

        assert "You marked nothing as unsure" in before
        assert "None." not in before
        assert HandIn.objects.count() == 1
        assert "Thank you. 1 unit, handed in on" in text_of(response)

    @pytest.mark.parametrize(
        ("protocol", "label", "said"), [("triple", "sometimes", "sometimes"), ("compound", "wrong", "wrong")]
    )
    def test_it_shows_ones_own_answer_beside_what_was_unsure(
        self, protocol: str, label: str, said: str
    ) -> None:
        cast = make_work(protocol, units=1)
        row = rows_of(cast.ada)[0]
        client = client_of(cast.ada)
        client.post(
            at("judge/"),
            filled_in(client, 1, **{f"label_{seat_number(row)}": label, f"flag_{seat_number(row)}": "on"}),
        )

        body = client.get(at("parts/0/hand-in/")).content.decode()

        assert re.search(rf'<span class="mark {label}">{said}</span>', body)

    def test_it_says_what_is_true_before_and_after_everything_is_handed_in(self) -> None:
        cast = make_work("triple", units=1)
        make_work("triple", units=1, part_index=1, cast=cast)
        first, second = rows_of(cast.ada)
        client = client_of(cast.ada)

        answer(first)
        client.post(at("parts/0/hand-in/"))
        done = text_of(client.get(at("parts/0/hand-in/")))
        assert "Part 2 is ready to be judged." in done
        assert "Go on judging" in done

        answer(second)
        assert "Part 2 is fully judged: look through it and hand it in." in text_of(
            client.get(at("parts/0/hand-in/"))
        )
        work = client.get(at("work/"))
        assert "Look through your parts and hand them in." in text_of(work)
        assert '<a class="button primary" href="/campaigns/main/parts/1/hand-in/"' in body_of(work)
        assert "Go on judging" not in text_of(client.get(at("parts/1/hand-in/")))

        client.post(at("parts/1/hand-in/"))
        for page in ("parts/0/hand-in/", "parts/1/hand-in/", "work/", "history/"):
            assert "Go on judging" not in text_of(client.get(at(page))), page
        assert "All your parts are handed in. Thank you." in text_of(client.get(at("work/")))
        assert "All your parts are handed in. Thank you." in text_of(client.get(at("judge/")))
        for address in (at("history/"), f"{at('history/')}?q=rest"):
            looked_back = text_of(client.get(address))
            assert "Open one to look at it." in looked_back
            assert "correct it" not in looked_back

    def test_it_shows_an_answer_of_a_part_handed_in_as_closed(self) -> None:
        cast = make_work("compound", units=1)
        for row in rows_of(cast.ada):
            answer(row)
        client = client_of(cast.ada)
        open_page = client.get(at("judge/"), {"position": 1}).content.decode()
        client.post(at("parts/0/hand-in/"))

        closed_page = client.get(at("judge/"), {"position": 1}).content.decode()

        assert '<p class="correction-mark" id="closed" hidden>' in open_page
        assert '<p class="correction-mark" id="closed">' in closed_page
        assert '<p class="correction-mark" id="correction" hidden>' in closed_page

    def test_it_says_what_closes_a_part(self) -> None:
        """That a manager can give it back is true only while its batch is open."""
        cast = make_work("triple", units=1)
        mine = answer(rows_of(cast.ada)[0])
        HandIn.objects.create(part=Part.objects.get(), expert=cast.ada)
        ada, body = client_of(cast.ada), {f"label_{seat_number(mine)}": "rarely"}

        def told() -> tuple[str, str]:
            page = ada.get(at("judge/"), {"position": 1}).content.decode()
            above = re.search(r'<p class="correction-mark" id="closed">(.*?)</p>', page)
            refused = text_of(ada.post(at("judge/"), filled_in(ada, 1, **body)))
            said = re.search(r"(The batch|This part|This round|This campaign)[^.]* [^.]*\.", refused)
            assert above
            assert said
            assert page_data(page.encode())["closedBy"] == {"0": why}
            return re.sub("<.*?>", "", above[1]), said[0]

        why = "part"
        assert told() == (
            "✓ Part handed in · to look at; the manager can give the part back to you",
            "This part was handed in; ask the manager to give it back to you.",
        )
        why = "batch"
        Design.objects.update(closed_at=timezone.now())
        assert told() == (
            "✓ Batch closed · to look at; all its answers are frozen",
            "The batch of this part is closed: all its answers are frozen.",
        )
        why = "round"
        cast.campaign.rounds.update(state="closed")
        assert told() == (
            "✓ Round closed · to look at; nothing is judged in it any more",
            "This round is closed; ask the manager to open it again.",
        )
        why = "campaign"
        Campaign.objects.update(closed_at=timezone.now())
        assert told() == (
            "✓ Campaign closed · to look at; nothing is judged in this campaign any more",
            "This campaign is closed: nothing is judged in it any more.",
        )

    @pytest.mark.parametrize("protocol", ["triple", "compound"])
    def test_what_can_only_be_looked_at_offers_no_change(self, protocol: str) -> None:
        cast = make_work(protocol, units=1)
        for row in rows_of(cast.ada):
            answer(row)
        ada = client_of(cast.ada)

        def page() -> str:
            return ada.get(at("judge/"), {"position": 1}).content.decode()

        def form() -> str:
            return page().partition('id="sheet"')[2].partition("</form>")[0]

        assert "is-closed" not in form()
        assert not re.search(r'<(fieldset class="verdicts"|button class="answer") disabled', form())
        HandIn.objects.create(part=Part.objects.get(), expert=cast.ada)

        assert re.match(r' class="desk desk-\w+ is-closed"', form())
        assert not re.search(r'<(fieldset class="verdicts"|button class="answer")(?! disabled)', form())
        for name in ("save", "later", "unsure", "cannot", "note"):
            assert re.search(rf'<button class="[^"]* while-open"[^>]*(value|data-action)="{name}"', form()), (
                name
            )


class TestClosedRound:
    """What was judged can be looked at; nothing more is judged or handed in."""

    @pytest.fixture
    def ada(self) -> Client:
        cast = make_work("compound", units=2)
        for row in rows_of(cast.ada)[:5]:
            answer(row)
        cast.campaign.rounds.update(state="closed")
        return client_of(cast.ada)

    def test_it_says_so_and_how_far_one_came(self, ada: Client) -> None:
        work = text_of(ada.get(at("work/")))
        assert "This round is closed: nothing is judged in it any more. Thank you." in work
        assert "Part 1 1 / 2 · closed Look at it" in work
        assert "There is no work for you yet" not in work
        assert "Practise first" not in work
        judging = text_of(ada.get(at("judge/")))
        assert "This round is closed: nothing is judged in it any more. Thank you." in judging
        assert not re.search("(Go on|Start) judging", work + judging)

    def test_it_shows_the_part_without_the_form(self, ada: Client) -> None:
        page = ada.get(at("parts/0/hand-in/"))
        assert "the part need not be handed in, and your answers stand as they are." in text_of(page)
        assert 'id="hand-in"' not in page.content.decode()
        refused = text_of(ada.post(at("parts/0/hand-in/"), follow=True))
        assert "This round is closed; ask the manager to open it again." in refused
        assert not HandIn.objects.exists()

    def test_it_thanks_who_had_handed_in(self, ada: Client) -> None:
        HandIn.objects.create(part=Part.objects.get(), expert=User.objects.get(username="ada"))
        assert "Part 1 is handed in" in text_of(ada.get(at("parts/0/hand-in/")))

    def test_it_shows_what_one_answered_and_saves_nothing(self, ada: Client) -> None:
        assert at("judge/?position=1") in ada.get(at("history/")).content.decode()
        page = ada.get(at("judge/"), {"position": 1})
        assert "Round closed · to look at; nothing is judged in it any more" in text_of(page)
        assert page_data(page.content)["progress"]["parts"][0]["closed"] is True
        row = rows_of(User.objects.get(username="ada"))[0]
        refused = ada.post(at("judge/"), filled_in(ada, 1, **{f"label_{seat_number(row)}": "wrong"}))
        assert refused.status_code == 409
        assert "This round is closed" in text_of(refused)
        assert not Annotation.objects.exists()

    def test_a_later_round_without_parts_hides_nothing(self, ada: Client) -> None:
        """Repeated judgements, for instance, that came in a file."""
        main = Round.objects.exclude(guideline__campaign__slug="other").get()
        Round.objects.create(campaign=main.campaign, kind=Round.Kind.REPEAT, k=1, guideline=main.guideline)
        assert "Part 1 1 / 2 · closed" in text_of(ada.get(at("work/")))


def test_the_script_finds_the_gap_in_an_address_whatever_the_campaign_goes_by() -> None:
    cast = make_work("triple", units=1)
    for slug in ("0", "0-0"):
        cast.campaign.slug = slug
        cast.campaign.save()
        urls = page_data(client_of(cast.ada).get(at("judge/", slug)).content)["urls"]
        assert urls["answers"] == f"/api/v1/campaigns/{slug}/units/{{number}}/answers/"
        assert urls["handIn"] == f"/campaigns/{slug}/parts/{{number}}/hand-in/"
        assert {name for name, url in urls.items() if url.count("{number}") != 1} == {
            *("judge", "work", "history", "change", "signIn", "next", "recent", "time"),
            *("worker", "workerScope", "answersInOrder"),
        }


def test_the_script_knows_the_same_hidden_characters() -> None:
    cast = make_work("triple", units=1)

    data = page_data(client_of(cast.ada).get(at("judge/")).content)

    assert data["hidden"] == [list(pair) for pair in HIDDEN]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bundled_guidelines_name_causes_and_reasons_as_the_seat_does(language: str) -> None:
    text = (GUIDELINES / f"compound.{language}.md").read_text(encoding="utf-8")
    for choice in (*COMPOUND.cannot_judge_causes, *WRONG_REASONS):
        assert getattr(choice.words, language) in text, choice
    for cause in COMPOUND.cannot_judge_causes:
        assert f"| {getattr(cause.words, language)} |" in text, cause


def test_it_numbers_parts_from_one_for_people_and_from_zero_in_addresses() -> None:
    cast = make_work("triple", units=1)
    client = client_of(cast.ada)
    answer(rows_of(cast.ada)[0])

    work = client.get(at("work/"))
    assert "Part 1 1 / 1" in text_of(work)
    assert "Part 0" not in text_of(work)
    assert at("parts/0/hand-in/") in work.content.decode()
    assert "Hand in: Part 1" in text_of(client.get(at("parts/0/hand-in/")))
    client.post(at("parts/0/hand-in/"))
    assert "Part 1 is handed in" in text_of(client.get(at("parts/0/hand-in/")))
    judging = client.get(at("judge/"), {"position": 1})
    assert '<span class="part small" id="part-name">Part 1</span>' in judging.content.decode()
    assert page_data(judging.content)["shown"]["part"] == 0


@pytest.mark.parametrize(("reasons", "listed"), [("required", True), ("optional", True), ("off", False)])
def test_it_lists_the_keys_of_reasons_where_the_campaign_asks_for_them(reasons: str, listed: bool) -> None:
    cast = make_work("compound", units=1)
    cast.campaign.reasons = reasons
    cast.campaign.save()

    page = text_of(client_of(cast.ada).get(at("judge/")))

    assert ("m why a row is wrong: missing" in page) is listed
    assert ("l why a row is wrong: not fluent" in page) is listed


def test_who_is_done_is_not_told_that_there_is_no_work_yet(client: Client) -> None:
    cast = make_work("triple", units=2)
    checker = make_user("chen")
    make_member(cast.campaign, checker, "expert", "A3")
    client.force_login(checker)
    address = "/campaigns/main/"
    assert "There is no work for you yet" in text_of(client.get(f"{address}work/"))

    unit = cast.campaign.items.earliest("pk")
    check = Round.objects.create(
        campaign=cast.campaign, kind="spot_check", k=1, guideline=cast.campaign.guidelines.get()
    )
    answer(make_assignment(unit, checker, round=check, part=make_part(check, index=10_000)))
    Round.objects.filter(pk=check.pk).update(state="closed", closed_at=timezone.now())

    for page in ("work/", "judge/"):
        shown = text_of(client.get(f"{address}{page}"))
        assert "Your work here is done" in shown
        assert "There is no work for you yet" not in shown
