"""Downstream benchmarks: freeze one, score what a model says, print the tables."""

import json
import time
from argparse import SUPPRESS
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.errors import RowIssue
from annotation.management.base import (
    AssayCommand,
    Outcome,
    changeable_campaign,
    counted,
    get_campaign,
    unusable,
    write_output,
)
from annotation.models import Campaign
from annotation.services.errors import Refused
from scoring.management.commands.report import TEXTS
from scoring.models import Benchmark
from scoring.reports import as_markdown
from scoring.services.benchmarks import (
    BOARD,
    add_benchmark,
    check_names,
    check_spelling,
    open_questions,
    read_sent,
    remove_benchmark,
    remove_run,
    store_sent,
)
from scoring.services.downstream.accuracies import accuracies_document
from scoring.services.downstream.board import board_document
from scoring.services.downstream.kept import ACCURACIES, boards_now, store_board
from scoring.services.downstream.scores import check_scorable, score_waiting, statistics_of
from scoring.services.files import bytes_of
from scoring.services.targets import SubmissionError

EVERY = 1.0  # seconds between two lines of progress


class Command(AssayCommand):
    """`downstream SLUG add|score|table|list|questions|remove …`"""

    help = (
        "Score what models generate (against references) or choose (against right options): add freezes a benchmark, "
        "score checks, scores and stores a model's file, table prints a benchmark's table or, without --benchmark, "
        "accuracies over all benchmarks of choices."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="freeze the references or right options of a file")
        add.add_argument("file", help="questions with references, or with options and the right one")
        add.add_argument("--name", required=True, help="what the benchmark is called")
        add.add_argument("--kind", required=True, choices=Benchmark.Kind.values, help="what models do in it")
        add.add_argument(
            "--hypotheses",
            default="first",
            choices=Benchmark.Hypotheses.values,
            help="which of several generations of a question counts (first)",
        )
        add.add_argument("--cased", action="store_true", help="upper and lower case differ in generations")
        score = actions.add_parser("score", help="check, score and store what a model says")
        score.add_argument("file", help="a model's generations or choices")
        score.add_argument("--benchmark", required=True, help="the benchmark they answer")
        score.add_argument("--system", required=True, help="whose they are")
        score.add_argument("--run", default="", help="which run of the system, such as a seed")
        score.add_argument("--human", action="store_true", help="people's answers: a row of its own")
        table = actions.add_parser("table", help="the table of a benchmark, or accuracies over all")
        table.add_argument("--benchmark", help="this one; default: accuracies over all benchmarks of choices")
        table.add_argument("--again", action="store_true", help="score all submissions anew first")
        questions = actions.add_parser("questions", help="what is to be answered, without what is right")
        questions.add_argument("--benchmark", required=True, help="the benchmark whose questions they are")
        remove = actions.add_parser(
            "remove", help="a benchmark to which nothing was sent, or what was sent under the names given"
        )
        remove.add_argument("--benchmark", required=True, help="the benchmark, or of which it was sent")
        remove.add_argument("--system", help="take out what was sent of this system's run instead")
        remove.add_argument("--run", default="", help="of this run")
        remove.add_argument("--human", action="store_true", help="people's answers")
        listed = actions.add_parser("list", help="the benchmarks there are")
        for one in (add, score, table, questions, remove, listed):
            one.add_argument(
                "--json",
                action="store_true",
                default=SUPPRESS,
                help="one JSON document on stdout and nothing else",
            )
        for one in (score, table):
            one.add_argument("--format", choices=["json", *TEXTS], help="the figures alone, as a table")
            one.add_argument("-o", "--output", help="a file for them; without --format as Markdown")

    def handle(self, *args: Any, **options: Any) -> None:
        as_json = options["json"] or (options.get("format") == "json" and not options["output"])
        super().handle(*args, **options | {"json": as_json})

    def run(self, **options: Any) -> Outcome:
        action: Callable[..., Outcome] = getattr(self, f"_{options['action']}")
        try:
            return action(**options)
        except SubmissionError as error:
            return unusable([_issue(issue) for issue in error.issues])

    def _add(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        path = Path(options["file"])
        added = add_benchmark(
            campaign,
            bytes_of(path),
            file_name=path.name,
            name=options["name"],
            kind=options["kind"],
            hypotheses=options["hypotheses"],
            cased=options["cased"],
            by=None,
        )
        document = {
            **_told(added.benchmark),
            "questions": added.questions,
            "unknown_columns": list(added.unknown_columns),
            "warnings": [_issue(issue) for issue in added.warnings],
        }
        summary = f"Frozen: {added.benchmark.name}, {counted(added.questions, 'question')}."
        return Outcome(document, summary, notes=_notes(added.unknown_columns, added.warnings))

    def _score(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        benchmark = _find(campaign, options["benchmark"])
        check_names(options["system"], options["run"])
        check_spelling(benchmark, options["system"], options["run"], human=options["human"])
        check_scorable(benchmark)
        path = Path(options["file"])
        sent = read_sent(benchmark, bytes_of(path), file_name=path.name)
        statistics = statistics_of(benchmark, sent.questions, sent.said, self._progress())
        stored = store_sent(
            benchmark,
            sent,
            file_name=path.name,
            system=options["system"],
            run=options["run"],
            human=options["human"],
            by=None,
            statistics=statistics,
        )
        board = _keep(benchmark)
        document = {
            **board,
            "submission": stored.submission.pk,
            "repeated": stored.repeated,
            "again": stored.again,
            "sent": path.name,
            "unknown_columns": list(sent.unknown_columns),
            "warnings": [*board["warnings"], *(str(issue) for issue in sent.warnings)],
        }
        notes = _notes(sent.unknown_columns, sent.warnings)
        if stored.again:
            notes.append("This file was sent before, and another one after it; now it counts again.")
        return self._shown(BOARD, document, options, notes)

    def _table(self, **options: Any) -> Outcome:
        campaign = get_campaign(options["slug"])
        if options["benchmark"] is None:
            document = accuracies_document(campaign, progress=self._progress())
            return self._shown(ACCURACIES, document, options)
        benchmark = _find(campaign, options["benchmark"])
        if options["again"]:
            changeable_campaign(options["slug"])
            check_scorable(benchmark)
            score_waiting(benchmark, again=True, progress=self._progress())
            _keep(benchmark)
        return self._shown(BOARD, board_document(benchmark, progress=self._progress()), options)

    def _questions(self, **options: Any) -> Outcome:
        columns, rows = open_questions(_find(get_campaign(options["slug"]), options["benchmark"]))
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in found)
        return Outcome({"questions": found}, lines)

    def _remove(self, **options: Any) -> Outcome:
        benchmark = _find(changeable_campaign(options["slug"]), options["benchmark"])
        if options["system"] is not None:
            return _without(benchmark, options["system"], options["run"], human=options["human"])
        remove_benchmark(benchmark, by=None)
        return Outcome({"removed": benchmark.name}, f"Removed: {benchmark.name}.")

    def _list(self, **options: Any) -> Outcome:
        found = [
            {**_told(one), "questions": one.questions.count(), "submissions": one.submissions.count()}
            for one in get_campaign(options["slug"]).benchmarks.all()
        ]
        lines = [
            f"{one['name']} ({one['kind']}): {counted(one['questions'], 'question')}, "
            f"{counted(one['submissions'], 'submission')}"
            for one in found
        ]
        return Outcome({"benchmarks": found}, "\n".join(lines) or "There is no benchmark yet.")

    def _shown(
        self, kind: str, document: dict[str, Any], options: dict[str, Any], notes: list[str] | None = None
    ) -> Outcome:
        """The figures for people, as a table alone, or in a file."""
        if not options["output"] and options["format"] is None:
            return Outcome(document, as_markdown(kind, document), notes=notes or [])
        if options["format"] == "json":
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        else:
            text = TEXTS[options["format"] or "md"](kind, document)
        if not options["output"]:
            return Outcome(document, text, notes=notes or [])
        write_output(options["output"], [text.encode()])
        return Outcome({"output": options["output"]}, f"Written to {options['output']}.", notes=notes or [])

    def _progress(self) -> Callable[[int, int], None]:
        """A line on stderr each second, for work that takes longer than that."""
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= EVERY:
                last = time.monotonic()
                self.stderr.write(f"{100 * done // max(total, 1)} %")

        return tell


def _keep(benchmark: Benchmark) -> dict[str, Any]:
    """The boards that a benchmark's submissions change, worked out and kept for the pages; returns its own."""
    own: dict[str, Any] = {}
    for kind, pk, inputs, document in boards_now(benchmark):
        store_board(benchmark.campaign, kind, pk, inputs, document)
        if kind == BOARD and document is not None:
            own = document
    return own


def _without(benchmark: Benchmark, system: str, run: str, *, human: bool) -> Outcome:
    """Take out what was sent under these names, and make the boards anew."""
    n = remove_run(benchmark, system=system, run=run, human=human, by=None)
    _keep(benchmark)
    name = " / ".join(part for part in (system, run) if part)
    return Outcome(
        {"removed": name, "submissions": n},
        f"Removed from {benchmark.name}: {name}, {counted(n, 'submission')}.",
    )


def _find(campaign: Campaign, name: str) -> Benchmark:
    found = campaign.benchmarks.filter(name=name).select_related("campaign").first()
    if found is None:
        known = ", ".join(campaign.benchmarks.values_list("name", flat=True)) or "none yet"
        raise Refused(f"There is no benchmark “{name}” in this campaign; there are: {known}.")
    return found


def _told(benchmark: Benchmark) -> dict[str, Any]:
    names = ("name", "kind", "hypotheses", "cased", "file_name", "sha256")
    return {name: getattr(benchmark, name) for name in names}


def _notes(unknown: Any, warnings: Any, limit: int = 50) -> list[str]:
    lines = [f"columns not used: {', '.join(unknown)}"] if unknown else []
    lines += [f"warning: {issue}" for issue in warnings[:limit]]
    return lines + ([f"… and {len(warnings) - limit} more (see --json)"] if len(warnings) > limit else [])


def _issue(issue: RowIssue) -> dict[str, Any]:
    return {"line": issue.line, "column": issue.column, "message": str(issue.message)}
