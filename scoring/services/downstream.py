"""Downstream figures: what a submission's answers amount to, a benchmark's board, accuracies over several benchmarks.

A submission is scored once: each question's counts and similarities are kept, and every table is made of these. Boards
are worked out by a job (or the command, in the foreground) and kept with a digest of the submissions they rest on.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.models import Campaign, Job, User
from annotation.protocol.sentences import say
from annotation.services import jobs
from annotation.services.errors import Refused
from scoring.models import Benchmark, BenchmarkQuestion, BenchmarkResponse, BenchmarkSubmission, Evaluation
from scoring.services.benchmarks import (
    BOARD,
    CHUNK,
    Sent,
    Stored,
    check_names,
    evaluation_digest,
    latest_runs,
    read_sent,
    store_sent,
)
from scoring.services.kept_sentences import as_measured, with_sentences
from scoring.stats import choice, generation
from scoring.stats.proportions import RESAMPLES, reasons
from scoring.stats.question_sums import NOTE, Drawn, Family, Figure, SystemRows, draw, mean_over_sets
from scoring.stats.significance import SHUFFLES, Difference, with_holm

JOB = "downstream"
ACCURACIES = "downstream-accuracies"  # the kind of the kept table over all benchmarks of choices
VERSION = "1"  # of the tables that are kept: another one, and they are older than what there is
MEAN = "mean"
SHARES = 100  # of the work of scoring one submission
FAMILIES: Mapping[str, Sequence[Family]] = {
    Benchmark.Kind.GENERATION: generation.FAMILIES,
    Benchmark.Kind.CHOICE: choice.FAMILIES,
}

Document = dict[str, Any]
Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]


def silent(_done: int, _total: int) -> None:
    """For work that nobody watches."""


@dataclass(frozen=True, kw_only=True)
class Draws:
    """How much is drawn anew and swapped."""

    resamples: int = RESAMPLES
    shuffles: int = SHUFFLES


USUAL = Draws()


# One submission -------------------------------------------------------------------------------------------------


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


# Lines ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Line:
    """A system on a benchmark: by family each run's rows, or why there are none."""

    system: str
    human: bool
    runs: Sequence[BenchmarkSubmission]
    rows: Mapping[str, tuple[Floats, ...]]
    undefined: Mapping[str, str]
    signatures: Sequence[str]

    @property
    def title(self) -> str:
        """What tells it from every other line. People may bear a system's name, but no name holds what comes before
        theirs; it is never shown, since they are compared with nobody.
        """
        return f"\x1f{self.system}" if self.human else self.system


def lines_of(benchmark: Benchmark) -> list[Line]:
    """The systems of a benchmark by name, people last; two queries. Submissions that wait to be scored are left out."""
    scored = benchmark.submissions.filter(scored_at__isnull=False)
    latest = latest_runs(list(scored.defer("statistics")))
    whole = scored.in_bulk([run.pk for runs in latest.values() for run in runs])
    return [_line(system, human, [whole[run.pk] for run in runs]) for (human, system), runs in latest.items()]


def _line(system: str, human: bool, runs: Sequence[BenchmarkSubmission]) -> Line:
    told = [as_measured(run.statistics["told"]) for run in runs if run.statistics is not None]
    undefined = {name: why for one in reversed(told) for name, why in one["undefined"].items()}
    kept = [run.statistics["rows"] for run in runs if run.statistics is not None]
    families = [name for name in kept[0] if name not in undefined]
    rows = {name: tuple(np.array(one[name], dtype=np.float64) for one in kept) for name in families}
    return Line(
        system=system,
        human=human,
        runs=runs,
        rows=rows,
        undefined=undefined,
        signatures=[one["signature"] for one in told],
    )


# A benchmark's board --------------------------------------------------------------------------------------------


def board_document(benchmark: Benchmark, *, draws: Draws = USUAL, progress: Progress = silent) -> Document:
    """Every system's figures over its runs, by relation or skill too, and the differences of every two models.

    Refused where nothing was scored yet.
    """
    lines = lines_of(benchmark)
    if not lines:
        raise Refused(_("Nothing was scored on “%(name)s” yet.") % {"name": benchmark.name})
    groups = list(benchmark.questions.values_list("group", flat=True))
    families = FAMILIES[benchmark.kind]
    of_group = _masks(groups)
    steps = len(families) * (1 + len(of_group))
    made: list[_Measured] = []
    by_group: dict[str, list[_Measured]] = {name: [] for name in of_group}

    def alive() -> None:
        progress(len(made) + sum(map(len, by_group.values())), steps)

    for family in families:
        made.append(
            _measured(family, lines, None, seed=seed_of(benchmark), draws=draws, compare=True, alive=alive)
        )
        for name, mask in of_group.items():
            by_group[name].append(
                _measured(
                    family, lines, mask, seed=seed_of(benchmark), draws=draws, compare=False, alive=alive
                )
            )
    progress(steps, steps)
    signatures = sorted({one for line in lines for one in line.signatures})
    systems = _systems(lines, made)
    shown_groups = [
        {"group": name, "n": int(mask.sum()), "systems": _systems(lines, by_group[name], named=False)}
        for name, mask in of_group.items()
    ]
    differences = [one for measured in made for one in measured.differences(lines)]
    document = {
        "campaign": benchmark.campaign.slug,
        "benchmark": benchmark.name,
        "kind": benchmark.kind,
        "file": benchmark.file_name,
        "sha256": benchmark.sha256,
        "n": len(groups),
        "measures": [name for family in families for name in family.measures],
        "systems": systems,
        "groups": shown_groups,
        "differences": differences,
        "warnings": [] if len(signatures) == 1 else [DIFFERENTLY_SCORED],
        "note": NOTE,
        "signature": _signature(benchmark, lines, signatures, draws),
    }
    json.dumps(document, allow_nan=False)
    return document


DIFFERENTLY_SCORED = say(
    "Not all submissions were scored by the same programs: the signature names each. Score all of them again."
)


def seed_of(benchmark: Benchmark) -> int:
    """Its own for each benchmark, the same on every machine: draws of two sets must not go together."""
    text = f"{benchmark.name}\n{benchmark.sha256}"
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def _masks(groups: Sequence[str]) -> dict[str, NDArray[np.bool_]]:
    """By relation or skill, which questions are its; none where all are of one."""
    names = sorted(set(groups))
    if len(names) < 2:
        return {}
    return {name: np.array([group == name for group in groups], dtype=np.bool_) for name in names}


@dataclass(frozen=True, eq=False, kw_only=True)
class _Measured:
    """One family of figures of all lines; `places` are those that have it, in the order of what was drawn."""

    family: Family
    drawn: Drawn | None
    places: Sequence[int]
    undefined: Mapping[int, str]

    def figure(self, line: int, measure: str) -> Document:
        """A line's figure, or why there is none."""
        if self.drawn is None or line not in self.places:
            return _no_figure(self.undefined[line])
        return _figure(self.drawn, self.places.index(line), measure).as_json()

    def differences(self, lines: Sequence[Line]) -> list[Document]:
        """Of every two models, Holm over the pairs of each measure."""
        models = [place for place, line in enumerate(lines) if not line.human]
        found = []
        for measure in self.family.measures:
            pairs = [self._difference(lines, a, b, measure) for a, b in combinations(models, 2)]
            found += [one.as_json() for one in with_holm(pairs)]
        return found

    def _difference(self, lines: Sequence[Line], a: int, b: int, measure: str) -> Difference:
        if self.drawn is not None and a in self.places and b in self.places:
            return self.drawn.difference(self.places.index(a), self.places.index(b), measure)
        why = self.undefined[a if a in self.undefined else b]
        n = 0 if self.drawn is None else self.drawn.n
        return Difference(
            measure=measure, a=lines[a].title, b=lines[b].title, n=n, unit="questions", reason=why
        )


def _figure(drawn: Drawn, system: int, measure: str) -> Figure:
    return choice.accuracy_of(drawn, system) if measure == choice.ACCURACY else drawn.figure(system, measure)


def _no_figure(why: str) -> Document:
    nothing: Document = {"mean": None, "sd": None, "n": 0, "values": [], "ci95": None, "ci95_method": None}
    return {**nothing, **reasons(why, "reason", "ci95_reason")}


def _measured(
    family: Family,
    lines: Sequence[Line],
    mask: NDArray[np.bool_] | None,
    *,
    seed: int,
    draws: Draws,
    compare: bool,
    alive: Callable[[], None] = lambda: None,
) -> _Measured:
    places = [place for place, line in enumerate(lines) if family.name in line.rows]
    undefined = {
        place: line.undefined[family.name] for place, line in enumerate(lines) if place not in places
    }
    if not places:
        return _Measured(family=family, drawn=None, places=places, undefined=undefined)
    systems = [
        SystemRows(
            name=lines[place].title,
            runs=tuple(run if mask is None else run[mask] for run in lines[place].rows[family.name]),
        )
        for place in places
    ]
    models = [number for number, place in enumerate(places) if not lines[place].human]
    drawn = draw(
        systems,
        family.of_sums,
        family.measures,
        seed=seed,
        resamples=draws.resamples,
        shuffles=draws.shuffles,
        pairs=list(combinations(models, 2)) if compare else (),
        alive=alive,
    )
    return _Measured(family=family, drawn=drawn, places=places, undefined=undefined)


def _systems(lines: Sequence[Line], made: Sequence[_Measured], *, named: bool = True) -> list[Document]:
    found = []
    for place, line in enumerate(lines):
        figures = {
            measure: measured.figure(place, measure)
            for measured in made
            for measure in measured.family.measures
        }
        runs = {"runs": [run.run for run in line.runs], "submissions": [run.pk for run in line.runs]}
        told = {"system": line.system, "human": line.human, **(runs if named else {})}
        found.append({**told, "figures": figures})
    return found


def _signature(benchmark: Benchmark, lines: Sequence[Line], signatures: Sequence[str], draws: Draws) -> str:
    runs = "+".join(str(len(line.runs)) for line in lines)
    return (
        f"downstream|ver:1|benchmark:{benchmark.sha256[:12]}|{'|'.join(signatures)}|systems:{len(lines)}|runs:{runs}"
        f"|sd:n-1|interval:bootstrap-over-questions|p:randomisation+1|adjusted:holm|level:95|rs:{seed_of(benchmark)}"
        f"|bs:{draws.resamples}|shuffles:{draws.shuffles}|numpy:{np.__version__}"
    )


# Accuracies over benchmarks -------------------------------------------------------------------------------------


def accuracies_document(campaign: Campaign, *, draws: Draws = USUAL, progress: Progress = silent) -> Document:
    """Every system's accuracy on every benchmark of choices, and the mean over these; Refused where nothing is scored.

    Only who was scored on every benchmark has a mean, and only these are compared by it.
    """
    boards = [
        (benchmark, lines)
        for benchmark in campaign.benchmarks.filter(kind=Benchmark.Kind.CHOICE)
        if (lines := lines_of(benchmark))
    ]
    if not boards:
        raise Refused(_("Nothing was scored on a benchmark of choices yet."))
    names = sorted({(line.human, line.system) for _benchmark, lines in boards for line in lines})
    common = [key for key in names if all(_find(lines, key) is not None for _benchmark, lines in boards)]
    cells: dict[str, dict[Key, Document]] = {}
    sets: list[Drawn] = []

    def alive() -> None:
        progress(len(cells) + len(sets), 2 * len(boards))

    for benchmark, lines in boards:
        cells[benchmark.name] = _cells(benchmark, lines, draws, alive)
    for benchmark, lines in boards if common else ():
        sets.append(_of_common(benchmark, lines, common, draws, alive))
    mean = mean_over_sets(sets) if sets else None
    progress(1, 1)
    systems = []
    for key in names:
        of_sets = {name: found.get(key) for name, found in cells.items()}
        average = (
            _no_figure(NOT_EVERYWHERE)
            if mean is None or key not in common
            else (mean.figure(common.index(key), choice.ACCURACY).as_json())
        )
        systems.append({"system": key[1], "human": key[0], "benchmarks": of_sets, MEAN: average})
    differences = [] if mean is None else _mean_differences(mean, common)
    document = {
        "campaign": campaign.slug,
        "benchmarks": [
            {"name": benchmark.name, "n": len(lines[0].rows[choice.ACCURACY][0]), "sha256": benchmark.sha256}
            for benchmark, lines in boards
        ],
        "systems": systems,
        "differences": differences,
        "note": NOTE,
        "signature": (
            f"downstream-accuracies|ver:1|benchmarks:{'+'.join(benchmark.sha256[:12] for benchmark, _ in boards)}"
            f"|match:nfkc+trim,cased|mean:plain|interval:bootstrap-over-questions|p:randomisation+1|adjusted:holm"
            f"|level:95|rs:by-benchmark|bs:{draws.resamples}|shuffles:{draws.shuffles}|numpy:{np.__version__}"
        ),
    }
    json.dumps(document, allow_nan=False)
    return document


NOT_EVERYWHERE = say("not scored on every benchmark, so there is no mean to compare")
Key = tuple[bool, str]


def _find(lines: Sequence[Line], key: Key) -> Line | None:
    return next((line for line in lines if (line.human, line.system) == key), None)


def _cells(
    benchmark: Benchmark, lines: Sequence[Line], draws: Draws, alive: Callable[[], None]
) -> dict[Key, Document]:
    (family,) = choice.FAMILIES
    found = _measured(family, lines, None, seed=seed_of(benchmark), draws=draws, compare=False, alive=alive)
    return {
        (line.human, line.system): found.figure(place, choice.ACCURACY) for place, line in enumerate(lines)
    }


def _of_common(
    benchmark: Benchmark,
    lines: Sequence[Line],
    common: Sequence[Key],
    draws: Draws,
    alive: Callable[[], None],
) -> Drawn:
    """What is drawn of one benchmark for the mean over all."""
    models = [place for place, (human, _system) in enumerate(common) if not human]
    chosen = [line for key in common if (line := _find(lines, key)) is not None]
    return draw(
        [SystemRows(name=line.title, runs=line.rows[choice.ACCURACY]) for line in chosen],
        choice.accuracy,
        choice.MEASURES,
        seed=seed_of(benchmark),
        resamples=draws.resamples,
        shuffles=draws.shuffles,
        pairs=list(combinations(models, 2)),
        alive=alive,
    )


def _mean_differences(mean: Drawn, common: Sequence[Key]) -> list[Document]:
    models = [place for place, (human, _system) in enumerate(common) if not human]
    found = [
        replace(mean.difference(a, b, choice.ACCURACY), measure=MEAN) for a, b in combinations(models, 2)
    ]
    return [one.as_json() for one in with_holm(found)]


# Kept by a job --------------------------------------------------------------------------------------------------


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
