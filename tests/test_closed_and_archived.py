"""What a campaign that is closed or archived still does, address by address and command by command.

Archived, it is only read: what a manager sends is refused, and a command in the same words. Closed, nothing gives work
out: an open row in it would wait for somebody who cannot answer. Both tables name every address; a new one without its
place in them fails.
"""

from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from annotation.models import Assignment, Campaign, HandIn, Item, Round
from annotation.permissions import ARCHIVED
from annotation.services.campaign_state import close_campaign, reopen_campaign
from annotation.services.dry_runs import close_dry_run
from tests.factories import (
    Cast,
    make_annotation,
    make_cast,
    make_report,
    make_triple,
    make_user,
    signed_in,
)
from tests.material import run
from tests.pages import hidden, text_of
from tests.test_permissions import (
    MANAGER,
    ROUTES,
    a_closed_batch,
    a_dry_run,
    a_rejudgement,
    a_resolution,
    given_to_ada,
    needs_slug,
)

pytestmark = pytest.mark.django_db

CLOSED = "This campaign is closed; open it again first, in its settings."
# Reading with names, a person's own data, figures that are written down, and the way out.
READ_IN_THE_ARCHIVE = {
    "campaign_names", "people_names", "audit_names", "export_names", "person_data", "evidence", "campaign_unarchive",
}  # fmt: skip
SENT_BY_MANAGERS = [
    name
    for name, route in ROUTES.items()
    if MANAGER in route.allowed
    and route.post is not None
    and needs_slug(name)
    and not name.startswith("api_")
]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def mei(cast: Cast) -> Client:
    return signed_in(cast.mei)


def archive(campaign: Campaign) -> None:
    now = timezone.now()
    Campaign.objects.filter(pk=campaign.pk).update(closed_at=now, archived_at=now)


@pytest.mark.parametrize("name", SENT_BY_MANAGERS)
def test_an_archived_campaign_is_only_read(name: str, cast: Cast, mei: Client) -> None:
    arguments = ROUTES[name].with_(cast)
    archive(cast.campaign)
    answered = mei.post(reverse(name, kwargs={"slug": "main", **arguments}))
    refused = answered.status_code == 409 and ARCHIVED in text_of(answered)
    if name == "submissions":  # a board that takes nothing is not there
        assert answered.status_code == 404
    else:
        assert refused == (name not in READ_IN_THE_ARCHIVE)


STORING_COMMANDS: dict[str, tuple[str, ...]] = {
    "add_member": ("main", "bo", "--role", "expert"),
    "assign_parts": ("main", "--experts", "ada,lin"),
    "build_set": ("--pool", "pool.csv", "--n", "1", "--seed", "1", "--campaign", "main"),
    "finalize": ("main",),
    "import_annotations": ("main", "answers.csv"),
    "import_cognition": (
        *("main", "--sources", "a", "--compounds", "b", "--references", "c"),
        *("--translations", "d", "--system", "base"),
    ),
    "import_items": ("main", "items.csv"),
    "mark_gold": ("main", "gold.csv"),
    "open_resolution": ("main",),
    "dry_run": ("main", "--experts", "ada,lin"),
    "release": ("main", "v1"),
    "score": ("main", "predictions.csv", "--system", "base"),
}
OTHER_COMMANDS = {
    "check_compounds", "create_campaign", "load_sample", "sign_in_links",  # of no campaign that is there
    "curve", "export", "plan", "report", "verify", "score_model",  # they read
    "downstream",  # several actions; its page is tested beside it (scoring/views/test_downstream.py)
}  # fmt: skip


def test_every_command_has_its_place_here() -> None:
    ours = {name for name, app in get_commands().items() if app in ("annotation", "scoring")}
    assert ours == STORING_COMMANDS.keys() | OTHER_COMMANDS


@pytest.mark.parametrize("name", STORING_COMMANDS)
def test_a_command_refuses_what_the_page_refuses(name: str, cast: Cast) -> None:
    archive(cast.campaign)
    ran = run(name, *STORING_COMMANDS[name], "--json")
    assert ran.code == 1
    assert [error["message"] for error in ran.document["errors"]] == [ARCHIVED]


def test_a_preview_only_reads(cast: Cast, tmp_path: Path) -> None:
    make_triple(cast.campaign, 1)
    archive(cast.campaign)
    file = tmp_path / "items.csv"
    file.write_text("head,relation,tail\r\nPersonX eat,xWant,sleep\r\n", encoding="utf-8")
    assert run("assign_parts", "main", "--experts", "ada,lin", "--preview").code == 0
    assert run("import_items", "main", str(file), "--dry-run").code == 0
    assert run("open_resolution", "main", "--preview").code == 0


# What gives work out. Each is prepared while the campaign is open: where it leads, and what is sent.


def confirmed(client: Client, name: str, body: Mapping[str, Any], field: str = "hash") -> dict[str, Any]:
    """The body with what the preview gave to confirm it by."""
    return {**body, field: hidden(client.post(reverse(name, args=["main"]), body), field)}


def experts(cast: Cast) -> list[str]:
    places = cast.campaign.memberships.filter(role="expert").order_by("pk")
    return [str(pk) for pk in places.values_list("pk", flat=True)]


def assign(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    make_triple(cast.campaign, 1)
    body = {"members": experts(cast), "design": "cyclic", "seed": "1"}
    shown = mei.post(reverse("assign", args=["main"]), body)
    return {}, {**body, "hash": shown.context["plan"].hash}


def dry_run_new(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    for position in range(1, 4):
        make_triple(cast.campaign, position)
    body = {"members": experts(cast), "n": "2", "source": "set_aside", "seed": "1", "bound": "value",
            "coefficient": "raw", "threshold": ""}  # fmt: skip
    shown = mei.post(reverse("dry_run_new", args=["main"]), body)
    return {}, {**body, "hash": shown.context["plan"].hash}


def dry_run_reopen(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    number = a_dry_run(cast)["number"]
    round_ = cast.campaign.rounds.get(kind=Round.Kind.DRY_RUN)
    for row in round_.assignments.all():
        make_annotation(row)
    close_dry_run(round_, by=cast.mei)
    return {"number": number}, {}


def moves(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    given_to_ada(cast)
    ada, lin = experts(cast)
    return {}, confirmed_moves(mei, {"giver": ada, "takers": [lin], "n": ""})


def confirmed_moves(mei: Client, body: dict[str, Any]) -> dict[str, Any]:
    shown = mei.post(reverse("moves", args=["main"]), body)
    return {**body, "hash": shown.context["moves"].hash}


def repeats(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    return {}, {"percent": "20", "seed": "1", "after": "0"}


def resolution(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    a_closed_batch(cast)
    return {}, {"hash": hidden(mei.get(reverse("resolution", args=["main"])), "hash")}


def resolution_reopen(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    number = a_resolution(cast)["number"]
    mei.post(reverse("resolution_close", args=["main", number]), {"reason": "late"})
    return {"number": number}, {}


def rejudgement(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    design = a_closed_batch(cast)["pk"]
    item = Item.objects.filter(assignments__part__design=design).earliest("position")
    cast.campaign.guidelines.create(
        version=2, text_en="New.", text_zh="新。", touches={"items": [item.position]}
    )
    return {}, {"hash": hidden(mei.get(reverse("rejudgement", args=["main"])), "hash")}


def rejudgement_reopen(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    number = a_rejudgement(cast)["number"]
    mei.post(reverse("rejudgement_close", args=["main", number]), {"reason": "late"})
    return {"number": number}, {}


def spot_check_new(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    a_closed_batch(cast)
    checker = make_user("chen")
    place = cast.campaign.memberships.create(user=checker, role="expert", pseudonym="A3")
    part = cast.campaign.rounds.get(kind="main").parts.get()
    body = {"checker": str(place.pk), "parts": [str(part.index)], "n": "1", "error": "contrast", "seed": "1",
            "acceptable": "5", "rejectable": "20", "alpha": "0.05", "beta": "0.1"}  # fmt: skip
    shown = mei.post(reverse("spot_check_new", args=["main"]), body)
    return {}, {**body, "hash": shown.context["plan"].hash}


def batch_reopen(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    return a_closed_batch(cast), {}


def part_give_back(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    part = given_to_ada(cast).part
    assert part is not None
    HandIn.objects.create(part=part, expert=cast.ada)
    return {"index": part.index, "pk": int(experts(cast)[0])}, {}


def answer_return(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"pk": make_report(given_to_ada(cast)).assignment_id}, {"ruling": "Two words count as one."}


def item_fix(cast: Cast, mei: Client) -> tuple[dict[str, Any], dict[str, Any]]:
    item = given_to_ada(cast).item
    return {"pk": item.pk}, {"head": "PersonX wins", "tail": item.tail}


GIVES_WORK: dict[str, Callable[[Cast, Client], tuple[dict[str, Any], dict[str, Any]]]] = {
    made.__name__: made
    for made in (
        *(assign, dry_run_new, dry_run_reopen, moves, repeats, resolution, resolution_reopen, rejudgement),
        *(rejudgement_reopen, spot_check_new, batch_reopen, part_give_back, answer_return, item_fix),
    )
}
# A closed campaign can still be looked at, corrected, labelled, talked about and taken apart.
GIVES_NONE = {
    *("campaign_names", "campaign_settings", "campaign_import", "import_confirm", "import_discard"),
    *("evaluation_set", "evaluation_set_save", "evaluation_set_discard", "compound_set", "carry_over_end"),
    *("downstream", "benchmark", "benchmark_remove", "benchmark_score", "benchmark_submission_remove"),
    *("item_withdraw", "item_restore", "item_discuss", "item_decide", "item_decision_back", "guideline_new"),
    *("precedents", "precedent_retire", "examples", "example_score", "example_retire", "wording"),
    *("wording_confirm", "question_answer", "evidence", "audit_names", "campaign_close", "campaign_reopen"),
    *("campaign_archive", "campaign_unarchive", "spot_check_decide", "gold", "gold_mark", "gold_upload"),
    *("gold_unmark", "gold_file", "repeats_take_out", "batch_close", "resolution_close", "rejudgement_close"),
    *("round_due", "dry_run_close", "dry_run_decide", "dry_run_override", "dry_run_take_back"),
    *("people_names", "person_add", "person_invite", "person_revoke", "person_data", "person_erase"),
    *("person_close", "person_reopen", "person_remove", "job_retry", "export_names", "compute"),
    *(
        "compute_agreement",
        "compute_part",
        "report",
        "report_file",
        "report_items",
        "plan",
        "what_if",
        "check",
    ),
    *("submissions", "submissions_settings", "submissions_again", "releases", "discussion"),
    *("discussion_seen", "discussion_resolve", "discussion_reopen", "problem_leave", "export"),
    "export_in_shape",
}


def test_every_address_has_its_place_here() -> None:
    assert set(SENT_BY_MANAGERS) == GIVES_WORK.keys() | GIVES_NONE
    assert not GIVES_WORK.keys() & GIVES_NONE


def open_rows() -> set[int]:
    return set(
        Assignment.objects.filter(withdrawn_at__isnull=True, answered_at__isnull=True).values_list(
            "pk", flat=True
        )
    )


@pytest.mark.parametrize("name", GIVES_WORK)
def test_a_closed_campaign_gives_no_work_out(name: str, cast: Cast, mei: Client) -> None:
    arguments, body = GIVES_WORK[name](cast, mei)
    address = reverse(name, kwargs={"slug": "main", **arguments})
    before, hand_ins = open_rows(), set(HandIn.objects.values_list("pk", flat=True))
    close_campaign(cast.campaign, reason="The money is spent.", by=cast.mei)
    refused = mei.post(address, body)
    assert refused.status_code in (400, 409)
    assert CLOSED in text_of(refused)
    assert open_rows() == before
    assert set(HandIn.objects.values_list("pk", flat=True)) == hand_ins
    assert not cast.campaign.rounds.filter(state=Round.State.OPEN).exists()
    reopen_campaign(cast.campaign, by=cast.mei)
    done = mei.post(address, body)
    if name == "repeats":  # there are too few to draw from, which is another sentence
        assert CLOSED not in text_of(done)
    else:
        assert done.status_code in (200, 302)  # 200: links for those who have no password yet
        assert CLOSED not in text_of(done)


# What their pages offer.


class Offered(HTMLParser):
    """Where the forms of a page lead that can be sent: those with a button that is not switched off."""

    def __init__(self, page: HttpResponse, here: str) -> None:
        super().__init__()
        self.here, self.inside = here, False
        self.open, self.found = "", set[str]()
        self.feed(page.content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "main":
            self.inside = True
        elif tag == "form" and self.inside and given.get("method") == "post":
            self.open = given.get("action") or self.here
        elif tag == "button" and self.open and "disabled" not in given:
            self.found.add(resolve(self.open.partition("?")[0]).url_name or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self.inside = False
        elif tag == "form":
            self.open = ""


READ_BY_MANAGERS = [
    name
    for name, route in ROUTES.items()
    if MANAGER in route.allowed and route.get is not None and needs_slug(name) and not name.startswith("api_")
]


@pytest.mark.parametrize("name", READ_BY_MANAGERS)
def test_an_archived_campaign_offers_nothing_that_it_refuses(name: str, cast: Cast, mei: Client) -> None:
    arguments = ROUTES[name].with_(cast)
    archive(cast.campaign)
    address = reverse(name, kwargs={"slug": "main", **arguments})
    page = mei.get(address)
    if page.status_code == 200 and isinstance(page, HttpResponse) and "html" in page["Content-Type"]:
        offered = Offered(page, address).found & set(SENT_BY_MANAGERS)
        assert offered - READ_IN_THE_ARCHIVE == set()


@pytest.mark.parametrize("name", READ_BY_MANAGERS)
def test_a_closed_campaign_offers_no_work_to_give_out(name: str, cast: Cast, mei: Client) -> None:
    arguments = ROUTES[name].with_(cast)
    close_campaign(cast.campaign, reason="The money is spent.", by=cast.mei)
    address = reverse(name, kwargs={"slug": "main", **arguments})
    page = mei.get(address)
    if page.status_code == 200 and isinstance(page, HttpResponse) and "html" in page["Content-Type"]:
        assert Offered(page, address).found & GIVES_WORK.keys() == set()
