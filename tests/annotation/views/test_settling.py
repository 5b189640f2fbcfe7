"""From the closed batch to what was settled, as pages: who sees what, and when."""

import json
import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse

from annotation.models import Arbitration, Assignment, Comment, Design, Item, Job, Round, Thread
from annotation.services.batches import close_batch
from annotation.services.campaign_state import archive_campaign, close_campaign
from annotation.services.discussion import open_thread, say
from annotation.services.resolution import open_resolution
from tests.factories import Cast, make_cast, make_judged, make_member, make_user, save_label
from tests.pages import body_of, client_of, hidden, text_of

pytestmark = pytest.mark.django_db

BATCHES, RESOLUTION, DISCUSSIONS = (
    f"/campaigns/main/{page}/" for page in ("batches", "rounds/resolution", "discussion")
)


@pytest.fixture
def cast() -> Cast:
    """Three triples of a batch, judged by both; the second contrasts."""
    made = make_cast()
    make_judged(made, ("1", "1"), ("1", "0"), ("0.5", "0"))
    return made


def batch() -> Design:
    return Design.objects.earliest("pk")


def item(position: int) -> Item:
    return Item.objects.get(position=position)


def a_thread(cast: Cast, position: int = 2) -> Thread:
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    return open_thread(cast.campaign, item(position).pk, by=cast.mei)


def thread_page(pk: int) -> str:
    return f"{DISCUSSIONS}{pk}/"


# Batches


def test_a_manager_closes_a_batch_and_opens_it_again(cast: Cast) -> None:
    mei = client_of(cast.mei)
    assert "not handed in: A1, A2" in text_of(mei.get(BATCHES))

    closed = mei.post(f"{BATCHES}{batch().pk}/close/", follow=True)

    assert "its answers are frozen" in text_of(closed)
    assert "Its batch is closed" in text_of(mei.get("/campaigns/main/parts/0/"))
    assert "Give back" not in text_of(mei.get("/campaigns/main/parts/0/"))
    assert "batch closed" in text_of(mei.get("/campaigns/main/items/"))
    assert "Close" not in body_of(client_of(cast.vera).get(BATCHES)).split("<tbody>")[1]
    opened = mei.post(f"{BATCHES}{batch().pk}/reopen/", follow=True)
    assert "being judged" not in text_of(opened)
    assert "fully judged" in text_of(opened)


def test_it_keeps_the_reason_that_was_too_long_and_asks_for_one_that_is_missing(cast: Cast) -> None:
    make_judged(cast, ("1", None))
    late = Design.objects.latest("pk")
    mei = client_of(cast.mei)

    without = mei.post(f"{BATCHES}{late.pk}/close/")
    too_long = mei.post(f"{BATCHES}{late.pk}/close/", {"reason": "long " * 200})

    assert (without.status_code, too_long.status_code) == (400, 400)
    assert "Answers are still to come: A2 1." in text_of(without)
    assert "long long" in body_of(too_long)
    assert mei.post(f"{BATCHES}99999/close/").status_code == 404


# Discussions


def test_a_thread_is_opened_read_and_answered_without_a_script(cast: Cast) -> None:
    mei, ada, lin = (client_of(user) for user in (cast.mei, cast.ada, cast.lin))
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    assert "Discuss" in text_of(mei.get("/campaigns/main/items/"))
    mei.post(f"/campaigns/main/items/{item(2).pk}/discuss/")
    page = thread_page(Thread.objects.get().pk)

    assert "unread: 1" in text_of(ada.get("/campaigns/main/work/"))
    assert f'href="{DISCUSSIONS}?show=unread"' in body_of(ada.get("/campaigns/main/work/"))
    seen = ada.get(page)
    assert "PersonX rest 2" in text_of(seen)
    assert "Expert 1 you always/often" in text_of(seen)
    assert "Expert 2 rarely/never/ambiguous/invalid" in text_of(seen)
    assert "Note: note-2-of-2" in text_of(seen)
    assert "… being discussed" in text_of(seen)
    assert "Turn to somebody by name: @M1, @E2 for Expert 2" in text_of(seen)
    ada.post(f"{page}seen/", {"until": hidden(seen, "until")})
    assert "unread: 1" not in text_of(ada.get("/campaigns/main/work/"))

    sent = {"text": "@M1 <b>It tires</b>\r\nsurely", "client_key": hidden(seen, "client_key")}
    for _ in range(2):
        assert ada.post(page, sent).status_code == 302
    assert Comment.objects.count() == 1
    body = body_of(lin.get(page))
    assert '<p class="said" dir="auto">@M1 &lt;b&gt;It tires&lt;/b&gt;<br>surely</p>' in body
    assert "<strong>Expert 1</strong>" in body
    assert "mentions you" in text_of(mei.get(page))
    assert "Discussions unread: 1" in text_of(mei.get("/campaigns/main/"))
    assert f'href="{DISCUSSIONS}?show=unread"' in body_of(mei.get("/campaigns/main/"))

    mei.post(f"{page}resolve/", {"decision": "Tired: yes."})
    resolved = text_of(mei.get(page))
    assert "Tired: yes." in resolved
    assert "✓ resolved" in resolved
    assert "still open 0 unread 1 resolved or ended 1 all of them 1" in text_of(mei.get(DISCUSSIONS))
    assert f"?thread={Thread.objects.get().pk}" in body_of(mei.get(page))
    late = ada.post(page, {"text": "One more thing", "client_key": str(uuid4())})
    assert late.status_code == 400
    assert "One more thing" in text_of(late)
    mei.post(f"{page}reopen/")
    assert "Say something" in text_of(ada.get(page))


@pytest.mark.parametrize("archived", [False, True])
def test_a_closed_campaign_offers_nothing_more_to_say(cast: Cast, *, archived: bool) -> None:
    mei, ada = client_of(cast.mei), client_of(cast.ada)
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    mei.post(f"/campaigns/main/items/{item(2).pk}/discuss/")
    page = thread_page(Thread.objects.get().pk)
    mei.post(page, {"text": "Look here", "client_key": hidden(mei.get(page), "client_key")})
    sent = {"text": "It tires surely", "client_key": hidden(ada.get(page), "client_key")}
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    if archived:
        archive_campaign(cast.campaign, by=cast.mei)

    for client in (mei, ada):
        seen = client.get(page)
        assert "This campaign is closed, and its discussions with it" in text_of(seen)
        forms = re.findall(r'<form[^>]*action="(/campaigns/[^"]*)"', body_of(seen).partition("<main")[2])
        offered = [] if archived else [f"{page}seen/"] if client is ada else [f"{page}resolve/"]
        assert [form for form in forms if form.startswith(page)] == offered
        assert 'name="text"' not in body_of(seen)
    late = ada.post(page, sent)
    assert late.status_code == (409 if archived else 400)
    assert archived or "It tires surely" in text_of(late)
    assert Comment.objects.get().text == "Look here"


def test_what_cannot_be_stored_is_kept_in_the_form(cast: Cast) -> None:
    page = thread_page(a_thread(cast).pk)

    said = client_of(cast.ada).post(page, {"text": "长" * 2001, "client_key": str(uuid4())})
    decided = client_of(cast.mei).post(f"{page}resolve/", {"decision": "长" * 2001})

    assert (said.status_code, decided.status_code) == (400, 400)
    assert "长" * 2001 in body_of(said)
    assert "长" * 2001 in body_of(decided)
    assert 'data-limit="2000"' in body_of(said)
    assert "maxlength" not in body_of(said)


def test_who_did_not_judge_the_item_finds_no_thread(cast: Cast) -> None:
    eve = make_user("eve")
    make_member(cast.campaign, eve, "expert", "A3")
    page = thread_page(a_thread(cast).pk)

    for user in (eve, cast.vera, cast.otto):
        client = client_of(user)
        assert client.get(page).status_code == 404
        assert client.post(page, {"text": "Hello", "client_key": str(uuid4())}).status_code == 404
        assert client.post(f"{page}seen/", {"until": "2026-01-01T00:00:00+00:00"}).status_code == 404
    assert "PersonX" not in text_of(client_of(eve).get(DISCUSSIONS))
    assert not Comment.objects.exists()


def test_time_in_a_discussion_counts(cast: Cast) -> None:
    ada = client_of(cast.ada)
    page = body_of(ada.get(thread_page(a_thread(cast).pk)))
    found = re.search(r'data-url="([^"]+)" data-kind="discussion"', page)
    assert found

    body = {"kind": "discussion", "seconds": 90, "client_key": str(uuid4())}
    answered = ada.post(found.group(1), json.dumps(body), content_type="application/json")

    assert answered.status_code == 200
    assert cast.campaign.time_entries.get().kind == "discussion"


def test_the_list_is_cut_into_pages() -> None:
    cast = make_cast()
    make_judged(cast, *[("1", "0")] * 53, notes=False)
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    open_resolution(cast.campaign, by=cast.mei)
    ada = client_of(cast.ada)

    pages = [text_of(ada.get(DISCUSSIONS, {"page": number})) for number in (1, 2)]

    assert [page.count("being discussed") for page in pages] == [50, 3]
    assert ada.get(DISCUSSIONS, {"show": "x"}).status_code == 404


# Resolution and arbitration


def test_a_manager_opens_a_resolution_that_was_shown(cast: Cast) -> None:
    mei = client_of(cast.mei)
    assert "Nothing to be judged again now" in text_of(mei.get(RESOLUTION))
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    shown = mei.get(RESOLUTION)
    assert "1 item would be judged again" in text_of(shown)

    opened = mei.post(RESOLUTION, {"hash": hidden(shown, "hash"), "due_on": "2026-12-14"}, follow=True)

    assert "A1 0 / 1" in text_of(opened)
    meanwhile = text_of(mei.get(RESOLUTION))
    assert "Nothing to be judged again now" in meanwhile
    assert "of them" not in meanwhile
    assert str(Round.objects.get(kind="resolution").due_on) == "2026-12-14"
    again = mei.post(RESOLUTION, {"hash": hidden(shown, "hash")})
    assert again.status_code == 400
    assert "judge/?position=" in body_of(client_of(cast.ada).get(thread_page(Thread.objects.get().pk)))
    refused = mei.post(f"{RESOLUTION}1/close/")
    assert refused.status_code == 400
    assert "A1 1, A2 1" in text_of(refused)
    closed = mei.post(f"{RESOLUTION}1/close/", {"reason": "ill"}, follow=True)
    assert "Closed without: A1 1, A2 1" in text_of(closed)
    assert mei.get(f"{RESOLUTION}9/").status_code == 404
    assert mei.post(f"{RESOLUTION}9/close/").status_code == 404


def test_an_arbiter_decides_and_takes_back(cast: Cast) -> None:
    mei = client_of(cast.mei)
    a_thread(cast)
    cast.campaign.label_version = 1
    cast.campaign.save()
    page = f"/campaigns/main/items/{item(2).pk}/decide/"

    assert mei.post(page, {"label": "0.5", "reason": "So."}).status_code == 400
    assert mei.post(page, {"label": "1", "reason": "So it is."}).status_code == 302

    assert Arbitration.objects.get().label == "1"
    assert Job.objects.get().kind == "finalize"
    assert "So it is." in text_of(client_of(cast.ada).get(thread_page(Thread.objects.get().pk)))
    assert "decided by an arbiter" in text_of(mei.get("/campaigns/main/items/"))
    twice = mei.post(page, {"label": "0", "reason": "No."})
    assert twice.status_code == 400
    assert "take it back before" in text_of(twice)
    mei.post(f"{page}take-back/")
    assert Arbitration.objects.get().taken_back_at is not None


def test_the_arbiters_page_shows_the_votes_once_the_batch_is_closed(cast: Cast) -> None:
    mei = client_of(cast.mei)
    page = f"/campaigns/main/items/{item(2).pk}/decide/"
    votes = "Expert 1 (A1) always/often Note: note-1-of-2 Expert 2 (A2) rarely/never"

    before = text_of(mei.get(page))
    assert "note-1-of-2" not in before
    assert "The experts' answers stand here once its batch is closed" in before
    assert "Open it to discussion" not in before

    close_batch(cast.campaign, batch().pk, by=cast.mei)
    shown = text_of(mei.get(page))
    assert votes in shown
    assert "Open it to discussion" in shown

    opened = mei.post(reverse("item_discuss", args=["main", item(2).pk]))
    assert opened.status_code == 302
    after = mei.get(page)
    assert "Open it to discussion" not in text_of(after)
    assert reverse("discussion", args=["main", Thread.objects.get().pk]) in body_of(after)


def test_managers_get_a_list_of_what_was_settled(cast: Cast) -> None:
    mei, address = client_of(cast.mei), reverse("settled_all", args=["main"])
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    assert "Nothing is settled yet" in text_of(mei.get(address))

    mei.post(f"/campaigns/main/items/{item(2).pk}/decide/", {"label": "1", "reason": "So it is."})
    shown = text_of(mei.get(address))
    assert "Settled as plausible decided by an arbiter" in shown
    assert "To the decision" in shown
    assert "So it is." in shown
    assert address in body_of(mei.get(DISCUSSIONS))
    assert "decided by an arbiter" in text_of(mei.get(f"{DISCUSSIONS}?show=resolved"))

    mei.post(f"/campaigns/main/items/{item(2).pk}/decide/take-back/")
    made = open_resolution(cast.campaign, by=cast.mei)
    assert "Nothing is settled yet" in text_of(mei.get(address))  # it is being judged again
    decide = f"/campaigns/main/items/{item(2).pk}/decide/"
    assert "judging it again at the moment" in text_of(mei.get(decide))
    for row in made.assignments.all():
        save_label(row, "0")
    mei.post(f"{RESOLUTION}1/close/")
    assert "judging it again at the moment" not in text_of(mei.get(decide))
    again = text_of(mei.get(address))
    assert "Settled as rarely/never/ambiguous/invalid judged again by its experts" in again
    assert "To the decision" not in again
    assert "Decide the label as an arbiter" in again
    assert "Nothing contrasts any more" in text_of(mei.get(RESOLUTION))
    thread = text_of(mei.get(thread_page(Thread.objects.get(item=item(2)).pk)))
    assert "Resolution 1" in thread
    assert "✓ ended, judged again" in thread


def test_a_second_look_names_its_version(cast: Cast) -> None:
    cast.campaign.guidelines.create(version=2, text_en="New.", text_zh="新。", touches={"items": [1, 3]})
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    mei = client_of(cast.mei)
    address = "/campaigns/main/rounds/rejudgement/"
    shown = mei.get(address)
    assert "2 items would be judged again" in text_of(shown)

    opened = mei.post(f"{address}?version=2", {"hash": hidden(shown, "hash")}, follow=True)

    assert "Second look 1" in text_of(opened)
    for version in ("7", "x", "9" * 12):
        assert mei.get(address, {"version": version}).status_code == 404
    assert "touches no item" in text_of(mei.get(address, {"version": 1}))


def test_a_closed_campaign_says_that_nothing_would_be_judged_again(cast: Cast) -> None:
    cast.campaign.guidelines.create(version=2, text_en="New.", text_zh="新。", touches={"items": [1, 3]})
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    mei = client_of(cast.mei)
    pages = {
        RESOLUTION: ("1 item would be judged again", "1 item is still split"),
        "/campaigns/main/rounds/rejudgement/": (
            "2 items would be judged again",
            "2 touched items were not judged again",
        ),
    }
    for address, (before, _after) in pages.items():
        assert before in text_of(mei.get(address))

    close_campaign(cast.campaign, reason="Done.", by=cast.mei)

    for address, (before, after) in pages.items():
        shown = text_of(mei.get(address))
        assert after in shown
        assert before not in shown


# Who sees what, and when


def pages_of_an_expert(client: Client) -> Iterator[tuple[str, HttpResponseBase]]:
    """Everything an expert can fetch of this campaign, threads and screens too."""
    simple = ("work", "judge", "history", "guidelines", "my_questions", "hours", "settled", "discussions")
    addresses = [reverse(name, args=["main"]) for name in simple]
    addresses += [f"{DISCUSSIONS}?show=all", reverse("home"), reverse("hand_in", args=["main", 0])]
    addresses += [reverse(name, args=["main"]) for name in ("api_next", "api_recent")]
    addresses += [f"/campaigns/main/judge/?position={number}" for number in range(1, 9)]
    addresses += [thread_page(pk) for pk in Thread.objects.values_list("pk", flat=True)]
    addresses += [
        f"/campaigns/main/{page}/"
        for page in ("batches", "rounds/resolution", "rounds/resolution/1", "items")
    ]
    for address in addresses:
        yield address, client.get(address)


def seen_by(client: Client) -> str:
    return "\n".join(response.content.decode() for _address, response in pages_of_an_expert(client))  # type: ignore[attr-defined]


def test_no_response_holds_anothers_answer_before_it_is_opened(cast: Cast) -> None:
    """Every body is scanned for the notes, which name their slot and item, at each stage."""
    ada, mei = client_of(cast.ada), client_of(cast.mei)

    def others(text: str) -> set[str]:
        return set(re.findall(r"note-2-of-\d|again-2-of-\d", text))

    assert "note-1-of-2" in seen_by(ada)  # her own, so that the scan proves something
    assert others(seen_by(ada)) == set()
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    assert others(seen_by(ada)) == set()

    round_ = open_resolution(cast.campaign, by=cast.mei)
    say_so = Thread.objects.get()
    say(cast.campaign.memberships.get(user=cast.mei), say_so.pk, text="Why?", client_key=uuid4())
    assert others(seen_by(ada)) == {"note-2-of-2"}  # of what is open to discussion, and of nothing else
    assert not re.search(r"\blin\b|\bA2\b", seen_by(ada))

    save_label(round_.assignments.get(slot=2), "0", note="again-2-of-2")
    assert others(seen_by(ada)) == {"note-2-of-2"}  # judged again without the other's new answer
    save_label(round_.assignments.get(slot=1), "0", note="again-1-of-2")
    assert "Settled as" not in seen_by(ada)
    mei.post(f"{RESOLUTION}1/close/")
    after = seen_by(ada)
    assert others(after) == {"note-2-of-2", "again-2-of-2"}
    assert "Settled as" in after


def test_an_expert_gets_no_answer_of_an_item_that_was_not_theirs(cast: Cast) -> None:
    eve = make_user("eve")
    make_member(cast.campaign, eve, "expert", "A3")
    round_ = open_all(cast)
    save_label(round_.assignments.get(slot=2), "0", note="again-2-of-2")

    seen = seen_by(client_of(eve))

    assert not re.search(r"note-\d-of-\d|again-\d|PersonX rest", seen)


def open_all(cast: Cast) -> Round:
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    return open_resolution(cast.campaign, by=cast.mei)


def test_a_resolution_tells_what_was_judged_again_and_discussed_before(cast: Cast) -> None:
    close_batch(cast.campaign, batch().pk, by=cast.mei)
    mei = client_of(cast.mei)
    opens = "Opening it opens these items to discussion"
    assert opens in text_of(mei.get(RESOLUTION))
    made = open_resolution(cast.campaign, by=cast.mei)
    for slot, label in ((1, "1"), (2, "0")):
        save_label(made.assignments.get(slot=slot), label)
    mei.post(f"{RESOLUTION}1/close/")

    shown = text_of(mei.get(RESOLUTION))

    assert "1 item would be judged again It was judged again before and is still split." in shown
    assert "It was opened to discussion before" in shown
    assert opens not in shown


def test_who_judges_in_a_resolution_has_a_way_to_the_discussions(cast: Cast) -> None:
    judge = "/campaigns/main/judge/"
    link = f'href="{DISCUSSIONS}"'
    assert link not in body_of(client_of(cast.ada).get(judge))
    open_all(cast)
    assert link in body_of(client_of(cast.ada).get(judge))
    client_of(cast.mei).post(f"{RESOLUTION}1/close/", {"reason": "Over."})
    assert link not in body_of(client_of(cast.ada).get(judge))


def test_the_settled_list_shows_ones_own_only(cast: Cast) -> None:
    round_ = open_all(cast)
    for slot in (1, 2):
        save_label(round_.assignments.get(slot=slot), "0")
    assert "Nothing is settled yet" in text_of(client_of(cast.ada).get("/campaigns/main/settled/"))
    client_of(cast.mei).post(f"{RESOLUTION}1/close/")

    ada = text_of(client_of(cast.ada).get("/campaigns/main/settled/"))
    lin = text_of(client_of(cast.lin).get("/campaigns/main/settled/"))

    assert "Your answer always/often Settled as rarely/never/ambiguous/invalid" in ada
    assert "Settled as rarely/never/ambiguous/invalid judged again by its experts" in text_of(
        client_of(cast.mei).get(reverse("settled_all", args=["main"]))
    )
    assert "Nothing was settled against you" in lin


def test_who_judged_nothing_that_was_settled_is_told_so(cast: Cast) -> None:
    round_ = open_all(cast)
    for slot in (1, 2):
        save_label(round_.assignments.get(slot=slot), "0")
    kai = make_user("kai")
    make_member(cast.campaign, kai, "expert", "A3")
    client_of(cast.mei).post(f"{RESOLUTION}1/close/")

    shown = text_of(client_of(kai).get("/campaigns/main/settled/"))

    assert "Nothing that you had judged was settled" in shown
    assert "what was settled is what you had judged" not in shown


def test_compounds_are_discussed_with_their_reasons() -> None:
    cast = make_cast(protocol="compound")
    make_judged(cast, ("1", "0"))
    row = Assignment.objects.get(slot=2)
    row.annotations.update(reasons=["missing"], atoms=[])
    page = thread_page(a_thread(cast, 1).pk)

    text = text_of(client_of(cast.ada).get(page))

    assert "Expert 2 wrong missing" in text
    assert "懒狗睡着了" in text
    assert text_of(client_of(cast.mei).get(RESOLUTION)).count("lazy dog 1") >= 1


@pytest.mark.parametrize("items", [3, 40])
def test_pages_cost_the_same_for_few_items_and_for_many(
    items: int, django_assert_max_num_queries: object
) -> None:
    cast = make_cast()
    make_judged(cast, *[("1", "0")] * items, notes=False)
    open_all(cast)
    mei, ada = client_of(cast.mei), client_of(cast.ada)

    for client, address, queries in (
        (mei, BATCHES, 14),
        (mei, RESOLUTION, 15),
        (mei, DISCUSSIONS, 5),
        (ada, DISCUSSIONS, 4),
        (ada, "/campaigns/main/settled/", 4),
        (mei, f"{RESOLUTION}1/", 9),
        (mei, "/campaigns/main/rounds/settled/", 7),
        (mei, f"/campaigns/main/items/{Item.objects.earliest('pk').pk}/decide/", 14),
    ):
        with django_assert_max_num_queries(queries):  # type: ignore[operator]
            assert client.get(address).status_code == 200
