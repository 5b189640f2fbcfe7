"""Uploaded files, from the check to the campaign: what they hold, what would change, and storing it.

The check writes nothing. Storing looks at the file and the campaign again, and stores only what was shown.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Exists
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.formats.cells import excerpt, fold_header
from annotation.formats.cognition import CognitionFiles, read_cognition
from annotation.formats.decoding import refuse_no_text
from annotation.formats.errors import FormatError, MissingColumns, RowIssue
from annotation.formats.judgements import JudgementRow, read_judgements
from annotation.formats.rows import FileRows
from annotation.formats.tables import FIRST_ROWS, read_table
from annotation.formats.writers import Cell
from annotation.models import Campaign, ImportBatch, Item, Job, Round, User
from annotation.protocol.sentences import say
from annotation.services import uploads
from annotation.services.campaigns import main_round
from annotation.services.cognition import look_at_cognition, store_cognition
from annotation.services.errors import Refused
from annotation.services.imports import OnConflict, preview, store
from annotation.services.item_files import ItemFile, read_item_file
from annotation.services.judgements import RELEASED, import_judgements
from annotation.services.late_items import too_late
from annotation.services.sentences import translated, with_sentence
from annotation.services.shapes import ShapeFile, look_at_shape, read_shape, recognised, store_shape
from annotation.services.uploads import Upload
from annotation.services.wording import wording_of

KIND = "import_items"  # the job
IN_REQUEST = 2000  # rows; more are stored by the worker
SHOWN = 500  # of errors, warnings, conflicts, sources that differ; the rest is counted
CELL = 80  # characters of a cell in the sample
SHOWN_COLUMNS = 20
LISTS = ("errors", "warnings", "conflicts", "refusals", "differing_sources", "other_patterns")

Document = dict[str, Any]
Progress = Callable[..., None]


class PreviewOutdated(Refused):
    """The file would now do something else than was shown."""


# Checking ----------------------------------------------------------------------------------------------------


def check(campaign: Campaign, upload: Upload) -> Upload:
    """Read the files, compare them with the campaign, and write down what was found."""
    document = _CHECKS[upload.kind](campaign, upload)
    return uploads.note(upload, preview=_shown(document))


FINDINGS = ("kind", "line", "column", "key", "message", "stored", "in_the_file")
_KINDS = {"errors": "error", "conflicts": "conflict", "refusals": "refusal", "warnings": "warning"}


def findings(campaign: Campaign, upload: Upload) -> Iterator[tuple[Cell, ...]]:
    """Everything that is found in the files, in the columns `FINDINGS`; the preview shows the first of it.

    The files are read again, and nothing is stored. Refused where they are stored already and gone.
    """
    document = _CHECKS[upload.kind](campaign, upload)
    for name, kind in _KINDS.items():
        for one in document.get(name, ()):
            message = one.get("message")
            yield (
                kind, one["line"], one.get("column", one.get("field")), one.get("key"),
                message and translated(message), one.get("old"), one.get("new"),
            )  # fmt: skip
    for one in document.get("differing_sources", ()):
        yield "source_differs", one["line"], "source", one["key"], None, one["test_set"], one["judged"]
    for compound in document.get("other_patterns", ()):
        yield "other_pattern", None, "pattern", compound, None, None, None


def _check_items(campaign: Campaign, upload: Upload) -> Document:
    try:
        rows = _read_items(campaign, upload).rows
    except MissingColumns as error:
        if not _names_annotators(error.header):
            raise
        raise FormatError(say("{message} {hint}", message=error.message, hint=_OF_JUDGEMENTS)) from None
    found = preview(campaign, rows).as_json()
    if found["errors"] and _names_annotators(rows.header):
        found["errors"].insert(0, RowIssue(None, None, _OF_JUDGEMENTS).as_json())
    return found | {"sample": _sample(rows)}


_OF_JUDGEMENTS = say(
    "This looks like a file of judgements, since it has a column “annotator”; send it under “Judgements made "
    "elsewhere”."
)


def _names_annotators(header: tuple[str, ...]) -> bool:
    return "annotator" in map(fold_header, header)


def _check_cognition(campaign: Campaign, upload: Upload) -> Document:
    files = _read_cognition(campaign, upload)
    annotator = upload.options.get("annotator") or RELEASED
    found = look_at_cognition(campaign, files, annotator=annotator).as_json()
    found["sample"] = {
        "columns": ["compound", "source", "translation", "reference"],
        "rows": [
            [
                row.line,
                [
                    excerpt(text or "", CELL)
                    for text in (row.compound, row.source, row.translation, row.reference)
                ],
            ]
            for row in files.rows[:FIRST_ROWS]
        ],
    }
    return found


def _check_judgements(campaign: Campaign, upload: Upload) -> Document:
    by_position = bool(upload.options.get("by_position"))
    file = _read_judgements(campaign, upload)
    repeats = bool(upload.options.get("repeats"))
    report = import_judgements(campaign, file, by_position=by_position, repeats=repeats, dry_run=True)
    return report.as_json() | {"sample": _sample(file)}


def _check_shape(campaign: Campaign, upload: Upload) -> Document:
    file = _read_shape(campaign, upload)
    return look_at_shape(campaign, file).as_json() | {"sample": _sample(file.rows)}


def _sample(file: FileRows[Any]) -> Document:
    """The beginning of a file as it was read: its columns, and lines with their cells, cut to what can be shown.

    Of many columns those that are used are shown, and the first of the others.
    """
    used = [place for place, name in enumerate(file.header) if name in file.columns]
    others = [place for place, name in enumerate(file.header) if name not in file.columns]
    shown = sorted(used + others[: max(0, SHOWN_COLUMNS - len(used))])
    return {
        "columns": [excerpt(file.header[place], CELL) for place in shown],
        "more_columns": len(file.header) - len(shown),
        "rows": [
            [row.line, [excerpt(row.cells[place] or "", CELL) for place in shown if place < len(row.cells)]]
            for row in file.first_rows
        ],
    }


_CHECKS: Mapping[str, Callable[[Campaign, Upload], Document]] = {
    "items": _check_items,
    "cognition": _check_cognition,
    "judgements": _check_judgements,
    "shape": _check_shape,
}


def _shown(document: Document) -> Document:
    """The document with long lists cut, their lengths beside them, and a digest of what would change."""
    counts = {name: len(document.get(name, ())) for name in LISTS}
    differing = {(conflict["line"], conflict.get("key")) for conflict in document["conflicts"]}
    counts["differing"] = len(differing)  # rows, of which several fields may differ
    cut = {name: [_kept(found) for found in list(document.get(name, ()))[:SHOWN]] for name in LISTS}
    return {**document, **cut, "counts": counts, "digest": _digest(document)}


def _kept(found: Any) -> Any:
    return with_sentence(found) if isinstance(found, Mapping) else found


def _digest(document: Document) -> str:
    parts = [document["rows"], document["added"], document["unchanged"], document["conflicts"]]
    parts += [document["filled_fields"]] if document.get("filled") else []
    if "annotators" in document:
        # Judgements are stored in steps: what an attempt that was cut off stored is there, and nothing else changed.
        parts[1:3] = [document["added"] + document["unchanged"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _read_items(campaign: Campaign, upload: Upload) -> ItemFile:
    return read_item_file(
        campaign,
        upload.path("file"),
        name=upload.files["file"].name,
        system=upload.options.get("system"),
        run=upload.options.get("run"),
    )


def _read_cognition(campaign: Campaign, upload: Upload) -> CognitionFiles:
    if campaign.protocol != Campaign.Protocol.COMPOUND:
        raise Refused(_("This layout holds compounds; the campaign is one of triples."))
    names = ("sources", "compounds", "references", "translations")
    return read_cognition(
        **{name: upload.path(name) for name in names},
        system=upload.options.get("system"),
        run=upload.options.get("run"),
        wording=wording_of(campaign),
    )


def _read_judgements(campaign: Campaign, upload: Upload) -> FileRows[JudgementRow]:
    return read_judgements(
        read_table(upload.path("file"), name=upload.files["file"].name),
        protocol=campaign.protocol,
        annotator=upload.options.get("annotator") or RELEASED,
        column=upload.options.get("column"),
        by_position=bool(upload.options.get("by_position")),
        round=Round.Kind.REPEAT if upload.options.get("repeats") else Round.Kind.MAIN,
        wording=wording_of(campaign),
    )


def _read_shape(campaign: Campaign, upload: Upload) -> ShapeFile:
    paths, name = [upload.path("file")], upload.files["file"].name
    chosen = upload.options.get("shape") or recognised(campaign, paths, name=name)
    if chosen is None:
        refuse_no_text(paths[0].read_bytes())
        raise FormatError(say("What shape this file has cannot be told for certain; choose it."))
    names = ("annotator", "column", "system", "run")
    given = {option: upload.options.get(option) for option in names}
    return read_shape(campaign, paths, shape_name=chosen, name=name, **given)


# Storing -----------------------------------------------------------------------------------------------------


def store_upload(
    campaign: Campaign,
    upload: Upload,
    *,
    on_conflict: OnConflict,
    seen: str,
    by: User | None,
    progress: Progress = lambda done, total, message="": None,
) -> Upload:
    """Store what was shown, or raise and store nothing.

    `seen` is the digest of the preview. Done already, by an attempt that was cut off before it could say so,
    it only writes the result down.
    """
    if upload.result is not None:
        return upload
    found = _CHECKS[upload.kind](campaign, upload)
    if found["errors"]:
        raise Refused(_("The file has rows that cannot be used, so nothing of it was stored."))
    there_already = not _brings(found) and (not found["conflicts"] or on_conflict == "keep")
    if not there_already and _digest(found) != seen:
        raise PreviewOutdated(
            _("The campaign changed since this was shown. Look at it again and confirm it again.")
        )
    document = _STORES[upload.kind](campaign, upload, on_conflict, by, progress)
    return uploads.finish(upload, _shown(document))


def _brings(document: Document) -> bool:
    """Whether there is anything in the file that the campaign does not hold, whatever contradicts it."""
    return bool(document["added"] or document.get("filled"))


Stores = Callable[[Campaign, Upload, OnConflict, User | None, Progress], Document]


def _store_items(
    campaign: Campaign, upload: Upload, on_conflict: OnConflict, by: User | None, progress: Progress
) -> Document:
    file = _read_items(campaign, upload)
    report = store(campaign, file.rows, sha256=file.sha256, by=by, on_conflict=on_conflict, progress=progress)
    if not report.stored:
        raise PreviewOutdated(_("Texts differ from those in the campaign; look at them and decide."))
    return report.as_json()


def _store_cognition(
    campaign: Campaign, upload: Upload, _on_conflict: OnConflict, by: User | None, progress: Progress
) -> Document:
    report = store_cognition(
        campaign,
        _read_cognition(campaign, upload),
        paths={name: upload.path(name) for name in upload.files},
        annotator=upload.options.get("annotator") or RELEASED,
        by=by,
        progress=progress,
    )
    if not report.ok:
        raise Refused(_what_stands_against(report.as_json()))
    return report.as_json()


def _store_judgements(
    campaign: Campaign, upload: Upload, _on_conflict: OnConflict, by: User | None, progress: Progress
) -> Document:
    by_position = bool(upload.options.get("by_position"))
    report = import_judgements(
        campaign,
        _read_judgements(campaign, upload),
        by_position=by_position,
        repeats=bool(upload.options.get("repeats")),
        by=by,
        progress=progress,
    )
    if not report.ok:
        raise PreviewOutdated(_("Judgements differ from those in the campaign; nothing was stored."))
    return report.as_json()


KINDS = tuple(_CHECKS)  # of uploads that hold what these pages store


def _store_shape(
    campaign: Campaign, upload: Upload, _on_conflict: OnConflict, by: User | None, progress: Progress
) -> Document:
    report = store_shape(campaign, _read_shape(campaign, upload), by=by, progress=progress)
    if not report.ok:
        raise Refused(_what_stands_against(report.as_json()))
    return report.as_json()


_STORES: Mapping[str, Stores] = {
    "items": _store_items,
    "cognition": _store_cognition,
    "judgements": _store_judgements,
    "shape": _store_shape,
}


def _what_stands_against(document: Document) -> str:
    if document["errors"]:
        first = document["errors"][0]
        return FormatError(first["message"], line=first["line"], column=first["column"]).sentence
    if document["conflicts"]:
        first = document["conflicts"][0]
        return _("“%(key)s” and %(more)d more differ from what is stored; nothing was changed.") % {
            "key": first["key"],
            "more": len(document["conflicts"]) - 1,
        }
    return _("Nothing was stored.")


def waits_to_be_given(campaign: Campaign) -> int:
    """How many items no expert has been given, in a campaign whose parts were given out: what came later waits until
    parts are given out again. Two queries.
    """
    round_ = main_round(campaign)
    waiting = (
        Item.objects.active().filter(campaign=campaign).exclude(pk__in=round_.assignments.values("item"))
    )
    return waiting.exclude(pk__in=too_late(round_).values("pk")).filter(Exists(round_.parts.all())).count()


# As a job ----------------------------------------------------------------------------------------------------


def import_work(job: Job, progress: Progress) -> Callable[[], Document]:
    """The same by the worker. Rows are written in chunks and published before the job ends; run again, the job
    finds them there and adds nothing.
    """
    upload = uploads.find(job.campaign, job.arguments["upload"], kinds=KINDS)
    progress(0, (upload.preview or {}).get("rows", 0))
    if job.attempt > 1:
        give_up_earlier_attempt(job)
    try:
        done = store_upload(
            job.campaign,
            upload,
            on_conflict=job.arguments["on_conflict"],
            seen=job.arguments["seen"],
            by=job.created_by,
            progress=progress,
        )
    except PreviewOutdated:
        check(job.campaign, upload)  # so that what is shown next can be confirmed
        raise
    result = done.result or {}
    names = ("file", "rows", "added", "unchanged", "replaced", "filled")
    return lambda: {name: result.get(name) for name in names}


def give_up_earlier_attempt(job: Job) -> None:
    """What a killed attempt of this job left unpublished may be swept away at once, not only after its lease."""
    ImportBatch.objects.filter(
        campaign=job.campaign,
        created_by=job.created_by,
        created_at__gte=job.created_at,
        published_at__isnull=True,
    ).update(lease_until=timezone.now() - timedelta(seconds=1))
