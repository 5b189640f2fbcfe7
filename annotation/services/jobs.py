"""Jobs: asked for by a page, done by a worker, safe to run twice.

The row is the truth. A worker claims it by one conditional UPDATE (SQLite has no row locks) and holds it for a
lease that progress renews; all times are the database's. Whoever wakes the worker, a broker, the sweep or
chance, and however often: the claim decides, and results are stored once.
"""

import hashlib
import json
import logging
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from annotation.formats.errors import FormatError
from annotation.models import Campaign, Job, Part, Round, User, Worker
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence
from annotation.services.counts import counts
from annotation.services.errors import Refused
from annotation.services.peeks import LABELLING, open_answers
from annotation.services.sentences import with_sentence

log = logging.getLogger("assay.jobs")

LEASE = timedelta(seconds=settings.JOB_LEASE)
ATTEMPTS = 3
GRACE = timedelta(seconds=5)  # after this a job that nobody has taken is announced again
ALIVE = timedelta(seconds=20)  # a worker beats every few seconds
MESSAGE_LENGTH = 500
GAVE_UP = gettext_noop("The worker stopped each time while it ran this. Ask for it again, or see the log.")

Progress = Callable[..., None]  # progress(done, total, message="")
Store = Callable[[], dict[str, Any]]  # writes what was worked out and returns the job's result
Work = Callable[[Job, Progress], Store]


class LeaseLost(Exception):
    """The job is no longer this attempt's: stop, and store nothing."""


# Kinds --------------------------------------------------------------------------------------------------------

_task_names = {
    "finalize": "annotation.finalize",
    "import_items": "annotation.import_items",
    "build_set": "annotation.build_set",
}
# What a part that was handed in sets off: for each kind the arguments of its jobs, by the part's key.
_after_hand_in: dict[str, Callable[[int], list[dict[str, Any]]]] = {"finalize": lambda part: [{}]}
_of_figures: set[str] = set()  # those of them that compute figures of the answers


def register(
    kind: str,
    task_name: str,
    *,
    after_hand_in: Callable[[int], list[dict[str, Any]]] | None = None,
    figures: bool = False,
) -> None:
    """Make a kind of job known, with the Celery task that runs it (other apps do so in AppConfig.ready).

    A hand-in sets off a job of `figures` only where no answer is still to come that would be given blind.
    """
    if _task_names.setdefault(kind, task_name) != task_name:
        raise ValueError(f"Jobs of kind {kind!r} are run by {_task_names[kind]!r} already.")
    if after_hand_in is not None:
        _after_hand_in[kind] = after_hand_in
    if figures:
        _of_figures.add(kind)


def task_name(kind: str) -> str:
    """The name of the Celery task that runs jobs of this kind."""
    return _task_names[kind]


# Asking for a job ---------------------------------------------------------------------------------------------


def request(*, campaign: Campaign, kind: str, arguments: dict[str, Any], by: User | None) -> Job:
    """A new job that waits, or the one with the same arguments that waits already.

    One that runs does not count: it may have read the data before the change for which somebody asks now.
    """
    task_name(kind)  # an unknown kind would wait for ever
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    waiting = partial(
        Job.objects.get_or_create,
        campaign=campaign,
        kind=kind,
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        state=Job.State.PENDING,
        defaults={"arguments": arguments, "created_by": by},
    )
    try:
        return waiting()[0]
    except IntegrityError:
        # Somebody asked at the same moment, and a worker took that job before it could be read here.
        return waiting()[0]


def request_after_hand_in(*, campaign: Campaign, part: int, by: User | None) -> list[Job]:
    """Everything that is to be worked out anew once a part was handed in; of one part alone only in the main round.

    Neither labels nor their agreement rest on the answers of a dry run or a spot check: nothing is after these. Figures
    wait for the last answer that is given blind: nobody asked for interim ones.
    """
    of_round = Part.objects.values_list("round__kind", flat=True).get(pk=part)
    if of_round in (Round.Kind.DRY_RUN, Round.Kind.SPOT_CHECK):
        return []
    of_main = of_round == Round.Kind.MAIN
    interim = open_answers(campaign, *LABELLING) > 0
    return [
        request(campaign=campaign, kind=kind, arguments=arguments, by=by)
        for kind, jobs_of in _after_hand_in.items()
        for arguments in jobs_of(part)
        if (of_main or "part" not in arguments) and not (interim and kind in _of_figures)
    ]


# Running it ---------------------------------------------------------------------------------------------------


def run(job_id: int, work: Work) -> None:
    """Claim the job, work, store: or stop quietly where there is nothing to claim.

    `work` does the heavy part outside a transaction. What it returns is called in one transaction together with
    the job's end, and only while the job is still this attempt's.
    """
    job = _claim(job_id)
    if job is None:
        return
    try:
        store = work(job, partial(_progress, job))
        _finish(job, store)
    except LeaseLost:
        log.warning(
            "Job %s (%s): attempt %s lost its lease and stored nothing.", job.pk, job.kind, job.attempt
        )
    except Exception as error:
        _fail(job, error)


def _claimable() -> QuerySet[Job]:
    """Jobs that wait or whose worker is gone, while no other with the same arguments runs.

    Two of them at once could end in the wrong order, and the older figures would replace the newer.
    """
    twin = Job.objects.filter(
        campaign=OuterRef("campaign"),
        kind=OuterRef("kind"),
        digest=OuterRef("digest"),
        state=Job.State.RUNNING,
        lease_until__gte=Now(),
    )
    lapsed = Q(state=Job.State.RUNNING, lease_until__lt=Now(), attempt__lt=ATTEMPTS)
    return Job.objects.filter(Q(state=Job.State.PENDING) | lapsed).exclude(Exists(twin))


def _claim(job_id: int) -> Job | None:
    with transaction.atomic():
        claimed = (
            _claimable()
            .filter(pk=job_id)
            .update(
                state=Job.State.RUNNING,
                attempt=F("attempt") + 1,
                lease_until=Now() + LEASE,
                started_at=Now(),
                progress=0,
                total=0,
                message="",
            )
        )
        if claimed != 1:
            return None
        return Job.objects.select_related("campaign").get(pk=job_id)


def _held(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk, attempt=job.attempt, state=Job.State.RUNNING)


def _progress(job: Job, done: int, total: int, message: str = "") -> None:
    """Tell how far it is and renew the lease. Call it at least every few seconds, outside a transaction."""
    with transaction.atomic():
        held = _held(job).update(
            progress=done, total=total, message=_shown(message), lease_until=Now() + LEASE
        )
    if held != 1:
        raise LeaseLost


def _finish(job: Job, store: Store) -> None:
    with transaction.atomic():
        # First, so that from here on nobody else can claim or give up the job.
        if _held(job).update(state=Job.State.DONE, lease_until=None, message="", finished_at=Now()) != 1:
            raise LeaseLost
        Job.objects.filter(pk=job.pk).update(result=store(), progress=F("total"))


# Failing ------------------------------------------------------------------------------------------------------


def _fail(job: Job, error: Exception) -> None:
    """Tell people what they can act on, and the log where it happened. Neither gets the text of a cell."""
    kind = type(error).__name__
    if isinstance(error, ProtocolError | FormatError | Refused):
        message = error.sentence if isinstance(error, FormatError) else error.message
        log.info("Job %s (%s) was refused: %s", job.pk, job.kind, kind)
    else:
        message = f"This failed unexpectedly ({kind}); see the log."
        log.error("Job %s (%s) failed: %s\n%s", job.pk, job.kind, kind, _where(error))
    with transaction.atomic():
        _held(job).update(
            state=Job.State.FAILED,
            lease_until=None,
            message=_shown(message),
            result=with_sentence({"message": message}) if isinstance(message, Sentence) else None,
            finished_at=Now(),
        )


def _where(error: BaseException) -> str:
    """The traceback without the messages of the errors: those may quote whole cells."""
    cause = error.__cause__ or error.__context__
    before = f"{_where(cause)}which led to\n" if cause else ""
    return f"{before}{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}\n"


def _shown(message: str) -> str:
    """Without control characters, which PostgreSQL or a page may refuse, and short."""
    text = message[: 4 * MESSAGE_LENGTH].encode("utf-8", "replace").decode()
    text = re.sub(r"[\x00-\x1f\x7f-\x9f]+", " ", text).strip()
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"


# Looking after them -------------------------------------------------------------------------------------------


def last_for_upload(campaign: Campaign, kind: str, token: str) -> Job | None:
    """The job of this kind that was asked for last to work on these files."""
    asked = Job.objects.filter(campaign=campaign, kind=kind, arguments__upload=token)
    return asked.order_by("-id").first()


def due() -> list[Job]:
    """Jobs that a worker may take now, the oldest first."""
    return list(_due())


def _due() -> QuerySet[Job]:
    return _claimable().filter(kind__in=_task_names).order_by("id")


def sweep() -> list[Job]:
    """End the jobs whose last attempt lapsed, and return those to announce again. Two at once are safe."""
    with transaction.atomic():
        Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=Now(), attempt__gte=ATTEMPTS).update(
            state=Job.State.FAILED, lease_until=None, message=GAVE_UP, finished_at=Now()
        )
    return list(_due().exclude(state=Job.State.PENDING, created_at__gt=Now() - GRACE))


@dataclass(frozen=True)
class WorkerHealth:
    """Whether somebody is there to do the jobs, and how many wait."""

    alive: bool
    waiting: int


def worker_health() -> WorkerHealth:
    """For the banner on pages; one small query."""
    found = counts(
        alive=Worker.objects.filter(beat_at__gt=Now() - ALIVE),
        waiting=Job.objects.filter(state=Job.State.PENDING),
    )
    return WorkerHealth(alive=found["alive"] > 0, waiting=found["waiting"])


def beat(name: str) -> None:
    """Say that this worker is alive."""
    with transaction.atomic():
        if not Worker.objects.filter(name=name).update(beat_at=Now()):
            Worker.objects.filter(beat_at__lt=Now() - timedelta(days=1)).delete()
            Worker.objects.create(name=name, beat_at=Now())


def retire(name: str) -> None:
    """Say that this worker has stopped."""
    Worker.objects.filter(name=name).delete()
