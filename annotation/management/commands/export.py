"""Write a campaign's items, labels or annotations."""

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.writers import FORMATS, write_table
from annotation.management.base import AssayCommand, Outcome, Usage, counted, get_campaign, write_output
from annotation.services.exports import NUMERIC, Cells, Snapshot, Table, names_of, table, take
from annotation.services.people import audit
from annotation.services.readings import record_reading


class Command(AssayCommand):
    """`export SLUG --what labels|annotations|items --format csv|jsonl|xlsx|parquet`"""

    help = "Write items, final labels or annotations; without -o to stdout."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("--what", required=True, choices=["labels", "annotations", "items"])
        parser.add_argument("--format", required=True, choices=FORMATS)
        parser.add_argument("-o", "--output")
        parser.add_argument("--pseudonyms", action="store_true", help="A1, A2 … instead of names")
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
