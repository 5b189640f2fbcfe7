"""Pictures of reports and submissions as files: SVG, PDF."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.formats.writers import content_disposition
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.sentences import translated
from annotation.views.refusals import plain_refusals
from scoring.figures import FORMS, draw
from scoring.models import Submission
from scoring.services.pictures import curve_of, picture_of
from scoring.views.reports import choice_of, kind_of, refuse_to_read_interim


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def report_picture(
    request: PersonRequest,
    member: Membership,
    kind: str,
    format: str,  # noqa: A002
) -> HttpResponse:
    """The picture of a report, with the choices of its page."""
    kind_of(member.campaign, kind)
    refuse_to_read_interim(request, member.campaign, kind)
    options = choice_of(request, member.campaign, kind).options
    drawn = draw(kind, picture_of(member.campaign, kind, options), format, translate=translated)
    return _file(drawn, f"{member.campaign.slug}-{kind}", format)


@require_safe
@plain_refusals
@members_only(MANAGER)
def submission_picture(
    request: PersonRequest,
    member: Membership,
    pk: str,
    name: str,
    format: str,  # noqa: A002
) -> HttpResponse:
    """A curve of a submission. Its points tell labels, so only managers get it."""
    found = Submission.objects.select_related("campaign", "release")
    sent = get_object_or_404(found, campaign=member.campaign, pk=pk)
    drawn = draw(name, curve_of(sent, name), format, translate=translated)
    return _file(drawn, f"{member.campaign.slug}-{sent.pk}-{name}", format)


def _file(drawn: bytes, name: str, form: str) -> HttpResponse:
    """Shown where a page asks for it, kept under a telling name where somebody saves it."""
    response = HttpResponse(drawn, content_type=FORMS[form])
    response.headers["Content-Disposition"] = content_disposition(f"{name}.{form}").replace(
        "attachment", "inline", 1
    )
    return response
