"""Bring items into a campaign."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.adapters.base import Adapter
from annotation.formats.adapters.registry import SHAPES
from annotation.formats.errors import FormatError
from annotation.management.base import (
    AssayCommand,
    Outcome,
    Usage,
    changeable_campaign,
    counted,
    describe_issues,
    given_paths,
    refuse_folder,
)
from annotation.models import Campaign
from annotation.protocol.sentences import Sentence
from annotation.services.imports import Report, preview, store
from annotation.services.item_files import read_item_file
from annotation.services.judgements import RELEASED
from annotation.services.shapes import ShapeReport, look_at_shape, read_shape, recognised, store_shape


class Command(AssayCommand):
    """`import_items SLUG FILE`"""

    help = "Bring in the items of a CSV, TSV, JSONL or XLSX file: all of them, or none."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a table of items, or the files of a shape"
        )
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
        add_shape_arguments(parser)

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return nothing_read(name_of_first(options))

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["dry_run"])
        paths = given_paths(options["files"])
        path = paths[0]
        try:
            shape_name = options["shape"] or recognised(campaign, paths)
            if shape_name:
                return _in_shape(campaign, paths, shape_name, **options)
            refuse_folder(path)
            if len(paths) > 1 or options["annotator"] or options["column"]:
                raise Usage("Name the shape of these files: --shape NAME.")
            file = read_item_file(campaign, path, system=options["system"], run=options["run"])
        except FormatError as error:
            return unreadable(path.name, error)
        if options["dry_run"]:
            report = preview(campaign, file.rows, on_conflict=options["on_conflict"])
        else:
            report = store(campaign, file.rows, sha256=file.sha256, on_conflict=options["on_conflict"])
        done = report.can_be_stored if options["dry_run"] else report.stored
        return Outcome(report.as_json(), describe(report), ok=done)


def _in_shape(campaign: Campaign, paths: Sequence[Path], shape_name: str, **options: Any) -> Outcome:
    """Items and judgements of a file in the shape of another program."""
    if options["on_conflict"] == "replace":
        raise Usage("Files in a shape take no --on-conflict replace; bring their items as a table.")
    names = ("annotator", "column", "system", "run")
    file = read_shape(campaign, paths, shape_name=shape_name, **{name: options[name] for name in names})
    if options["dry_run"]:
        report = look_at_shape(campaign, file, on_conflict=options["on_conflict"])
    else:
        report = store_shape(campaign, file, on_conflict=options["on_conflict"])
    done = report.can_be_stored if options["dry_run"] else report.ok
    return Outcome(report.as_json(), describe_shape(report, stored=not options["dry_run"]), ok=done)


def add_shape_arguments(parser: CommandParser) -> None:
    """How a file is read that another program wrote."""
    parser.add_argument(
        "--shape",
        choices=sorted(SHAPES),
        help="the shape of the files, which another program wrote; where it is certain, it is recognised",
    )
    parser.add_argument(
        "--annotator", help=f"whose judgements a shape holds that does not say; default: {RELEASED}"
    )
    parser.add_argument("--column", help="the field that holds the labels, where a shape leaves it open")


def describe_shape(report: ShapeReport, *, stored: bool) -> str:
    """What a file in a shape held, for people."""
    document = report.as_json()
    counts = []
    if report.items is not None:
        verb = "added" if stored and report.ok else "new"
        counts.append(
            f"{counted(report.items.rows, 'item')}, {report.items.added} {verb}, "
            f"{report.items.unchanged} there already"
        )
    if report.n_judgements or report.annotators:
        people = counted(len(report.annotators), "person", "people")
        counts.append(f"{counted(report.n_judgements, 'judgement')} by {people}")
    head = f"{document['file']} ({report.file.adapter.title}): {'; '.join(counts)}."
    if not (stored and report.ok):
        head += " Nothing was stored."
    if document.get("without_item"):
        head += " Items are missing: bring them in first, then these judgements."
    return "\n".join(
        [head, *not_carried(report.file.adapter, report.file.not_carried), *describe_issues(document)]
    )


def not_carried(adapter: Adapter, sentences: Iterable[Sentence]) -> list[str]:
    """The sentences about what a shape cannot hold."""
    return [f"not carried by {adapter.title}: {sentence}" for sentence in sentences]


def nothing_read(name: str | None) -> dict[str, Any]:
    """The document of an import that came to nothing."""
    return {
        "file": name, "format": None, "encoding": None, "sheet": None, "columns": {}, "unknown_columns": [],
        "rows": 0, "added": 0, "unchanged": 0, "conflicts": [], "errors": [], "warnings": [], "filled": 0,
        "stored": False,
    }  # fmt: skip


def name_of_first(options: Mapping[str, Any]) -> str | None:
    """The name of the file that a command was given, of several the first."""
    given = options.get("files")
    return Path(given[0]).name if given else None


def unreadable(name: str, error: FormatError) -> Outcome:
    """A file that cannot be read at all, in the shape of the others."""
    document = nothing_read(name) | {"errors": [error.as_issue().as_json()]}
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
        head += f" Texts differ from those in the campaign: {_choice(report)}"
    if report.replaced:
        head += f" {'Replaced' if report.stored else 'To be replaced'}: {counted(report.replaced, 'text')}."
    head += describe_filled(report) + describe_outputs(report)
    return "\n".join([head, *describe_issues(report.as_json())])


def _choice(report: Report) -> str:
    """What becomes of texts that differ, or what may be chosen for them."""
    n = len(report.refusals)
    if report.on_conflict == "keep":
        return "with --on-conflict keep the stored ones stay, and the other rows are stored."
    if report.on_conflict == "replace":
        return (
            f"{counted(n, 'row')} would be refused, and with {'it' if n == 1 else 'them'} the whole file."
            if n
            else "with --on-conflict replace the new ones are taken and judged again."
        )
    refused = f", but {counted(n, 'row')} would be refused" if n else ""
    return (
        "with --on-conflict keep the stored ones stay, with --on-conflict replace the new ones are taken and judged "
        f"again{refused}."
    )


def describe_filled(report: Report) -> str:
    """What was given where nothing was stored, or would be."""
    if not report.filled:
        return ""
    fields = ", ".join(f"{field} ({n})" for field, n in report.filled_fields.items())
    return f" {'Filled in' if report.stored else 'To be filled in'}, in {counted(report.filled, 'row')}: {fields}."


def describe_outputs(report: Report) -> str:
    """How many outputs came, and how many texts among them nobody produced before."""
    found = report.outputs
    if not found or not found["new_instances"]:
        return ""
    runs = "; ".join(
        f"{' / '.join(name for name in (one['system'], one['run']) if name) or '–'}: "
        f"{counted(one['instances'], 'output')}, {counted(one['new_items'], 'new item')}"
        for one in found["by_run"]
    )
    return f" {runs}. With them: {counted(found['instances'], 'instance')}, {counted(found['items'], 'distinct item')}."
