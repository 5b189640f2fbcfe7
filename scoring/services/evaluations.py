"""Runs of a report as a job: the figures are worked out first and stored together with the job's end.

Each part's agreement is a job of its own: one that fails leaves the others standing and can be run again.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from annotation.models import Campaign, Job, Part, Round, User
from annotation.services import jobs
from scoring.models import Evaluation
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.peeks import is_untimely, record_peek_of_job

AGREEMENT = "agreement"


def request_agreement(campaign: Campaign, *, by: User | None, part: Part | None = None) -> list[Job]:
    """Ask for the agreement of the whole main round and of one part, or of every part."""
    main = Part.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
    parts = [part] if part else list(main)
    asked: list[dict[str, Any]] = [{}, *({"part": one.pk} for one in parts)]
    return [
        jobs.request(campaign=campaign, kind=AGREEMENT, arguments=arguments, by=by) for arguments in asked
    ]


def agreement_work(job: Job, progress: Callable[..., None]) -> Callable[[], dict[str, Any]]:
    """The agreement of the campaign, or of one part of it, under pseudonyms.

    None is computed by itself while others still judge on their own: the last hand-in brings it along.
    """
    if is_untimely(job):
        return dict
    part = job.arguments.get("part")
    document = report(job.campaign, "agreement", Options(part=part))
    progress(1, 1)

    def keep() -> dict[str, Any]:
        record_peek_of_job(job)
        return {"evaluation": store(job.campaign, AGREEMENT, document, part=part).pk}

    return keep


def store(campaign: Campaign, kind: str, document: dict[str, Any], *, part: int | None = None) -> Evaluation:
    """Keep the latest run; repeated, it replaces the run before."""
    digest = hashlib.sha256(json.dumps([kind, part]).encode()).hexdigest()
    evaluation, _made = Evaluation.objects.update_or_create(
        campaign=campaign,
        digest=digest,
        defaults={"kind": kind, "part_id": part, "result": document, "signature": document["signature"]},
    )
    return evaluation
