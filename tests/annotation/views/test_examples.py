"""Examples as pages: no answer of one reaches anybody but its author before two others have scored it."""

import pytest

from annotation.models import Example, ExampleScore
from tests.annotation.views.test_seat import make_work
from tests.factories import Cast, make_cast, make_example, make_member, make_user
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/examples/"
SECRET = "because-of-the-roots"
EXPERT_PAGES = (
    *("work/", "judge/", "history/", "guidelines/", "practice/", "examples/", "my-questions/", "hours/"),
    *("history/?q=tree", "history/?position=1", "practice/1/"),
)
API = ("next/", "recent/", "units/1/", "screens/1/")
TYPED = {
    "relation": "xWant",
    "head": "PersonX plant a tree",
    "tail": "PersonX water it",
    "label": "often",
    "why_en": SECRET,
}


@pytest.fixture
def cast() -> Cast:
    cast = make_work("triple", units=2)
    make_member(cast.campaign, make_user("bo"), "expert", "A3")
    return cast


def seen_by(cast: Cast, user_name: str) -> str:
    """Everything an expert can get, pages and API, in one text."""
    user = cast.campaign.memberships.get(user__username=user_name).user
    client = client_of(user)
    pages = [client.get(f"/campaigns/main/{page}") for page in EXPERT_PAGES]
    json = [
        client.get(f"/campaigns/main/{page}", headers={"accept": "application/json"}) for page in EXPERT_PAGES
    ]
    api = [client.get(f"/api/v1/campaigns/main/{page}") for page in API]
    return "\n".join(response.content.decode() for response in [*pages, *json, *api])


def test_no_response_holds_its_answer_before_two_others_have_scored_it(cast: Cast) -> None:
    client_of(cast.ada).post(PAGE, TYPED)
    example = Example.objects.get()

    for scorer in (None, cast.lin):
        if scorer:
            client_of(scorer).post(f"{PAGE}{example.pk}/score/", {"label": "rarely"})
        for name in ("lin", "bo"):
            text = seen_by(cast, name)
            assert SECRET not in text
            assert text.count("water it") == (2 if name == "bo" or scorer is None else 0), (
                name
            )  # to be scored
        assert SECRET in seen_by(cast, "ada")  # her own, on the page of her examples
    client_of(cast.mei).post(f"{PAGE}{example.pk}/score/", {"label": "often"})

    for name in ("lin", "bo"):
        assert SECRET in seen_by(cast, name)


def test_what_is_to_be_scored_shows_the_triple_and_three_answers(cast: Cast) -> None:
    example = make_example(cast.campaign, cast.ada, tail="PersonX water it", why_en=SECRET)

    page = client_of(cast.lin).get(PAGE)

    assert "To be scored blind 1" in text_of(page)
    assert "PersonX water it" in text_of(page).replace("PersonX  water", "PersonX water")
    form = body_of(page).split(f'action="{PAGE}{example.pk}/score/"')[1].split("</form>")[0]
    assert [part.split('"')[0] for part in form.split('value="')[2:]] == ["often", "sometimes", "rarely"]


def test_a_score_sent_twice_counts_once_and_the_first_stands(cast: Cast) -> None:
    example = make_example(cast.campaign, cast.ada)
    lin = client_of(cast.lin)

    for label in ("rarely", "often"):
        assert lin.post(f"{PAGE}{example.pk}/score/", {"label": label}).status_code == 302

    assert ExampleScore.objects.get().label == "0"


@pytest.mark.parametrize(("user", "status"), [("ada", 404), ("otto", 404), ("vera", 404)])
def test_nobody_scores_what_is_not_theirs_to_score(cast: Cast, user: str, status: int) -> None:
    example = make_example(cast.campaign, cast.ada)

    response = client_of(getattr(cast, user)).post(f"{PAGE}{example.pk}/score/", {"label": "often"})

    assert response.status_code == status
    assert not ExampleScore.objects.exists()


def test_a_manager_sees_where_blind_scores_differ(cast: Cast) -> None:
    example = make_example(cast.campaign, cast.ada)
    mei = client_of(cast.mei)
    for user, label in ((cast.lin, "rarely"), (cast.mei, "often")):
        client_of(user).post(f"{PAGE}{example.pk}/score/", {"label": label})

    page = text_of(mei.get(PAGE))
    assert "1 example was scored otherwise than its author answered." in page
    assert "Blind: rarely/never/ambiguous/invalid · always/often" in page
    mei.post(f"{PAGE}{example.pk}/retire/")

    assert "PersonX water the tree" not in text_of(client_of(cast.lin).get("/campaigns/main/guidelines/"))


def test_it_keeps_what_was_typed_where_something_is_missing(cast: Cast) -> None:
    page = client_of(cast.ada).post(PAGE, {**TYPED, "why_en": ""})

    assert page.status_code == 400
    assert "Say why the answer is right" in text_of(page)
    assert "PersonX water it" in body_of(page)
    assert not Example.objects.exists()


def test_a_campaign_of_compounds_has_none() -> None:
    cast = make_cast(protocol="compound")

    assert "a campaign of compounds has none" in text_of(client_of(cast.ada).get(PAGE))
    assert client_of(cast.mei).post(PAGE, TYPED).status_code == 302
    assert not Example.objects.exists()
