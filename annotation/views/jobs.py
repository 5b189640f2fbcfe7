"""Jobs: what was asked for, how far it is, and asking again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Campaign, HandIn, Job, Membership, Part
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services import evaluation_set_files, import_files
from annotation.services.jobs import request as request_job
from annotation.services.jobs import worker_health
from annotation.tasks import wake
from annotation.templatetags.manage import job_message
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

SHOWN = 100


@dataclass(frozen=True)
class JobLine:
    """A job and what it is about, in words."""

    job: Job
    title: str
    why: str = ""

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
    parts, causes = part_numbers(member.campaign), _Causes.of(member.campaign)
    lines = [JobLine(job, job_title(job, parts), causes.of_job(job)) for job in found]
    context = {
        "lines": lines,
        "says": any(job_message(line.job) for line in lines),
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
    return JobLine(found, job_title(found, part_numbers(campaign)), _Causes.of(campaign).of_job(found))


@dataclass(frozen=True)
class _Causes:
    """What jobs come from: who asks stands under a pseudonym, an expert asks by handing in a part."""

    pseudonyms: Mapping[int, str]
    # expert, when, the part's key and its index; the newest first
    hand_ins: Sequence[tuple[int, datetime, int, int]]

    @classmethod
    def of(cls, campaign: Campaign) -> "_Causes":
        members = Membership.objects.filter(campaign=campaign).values_list("user", "pseudonym")
        hand_ins = HandIn.objects.filter(part__round__campaign=campaign).order_by("-at")
        return cls(dict(members), list(hand_ins.values_list("expert", "at", "part", "part__index")))

    def of_job(self, job: Job) -> str:
        if job.created_by_id is None:
            return _("by itself, since answers have changed")
        who = self.pseudonyms.get(job.created_by_id, "–")
        index = self._handed_in(job)
        if index is None:
            return _("by %(who)s") % {"who": who}
        return _("%(who)s handed in part %(part)d") % {"who": who, "part": index + 1}

    def _handed_in(self, job: Job) -> int | None:
        """The index of the part whose hand-in set the job off: the job's own part, or else the last one before it."""
        own = job.arguments.get("part")
        before = (
            index
            for expert, at, part, index in self.hand_ins
            if expert == job.created_by_id and own in (None, part) and at <= job.created_at
        )
        return next(before, None)


def part_numbers(campaign: Campaign) -> dict[int, int]:
    """What people call each part, by its key."""
    return {part.pk: part.number for part in Part.objects.filter(round__campaign=campaign)}


def job_title(job: Job, parts: dict[int, int]) -> str:
    """What a job does, in words; kinds that other apps bring keep their name until they have one here."""
    if job.kind == "finalize":
        return _("Final labels")
    if job.kind == import_files.KIND:
        return _("Import of a file")
    if job.kind == evaluation_set_files.KIND:
        return _("Evaluation set stored") if job.arguments["step"] == "save" else _("Evaluation set built")
    if job.kind == "agreement":
        part = job.arguments.get("part")
        return (
            _("Agreement")
            if part is None
            else _("Agreement in part %(part)s") % {"part": parts.get(part, "?")}
        )
    if job.kind == "score":
        return _("All submissions measured again")
    if job.kind == "measure":
        titles = {"comparison": _("Systems compared"), "bleu": _("Character BLEU")}
        kind = str(job.arguments["kind"])
        return titles.get(kind, kind)
    if job.kind == "downstream":
        return _("Benchmark scored")
    if job.kind == "release":
        return _("Release %(name)s") % {"name": job.arguments.get("name", "?")}
    return job.kind
