"""Report pages: the figures, what they rest on, and why some are undefined."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Campaign, Membership, Part, User
from annotation.services import jobs
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from scoring.models import Evaluation
from scoring.services.evaluations import request_agreement
from scoring.tasks import agreement
from tests.factories import make_user
from tests.material import answer_everything, compounds, load, load_rows, new_campaign, run_json, triples
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed
from tests.shared import shared

pytestmark = pytest.mark.django_db

REPORTS = "/campaigns/main/reports/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def campaign_of(mei: User, protocol: str, k: int) -> Campaign:
    campaign = new_campaign(protocol, k=k)
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def twenty_contexts(mei: User, folder: Path) -> Campaign:
    """c39: four compounds in five contexts, seven of the twenty wrong."""
    text = shared("cases/c39_cter_twenty.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    campaign = campaign_of(mei, "compound", 1)
    items = [
        {
            "compound": row["compound"],
            "type": row["pattern"],
            "context_no": row["context_no"],
            "source": f"{row['compound']} {row['context_no']}",
            "translation": f"译文 {place}",
        }
        for place, row in enumerate(rows)
    ]
    load_rows(campaign, items, folder, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1, by=mei)
    correct = {f"译文 {place}": row["label"] == "correct" for place, row in enumerate(rows)}
    answer_everything(campaign, lambda row: "1" if correct[row.item.translation] else "0")
    return campaign


def judged_triples(mei: User, folder: Path, *, n: int = 12) -> Campaign:
    """Four experts over four parts; every second item is disputed."""
    campaign = campaign_of(mei, "triple", 2)
    load_rows(campaign, triples(n, label="1"), folder)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "1" if row.slot == 1 or row.item.position % 2 else "0")
    return campaign


def compute_agreement(campaign: Campaign) -> None:
    for job in request_agreement(campaign, by=None):
        agreement(job.pk)


def test_it_offers_the_reports_of_the_protocol(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "triple", 2)
    client = client_of(mei)

    assert "Reports follow once the items are there." in text_of(client.get(REPORTS))
    load_rows(campaign, triples(1), tmp_path)
    page = text_of(client.get(REPORTS))

    for title in ("Agreement", "Composition (Table 1)", "Human performance", "Artifacts"):
        assert title in page
    assert "Error rates" not in page
    assert client.get(f"{REPORTS}error-rates/").status_code == 404
    assert client.get(f"{REPORTS}nonsense/").status_code == 404


def test_a_table_says_below_it_why_a_rate_is_not_there(mei: User, tmp_path: Path) -> None:
    campaign = twenty_contexts(mei, tmp_path)
    one = Assignment.objects.filter(item__unit__type="PP").first()
    assert one is not None
    Assignment.objects.filter(pk=one.pk).update(label="", cannot_judge="other")
    finalize(campaign)

    page = text_of(client_of(mei).get(f"{REPORTS}error-rates/"))

    assert "–: no compound here has exactly five contexts, all of them decided" in page
    assert page.index("–: no compound here") > page.index("PP 4 0")


def test_it_shows_error_rates_with_intervals_and_tables(mei: User, tmp_path: Path) -> None:
    finalize(twenty_contexts(mei, tmp_path))

    response = client_of(mei).get(f"{REPORTS}error-rates/")

    page = text_of(response)
    # cases/expected_values.json, c39: instance 0.35, aggregate 0.75; NP 0.2 / 1.0, PP 0 / 0, VP 1.0 / 1.0
    assert re.search(
        r"Aggregate error rate 75\.00 % 95 % interval: [\d.]+ – [\d.]+ Compounds with at least one wrong "
        r"context: 3 of 4",
        page,
    )
    assert re.search(r"Instance error rate 35\.00 % .* Wrong contexts: 7 of 20", page)
    assert re.search(r"NP 10 2 20\.00 [\d. –]+ 2 2 100\.00", page)
    assert re.search(r"PP 5 0 0\.00 [\d. –]+ 1 0 0\.00", page)
    assert (
        "Labels: final, by the rule “Majority of the experts” ( majority , version 1), labels version 1."
        in page
    )
    assert "Signature: error-rates|" in page
    bars = re.findall(r'<rect x="(\d+)" y="[\d.]+" width="64" height="([\d.]+)"/>', body_of(response))
    assert len(bars) == 6
    assert "style=" not in body_of(response)


@pytest.mark.parametrize(
    ("type_", "told", "outside"),
    [
        # the one that is undecided holds a wrong context already: 2 of 3 now, 3 of 4 then
        ("NP", "Undecided compounds 1 · once they are decided, the aggregate rate is 75.00 %", True),
        # it holds none so far: 3 of 3 now
        (
            "PP",
            "Undecided compounds 1 · once they are decided, the aggregate rate lies within 75.00 – 100.00 %",
            False,
        ),
    ],
)
def test_it_counts_a_compound_that_is_not_fully_judged_as_undecided(
    type_: str, told: str, outside: bool, mei: User, tmp_path: Path
) -> None:
    campaign = twenty_contexts(mei, tmp_path)
    row = Assignment.objects.filter(label="1", unit__type=type_)[0]
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)

    page = text_of(client_of(mei).post(f"{REPORTS}error-rates/"))

    assert "These figures are provisional" in page
    assert told in page
    assert ("The rate above is lower" in page) == outside
    assert campaign.label_version == 0


def test_it_shows_one_system_and_run_at_a_time(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "compound", 1)
    for system, run in (("base", ""), ("large & co", "1")):
        rows = [row | {"translation": f"{system} {i}"} for i, row in enumerate(compounds(1))]
        load_rows(campaign, rows, tmp_path, system=system, run=run or None)
    client = client_of(mei)

    first = computed(client, f"{REPORTS}bleu/")
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="(\?system[^"]*)"', body_of(first))]

    assert len(links) == 2
    assert re.search(r'aria-current="page">base<', body_of(first))
    second = computed(client, f"{REPORTS}bleu/{links[1]}")
    assert re.search(r'aria-current="page">large &amp; co / 1<', body_of(second))
    assert client.get(f"{REPORTS}bleu/?system=none").status_code == 200
    assert "There is no such system" in text_of(client.get(f"{REPORTS}bleu/?system=none&run="))


def test_it_says_what_is_missing_where_there_is_nothing_to_measure(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "compound", 1)
    client = client_of(mei)

    assert "import items" in text_of(client.get(f"{REPORTS}error-rates/"))
    load_rows(campaign, compounds(1, reference=""), tmp_path, system="base")
    assert "no references" in text_of(client.get(f"{REPORTS}bleu/"))
    nothing_judged = text_of(client.get(f"{REPORTS}error-rates/"))
    assert "no instance is judged" in nothing_judged
    assert not re.search(r"rate 0\.00", nothing_judged)


def test_it_shows_table_one_and_lets_the_labels_be_chosen(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    client = client_of(mei)

    imported = text_of(client.get(f"{REPORTS}statistics/"))
    finalize(campaign)
    final = text_of(client.get(f"{REPORTS}statistics/"))
    chosen = text_of(client.get(f"{REPORTS}statistics/?labels=imported"))

    assert "By Value Triples Plausible % plausible 95 % interval Overall all 12 12 100.00" in imported
    assert "Labels: those that were imported" in imported
    assert "all 12 6 50.00" in final
    assert "all 12 12 100.00" in chosen
    assert client.get(f"{REPORTS}statistics/?labels=secret").status_code == 404


def test_it_shows_human_performance_and_artifacts(mei: User, tmp_path: Path) -> None:
    finalize(judged_triples(mei, tmp_path))
    client = client_of(mei)

    human = text_of(client.get(f"{REPORTS}human/"))
    artifacts = text_of(client.get(f"{REPORTS}artifacts/?rule=as-published"))

    assert re.search(
        r"all 12 75\.00 \d+\.\d+ – \d+\.\d+ 83\.33 \d+\.\d+ – \d+\.\d+ ", human
    )  # slot 1 says 1 always: AUC 50, F1 2/3; slot 2 is the label
    assert "A ceiling by construction" in human
    assert "Distinct words" in artifacts
    assert "rule=as-published" in body_of(client.get(f"{REPORTS}artifacts/?rule=as-published"))


def test_a_percentage_is_written_as_its_language_does(mei: User, tmp_path: Path) -> None:
    finalize(twenty_contexts(mei, tmp_path))

    assert "75.00&nbsp;%" in body_of(client_of(mei).get(f"{REPORTS}error-rates/")).replace("\xa0", "&nbsp;")
    for page in ("error-rates/", "what-if/", "plan/?goal=precision&width=5&rate=50"):
        address = REPORTS.replace("reports/", "labels/") if page == "what-if/" else REPORTS
        chinese = text_of(client_of(mei, language="zh-hans").get(f"{address}{page}"))
        assert re.search(r"\d%", chinese)
        assert not re.search(r"\d %", chinese)


@pytest.mark.parametrize(("n", "told"), [(4, True), (12, False)])
def test_what_is_left_of_noise_says_why_only_where_a_figure_is_missing(
    n: int, told: bool, mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei, "compound", 2)
    load_rows(campaign, compounds(n), tmp_path, system="base")
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: str(int(row.item.position % 9 > 0)))

    page = text_of(client_of(mei).get(f"{REPORTS}error-rates/"))

    assert "A difference is taken as" in page
    assert ("Why undefined" in page) == told


@pytest.mark.parametrize("told", [True, False])
def test_human_performance_says_why_only_where_a_figure_is_missing(
    told: bool, mei: User, tmp_path: Path
) -> None:
    """Some relations here have triples of one class only."""
    campaign = campaign_of(mei, "triple", 2)
    load_rows(campaign, triples(12, **({} if told else {"relation": "xWant"})), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    finalize(campaign)

    assert ("Why undefined" in text_of(client_of(mei).get(f"{REPORTS}human/"))) == told


# Agreement


def test_it_shows_the_agreement_of_the_last_job(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    client = client_of(mei)
    before = text_of(client.get(f"{REPORTS}agreement/"))
    assert "Not computed yet" in before
    assert "The figure for all items pools them; it is not computed yet." in before
    assert "not yet" in before
    assert "Compute again" not in before

    compute_agreement(campaign)
    page = text_of(client.get(f"{REPORTS}agreement/"))

    assert "Items: 12 ; judgements: 24; experts: 4" in page
    assert re.search(r"Raw agreement 0\.5000 [\d. –]+ 12 the share of equal answers", page)
    assert re.search(r"Cohen's κ – – 12 not all common items were judged by the same two people", page)
    assert re.search(r"A1 – A3 0 – no common items", page)
    assert re.search(r"κ over \d of 6 pairs", page)
    assert "always/often 18" in page
    assert "4 of 4 parts computed" in page
    assert "Compute again" in page
    assert "is the pooled one above" in page
    assert "ada" not in page
    assert "Answers have come in since." not in page
    assert "Why undefined" in page


def test_it_says_how_to_read_a_contrast_below_minus_one(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, "triple", 2)
    load_rows(campaign, triples(10), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "0.5" if row.item.position > 1 else {1: "1", 2: "0"}[row.slot])
    compute_agreement(campaign)

    page = text_of(client_of(mei).get(f"{REPORTS}agreement/"))
    assert re.search(r"Contrast coefficient.* [-−]9\.0000 ", page)
    assert page.count("The contrast coefficient or its interval reaches below −1.") == 1


def test_a_pair_that_agrees_on_everything_leads_to_no_list_of_differing_items(
    mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei, "triple", 2)
    load_rows(campaign, triples(12), tmp_path)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    compute_agreement(campaign)
    page = client_of(mei).get(f"{REPORTS}agreement/")

    assert "of=differing&amp;a=" not in body_of(page)
    assert "Why undefined" not in text_of(page)


def test_it_never_rounds_a_coefficient_to_nothing(mei: User, tmp_path: Path) -> None:
    """c27: nearly all alike; κ and α below zero keep their sign, AC1 and the distribution stand beside them."""
    text = shared("cases/c27_agr_skewed.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    campaign = campaign_of(mei, "compound", 2)
    load_rows(campaign, compounds(20), tmp_path, system="base")
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", parts=2, seed=1, by=mei)
    people = {"a": "ada", "b": "lin"}
    places = {item: place for place, item in enumerate(sorted({row["item_id"] for row in rows}), start=1)}
    votes = {(places[row["item_id"]], people[row["annotator"]]): row["label"] for row in rows}
    answer_everything(
        campaign,
        lambda row: "1" if votes[row.item.position, row.expert.username] == "correct" else "0",
    )
    compute_agreement(campaign)

    page = text_of(client_of(mei).get(f"{REPORTS}agreement/"))

    # cases/expected_values.json, c27: raw 0.95, kappa -0.02459, alpha -0.020513, AC1 0.947438
    assert "Raw agreement 0.9500" in page
    assert "Cohen's κ −0.0246" in page
    assert "Krippendorff's α, nominal −0.0205" in page
    assert "Gwet's AC1 0.9474" in page
    assert "correct 195" in page


def test_it_names_the_part_that_failed_and_runs_only_that_one_again(mei: User, tmp_path: Path) -> None:
    """c45: four parts, one undefined, one that raises."""
    campaign = judged_triples(mei, tmp_path)
    Assignment.objects.filter(part__index=1).update(label="1")  # one category: chance-corrected is undefined
    jobs = request_agreement(campaign, by=mei)
    broken = next(
        job for job in jobs if job.arguments.get("part") == campaign.rounds.get().parts.get(index=2).pk
    )
    for job in jobs:
        if job != broken:
            agreement(job.pk)
    broken.state, broken.message = "failed", "This failed unexpectedly (ValueError); see the log."
    broken.save()
    client = client_of(mei)

    page = text_of(client.get(f"{REPORTS}agreement/"))

    assert "partial: 1 failed" in page
    assert "3 of 4 parts computed" in page
    assert re.search(r"Part 3 ✗ failed This failed unexpectedly \(ValueError\)", page)
    assert re.search(r"Part 2 ✓ computed 3 1\.0000 .*only one category was used", page)
    before = set(campaign.jobs.values_list("pk", flat=True))
    client.post(f"{REPORTS}agreement/parts/2/compute/")
    (asked,) = campaign.jobs.exclude(pk__in=before)
    assert asked.arguments == broken.arguments
    agreement(asked.pk)
    again = text_of(client.get(f"{REPORTS}agreement/"))
    assert "partial" not in again
    assert "4 of 4 parts computed" in again


def test_it_warns_while_experts_judge_and_when_answers_came_in_since(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    compute_agreement(campaign)
    row = Assignment.objects.first()
    assert row is not None
    client = client_of(mei)

    Assignment.objects.filter(pk=row.pk).update(answered_at="2999-01-01T00:00:00Z")
    assert "Answers have come in since." in text_of(client.get(f"{REPORTS}agreement/"))
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    for address in (REPORTS, f"{REPORTS}agreement/"):
        assert "Experts are still judging: 1 judgement is missing." in text_of(client.get(address))


def test_it_costs_the_same_number_of_queries_whatever_the_size(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path, n=8)
    compute_agreement(campaign)
    client = client_of(mei)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"{REPORTS}agreement/").status_code == 200
        return len(captured)

    few = queries()
    more = [row | {"triple_id": f"m{i}", "head": f"more {i}"} for i, row in enumerate(triples(40))]
    load_rows(campaign, more, tmp_path)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan", "eva"], design="cyclic", seed=2, by=mei)
    answer_everything(campaign)
    compute_agreement(campaign)

    assert queries() == few
    assert few <= 12


# Asking


def test_it_asks_the_worker_for_labels_and_agreement(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    client = client_of(mei)

    response = client.post("/campaigns/main/compute/", {"rule": "ckbp2"}, follow=True)

    assert response.redirect_chain == [("/campaigns/main/jobs/", 302)]
    asked = list(campaign.jobs.order_by("id").values_list("kind", "arguments"))
    assert asked[0] == ("finalize", {})  # the rule that would be used anyway
    assert [kind for kind, _arguments in asked] == ["finalize"] + 5 * ["agreement"]
    client.post("/campaigns/main/compute/")
    assert campaign.jobs.count() == 6  # equal jobs wait once
    client.post("/campaigns/main/compute/", {"rule": "unanimous"})
    assert campaign.jobs.filter(arguments={"rule": "unanimous"}).count() == 1


def test_it_refuses_a_rule_that_does_not_fit(mei: User) -> None:
    campaign = campaign_of(mei, "triple", 3)
    client = client_of(mei)

    response = client.post("/campaigns/main/compute/", {"rule": "ckbp2"})

    assert response.status_code == 409
    assert campaign.jobs.count() == 0
    assert client.post("/campaigns/main/compute/", {"rule": "majority"}).status_code == 302


# To take along


@pytest.mark.parametrize(
    ("form", "kind", "start"),
    [
        ("md", "text/markdown; charset=utf-8", "**Composition**"),
        ("tex", "application/x-tex; charset=utf-8", "% composition|"),
        ("csv", "text/csv; charset=utf-8", "\ufeffby,value,"),
        ("json", "application/json; charset=utf-8", "{"),
    ],
)
def test_it_gives_a_report_as_a_file_with_its_signature(
    mei: User, tmp_path: Path, form: str, kind: str, start: str
) -> None:
    finalize(judged_triples(mei, tmp_path))

    response = client_of(mei).get(f"{REPORTS}statistics.{form}?labels=final")

    assert response.headers["Content-Type"] == kind
    assert f'filename="main-statistics.{form}"' in response.headers["Content-Disposition"]
    assert body_of(response).startswith(start)
    if form == "json":
        document = json.loads(body_of(response))
        assert document["labels"]["source"] == "final"
        assert document["rows"][0]["percent"] == 50.0


def test_it_gives_the_agreement_as_a_file_once_there_is_one(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    client = client_of(mei)
    address = f"{REPORTS}agreement.json"

    assert client.get(address).status_code == 409
    compute_agreement(campaign)
    document = json.loads(body_of(client.get(address)))

    assert document["n_items"] == 12
    assert {pair["a"] for pair in document["pairs"]} <= {"A1", "A2", "A3", "A4"}
    assert client.get(f"{REPORTS}agreement.exe").status_code == 404


def test_it_shows_viewers_the_figures_and_nothing_to_press(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    compute_agreement(campaign)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)

    body = body_of(client_of(vera).get(f"{REPORTS}agreement/"))

    forms = re.findall(r'<form[^>]*action="([^"]+)"', body)
    assert set(forms) <= {"/language/", "/sign-out/", "/theme/"}
    assert "Raw agreement" in body


def test_it_gives_the_released_figures_of_table_one(mei: User) -> None:
    """Table 1 of CKBP v2 (reference/expected.json): 5,006 triples."""
    load(campaign_of(mei, "triple", 2), shared("data/ckbp/ckbp2.0.csv"))

    page = text_of(client_of(mei).get(f"{REPORTS}statistics/"))

    expected = json.loads(shared("reference/expected.json").read_text())
    table = json.dumps(expected)
    assert "5006" in table.replace(",", "")
    assert re.search(r"all 5,?006 ", page)


def test_it_counts_a_single_part_as_one(mei: User, tmp_path: Path) -> None:
    campaign = new_campaign(k=2)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, triples(4), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="pairs", seed=1)
    answer_everything(campaign)

    assert "0 of 1 part computed;" in text_of(client_of(mei).get(f"{REPORTS}agreement/"))


# While answers are open


def with_an_open_answer(mei: User, folder: Path) -> Campaign:
    campaign = twenty_contexts(mei, folder)
    row = Assignment.objects.filter(label="1").first()
    assert row is not None
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    return campaign


def test_it_shows_no_interim_figures_by_itself(mei: User, tmp_path: Path) -> None:
    campaign = with_an_open_answer(mei, tmp_path)
    client = client_of(mei)
    page = client.get(f"{REPORTS}error-rates/")
    assert "1 answer is open" in text_of(page)
    assert "Instance error rate" not in text_of(page)
    refused = client.get(f"{REPORTS}error-rates.csv")
    assert refused.status_code == 409
    assert "1 answer is still open" in text_of(refused)
    assert client.get(f"{REPORTS}comparison/figure.svg").status_code == 409
    assert not peeks_of(campaign)


def test_it_writes_down_who_has_interim_figures_computed(mei: User, tmp_path: Path) -> None:
    campaign = with_an_open_answer(mei, tmp_path)
    client = client_of(mei)
    page = text_of(client.post(f"{REPORTS}error-rates/"))
    assert "Interim figures: 1 answer is still open" in page
    assert "Instance error rate" in page
    file = client.post(f"{REPORTS}error-rates.csv")
    assert file.headers["Content-Type"].startswith("text/csv")
    run_json("report", "main", "--kind", "error-rates")
    run_json("report", "main", "--kind", "agreement", "--round", "main")
    assert [(peek.kind, peek.by, peek.open_answers) for peek in peeks_of(campaign)] == [
        ("error-rates", mei, 1),
        ("error-rates", mei, 1),
        ("error-rates", None, 1),
        ("agreement", None, 1),
    ]
    shown = text_of(client.get("/campaigns/main/"))
    assert "Interim figures or answers were looked at 4 times while answers were open" in shown
    assert "on the command line" in shown


def test_the_jobs_of_one_request_are_one_peek(mei: User, tmp_path: Path) -> None:
    campaign = judged_triples(mei, tmp_path)
    compute_agreement(campaign)
    assert not peeks_of(campaign)  # everything was answered
    row = Assignment.objects.first()
    assert row is not None
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    compute_agreement(campaign)
    assert len(peeks_of(campaign)) == 1
    client_of(mei).get(f"{REPORTS}agreement/")
    assert len(peeks_of(campaign)) == 1  # a stored figure is shown


def test_no_agreement_comes_by_itself_while_others_judge(mei: User, tmp_path: Path) -> None:
    """Nobody asked for it; the last answer lets it come, and it is no look then."""
    campaign = with_an_open_answer(mei, tmp_path)
    ada = User.objects.get(username="ada")
    part = Part.objects.earliest("pk")
    asked = jobs.request_after_hand_in(campaign=campaign, part=part.pk, by=ada)
    assert [job.kind for job in asked] == ["finalize"]
    Evaluation.objects.all().delete()
    for job in request_agreement(campaign, by=ada):  # one that was asked for before
        agreement(job.pk)
        job.refresh_from_db()
        assert (job.state, job.result) == ("done", {})
    assert not Evaluation.objects.exists()

    Assignment.objects.filter(answered_at__isnull=True).update(
        answered_at=timezone.now(), label="1", revision=1
    )
    asked = jobs.request_after_hand_in(campaign=campaign, part=part.pk, by=ada)
    assert [job.kind for job in asked] == ["finalize", "agreement", "agreement"]
    for job in asked[1:]:
        agreement(job.pk)
    assert Evaluation.objects.count() == 2
    assert not peeks_of(campaign)


def test_reading_finished_figures_is_no_peek(mei: User, tmp_path: Path) -> None:
    campaign = twenty_contexts(mei, tmp_path)
    client = client_of(mei)
    assert "Instance error rate" in text_of(client.get(f"{REPORTS}error-rates/"))
    client.post(f"{REPORTS}error-rates/")
    assert not peeks_of(campaign)


def test_without_agreement_its_page_says_what_is_there_and_offers_it(mei: User, tmp_path: Path) -> None:
    """Labels computed on the command line bring no agreement along; the page must not look as if nothing were there."""
    campaign = campaign_of(mei, "triple", 2)
    client, address = client_of(mei), f"{REPORTS}agreement/"
    assert "There are no judgements yet." in text_of(client.get(address))
    load_rows(campaign, triples(4, label="1"), tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign, "1")
    assert "8 judgements are there. The agreement is computed when a part is handed in" in text_of(
        client.get(address)
    )

    run_json("finalize", "main")
    shown = client.get(address)
    assert "8 judgements are there. The final labels were computed, the agreement was not" in text_of(shown)
    assert body_of(shown).count('action="/campaigns/main/reports/agreement/compute/"') == 1

    client.post("/campaigns/main/reports/agreement/compute/")
    asked = text_of(client.get(address))
    assert "Being computed" in asked
    assert "Not computed yet" not in asked
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)
    assert "reports/agreement/compute/" not in body_of(client_of(vera).get(address))
