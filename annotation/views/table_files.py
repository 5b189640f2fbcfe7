"""Short tables as files to take along; long ones stream from `exports`."""

from collections.abc import Iterable, Sequence

from django.http import StreamingHttpResponse

from annotation.formats.writers import CONTENT_TYPES, Cell, content_disposition, write_table


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> StreamingHttpResponse:
    """X-Assay-Rows tells how many rows there are, so that a cut stream can be seen."""
    whole = list(rows)
    response = StreamingHttpResponse(write_table("csv", columns, whole), content_type=CONTENT_TYPES["csv"])
    response.headers["Content-Disposition"] = content_disposition(f"{name}.csv")
    response.headers["X-Assay-Rows"] = str(len(whole))
    return response
