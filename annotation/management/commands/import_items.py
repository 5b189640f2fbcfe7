"""Bring items into a campaign."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.errors import FormatError
from annotation.management.base import AssayCommand, Outcome, changeable_campaign, counted, describe_issues
from annotation.services.imports import Report, preview, store
from annotation.services.item_files import read_item_file


class Command(AssayCommand):
    """`import_items SLUG FILE`"""

    help = "Bring in the items of a CSV, TSV, JSONL or XLSX file: all of them, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("file")
        parser.add_argument("--system", help="for rows that do not name their own")
        parser.add_argument("--run", help="for rows that do not name their own")
        parser.add_argument("--dry-run", action="store_true", help="show what would be stored; store nothing")
        parser.add_argument(
            "--on-conflict",
            default="refuse",
            choices=["refuse", "keep", "replace"],
            help="where a text differs from the stored one: store nothing (default), keep the stored text, or take "
            "the new one (answers stay with the old text, and the new one is judged again in the rounds that are open)",
        )

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["dry_run"])
        path = Path(options["file"])
        try:
            file = read_item_file(campaign, path, system=options["system"], run=options["run"])
        except FormatError as error:
            return unreadable(path.name, error)
        if options["dry_run"]:
            report = preview(campaign, file.rows)
        else:
            report = store(campaign, file.rows, sha256=file.sha256, on_conflict=options["on_conflict"])
        done = report.can_be_stored if options["dry_run"] else report.stored
        return Outcome(report.as_json(), describe(report), ok=done)


def unreadable(name: str, error: FormatError) -> Outcome:
    """A file that cannot be read at all, in the shape of the others."""
    document: dict[str, Any] = {
        "file": name, "format": None, "encoding": None, "sheet": None, "columns": {}, "unknown_columns": [],
        "rows": 0, "added": 0, "unchanged": 0, "conflicts": [], "errors": [error.as_issue().as_json()], "warnings": [],
        "filled": 0, "stored": False,
    }  # fmt: skip
    return Outcome(document, f"{name}: {error}", ok=False)


def describe(report: Report) -> str:
    """The report for people."""
    kind = ", ".join(word for word in (report.format, report.encoding, report.sheet) if word)
    verb = "added" if report.stored else "new"
    rows = counted(report.rows, "row")
    head = f"{report.file} ({kind}): {rows}, {report.added} {verb}, {report.unchanged} there already."
    if not report.stored:
        head += " Nothing was stored."
    if report.conflicts and not report.stored:
        head += (
            " Texts differ from those in the campaign: with --on-conflict keep the stored ones stay, with "
            "--on-conflict replace the new ones are taken and judged again."
        )
    if report.replaced:
        head += f" Replaced: {counted(report.replaced, 'text')}."
    head += describe_filled(report)
    return "\n".join([head, *describe_issues(report.as_json())])


def describe_filled(report: Report) -> str:
    """What was given where nothing was stored, or would be."""
    if not report.filled:
        return ""
    fields = ", ".join(f"{field} ({n})" for field, n in report.filled_fields.items())
    return f" {'Filled in' if report.stored else 'To be filled in'}, in {counted(report.filled, 'row')}: {fields}."
