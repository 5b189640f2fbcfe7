"""Bring in a CoGnition test set with one system's translations, and the verdicts if the workbook holds them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.cognition import read_cognition
from annotation.management.base import (
    AssayCommand,
    Outcome,
    changeable_campaign,
    counted,
    describe_issues,
    given_paths,
)
from annotation.management.commands.import_items import (
    describe_filled,
    describe_outputs,
    nothing_read,
)
from annotation.models import Campaign
from annotation.services.cognition import look_at_cognition, store_cognition
from annotation.services.errors import Refused
from annotation.services.judgements import RELEASED
from annotation.services.wording import wording_of

_FILES = {
    "sources": "one sentence a line, such as NP.en; its name is in the items' keys",
    "compounds": "one compound a line, such as NP.compound",
    "references": "one reference translation a line, such as NP.zh",
    "translations": "a workbook with src, hyp and human eval, or a text file with one translation a line",
}


class Command(AssayCommand):
    """`import_cognition SLUG --sources F --compounds F --references F --translations F --system NAME`"""

    help = "Bring in line-aligned sources, compounds and references with one system's translations."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        for name, told in _FILES.items():
            parser.add_argument(f"--{name}", required=True, metavar="FILE", help=told)
        parser.add_argument("--system", required=True, help="the system that made the translations")
        parser.add_argument("--run", help="the run that made them, such as a seed")
        parser.add_argument("--annotator", default=RELEASED, help="whose verdicts the workbook holds")
        parser.add_argument("--dry-run", action="store_true", help="show what would be stored; store nothing")
        parser.add_argument(
            "--on-conflict",
            default="refuse",
            choices=["refuse", "keep"],
            help="where a text differs from the stored one: store nothing (default), or leave the row out",
        )

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        sources = options.get("sources")
        return nothing_read(sources and Path(sources).stem) | {
            "judgements": 0,
            "judgements_unchanged": 0,
            "differing_sources": [],
        }

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["dry_run"])
        if campaign.protocol != Campaign.Protocol.COMPOUND:
            raise Refused(
                f"{campaign.slug} is a campaign of {campaign.protocol}s; this layout holds compounds."
            )
        paths = dict(zip(_FILES, given_paths([options[name] for name in _FILES]), strict=True))
        files = read_cognition(
            **paths, system=options["system"], run=options["run"], wording=wording_of(campaign)
        )
        if options["dry_run"]:
            report = look_at_cognition(
                campaign, files, annotator=options["annotator"], on_conflict=options["on_conflict"]
            )
        else:
            report = store_cognition(
                campaign,
                files,
                paths=paths,
                annotator=options["annotator"],
                on_conflict=options["on_conflict"],
            )
        items = report.items
        verb = "new" if options["dry_run"] else "added"
        head = (
            f"{files.stem}: {counted(items.rows, 'row')}, {items.added} {verb}, {items.unchanged} there already, "
            f"{counted(report.judgements, 'verdict')} by {options['annotator']}."
        )
        done = report.can_be_stored if options["dry_run"] else report.ok
        if not report.ok:
            head += " Nothing was stored."
        if items.conflicts and not items.stored:
            head += " With --on-conflict keep the rows whose texts differ from the campaign's are left out."
        if files.differing:
            differing = counted(len(files.differing), "source")
            head += f" Differing from the test set, and therefore not in BLEU: {differing}."
        head += describe_filled(items) + describe_outputs(items)
        document = report.as_json()
        return Outcome(document, "\n".join([head, *describe_issues(document)]), ok=done)
