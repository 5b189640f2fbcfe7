"""Pictures for papers: what is drawn, that they are files of their kind, and who gets them."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rest_framework.test import APIClient

from annotation.models import Campaign, Membership, User
from annotation.services import sentences
from annotation.services.people import add_member
from scoring.figures import draw
from scoring.models import Prediction, Submission
from scoring.services.options import Options
from scoring.services.pictures import curve_of, picture_of
from tests.factories import make_user
from tests.material import load_rows, new_campaign, run, triples
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed
from tests.scoring.services.test_comparing import judged

pytestmark = pytest.mark.django_db

PAGES = "/campaigns/main/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def campaign(mei: User, tmp_path: Path) -> Campaign:
    """Sixty triples; every one that holds “happy” is plausible, no other is."""
    made = new_campaign("triple")
    rows = triples(60)
    for place, row in enumerate(rows):
        row |= {"label": "1" if place < 30 else "0", "split": "test"}
        row["tail"] = f"be {'happy' if place < 30 else 'sad'} {place}"
    load_rows(made, rows, tmp_path)
    add_member(made, mei, Membership.Role.MANAGER)
    return made


def submission(campaign: Campaign, *, top: float = 0.9) -> Submission:
    """The first twenty score high, the others low."""
    sent = Submission.objects.create(
        campaign=campaign, system="tiny", run="1", split="test", threshold=0.5, file_name="p.csv",
        sha256="0" * 64, digest="0" * 64,
    )  # fmt: skip
    for item in campaign.items.all():
        Prediction.objects.create(submission=sent, item=item, score=top if item.position <= 20 else 0.1)
    return sent


def is_svg(data: bytes) -> bool:
    return ElementTree.fromstring(data).tag.endswith("svg")


def test_the_scatter_holds_the_words_and_two_curves(campaign: Campaign) -> None:
    data = picture_of(campaign, "artifacts", Options())
    assert {point["word"] for point in data["points"] if point["beyond"]} == {"happy", "sad"}
    assert data["curve"][0]["n"] == 1
    svg = draw("artifacts", data, "svg")
    assert is_svg(svg)
    assert svg == draw("artifacts", data, "svg")
    assert b"font-family" not in svg  # letters are outlines
    pdf = draw("artifacts", data, "pdf")
    assert pdf.startswith(b"%PDF-")
    assert b"/FontFile2" in pdf
    assert pdf == draw("artifacts", data, "pdf")


def test_pictures_use_no_colour(campaign: Campaign) -> None:
    drawn = [draw("artifacts", picture_of(campaign, "artifacts", Options()), "svg")]
    sent = submission(campaign)
    drawn += [draw(name, curve_of(sent, name), "svg") for name in ("precision-recall", "reliability")]
    for svg in drawn:
        for code in re.findall(rb"#([0-9a-f]{6})", svg):
            assert code[:2] == code[2:4] == code[4:]


def test_curves_are_those_of_the_predictions(campaign: Campaign) -> None:
    sent = submission(campaign)
    curve = curve_of(sent, "precision-recall")
    assert [(one["threshold"], round(one["recall"]), one["precision"]) for one in curve["points"]] == [
        (0.9, 67, 100),
        (0.1, 100, 50),
    ]
    assert curve["title"] == "tiny / 1"
    bins = [one for one in curve_of(sent, "reliability")["bins"] if one["n"]]
    assert [(one["mean_score"], one["percent"]) for one in bins] == [
        (pytest.approx(0.1), 25),
        (pytest.approx(0.9), 100),
    ]


def test_only_managers_get_curves(mei: User, campaign: Campaign) -> None:
    sent = submission(campaign)
    viewer = make_user("vi")
    add_member(campaign, viewer, Membership.Role.VIEWER)
    for form, mime in (("svg", "image/svg+xml"), ("pdf", "application/pdf")):
        address = f"{PAGES}submissions/{sent.pk}/precision-recall.{form}"
        file = client_of(mei).get(address)
        assert (file.status_code, file.headers["Content-Type"]) == (200, mime)
        assert client_of(viewer).get(address).status_code == 404
    odd = submission_with_odd_scores(campaign)
    refused = client_of(mei).get(f"{PAGES}submissions/{odd.pk}/reliability.svg")
    assert refused.status_code == 409
    assert "scores outside 0 to 1 are no probabilities" in text_of(refused)


def submission_with_odd_scores(campaign: Campaign) -> Submission:
    Submission.objects.all().delete()
    return submission(campaign, top=3.0)


def test_pages_offer_the_picture(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    page = body_of(client.get(f"{PAGES}reports/artifacts/?rule=as-published"))
    assert f'src="{PAGES}reports/artifacts/figure.svg?rule=as-published"' in page
    assert "2 words lie beyond the curves" in page
    file = client.get(f"{PAGES}reports/artifacts/figure.pdf?rule=as-published")
    assert "main-artifacts.pdf" in file.headers["Content-Disposition"]


def test_a_picture_speaks_the_language_of_the_page(
    mei: User, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = client_of(mei), f"{PAGES}reports/artifacts/figure.svg"
    english = client.get(address).content
    monkeypatch.setattr(sentences, "gettext", str.upper)

    assert client.get(address).content != english


def test_a_heat_map_is_drawn_for_several_systems(mei: User, tmp_path: Path) -> None:
    made = judged(tmp_path, ("base", ""), ("big", ""))
    add_member(made, mei, Membership.Role.MANAGER)
    client = client_of(mei)
    assert "figure.svg" in body_of(computed(client, f"{PAGES}reports/comparison/"))
    assert is_svg(client.get(f"{PAGES}reports/comparison/figure.svg").content)
    programs = APIClient()
    programs.force_authenticate(mei)
    found = programs.get("/api/v1/campaigns/main/reports/comparison/?format=svg")
    assert is_svg(found.content)
    assert programs.get("/api/v1/campaigns/main/reports/bleu/?format=svg").status_code == 400


def test_the_command_draws_into_a_file(campaign: Campaign, tmp_path: Path) -> None:
    target = tmp_path / "words.pdf"
    ran = run("report", "main", "--kind", "artifacts", "--format", "pdf", "-o", target)
    assert ran.code == 0, ran.err
    assert target.read_bytes().startswith(b"%PDF-")
    ran = run("report", "main", "--kind", "artifacts", "--format", "svg")
    assert (ran.code, "name it with -o" in ran.err) == (2, True)
    ran = run("report", "main", "--kind", "statistics", "--format", "svg", "-o", tmp_path / "x.svg")
    assert (ran.code, "none of statistics" in ran.err) == (2, True)


def test_the_wrong_contexts_are_drawn_as_bars(mei: User, tmp_path: Path) -> None:
    made = judged(tmp_path, ("base", ""))
    add_member(made, mei, Membership.Role.MANAGER)
    client = client_of(mei)
    assert f'href="{PAGES}reports/error-rates/figure.pdf?' in body_of(
        client.get(f"{PAGES}reports/error-rates/")
    )
    assert is_svg(client.get(f"{PAGES}reports/error-rates/figure.svg").content)
    data = picture_of(made, "error-rates", Options())
    assert (data["title"], sum(data["counts"])) == ("base", made.units.count())
    target = tmp_path / "bars.pdf"
    assert run("report", "main", "--kind", "error-rates", "--format", "pdf", "-o", target).code == 0
    assert b"/FontFile2" in target.read_bytes()


def test_curves_come_by_command_and_for_programs_too(mei: User, campaign: Campaign, tmp_path: Path) -> None:
    sent, viewer = submission(campaign), make_user("vi")
    add_member(campaign, viewer, Membership.Role.VIEWER)
    programs, others = APIClient(), APIClient()
    programs.force_authenticate(mei)
    others.force_authenticate(viewer)
    address = f"/api/v1/campaigns/main/submissions/{sent.pk}/precision-recall/"

    assert programs.get(address).json() == curve_of(sent, "precision-recall")
    assert is_svg(programs.get(f"{address}?format=svg").content)
    points = body_of(programs.get(f"{address}?format=csv"))
    assert points.splitlines()[0] == "run,threshold,precision,recall"
    assert [others.get(address).status_code, APIClient().get(address).status_code] == [404, 401]
    call = ("curve", "main", str(sent.pk), "--kind")
    assert run(*call, "precision-recall").out.split() == points.split()
    assert run(*call, "reliability", "--json").document["bins"] == curve_of(sent, "reliability")["bins"]
    assert run(*call, "reliability", "--format", "svg", "-o", tmp_path / "r.svg").code == 0
    assert is_svg((tmp_path / "r.svg").read_bytes())
    assert "name it with -o" in run(*call, "reliability", "--format", "svg").err
    unknown = run("curve", "main", "999999", "--kind", "reliability")
    assert (unknown.code, f"there are: {sent.pk}" in unknown.err) == (1, True)
