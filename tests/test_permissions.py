"""Who gets what from every address there is: one line per route, every role, every method.

A route without a line fails here. To add one, say who is allowed and what status they get by method:

    "campaign_items": Route({MANAGER, VIEWER}, get=200),

- A method that is not named is not allowed (405). Who is signed in without being allowed gets 404.
- Who is not signed in is sent to the sign-in page (302), or gets 401 from `api(...)`.
- Where the answer depends on the role otherwise, give a mapping; "*" is everybody signed in who is not named.
- `with_` makes what the address names (its arguments); `slug` is the cast's campaign where the address has one.
- A POST is sent without data; the status of a permitted one is what an empty form or body gets.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotation.models import Assignment, Campaign, Context, Item, Question, Round, User
from annotation.services import uploads
from annotation.services.access import create_invitation, create_token
from annotation.services.batches import close_batch
from annotation.services.discussion import open_thread
from annotation.services.dry_runs import open_dry_run
from annotation.services.evaluation_set_files import UPLOAD, build_upload
from annotation.services.gold import mark
from annotation.services.import_files import check
from annotation.services.jobs import request as request_job
from annotation.services.labels import finalize
from annotation.services.rejudgement import open_rejudgement
from annotation.services.resolution import open_resolution
from scoring.services.downstream.kept import boards_now, store_board
from scoring.services.downstream.scores import score_waiting
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from scoring.services.scores import Wish
from scoring.services.submissions import submit
from tests.factories import (
    Cast,
    make_assignment,
    make_cast,
    make_example,
    make_judged,
    make_part,
    make_precedent,
    make_report,
    make_triple,
)
from tests.material import as_csv
from tests.scoring.downstream import choices_benchmark, chosen, send

ANONYMOUS, OUTSIDER, EXPERT, VIEWER, MANAGER = "anonymous", "outsider", "expert", "viewer", "manager"
ROLES = (ANONYMOUS, OUTSIDER, EXPERT, VIEWER, MANAGER)
METHODS = ("get", "post", "put", "delete", "options")
SIGNED_IN = {OUTSIDER, EXPERT, VIEWER, MANAGER}
PUBLIC = set(ROLES)

Status = int | Mapping[str, int] | None


def nothing(cast: Cast) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Route:
    """What one address answers; see the head of this file."""

    allowed: set[str]
    get: Status = None
    post: Status = None
    put: Status = None
    delete: Status = None
    options: Status = None
    with_: Callable[[Cast], dict[str, Any]] = nothing
    anonymous: int = 302
    body: tuple[str, str] = ("", "application/x-www-form-urlencoded")

    def expected(self, role: str, method: str) -> int:
        if role == ANONYMOUS and ANONYMOUS not in self.allowed:
            return self.anonymous
        status: Status = getattr(self, method)
        if status is None:
            return 405
        if isinstance(status, Mapping):
            return status[role] if role in status else status["*"]
        return status if role in self.allowed else 404


def api(allowed: set[str], **statuses: Any) -> Route:
    """An address for programs: it asks for a token instead of a sign-in."""
    as_json = ("{}", "application/json")
    return Route(allowed, **{"anonymous": 401, "body": as_json, **statuses})


def adas_invitation(cast: Cast) -> dict[str, Any]:
    return {"token": create_invitation(cast.ada, None)[1].split("/")[-2]}


def adas_token(cast: Cast) -> dict[str, Any]:
    return {"pk": create_token(cast.ada, "laptop")[0].pk}


def adas_unit(cast: Cast) -> dict[str, Any]:
    return {"unit": given_to_ada(cast).pk}


def adas_screen(cast: Cast) -> dict[str, Any]:
    return {"position": given_to_ada(cast).position}


def adas_part(cast: Cast) -> dict[str, Any]:
    given_to_ada(cast)
    return {"index": 1}


def given_to_ada(cast: Cast) -> Assignment:
    """The same however often it is asked for."""
    round_ = cast.campaign.rounds.get(kind="main")
    given = Assignment.objects.filter(part__round=round_, part__index=1, expert=cast.ada).first()
    if given is not None:
        return given
    return make_assignment(make_triple(cast.campaign, 900), cast.ada, part=make_part(round_, index=1))


def an_upload(cast: Cast) -> dict[str, Any]:
    """A file that Mei sent, looked at and not stored yet."""
    content = {
        "triple": b"head,relation,tail\r\nPersonX eat,xWant,sleep\r\n",
        "compound": b"compound,source,translation\r\nthe dog,The dog sleeps.,\xe7\x8b\x97\xe7\x9d\xa1\xe4\xba\x86\r\n",
    }[cast.campaign.protocol]
    file = SimpleUploadedFile("items.csv", content)
    upload = uploads.keep(cast.campaign, "items", {"file": file}, options={}, by=cast.mei)
    check(cast.campaign, upload)
    return {"token": upload.token}


def a_built_set(cast: Cast) -> dict[str, Any]:
    """A set that Mei built and has not stored."""
    files = {"pool": SimpleUploadedFile("pool.csv", b"head,relation,tail\r\nPersonX eat,xWant,to sleep\r\n")}
    options = {"n": 1, "leave_out": [], "seed": 1}
    upload = uploads.keep(cast.campaign, UPLOAD, files, options=options, by=cast.mei)
    build_upload(cast.campaign, upload)
    return {"token": upload.token}


def adas_report(cast: Cast) -> dict[str, Any]:
    """An answer of hers that says that she could not judge."""
    return {"pk": make_report(given_to_ada(cast)).assignment_id}


def an_item(cast: Cast) -> dict[str, Any]:
    return {"pk": make_triple(cast.campaign, 899).pk}


def adas_part_and_place(cast: Cast) -> dict[str, Any]:
    return {**adas_part(cast), **adas_place(cast)}


def adas_place(cast: Cast) -> dict[str, Any]:
    return {"pk": cast.campaign.memberships.get(user=cast.ada).pk}


def veras_place(cast: Cast) -> dict[str, Any]:
    return {"pk": cast.campaign.memberships.get(user=cast.vera).pk}


def adas_question(cast: Cast, **fields: Any) -> Question:
    unit = given_to_ada(cast).unit
    return Question.objects.create(
        campaign=cast.campaign, unit=unit, asked_by=cast.ada, client_key=uuid4(), text="Which one?", **fields
    )


def a_question(cast: Cast) -> dict[str, Any]:
    return {"pk": adas_question(cast).pk}


def an_answer(cast: Cast) -> dict[str, Any]:
    ruling = {"answer": "The nearest.", "answered_by": cast.mei, "answered_at": timezone.now()}
    return {"pk": adas_question(cast, **ruling).pk}


def a_precedent(cast: Cast) -> dict[str, Any]:
    return {"pk": make_precedent(cast.campaign).pk}


def veras_example(cast: Cast) -> dict[str, Any]:
    """Of somebody who is no longer in the role to write one, so that every other may score it."""
    return {"pk": make_example(cast.campaign, cast.vera).pk}


def a_job(cast: Cast) -> dict[str, Any]:
    return {"pk": request_job(campaign=cast.campaign, kind="finalize", arguments={}, by=cast.mei).pk}


def a_submission(cast: Cast) -> dict[str, Any]:
    """One of Mei's, about everything there is."""
    campaign = cast.campaign
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        contexts = Context.objects.filter(unit__campaign=campaign).values_list("key", flat=True)
        rows = [{"item_id": key, "translation": "懒狗睡了。"} for key in contexts]
    else:
        make_triple(campaign, 902, imported_label="1")
        items = Item.objects.active().filter(campaign=campaign).values_list("key", flat=True)
        rows = [{"triple_id": key, "prediction": "1"} for key in items]
    sent = submit(
        campaign, as_csv(rows).encode(), name="sent.csv", wish=Wish(system="base", split="all"), by=cast.mei
    )
    return {"pk": sent.submission.pk}


def a_benchmark(cast: Cast) -> dict[str, Any]:
    """One of Mei's, to which nothing was sent."""
    return {"pk": choices_benchmark(cast.campaign).pk}


def a_sent_file(cast: Cast) -> dict[str, Any]:
    """To such a benchmark."""
    return {"pk": send(choices_benchmark(cast.campaign), chosen(10), "base", by=cast.mei).pk}


def a_scored_benchmark(cast: Cast) -> dict[str, Any]:
    """One with a table."""
    benchmark = choices_benchmark(cast.campaign)
    send(benchmark, chosen(10), "base", by=cast.mei)
    score_waiting(benchmark)
    for kind, pk, inputs, document in boards_now(benchmark):
        store_board(cast.campaign, kind, pk, inputs, document)
    return {"pk": benchmark.pk}


def accuracies(cast: Cast) -> dict[str, Any]:
    a_scored_benchmark(cast)
    return {}


def two_submissions(cast: Cast) -> dict[str, Any]:
    """Of two systems, about the same triple."""
    make_triple(cast.campaign, 903, imported_label="1")
    keys = Item.objects.active().filter(campaign=cast.campaign).values_list("key", flat=True)
    for system in ("base", "big"):
        rows = as_csv([{"triple_id": key, "prediction": "1"} for key in keys]).encode()
        submit(cast.campaign, rows, name="sent.csv", wish=Wish(system=system, split="all"), by=cast.mei)
    return {}


def a_release(cast: Cast) -> dict[str, Any]:
    """The campaign as it stands; where nothing was judged, with a label that was imported."""
    if cast.campaign.protocol == Campaign.Protocol.TRIPLE:
        make_triple(cast.campaign, 901, imported_label="1")
    if cast.campaign.label_version:
        finalize(cast.campaign)  # answers may be newer than its labels
    return {"name": freeze(cast.campaign, "v1", wish=SplitWish(), by=cast.mei).name}


def a_dry_run(cast: Cast) -> dict[str, Any]:
    """Open, and nobody has answered."""
    make_triple(cast.campaign, 897)
    make_triple(cast.campaign, 898)
    names = [cast.ada.username, cast.lin.username]
    return {"number": open_dry_run(cast.campaign, experts=names, by=cast.mei).number}


def a_batch(cast: Cast) -> dict[str, Any]:
    """Two triples, the first of which contrasts, judged by both experts."""
    return {"pk": make_judged(cast, ("1", "0"), ("1", "1")).pk}


def a_closed_batch(cast: Cast) -> dict[str, Any]:
    return {"pk": close_batch(cast.campaign, a_batch(cast)["pk"], by=cast.mei).pk}


def a_frozen_item(cast: Cast) -> dict[str, Any]:
    design = a_closed_batch(cast)["pk"]
    return {"pk": Item.objects.filter(assignments__part__design=design).earliest("position").pk}


def a_thread(cast: Cast) -> dict[str, Any]:
    return {"pk": open_thread(cast.campaign, a_frozen_item(cast)["pk"], by=cast.mei).pk}


def a_resolution(cast: Cast) -> dict[str, Any]:
    a_closed_batch(cast)
    there = cast.campaign.rounds.filter(kind="resolution").first()
    return {"number": (there or open_resolution(cast.campaign, by=cast.mei)).number}


def a_rejudgement(cast: Cast) -> dict[str, Any]:
    item = Item.objects.get(**a_frozen_item(cast))
    version = 1 + cast.campaign.guidelines.latest("version").version
    touches = {"items": [item.position]}
    cast.campaign.guidelines.create(version=version, text_en="New.", text_zh="新。", touches=touches)
    return {"number": open_rejudgement(cast.campaign, version, by=cast.mei).number}


def a_spot_check(cast: Cast) -> dict[str, Any]:
    """One that Ada has not begun."""
    round_ = Round.objects.create(
        campaign=cast.campaign,
        kind=Round.Kind.SPOT_CHECK,
        k=1,
        guideline=cast.campaign.guidelines.get(),
        settings={"checker": "A1", "error": "contrast", "seed": 1, "rule": {"n": 1, "c": None}, "strata": []},
    )
    make_assignment(
        make_triple(cast.campaign, 904), cast.ada, round=round_, part=make_part(round_, index=10_000)
    )
    return {"number": round_.number}


def a_gold_item(cast: Cast) -> dict[str, Any]:
    item = make_triple(cast.campaign, 905)
    mark(cast.campaign, item.position, label="1", note="", by=cast.mei)
    return {"pk": item.pk}


ROUTES = {
    # accounts
    "home": Route(SIGNED_IN, get=200),
    "sign_in": Route(PUBLIC, get={ANONYMOUS: 200, "*": 302}, post={ANONYMOUS: 200, "*": 302}),
    "sign_out": Route(SIGNED_IN, post=302),
    "invitation": Route(PUBLIC, get=200, post=200, with_=adas_invitation),
    "set_language": Route(PUBLIC, post=302),
    "set_theme": Route(PUBLIC, post=302),
    "account": Route(SIGNED_IN, get=200),
    "own_data": Route(SIGNED_IN, get=200, post=400),  # without the word
    "own_data_file": Route(SIGNED_IN, get=200),
    "password_change": Route(SIGNED_IN, get=200, post=200),
    "token_create": Route(SIGNED_IN, post=200),
    "token_revoke": Route({EXPERT}, post=302, with_=adas_token),
    "recorded": Route(SIGNED_IN, get=200, post=302),
    "healthz": Route(PUBLIC, get=200),
    "offline_worker": Route(PUBLIC, get=200),
    "admin_sign_in": Route(PUBLIC, get={ANONYMOUS: 302, "*": 403}),
    # an expert's own work
    "work": Route({EXPERT}, get=200),
    "judge": Route({EXPERT}, get=200, post=404),
    "history": Route({EXPERT}, get=200),
    "hand_in": Route({EXPERT}, get=200, post=302, with_=adas_part),
    "guidelines": Route({EXPERT}, get=200),
    "guideline_change": Route({EXPERT}, get=302, post=404),  # nothing is new, and of no version
    "practice": Route({EXPERT}, get=200),
    "practice_unit": Route({EXPERT}, get=200, post=400, with_=lambda cast: {"number": 1}),
    "hours": Route({EXPERT}, get=200, post=400),
    "my_questions": Route({EXPERT}, get=200, post=404),  # about no unit
    "settled": Route({EXPERT}, get=200),
    "question_read": Route({EXPERT}, post=302, with_=an_answer),
    "api_next": api({EXPERT}, get=200),
    "api_recent": api({EXPERT}, get=200),
    "api_screen": api({EXPERT}, get=200, with_=adas_screen),
    "api_answers": api({EXPERT}, post={"*": 400}, with_=adas_unit),  # an empty body is refused first
    "api_answers_in_order": api({EXPERT}, post=400),
    "api_time": api({EXPERT}, post=400),
    "api_later": api({EXPERT}, post=400, with_=adas_unit),
    "api_later_back": api({EXPERT}, post=400, with_=adas_unit),
    "api_ask": api({EXPERT}, post=400, with_=adas_unit),
    "api_words": api({EXPERT}, get=200, with_=adas_screen),
    # a campaign for programs
    "api_campaigns": api(SIGNED_IN, get=200),
    "api_campaign": api({MANAGER, VIEWER}, get=200),
    "api_items": api({MANAGER, VIEWER}, get=200),
    "api_labels": api({MANAGER, VIEWER}, get=200),
    "api_annotations": api({MANAGER, VIEWER}, get=200),
    "api_guidelines": api({EXPERT, MANAGER, VIEWER}, get=200),
    "api_wording": api({EXPERT, MANAGER, VIEWER}, get=200),
    "api_precedents": api({EXPERT, MANAGER}, get=200),
    "api_questions": api({EXPERT, MANAGER}, get=200),
    "api_rounds": api({MANAGER, VIEWER}, get=200),
    "api_batches": api({MANAGER, VIEWER}, get=200),
    "api_audit": api({MANAGER}, get=200),
    "api_report": api({MANAGER, VIEWER}, get=200, post=404, with_=lambda cast: {"kind": "agreement"}),
    "api_plan": api({MANAGER, VIEWER}, get=400),  # without a goal
    "api_schema": api(PUBLIC, get=200),
    # an item's experts and the managers
    "discussions": Route({EXPERT, MANAGER}, get=200),
    "discussion": Route({EXPERT, MANAGER}, get=200, post=400, with_=a_thread),
    "discussion_seen": Route({EXPERT, MANAGER}, post=409, with_=a_thread),  # up to no moment
    "discussion_resolve": Route({MANAGER}, post=400, with_=a_thread),  # without a decision
    "discussion_reopen": Route({MANAGER}, post=302, with_=a_thread),
    # managers and viewers
    "campaign_create": Route({OUTSIDER, MANAGER}, get=200, post=400),  # Otto manages a campaign of his own
    "campaign": Route({MANAGER, VIEWER}, get=200),
    "campaign_names": Route({MANAGER}, post=200),
    "campaign_settings": Route({MANAGER}, get=200, post=400),
    "verify": Route({MANAGER, VIEWER}, get=200),
    "campaign_import": Route({MANAGER}, get=200, post=400),
    "import_preview": Route({MANAGER}, get=200, with_=an_upload),
    "import_findings": Route({MANAGER}, get=200, with_=an_upload),
    "import_confirm": Route({MANAGER}, post=400, with_=an_upload),
    "import_discard": Route({MANAGER}, post=302, with_=an_upload),
    "evaluation_set": Route({MANAGER}, get=200, post=400),
    "evaluation_set_preview": Route({MANAGER}, get=200, with_=a_built_set),
    "evaluation_set_file": Route({MANAGER}, get=200, with_=a_built_set),
    "evaluation_set_save": Route({MANAGER}, post=302, with_=a_built_set),
    "evaluation_set_discard": Route({MANAGER}, post=302, with_=a_built_set),
    # the cast's campaign is of triples: there is no set of compounds, whoever asks
    "compound_set": Route({MANAGER}, get=404, post=404),
    "compound_set_found": Route({MANAGER}, get=404, with_=lambda cast: {"token": uuid4()}),
    "compound_set_file": Route({MANAGER}, get=404, with_=lambda cast: {"token": uuid4()}),
    "campaign_items": Route({MANAGER, VIEWER}, get=200),
    "item_withdraw": Route({MANAGER}, post=409, with_=an_item),  # without a reason
    "item_restore": Route({MANAGER}, post=302, with_=an_item),
    "item_discuss": Route({MANAGER}, post=302, with_=a_frozen_item),
    "item_decide": Route({MANAGER}, get=200, post=400, with_=a_frozen_item),
    "item_decision_back": Route({MANAGER}, post=302, with_=a_frozen_item),
    "guideline_versions": Route({MANAGER}, get=200),
    "guideline_new": Route({MANAGER}, get=200, post=400),
    "precedents": Route({MANAGER}, get=200, post=400),
    "precedent_retire": Route({MANAGER}, post=302, with_=a_precedent),
    "examples": Route({EXPERT, MANAGER}, get=200, post=400),
    "example_score": Route({EXPERT, MANAGER}, post=409, with_=veras_example),  # without an answer
    # only its author and managers take an example back
    "example_retire": Route({MANAGER}, post=302, with_=veras_example),
    "wording": Route({MANAGER}, get=200, post=400),
    "wording_file": Route({MANAGER}, get=200),
    "wording_confirm": Route({MANAGER}, post=409),  # of no file
    "questions": Route({MANAGER}, get=200),
    "question_answer": Route({MANAGER}, post=400, with_=a_question),  # without a word
    "surplus": Route({MANAGER}, get=200),
    "attention": Route({MANAGER}, get=200),
    "answer_return": Route({MANAGER}, post=400, with_=adas_report),  # without a ruling
    "problem_leave": Route({MANAGER}, post=400, with_=adas_report),  # without a note
    "item_fix": Route({MANAGER}, get=200, post=400, with_=an_item),  # without a text
    "progress": Route({MANAGER}, get=200),
    "hours_export": Route({MANAGER}, get=200),
    "pay_statement": Route({MANAGER}, get=200, with_=adas_place),
    "evidence": Route({MANAGER}, get=200, post=200),
    "audit": Route({MANAGER}, get=200),
    "audit_names": Route({MANAGER}, post=200),
    "audit_export": Route({MANAGER}, get=200, with_=lambda cast: {"format": "csv"}),
    "campaign_close": Route({MANAGER}, post=409),  # without a reason
    "campaign_reopen": Route({MANAGER}, post=302),  # open already: nothing changes
    "campaign_archive": Route({MANAGER}, post=409),  # not closed
    "campaign_unarchive": Route({MANAGER}, post=302),
    "assign": Route({MANAGER}, get=200, post=400),
    "carry_over": Route({MANAGER, VIEWER}, get=200),
    "carry_over_end": Route({MANAGER}, post=302),  # nothing is carried over: nothing changes
    "spot_check_new": Route({MANAGER}, get=200, post=400),
    "spot_check": Route({MANAGER, VIEWER}, get=200, with_=a_spot_check),
    "spot_check_decide": Route({MANAGER}, post=400, with_=a_spot_check),  # nothing said
    "spot_check_file": Route(  # not finished
        {MANAGER, VIEWER}, get=404, with_=lambda cast: a_spot_check(cast) | {"format": "md"}
    ),
    "gold": Route({MANAGER}, get=200, post=200),
    "gold_mark": Route({MANAGER}, post=400),
    "gold_upload": Route({MANAGER}, post=400),
    "gold_unmark": Route({MANAGER}, post=302, with_=a_gold_item),
    "gold_file": Route({MANAGER}, get=200, post=200, with_=lambda cast: {"format": "json"}),
    "repeats": Route({MANAGER}, get=200, post=400),
    "repeats_take_out": Route({MANAGER}, post=404, with_=lambda cast: {"number": 2}),  # nothing was drawn
    "part": Route({MANAGER, VIEWER}, get=200, with_=adas_part),
    "moves": Route({MANAGER}, get=200, post=400),  # nobody is named
    "part_give_back": Route({MANAGER}, post=409, with_=adas_part_and_place),  # not handed in
    "batches": Route({MANAGER, VIEWER}, get=200),
    "batch_close": Route({MANAGER}, post=302, with_=a_batch),
    "batch_reopen": Route({MANAGER}, post=302, with_=a_closed_batch),
    "resolution": Route({MANAGER}, get=200, post=400),  # nothing was confirmed
    "resolution_round": Route({MANAGER, VIEWER}, get=200, with_=a_resolution),
    "resolution_close": Route({MANAGER}, post=400, with_=a_resolution),  # nobody has answered
    "resolution_reopen": Route({MANAGER}, post=302, with_=a_resolution),
    "rejudgement": Route({MANAGER}, get=200, post=400),
    "settled_all": Route({MANAGER}, get=200),
    "rejudgement_round": Route({MANAGER, VIEWER}, get=200, with_=a_rejudgement),
    "rejudgement_close": Route({MANAGER}, post=400, with_=a_rejudgement),
    "rejudgement_reopen": Route({MANAGER}, post=302, with_=a_rejudgement),
    "rounds": Route({MANAGER, VIEWER}, get=200),
    "round_due": Route({MANAGER}, post=302, with_=lambda cast: {"kind": "main", "number": 1}),
    "dry_run_new": Route({MANAGER}, get=200, post=400),
    "dry_run": Route({MANAGER, VIEWER}, get=200, with_=a_dry_run),
    "dry_run_close": Route({MANAGER}, post=409, with_=a_dry_run),  # nobody has answered
    "dry_run_decide": Route({MANAGER}, post=409, with_=a_dry_run),  # it is open
    "dry_run_override": Route({MANAGER}, post=400, with_=a_dry_run),  # without a reason
    "dry_run_reopen": Route({MANAGER}, post=302, with_=a_dry_run),
    "dry_run_take_back": Route({MANAGER}, post=302, with_=a_dry_run),
    "people": Route({MANAGER}, get=200),
    "people_names": Route({MANAGER}, post=200),
    "person_add": Route({MANAGER}, post=400),
    "person_invite": Route({MANAGER}, post=200, with_=adas_place),
    "person_revoke": Route({MANAGER}, post=302, with_=adas_place),
    "person_data": Route({MANAGER}, post=200, with_=adas_place),
    "person_erase": Route({MANAGER}, get=200, post=400, with_=adas_place),  # without the word
    "person_close": Route({MANAGER}, post=302, with_=adas_place),
    "person_reopen": Route({MANAGER}, post=302, with_=adas_place),
    "person_remove": Route({MANAGER}, post=302, with_=veras_place),
    "jobs": Route({MANAGER}, get=200),
    "job": Route({MANAGER}, get=200, with_=a_job),
    "job_state": Route({MANAGER}, get=200, with_=a_job),
    "job_retry": Route({MANAGER}, post=302, with_=a_job),
    "export": Route(
        {MANAGER, VIEWER}, get=200, post=200, with_=lambda cast: {"what": "items", "format": "csv"}
    ),
    "export_names": Route({MANAGER}, post=200, with_=lambda cast: {"format": "csv"}),
    "export_shapes": Route({MANAGER, VIEWER}, get=200),
    "export_in_shape": Route(
        {MANAGER, VIEWER}, get=200, post=200, with_=lambda cast: {"shape": "label-studio", "what": "items"}
    ),
    "compute": Route({MANAGER}, post=302),
    "compute_agreement": Route({MANAGER}, post=302),
    "compute_part": Route({MANAGER}, post=302, with_=adas_part),
    "reports": Route({MANAGER, VIEWER}, get=200),
    "report": Route({MANAGER, VIEWER}, get=200, post=200, with_=lambda cast: {"kind": "agreement"}),
    "report_file": Route(
        {MANAGER, VIEWER}, get=200, post=200, with_=lambda cast: {"kind": "statistics", "format": "md"}
    ),
    # nothing is asked for: there is no such number
    "report_items": Route({MANAGER, VIEWER}, get=400, post=400, with_=lambda cast: {"kind": "statistics"}),
    "plan": Route({MANAGER, VIEWER}, get=200, post=200),
    "what_if": Route({MANAGER, VIEWER}, get=200, post=200, with_=lambda cast: {"kind": "what-if"}),
    "report_picture": Route(
        {MANAGER, VIEWER}, get=409, with_=lambda cast: {"kind": "artifacts", "format": "svg"}
    ),
    "submission_picture": Route(
        {MANAGER}, get=404, with_=lambda cast: {"pk": 1, "name": "reliability", "format": "svg"}
    ),
    "differing_triples": Route({MANAGER, VIEWER}, get=200, with_=two_submissions),
    # the cast's campaign is of triples: a check of compounds is not there, whoever asks
    "check": Route({MANAGER, VIEWER}, get=404, post=404, with_=lambda cast: {"kind": "compound-check"}),
    # submissions and releases; viewers and strangers submit only where a manager opened the board
    "submissions": Route({MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}),
    "submissions_settings": Route({MANAGER}, post=409),
    "submissions_again": Route({MANAGER}, post=302),
    "submission": Route({MANAGER}, get=200, with_=a_submission),  # Mei's own
    "submission_file": Route(
        {MANAGER},
        get=200,
        with_=lambda cast: a_submission(cast) | {"format": "tex"},  # Mei's own
    ),
    "submission_items": Route({MANAGER, VIEWER}, get=200, with_=lambda cast: {"format": "csv"}),
    "board_file": Route({MANAGER, VIEWER}, get=200, with_=lambda cast: {"format": "tex"}),
    "releases": Route({MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}),
    "release": Route({MANAGER, VIEWER}, get=200, with_=a_release),
    "release_file": Route({MANAGER, VIEWER}, get=200, with_=a_release),
    # downstream benchmarks; viewers send in only where a manager opened the board
    "downstream": Route({MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}),
    "accuracies_file": Route(
        {MANAGER, VIEWER}, get=200, with_=lambda cast: accuracies(cast) | {"format": "tex"}
    ),
    "benchmark": Route({MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}, with_=a_scored_benchmark),
    "benchmark_file": Route(
        {MANAGER, VIEWER}, get=200, with_=lambda cast: a_scored_benchmark(cast) | {"format": "tex"}
    ),
    "benchmark_questions": Route(
        {MANAGER, VIEWER}, get=200, with_=lambda cast: a_benchmark(cast) | {"format": "csv"}
    ),
    "benchmark_remove": Route({MANAGER}, post=302, with_=a_benchmark),
    "benchmark_score": Route({MANAGER}, post=302, with_=a_scored_benchmark),
    "benchmark_submission_remove": Route({MANAGER}, post=302, with_=a_sent_file),
    "api_benchmarks": api({MANAGER, VIEWER}, get=200, with_=accuracies),
    "api_benchmark": api({MANAGER, VIEWER}, get=200, with_=a_scored_benchmark),
    "api_benchmark_questions": api({MANAGER, VIEWER}, get=200, with_=a_benchmark),
    "api_benchmark_submissions": api(
        {MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}, with_=a_benchmark
    ),
    "api_submissions": api({MANAGER, VIEWER}, get=200, post={MANAGER: 400, "*": 404}),
    "api_submission": api({MANAGER}, get=200, with_=a_submission),
    "api_curve": api(
        {MANAGER}, get=200, with_=lambda cast: a_submission(cast) | {"name": "precision-recall"}
    ),
    "api_board": api({MANAGER, VIEWER}, get=200),
    "api_releases": api({MANAGER, VIEWER}, get=200),
    "api_release_archive": api({MANAGER, VIEWER}, get=200, with_=a_release),
}


def named_routes(patterns: list[URLPattern | URLResolver]) -> Iterator[tuple[str, URLPattern]]:
    """Every address by its name; the admin is tested on its own."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace != "admin":
                yield from named_routes(pattern.url_patterns)
        else:
            assert pattern.name, f"{pattern.pattern} has no name"
            yield pattern.name, pattern


def all_routes() -> dict[str, URLPattern]:
    return dict(named_routes(get_resolver().url_patterns))


def needs_slug(name: str) -> bool:
    """Whether the address stands inside a campaign."""
    return any("slug" in arguments for _template, arguments in possibilities(name))


def possibilities(name: str) -> list[tuple[str, list[str]]]:
    return [found for way in get_resolver().reverse_dict.getlist(name) for found in way[0]]


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def test_it_has_a_line_for_every_route() -> None:
    routes = set(all_routes())

    assert routes - set(ROUTES) == set(), "these routes have no line in ROUTES"
    assert set(ROUTES) - routes == set(), "these lines of ROUTES have no route"


@pytest.mark.parametrize("name", ROUTES)
def test_it_answers_each_role_and_method_as_the_table_says(name: str, cast: Cast) -> None:
    """c51: permissions belong to the address, not to a menu."""
    route = ROUTES[name]
    arguments = route.with_(cast)
    if needs_slug(name):
        arguments.setdefault("slug", cast.campaign.slug)
    address = reverse(name, kwargs=arguments)
    people = {OUTSIDER: cast.otto, EXPERT: cast.ada, VIEWER: cast.vera, MANAGER: cast.mei}

    client = Client(raise_request_exception=False)
    sessions = {role: session_of(person) for role, person in people.items()}
    seen = {
        (role, method): status_of(client, address, sessions.get(role), method, route.body)
        for role in ROLES
        for method in METHODS
    }

    assert seen == {(role, method): route.expected(role, method) for role in ROLES for method in METHODS}


def session_of(user: User) -> str:
    """The cookie of somebody who has signed in: it holds the session, so it stays good for many requests."""
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def status_of(
    client: Client, address: str, session: str | None, method: str, body: tuple[str, str] = ("", "")
) -> int:
    """The status of one request, whose traces in the database are taken back."""
    client.cookies.clear()
    with transaction.atomic():
        if session is not None:
            client.cookies[settings.SESSION_COOKIE_NAME] = session
        response = client.generic(method.upper(), address, *body)
        transaction.set_rollback(True)
    return response.status_code


def test_it_hides_a_question_from_other_experts(cast: Cast) -> None:
    question = adas_question(cast, answer="The nearest.", answered_by=cast.mei, answered_at=timezone.now())
    lin = Client()
    lin.force_login(cast.lin, "django.contrib.auth.backends.ModelBackend")

    own_page = lin.get(reverse("my_questions", args=["main"]))
    marked = lin.post(reverse("question_read", args=["main", question.pk]))

    assert "Which one?" not in own_page.content.decode()
    assert lin.get(reverse("questions", args=["main"])).status_code == 404
    assert marked.status_code == 404
    question.refresh_from_db()
    assert question.read_at is None


def test_it_shows_the_admin_to_superusers_only(cast: Cast) -> None:
    root = User.objects.create_superuser("root")
    client = Client()

    for user in (cast.mei, cast.ada, cast.vera, cast.otto):
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        assert client.get("/admin/", follow=True).status_code == 403
        assert client.get("/admin/axes/accessattempt/", follow=True).status_code == 403
    client.force_login(root, "django.contrib.auth.backends.ModelBackend")

    assert client.get("/admin/").status_code == 200


def test_it_sends_strangers_from_the_admin_to_the_one_sign_in_page(cast: Cast) -> None:
    response = Client().get("/admin/", follow=True)

    assert response.redirect_chain[-1] == ("/sign-in/?next=/admin/", 302)


def test_it_gives_a_superuser_no_place_in_a_campaign_they_were_not_added_to(cast: Cast) -> None:
    root = session_of(User.objects.create_superuser("root"))
    inside = [name for name, route in ROUTES.items() if needs_slug(name) and route.get is not None]
    assert inside

    for name in inside:
        with transaction.atomic():
            address = reverse(name, kwargs={"slug": cast.campaign.slug, **ROUTES[name].with_(cast)})
            assert status_of(Client(), address, root, "get") == 404, name
            transaction.set_rollback(True)
