"""Taking a submission in, and the job that scores what waits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.models import Job, User
from annotation.services import jobs
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.services.benchmarks import Sent, Stored, check_names, read_sent, store_sent
from scoring.services.downstream.kept import JOB, boards_now, store_board
from scoring.services.downstream.scores import Document, check_scorable, score_waiting


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A submission that fits and is stored; `job` where it is to be scored, or the board made anew with it."""

    stored: Stored
    sent: Sent
    job: Job | None

    @property
    def submission(self) -> BenchmarkSubmission:
        return self.stored.submission


def take_in(
    benchmark: Benchmark,
    data: bytes,
    *,
    file_name: str,
    system: str,
    run: str,
    human: bool,
    by: User,
    replaces_others: bool,
) -> Taken:
    """Check what a model said, store it and ask for its scoring.

    SubmissionError with every row, FormatError, ProtocolError or Refused where nothing is stored.
    """
    check_names(system, run)
    check_scorable(benchmark)
    sent = read_sent(benchmark, data, file_name=file_name)
    with transaction.atomic():
        stored = store_sent(
            benchmark,
            sent,
            file_name=file_name,
            system=system,
            run=run,
            human=human,
            by=by,
            replaces_others=replaces_others,
        )
        waits = stored.again or stored.submission.scored_at is None
        job = request_scoring(benchmark, by=by) if waits else None
    return Taken(stored=stored, sent=sent, job=job)


def request_scoring(benchmark: Benchmark, *, by: User | None, again: bool = False) -> Job:
    """Ask for what waits to be scored, or for everything `again`, and for the board."""
    arguments: dict[str, Any] = {"benchmark": benchmark.pk}
    arguments |= {"choice": True} if benchmark.kind == Benchmark.Kind.CHOICE else {}
    arguments |= {"again": True} if again else {}
    return jobs.request(campaign=benchmark.campaign, kind=JOB, arguments=arguments, by=by)


def downstream_work(job: Job, progress: Callable[..., None]) -> Callable[[], Document]:
    """Score what waits, then the benchmark's board and, of choices, the accuracies over all benchmarks.

    What is scored is stored submission by submission, whole each time: a job that runs twice finds it done.
    """
    benchmark = Benchmark.objects.filter(pk=job.arguments["benchmark"]).select_related("campaign").first()
    if benchmark is None:
        return dict  # removed meanwhile
    check_scorable(benchmark)
    score_waiting(benchmark, again=bool(job.arguments.get("again")), progress=progress)
    boards = boards_now(benchmark, progress=lambda done, total: progress(done, total))

    def keep() -> Document:
        for kind, pk, inputs, document in boards:
            store_board(benchmark.campaign, kind, pk, inputs, document)
        return {"benchmark": benchmark.pk}

    return keep
