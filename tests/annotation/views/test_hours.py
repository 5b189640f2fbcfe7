"""The page of an expert's hours."""

from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.models import TimeEntry
from annotation.services.hours import correct, record
from annotation.templatetags.hours import duration
from tests.factories import Cast, make_cast, signed_in

ADDRESS = "/campaigns/main/hours/"


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def filled_in(**fields: str) -> dict[str, str]:
    given = {"day": timezone.localdate().isoformat(), "minutes": "30", "reason": "judged on paper"}
    return {**given, "client_key": str(uuid4()), **fields}


def test_it_says_what_counts_and_up_to_where(cast: Cast) -> None:
    body = signed_in(cast.ada).get(ADDRESS).content.decode()

    assert "at most 2 minutes each" in body
    assert "No time was measured" in body


def test_it_says_the_cap_of_a_compound(db: None) -> None:
    cast = make_cast(protocol="compound", k=1)

    assert "at most 5 minutes each" in signed_in(cast.ada).get(ADDRESS).content.decode()


def test_it_shows_one_s_own_days_only(cast: Cast) -> None:
    record(cast.campaign, cast.lin, kind="guideline", seconds=840, client_key=uuid4())

    assert "14 min" in signed_in(cast.lin).get(ADDRESS).content.decode()
    assert "14 min" not in signed_in(cast.ada).get(ADDRESS).content.decode()


def test_on_narrow_screens_each_figure_has_its_name_beside_it(cast: Cast) -> None:
    """And what is nothing is left out: a cell without a name is not shown there."""
    record(cast.campaign, cast.ada, kind="guideline", seconds=600, client_key=uuid4())
    body = signed_in(cast.ada).get(ADDRESS).content.decode()

    assert body.count('<table class="table stacked">') == 2
    for name in ("Saved units", "Guidelines", "Counts", "Page in sight"):
        assert f'<td class="num" data-label="{name}">' in body
    assert 'data-label="Practice"' not in body


def test_it_enters_a_correction_and_shows_its_reason(cast: Cast) -> None:
    client = signed_in(cast.ada)

    response = client.post(ADDRESS, filled_in(minutes="90", reason="训练 <b>课</b>"), follow=True)

    body = response.content.decode()
    assert "1 h 30 min" in body
    assert "训练 &lt;b&gt;课&lt;/b&gt;" in body
    assert TimeEntry.objects.get().user == cast.ada


def test_it_enters_a_double_click_once(cast: Cast) -> None:
    client, form = signed_in(cast.ada), filled_in()

    statuses = [client.post(ADDRESS, form).status_code for _ in range(2)]

    assert statuses == [302, 302]
    assert TimeEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("minutes", "-31", "Only 30 minutes count on that day"),
        ("minutes", "0", "adds or takes away some time"),
        ("minutes", "5000", "1440"),
        ("minutes", "half", "whole number"),
        ("reason", " ", "required"),
        ("day", "2020-01-01", "Choose a day"),
        ("day", "yesterday", "valid date"),
        ("client_key", "x", "open the page again"),
    ],
)
def test_it_says_what_is_wrong_and_keeps_what_was_typed(
    cast: Cast, field: str, value: str, said: str
) -> None:
    today = timezone.localdate()
    correct(cast.campaign, cast.ada, seconds=1800, day=today, reason="talk", client_key=uuid4())

    response = signed_in(cast.ada).post(ADDRESS, filled_in(**{field: value}))

    body = response.content.decode()
    assert response.status_code == 400
    assert said in body
    assert field == "reason" or "judged on paper" in body
    assert TimeEntry.objects.count() == 1


def test_it_offers_the_day_in_the_form_browsers_take_in_chinese_too(cast: Cast) -> None:
    client = signed_in(cast.ada)
    client.cookies["django_language"] = "zh-hans"

    body = client.get(ADDRESS).content.decode()

    assert f'value="{timezone.localdate().isoformat()}"' in body
    assert "我的工时" in body


def test_it_takes_a_reason_of_five_hundred_rare_characters(cast: Cast) -> None:
    client = signed_in(cast.ada)
    body = client.get(ADDRESS).content.decode()
    assert 'data-limit="500"' in body
    assert "maxlength" not in body

    assert client.post(ADDRESS, filled_in(reason="𠮷" * 501)).status_code == 400
    assert client.post(ADDRESS, filled_in(reason="𠮷" * 500)).status_code == 302


def test_it_is_linked_from_the_work_page(cast: Cast) -> None:
    from tests.annotation.views.test_seat import make_work

    make_work("triple", units=1, cast=cast)

    assert f'href="{ADDRESS}"' in signed_in(cast.ada).get("/campaigns/main/work/").content.decode()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),
        (0, "0 min"),
        (29, "under 1 min"),
        (-29, "under 1 min"),
        (30.1, "1 min"),
        (90, "2 min"),
        (3599, "1 h 00 min"),
        (-3900, "−1 h 05 min"),
    ],
)
def test_it_tells_time_in_hours_and_minutes(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words
