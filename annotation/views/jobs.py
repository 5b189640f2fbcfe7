"""Jobs: what was asked for, how far it is, and asking again."""

from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Campaign, Job, Membership, Part
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services import import_files
from annotation.services.jobs import request as request_job
from annotation.services.jobs import worker_health
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

SHOWN = 100


@dataclass(frozen=True)
class JobLine:
    """A job and what it is about, in words."""

    job: Job
    title: str

    @property
    def unfinished(self) -> bool:
        return self.job.state in (Job.State.PENDING, Job.State.RUNNING)


@require_safe
@members_only(MANAGER)
def jobs(request: PersonRequest, member: Membership) -> HttpResponse:
    """The last hundred jobs, the newest first."""
    found = list(
        Job.objects.filter(campaign=member.campaign).select_related("created_by").order_by("-id")[:SHOWN]
    )
    parts = _parts(member.campaign)
    lines = [JobLine(job, job_title(job, parts)) for job in found]
    context = {
        "lines": lines,
        "unfinished": any(line.unfinished for line in lines),
        "worker": worker_health(),
    }
    return campaign_page(request, member, "annotation/jobs.html", context, tab="jobs")


@require_safe
@members_only(MANAGER)
def job(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """One job."""
    context = {"line": _line(member.campaign, pk), "worker": worker_health()}
    return campaign_page(request, member, "annotation/job.html", context, tab="jobs")


@require_safe
@members_only(MANAGER)
def job_state(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """How one job stands, as a piece of a page that asks again by itself."""
    context = {"line": _line(member.campaign, pk), "campaign": member.campaign}
    return render(request, "annotation/job_state.html", context)


@require_POST
@plain_refusals
@members_only(MANAGER)
def job_retry(request: PersonRequest, member: Membership, pk: int) -> HttpResponse:
    """Ask for the same job once more; the failed one stays in the list."""
    old = _line(member.campaign, pk).job
    with transaction.atomic():
        again = request_job(campaign=member.campaign, kind=old.kind, arguments=old.arguments, by=request.user)
        wake(again)
    messages.success(request, _("The job waits for the worker again."))
    return redirect("job", member.campaign.slug, again.pk)


def _line(campaign: Campaign, pk: int) -> JobLine:
    found = Job.objects.filter(campaign=campaign, pk=pk).select_related("created_by").first()
    if found is None:
        raise Http404
    return JobLine(found, job_title(found, _parts(campaign)))


def _parts(campaign: Campaign) -> dict[int, int]:
    return dict(Part.objects.filter(round__campaign=campaign).values_list("pk", "index"))


def job_title(job: Job, parts: dict[int, int]) -> str:
    """What a job does, in words; kinds that other apps bring keep their name until they have one here."""
    if job.kind == "finalize":
        return _("Final labels")
    if job.kind == import_files.KIND:
        return _("Import of a file")
    if job.kind == "agreement":
        part = job.arguments.get("part")
        return (
            _("Agreement")
            if part is None
            else _("Agreement in part %(part)s") % {"part": parts.get(part, "?")}
        )
    return job.kind
