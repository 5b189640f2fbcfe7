"""What is damaged is refused before a page looks at it."""

import pytest

from tests.factories import make_cast, signed_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/campaigns/main/history/?q=%00", "/campaigns/main/?x=a%00b"])
def test_an_address_with_a_character_that_cannot_be_stored(address: str) -> None:
    page = signed_in(make_cast().ada).get(address)

    assert page.status_code == 400
    assert "damaged" in page.content.decode()
    assert "default-src" in page["Content-Security-Policy"]


def test_a_form_with_it_changes_nothing() -> None:
    cast = make_cast()

    sent = signed_in(cast.mei).post(
        "/campaigns/main/close/",
        "reason=ov%00er",
        content_type="application/x-www-form-urlencoded",
    )

    assert sent.status_code == 400
    cast.campaign.refresh_from_db()
    assert cast.campaign.closed_at is None


def test_a_program_is_told_which_parameter_holds_it() -> None:
    answer = signed_in(make_cast().mei).get("/api/v1/campaigns/main/items/?after=%00")

    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"
    assert "after" in answer.json()["detail"]
