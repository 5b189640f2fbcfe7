"""Closing, archiving, opening again: what managers and experts see, and what an archived campaign refuses."""

import re

import pytest

from annotation.services.campaign_state import archive_campaign, close_campaign
from tests.factories import Cast, make_assignment, make_cast, make_part, make_triple
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def test_who_was_judging_reads_why(cast: Cast) -> None:
    part = make_part(cast.campaign.rounds.get())
    make_assignment(make_triple(cast.campaign, 1), cast.ada, part=part)
    response = client_of(cast.mei).post(
        "/campaigns/main/close/", {"reason": "The money is spent."}, follow=True
    )

    assert "The campaign is closed" in text_of(response)
    page = text_of(client_of(cast.ada).get("/campaigns/main/work/"))
    assert "The money is spent." in page
    assert "Nothing is judged in it any more" in page


def test_without_a_reason_it_stays_open(cast: Cast) -> None:
    response = client_of(cast.mei).post("/campaigns/main/close/")

    assert response.status_code == 409
    cast.campaign.refresh_from_db()
    assert cast.campaign.closed_at is None


def test_archived_it_is_folded_away_and_only_read(cast: Cast) -> None:
    item = make_triple(cast.campaign, 1)
    close_campaign(cast.campaign, reason="Done.", by=cast.mei)
    archive_campaign(cast.campaign, by=cast.mei)
    client = client_of(cast.mei)

    assert "1 archived campaign" in text_of(client.get("/"))
    for address in ("", "items/", "people/", "audit/", "settings/", "reports/", "progress/", "attention/"):
        assert client.get(f"/campaigns/main/{address}").status_code == 200
    settings = body_of(client.get("/campaigns/main/settings/"))
    assert "Take it out of the archive to change its settings." in settings
    form = settings.split('<form class="form wide"')[1].split("</form>")[0]
    fields = re.findall(r'<(?:input|select|textarea)[^>]* name="(?!csrf)[^>]*>', form)
    assert fields
    assert all("disabled" in field for field in fields)
    assert "once it is taken out of the archive and opened again" in body_of(
        client.get("/campaigns/main/assign/")
    )
    refused = client.post(f"/campaigns/main/items/{item.pk}/withdraw/", {"reason": "x"})
    assert refused.status_code == 409
    assert "archived" in text_of(refused)
    assert client.post("/campaigns/main/settings/", {"title": "New"}).status_code == 409
    assert client.post("/campaigns/main/people/names/").status_code == 200  # reading, and written down
    assert client.post("/campaigns/main/export/names/annotations.csv").status_code == 200
    item.refresh_from_db()
    assert item.retired_at is None

    client.post("/campaigns/main/unarchive/")
    client.post("/campaigns/main/reopen/")
    assert client.post(f"/campaigns/main/items/{item.pk}/withdraw/", {"reason": "x"}).status_code == 302
    assert "archived" not in text_of(client.get("/"))
