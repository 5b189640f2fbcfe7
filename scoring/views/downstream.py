"""Downstream benchmarks of a campaign: adding one, sending in what models say, and the tables made of it.

For managers and viewers. What is right is shown to neither: it leaves the site on no page and in no file.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.writers import CONTENT_TYPES, content_disposition
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.jobs import worker_health
from annotation.services.sentences import translated
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.forms.benchmarks import BenchmarkForm, BenchmarkSubmissionForm
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.permissions import may_send_in
from scoring.reports.downstream import TITLES
from scoring.reports.table import why
from scoring.services.benchmarks import (
    BOARD,
    add_benchmark,
    questions_file,
    remove_benchmark,
    remove_submission,
)
from scoring.services.downstream.kept import ACCURACIES, kept_accuracies, kept_board
from scoring.services.downstream.scores import check_scorable
from scoring.services.downstream.work import request_scoring, take_in
from scoring.services.targets import SubmissionError
from scoring.views.reports import FILES, as_text

FORMATS = (("md", "Markdown"), ("tex", "LaTeX"), ("csv", "CSV"), ("json", "JSON"))
SHOWN = 100  # submissions in a list
SHOWN_ISSUES = 50
Form = BenchmarkForm | BenchmarkSubmissionForm


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def downstream(request: PersonRequest, member: Membership) -> HttpResponse:
    """The benchmarks there are, accuracies over those of choices and, for managers, adding one."""
    if request.method != "POST":
        return _overview(request, member, BenchmarkForm())
    if member.role != MANAGER:
        raise Http404
    form = BenchmarkForm(request.POST, request.FILES)
    if not form.is_valid():
        return _overview(request, member, form, status=400)
    data = form.cleaned_data
    try:
        added = add_benchmark(
            member.campaign,
            data["file"].read(),
            file_name=data["file"].name,
            name=data["name"],
            kind=data["kind"],
            hypotheses=data["hypotheses"],
            cased=data["cased"],
            by=request.user,
        )
    except SubmissionError as error:
        return _overview(request, member, form, status=400, issues=error.issues)
    except (FormatError, ProtocolError, Refused) as error:
        form.add_error(None, _told(error))
        return _overview(request, member, form, status=400)
    _tell(request, added.warnings, added.unknown_columns)
    messages.success(request, _("The benchmark is frozen. Now models' answers can be sent in."))
    return redirect("benchmark", member.campaign.slug, added.benchmark.pk)


def _overview(
    request: PersonRequest,
    member: Membership,
    form: BenchmarkForm,
    *,
    status: int = 200,
    issues: Sequence[RowIssue] = (),
) -> HttpResponse:
    campaign = member.campaign
    found = campaign.benchmarks.annotate(
        sent=Count("submissions", distinct=True), asked=Count("questions", distinct=True)
    )
    context = {
        "form": form,
        **_issues(issues),
        "benchmarks": found,
        "kept": kept_accuracies(campaign),
        "worker": worker_health(),
        "formats": FORMATS,
        "titles": _titles(),
    }
    return campaign_page(request, member, "scoring/downstream.html", context, tab="reports", status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def benchmark(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """One benchmark: its board and, for who may submit, a form. A file is checked at once; the worker scores it."""
    found = _find(member, pk)
    if request.method != "POST":
        return _page(request, member, found, BenchmarkSubmissionForm(kind=found.kind))
    if not may_send_in(member):
        raise Http404
    form = BenchmarkSubmissionForm(request.POST, request.FILES, kind=found.kind)
    if not form.is_valid():
        return _page(request, member, found, form, status=400)
    try:
        _send(request, member, found, form)
    except SubmissionError as error:
        return _page(request, member, found, form, status=400, issues=error.issues)
    except (FormatError, ProtocolError, Refused) as error:
        form.add_error(None, _told(error))
        return _page(request, member, found, form, status=400)
    return redirect("benchmark", member.campaign.slug, found.pk)


def _send(
    request: PersonRequest, member: Membership, found: Benchmark, form: BenchmarkSubmissionForm
) -> None:
    data = form.cleaned_data
    taken = take_in(
        found,
        data["file"].read(),
        file_name=data["file"].name,
        system=data["system"],
        run=data["run"],
        human=data["human"],
        by=request.user,
        replaces_others=member.role == MANAGER,
    )
    if taken.job is not None:
        wake(taken.job)
    _tell(request, taken.sent.warnings, taken.sent.unknown_columns)
    if taken.stored.repeated:
        messages.info(request, _("This very file was sent in before under these names; nothing was added."))
    elif taken.stored.again:
        messages.success(
            request,
            _(
                "This very file was sent in before under these names, and another one after it. Now it counts again; "
                "the worker makes the table anew."
            ),
        )
    else:
        messages.success(request, _("The file fits. The worker scores it; reload this page in a moment."))


def _page(
    request: PersonRequest,
    member: Membership,
    found: Benchmark,
    form: BenchmarkSubmissionForm,
    *,
    status: int = 200,
    issues: Sequence[RowIssue] = (),
) -> HttpResponse:
    kept = kept_board(found)
    sent = found.submissions.defer("statistics").select_related("created_by")[:SHOWN]
    context = {
        "benchmark": found,
        "questions": found.questions.count(),
        "form": form,
        **_issues(issues),
        "kept": kept,
        "worker": worker_health(),
        "may_submit": may_send_in(member),
        "sent": list(sent),
        "pseudonyms": dict(member.campaign.memberships.values_list("user", "pseudonym")),
        "formats": FORMATS,
        "titles": _titles(),
        "undefined": _undefined(kept.document),
    }
    return campaign_page(request, member, "scoring/benchmark.html", context, tab="reports", status=status)


def _titles() -> dict[str, str]:
    return {**TITLES, "accuracy": _("Accuracy"), "mean": _("Mean")}


def _undefined(document: dict[str, Any] | None) -> list[str]:
    """Why figures of a board are not there, each reason once."""
    systems = [] if document is None else document["systems"]
    return why([figure for one in systems for figure in one["figures"].values()])


def _issues(issues: Sequence[RowIssue]) -> dict[str, Any]:
    return {
        "issues": [translated(str(issue)) for issue in issues[:SHOWN_ISSUES]],
        "more_issues": max(len(issues) - SHOWN_ISSUES, 0),
    }


def _tell(request: PersonRequest, warnings: Sequence[RowIssue], unknown: Sequence[str]) -> None:
    for warning in warnings[:SHOWN_ISSUES]:
        messages.warning(request, translated(str(warning)))
    if unknown:
        messages.info(request, _("Columns that were not read: %(names)s.") % {"names": ", ".join(unknown)})


def _told(error: FormatError | ProtocolError | Refused) -> str:
    return translated(error.sentence if isinstance(error, FormatError) else error.message)


def _find(member: Membership, pk: int) -> Benchmark:
    found = Benchmark.objects.filter(campaign=member.campaign, pk=pk).select_related("campaign").first()
    if found is None:
        raise Http404
    return found


@require_safe
@members_only(MANAGER, VIEWER)
def benchmark_file(request: PersonRequest, member: Membership, pk: str, format: str) -> HttpResponse:  # noqa: A002
    """The board as a table for a paper or a program."""
    found = _find(member, int(pk))
    return _as_file(
        BOARD, kept_board(found).document, format, f"{member.campaign.slug}-benchmark-{found.pk}.{format}"
    )


@require_safe
@members_only(MANAGER, VIEWER)
def accuracies_file(request: PersonRequest, member: Membership, format: str) -> HttpResponse:  # noqa: A002
    """Accuracies over the benchmarks of choices in the same way."""
    name = f"{member.campaign.slug}-accuracies.{format}"
    return _as_file(ACCURACIES, kept_accuracies(member.campaign).document, format, name)


def _as_file(kind: str, document: dict[str, Any] | None, form: str, name: str) -> HttpResponse:
    if document is None:
        raise Http404
    response = HttpResponse(as_text(kind, document, form), content_type=f"{FILES[form]}; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition(name)
    return response


@require_safe
@members_only(MANAGER, VIEWER)
def benchmark_questions(
    request: PersonRequest,
    member: Membership,
    pk: str,
    format: str,  # noqa: A002
) -> HttpResponseBase:
    """What a model is to answer, as a file: no references, no gold options."""
    found = _find(member, int(pk))
    chunks = questions_file(found, format, mark=format == "csv")
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[format])
    name = f"{member.campaign.slug}-benchmark-{found.pk}-questions.{format}"
    response.headers["Content-Disposition"] = content_disposition(name)
    return response


@require_POST
@plain_refusals
@members_only(MANAGER)
def benchmark_remove(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take a benchmark out to which nothing was sent."""
    found = _find(member, pk)
    remove_benchmark(found, by=request.user)
    messages.success(request, _("“%(name)s” was removed.") % {"name": found.name})
    return redirect("downstream", member.campaign.slug)


@require_POST
@plain_refusals
@members_only(MANAGER)
def benchmark_score(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Score everything again, with the programs there are now."""
    found = _find(member, pk)
    check_scorable(found)
    with transaction.atomic():
        wake(request_scoring(found, by=request.user, again=True))
    messages.success(request, _("The worker scores all submissions again; reload this page in a moment."))
    return redirect("benchmark", member.campaign.slug, found.pk)


@require_POST
@members_only(MANAGER)
def benchmark_submission_remove(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Take a submission out; the board is made anew without it."""
    sent = (
        BenchmarkSubmission.objects.filter(benchmark__campaign=member.campaign, pk=pk)
        .defer("statistics")
        .select_related("benchmark__campaign")
        .first()
    )
    if sent is None:
        raise Http404
    found = sent.benchmark
    with transaction.atomic():
        remove_submission(sent, by=request.user)
        wake(request_scoring(found, by=request.user))
    messages.success(request, _("The submission was removed; the worker makes the table anew."))
    return redirect("benchmark", member.campaign.slug, found.pk)
