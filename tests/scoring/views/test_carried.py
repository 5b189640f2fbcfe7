"""The page that compares systems tells with which error verdicts are carried over."""

from pathlib import Path

import pytest

from annotation.models import Campaign, CarryOver, Membership, User
from annotation.services.carried import standing
from annotation.services.labels import finalize
from annotation.services.people import add_member
from tests.carrying import give_out, says, two_systems, wish
from tests.factories import make_user
from tests.material import answer_everything
from tests.pages import client_of, text_of
from tests.scoring.kept import computed

pytestmark = pytest.mark.django_db

COMPARISON = "/campaigns/main/reports/comparison/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def campaign(mei: User, tmp_path: Path) -> Campaign:
    made = two_systems(tmp_path)
    add_member(made, mei, Membership.Role.MANAGER)
    return made


@pytest.mark.parametrize("carried", [True, False])
def test_the_comparison_shows_the_error_where_anything_is_carried(
    mei: User, campaign: Campaign, *, carried: bool
) -> None:
    give_out(campaign, carry_over=wish(20) if carried else None)
    answer_everything(campaign, says)
    finalize(campaign)

    page = text_of(computed(client_of(mei), COMPARISON))

    assert ("Verdicts that are carried over" in page) is carried
    if carried:
        n, checked = standing().count(), CarryOver.objects.filter(checked=True).count()
        assert f"{n} labels were not given by judging" in page
        assert f"Verdicts carried over in the rates above: base 0 , later {n}" in page
        assert f"all together {checked} 0 0.00" in page
        assert "–: these experts were given nothing again" in page
        assert "carry-over-error|ver:1|" in page
