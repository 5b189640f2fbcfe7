"""Releases: freezing a campaign, and what was frozen."""

from collections.abc import Sequence

from django.contrib import messages
from django.db import transaction
from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.formats.writers import content_disposition
from annotation.models import Campaign, Item, Job, Membership, Round
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services import jobs
from annotation.services.errors import Refused
from annotation.services.jobs import worker_health
from annotation.services.readings import RELEASE, answers_to_come
from annotation.services.sentences import translated
from annotation.services.unsettled import Unsettled, unsettled
from annotation.tasks import wake
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.forms.releases import SPLIT_WORDS, ReleaseForm
from scoring.models import Release
from scoring.services.releases import KIND, archive_of, check_new


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def releases(request: PersonRequest, member: Membership) -> HttpResponse:
    """What was frozen; for managers, freezing the campaign as it stands: the worker does it."""
    campaign = member.campaign
    has_splits = Item.objects.active().filter(campaign=campaign).exclude(split="").exists()
    if request.method != "POST":
        return _page(request, member, ReleaseForm(campaign=campaign, has_splits=has_splits))
    if member.role != MANAGER:
        raise Http404
    form = ReleaseForm(request.POST, campaign=campaign, has_splits=has_splits)
    if not form.is_valid():
        return _page(request, member, form, status=400)
    data = form.cleaned_data
    try:
        check_new(campaign, data["name"])
    except Refused as refusal:
        form.add_error(None, translated(refusal.message))
        return _page(request, member, form, status=409)
    arguments = {
        "name": data["name"],
        "split": data["split"],
        "seed": data["seed"],
        "by_head": bool(data.get("by_head")),
    }
    with transaction.atomic():
        wake(jobs.request(campaign=campaign, kind=KIND, arguments=arguments, by=request.user))
    messages.success(request, _("The worker freezes the campaign; the release appears here in a moment."))
    return redirect("releases", campaign.slug)


def _page(
    request: PersonRequest, member: Membership, form: ReleaseForm, *, status: int = 200
) -> HttpResponse:
    campaign = member.campaign
    warns = member.role == MANAGER and campaign.label_version > 0
    context = {
        "form": form,
        # triples may have labels that were imported
        "lacks_labels": campaign.protocol == Campaign.Protocol.COMPOUND and not campaign.label_version,
        "unsettled": unsettled(campaign, imported=True) if warns else Unsettled(),
        "releases": _with_same(list(campaign.releases.all())),
        "job": Job.objects.filter(campaign=campaign, kind=KIND).order_by("-id").first(),
        "worker": worker_health(),
        "interim": answers_to_come(campaign, RELEASE) if member.role == MANAGER else 0,
        "resolving": warns
        and campaign.rounds.filter(kind=Round.Kind.RESOLUTION, state=Round.State.OPEN).exists(),
    }
    return campaign_page(request, member, "scoring/releases.html", context, tab="reports", status=status)


def _with_same(found: Sequence[Release]) -> list[tuple[Release, str]]:
    """Each release with the name of the earliest that holds the same bytes; "" where that is itself."""
    first: dict[str, Release] = {}
    for one in sorted(found, key=lambda one: one.pk):
        first.setdefault(one.sha256, one)
    return [(one, "" if first[one.sha256] is one else first[one.sha256].name) for one in found]


@require_safe
@members_only(MANAGER, VIEWER)
def release(request: PersonRequest, member: Membership, name: str) -> HttpResponse:
    """What one release holds, with every checksum."""
    found = _find(member, name)
    rule = found.manifest["split"]["rule"]
    context = {"release": found, "manifest": found.manifest, "split_words": SPLIT_WORDS[rule]}
    return campaign_page(request, member, "scoring/release.html", context, tab="reports")


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def release_file(request: PersonRequest, member: Membership, name: str) -> HttpResponseBase:
    """The archive as it was frozen."""
    return archive_response(_find(member, name))


def archive_response(found: Release) -> FileResponse:
    """The archive under a name for people; its checksum stands in a header."""
    response = FileResponse(archive_of(found).open("rb"), content_type="application/zip")
    response.headers["Content-Disposition"] = content_disposition(f"{found.campaign.slug}-{found.name}.zip")
    response.headers["X-Assay-Sha256"] = found.sha256
    return response


def _find(member: Membership, name: str) -> Release:
    found = member.campaign.releases.filter(name=name).first()
    if found is None:
        raise Http404
    return found
