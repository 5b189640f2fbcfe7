"""Answers that came too late to count: their item had been withdrawn, or given to somebody else."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Annotation, Campaign, Item, Surplus
from annotation.protocol.base import get_protocol

SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class SurplusLine:
    """One late answer, in the shape in which pages show answers, with its item and who gave it."""

    item: Item
    pseudonym: str
    answer: dict[str, Any]
    cause: str  # why it could not be judged, or the problem reported beside a score
    note: str
    withdrawn_at: datetime | None
    received_at: datetime


def surplus_count(campaign: Campaign) -> int:
    """How many late answers are kept aside."""
    return kept_aside(campaign).count()


def kept_aside(campaign: Campaign) -> QuerySet[Surplus]:
    """Late answers, but those that were sent again and stored once their item was back."""
    stored = Annotation.objects.filter(assignment=OuterRef("assignment"), client_key=OuterRef("client_key"))
    return Surplus.objects.filter(~Exists(stored), assignment__round__campaign=campaign)


def surplus_lines(campaign: Campaign) -> Sequence[SurplusLine]:
    """The latest late answers first. Two queries."""
    pseudonyms = dict(campaign.memberships.values_list("user", "pseudonym"))
    found = (
        kept_aside(campaign)
        .select_related("assignment__item__unit", "assignment__item__context")
        .order_by("-received_at", "-id")[:SHOWN]
    )
    return [
        SurplusLine(
            item=kept.assignment.item,
            pseudonym=pseudonyms.get(kept.assignment.expert_id, "–"),
            answer=_shown(kept.answer, protocol=campaign.protocol),
            cause=kept.answer["cannot_judge"] or kept.answer["problem"],
            note=kept.answer["note"],
            withdrawn_at=kept.assignment.withdrawn_at,
            received_at=kept.received_at,
        )
        for kept in found
    ]


def _shown(kept: dict[str, Any], *, protocol: str) -> dict[str, Any]:
    label = get_protocol(protocol).answer(kept["label"]).key if kept["label"] else ""
    return {"label": label, "detail": kept["detail"], "flag": kept["unsure"]}
