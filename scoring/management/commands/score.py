"""Score a system's predictions or translations."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.errors import RowIssue
from annotation.management.base import AssayCommand, Outcome, changeable_campaign, given_paths, write_output
from annotation.models import Campaign
from scoring.management.commands.report import TEXTS
from scoring.management.options import threshold_of
from scoring.reports import as_markdown
from scoring.services.boards import over_runs
from scoring.services.files import bytes_of
from scoring.services.releases import release_named
from scoring.services.scores import SPLITS, Wish, kind_of
from scoring.services.submissions import Submitted, submit
from scoring.services.targets import SubmissionError


class Command(AssayCommand):
    """`score SLUG PREDICTIONS --system NAME`"""

    help = "Score what a system says: predictions about triples, or translations of compounds' contexts. Stores both."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("predictions", metavar="FILE", help="a table of predictions, or of translations")
        parser.add_argument("--system", required=True, help="whose they are")
        parser.add_argument("--run", default="", help="which run of the system, such as a seed")
        parser.add_argument("--split", default="test", choices=SPLITS, help="which items are scored (test)")
        parser.add_argument("--threshold", default="0.5", help="a number, or tune: dev's highest F1")
        parser.add_argument("--by-position", action="store_true", help="row i is the item at position i")
        parser.add_argument("--column", help="the column that holds the predictions or translations")
        parser.add_argument(
            "--labels",
            default="",
            choices=["imported", "final"],
            help="which labels count; default: the final ones where the campaign was finalised",
        )
        parser.add_argument(
            "--release", help="score against this release instead of the campaign as it stands"
        )
        parser.add_argument("--lexicon", help="for translations: also run the automatic check")
        parser.add_argument("--format", choices=["json", *TEXTS], help="the figures alone, as a table")
        parser.add_argument("-o", "--output", help="a file for them; without --format as Markdown")

    def handle(self, *args: Any, **options: Any) -> None:
        as_json = options["json"] or (options["format"] == "json" and not options["output"])
        super().handle(*args, **options | {"json": as_json})

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **{name: options.get(name) or None for name in ("system", "run", "split")},
            "threshold": None,
            "labels": None,
            "rows": [],
            "signature": None,
        }

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        (path,) = given_paths([options["predictions"]])
        wish = _wish(campaign, options)
        try:
            submitted = submit(campaign, path, name=path.name, wish=wish, by=None)
        except SubmissionError as error:
            return _refused(error, self.nothing_done(options))
        runs = over_runs(submitted.submission)
        document = submitted.document | {
            "submission": submitted.submission.pk,
            "file": path.name,
            "unknown_columns": list(submitted.unknown_columns),
            "runs": runs,
            "warnings": [*submitted.document["warnings"], *map(str, submitted.warnings)],
        }
        if options["output"] or options["format"] in TEXTS:
            return _as_file(document, options)
        return Outcome(document, _summary(document, submitted))


def _as_file(document: dict[str, Any], options: dict[str, Any]) -> Outcome:
    """The figures as a table or a document, on stdout or in a file; warnings go to whoever looks on."""
    notes = [f"warning: {warning}" for warning in document["warnings"]]
    if options["json"] or options["format"] == "json":
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    else:
        text = TEXTS[options["format"] or "md"](kind_of(document), document)
    if not options["output"]:
        return Outcome(document, text, notes=notes)
    write_output(options["output"], [text.encode()])
    return Outcome({"output": options["output"]}, f"Written to {options['output']}.", notes=notes)


def _wish(campaign: Campaign, options: dict[str, Any]) -> Wish:
    release = options["release"]
    return Wish(
        system=options["system"],
        run=options["run"],
        split=options["split"],
        threshold=threshold_of(options["threshold"]),
        column=options["column"],
        by_position=options["by_position"],
        labels=options["labels"],
        release=None if release is None else release_named(campaign, release),
        lexicon=None if options["lexicon"] is None else bytes_of(options["lexicon"]),
    )


def _refused(error: SubmissionError, nothing: dict[str, Any], limit: int = 50) -> Outcome:
    shown = [f"error: {issue}" for issue in error.issues[:limit]]
    more = [f"… and {len(error.issues) - limit} more (see --json)"] if len(error.issues) > limit else []
    return Outcome(
        nothing | {"errors": [_issue(issue) for issue in error.issues]},
        "\n".join([*shown, *more]),
        ok=False,
    )


def _issue(issue: RowIssue) -> dict[str, Any]:
    return {"line": issue.line, "column": issue.column, "message": issue.message}


def _summary(document: dict[str, Any], submitted: Submitted) -> str:
    name = " / ".join(part for part in (document["system"], document["run"]) if part)
    lines = [f"{name}: submission {document['submission']}{' (sent before)' if submitted.repeated else ''}."]
    if "bleu" in document:
        lines += [
            f"{metric}: {document[metric]['score']:.2f} (n = {document['n']})" for metric in ("bleu", "chrf")
        ]
    else:
        lines.append(as_markdown("score", document))
    lines += [f"warning: {warning}" for warning in document["warnings"]]
    return "\n".join(lines)
