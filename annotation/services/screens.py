"""What an expert sees next: an explicit list of fields, so that nothing else can slip in.

Never another's answer, a label, a class, a split, a score, a system or a mark of any kind. Cost: one query for
the screens whatever the campaign's size, two more (counted over an index) where progress is asked for.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from django.db.models import Count, F, Max, Q

from annotation.models import Annotation, Assignment, Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.display import joined_translation

MAX_SCREENS = 200


def next_screens(
    campaign: Campaign, *, expert_id: int, count: int = 1, after: int | None = None
) -> list[dict[str, Any]]:
    """The expert's next `count` screens that are not fully answered, in the order they come up.

    `after` is the `queue` number of the last screen the caller already has.
    """
    open_rows = _work(campaign, expert_id=expert_id).filter(answered_at__isnull=True)
    if after is not None:
        open_rows = open_rows.filter(queue__gt=after)
    # A small first query over the index of open rows; the second reads those screens whole, answered rows too.
    wanted = [
        position
        for position, _queue in open_rows.order_by("queue")
        .values_list("position", "queue")
        .distinct()[: max(1, min(count, MAX_SCREENS))]
    ]
    found = screens(_work(campaign, expert_id=expert_id).filter(position__in=wanted), campaign=campaign)
    return sorted(found, key=lambda screen: screen["queue"])


def screen_at(campaign: Campaign, *, expert_id: int, position: int) -> dict[str, Any] | None:
    """One screen by its place in the expert's order, answered or not."""
    found = screens(_work(campaign, expert_id=expert_id).filter(position=position), campaign=campaign)
    return found[0] if found else None


def recent_screens(campaign: Campaign, *, expert_id: int, count: int = 50) -> list[dict[str, Any]]:
    """The screens answered last, the latest first."""
    latest = list(
        _work(campaign, expert_id=expert_id)
        .filter(answered_at__isnull=False)
        .values("position")
        .annotate(at=Max("answered_at"))
        .order_by("-at")
        .values_list("position", flat=True)[:count]
    )
    found = screens(_work(campaign, expert_id=expert_id).filter(position__in=latest), campaign=campaign)
    rank = {position: place for place, position in enumerate(latest)}
    return sorted(found, key=lambda screen: rank[screen["position"]])


def progress(campaign: Campaign, *, expert_id: int) -> dict[str, Any]:
    """How far the expert is, counted from the rows: in all, and in the part they are in."""
    parts = list(
        _work(campaign, expert_id=expert_id)
        .values("part__index", "part_id")
        .annotate(
            total=Count("position", distinct=True),
            open=Count("position", filter=Q(answered_at__isnull=True), distinct=True),
            handed_in=Count("part__hand_ins", filter=Q(part__hand_ins__expert=F("expert")), distinct=True),
        )
        .order_by("part__index")
    )
    current = next((part for part in parts if part["open"]), parts[-1] if parts else None)
    return {
        "total": sum(part["total"] for part in parts),
        "done": sum(part["total"] - part["open"] for part in parts),
        "part": current and current["part__index"],
        "part_total": current["total"] if current else 0,
        "part_done": current["total"] - current["open"] if current else 0,
        "parts": [
            {
                "index": part["part__index"],
                "total": part["total"],
                "done": part["total"] - part["open"],
                "handed_in": bool(part["handed_in"]),
            }
            for part in parts
        ],
    }


def _work(campaign: Campaign, *, expert_id: int) -> Any:
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__state=Round.State.OPEN,
        expert_id=expert_id,
        withdrawn_at__isnull=True,
        part__isnull=False,
    )


def screens(rows: Any, *, campaign: Campaign) -> list[dict[str, Any]]:
    """Assignments as screens: one for each position, in the order of positions."""
    ordered = list(rows.select_related("unit", "item", "item__context", "part").order_by("position", "row"))
    answers = _current_answers(ordered, campaign=campaign)
    return [
        _screen(list(group), campaign=campaign, answers=answers)
        for _position, group in groupby(ordered, key=lambda row: row.position)
    ]


def _current_answers(rows: Iterable[Assignment], *, campaign: Campaign) -> dict[int, dict[str, Any]]:
    """The expert's own stored answers to these rows, by assignment."""
    answered = [row.pk for row in rows if row.answered_at]
    if not answered:
        return {}
    protocol = get_protocol(campaign.protocol)
    current = Annotation.objects.filter(assignment__in=answered, revision=F("assignment__revision"))
    return {
        annotation.assignment_id: {
            "label": protocol.answer(annotation.label).key if annotation.label else None,
            "cannot_judge": annotation.cannot_judge or None,
            "problem": annotation.problem or None,
            "detail": annotation.detail or None,
            "reasons": annotation.reasons,
            "atoms": annotation.atoms,
            "note": annotation.note,
            "flag": annotation.unsure,
        }
        for annotation in current
    }


def _screen(
    rows: list[Assignment], *, campaign: Campaign, answers: dict[int, dict[str, Any]]
) -> dict[str, Any]:
    first = rows[0]
    screen: dict[str, Any] = {
        "id": first.unit_id,
        "protocol": campaign.protocol,
        "position": first.position,
        "queue": first.queue,
        "part": first.part.index if first.part else None,
        "postponed": first.postponed_at is not None,
    }
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        screen |= {"compound": first.unit.compound, "atoms": [atom[:2] for atom in first.unit.atoms]}
        contents = [_compound_row(row, campaign=campaign) for row in rows]
    else:
        contents = [_triple_row(row) for row in rows]
    screen["rows"] = [
        {"assignment": row.pk, "revision": row.revision, **content, "answer": answers.get(row.pk)}
        for row, content in zip(rows, contents, strict=True)
    ]
    return screen


def _compound_row(row: Assignment, *, campaign: Campaign) -> dict[str, Any]:
    context = row.item.context
    assert context is not None  # a compound's items stand in contexts
    hidden = campaign.reference == Campaign.Reference.HIDDEN or context.source_differs
    return {
        "source": context.source,
        "span": None if context.start is None else [context.start, context.end],
        "translation": joined_translation(row.item.translation),
        "raw": row.item.translation,
        "reference": None if hidden else context.reference or None,
    }


def _triple_row(row: Assignment) -> dict[str, Any]:
    return {"head": row.item.head, "relation": row.item.relation, "tail": row.item.tail}
