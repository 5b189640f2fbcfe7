"""Every number of a report opens the list of what it counts."""

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, AuditEntry, Campaign, Item, Membership, Round, Unit, User
from annotation.services.errors import Refused
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.records import records
from scoring.reports import as_markdown
from scoring.services.behind import Number, items_behind
from scoring.services.evaluations import request_agreement
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.tasks import agreement
from tests.factories import answer, make_assignment, make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, triples
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed as asked_for

pytestmark = pytest.mark.django_db

REPORTS = "/campaigns/main/reports/"
NAMES = ("the dog", "any dog", "the doctor", "saw the dog", "saw any hat", "saw the doctor")
CLASSES = ("test_set", "cs_head", "all_head", "adv")


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def managed(mei: User, protocol: str, k: int) -> Campaign:
    campaign = new_campaign(protocol, k=k)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


@pytest.fixture
def judged_triples(mei: User, tmp_path: Path) -> Campaign:
    """Four experts over four parts; answers of all three kinds, and labels of both."""
    campaign = managed(mei, "triple", 2)
    rows = [
        row | {"class": CLASSES[place % 4], "split": "dev" if place % 5 == 0 else "test"}
        for place, row in enumerate(triples(24))
    ]
    load_rows(campaign, rows, tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: ("1", "0.5", "1", "0")[(row.item.position * row.slot) % 4])
    finalize(campaign)
    return campaign


def computed(campaign: Campaign) -> Campaign:
    """With its agreement, in all and by part."""
    for job in request_agreement(campaign, by=None):
        agreement(job.pk)
    return campaign


@pytest.fixture
def judged_compounds(mei: User, tmp_path: Path) -> Campaign:
    """Six compounds; some contexts wrong, one that could not be judged, one that the experts are split on."""
    campaign = managed(mei, "compound", 2)
    rows = [
        row | {"compound": NAMES[place // 5], "source": f"then {NAMES[place // 5]} saw {row['context_no']} ."}
        for place, row in enumerate(compounds(6))
    ]
    load_rows(campaign, rows, tmp_path, system="base", run="1")
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, compound_answer, cause="source_broken")
    return campaign


def compound_answer(row: Assignment) -> str:
    place = row.item.position
    if place == 13:
        return ""
    return "0" if place % 4 == 0 or (place == 27 and row.slot == 2) else "1"


def links_of(page: str) -> list[tuple[str, int]]:
    found = re.findall(r'<a class="behind" href="([^"]+)">([\d,]+)</a>', page)
    return [(html.unescape(link), int(number.replace(",", ""))) for link, number in found]


def assert_as_many(client: Client, campaign: Campaign, kind: str, links: list[tuple[str, int]]) -> None:
    """What each link leads to; the page itself of the last one, since pages are slow."""
    for link, number in links:
        asked = dict(parse_qsl(urlsplit(link).query))
        names = ("system", "run", "labels")
        system, run, labels = (asked.pop(name, None) for name in names)
        options = Options(system=system, run=run, labels=labels)
        assert items_behind(campaign, kind, options, Number(**asked)).n == number, link
    response = client.get(links[-1][0])
    assert f'id="n">{links[-1][1]}<' in body_of(response)


@pytest.mark.parametrize("kind", ["agreement", "statistics", "human"])
def test_every_number_of_triples_opens_as_many(judged_triples: Campaign, mei: User, kind: str) -> None:
    if kind == "agreement":
        computed(judged_triples)
    client = client_of(mei)

    links = links_of(body_of(client.get(f"{REPORTS}{kind}/")))

    assert len(links) > 10
    assert_as_many(client, judged_triples, kind, links)


@pytest.mark.parametrize("kind", ["agreement", "error-rates", "bleu"])
def test_every_number_of_compounds_opens_as_many(judged_compounds: Campaign, mei: User, kind: str) -> None:
    client = client_of(mei)
    if kind == "agreement":
        computed(judged_compounds)
    page = asked_for(client, f"{REPORTS}{kind}/") if kind == "bleu" else client.get(f"{REPORTS}{kind}/")

    links = links_of(body_of(page))

    assert links
    assert_as_many(client, judged_compounds, kind, links)


def test_what_has_no_type_stands_in_a_row_of_its_own(judged_compounds: Campaign, mei: User) -> None:
    """The rows of the table add up, in the files too, and the row's numbers open their items."""
    Unit.objects.filter(campaign=judged_compounds, position__lte=2).update(type="")
    client = client_of(mei)

    page = client.get(f"{REPORTS}error-rates/")
    document = report(judged_compounds, "error-rates", Options())

    of_type = [*document["by"]["type"].values(), document["without"]["type"]]
    assert sum(row["instance"]["n"] for row in of_type) == document["instance"]["n"]
    assert "" not in document["by"]["type"]
    assert "not given" in text_of(page)
    links = [(link, n) for link, n in links_of(body_of(page)) if link.endswith("by=type&value=")]
    assert links
    assert_as_many(client, judged_compounds, "error-rates", links)
    assert "| not given |" in as_markdown("error-rates", document)
    rows = [
        row for row in records("error-rates", document) if row["by"] == "type" and row["rate"] == "instance"
    ]
    assert [row["group"] for row in rows][-1] == "not given"


def test_a_pair_shows_what_the_two_answered_under_their_pseudonyms(
    judged_triples: Campaign, mei: User
) -> None:
    computed(judged_triples)
    page = body_of(client_of(mei).get(f"{REPORTS}agreement/"))
    links = [html.unescape(link) for link in re.findall(r'href="([^"]*of=differing&amp;a=[^"]*)"', page)]
    assert links

    shown = text_of(client_of(mei).get(links[0]))
    assert "In this figure" in shown
    assert re.search(r"Items answered differently · A\d – A\d", shown)
    assert re.search(r"A\d: always/often A\d: (sometimes|rarely/never)|A\d: sometimes A\d: ", shown)
    assert "ada" not in shown


def test_a_list_holds_fifty_a_page(mei: User, tmp_path: Path) -> None:
    campaign = managed(mei, "triple", 2)
    load_rows(campaign, triples(53, label="1"), tmp_path)
    client = client_of(mei)

    first = client.get(f"{REPORTS}statistics/items/?of=n")
    link = re.search(r'href="(\?[^"]*page=2)[^"]*"', body_of(first))
    assert link
    second = client.get(f"{REPORTS}statistics/items/{html.unescape(link.group(1))}")

    assert "Triples: 53 · on this page: 1–50" in text_of(first)
    assert "Triples: 53 · on this page: 51–53" in text_of(second)
    assert [body_of(page).count('<tr id="item-') for page in (first, second)] == [50, 3]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("statistics/items/?of=nonsense", "There is no number “nonsense” here; there are n, plausible"),
        (
            "statistics/items/?of=n&by=colour&value=red",
            "There is no table “colour” here; there are split, group",
        ),
        ("statistics/items/?of=n&by=class&value=red", "There is no row “red” in the table “class”."),
        ("agreement/items/?of=common&a=Z1&b=Z2", "Nobody called “Z1” judged here"),
        ("agreement/items/?of=answer&by=answer&value=2", "There is no row “2” in the table “answer”."),
        ("agreement/items/?of=again-n", "There is no number “again-n” here; there are judged, common"),
    ],
)
def test_what_is_not_there_is_said_plainly(
    judged_triples: Campaign, mei: User, query: str, sentence: str
) -> None:
    response = client_of(mei).get(REPORTS + query)

    assert response.status_code == 400
    assert sentence in text_of(response)


def test_it_is_for_managers_and_viewers_only(judged_triples: Campaign) -> None:
    vera, ada = make_user("vera"), User.objects.get(username="ada")
    add_member(judged_triples, vera, Membership.Role.VIEWER)
    address = f"{REPORTS}agreement/items/?of=differing"

    assert client_of(vera).get(address).status_code == 200
    assert client_of(ada).get(address).status_code == 404
    assert client_of(make_user("otto")).get(address).status_code == 404


@pytest.mark.parametrize("link", ["agreement/items/?of=judged", "statistics/items/?of=n&by=class&value=adv"])
def test_it_costs_the_same_number_of_queries_for_any_number_of_items(
    judged_triples: Campaign, mei: User, link: str
) -> None:
    client = client_of(mei)
    client.get(REPORTS + link)
    with CaptureQueriesContext(
        connection,
    ) as many:
        client.get(REPORTS + link)
    kept = Item.objects.filter(item_class="adv").first()
    assert kept
    Item.objects.exclude(pk=kept.pk).update(retired_why="replaced", retired_at=kept.batch.published_at)
    with CaptureQueriesContext(connection) as few:
        client.get(REPORTS + link)

    assert len(few) <= len(many) <= len(few) + 1
    assert len(many) < 30


def test_open_answers_keep_it_shut_until_a_manager_asks_which_is_recorded(
    judged_triples: Campaign, mei: User
) -> None:
    row = Assignment.objects.order_by("pk").first()
    assert row
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    client = client_of(mei)
    address = f"{REPORTS}agreement/items/?of=differing"

    shut = client.get(address)
    shown = client.post(address)

    assert shut.status_code == 409
    assert "1 answer is still open" in text_of(shut)
    assert "Position" not in text_of(shut)
    assert "Items answered differently" in text_of(shown)
    assert AuditEntry.objects.filter(action="interim figures").count() == 1


# Only "dog" stands in the translations.
LEXICON = "".join(
    f"{atom}\t{form}\n"
    for atom, form in {
        "the": "/",
        "any": "任何",
        "dog": "园丁",
        "doctor": "医生",
        "hat": "帽子",
        "saw": "看",
    }.items()
).encode()


def test_cells_of_the_check_open_their_items_though_the_lexicon_is_not_kept(
    judged_compounds: Campaign, mei: User
) -> None:
    client = client_of(mei)
    page = client.post(f"{REPORTS}compound-check/", {"lexicon": SimpleUploadedFile("lexicon.tsv", LEXICON)})
    forms = re.findall(
        r'action="([^"]*compound-check/items/[^"]*)">.*?name="items" value="([^"]+)"><button[^>]*>([\d,]+)<',
        body_of(page),
    )
    assert len(forms) > 1

    for address, items, number in forms:
        shown = client.post(html.unescape(address), {"items": html.unescape(items)})
        assert f"Contexts: {number} " in text_of(shown)
        assert "In this figure" not in text_of(shown)  # nothing is told of any
        assert body_of(shown).count('<tr id="item-') == int(number)
    damaged = client.post(html.unescape(forms[0][0]), {"items": "nonsense"})
    assert (damaged.status_code, "is damaged" in text_of(damaged)) == (400, True)


def test_a_word_opens_the_triples_that_hold_it(judged_triples: Campaign) -> None:
    found = items_behind(judged_triples, "artifacts", Options(), Number(of="n", by="word", value="letter"))

    assert (found.n, len(found.items)) == (24, 24)
    with pytest.raises(Refused, match="no row “Letter” in the table “word”"):
        items_behind(judged_triples, "artifacts", Options(), Number(of="n", by="word", value="Letter"))


def test_what_one_judged_twice_opens_by_direction(judged_triples: Campaign, mei: User) -> None:
    main = judged_triples.rounds.get(kind=Round.Kind.MAIN)
    again = Round.objects.create(
        campaign=judged_triples, kind=Round.Kind.REPEAT, k=1, guideline=main.guideline
    )
    for place, row in enumerate(main.assignments.filter(slot=1).select_related("item", "unit")[:6], start=1):
        answer(make_assignment(row.item, row.expert, round=again, position=place, queue=place), "1")
    client = client_of(mei)

    computed(judged_triples)
    links = links_of(body_of(client.get(f"{REPORTS}agreement/")))

    assert len([link for link, _number in links if "of=again-" in link]) > 2
    assert_as_many(client, judged_triples, "agreement", [one for one in links if "of=again-" in one[0]])
    by_one = next(link for link, _number in links if "of=again-n&a=" in link)
    shown = text_of(client.get(by_one))
    assert "Items: " in shown
    assert re.search(r"A\d: [a-z/]+ → always/often", shown)


def test_it_says_that_labels_came_with_the_items(mei: User, tmp_path: Path) -> None:
    campaign = managed(mei, "triple", 2)
    load_rows(campaign, [row | {"label": "1"} for row in triples(3)], tmp_path)
    client, said = client_of(mei), "Labels: those that were imported with the items."

    assert said in text_of(client.get(f"{REPORTS}statistics/items/?of=plausible"))
    finalize(campaign)
    assert said not in text_of(client.get(f"{REPORTS}statistics/items/?of=unlabelled"))
