"""Files to take along: items, final labels, judgements."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.formats.adapters.registry import shapes_for
from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.exports import NUMERIC, Cells, Table, names_of, table, take
from annotation.services.people import audit
from annotation.services.readings import ANNOTATIONS, answers_to_come, record_reading
from annotation.services.sentences import translated
from annotation.services.shape_exports import export_shape, fitting_shape, lacking_references
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER, VIEWER)
def export(request: PersonRequest, member: Membership, what: str, format: str) -> HttpResponseBase:  # noqa: A002
    """A table as it stands at this moment, row by row; people under their pseudonyms.

    While others still judge on their own, reading gives no answers: it asks back, and a POST is written down.
    """
    if request.method == "POST":
        record_reading(member.campaign, what, by=request.user)
    elif still := answers_to_come(member.campaign, what):
        return _asking_back(request, member, what, still=still)
    chosen = table(
        member.campaign,
        what,
        names=names_of(member.campaign, real=False),
        history=request.GET.get("history") == "all",
        unlabelled=request.GET.get("unlabelled") == "yes",
    )
    return _stream(member, chosen, what, format)


@require_POST
@plain_refusals
@members_only(MANAGER, archived=True)
def export_names(request: PersonRequest, member: Membership, format: str) -> HttpResponseBase:  # noqa: A002
    """The judgements with people's names; asking for them is written down, and while others judge it asks back."""
    still = answers_to_come(member.campaign, ANNOTATIONS)
    if still and "confirmed" not in request.POST:
        return _asking_back(request, member, ANNOTATIONS, still=still, names=True)
    record_reading(member.campaign, ANNOTATIONS, by=request.user)
    chosen = table(
        member.campaign,
        "annotations",
        names=names_of(member.campaign, real=True),
        history=request.POST.get("history") == "all",
    )
    audit(member.campaign, request.user, "names exported", {"format": format})
    return _stream(member, chosen, "annotations", format)


@require_safe
@members_only(MANAGER, VIEWER)
def export_shapes(request: PersonRequest, member: Membership) -> HttpResponse:
    """The shapes of other programs in which the campaign can be taken along, and what each of them does not hold."""
    campaign = member.campaign
    shapes = [
        {
            "name": adapter.name,
            "title": adapter.title,
            "carries": [translated(sentence) for sentence in adapter.carries_of(campaign.protocol)],
            "lacks": [translated(sentence) for sentence in adapter.lacks_of(campaign.protocol)],
            "brings_items": adapter.brings_items,
            "systems": lacking_references(campaign) if adapter.one_system else [],
        }
        for adapter in shapes_for(campaign.protocol)
    ]
    return campaign_page(request, member, "annotation/export_shapes.html", {"shapes": shapes}, tab="campaign")


@require_http_methods(["GET", "HEAD", "POST"])
@plain_refusals
@members_only(MANAGER, VIEWER)
def export_in_shape(request: PersonRequest, member: Membership, shape: str, what: str) -> HttpResponseBase:
    """Items, or items and judgements, as another program reads them; people under their pseudonyms. Answers are asked
    back for and recorded as in any other export.
    """
    campaign = member.campaign
    system, run = request.GET.get("system"), request.GET.get("run")
    answers = what == ANNOTATIONS
    if request.method != "POST" and (still := answers_to_come(campaign, what)):
        # Nobody is asked about a file that cannot be had.
        fitting_shape(campaign, shape, with_judgements=answers, system=system, run=run)
        return _asking_back(request, member, what, still=still)
    names = names_of(campaign, real=False)
    done = export_shape(campaign, shape, names=names, with_judgements=answers, system=system, run=run)
    if request.method == "POST":
        record_reading(campaign, what, by=request.user)
    response = StreamingHttpResponse(done.chunks(), content_type=done.adapter.content_type)
    parts = [campaign.slug, *(part for part in (system, run) if part), shape, what]
    filename = f"{'-'.join(parts)}.{done.adapter.extension}"
    response.headers["Content-Disposition"] = content_disposition(filename)
    response.headers["X-Assay-Rows"] = str(done.n_items)
    if done.left_out:
        response.headers["X-Assay-Left-Out"] = _counts(done.without)
    return response


def _asking_back(
    request: PersonRequest, member: Membership, what: str, *, still: int, names: bool = False
) -> HttpResponse:
    """In place of the file: what it means to take it along now, and the button that does so."""
    context = {"what": what, "interim": still, "names": names, "all": request.POST.get("history") == "all"}
    return campaign_page(
        request, member, "annotation/export_interim.html", context, tab="campaign", status=409
    )


def _stream(member: Membership, chosen: Table, what: str, form: str) -> HttpResponseBase:
    found = take(chosen)
    chunks = write_table(form, chosen.columns, _rows(chosen, found.rows), numeric=NUMERIC)
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[form])
    response.headers["Content-Disposition"] = content_disposition(f"{member.campaign.slug}-{what}.{form}")
    response.headers["X-Assay-Rows"] = str(found.total)
    if chosen.left_out:
        response.headers["X-Assay-Left-Out"] = _counts(chosen.left_out)
    if chosen.empty_reason:
        response.headers["X-Assay-Reason"] = _ascii(chosen.empty_reason)
    return response


def _counts(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{why}={n}" for why, n in left_out.items())


def _rows(chosen: Table, rows: Iterator[Cells]) -> Iterator[list[Any]]:
    return ([row[name] for name in chosen.columns] for row in rows)


def _ascii(sentence: str) -> str:
    """Headers hold ASCII only."""
    plain = sentence.translate({ord("“"): '"', ord("”"): '"', ord("’"): "'", ord("–"): "-"})
    return plain.encode("ascii", "replace").decode()
