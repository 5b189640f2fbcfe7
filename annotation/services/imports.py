"""Bringing a file's items into a campaign: read, compared, previewed, stored whole or not at all.

1. Read the file and compare it with the campaign, outside any transaction (`preview`).
2. Claim: insert the batch; the database allows one unpublished batch per campaign (`store`).
3. Compare again under the claim, and write the new rows in chunks; nobody sees them.
4. Publish: one UPDATE makes all of them visible, together with the decisions on conflicts and with what the file
   gives where nothing was stored.

A killed import leaves an unpublished batch, whose lease lapses; the next import of the campaign sweeps it away.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import CharField, Model
from django.utils import timezone

from annotation.formats.cells import excerpt
from annotation.formats.compound_units import CompoundRow, analysis_of
from annotation.formats.errors import RowIssue
from annotation.formats.rows import FileRows, in_line_order
from annotation.formats.triples import TripleRow
from annotation.models import Campaign, Context, ImportBatch, Item, Output, System, Unit, User
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from annotation.services.import_compare import Comparison, Filling, compare
from annotation.services.import_fill import fill_in
from annotation.services.import_known import Row
from annotation.services.import_refusals import refused_texts
from annotation.services.import_replace import hang_on_what_stands, replace_texts
from annotation.services.import_store import Progress, store_rows
from annotation.services.import_systems import hidden_in_names
from annotation.services.instances import outputs_in
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

LEASE = timedelta(minutes=5)
CHUNK = 1000

OnConflict = Literal["refuse", "keep", "replace"]


@dataclass(frozen=True)
class Report:
    """What a file holds and what became, or would become, of it.

    `filled` counts the rows that give something where nothing was stored, `filled_fields` says of which fields.
    """

    file: str
    format: str
    encoding: str | None
    sheet: str | None
    columns: dict[str, str]
    unknown_columns: tuple[str, ...]
    rows: int
    added: int
    unchanged: int
    conflicts: tuple[dict[str, Any], ...]
    errors: tuple[RowIssue, ...]
    warnings: tuple[RowIssue, ...]
    units: int = 0
    items: int = 0
    replaced: int = 0
    filled: int = 0
    filled_fields: dict[str, int] = field(default_factory=dict)
    stored: bool = False
    other_patterns: tuple[str, ...] = ()  # compounds that tables by pattern show as “other”
    outputs: dict[str, Any] | None = None  # see `instances.outputs_in`
    on_conflict: OnConflict = "refuse"
    refusals: tuple[RowIssue, ...] = ()  # why texts that differ could not be taken, whatever was chosen

    @property
    def can_be_stored(self) -> bool:
        """Whether storing the file, with what was chosen for texts that differ, would do it."""
        refused = {"refuse": self.conflicts, "keep": (), "replace": self.refusals}
        return not self.errors and not refused[self.on_conflict]

    def as_json(self) -> dict[str, Any]:
        """The document of `import_items`."""
        return {
            **vars(self),
            "unknown_columns": list(self.unknown_columns),
            "other_patterns": list(self.other_patterns),
            "conflicts": list(self.conflicts),
            "errors": [issue.as_json() for issue in self.errors],
            "warnings": [issue.as_json() for issue in self.warnings],
            "refusals": [issue.as_json() for issue in self.refusals],
        }


def preview(campaign: Campaign, file: FileRows[Any], *, on_conflict: OnConflict = "refuse") -> Report:
    """What storing the file would do, with this choice for texts that differ; writes nothing."""
    file = _checked(campaign, file)
    comparison = compare(campaign, file.rows)
    report = replace(_report(campaign, file, comparison), on_conflict=on_conflict)
    if report.errors or not comparison.conflicts:
        return report
    refused = tuple(refused_texts(campaign, comparison.conflicts))
    report = replace(report, refusals=refused)
    if refused and on_conflict == "replace":
        return replace(report, errors=refused, added=0, filled=0, filled_fields={})
    return _as_replaced(campaign, report, comparison, file.rows) if on_conflict == "replace" else report


def _as_replaced(campaign: Campaign, report: Report, before: Comparison, rows: Sequence[Row]) -> Report:
    """The report as it would be once the file's texts were taken."""
    after = compare(campaign, rows, taken=before.conflicts)
    replaced = len({conflict.line for conflict in before.conflicts})
    return _with_filled(replace(report, added=len(after.new), replaced=replaced), after)


def store(
    campaign: Campaign,
    file: FileRows[Any],
    *,
    sha256: str,
    by: User | None = None,
    on_conflict: OnConflict = "refuse",
    progress: Progress = lambda done, total: None,
    together_with: Callable[[Sequence[Mapping[str, Any]]], None] = lambda conflicts: None,
) -> Report:
    """Store the file's new rows, all or none; returns what was done, or what stands in the way.

    `together_with` gets the conflicts, and runs in the transaction that publishes the rows: what it raises undoes
    the import.
    """
    file = _checked(campaign, file)
    if file.errors:
        return _report(campaign, file, compare(campaign, file.rows))
    batch = _claim(campaign, file.name, sha256=sha256, by=by)
    try:
        comparison = compare(campaign, file.rows)
        report = replace(_report(campaign, file, comparison), on_conflict=on_conflict)
        if comparison.conflicts and on_conflict == "refuse":
            _discard(batch)
            return replace(report, added=0, filled=0, filled_fields={})
        units, items = _written(batch, comparison.new, progress=_renewing(batch, progress))
        report = replace(report, units=units, items=items, stored=True)
        with turn(campaign):
            replacing = file.rows if on_conflict == "replace" and comparison.conflicts else ()
            report = _publish(batch, report, comparison.fillings, replacing, by=by)
            together_with(report.conflicts)
        return report
    except BaseException:
        _discard(batch)
        raise


def _written(batch: ImportBatch, rows: Sequence[Row], *, progress: Progress) -> tuple[int, int]:
    """How many units and items were made. Refused where a text of the file was typed on the page meanwhile."""
    try:
        return store_rows(batch, rows, progress=progress)
    except IntegrityError as error:
        raise Refused(
            say(
                "Texts of the campaign changed while this file was stored. Nothing of it is stored; import it again."
            )
        ) from error


def _checked(campaign: Campaign, file: FileRows[Any]) -> FileRows[Any]:
    """The file with an error for every text that is longer than its column in the database, and for names of systems
    and runs that hold what cannot be seen.
    """
    found = [issue for row in file.rows for issue in _too_long(row.line, _bounded_texts(row))]
    found += hidden_in_names(campaign, file.rows)
    return replace(file, errors=in_line_order([*file.errors, *found])) if found else file


def triple_too_long(line: int | None, *, triple_id: str | None, item_class: str | None) -> list[RowIssue]:
    """What no item of triples can hold: an id or a class that is longer than its column in the database."""
    return _too_long(line, _bounded_of_triple(triple_id, item_class))


def _too_long(line: int | None, texts: Iterable[tuple[str, int, str | None]]) -> list[RowIssue]:
    return [
        RowIssue(
            line,
            column,
            say(
                "The text has {n} characters; at most {limit} can be stored.",
                n=f"{len(text):,}",
                limit=f"{limit:,}",
            ),
        )
        for column, limit, text in texts
        if text is not None and len(text) > limit
    ]


def _bounded_of_triple(
    triple_id: str | None, item_class: str | None
) -> Iterator[tuple[str, int, str | None]]:
    yield "triple_id", _limit(Item, "key"), triple_id
    yield "class", _limit(Item, "item_class"), item_class


def _bounded_texts(row: Row) -> Iterator[tuple[str, int, str | None]]:
    if isinstance(row, TripleRow):
        yield from _bounded_of_triple(row.triple_id, row.item_class)
        return
    yield "item_id", _limit(Context, "key"), row.item_id
    yield "pattern", _limit(Unit, "pattern"), row.pattern
    yield "system", _limit(System, "name"), row.system
    yield "run", _limit(Output, "run"), row.run


@cache
def _limit(model: type[Model], name: str) -> int:
    column = model._meta.get_field(name)
    assert isinstance(column, CharField)
    return column.max_length or 0


def _report(campaign: Campaign, file: FileRows[Any], comparison: Comparison) -> Report:
    holds = [issue for issue in file.warnings if issue not in comparison.outdated]
    report = Report(
        file=file.name,
        format=file.format,
        encoding=file.encoding,
        sheet=file.sheet,
        columns=file.columns,
        unknown_columns=file.unknown_columns,
        rows=file.n_rows,
        added=0 if file.errors else len(comparison.new),
        unchanged=comparison.unchanged,
        conflicts=tuple(conflict.as_json() for conflict in comparison.conflicts),
        errors=file.errors,
        warnings=in_line_order([*holds, *comparison.warnings]),
        other_patterns=_other_patterns(file.rows),
        outputs=outputs_in(campaign, () if file.errors else comparison.new),
    )
    return report if file.errors else _with_filled(report, comparison)


def _with_filled(report: Report, comparison: Comparison) -> Report:
    filled = len({filling.line for filling in comparison.fillings})
    return replace(report, filled=filled, filled_fields=comparison.filled())


def _other_patterns(rows: Sequence[Row]) -> tuple[str, ...]:
    """Compounds with a type and no known pattern, each once."""
    first = {row.unit_key: row for row in reversed(rows) if isinstance(row, CompoundRow)}
    return tuple(
        excerpt(row.compound)
        for row in reversed(first.values())
        if row.pattern is None and _has_type_only(row)
    )


def _has_type_only(row: CompoundRow) -> bool:
    analysis = analysis_of(row.compound)
    return analysis.pattern is None and (analysis.type or row.type) is not None


def _claim(campaign: Campaign, name: str, *, sha256: str, by: User | None) -> ImportBatch:
    now = timezone.now()
    for left_behind in ImportBatch.objects.filter(
        campaign=campaign, published_at__isnull=True, lease_until__lt=now
    ):
        _discard(left_behind)
    try:
        with transaction.atomic():
            return ImportBatch.objects.create(
                campaign=campaign, file_name=name[:255], sha256=sha256, created_by=by, lease_until=now + LEASE
            )
    except IntegrityError:
        raise Refused(say("Another import into this campaign is under way; wait until it is done.")) from None


def _renewing(batch: ImportBatch, progress: Progress) -> Progress:
    def renew(done: int, total: int) -> None:
        held = ImportBatch.objects.filter(pk=batch.pk, published_at__isnull=True).update(
            lease_until=timezone.now() + LEASE
        )
        if not held:
            raise Refused(
                say("This import took so long without a sign of life that another one has replaced it.")
            )
        progress(done, total)

    return renew


def _publish(
    batch: ImportBatch,
    report: Report,
    fillings: Sequence[Filling],
    replacing: Sequence[Row],
    *,
    by: User | None,
) -> Report:
    """One update makes the rows exist. A batch that brought nothing is not kept.

    Where the rows `replacing` disagree with what is stored, their texts are taken.
    """
    # Written first, so that this waits its turn before it reads what it replaces.
    published = ImportBatch.objects.filter(pk=batch.pk, published_at__isnull=True).update(
        published_at=timezone.now()
    )
    if not published:
        raise Refused(
            say("This import took so long without a sign of life that another one has replaced it.")
        )
    report = replace(report, items=report.items + hang_on_what_stands(batch))
    if replacing:
        report, fillings = _with_replaced_texts(batch, report, replacing)
    fill_in(batch.campaign, fillings)
    if not (report.added or report.replaced or report.filled):
        ImportBatch.objects.filter(pk=batch.pk).delete()
        return report
    names = ("items", "units", "rows", "replaced", "filled", "filled_fields")
    stored = {name: getattr(report, name) for name in names}
    ImportBatch.objects.filter(pk=batch.pk).update(report=stored)
    renew_counts(Unit, Context, Item, Output)
    audit(batch.campaign, by, "items imported", {"file": batch.file_name, "sha256": batch.sha256, **stored})
    return report


def _with_replaced_texts(
    batch: ImportBatch, report: Report, rows: Sequence[Row]
) -> tuple[Report, Sequence[Filling]]:
    """What was in the way of further outputs, and of what is filled in, is out of it once the texts are those of the
    file.
    """
    before = compare(batch.campaign, rows)
    if not before.conflicts:
        return report, before.fillings
    replaced = replace_texts(batch, before.conflicts)
    after = compare(batch.campaign, rows)
    store_rows(batch, after.new, progress=lambda done, total: None)
    report = replace(
        report,
        replaced=replaced,
        added=report.added + len(after.new),
        items=Item.objects.filter(batch=batch).count(),
    )
    return _with_filled(report, after), after.fillings


def _discard(batch: ImportBatch) -> None:
    """Take away what an import wrote, in chunks; nobody ever saw it."""
    models: Sequence[type[Model]] = (Output, Item, Context, Unit)
    for model in models:
        while ids := list(model._default_manager.filter(batch=batch).values_list("pk", flat=True)[:CHUNK]):
            model._default_manager.filter(pk__in=ids).delete()
    ImportBatch.objects.filter(pk=batch.pk, published_at__isnull=True).delete()
