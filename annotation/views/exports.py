"""Files to take along: items, final labels, judgements."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse
from django.views.decorators.http import require_safe

from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.services.exports import NUMERIC, Cells, Table, names_of, table, take
from annotation.views.refusals import plain_refusals

EXPORTS = ("items", "labels", "annotations")


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def export(request: PersonRequest, member: Membership, what: str, format: str) -> HttpResponseBase:  # noqa: A002
    """A table as it stands at this moment, row by row. Viewers get pseudonyms; managers get names, or ask not to."""
    campaign = member.campaign
    real = member.role == MANAGER and request.GET.get("names") != "pseudonyms"
    chosen = table(
        campaign, what, names=names_of(campaign, real=real), history=request.GET.get("history") == "all"
    )
    found = take(chosen)
    chunks = write_table(format, chosen.columns, _rows(chosen, found.rows), numeric=NUMERIC)
    response = StreamingHttpResponse(chunks, content_type=CONTENT_TYPES[format])
    response.headers["Content-Disposition"] = content_disposition(f"{campaign.slug}-{what}.{format}")
    response.headers["X-Assay-Rows"] = str(found.total)
    if chosen.empty_reason:
        response.headers["X-Assay-Reason"] = _ascii(chosen.empty_reason)
    return response


def _rows(chosen: Table, rows: Iterator[Cells]) -> Iterator[list[Any]]:
    return ([row[name] for name in chosen.columns] for row in rows)


def _ascii(sentence: str) -> str:
    """Headers hold ASCII only."""
    plain = sentence.translate({ord("“"): '"', ord("”"): '"', ord("’"): "'", ord("–"): "-"})
    return plain.encode("ascii", "replace").decode()
