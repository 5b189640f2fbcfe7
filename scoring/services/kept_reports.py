"""Reports that take seconds: worked out by a job, kept with what they were made of, and only read afterwards.

What a report was asked for (its options) names the row that holds it; what it was made of (the campaign's labels,
outputs and submissions, and the versions of what computes) has a digest beside it. While the digest is the same, so are
the figures; where it is another, the kept ones are shown as older than what there is now.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from typing import Any

from django.db.models import Aggregate, Count, Max, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast

from annotation.models import (
    Arbitration,
    Assignment,
    Campaign,
    CarryOver,
    ImportBatch,
    Item,
    Job,
    Output,
    System,
    User,
)
from annotation.services import jobs
from annotation.services.errors import Refused
from scoring.models import Evaluation, Submission
from scoring.services.comparing import check_comparison
from scoring.services.comparing_predictions import check_wanted
from scoring.services.gather import choose_run
from scoring.services.kept_sentences import as_measured, with_sentences
from scoring.services.measure import NO_REFERENCES, report, wanted_predictions
from scoring.services.options import Document, Options
from scoring.services.peeks import record_peek

JOB = "measure"
VERSION = "3"  # of what is kept: another one, and everything is computed again
COMPARISON, BLEU = "comparison", "bleu"
# The kinds, and the options each goes by.
GOES_BY: Mapping[str, Sequence[str]] = {
    COMPARISON: ("labels", "among", "a", "b", "release", "split", "texts", "resamples", "seed"),
    BLEU: ("system", "run", "resamples", "seed"),
}
LIBRARIES = ("numpy", "sacrebleu")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How a report stands: the last document there is, whether it is of what there is now, and the last job."""

    document: Document | None
    computed_at: datetime | None
    is_current: bool
    job: Job | None

    @property
    def state(self) -> str:
        """failed, running (or waiting), done, or none: never asked for."""
        if self.job is None:
            return "none" if self.document is None else "done"
        if self.job.state == Job.State.FAILED:
            return "failed"
        return "done" if self.job.state == Job.State.DONE else "running"


def is_kept(kind: str, options: Options | None = None) -> bool:
    """Whether reports of this kind are kept; never those of a file, which is nobody's but the sender's."""
    with_file = options is not None and any((options.test_set, options.hypotheses, options.references))
    return kind in GOES_BY and not with_file


def check(campaign: Campaign, kind: str, options: Options) -> None:
    """Refused where a job would be: nothing there, or nothing by the names asked for. A few short queries."""
    if kind == BLEU:
        chosen = choose_run(campaign, options.system, options.run)
        outputs = Output.objects.filter(system=chosen.system, run=chosen.run, item__retired_at__isnull=True)
        if not outputs.exclude(context__reference="").exists():
            raise Refused(NO_REFERENCES)
    elif campaign.protocol == Campaign.Protocol.TRIPLE:
        check_wanted(campaign, wanted_predictions(options))
    else:
        check_comparison(campaign, among=options.among, pair=(options.a, options.b))


def kept(campaign: Campaign, kind: str, options: Options) -> Kept:
    """Reads only; a fixed number of queries."""
    arguments = _arguments(kind, options)
    found = Evaluation.objects.filter(campaign=campaign, digest=_digest(arguments)).first()
    asked = Job.objects.filter(campaign=campaign, kind=JOB, digest=_digest(arguments)).order_by("-pk").first()
    return Kept(
        document=None if found is None else as_measured(found.result),
        computed_at=None if found is None else found.created_at,
        is_current=found is not None and found.arguments["inputs"] == inputs_of(campaign),
        job=asked,
    )


def document_now(campaign: Campaign, kind: str, options: Options) -> Document:
    """A report as of now: the kept one where it is current, else worked out; stores nothing."""
    if is_kept(kind, options):
        found = kept(campaign, kind, options)
        if found.is_current and found.document is not None:
            return found.document
    return report(campaign, kind, options)


def request_report(campaign: Campaign, kind: str, options: Options, *, by: User) -> Job:
    """Ask for it to be worked out. Refused where `check` is."""
    check(campaign, kind, options)
    return jobs.request(campaign=campaign, kind=JOB, arguments=_arguments(kind, options), by=by)


def report_work(job: Job, progress: Callable[..., None]) -> Callable[[], dict[str, Any]]:
    """The report that a job is about; the digest is of what there was before its rows were read."""
    kind, options = job.arguments["kind"], Options(**job.arguments["options"])
    inputs = inputs_of(job.campaign)
    document = report(job.campaign, kind, options)
    progress(1, 1)

    def keep() -> dict[str, Any]:
        record_peek(job.campaign, kind, by=job.created_by)
        evaluation, _made = Evaluation.objects.update_or_create(
            campaign=job.campaign,
            digest=_digest(job.arguments),
            defaults={
                "kind": kind,
                "arguments": {**job.arguments, "inputs": inputs},
                "result": with_sentences(document),
                "signature": document["signature"],
            },
        )
        return {"evaluation": evaluation.pk}

    return keep


def _arguments(kind: str, options: Options) -> dict[str, Any]:
    given = asdict(options)
    named = {name: given[name] for name in GOES_BY[kind]}
    return {"kind": kind, "options": {name: value for name, value in named.items() if value is not None}}


def _digest(arguments: Mapping[str, Any]) -> str:
    """As jobs have it: a job and what it keeps go by one name."""
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


# What a report is made of ---------------------------------------------------------------------------------------


def inputs_of(campaign: Campaign) -> str:
    """A digest that changes with whatever kept reports rest on; three queries, none of which reads texts.

    Texts, classes, splits and imported labels change by an import or a withdrawal only, final labels with their
    version, answers with their revisions.
    """
    made_of = {
        "version": [VERSION, *(version(name) for name in LIBRARIES)],
        "campaign": [
            campaign.protocol, campaign.annotators_per_item, campaign.rule, campaign.label_version, campaign.wording,
        ],
        "counted": _counted(campaign),
        "systems": list(System.objects.filter(campaign=campaign).order_by("pk").values_list("pk", "name")),
        "submissions": list(
            Submission.objects.filter(campaign=campaign)
            .order_by("pk")
            .values_list("pk", "digest", "system", "run", "threshold", "release__sha256", "created_by")
        ),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(made_of, sort_keys=True, default=str).encode()).hexdigest()


def _counted(campaign: Campaign) -> list[tuple[str | None, ...]]:
    """By table, what tells that its rows changed. One query: as text, since their rows stand below one another.

    Answers are counted of compounds, whose verdicts follow from them; labels of triples have a version.
    """
    tables = [
        _row(
            "items",
            Item.objects.filter(campaign=campaign),
            Count("pk"), Count("retired_at"), Max("retired_at"), Count("exposed_at"),
        ),
        _row(
            "batches",
            ImportBatch.objects.filter(campaign=campaign, published_at__isnull=False),
            Count("pk"), Max("pk"), Max("published_at"),
        ),
        _row("outputs", Output.objects.filter(system__campaign=campaign), Count("pk"), Max("pk")),
        _row(
            "decisions",
            Arbitration.objects.filter(item__campaign=campaign),
            Count("pk"), Max("pk"), Count("taken_back_at"),
        ),
    ]  # fmt: skip
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        tables.append(
            _row(
                "answers",
                Assignment.objects.filter(round__campaign=campaign),
                Count("answered_at", filter=Q(withdrawn_at__isnull=True)),
                Sum("revision"),
                Max("answered_at"),
                Count("withdrawn_at"),
            )
        )
        tables.append(_row("carried", CarryOver.objects.filter(campaign=campaign), Count("pk"), Max("pk")))
    first, *others = tables
    found = sorted(first.union(*others, all=True))
    return [row for row in found if row[:2] != ("carried", "0")]  # as if there were no such table


def _row(name: str, rows: QuerySet[Any], *figures: Aggregate) -> QuerySet[Any, tuple[str | None, ...]]:
    """These figures of a table as one row of four, with the table's name before them."""
    padded = [*figures, *(Value(None) for _place in range(4 - len(figures)))]
    as_text = {f"figure_{place}": Cast(figure, TextField()) for place, figure in enumerate(padded)}
    named = rows.order_by().values(table=Value(name)).annotate(**as_text)
    found: QuerySet[Any, tuple[str | None, ...]] = named.values_list("table", *as_text)
    return found
