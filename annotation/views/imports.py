"""Bringing files in: send them, look at what they would change, confirm, see what became of it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.adapters.registry import SHAPES
from annotation.formats.cells import excerpt
from annotation.formats.errors import FormatError
from annotation.forms.files import (
    CognitionForm,
    ConfirmImportForm,
    ItemFileForm,
    JudgementFileForm,
    ShapeFileForm,
)
from annotation.models import Campaign, Job, Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from annotation.services import import_files, jobs, uploads
from annotation.services.errors import Refused
from annotation.services.import_files import IN_REQUEST, PreviewOutdated
from annotation.services.jobs import worker_health
from annotation.services.sentences import translated
from annotation.services.uploads import Upload
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.jobs import JobLine, job_title
from annotation.views.refusals import plain_refusals
from annotation.views.table_files import csv_file

Forms = dict[str, forms.Form]


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def campaign_import(request: PersonRequest, member: Membership) -> HttpResponse:
    """Send a file of items, a CoGnition test set, or a file of judgements. Nothing is stored by sending it."""
    campaign = member.campaign
    if request.method != "POST":
        return _import_page(request, member, _forms(campaign))
    kind = request.POST.get("kind", "")
    shown = _forms(campaign, kind=kind, data=request.POST, files=request.FILES)
    if kind not in shown or not shown[kind].is_valid():
        return _import_page(request, member, shown, status=400)
    upload = _keep(request, campaign, kind, shown[kind])
    try:
        import_files.check(campaign, upload)
    except (FormatError, Refused) as error:
        uploads.discard(upload)
        shown[kind].add_error(None, _told_of(upload, error))
        return _import_page(request, member, shown, status=400)
    return redirect("import_preview", campaign.slug, upload.token)


def _find(campaign: Campaign, token: UUID) -> Upload:
    return uploads.find(campaign, token, kinds=import_files.KINDS)


def _told_of(upload: Upload, error: FormatError | Refused) -> str:
    """What is wrong, with the name of the file: the page does not keep what was chosen."""
    if isinstance(error, Refused) or len(upload.files) > 1:
        return _told(error)
    return translated(say("{name}: {message}", name=excerpt(upload.file_names), message=error.sentence))


def _told(error: FormatError | Refused) -> str:
    return translated(error.sentence if isinstance(error, FormatError) else error.message)


def _forms(campaign: Campaign, *, kind: str = "", data: Any = None, files: Any = None) -> Forms:
    """The forms that fit the campaign; only the one that was sent is filled in."""
    sent: Mapping[str, Any] = {"data": data, "files": files}
    found: Forms = {
        "items": ItemFileForm(
            **(sent if kind == "items" else {}), prefix="items", protocol=campaign.protocol
        ),
        "judgements": JudgementFileForm(**(sent if kind == "judgements" else {}), prefix="judgements"),
        "shape": ShapeFileForm(
            **(sent if kind == "shape" else {}), prefix="shape", protocol=campaign.protocol
        ),
    }
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        found["cognition"] = CognitionForm(**(sent if kind == "cognition" else {}), prefix="cognition")
    return found


def _keep(request: PersonRequest, campaign: Campaign, kind: str, form: forms.Form) -> Upload:
    data = form.cleaned_data
    files = {name: value for name, value in data.items() if isinstance(value, UploadedFile)}
    options = {name: value for name, value in data.items() if name not in files and value}
    return uploads.keep(campaign, kind, files, options=options, by=request.user)


def _import_page(
    request: PersonRequest, member: Membership, shown: Forms, *, status: int = 200
) -> HttpResponse:
    campaign = member.campaign
    protocol = get_protocol(campaign.protocol)
    context = {
        "forms": shown,
        "columns": protocol.columns,
        "batches": campaign.import_batches.filter(published_at__isnull=False)
        .select_related("created_by")
        .order_by("-id")[:20],
        "limit": filesizeformat(uploads.LIMIT),
        "examples": [translated(example) for example in protocol.examples],
        "has_items": member.campaign.items.exists(),
        "sent": next((kind for kind, form in shown.items() if form.is_bound), "items"),
    }
    return campaign_page(
        request, member, "annotation/campaign_import.html", context, tab="import", status=status
    )


@require_safe
@plain_refusals
@members_only(MANAGER)
def import_preview(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """What the file holds and would change; then how the import goes on; then what was stored."""
    return _preview_page(request, member, _find(member.campaign, token))


def _preview_page(
    request: PersonRequest, member: Membership, upload: Upload, *, status: int = 200
) -> HttpResponse:
    job = jobs.last_for_upload(member.campaign, import_files.KIND, upload.token)
    found = upload.result or upload.preview or {}
    adapter = SHAPES.get(found.get("shape", ""))
    sample = found.get("sample", {})
    context = {
        "shape": adapter and adapter.title,
        "not_carried": [translated(one) for one in adapter.lacks_of(member.campaign.protocol)]
        if adapter
        else [],
        "upload": upload,
        "found": found,
        "sample": [
            (line, list(zip(sample["columns"], cells, strict=False)))
            for line, cells in sample.get("rows", ())
        ],
        "job": job,
        "job_line": job and JobLine(job, job_title(job, {})),
        "at_work": job is not None and job.state in (Job.State.PENDING, Job.State.RUNNING),
        "may_store": _may_store(upload),
        "new": found.get("added") or found.get("filled") or found.get("judgements"),
        "listed": any(found.get("counts", {}).values()),
        "waiting": import_files.waits_to_be_given(member.campaign) if upload.result is not None else 0,
        "worker": worker_health(),
    }
    return campaign_page(
        request, member, "annotation/import_preview.html", context, tab="import", status=status
    )


@require_safe
@plain_refusals
@members_only(MANAGER)
def import_findings(request: PersonRequest, member: Membership, token: UUID) -> HttpResponseBase:
    """All errors, conflicts and warnings of a file as a table; the page shows the first of them."""
    campaign = member.campaign
    upload = _find(campaign, token)
    name = f"{campaign.slug}-import-findings"
    return csv_file(name, import_files.FINDINGS, import_files.findings(campaign, upload))


def _may_store(upload: Upload) -> bool:
    """Whether there is something to confirm: texts that differ can be decided on for files of items only."""
    found = upload.preview or {}
    if upload.result is not None or found.get("errors"):
        return False
    if found.get("conflicts"):
        return upload.kind == "items"
    return bool(found.get("added") or found.get("filled") or found.get("judgements"))


@require_POST
@plain_refusals
@members_only(MANAGER)
def import_confirm(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """Store what the preview showed: at once, or by the worker where it is long."""
    campaign = member.campaign
    upload = _find(campaign, token)
    form = ConfirmImportForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("This form is incomplete; open the page again."))
        return _preview_page(request, member, upload, status=400)
    choice = {"seen": form.cleaned_data["seen"], "on_conflict": form.cleaned_data["on_conflict"] or "refuse"}
    if upload.result is None and (upload.preview or {}).get("rows", 0) > IN_REQUEST:
        _ask_worker(campaign, upload, choice, request)
        return redirect("import_preview", campaign.slug, upload.token)
    try:
        import_files.store_upload(campaign, upload, by=request.user, **choice)
    except PreviewOutdated as outdated:
        messages.warning(request, translated(outdated.message))
        return _preview_page(request, member, import_files.check(campaign, upload), status=409)
    except (FormatError, Refused) as error:
        messages.error(request, _told(error))
        return _preview_page(request, member, upload, status=409)
    return redirect("import_preview", campaign.slug, upload.token)


def _ask_worker(
    campaign: Campaign, upload: Upload, choice: Mapping[str, str], request: PersonRequest
) -> None:
    with transaction.atomic():
        job = jobs.request(
            campaign=campaign,
            kind=import_files.KIND,
            arguments={"upload": upload.token, **choice},
            by=request.user,
        )
        wake(job)


@require_POST
@plain_refusals
@members_only(MANAGER)
def import_discard(request: PersonRequest, member: Membership, token: UUID) -> HttpResponse:
    """Forget an upload; nothing of it was stored."""
    uploads.discard(_find(member.campaign, token))
    messages.info(request, _("The upload is thrown away; nothing was stored."))
    return redirect("campaign_import", member.campaign.slug)
