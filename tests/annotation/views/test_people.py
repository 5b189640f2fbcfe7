"""Who takes part: adding, inviting, closing and opening accounts, removing."""

import re

import pytest

from annotation.models import AuditEntry, Invitation, Membership, User
from annotation.services.access import find_invitation
from tests.factories import Cast, make_assignment, make_cast, make_member, make_triple, make_user
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PEOPLE = "/campaigns/main/people/"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def place(cast: Cast, user: User) -> int:
    return cast.campaign.memberships.get(user=user).pk


def test_it_shows_pseudonyms_until_names_are_asked_for(cast: Cast) -> None:
    client = client_of(cast.mei)

    before, shown = text_of(client.get(PEOPLE)), text_of(client.post(PEOPLE + "names/"))

    assert "A1 expert" in before
    assert "ada" not in before
    assert "A1 ada expert" in shown
    assert AuditEntry.objects.get(action="names shown").detail == {"page": "people"}


def test_it_adds_somebody_new_and_shows_their_link_once(cast: Cast) -> None:
    client = client_of(cast.mei)

    response = client.post(PEOPLE + "add/", {"name": "Wei", "role": "expert"})

    page = text_of(response)
    assert "Wei takes part as A3." in page
    link = re.search(r'value="(http://[^"]+/invitation/([^/"]+)/)"', body_of(response))
    assert link
    found = find_invitation(link.group(2))
    assert found is not None
    assert found.user.username == "Wei"
    assert link.group(2) not in body_of(client.get(PEOPLE))
    assert "invited" in text_of(client.get(PEOPLE))


def test_it_adds_somebody_who_can_sign_in_without_a_link(cast: Cast) -> None:
    make_user("wei", password="seven green rivers")

    response = client_of(cast.mei).post(PEOPLE + "add/", {"name": "WEI", "role": "viewer"}, follow=True)

    assert "wei takes part as V2." in text_of(response)
    assert Invitation.objects.count() == 0


def test_it_says_why_somebody_cannot_be_added(cast: Cast) -> None:
    client = client_of(cast.mei)

    again = client.post(PEOPLE + "add/", {"name": "Ada", "role": "viewer"})
    nobody = client.post(PEOPLE + "add/", {"name": " ", "role": "expert"})

    assert again.status_code == 409
    assert "one person has one role in a campaign" in text_of(again)
    assert nobody.status_code == 400
    assert cast.campaign.memberships.count() == 4


def test_it_makes_a_new_link_and_ends_the_old_one(cast: Cast) -> None:
    client = client_of(cast.mei)
    address = f"{PEOPLE}{place(cast, cast.ada)}/invite/"

    client.post(address)
    response = client.post(address)

    assert "The new link is ready; an older one no longer works." in text_of(response)
    first, second = Invitation.objects.order_by("id")
    assert first.expires_at <= second.created_at < second.expires_at


def test_it_makes_no_link_to_an_account_that_works_for_somebody_else_too(cast: Cast) -> None:
    other = cast.otto.memberships.get().campaign
    make_member(other, cast.ada, "expert", "A1")

    response = client_of(cast.mei).post(f"{PEOPLE}{place(cast, cast.ada)}/invite/")

    assert response.status_code == 409
    assert Invitation.objects.count() == 0


def test_it_closes_an_account_and_opens_it_again(cast: Cast) -> None:
    client = client_of(cast.mei)
    address = f"{PEOPLE}{place(cast, cast.ada)}/"

    closed = client.post(address + "close/", follow=True)
    assert "The account of A1 is closed; the work stays." in text_of(closed)
    assert not User.objects.get(pk=cast.ada.pk).is_active
    assert "closed" in text_of(client.get(PEOPLE))

    opened = client.post(address + "reopen/", follow=True)
    assert "The account of A1 is open again." in text_of(opened)
    assert User.objects.get(pk=cast.ada.pk).is_active
    actions = list(AuditEntry.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["account closed", "account reopened"]


def test_it_opens_no_account_that_works_elsewhere_too(cast: Cast) -> None:
    other = cast.otto.memberships.get().campaign
    make_member(other, cast.ada, "expert", "A1")
    User.objects.filter(pk=cast.ada.pk).update(is_active=False)

    response = client_of(cast.mei).post(f"{PEOPLE}{place(cast, cast.ada)}/reopen/")

    assert response.status_code == 409
    cast.ada.refresh_from_db()
    assert not cast.ada.is_active


def test_it_removes_who_has_no_work_and_keeps_who_has(cast: Cast) -> None:
    make_assignment(make_triple(cast.campaign, 1), cast.ada)
    client = client_of(cast.mei)

    kept = client.post(f"{PEOPLE}{place(cast, cast.ada)}/remove/")
    gone = client.post(f"{PEOPLE}{place(cast, cast.lin)}/remove/", follow=True)

    assert kept.status_code == 409
    assert "A1 was given items in this campaign" in text_of(kept)
    assert "A2 no longer takes part." in text_of(gone)
    assert set(cast.campaign.memberships.values_list("pseudonym", flat=True)) == {"A1", "M1", "V1"}


def test_it_keeps_the_last_manager(cast: Cast) -> None:
    client = client_of(cast.mei)

    response = client.post(f"{PEOPLE}{place(cast, cast.mei)}/remove/")

    assert response.status_code == 409
    assert Membership.objects.filter(user=cast.mei).exists()
    make_member(cast.campaign, make_user("ming"), "manager", "M2")
    assert client.post(f"{PEOPLE}{place(cast, cast.mei)}/remove/").headers["Location"] == "/"


def test_it_touches_nobody_of_another_campaign(cast: Cast) -> None:
    otto = cast.otto.memberships.get()
    client = client_of(cast.mei)

    for action in ("invite", "close", "reopen", "remove"):
        assert client.post(f"{PEOPLE}{otto.pk}/{action}/").status_code == 404
    cast.otto.refresh_from_db()
    assert cast.otto.is_active


def test_a_refusal_tells_no_name(cast: Cast) -> None:
    make_member(cast.otto.memberships.get().campaign, cast.ada, "expert", "A1")
    client = client_of(cast.mei)

    for what in ("invite", "close", "reopen", "revoke", "data"):
        response = client.post(f"{PEOPLE}{place(cast, cast.ada)}/{what}/")

        assert response.status_code == 409
        assert "ada" not in text_of(response)


def test_a_link_for_somebody_known_names_them_and_that_is_written_down(cast: Cast) -> None:
    response = client_of(cast.mei).post(f"{PEOPLE}{place(cast, cast.ada)}/invite/")

    assert "ada" in text_of(response)
    entry = AuditEntry.objects.get(action="names shown")
    assert entry.detail == {"page": "invitation", "pseudonym": "A1"}
