"""Peeks: who had figures of the answers computed, or took the answers along, while others still judged on their own.

A paper has to say so. Whatever computes such figures writes an audit entry with them; a page that is only read
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
# Those of them whose answers make the labels.
LABELLING = frozenset({Round.Kind.MAIN, Round.Kind.REJUDGEMENT})


@dataclass(frozen=True)
class Peek:
    """One look: of which kind, and how many answers were still to come.

    `by` is None on the command line. `who` is their pseudonym.
    """

    at: datetime
    by: User | None
    kind: str
    open_answers: int
    who: str = ""


def open_answers(campaign: Campaign, *round_kinds: str) -> int:
    """Blind answers still to come in rounds of which there is something to see, the main one if none is named; one
    query.
    """
    kinds = [kind for kind in round_kinds or (Round.Kind.MAIN,) if kind in BLIND]
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind__in=kinds,
        round__state=Round.State.OPEN,
        withdrawn_at__isnull=True,
    ).filter(in_play("item__"))
    counts = (
        rows.order_by()
        .values_list("round__kind")
        .annotate(given=Count("answered_at"), still=Count("pk", filter=Q(answered_at__isnull=True)))
    )
    return sum(still for _kind, given, still in counts if given)


def write_peek(campaign: Campaign, kind: str, *, by: User | None, still: int) -> AuditEntry:
    """Write down that figures or answers of this kind were looked at while `still` answers were open."""
    return audit(campaign, by, PEEK, {"kind": kind, "open_answers": still})


def peeks_of(campaign: Campaign) -> list[Peek]:
    """Every look of a person, the first one first; what a hand-in once set off by itself is none."""
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
            entry.pseudonym or "",
        )
        for entry in entries.order_by("at", "id")
        if not entry.detail.get("automatic")
    ]


def peeked_since(campaign: Campaign, kind: str, moment: datetime) -> bool:
    """Whether a look of this kind was written down after that moment."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=PEEK, at__gte=moment)
    return any(entry.detail["kind"] == kind for entry in entries)
