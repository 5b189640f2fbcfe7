"""Peeks: who had figures of the answers computed while others still judged on their own, when, and which.

A paper has to say so. Whatever computes such figures writes an audit entry with them; what may not write (a GET)
computes none while answers are open.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, Q, Subquery

from annotation.models import Assignment, AuditEntry, Campaign, Membership, Round, User
from annotation.models.item import in_play
from annotation.services.people import audit

PEEK = "interim figures"  # the audit entry
# Rounds in which everybody answers without knowing anybody else's answers.
BLIND = frozenset(set(Round.Kind) - {Round.Kind.RESOLUTION})


@dataclass(frozen=True)
class Peek:
    """One look: of which kind, and how many answers were still to come.

    `by` is None on the command line, and where it was `automatic`: what a hand-in sets off. `who` is their pseudonym.
    """

    at: datetime
    by: User | None
    kind: str
    open_answers: int
    automatic: bool
    who: str = ""


def open_answers(campaign: Campaign, round_kind: str = Round.Kind.MAIN) -> int:
    """Blind answers still to come in a round of which there is something to see; one query."""
    if round_kind not in BLIND:
        return 0
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=round_kind,
        round__state=Round.State.OPEN,
        withdrawn_at__isnull=True,
    ).filter(in_play("item__"))
    counts = rows.aggregate(still=Count("pk", filter=Q(answered_at__isnull=True)), given=Count("answered_at"))
    return counts["still"] if counts["given"] else 0


def write_peek(
    campaign: Campaign, kind: str, *, by: User | None, still: int, automatic: bool = False
) -> AuditEntry:
    """Write down that figures of this kind were computed while `still` answers were open."""
    return audit(campaign, by, PEEK, {"kind": kind, "open_answers": still, "automatic": automatic})


def peeks_of(campaign: Campaign) -> list[Peek]:
    """Every look, the first one first."""
    place = Membership.objects.filter(campaign=OuterRef("campaign"), user=OuterRef("actor"))
    entries = (
        AuditEntry.objects.filter(campaign=campaign, action=PEEK)
        .select_related("actor")
        .annotate(pseudonym=Subquery(place.values("pseudonym")[:1]))
    )
    return [
        Peek(
            entry.at,
            entry.actor,
            entry.detail["kind"],
            entry.detail["open_answers"],
            bool(entry.detail.get("automatic")),
            entry.pseudonym or "",
        )
        for entry in entries.order_by("at", "id")
    ]


def peeked_since(campaign: Campaign, kind: str, moment: datetime) -> bool:
    """Whether a look of this kind was written down after that moment."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=PEEK, at__gte=moment)
    return any(entry.detail["kind"] == kind for entry in entries)
