"""Answers that a manager gave back with a ruling: what "cannot judge" or a reported problem was about is cleared up.

A return waits until its expert has answered again, which the assignment's revision tells. Only its own expert and the
managers see it, and a ruling is a rule, never a score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Annotation, Assignment, Campaign, HandIn, Item, Return, Round, Thread, User
from annotation.models.item import in_play
from annotation.services.campaign_state import refuse_closed
from annotation.services.errors import NotYours, Refused
from annotation.services.hand_ins import give_back
from annotation.services.people import audit
from annotation.services.screens import own_record
from annotation.services.turns import turn

RULING_LENGTH = 1000
RETURNED = "answer returned"


@dataclass(frozen=True, kw_only=True)
class ReturnedAnswer:
    """What an expert is told of an answer of theirs that came back: where it stands, what it is about, the ruling."""

    position: int
    item: Item
    ruling: str


def return_answer(campaign: Campaign, *, assignment: int, ruling: str, by: User) -> Return:
    """Give one answer back to its expert with a ruling; a part that was handed in is given back with it.

    Raises NotYours; Refused without a ruling, where the answer reports nothing, waits already, or is frozen.
    """
    ruling = ruling.replace("\r\n", "\n").strip()
    if not ruling or len(ruling) > RULING_LENGTH or "\0" in ruling:
        raise Refused(_("Write the ruling in 1 to %(limit)d characters.") % {"limit": RULING_LENGTH})
    with turn(campaign):
        row = _locked(campaign, assignment)
        _refuse_unreturnable(row)
        try:
            with transaction.atomic():
                given = Return.objects.create(assignment=row, revision=row.revision, ruling=ruling, by=by)
        except IntegrityError:
            raise Refused(_("This answer was given back already and waits for its expert.")) from None
        member = campaign.memberships.get(user=row.expert_id)
        assert row.part is not None
        index = row.part.index
        handed_in = HandIn.objects.filter(
            part__round__campaign=campaign, part__index=index, expert=row.expert_id
        ).exists()
        if handed_in:
            give_back(campaign, index=index, member=member.pk, by=by)
        audit(
            campaign,
            by,
            RETURNED,
            {"position": row.item.position, "pseudonym": member.pseudonym, "ruling": ruling},
        )
    return given


def _locked(campaign: Campaign, pk: int) -> Assignment:
    """The assignment as it stands, until the transaction ends: an answer that is saved meanwhile comes after."""
    rows = Assignment.objects.filter(round__campaign=campaign, withdrawn_at__isnull=True)
    row = rows.filter(in_play("item__"), pk=pk).select_for_update(of=("self",)).first()
    if row is None:
        raise NotYours(_("There is no such answer in this campaign."))
    return row


def _refuse_unreturnable(row: Assignment) -> None:
    said = Annotation.objects.filter(assignment=row, revision=row.revision)
    if not said.exclude(cannot_judge="", problem="").exists():
        raise Refused(_("This answer reports no problem any more; its expert has answered again."))
    if row.part is None:
        raise Refused(_("This answer came from a file; there is nobody to give it back to."))
    refuse_closed(row.round.campaign)
    if row.round.state != Round.State.OPEN:
        raise Refused(_("The round is closed, so nobody can answer again. Open it first."))
    if row.part.design.closed_at is not None:
        raise Refused(_("The answer is in a closed batch and frozen. Open the batch again first."))
    if Thread.objects.filter(item=row.item_id).exists():
        raise Refused(_("The item is open to discussion, so its answers stay as they are."))


def outstanding(campaign: Campaign) -> QuerySet[Return]:
    """The returns whose experts have not answered again yet."""
    return Return.objects.filter(
        in_play("assignment__item__"),
        assignment__round__campaign=campaign,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    )


def is_outstanding(assignment: str) -> Exists:
    """Whether the answer of an annotation, or of an assignment, was given back and waits."""
    return Exists(Return.objects.filter(assignment=OuterRef(assignment), revision=OuterRef("revision")))


def returned_to(campaign: Campaign, expert: User) -> Sequence[ReturnedAnswer]:
    """What came back to this expert and waits for them, in the order of their screens. One query.

    What they may not look back on now, because it is to come up once more, is told later.
    """
    mine = own_record(campaign, expert_id=expert.pk).filter(Q(round__state=Round.State.OPEN))
    rows = (
        outstanding(campaign)
        .filter(assignment__in=mine)
        .select_related("assignment__item__unit", "assignment__item__context")
        .order_by("assignment__position", "assignment__row")
    )
    return [
        ReturnedAnswer(position=row.assignment.position, item=row.assignment.item, ruling=row.ruling)
        for row in rows
    ]
