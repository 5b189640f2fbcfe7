"""Write a campaign's items, labels or annotations."""

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.adapters.registry import SHAPES
from annotation.formats.writers import FORMATS, write_table
from annotation.management.base import AssayCommand, Outcome, Usage, counted, get_campaign, write_output
from annotation.management.commands.import_items import not_carried
from annotation.models import Campaign
from annotation.services.exports import NUMERIC, Cells, Snapshot, Table, names_of, table, take
from annotation.services.people import audit
from annotation.services.readings import ANNOTATIONS, record_reading
from annotation.services.shape_exports import export_shape


class Command(AssayCommand):
    """`export SLUG --what labels|annotations|items --format csv|jsonl|xlsx|parquet|<shape>`"""

    help = "Write items, final labels or annotations; without -o to stdout."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument(
            "--what",
            required=True,
            choices=["labels", "annotations", "items"],
            help="final labels, every person's answers, or the items in the columns of an import",
        )
        parser.add_argument(
            "--format",
            required=True,
            choices=(*FORMATS, *SHAPES),
            help="a table, or the shape of another program",
        )
        parser.add_argument("-o", "--output", help="the file to write; default: stdout")
        parser.add_argument(
            "--pseudonyms",
            action="store_true",
            help="A1, A2 … instead of names, which a table holds otherwise; the page gives pseudonyms unless asked",
        )
        parser.add_argument(
            "--names",
            action="store_true",
            help="names in the shape of another program, which holds pseudonyms otherwise",
        )
        parser.add_argument("--system", help="only the items of this system, in the shape of another program")
        parser.add_argument("--run", help="only those of this run")
        parser.add_argument(
            "--history", action="store_true", help="every answer ever saved, not only the last"
        )
        parser.add_argument(
            "--wide",
            action="store_true",
            help="annotations: one row for every item and one column of labels for each person",
        )
        parser.add_argument(
            "--unlabelled",
            action="store_true",
            help="labels: also the items that the rule could give none, with the reason",
        )

    def run(self, **options: Any) -> Outcome:
        campaign = get_campaign(options["slug"])
        if options["format"] in SHAPES:
            return self._in_shape(campaign, **options)
        if options["system"] is not None or options["run"] is not None or options["names"]:
            raise Usage("--system, --run and --names are for the shapes of other programs; leave them out.")
        if options["wide"] and options["history"]:
            raise Usage("--wide holds the current labels only; leave out --history.")
        names = names_of(campaign, real=not options["pseudonyms"])
        chosen = table(
            campaign,
            options["what"],
            names=names,
            history=options["history"],
            unlabelled=options["unlabelled"],
            wide=options["wide"],
        )
        if options["what"] == "annotations" and not options["pseudonyms"]:
            audit(campaign, None, "names exported", {"format": options["format"]})
        record_reading(campaign, options["what"], by=None)
        found = take(chosen)
        with closing(found.rows):  # whatever happens to the file, the snapshot ends here
            return self._write(chosen, found, **options)

    def _in_shape(self, campaign: Campaign, **options: Any) -> Outcome:
        """Items and answers as another program reads them, under pseudonyms unless names are asked for."""
        if options["what"] == "labels" or options["wide"] or options["history"] or options["unlabelled"]:
            raise Usage("A shape holds --what items, or annotations with their items, as they stand.")
        answers = options["what"] == ANNOTATIONS
        if options["names"] and (options["pseudonyms"] or not answers):
            raise Usage("--names is for annotations, and goes without --pseudonyms.")
        done = export_shape(
            campaign,
            options["format"],
            names=names_of(campaign, real=options["names"]),
            with_judgements=answers,
            system=options["system"],
            run=options["run"],
        )
        if options["names"]:
            audit(campaign, None, "names exported", {"format": options["format"]})
        record_reading(campaign, options["what"], by=None)
        lacks = done.adapter.lacks_of(campaign.protocol)
        document = {
            "shape": done.adapter.name,
            "rows": done.n_items,
            "judgements": done.n_judgements,
            "left_out": done.left_out,
            "left_out_by_reason": dict(done.without),
            "not_carried": list(lacks),
        }
        notes = not_carried(done.adapter, lacks)
        if n := done.without["cannot_judge"]:
            notes.append(f"Not in the file: {counted(n, 'answer')} “cannot judge”.")
        if n := done.without["further_verdict"]:
            notes.append(f"Not in the file: {counted(n, 'further verdict')}; the shape holds one an item.")
        if options["output"]:
            write_output(options["output"], done.chunks())
            summary = (
                f"{counted(done.n_items, 'item')} and {counted(done.n_judgements, 'judgement')} written to "
                f"{options['output']}."
            )
            return Outcome(document | {"output": options["output"]}, summary, notes=notes)
        self._to_stdout(done.chunks(), text=done.adapter.extension != "zip")
        return Outcome(document, "", notes=notes, silent=True)

    def _write(self, chosen: Table, found: Snapshot, **options: Any) -> Outcome:
        chunks = write_table(options["format"], chosen.columns, _rows(chosen, found.rows), numeric=NUMERIC)
        notes = [chosen.empty_reason] if chosen.empty_reason else []
        if chosen.left_out and not options["json"]:
            reasons = ", ".join(f"{n} {reason}" for reason, n in chosen.left_out.items())
            notes.append(
                f"Without a final label and not in the file: {reasons}. --unlabelled lists them too."
            )
        document = {
            "rows": found.total,
            "columns": list(chosen.columns),
            "reason": chosen.empty_reason,
            "left_out": dict(chosen.left_out),
        }
        if options["output"]:
            write_output(options["output"], chunks)
            summary = f"{counted(found.total, 'row')} written to {options['output']}."
            return Outcome(document | {"output": options["output"]}, summary, notes=notes)
        self._to_stdout(chunks, text=options["format"] in ("csv", "jsonl"))
        return Outcome(document, "", notes=notes, silent=True)

    def _to_stdout(self, chunks: Iterator[bytes], *, text: bool) -> None:
        for chunk in chunks:
            if text:
                self.stdout.write(chunk.decode(), ending="")
            else:
                sys.stdout.buffer.write(chunk)


def _rows(chosen: Table, rows: Iterator[Cells]) -> Iterator[list[Any]]:
    return ([row[name] for name in chosen.columns] for row in rows)
