"""The items of a campaign, as managers and viewers see them."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, AuditEntry, Campaign, Item, Membership, User
from annotation.services.fix_text import fix_text
from annotation.services.gold import mark
from annotation.services.items import PAGE, withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from annotation.services.verify import verify
from tests.factories import make_cast, make_judged, make_member, make_user, save_label
from tests.material import answer_everything, compounds, load, load_rows, new_campaign, save, sheet, triples
from tests.pages import body_of, client_of, text_of
from tests.shared import shared

pytestmark = pytest.mark.django_db

ITEMS = "/campaigns/main/items/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def campaign_of(mei: User, protocol: str = "triple", k: int | None = None) -> Campaign:
    campaign = new_campaign(protocol, k=k)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def rows_of(body: str) -> list[str]:
    """The positions shown, in their order."""
    return re.findall(r'<th scope="row" class="num"[^>]*>(\d+)', body)


def test_it_shows_texts_exactly_as_they_are(mei: User) -> None:
    """c23: tails that are numbers keep their zeros; nothing is read as a number."""
    load(campaign_of(mei), shared("cases/c23_numeric_only_tails.csv"))

    shown = re.findall(r'<span class="exact">([^<]*)</span>', body_of(client_of(mei).get(ITEMS)))

    assert [text for text in shown if text in ("42", "0", "3.10", "1e3")] == ["42", "0", "3.10", "1e3"]


def test_it_pages_by_position_without_repeats_or_gaps(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2 * PAGE + 3), tmp_path)
    client = client_of(mei)
    seen: list[str] = []

    address: str | None = ITEMS
    while address:
        body = body_of(client.get(address))
        seen += rows_of(body)
        following = re.search(r'href="(\?[^"]*after=\d+)"', body)
        address = ITEMS + following.group(1) if following else None

    assert seen == [str(position) for position in range(1, 2 * PAGE + 4)]


def test_it_narrows_items_down(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "compound", k=1)
    load_rows(campaign, compounds(2), tmp_path, system="base", run="1")
    client = client_of(mei)

    def positions(query: str) -> list[str]:
        return rows_of(body_of(client.get(f"{ITEMS}?{query}")))

    assert positions("first=3&last=5") == ["3", "4", "5"]
    assert positions("q=c2 GARDENER") == ["6", "7", "8", "9", "10"]
    assert positions("q=困倦的园丁2") == ["6", "7", "8", "9", "10"]
    assert positions("q=c1-4") == ["4"]
    assert len(positions("group=NP")) == 10
    assert positions("state=withdrawn") == []
    assert client.get(f"{ITEMS}?group=XX").status_code == 400
    assert client.get(f"{ITEMS}?after=x").status_code == 400


def test_it_shows_how_many_answered_but_not_what(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    for row in Assignment.objects.filter(expert__username="ada"):
        save(sheet([row], "0.5"), row.expert_id)

    page = text_of(client_of(mei).get(ITEMS))

    assert page.count("1/2") == 2
    assert "sometimes" not in page
    assert "0.5" not in page


def test_it_shows_the_final_label_in_words_or_why_there_is_none(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    first = list(Assignment.objects.filter(item__position=1))
    for row in first:
        save(sheet([row], "1"), row.expert_id)
    finalize(campaign)
    client = client_of(mei)

    page = text_of(client.get(ITEMS))

    assert re.search(r"2/2 · final or split", page)
    assert "plausible" not in page  # others still judge
    campaign.rounds.update(state="closed")
    page = text_of(client.get(ITEMS))
    assert re.search(r"2/2 plausible ✓ final", page)
    assert re.search(r"0/2 answers are missing · undecided", page)
    assert rows_of(body_of(client.get(f"{ITEMS}?state=incomplete"))) == ["2"]
    assert rows_of(body_of(client.get(f"{ITEMS}?state=labelled"))) == ["1"]
    assert rows_of(body_of(client.get(f"{ITEMS}?state=undecided"))) == ["2"]
    assert rows_of(body_of(client.get(f"{ITEMS}?state=stale"))) == []


def test_it_says_that_nobody_was_given_an_item(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    finalize(campaign)

    assert "0/0 given to nobody yet · undecided" in text_of(client_of(mei).get(ITEMS))


def test_it_calls_a_split_as_other_pages_do(mei: User, tmp_path: Path) -> None:
    load_rows(campaign_of(mei), [row | {"split": "dev"} for row in triples(1)], tmp_path)
    client = client_of(mei)
    client.post("/language/", {"language": "zh-hans"})

    page = text_of(client.get(ITEMS))

    assert "开发集" in page
    assert "dev" not in page


def test_while_experts_judge_it_does_not_tell_which_answers_are_split() -> None:
    """With two experts the share of splits is their agreement, which stays closed until they are done."""
    cast = make_cast(protocol="compound")
    make_judged(cast, ("1", "1"), ("1", "0"), ("1", None))
    finalize(cast.campaign)
    for user in (cast.mei, cast.vera):
        client = client_of(user)
        page, home = text_of(client.get("/campaigns/main/items/")), text_of(client.get("/campaigns/main/"))
        assert page.count("final or split") == 2
        assert "Final or split 2 Which labels they are" in home
        for text in (page, home):
            assert "the answers are split" not in text.replace("on how many the answers are split", "")
            assert "no label: tie" not in text
        for state in ("tie", "labelled", "undecided"):
            assert client.get("/campaigns/main/items/", {"state": state}).status_code == 400
        assert client.get("/campaigns/main/items/", {"state": "incomplete"}).status_code == 200

    save_label(Assignment.objects.get(answered_at__isnull=True), "1")
    finalize(cast.campaign)
    client = client_of(cast.mei)
    assert "the answers are split" in text_of(client.get("/campaigns/main/items/", {"state": "tie"}))
    assert "Final 2" in text_of(client.get("/campaigns/main/"))


def test_where_one_expert_judges_an_item_nothing_can_be_split(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, protocol="compound", k=1)
    load_rows(campaign, compounds(2), tmp_path)
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    first = list(Assignment.objects.filter(unit__position=1))
    save(sheet(first, "correct"), first[0].expert_id)
    finalize(campaign)
    client = client_of(mei)

    assert text_of(client.get(ITEMS)).count("✓ final") == 5
    assert client.get(f"{ITEMS}?state=labelled").status_code == 200
    assert "Final 5 Which labels they are is not shown while experts judge." in text_of(
        client.get("/campaigns/main/")
    )


def test_it_marks_the_text_that_took_anothers_place(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    assert "corrected text" not in text_of(client_of(mei).get(ITEMS))

    fix_text(campaign, Item.objects.get(position=2).pk, texts={"tail": "PersonX rests"}, by=mei)

    lines = body_of(client_of(mei).get(ITEMS)).split("<tr ")[1:]
    assert ["corrected text" in line for line in lines] == ["PersonX rests" in line for line in lines]
    assert ["corrected text" in line for line in lines] == [False, True]


def test_it_says_that_a_label_is_to_be_updated_where_answers_came_since(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    first, second, third = (list(Assignment.objects.filter(item__position=place)) for place in (1, 2, 3))
    for row in second:
        save(sheet([row], "1"), row.expert_id)
    finalize(campaign)
    for row in [*first, *second, third[0]]:
        row.refresh_from_db()
        save(sheet([row], "0"), row.expert_id)

    hidden = text_of(client_of(mei).get(ITEMS))
    assert hidden.count("2/2 ! to be updated") == 2  # others still judge
    campaign.rounds.update(state="closed")
    response = client_of(mei).get(ITEMS)
    page = text_of(response)

    assert "2/2 ! to be updated" in page
    assert "2/2 plausible ! to be updated" in page
    assert "1/2 answers are missing · undecided" in page
    assert body_of(response).count('<span class="badge warn">') == 2
    assert rows_of(body_of(client_of(mei).get(f"{ITEMS}?state=stale"))) == ["1", "2"]


def test_it_lists_items_that_could_not_be_judged_with_cause_and_note_but_not_by_whom(
    mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei, "compound", k=1)
    load_rows(campaign, compounds(1), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    row = Assignment.objects.get(item__position=2)
    save(sheet([row], "", cannot_judge="source_broken", note="<b>half</b>"), row.expert_id)
    client = client_of(mei)

    response = client.get(f"{ITEMS}?state=problem")

    assert rows_of(body_of(response)) == ["2"]
    assert "source broken: <b>half</b>" in text_of(response)
    assert "A1" not in text_of(response)


def test_it_costs_the_same_number_of_queries_for_one_item_and_for_fifty(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "compound", k=1)
    client = client_of(mei)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(ITEMS)
        return len(captured)

    load_rows(campaign, compounds(1, contexts=1), tmp_path, system="base")
    one = queries()
    load_rows(campaign, compounds(12), tmp_path, system="base", run="2")

    assert queries() == one
    assert one <= 10


# Taking one out and bringing it back


def test_it_withdraws_an_item_with_a_reason_and_restores_it_with_its_answers(
    mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(3), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    answer_everything(campaign)
    item = Item.objects.get(position=2)
    client = client_of(mei)

    gone = client.post(f"{ITEMS}{item.pk}/withdraw/", {"reason": "no <verb>", "next": ITEMS}, follow=True)

    assert "Item 2 is withdrawn; it can be restored." in text_of(gone)
    assert "no <verb>" in text_of(gone)
    item.refresh_from_db()
    assert item.retired_why == "withdrawn"
    assert Assignment.objects.filter(item=item, withdrawn_at__isnull=True).count() == 0
    assert verify(campaign) == []
    entry = AuditEntry.objects.get(action="item withdrawn")
    assert (entry.actor, entry.detail["reason"], entry.detail["position"]) == (mei, "no <verb>", 2)

    back = client.post(f"{ITEMS}{item.pk}/restore/", {"next": ITEMS}, follow=True)

    assert "Item 2 counts again." in text_of(back)
    assert Item.objects.active().count() == 3
    assert Assignment.objects.filter(item=item, withdrawn_at__isnull=True, label="1").count() == 2
    assert verify(campaign) == []


def test_it_restores_only_what_the_withdrawal_took_away(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(1), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    item = Item.objects.get()
    moved = Assignment.objects.filter(item=item).first()
    assert moved is not None
    bo = make_user("bo")
    make_member(campaign, bo, "expert", "A3")
    Assignment.objects.filter(pk=moved.pk).update(withdrawn_at="2020-01-01T00:00:00Z")
    Assignment.objects.create(
        round=moved.round,
        part=moved.part,
        unit=moved.unit,
        item=item,
        expert=bo,
        slot=moved.slot,
        position=1,
        queue=1,
    )
    client = client_of(mei)

    client.post(f"{ITEMS}{item.pk}/withdraw/", {"reason": "broken"})
    client.post(f"{ITEMS}{item.pk}/restore/")

    moved.refresh_from_db()
    assert moved.withdrawn_at is not None
    assert Assignment.objects.filter(item=item, withdrawn_at__isnull=True).count() == 2
    assert verify(campaign) == []


def test_it_wants_a_reason_and_goes_nowhere_else(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(1), tmp_path)
    item = Item.objects.get()
    client = client_of(mei)

    unsaid = client.post(f"{ITEMS}{item.pk}/withdraw/", {"reason": "  "})
    away = client.post(f"{ITEMS}{item.pk}/withdraw/", {"reason": "x", "next": "https://example.org/"})

    assert unsaid.status_code == 409
    assert "why the item is withdrawn" in text_of(unsaid)
    assert away.headers["Location"] == ITEMS


def test_it_finds_no_item_of_another_campaign(mei: User, tmp_path: Path) -> None:
    campaign_of(mei)
    other = new_campaign(slug="other")
    load_rows(other, triples(1), tmp_path)
    item = Item.objects.get()

    response = client_of(mei).post(f"{ITEMS}{item.pk}/withdraw/", {"reason": "x"})

    assert response.status_code == 404
    item.refresh_from_db()
    assert item.retired_at is None


def test_it_gives_viewers_nothing_to_press(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)
    load_rows(campaign, triples(1), tmp_path)

    body = body_of(client_of(vera).get(ITEMS))

    assert "PersonX writes letter 1" in body
    assert "withdraw" not in body.lower().replace("withdrawn", "")


def test_a_withdrawn_item_still_shows_its_answers_and_why_it_could_not_be_judged(
    mei: User, tmp_path: Path
) -> None:
    """c20: what was counted until the withdrawal is not lost from sight."""
    campaign = campaign_of(mei)
    load_rows(campaign, triples(2), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    answer_everything(campaign)
    row = Assignment.objects.filter(item__position=1)[0]
    row.refresh_from_db()
    save(sheet([row], "0", problem="text_broken", note="no verb"), row.expert_id)
    withdraw(campaign, row.item_id, reason="no sentence", by=mei)

    page = text_of(client_of(mei).get(ITEMS + "?state=withdrawn"))

    assert "2/2" in page
    assert "no verb" in page


def test_managers_find_the_gold_items_from_here(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(1), tmp_path)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)

    assert 'href="/campaigns/main/gold/"' in body_of(client_of(mei).get(ITEMS))
    assert "/gold/" not in body_of(client_of(vera).get(ITEMS))


def test_managers_see_which_items_are_gold_and_viewers_do_not(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei)
    load_rows(campaign, triples(3), tmp_path)
    mark(campaign, position=2, label="1", note="", by=mei)
    add_member(campaign, vera := make_user("vera"), Membership.Role.VIEWER)

    shown = body_of(client_of(mei).get(ITEMS)).split('<tr id="item-')[1:]
    to_viewer = body_of(client_of(vera).get(ITEMS))

    assert ["★" in row for row in shown] == [False, True, False]
    assert "★" not in to_viewer
