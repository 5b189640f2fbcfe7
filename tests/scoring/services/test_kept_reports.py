"""Reports that a job computes: read without computing, kept while nothing changed, older once something did."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from annotation.models import Assignment, AuditEntry, Campaign, Job, Membership, User
from annotation.protocol.sentences import Sentence
from annotation.services.errors import Refused
from annotation.services.items import withdraw
from annotation.services.labels import finalize
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from scoring.models import Evaluation
from scoring.services import kept_reports
from scoring.services.kept_reports import JOB, document_now, inputs_of, kept, request_report
from scoring.services.measure import report
from scoring.services.options import Document, Options
from scoring.tasks import measure
from tests.factories import make_user
from tests.material import compounds, load_rows
from tests.pages import body_of, client_of, text_of
from tests.scoring.kept import computed, run_waiting
from tests.scoring.services.test_comparing import judged
from tests.scoring.services.test_comparing_predictions import labelled, predicted, send

pytestmark = pytest.mark.django_db

ASKED = Options(texts=False, resamples=100)
PAGE = "/campaigns/main/reports/comparison/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def triples(tmp_path: Path, mei: User) -> Campaign:
    """Two systems on sixty triples."""
    made = labelled(tmp_path)
    send(made, predicted(0.1, 1), "good")
    send(made, predicted(0.5, 2), "bad")
    add_member(made, mei, Membership.Role.MANAGER)
    return made


@pytest.fixture
def compared(tmp_path: Path, mei: User) -> Campaign:
    """Two systems on eight compounds, all judged."""
    made = judged(tmp_path, ("base", ""), ("big", ""))
    add_member(made, mei, Membership.Role.MANAGER)
    return made


def compute(campaign: Campaign, by: User, kind: str = "comparison", options: Options = ASKED) -> Document:
    request_report(campaign, kind, options, by=by)
    run_waiting()
    document = kept(campaign, kind, options).document
    assert document is not None
    return document


def not_to_be_called(*_given: object) -> Document:
    raise AssertionError("This was to be read, not computed.")


def test_what_is_kept_is_what_would_be_computed(triples: Campaign, mei: User) -> None:
    assert compute(triples, mei) == report(triples, "comparison", ASKED)
    found = kept(triples, "comparison", ASKED)
    assert (found.state, found.is_current) == ("done", True)
    assert (
        kept(triples, "comparison", Options(texts=False, resamples=101)).document is None
    )  # another measurement


def test_reading_computes_nothing(triples: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(mei)
    computed(client, PAGE)
    monkeypatch.setattr("scoring.services.kept_reports.report", not_to_be_called)
    monkeypatch.setattr("scoring.views.reports.measure", not_to_be_called)
    rows = Evaluation.objects.values_list("pk", "created_at")
    before = list(rows)

    for address in (PAGE, f"{PAGE[:-1]}.csv", f"{PAGE}?split=dev"):
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        assert not [one for one in queries if one["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert list(rows) == before


def of_triples(do: Callable[[Campaign], object]) -> tuple[str, Callable[[Campaign], object]]:
    return "triples", do


def of_compounds(do: Callable[[Campaign], object]) -> tuple[str, Callable[[Campaign], object]]:
    return "compared", do


def withdraw_one(campaign: Campaign) -> None:
    item = campaign.items.order_by("position").first()
    assert item is not None
    withdraw(campaign, item.pk, reason="twice", by=make_user("lin"))


def answer_again(campaign: Campaign) -> None:
    row = Assignment.objects.filter(round__campaign=campaign).first()
    assert row is not None
    Assignment.objects.filter(pk=row.pk).update(revision=row.revision + 1, label="0")


@pytest.mark.parametrize(
    ("which", "change"),
    [
        of_triples(lambda campaign: send(campaign, predicted(0.2, 9), "third")),
        of_triples(lambda campaign: send(campaign, predicted(0.2, 9), "good")),
        of_triples(withdraw_one),
        of_compounds(answer_again),
        of_compounds(finalize),
        of_compounds(withdraw_one),
        of_compounds(
            lambda campaign: Campaign.objects.filter(pk=campaign.pk).update(wording={"answers": {"1": "yes"}})
        ),
    ],
)
def test_what_it_is_made_of_makes_it_older(
    request: pytest.FixtureRequest, mei: User, which: str, change: Callable[[Campaign], object]
) -> None:
    campaign = request.getfixturevalue(which)
    compute(campaign, mei)

    change(campaign)
    campaign.refresh_from_db()

    found = kept(campaign, "comparison", ASKED)
    assert (found.document is not None, found.is_current) == (True, False)
    compute(campaign, mei)
    assert kept(campaign, "comparison", ASKED).is_current
    assert Evaluation.objects.filter(campaign=campaign, kind="comparison").count() == 1


def test_new_translations_make_it_older(compared: Campaign, mei: User, tmp_path: Path) -> None:
    compute(compared, mei)
    load_rows(compared, compounds(8), tmp_path, system="third")
    assert not kept(compared, "comparison", ASKED).is_current


def test_other_labels_make_it_older(triples: Campaign, mei: User) -> None:
    compute(triples, mei)
    Campaign.objects.filter(pk=triples.pk).update(label_version=1)
    triples.refresh_from_db()
    assert not kept(triples, "comparison", ASKED).is_current


def test_another_version_of_what_computes_makes_it_older(
    triples: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute(triples, mei)
    monkeypatch.setattr(kept_reports, "VERSION", "next")
    assert not kept(triples, "comparison", ASKED).is_current


def test_looking_and_being_looked_at_leave_it_as_it_is(compared: Campaign, mei: User) -> None:
    compute(compared, mei)
    AuditEntry.objects.create(campaign=compared, actor=mei, action="names shown", detail={})
    client_of(mei).get(PAGE)
    assert kept(compared, "comparison", ASKED).is_current


def test_the_digest_takes_the_same_queries_however_much_there_is(triples: Campaign) -> None:
    with CaptureQueriesContext(connection) as few:
        inputs_of(triples)
    for number in range(3):
        send(triples, predicted(0.3, number), f"more {number}")
    with CaptureQueriesContext(connection) as many:
        inputs_of(triples)
    assert len(few) == len(many) <= 3


def test_one_asked_for_twice_waits_once_and_run_twice_is_kept_once(triples: Campaign, mei: User) -> None:
    job = request_report(triples, "comparison", ASKED, by=mei)
    assert request_report(triples, "comparison", ASKED, by=mei) == job
    measure(job.pk)
    measure(job.pk)
    assert Evaluation.objects.filter(kind="comparison").count() == 1
    assert Job.objects.get(kind=JOB).state == Job.State.DONE


def test_what_changes_while_it_is_computed_makes_it_older(
    triples: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_a_change(campaign: Campaign, kind: str, options: Options) -> Document:
        document = report(campaign, kind, options)
        send(campaign, predicted(0.2, 9), "late")
        return document

    monkeypatch.setattr(kept_reports, "report", with_a_change)
    compute(triples, mei)
    assert not kept(triples, "comparison", ASKED).is_current


def test_programs_get_figures_computed_or_not(
    triples: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = APIClient()
    programs.force_authenticate(mei)
    address = "/api/v1/campaigns/main/reports/comparison/"
    fresh = programs.get(address).json()
    assert fresh["groups"][0]["n"] == 48
    assert not Evaluation.objects.filter(kind="comparison").exists()

    computed(client_of(mei), PAGE)
    with monkeypatch.context() as patched:
        patched.setattr("scoring.services.kept_reports.report", not_to_be_called)
        assert programs.get(address).json() == fresh

    send(triples, predicted(0.2, 9), "third")
    assert len(programs.get(address).json()["groups"][0]["differences"]) == 3 * 4  # not the older ones


def test_a_page_says_how_old_its_figures_are(triples: Campaign, mei: User) -> None:
    client = client_of(mei)
    assert "Not computed yet" in text_of(client.get(PAGE))
    client.post(PAGE)
    assert "being computed" in text_of(client.get(PAGE))
    run_waiting()
    fresh = text_of(client.get(PAGE))
    assert "Computed on" in fresh
    assert "Something has changed since" not in fresh
    send(triples, predicted(0.2, 9), "third")
    stale = text_of(client.get(PAGE))
    assert "Something has changed since" in stale
    assert "good" in stale


def test_what_cannot_be_computed_is_refused_at_once(triples: Campaign, mei: User) -> None:
    for options in (Options(split="dev"), Options(a="nobody"), Options(among=("nobody",))):
        with pytest.raises(Refused):
            request_report(triples, "comparison", options, by=mei)
    assert "There is no system or run" in text_of(client_of(mei).post(f"{PAGE}?a=nobody"))
    assert not Job.objects.filter(kind=JOB).exists()


def test_sentences_are_kept_to_be_said_again(compared: Campaign, mei: User, tmp_path: Path) -> None:
    document = compute(compared, mei, options=Options(texts=False, resamples=100, among=("base",)))
    found = document["one_system"]
    assert found == "There is one system here, so there is nothing to compare it with."
    load_rows(compared, compounds(8), tmp_path, system="base", run="2")
    again = compute(compared, mei, options=Options(texts=False, resamples=100, among=("base",)))
    assert isinstance(again["one_system"], Sentence)
    assert again["one_system"].values["n"] == 2


def test_interim_figures_are_written_down_by_the_job_and_shown_afterwards(
    compared: Campaign, mei: User
) -> None:
    row = Assignment.objects.first()
    assert row is not None
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)
    client = client_of(mei)
    closed = text_of(client.get(PAGE))
    assert "1 answer is open" in closed
    assert "Signature" not in closed
    assert not peeks_of(compared)

    shown = text_of(computed(client, PAGE))

    assert "Interim figures: 1 answer is still open" in shown
    assert [(peek.kind, peek.by, peek.open_answers) for peek in peeks_of(compared)] == [
        ("comparison", mei, 1)
    ]
    assert client.get(f"{PAGE[:-1]}.md").status_code == 409


def test_bleu_is_kept_by_system_and_run(compared: Campaign, mei: User) -> None:
    options = Options(system="base", run="", resamples=100)
    assert compute(compared, mei, "bleu", options) == report(compared, "bleu", options)
    assert kept(compared, "bleu", Options(system="big", run="", resamples=100)).document is None
    assert document_now(compared, "bleu", options)["system"] == "base"


def test_the_job_is_called_as_its_report_and_leads_there(triples: Campaign, mei: User) -> None:
    job = request_report(triples, "comparison", ASKED, by=mei)
    client = client_of(mei)
    assert "Systems compared" in text_of(client.get("/campaigns/main/jobs/"))
    run_waiting()
    assert f'href="{PAGE}"' in body_of(client.get(f"/campaigns/main/jobs/{job.pk}/"))
