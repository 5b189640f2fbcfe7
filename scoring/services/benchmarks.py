"""Downstream benchmarks of a campaign and what models say to them: checked row by row, stored whole or not at all.

A benchmark is frozen when it is added. The references and gold options in it are shown to nobody and stand in no
message: whoever holds them scores again and again until they fit. Figures are worked out in `downstream`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.formats.cells import is_blank
from annotation.formats.downstream import Question, fit, read_benchmark, read_responses
from annotation.formats.errors import RowIssue
from annotation.formats.tables import read_table
from annotation.formats.writers import Cell, JsonCell, write_jsonl, write_table
from annotation.models import Campaign, User
from annotation.protocol.text import fold_name
from annotation.services.errors import Refused
from annotation.services.people import audit
from scoring.models import (
    Benchmark,
    BenchmarkQuestion,
    BenchmarkResponse,
    BenchmarkSubmission,
    Evaluation,
)
from scoring.services.targets import SubmissionError

BOARD = "downstream"  # the kind of a kept board
NAME_LENGTH = 100
CHUNK = 2000
COLUMNS = {Benchmark.Kind.GENERATION: ("head", "relation"), Benchmark.Kind.CHOICE: ("question_id",)}


@dataclass(frozen=True, kw_only=True)
class Added:
    """A stored benchmark, and what its file held besides."""

    benchmark: Benchmark
    questions: int
    unknown_columns: Sequence[str]
    warnings: Sequence[RowIssue]


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A submission as it is stored. `repeated`: it was there and counted; `again`: it was there, another file under its
    names came after it, and now it counts again.
    """

    submission: BenchmarkSubmission
    repeated: bool = False
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A file that answers every question of a benchmark; `said` is in the order of the questions."""

    questions: Sequence[BenchmarkQuestion]
    said: Sequence[tuple[str, ...]]
    sha256: str
    unknown_columns: Sequence[str]
    warnings: Sequence[RowIssue]


# Benchmarks ---------------------------------------------------------------------------------------------------


def add_benchmark(
    campaign: Campaign,
    data: bytes,
    *,
    file_name: str,
    name: str,
    kind: str,
    hypotheses: str = Benchmark.Hypotheses.FIRST,
    cased: bool = False,
    by: User | None,
) -> Added:
    """Read, check and freeze; with any error nothing is stored."""
    name = name.strip()
    _check_name(name, _("Name the benchmark."))
    _check_new(campaign, name)
    file = read_benchmark(read_table(data, name=file_name), kind)
    if file.errors:
        raise SubmissionError(file.errors)
    benchmark = Benchmark(
        campaign=campaign, name=name, kind=kind, hypotheses=hypotheses, cased=cased, file_name=file_name[:255],
        sha256=hashlib.sha256(data).hexdigest(), created_by=by,
    )  # fmt: skip
    try:
        with transaction.atomic():
            benchmark.save()
            BenchmarkQuestion.objects.bulk_create(_questions(benchmark, file.rows), batch_size=CHUNK)
            audit(campaign, by, "benchmark added", {"name": name, "file": file_name, "n": len(file.rows)})
    except IntegrityError:
        _check_new(campaign, name)
        raise
    return Added(
        benchmark=benchmark,
        questions=len(file.rows),
        unknown_columns=file.unknown_columns,
        warnings=file.warnings,
    )


def _questions(benchmark: Benchmark, rows: Sequence[Question]) -> Iterator[BenchmarkQuestion]:
    for position, row in enumerate(rows, start=1):
        yield BenchmarkQuestion(
            benchmark=benchmark, position=position, key=row.key, name=row.name, group=row.group,
            texts=list(row.texts), gold=list(row.gold), options=list(row.options),
        )  # fmt: skip


def _check_new(campaign: Campaign, name: str) -> None:
    there = campaign.benchmarks.values_list("name", flat=True)
    if any(fold_name(one) == fold_name(name) for one in there):
        raise Refused(_("There is a benchmark “%(name)s” already; choose another name.") % {"name": name})


def _check_name(name: str, empty: str) -> None:
    if is_blank(name):
        raise Refused(empty)
    if len(name) > NAME_LENGTH or not name.isprintable():
        raise Refused(_invisible())


def _invisible() -> str:
    return _("A name has at most 100 characters, all of them visible.")


def remove_benchmark(benchmark: Benchmark, *, by: User | None) -> None:
    """Take a benchmark out; Refused while anything was sent to it."""
    with transaction.atomic():
        held = Benchmark.objects.select_for_update().filter(pk=benchmark.pk).first()
        if held is None:
            return
        if held.submissions.exists():
            raise Refused(
                _(
                    "“%(name)s” has submissions. Remove these first, so that no figure loses what it was made of."
                )
                % {"name": held.name}
            )
        audit(held.campaign, by, "benchmark removed", {"name": held.name, "sha256": held.sha256})
        kept = Evaluation.objects.filter(campaign=held.campaign, digest=evaluation_digest(BOARD, held.pk))
        kept.delete()
        held.delete()


def evaluation_digest(kind: str, benchmark: int | None) -> str:
    """By what a kept board is found."""
    return hashlib.sha256(json.dumps([kind, benchmark]).encode()).hexdigest()


def questions_file(benchmark: Benchmark, form: str, *, mark: bool) -> Iterator[bytes]:
    """What is to be answered, in one of `FORMATS`: options are a list in JSON, and its text in a table."""
    columns, rows = open_questions(benchmark)
    if form == "jsonl":
        return write_jsonl(columns, rows)
    return write_table(form, columns, ([_as_cell(cell) for cell in row] for row in rows), mark=mark)


def _as_cell(cell: JsonCell) -> Cell:
    if isinstance(cell, list):
        return json.dumps(cell, ensure_ascii=False) if cell else ""
    return cell


def open_questions(benchmark: Benchmark) -> tuple[Sequence[str], Iterator[list[JsonCell]]]:
    """What is to be answered, as columns and rows: no references, no gold options."""
    rows = benchmark.questions.values_list("texts", "options")
    columns = COLUMNS[Benchmark.Kind(benchmark.kind)]
    if benchmark.kind == Benchmark.Kind.GENERATION or not benchmark.questions.exclude(options=[]).exists():
        return columns, ([*texts] for texts, _options in rows.iterator(CHUNK))
    return (*columns, "options"), ([*texts, options] for texts, options in rows.iterator(CHUNK))


# Submissions --------------------------------------------------------------------------------------------------


def read_sent(benchmark: Benchmark, data: bytes, *, file_name: str) -> Sent:
    """A model's file against a benchmark; SubmissionError names every row and question that does not fit."""
    file = read_responses(read_table(data, name=file_name), benchmark.kind)
    questions = list(benchmark.questions.all())
    fitted = fit(benchmark.kind, file, [_as_read(question) for question in questions])
    if fitted.errors:
        raise SubmissionError(fitted.errors)
    return Sent(
        questions=questions,
        said=[fitted.said[question.key] for question in questions],
        sha256=hashlib.sha256(data).hexdigest(),
        unknown_columns=file.unknown_columns,
        warnings=fitted.warnings,
    )


def _as_read(question: BenchmarkQuestion) -> Question:
    return Question(
        line=0,
        key=question.key,
        name=question.name,
        group=question.group,
        texts=tuple(question.texts),
        gold=tuple(question.gold),
        options=tuple(question.options),
    )


def store_sent(
    benchmark: Benchmark,
    sent: Sent,
    *,
    file_name: str,
    system: str,
    run: str = "",
    human: bool = False,
    by: User | None,
    statistics: dict[str, Any] | None = None,
    replaces_others: bool = True,
) -> Stored:
    """Store it. The same file under the same names is the same submission.

    Another file under these names takes the place of the one before, which stays in the list; sent again, that one is
    stored anew and counts. Who may not replace what somebody else sent (`replaces_others`) is refused instead, and so
    is a name that another spelling of is there.
    """
    system, run = system.strip(), run.strip()
    check_names(system, run)
    names = {"system": system, "run": run, "human": human}
    digest = hashlib.sha256(json.dumps([sent.sha256, names], sort_keys=True).encode()).hexdigest()
    measured = {} if statistics is None else {"statistics": statistics, "scored_at": timezone.now()}
    with transaction.atomic():
        # Held against removal, and so that two files under one name come one after the other.
        if not Benchmark.objects.select_for_update().filter(pk=benchmark.pk).exists():
            raise Refused(_("This benchmark was removed meanwhile."))
        check_spelling(benchmark, system, run, human=human)
        there = benchmark.submissions.filter(**names)
        known, latest = there.filter(digest=digest).first(), there.order_by("pk").last()
        if known is not None and known == latest:
            if measured:
                benchmark.submissions.filter(pk=known.pk).update(**measured)
            return Stored(submission=known, repeated=True)
        if not replaces_others and there.exclude(created_by=by).exists():
            raise Refused(
                _(
                    "Somebody else sent in this run of “%(system)s”. Choose another name for the system or the run."
                )
                % {"system": system}
            )
        if known is not None:
            measured = measured or {"statistics": known.statistics, "scored_at": known.scored_at}
            remove_submission(known, by=by)
        made = BenchmarkSubmission.objects.create(
            benchmark=benchmark, **names, file_name=file_name[:255], sha256=sent.sha256, digest=digest,
            created_by=by, **measured,
        )  # fmt: skip
        responses = (
            BenchmarkResponse(submission=made, question=question, said=list(said))
            for question, said in zip(sent.questions, sent.said, strict=True)
        )
        BenchmarkResponse.objects.bulk_create(responses, batch_size=CHUNK)
    return Stored(submission=made, again=known is not None)


def check_spelling(benchmark: Benchmark, system: str, run: str, *, human: bool) -> None:
    """Refused where the system, or this run of it, is there in another spelling; people and models are apart."""
    system, run = system.strip(), run.strip()
    there = benchmark.submissions.filter(human=human)
    known = _other_spelling(system, there.values_list("system", flat=True))
    if known is not None:
        raise Refused(
            _("“%(known)s” is on this benchmark already. Write the name like this, or choose another one.")
            % {"known": known}
        )
    known = _other_spelling(run, there.filter(system=system).values_list("run", flat=True))
    if known is not None:
        raise Refused(
            _(
                "“%(system)s” has a run “%(known)s” on this benchmark already. Write the run like this, or choose "
                "another name for it."
            )
            % {"system": system, "known": known}
        )


def _other_spelling(name: str, there: Iterable[str]) -> str | None:
    """How the name is written there, where it is there in other spellings only."""
    same = sorted({one for one in there if fold_name(one) == fold_name(name)})
    return same[0] if same and name not in same else None


def check_names(system: str, run: str) -> None:
    """Refused where a system has no name, or a name could not be told from its neighbours."""
    _check_name(system.strip(), _("Name the system."))
    if run:
        _check_name(run, _invisible())


def remove_submission(submission: BenchmarkSubmission, *, by: User | None) -> None:
    """Take a submission out, with all it says."""
    benchmark = submission.benchmark
    with transaction.atomic():
        detail = {"name": benchmark.name, "system": submission.system, "run": submission.run}
        audit(benchmark.campaign, by, "benchmark submission removed", {**detail, "sha256": submission.sha256})
        submission.delete()


def remove_run(benchmark: Benchmark, *, system: str, run: str, human: bool, by: User | None) -> int:
    """Take out everything that was sent under these names; how many files that were. Refused where there are none."""
    with transaction.atomic():
        found = benchmark.submissions.filter(system=system, run=run, human=human).defer("statistics")
        submissions = list(found.select_related("benchmark__campaign"))
        if not submissions:
            raise Refused(_("Nothing was sent to “%(name)s” under these names.") % {"name": benchmark.name})
        for one in submissions:
            remove_submission(one, by=by)
    return len(submissions)


def latest_runs(
    submissions: Sequence[BenchmarkSubmission],
) -> dict[tuple[bool, str], list[BenchmarkSubmission]]:
    """By system (people last), the latest submission of each run, in the order of the runs' names."""
    latest: dict[tuple[bool, str, str], BenchmarkSubmission] = {}
    for one in sorted(submissions, key=lambda one: one.pk):
        latest[one.human, one.system, one.run] = one
    systems: dict[tuple[bool, str], list[BenchmarkSubmission]] = {}
    for human, system, run in sorted(latest):
        systems.setdefault((human, system), []).append(latest[human, system, run])
    return systems
