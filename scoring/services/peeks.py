"""Interim figures: which reports rest on the experts' answers, and what happens while some are still to come.

They are then computed on request only, and the request is written down as a peek. Reading (GET) writes nothing and so
gives none.
"""

from annotation.models import AuditEntry, Campaign, Job, Membership, Round, User
from annotation.protocol.sentences import Sentence, say_count
from annotation.services.peeks import LABELLING, open_answers, peeked_since, write_peek

__all__ = [
    "FROM_ANSWERS",
    "closed_to_reading",
    "is_interim",
    "is_untimely",
    "open_answers",
    "record_peek",
    "record_peek_of_job",
    "still_open",
]

AGREEMENT = "agreement"
# Agreement, error rates, and what is made of them.
FROM_ANSWERS = frozenset(
    {AGREEMENT, "error-rates", "comparison", "human", "compound-check", "estimate", "plan", "what-if", "gold"}
)


def still_open(campaign: Campaign, kind: str, round_kind: str = Round.Kind.MAIN) -> int:
    """How many answers are still to come that a report of this kind would rest on; 0: its figures are no peek."""
    of_predictions = kind == "comparison" and campaign.protocol == Campaign.Protocol.TRIPLE
    if kind not in FROM_ANSWERS or of_predictions:
        return 0
    return open_answers(campaign, round_kind if kind == AGREEMENT else Round.Kind.MAIN)


def is_interim(campaign: Campaign, kind: str, round_kind: str = Round.Kind.MAIN) -> bool:
    """Whether computing this report now would be a peek."""
    return still_open(campaign, kind, round_kind) > 0


def record_peek(
    campaign: Campaign, kind: str, *, by: User | None, round_kind: str = Round.Kind.MAIN
) -> AuditEntry | None:
    """Write down that these figures are computed while answers are open; nothing where none are."""
    still = still_open(campaign, kind, round_kind)
    return write_peek(campaign, kind, by=by, still=still) if still else None


def record_peek_of_job(job: Job) -> None:
    """The same for the agreement that a job computed; the jobs of one request are one peek."""
    still = open_answers(job.campaign)
    if still and not peeked_since(job.campaign, AGREEMENT, job.created_at):
        write_peek(job.campaign, AGREEMENT, by=job.created_by, still=still)


def is_untimely(job: Job) -> bool:
    """Whether a hand-in set the job off and others still judge: nobody asked for its figures, so there are none yet."""
    by_expert = Membership.objects.filter(
        campaign=job.campaign, user=job.created_by, role=Membership.Role.EXPERT
    )
    return by_expert.exists() and open_answers(job.campaign, *LABELLING) > 0


def closed_to_reading(n: int) -> Sentence:
    """Why a GET gives no figures now."""
    return say_count(
        "{n} answer is still open, so these figures are interim: they are computed on request only, and each request "
        "is recorded. Use the button on the report's page, POST to this address, or the command.",
        "{n} answers are still open, so these figures are interim: they are computed on request only, and each request "
        "is recorded. Use the button on the report's page, POST to this address, or the command.",
        n=n,
    )
