"""Bring in judgements made elsewhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.adapters.registry import SHAPES
from annotation.formats.errors import FormatError
from annotation.formats.judgements import IMPORTED_ROUNDS, MAIN, read_judgements
from annotation.formats.tables import read_table
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
from annotation.management.commands.import_items import name_of_first, not_carried, nothing_read
from annotation.models import Campaign, Round
from annotation.protocol.sentences import say
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import RELEASED, import_judgements
from annotation.services.shapes import read_shape, recognised
from annotation.services.wording import wording_of


class Command(AssayCommand):
    """`import_annotations SLUG FILE`"""

    help = "Bring in judgements: item_id or triple_id, annotator, label. Never finalises."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a table of judgements, or the files of a shape"
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be stored; store nothing")
        parser.add_argument("--annotator", help=f"for a file without that column; default: {RELEASED}")
        parser.add_argument(
            "--round",
            default=MAIN,
            choices=IMPORTED_ROUNDS,
            help="repeat: each is its author's second judgement of an item; they give the self-consistency. Rows "
            "of other rounds are skipped: labels are then those before them",
        )
        parser.add_argument("--by-position", action="store_true", help="row i is the item at position i")
        parser.add_argument("--column", help="the column that holds the labels")
        parser.add_argument(
            "--shape",
            choices=sorted(SHAPES),
            help="the shape of the files, which another program wrote; their items must be there",
        )

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return nothing_read(name_of_first(options)) | {"annotators": [], "without_item": 0}

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["dry_run"])
        if options["annotator"] is not None and not options["annotator"].strip():
            raise Usage("--annotator needs a name.")
        paths = given_paths(options["files"])
        path = paths[0]
        shape_name = options["shape"] or recognised(campaign, paths)
        if shape_name:
            return _in_shape(campaign, paths, shape_name, **options)
        refuse_folder(path)
        if len(paths) > 1:
            raise Usage("Name the shape of these files: --shape NAME.")
        file = read_judgements(
            read_table(path, name=path.name),
            protocol=campaign.protocol,
            annotator=options["annotator"] or RELEASED,
            column=options["column"],
            by_position=options["by_position"],
            round=options["round"],
            wording=wording_of(campaign),
        )
        report = import_judgements(
            campaign,
            file,
            by_position=options["by_position"],
            repeats=options["round"] == Round.Kind.REPEAT,
            dry_run=options["dry_run"],
        )
        return Outcome(report.as_json(), describe(report, stored=not options["dry_run"]), ok=report.ok)


def _in_shape(campaign: Campaign, paths: Sequence[Path], shape_name: str, **options: Any) -> Outcome:
    """The judgements of files in the shape of another program, without their items."""
    if options["by_position"]:
        raise Usage("A file in a shape is not read by position.")
    file = read_shape(
        campaign, paths, shape_name=shape_name, annotator=options["annotator"], column=options["column"]
    )
    judged = file.judgements_alone()
    if judged is None:
        raise FormatError(say("The file holds no judgements."))
    repeats = options["round"] == Round.Kind.REPEAT
    report = import_judgements(campaign, judged, repeats=repeats, dry_run=options["dry_run"])
    document = report.as_json() | {"shape": shape_name, "not_carried": list(file.not_carried)}
    summary = describe(report, stored=not options["dry_run"])
    return Outcome(document, "\n".join([summary, *not_carried(file.adapter, file.not_carried)]), ok=report.ok)


def describe(report: JudgementReport, *, stored: bool) -> str:
    """The report for people."""
    head = (
        f"{report.file.name}: {counted(report.file.n_rows, 'row')}, {counted(report.added, 'judgement')} "
        f"{'added' if stored else 'new'}, {report.unchanged} there already."
    )
    if not (stored and report.ok):
        head += " Nothing was stored."
    if report.without_item:
        head += " Items are missing: bring them in first (import_items), then these judgements."
    document = report.as_json()
    return "\n".join([head, *describe_issues(document)])
