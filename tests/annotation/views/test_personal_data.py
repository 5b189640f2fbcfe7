"""One's own data and other people's: taking it along, ending links, erasing."""

import json

import pytest

from annotation.models import AuditEntry
from annotation.services.access import create_invitation
from tests.factories import (
    PASSWORD,
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_triple,
    with_password,
)
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def place(cast: Cast, name: str) -> int:
    return cast.campaign.memberships.get(user__username=name).pk


def test_everybody_takes_their_own_data_along(cast: Cast) -> None:
    make_annotation(make_assignment(make_triple(cast.campaign, 1), cast.ada), note="mine")
    response = client_of(cast.ada).get("/account/data/file/")

    document = json.loads(response.content)
    assert document["account"]["name"] == "ada"
    assert document["campaigns"][0]["answers"][0]["note"] == "mine"
    assert AuditEntry.objects.count() == 0  # one's own is no matter for the record


def test_a_manager_exports_it_for_them_and_that_is_written_down(cast: Cast) -> None:
    response = client_of(cast.mei).post(f"/campaigns/main/people/{place(cast, 'ada')}/data/")

    assert json.loads(response.content)["account"]["name"] == "ada"
    assert AuditEntry.objects.get(action="personal data exported").actor == cast.mei


def test_not_where_another_campaigns_work_hangs_on_the_account(cast: Cast) -> None:
    other = cast.otto.memberships.get().campaign
    other.memberships.create(user=cast.ada, role="expert", pseudonym="A1")
    client = client_of(cast.mei)

    data = client.post(f"/campaigns/main/people/{place(cast, 'ada')}/data/")
    erasing = client.post(f"/campaigns/main/people/{place(cast, 'ada')}/erase/", {"word": "A1"})

    assert data.status_code == 409
    assert erasing.status_code == 400
    cast.ada.refresh_from_db()
    assert cast.ada.username == "ada"


def test_erasing_asks_for_the_pseudonym_and_leaves_a_trace(cast: Cast) -> None:
    client = client_of(cast.mei)
    address = f"/campaigns/main/people/{place(cast, 'ada')}/erase/"

    asked = text_of(client.get(address))
    wrong = client.post(address, {"word": "ada"})
    done = client.post(address, {"word": "A1"}, follow=True)

    assert "The name to type: A1" in asked
    assert wrong.status_code == 400
    assert "A1 is erased" in text_of(done)
    assert "erased" in text_of(client.get("/campaigns/main/people/"))
    assert AuditEntry.objects.get(action="person erased").detail == {"pseudonym": "A1"}


def test_who_erases_oneself_is_signed_out(cast: Cast) -> None:
    with_password(cast.ada)
    client = client_of(cast.ada)

    wrong = client.post("/account/data/", {"word": "someone"})
    done = client.post("/account/data/", {"word": "ada"}, follow=True)

    assert wrong.status_code == 400
    assert "erased" in text_of(done)
    assert client.get("/account/").status_code == 302
    sent = client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert sent.status_code == 200


def test_the_only_manager_cannot(cast: Cast) -> None:
    response = client_of(cast.mei).post("/account/data/", {"word": "mei"})

    assert response.status_code == 400
    assert "without a manager" in text_of(response)


def test_an_ended_link_says_so(cast: Cast) -> None:
    _invitation, url = create_invitation(cast.ada, cast.mei)
    address = "/invitation/" + url.split("/invitation/")[1]
    client = client_of(cast.mei)
    assert "End the link" in text_of(client.get("/campaigns/main/people/"))

    client.post(f"/campaigns/main/people/{place(cast, 'ada')}/revoke/")

    stranger = client.__class__()
    followed = stranger.get(address)
    assert followed.status_code == 410
    assert "ended this link" in text_of(followed)
    taken = stranger.post(address, {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert taken.status_code == 410
    assert "no password, no link" in text_of(client.get("/campaigns/main/people/"))
    assert AuditEntry.objects.filter(action="invitation revoked").count() == 1
