"""Reports that a manager looked at and left as they are, with a note: the answer stands, and nothing waits any more.

It is written down in the audit, once for an answer; an answer that its expert saves later is another one, which waits
anew if it reports something. Nobody but managers sees the note.
"""

from django.db import transaction
from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.models import Annotation, Assignment, AuditEntry, Campaign, User
from annotation.models.item import in_play
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit

LOOKED_AT = "report looked at"
NOTE_LENGTH = 500


def reporting(campaign: Campaign) -> QuerySet[Annotation]:
    """Current answers that report something, of items that count."""
    return Annotation.objects.filter(
        in_play("assignment__item__"),
        assignment__round__campaign=campaign,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    ).exclude(cannot_judge="", problem="")


def answers_looked_at(campaign: Campaign) -> QuerySet[AuditEntry, int]:
    """The answers that were left as they are, for `pk__in`."""
    entries = AuditEntry.objects.filter(campaign=campaign, action=LOOKED_AT).order_by()
    return entries.annotate(
        answer=Cast(KeyTextTransform("annotation", "detail"), BigIntegerField())
    ).values_list("answer", flat=True)


def notes_of(campaign: Campaign, annotations: list[int]) -> dict[int, str]:
    """By answer, what was noted of it; one query, none where nothing is asked for."""
    if not annotations:
        return {}
    entries = AuditEntry.objects.filter(
        campaign=campaign, action=LOOKED_AT, detail__annotation__in=annotations
    )
    return {entry.detail["annotation"]: entry.detail["note"] for entry in entries}


def leave_as_is(campaign: Campaign, *, assignment: int, note: str, by: User) -> None:
    """Leave an answer that reports something as it is. Done already, it stays so.

    Raises NotYours; Refused without a note, and where the answer reports nothing (any more).
    """
    note = note.replace("\r\n", "\n").strip()
    if not note or len(note) > NOTE_LENGTH or "\0" in note:
        raise Refused(_("Write the note in 1 to %(limit)d characters.") % {"limit": NOTE_LENGTH})
    with transaction.atomic():
        rows = Assignment.objects.filter(round__campaign=campaign, withdrawn_at__isnull=True)
        row = rows.filter(in_play("item__"), pk=assignment).select_for_update(of=("self",)).first()
        if row is None:
            raise NotYours(_("There is no such answer in this campaign."))
        answer = reporting(campaign).filter(assignment=row).first()
        if answer is None:
            raise Refused(_("This answer reports no problem any more; its expert has answered again."))
        if answer.pk in answers_looked_at(campaign):
            return
        member = campaign.memberships.filter(user=row.expert_id).first()
        audit(
            campaign,
            by,
            LOOKED_AT,
            {
                "annotation": answer.pk,
                "position": row.item.position,
                "pseudonym": member.pseudonym if member else "–",
                "note": note,
            },
        )
