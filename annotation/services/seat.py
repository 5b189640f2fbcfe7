"""What an expert does at their seat besides answering: put a unit off, take that back, look back, hand a part in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Replace
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Annotation, Assignment, Campaign, Guideline, HandIn, Part, Round
from annotation.protocol.base import get_protocol
from annotation.services.errors import NotYours, Refused
from annotation.services.screens import LookedBack, look_back, open_work, out_of_sight, own_record, own_work
from annotation.services.turns import turn

POSTPONED_LIMIT = 10  # open at a time: what is put off must stay a short list
SEARCH_LIMIT = 50


def guideline_shown(campaign: Campaign) -> Guideline | None:
    """The version that experts go by: that of the round at work, else of the last one."""
    rounds = Round.objects.filter(campaign=campaign).select_related("guideline")
    current = rounds.filter(state=Round.State.OPEN).last() or rounds.last()
    return current.guideline if current else None


def unit_on_screen(campaign: Campaign, *, expert_id: int, screen_id: int) -> int:
    """The unit of one of one's own screens, which go by the assignment that stands first on them."""
    unit = own_work(campaign, expert_id=expert_id).filter(pk=screen_id).values_list("unit", flat=True).first()
    if unit is None:
        raise NotYours(_("There is no such unit among your work."))
    return unit


# Later


def postpone(campaign: Campaign, *, expert_id: int, screen_id: int, assignments: Sequence[int]) -> int:
    """Put a screen at the end of its part; returns its new place in the queue.

    Sent twice, it does no harm: the screen is at the end already. Raises NotYours, and Refused where the screen
    is answered or the limit of open postponed screens is reached.
    """
    with transaction.atomic():
        unit = unit_on_screen(campaign, expert_id=expert_id, screen_id=screen_id)
        rows = list(open_work(campaign, expert_id=expert_id).filter(pk__in=assignments, unit=unit))
        if not rows or len(rows) != len(set(assignments)):
            raise NotYours(_("There is no such unit among your work."))
        first = rows[0]
        if all(row.answered_at for row in rows):
            raise Refused(_("This unit is answered already; it need not come up again."))
        _refuse_an_eleventh(campaign, expert_id=expert_id, position=first.position)
        part = Assignment.objects.filter(part=first.part_id, expert_id=expert_id)
        last = part.exclude(position=first.position).aggregate(last=Max("queue"))["last"]
        queue = max(first.queue, (last or 0) + 1)
        part.filter(position=first.position, answered_at__isnull=True).update(
            queue=queue, postponed_at=timezone.now()
        )
        part.filter(position=first.position).update(queue=queue)
    return queue


def take_back(campaign: Campaign, *, expert_id: int, screen_id: int, assignments: Sequence[int]) -> int:
    """Undo `postpone`: the screen comes up before all others of its part. Returns its place in the queue.

    Sent twice, or for a screen that was not put off or is answered by now, it changes nothing. Raises NotYours.
    """
    with transaction.atomic():
        unit = unit_on_screen(campaign, expert_id=expert_id, screen_id=screen_id)
        rows = list(open_work(campaign, expert_id=expert_id).filter(pk__in=assignments, unit=unit))
        if not rows or len(rows) != len(set(assignments)):
            raise NotYours(_("There is no such unit among your work."))
        first = rows[0]
        if all(row.postponed_at is None for row in rows):
            return first.queue
        part = open_work(campaign, expert_id=expert_id).filter(part=first.part_id)
        others = part.filter(answered_at__isnull=True).exclude(position=first.position)
        soonest = others.aggregate(soonest=Min("queue"))["soonest"]
        queue = first.queue if soonest is None else min(first.queue, max(soonest - 1, 0))
        screen = part.filter(position=first.position).values_list("pk", flat=True)
        Assignment.objects.filter(pk__in=list(screen)).update(queue=queue, postponed_at=None)
    return queue


def postponed_positions(campaign: Campaign, *, expert_id: int) -> list[int]:
    """The screens put off and still open, in the order they were put off."""
    return list(
        own_work(campaign, expert_id=expert_id)
        .filter(answered_at__isnull=True, postponed_at__isnull=False)
        .values("position")
        .annotate(at=Max("postponed_at"))
        .order_by("at")
        .values_list("position", flat=True)
    )


def _refuse_an_eleventh(campaign: Campaign, *, expert_id: int, position: int) -> None:
    others = set(postponed_positions(campaign, expert_id=expert_id)) - {position}
    if len(others) >= POSTPONED_LIMIT:
        raise Refused(
            _("%(limit)d units are put off already; judge one of them before you put off another.")
            % {"limit": POSTPONED_LIMIT}
        )


# Looking back


def find_screens(campaign: Campaign, *, expert_id: int, text: str) -> LookedBack:
    """The expert's own answered screens that hold every word of `text`, the latest answered first.

    Looks in compounds, sources and translations, in heads, relations and tails; blanks inside a translation do
    not count, because segmentation put them there.
    """
    words = text.split()
    if not words:
        return LookedBack([], partial=False, closed=False)
    rows = own_record(campaign, expert_id=expert_id)
    rows = rows.alias(joined=Replace("item__translation", Value(" "), Value(""), output_field=TextField()))
    for word in words:
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            rows = rows.filter(
                Q(unit__compound__icontains=word)
                | Q(item__context__source__icontains=word)
                | Q(joined__icontains=word)
            )
        else:
            rows = rows.filter(
                Q(item__head__icontains=word)
                | Q(item__relation__icontains=word)
                | Q(item__tail__icontains=word)
            )
    return look_back(rows, campaign, expert_id=expert_id, count=SEARCH_LIMIT)


# Handing in


@dataclass(frozen=True)
class Remark:
    """One row worth a second look before the part is handed in."""

    position: int
    title: str
    relation: str  # of a triple: what joins its head, the title, and its tail, the detail
    detail: str
    code: str  # the cause or problem; empty for the others
    note: str
    answer: Mapping[str, str] | None = (
        None  # one's own: its label by name, and its detail; None without a label
    )


@dataclass(frozen=True)
class PartReview:
    """How a part stands for one expert. `open` counts screens that are not fully answered; `partial` where some of
    their answers, in whatever part, are out of sight.
    """

    part: Part
    total: int
    open: int
    handed_in_at: datetime | None
    closed: bool  # the whole round: nothing is judged or handed in any more
    unsure: tuple[Remark, ...]
    postponed: tuple[Remark, ...]
    reported: tuple[Remark, ...]
    partial: bool

    @property
    def done(self) -> int:
        return self.total - self.open


def review_part(campaign: Campaign, *, expert_id: int, index: int) -> PartReview:
    """What stands in a part, or NotYours. Four queries, whatever the size of the part."""
    rows = own_work(campaign, expert_id=expert_id).filter(part__index=index)
    hand_in = HandIn.objects.filter(part=OuterRef("pk"), expert=expert_id)
    part = (
        Part.objects.filter(pk__in=rows.values("part"))
        .select_related("round")
        .annotate(
            handed_in_at=Subquery(hand_in.values("at")[:1]),
            partial=Exists(out_of_sight(campaign, expert_id=expert_id)),
        )
        .first()
    )
    if part is None:
        raise NotYours(_("There is no such part among your work."))
    screens_of_part = rows.aggregate(
        total=Count("position", distinct=True),
        open=Count("position", distinct=True, filter=Q(answered_at__isnull=True)),
    )
    waiting = rows.filter(answered_at__isnull=True, postponed_at__isnull=False)
    remarks = _remarks(own_record(campaign, expert_id=expert_id).filter(part=part))
    return PartReview(
        part=part,
        total=screens_of_part["total"],
        open=screens_of_part["open"],
        handed_in_at=part.handed_in_at,
        closed=part.round.state != Round.State.OPEN,
        unsure=tuple(_remark(row) for row in remarks if row.unsure),
        postponed=_screen_by_screen(waiting),
        reported=tuple(_remark(row) for row in remarks if row.cannot_judge or row.problem),
        partial=part.partial,
    )


def hand_in(campaign: Campaign, *, expert_id: int, index: int) -> Part:
    """From now on the expert's answers in this part are final. Handed in twice, it is handed in once."""
    with turn(campaign):
        review = review_part(campaign, expert_id=expert_id, index=index)
        if not review.handed_in_at:
            if review.closed:
                raise Refused(_("This round is closed; ask the manager to open it again."))
            if review.open:
                raise Refused(_("This part has units without an answer; judge them before you hand it in."))
            HandIn.objects.get_or_create(part=review.part, expert_id=expert_id)
        return review.part


def _remarks(rows: QuerySet[Assignment]) -> list[Annotation]:
    return list(
        Annotation.objects.filter(assignment__in=rows, revision=F("assignment__revision"))
        .filter(Q(unsure=True) | ~Q(cannot_judge="") | ~Q(problem=""))
        .select_related("assignment__unit", "assignment__item__context", "assignment__round__campaign")
        .order_by("assignment__position", "assignment__row")
    )


def _screen_by_screen(rows: QuerySet[Assignment]) -> tuple[Remark, ...]:
    """One remark a screen, however many rows stand on it."""
    remarks: dict[int, Remark] = {}
    for row in rows.select_related("unit", "item__context").order_by("queue", "row"):
        remarks.setdefault(row.position, _bare(row))
    return tuple(remarks.values())


def _remark(row: Annotation) -> Remark:
    answer = None
    if row.label:
        protocol = get_protocol(row.assignment.round.campaign.protocol)
        answer = {"label": protocol.answer(row.label).key, "detail": row.detail}
    code = row.cannot_judge or row.problem
    return replace(_bare(row.assignment), code=code, note=row.note, answer=answer)


def _bare(row: Assignment) -> Remark:
    item = row.item
    if item.context is not None:
        return Remark(row.position, row.unit.compound, "", item.context.source, "", "")
    return Remark(row.position, item.head, item.relation, item.tail, "", "")
