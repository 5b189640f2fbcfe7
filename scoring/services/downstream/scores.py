"""One submission's answers, scored question by question."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from scoring.models import Benchmark, BenchmarkQuestion, BenchmarkResponse, BenchmarkSubmission
from scoring.services.benchmarks import CHUNK
from scoring.services.kept_sentences import with_sentences
from scoring.stats import choice, generation

SHARES = 100  # of the work of scoring one submission

Document = dict[str, Any]
Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]


def silent(_done: int, _total: int) -> None:
    """For work that nobody watches."""


def check_scorable(benchmark: Benchmark) -> None:
    """Refused where the program that scores is not installed, before anything is stored."""
    if benchmark.kind == Benchmark.Kind.GENERATION:
        generation.require_library()


def statistics_of(
    benchmark: Benchmark,
    questions: Sequence[BenchmarkQuestion],
    said: Sequence[Sequence[str]],
    progress: Progress = silent,
) -> Document:
    """Each question's counts and similarities as `{rows, told}`: numbers by family, and what is said about them.

    `told` is `{undefined: {family: why}, signature}`, kept with its sentences.
    """
    if benchmark.kind == Benchmark.Kind.CHOICE:
        answers = choice.right([one[0] for one in said], [question.gold[0] for question in questions])
        rows: dict[str, Floats] = {choice.ACCURACY: choice.rows_of(answers)}
        undefined: dict[str, str] = {}
        signature = f"choice|ver:1|match:nfkc+trim,cased|n:{len(questions)}"
    else:
        found = generation.score_generations(
            said,
            [question.gold for question in questions],
            every=benchmark.hypotheses == Benchmark.Hypotheses.ALL,
            cased=benchmark.cased,
            progress=progress,
        )
        rows, undefined, signature = found.rows, found.undefined, found.signature
    told = with_sentences({"undefined": undefined, "signature": signature})
    return {"rows": {name: values.tolist() for name, values in rows.items()}, "told": told}


def score(submission: BenchmarkSubmission, progress: Progress = silent) -> Document | None:
    """The statistics of a stored submission, worked out anew; None where it was removed meanwhile."""
    responses = BenchmarkResponse.objects.filter(submission=submission).order_by("question__position")
    found = list(responses.select_related("question").iterator(CHUNK))
    if not found:
        return None
    questions, said = [one.question for one in found], [one.said for one in found]
    return statistics_of(submission.benchmark, questions, said, progress)


def score_waiting(
    benchmark: Benchmark, *, again: bool = False, progress: Callable[..., None] = silent
) -> int:
    """Score the submissions that wait, or all `again`; returns how many. What is removed meanwhile is passed over."""
    waiting = benchmark.submissions.defer("statistics").select_related("benchmark")
    found = list(waiting if again else waiting.filter(scored_at__isnull=True))
    total, scored = SHARES * len(found), 0
    for number, submission in enumerate(reversed(found)):
        before = SHARES * number

        def told(done: int, of: int, before: int = before) -> None:
            progress(before + SHARES * done // max(of, 1), total)

        told(0, 1)
        statistics = score(submission, told)
        if statistics is not None:
            benchmark.submissions.filter(pk=submission.pk).update(
                statistics=statistics, scored_at=timezone.now()
            )
            scored += 1
    return scored
