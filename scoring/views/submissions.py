"""A campaign's board: who may send something in, what was sent, and how it did."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services import jobs
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.tasks import wake
from annotation.views.refusals import plain_refusals
from scoring.forms.submissions import BoardForm, SubmissionForm
from scoring.models import Board, Release, Submission
from scoring.permissions import Submitter, submitters_only
from scoring.services.boards import (
    board_document,
    board_groups,
    document_for,
    leaderboard,
    over_runs,
    set_board,
)
from scoring.services.human_line import human_line
from scoring.services.open_items import open_items
from scoring.services.scores import SPLITS, kind_of
from scoring.services.submissions import KIND, Submitted, submit, used
from scoring.services.targets import SubmissionError
from scoring.views.reports import FILES, as_text

BOARD = "leaderboard"
FORMATS = (("md", "Markdown"), ("tex", "LaTeX"), ("csv", "CSV"), ("json", "JSON"))
SHOWN = 100  # submissions in a list
SHOWN_ISSUES = 50


@require_http_methods(["GET", "HEAD", "POST"])
@submitters_only
def submissions(request: PersonRequest, submitter: Submitter) -> HttpResponse:
    """The board and, for who may, a form. A file is scored at once, or nothing of it is stored."""
    if request.method != "POST":
        return _page(request, submitter, _empty_form(request, submitter))
    if not submitter.may_submit:
        raise Http404
    form = SubmissionForm(request.POST, request.FILES, campaign=submitter.campaign, manages=submitter.manages)
    if not form.is_valid():
        return _page(request, submitter, form, status=400)
    try:
        done = _submit(submitter, form)
    except SubmissionError as error:
        return _page(request, submitter, form, status=400, issues=error.issues)
    except (FormatError, ProtocolError, Refused) as error:
        form.add_error(None, _told(error))
        return _page(request, submitter, form, status=400)
    for warning in done.warnings[:SHOWN_ISSUES]:
        messages.warning(request, translated(str(warning)))
    if done.unknown_columns:
        messages.info(
            request, _("Columns that were not read: %(names)s.") % {"names": ", ".join(done.unknown_columns)}
        )
    return redirect("submission", submitter.campaign.slug, done.submission.pk)


def _told(error: FormatError | ProtocolError | Refused) -> str:
    return translated(error.sentence if isinstance(error, FormatError) else error.message)


def _empty_form(request: PersonRequest, submitter: Submitter) -> SubmissionForm:
    """Against what is looked at, so that a submission stands on this board."""
    release, split = _looked_at(request, submitter)
    chosen = {"release": release, "split": split}
    return SubmissionForm(campaign=submitter.campaign, manages=submitter.manages, initial=chosen)


def _submit(submitter: Submitter, form: SubmissionForm) -> Submitted:
    file = form.cleaned_data["file"]
    return submit(
        submitter.campaign,
        file.read(),
        name=file.name,
        wish=form.wish(),
        by=submitter.user,
        board=None if submitter.manages else submitter.board,
    )


def _page(
    request: PersonRequest,
    submitter: Submitter,
    form: SubmissionForm,
    *,
    status: int = 200,
    issues: Sequence[RowIssue] = (),
) -> HttpResponse:
    campaign = submitter.campaign
    release, split = _looked_at(request, submitter)
    lines = leaderboard(
        campaign, split=split, release=release, viewer=submitter.user, manages=submitter.manages
    )
    sent = Submission.objects.filter(campaign=campaign).select_related("evaluation", "release", "created_by")
    if not submitter.manages:
        sent = sent.filter(created_by=submitter.user)
    context = {
        "form": form,
        "issues": [translated(str(issue)) for issue in issues[:SHOWN_ISSUES]],
        "more_issues": max(len(issues) - SHOWN_ISSUES, 0),
        "lines": lines,
        "groups": board_groups(campaign),
        "human": human_line(campaign, split=split, release=release, manages=submitter.manages),
        "sources": len({line.labels for line in lines}),
        "formats": FORMATS,
        "stale": any(line.stale for line in lines),
        "split": split,
        "splits": SPLITS if submitter.manages else SPLITS[:2],
        "release": release,
        "releases": campaign.releases.all(),
        "sent": sent[:SHOWN],
        "elsewhere": [] if lines else _other_boards(sent[:SHOWN]),
        "pseudonyms": dict(campaign.memberships.values_list("user", "pseudonym")),
        "used": used(campaign, submitter.user),
        "board_form": BoardForm(instance=submitter.board) if submitter.manages else None,
    }
    return _render(request, submitter, "scoring/submissions.html", context, status=status)


def _other_boards(sent: Iterable[Submission]) -> list[tuple[Submission, str, int]]:
    """Where the submissions of the list stand: one of each board, its address, and how many."""
    found: dict[str, list[Submission]] = {}
    for one in sent:
        found.setdefault(_board_of(one), []).append(one)
    return [(there[0], address, len(there)) for address, there in found.items()]


def _render(
    request: PersonRequest, submitter: Submitter, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    shared = {
        "campaign": submitter.campaign,
        "member": submitter.member,
        "manages": submitter.manages,
        "may_submit": submitter.may_submit,
        "board": submitter.board,
        "compound": submitter.campaign.protocol == Campaign.Protocol.COMPOUND,
        "tab": "reports",
    }
    return render(request, template, {**shared, **context}, status=status)


def _looked_at(request: PersonRequest, submitter: Submitter) -> tuple[Release | None, str]:
    """The board that is shown: where the address names no release the newest one; an empty name is the campaign."""
    campaign, split = submitter.campaign, _split(request, submitter)
    if "release" in request.GET or campaign.protocol == Campaign.Protocol.COMPOUND:
        return _release(request, campaign), split
    return campaign.releases.order_by("-pk").first(), split


def _board_of(sent: Submission) -> str:
    """The address of the board on which a submission stands."""
    address = reverse("submissions", args=[sent.campaign.slug])
    if sent.campaign.protocol == Campaign.Protocol.COMPOUND:
        return address
    return (
        f"{address}?{urlencode({'split': sent.split, 'release': sent.release.name if sent.release else ''})}"
    )


def _release(request: PersonRequest, campaign: Campaign) -> Release | None:
    """The release of the address; none is the campaign as it stands."""
    name = request.GET.get("release")
    if not name:
        return None
    found = campaign.releases.filter(name=name.replace("\x00", "")).first()
    if found is None:
        raise Http404
    return found


def _split(request: PersonRequest, submitter: Submitter) -> str:
    split = request.GET.get("split", SPLITS[0])
    if split not in (SPLITS if submitter.manages else SPLITS[:2]):
        raise Http404
    return split


@require_safe
@submitters_only
def board_file(request: PersonRequest, submitter: Submitter, format: str) -> HttpResponse:  # noqa: A002
    """The board as a table for a paper or a program; figures as this reader may see them."""
    campaign = submitter.campaign
    release, split = _release(request, campaign), _split(request, submitter)
    lines = leaderboard(
        campaign, split=split, release=release, viewer=submitter.user, manages=submitter.manages
    )
    human = human_line(campaign, split=split, release=release, manages=submitter.manages)
    document = board_document(lines, split=split, release=release, manages=submitter.manages, human=human)
    response = HttpResponse(as_text(BOARD, document, format), content_type=f"{FILES[format]}; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition(f"{campaign.slug}-{BOARD}.{format}")
    return response


@require_safe
@submitters_only
def submission(request: PersonRequest, submitter: Submitter, pk: int) -> HttpResponse:
    """One submission's figures: one's own, or any for managers."""
    sent = _sent(submitter, pk)
    context = {
        "sent": sent,
        "formats": FORMATS,
        "document": document_for(sent, manages=submitter.manages),
        "runs": over_runs(sent, manages=submitter.manages),
        "board_address": _board_of(sent),
    }
    return _render(request, submitter, "scoring/submission.html", context)


@require_safe
@submitters_only
def submission_file(request: PersonRequest, submitter: Submitter, pk: str, format: str) -> HttpResponse:  # noqa: A002
    """The same figures as a table for a paper or a program, with the runs of the system."""
    sent = _sent(submitter, int(pk))
    document = document_for(sent, manages=submitter.manages)
    document["runs"] = over_runs(sent, manages=submitter.manages)
    text = as_text(kind_of(document), document, format)
    response = HttpResponse(text, content_type=f"{FILES[format]}; charset=utf-8")
    name = f"{submitter.campaign.slug}-submission-{sent.pk}.{format}"
    response.headers["Content-Disposition"] = content_disposition(name)
    return response


def _sent(submitter: Submitter, pk: int) -> Submission:
    """One's own, or any for managers; Http404 for any other."""
    found = Submission.objects.filter(campaign=submitter.campaign, pk=pk)
    if not submitter.manages:
        found = found.filter(created_by=submitter.user)
    sent = found.select_related("evaluation", "release", "created_by", "campaign").first()
    if sent is None:
        raise Http404
    return sent


@require_safe
@submitters_only
def submission_items(request: PersonRequest, submitter: Submitter, format: str) -> HttpResponseBase:  # noqa: A002
    """What a system is to judge or translate, as a file: no labels, no references."""
    release = _release(request, submitter.campaign)
    found = open_items(submitter.campaign, release)
    chunks = write_table(format, list(found.columns), found.rows, mark=format == "csv")
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[format])
    name = f"{submitter.campaign.slug}{f'-{release.name}' if release else ''}-to-predict.{format}"
    response.headers["Content-Disposition"] = content_disposition(name)
    return response


@require_POST
@plain_refusals
@members_only(MANAGER)
def submissions_settings(request: PersonRequest, member: Membership) -> HttpResponse:
    """Who may submit, and how often against test."""
    campaign = member.campaign
    form = BoardForm(request.POST, instance=Board.objects.filter(campaign=campaign).first())
    if not form.is_valid():
        raise Refused(_("This form is incomplete; open the page again."))
    set_board(
        campaign,
        audience=form.cleaned_data["audience"],
        quota=form.cleaned_data["quota"],
        by=request.user,
    )
    messages.success(request, _("It is written down who may submit."))
    return redirect("submissions", campaign.slug)


@require_POST
@members_only(MANAGER)
def submissions_again(request: PersonRequest, member: Membership) -> HttpResponse:
    """Measure all predictions against the labels there are now."""
    with transaction.atomic():
        wake(jobs.request(campaign=member.campaign, kind=KIND, arguments={}, by=request.user))
    messages.success(request, _("The worker measures all submissions again; reload this page in a moment."))
    return redirect("submissions", member.campaign.slug)
