"""The boards that are kept, and whether they are of what there is now."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotation.models import Campaign, Job
from annotation.services.errors import Refused
from scoring.models import Benchmark, BenchmarkSubmission, Evaluation
from scoring.services.benchmarks import BOARD, evaluation_digest
from scoring.services.downstream.accuracies import accuracies_document
from scoring.services.downstream.board import board_document
from scoring.services.downstream.scores import Document, Progress, silent
from scoring.services.kept_sentences import as_measured, with_sentences

JOB = "downstream"
ACCURACIES = "downstream-accuracies"  # the kind of the kept table over all benchmarks of choices
VERSION = "1"  # of the tables that are kept: another one, and they are older than what there is


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a board stands: the last document, whether it is of what there is now, and the last job."""

    document: Document | None
    computed_at: datetime | None
    is_current: bool
    job: Job | None

    @property
    def waits(self) -> bool:
        """Whether the worker is asked, or at it."""
        return self.job is not None and self.job.state in (Job.State.PENDING, Job.State.RUNNING)

    @property
    def failed(self) -> bool:
        """Whether the last job came to nothing."""
        return self.job is not None and self.job.state == Job.State.FAILED


def kept_board(benchmark: Benchmark) -> Kept:
    """Reads only; three queries."""
    own = Job.objects.filter(campaign=benchmark.campaign, kind=JOB, arguments__benchmark=benchmark.pk)
    return _kept(benchmark.campaign, BOARD, benchmark.pk, own.order_by("-pk").first(), inputs_of(benchmark))


def kept_accuracies(campaign: Campaign) -> Kept:
    """The same for the accuracies over all benchmarks of choices; every job of one of these computes them too."""
    last = Job.objects.filter(campaign=campaign, kind=JOB, arguments__choice=True).order_by("-pk").first()
    return _kept(campaign, ACCURACIES, None, last, inputs_of_choices(campaign))


def _kept(campaign: Campaign, kind: str, benchmark: int | None, job: Job | None, inputs: str) -> Kept:
    found = Evaluation.objects.filter(campaign=campaign, digest=evaluation_digest(kind, benchmark)).first()
    return Kept(
        document=None if found is None else as_measured(found.result),
        computed_at=None if found is None else found.created_at,
        is_current=found is not None and found.arguments["inputs"] == inputs,
        job=job,
    )


def inputs_of(benchmark: Benchmark) -> str:
    """A digest that changes with the submissions a board rests on; one query."""
    return _inputs(benchmark.submissions.order_by("pk").values_list("pk", "digest", "scored_at"))


def inputs_of_choices(campaign: Campaign) -> str:
    """The same for all benchmarks of choices of a campaign."""
    found = BenchmarkSubmission.objects.filter(
        benchmark__campaign=campaign, benchmark__kind=Benchmark.Kind.CHOICE
    )
    return _inputs(found.order_by("pk").values_list("benchmark", "pk", "digest", "scored_at"))


def _inputs(rows: Any) -> str:
    made_of = [VERSION, [[str(cell) for cell in row] for row in rows]]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


Made = tuple[str, int | None, str, Document | None]  # the kind, the benchmark, what it rests on, the document


def boards_now(benchmark: Benchmark, progress: Progress = silent) -> list[Made]:
    """A benchmark's board and, of choices, the accuracies over all; without a document where nothing is scored."""
    inputs = inputs_of(benchmark)
    scored = benchmark.submissions.filter(scored_at__isnull=False).exists()
    board = board_document(benchmark, progress=progress) if scored else None
    made: list[Made] = [(BOARD, benchmark.pk, inputs, board)]
    if benchmark.kind == Benchmark.Kind.CHOICE:
        of_all = inputs_of_choices(benchmark.campaign)
        try:
            made.append(
                (ACCURACIES, None, of_all, accuracies_document(benchmark.campaign, progress=progress))
            )
        except Refused:
            made.append((ACCURACIES, None, of_all, None))
    return made


def store_board(
    campaign: Campaign, kind: str, benchmark: int | None, inputs: str, document: Document | None
) -> None:
    """Keep the latest, or forget it where there is none any more."""
    digest = evaluation_digest(kind, benchmark)
    if document is None:
        Evaluation.objects.filter(campaign=campaign, digest=digest).delete()
        return
    Evaluation.objects.update_or_create(
        campaign=campaign,
        digest=digest,
        defaults={
            "kind": kind,
            "arguments": {"benchmark": benchmark, "inputs": inputs},
            "result": with_sentences(document),
            "signature": document["signature"],
        },
    )
