"""Mark items whose label is known beforehand."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.judgements import JudgementRow, read_judgements
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from annotation.management.base import AssayCommand, Outcome, changeable_campaign, counted, describe_issues
from annotation.models import Campaign
from annotation.services.gold import NOBODY, mark_file, unmark_file
from annotation.services.wording import wording_of

TOLD = ("file", "rows", "unknown_columns", "errors", "warnings")


class Command(AssayCommand):
    """`mark_gold SLUG FILE [--unmark]`"""

    help = "Mark gold items: item_id or triple_id (or head, relation, tail), label, and a note if you like."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("file", help="the table of known labels")
        parser.add_argument("--column", help="the column that holds the labels")
        parser.add_argument(
            "--unmark", action="store_true", help="take the marks off the items of this table"
        )

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        path = Path(options["file"])
        file = read_judgements(
            read_table(path, name=path.name),
            protocol=campaign.protocol,
            annotator=NOBODY,
            column=options["column"],
            wording=wording_of(campaign),
        )
        if options["unmark"]:
            return _unmarked(campaign, file)
        report, marked = mark_file(campaign, file, by=None)
        document = report.as_json()
        told = {name: document[name] for name in TOLD}
        counts = {"added": 0, "changed": 0, "unchanged": 0} if marked is None else marked.as_json()
        head = f"{file.name}: {counted(file.n_rows, 'row')}, {counts['added']} marked, {counts['changed']} changed."
        if marked is None:
            head += " Nothing was stored."
        return Outcome(
            {**told, **counts}, "\n".join([head, *describe_issues(document)]), ok=marked is not None
        )


def _unmarked(campaign: Campaign, file: FileRows[JudgementRow]) -> Outcome:
    report, removed = unmark_file(campaign, file, by=None)
    document = report.as_json()
    head = f"{file.name}: {counted(file.n_rows, 'row')}, {removed or 0} unmarked."
    if removed is None:
        head += " Nothing was changed."
    return Outcome(
        {**{name: document[name] for name in TOLD}, "removed": removed or 0},
        "\n".join([head, *describe_issues(document)]),
        ok=removed is not None,
    )
