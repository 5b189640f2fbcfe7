"""Building an evaluation set: send the files, look at what it would be made of, store it whole."""

import secrets
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.errors import FormatError
from annotation.formats.writers import CONTENT_TYPES, content_disposition
from annotation.forms.evaluation_sets import FILTER_WORDS, EvaluationSetForm
from annotation.models import Campaign, Job, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.candidates import DROPPED
from annotation.protocol.errors import ProtocolError
from annotation.protocol.slips import SLIPS
from annotation.services import evaluation_set_files, import_files, jobs, uploads
from annotation.services.campaigns import MAX_SEED
from annotation.services.errors import Refused
from annotation.services.evaluation_set_files import SET, UPLOAD, BeingStored
from annotation.services.evaluation_sets import UnusableRows, refuse_items
from annotation.services.jobs import worker_health
from annotation.services.sentences import translated
from annotation.services.uploads import Upload
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.jobs import JobLine, job_title
from annotation.views.refusals import plain_refusals


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def evaluation_set(request: PersonRequest, member: Membership) -> HttpResponse:
    """Send the files and say what is wanted. Nothing is stored by it."""
    campaign = member.campaign
    if request.method != "POST":
        return _form_page(request, member, EvaluationSetForm(initial={"seed": secrets.randbelow(MAX_SEED)}))
    form = EvaluationSetForm(request.POST, request.FILES)
    if not form.is_valid():
        return _form_page(request, member, form, status=400)
    upload = None
    try:
        refuse_items(campaign)
        upload = _keep(request, campaign, form)
        if sum(kept.size for kept in upload.files.values()) > evaluation_set_files.IN_REQUEST:
            _ask_worker(request, campaign, upload, step="build")
        else:
            evaluation_set_files.build_upload(campaign, upload)
    except (FormatError, Refused, ProtocolError) as error:
        if upload is not None:
            uploads.discard(upload)
        form.add_error(None, translated(error.sentence if isinstance(error, FormatError) else error.message))
        faults = error.shown() if isinstance(error, UnusableRows) else None
        return _form_page(request, member, form, faults=faults, status=400)
    return redirect("evaluation_set_preview", campaign.slug, upload.token)


def _keep(request: PersonRequest, campaign: Campaign, form: EvaluationSetForm) -> Upload:
    data = form.cleaned_data
    files = {name: value for name, value in data.items() if isinstance(value, UploadedFile)}
    options = {name: value for name, value in data.items() if name not in evaluation_set_files.SENT}
    return uploads.keep(campaign, UPLOAD, files, options=options, by=request.user)


def _ask_worker(request: PersonRequest, campaign: Campaign, upload: Upload, *, step: str) -> None:
    """A job for it, unless one is at work already: a second would stand in the way of the first."""
    with transaction.atomic():
        arguments = {"upload": upload.token, "step": step}
        at_work = Job.objects.filter(
            campaign=campaign,
            kind=evaluation_set_files.KIND,
            arguments__upload=upload.token,
            arguments__step=step,
            state=Job.State.RUNNING,
        )
        if at_work.exists():
            return
        job = jobs.request(
            campaign=campaign, kind=evaluation_set_files.KIND, arguments=arguments, by=request.user
        )
        wake(job)


def _form_page(
    request: PersonRequest,
    member: Membership,
    form: EvaluationSetForm,
    *,
    faults: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "faults": faults,
        "stands_against": _stands_against(member.campaign),
        "limit": filesizeformat(uploads.LIMIT),
    }
    return campaign_page(
        request, member, "annotation/evaluation_set.html", context, tab="import", status=status
    )


def _stands_against(campaign: Campaign) -> str:
    """Why a set cannot be stored here, "" where it can."""
    try:
        refuse_items(campaign)
    except Refused as refusal:
        return translated(refusal.message)
    return ""


@require_safe
@plain_refusals
@members_only(MANAGER)
def evaluation_set_preview(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """How far it is; then what the set is made of; then that it is stored."""
    return _preview_page(request, member, _find(member.campaign, token))


def _preview_page(
    request: PersonRequest, member: Membership, upload: Upload, *, status: int = 200
) -> HttpResponse:
    job = jobs.last_for_upload(member.campaign, evaluation_set_files.KIND, upload.token)
    found = upload.preview
    context: dict[str, Any] = {
        "upload": upload,
        "found": found,
        "job": job,
        "job_line": job and JobLine(job, job_title(job, {})),
        "at_work": job is not None and job.state in (Job.State.PENDING, Job.State.RUNNING),
        "worker": worker_health(),
    }
    if found:
        context |= {
            "filter": dict(FILTER_WORDS).get(found["settings"].get("filter"), ""),
            "dropped": _dropped(found),
            "slips": [{**slip, "words": translated(SLIPS[slip["slip"]])} for slip in found["slips"]],
            "stands_against": "" if upload.result else _stands_against(member.campaign),
        }
    return campaign_page(
        request, member, "annotation/evaluation_set_preview.html", context, tab="import", status=status
    )


def _dropped(found: Any) -> list[tuple[str, int]]:
    """Why candidates are not in the set, in words, with their numbers."""
    counts = (found["candidates"] or {}).get("dropped", {})
    return [(translated(words), counts[why]) for why, words in DROPPED.items() if counts.get(why)]


def _find(campaign: Campaign, token: UUID) -> Upload:
    return uploads.find(campaign, token, kinds=(UPLOAD,))


@require_safe
@plain_refusals
@members_only(MANAGER)
def evaluation_set_file(request: PersonRequest, member: Membership, token: UUID) -> HttpResponseBase:
    """The set as a file that an import reads, until it is stored."""
    upload = _find(member.campaign, token)
    if SET not in upload.files or upload.result is not None:
        raise Http404
    response = FileResponse(upload.path(SET).open("rb"), content_type=CONTENT_TYPES["csv"])
    response.headers["Content-Disposition"] = content_disposition(upload.files[SET].name)
    return response


@require_POST
@plain_refusals
@members_only(MANAGER)
def evaluation_set_save(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """Store the set that was shown: at once, or by the worker where it is long.

    Whoever asks twice is led to what became of it.
    """
    campaign = member.campaign
    upload = _find(campaign, token)
    is_long = (upload.preview or {}).get("n", 0) > import_files.IN_REQUEST
    if is_long and not evaluation_set_files.is_stored(campaign, upload):
        refuse_items(campaign)
        _ask_worker(request, campaign, upload, step="save")
    else:
        try:
            evaluation_set_files.save_upload(campaign, upload, by=request.user)
        except BeingStored as error:
            messages.info(request, translated(error.message))
    return redirect("evaluation_set_preview", campaign.slug, upload.token)


@require_POST
@plain_refusals
@members_only(MANAGER)
def evaluation_set_discard(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """Forget the files and the set, unless it was stored, as from another tab."""
    upload = _find(member.campaign, token)
    if evaluation_set_files.is_stored(member.campaign, upload):
        messages.info(
            request, _("The set is stored already and stays in the campaign; nothing was thrown away.")
        )
        return redirect("evaluation_set_preview", member.campaign.slug, upload.token)
    evaluation_set_files.refuse_while_stored(member.campaign, upload)
    uploads.discard(upload)
    messages.info(request, _("The upload is thrown away; nothing was stored."))
    return redirect("evaluation_set", member.campaign.slug)
