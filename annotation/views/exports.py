"""Files to take along: items, final labels, judgements."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_POST, require_safe

from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.exports import NUMERIC, Cells, Table, names_of, table, take
from annotation.services.people import audit
from annotation.views.refusals import plain_refusals


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def export(request: PersonRequest, member: Membership, what: str, format: str) -> HttpResponseBase:  # noqa: A002
    """A table as it stands at this moment, row by row; people under their pseudonyms."""
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
    """The judgements with people's names; asking for them is written down."""
    chosen = table(
        member.campaign,
        "annotations",
        names=names_of(member.campaign, real=True),
        history=request.POST.get("history") == "all",
    )
    audit(member.campaign, request.user, "names exported", {"format": format})
    return _stream(member, chosen, "annotations", format)


def _stream(member: Membership, chosen: Table, what: str, form: str) -> HttpResponseBase:
    found = take(chosen)
    chunks = write_table(form, chosen.columns, _rows(chosen, found.rows), numeric=NUMERIC)
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[form])
    response.headers["Content-Disposition"] = content_disposition(f"{member.campaign.slug}-{what}.{form}")
    response.headers["X-Assay-Rows"] = str(found.total)
    if chosen.left_out:
        response.headers["X-Assay-Left-Out"] = ", ".join(f"{why}={n}" for why, n in chosen.left_out.items())
    if chosen.empty_reason:
        response.headers["X-Assay-Reason"] = _ascii(chosen.empty_reason)
    return response


def _rows(chosen: Table, rows: Iterator[Cells]) -> Iterator[list[Any]]:
    return ([row[name] for name in chosen.columns] for row in rows)


def _ascii(sentence: str) -> str:
    """Headers hold ASCII only."""
    plain = sentence.translate({ord("“"): '"', ord("”"): '"', ord("’"): "'", ord("–"): "-"})
    return plain.encode("ascii", "replace").decode()
