"""What is kept about one person, as one document for them: their account, their places, and what they gave.

An explicit list of fields. Of an answer it holds what its expert saw and said and nothing else: no other's answer, no
label, class, split, system, gold or repeat mark; an answer that is hidden from them for now is left out.
"""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import (
    JUDGED_UNDER,
    Acknowledgement,
    Annotation,
    AuditEntry,
    Campaign,
    Comment,
    Example,
    ExampleScore,
    HandIn,
    Invitation,
    Membership,
    Question,
    Return,
    Round,
    TimeEntry,
    Token,
    User,
)
from annotation.protocol.base import get_protocol
from annotation.services.hours import statement
from annotation.services.people import audit
from annotation.services.readings import ANNOTATIONS, record_reading
from annotation.services.screens import hidden_originals

EXPORTED = "personal data exported"
CHUNK = 2000

Document = dict[str, Any]


def personal_data(user: User) -> Document:
    """Everything that is kept about this person."""
    members = Membership.objects.filter(user=user).select_related("campaign").order_by("joined_at", "id")
    return {
        "made_at": _at(timezone.now()),
        "account": {
            "name": user.username,
            "email": user.email,
            "active": user.is_active,
            "joined_at": _at(user.date_joined),
            "last_sign_in": _at(user.last_login),
            "notice_read_at": _at(user.notice_read_at),
        },
        "invitations": [
            {"made_at": _at(made), "until": _at(until), "used_at": _at(used), "revoked_at": _at(revoked)}
            for made, until, used, revoked in Invitation.objects.filter(user=user)
            .order_by("created_at")
            .values_list("created_at", "expires_at", "used_at", "revoked_at")
        ],
        "tokens": [
            {"name": name, "made_at": _at(made), "revoked_at": _at(revoked)}
            for name, made, revoked in Token.objects.filter(user=user)
            .order_by("created_at")
            .values_list("name", "created_at", "revoked_at")
        ],
        "actions": [
            {"at": _at(at), "action": action, "campaign": slug}
            for at, action, slug in AuditEntry.objects.filter(actor=user)
            .order_by("at", "id")
            .values_list("at", "action", "campaign__slug")
        ],
        "campaigns": [_of_campaign(member) for member in members],
    }


def export_for(member: Membership, by: User) -> Document:
    """The same for a manager who was asked for it; written down. Whether they may is the caller's to check."""
    audit(member.campaign, by, EXPORTED, {"pseudonym": member.pseudonym})
    record_reading(member.campaign, ANNOTATIONS, by=by)
    return personal_data(member.user)


def _of_campaign(member: Membership) -> Document:
    campaign, user = member.campaign, member.user
    return {
        "campaign": campaign.slug,
        "title": campaign.title,
        "role": member.role,
        "pseudonym": member.pseudonym,
        "joined_at": _at(member.joined_at),
        "answers": _answer_rows(campaign, user),
        "handed_in": [
            {"part": index + 1, "at": _at(at)}
            for index, at in HandIn.objects.filter(part__round__campaign=campaign, expert=user)
            .order_by("at")
            .values_list("part__index", "at")
        ],
        "questions": [
            {"text": text, "asked_at": _at(asked), "answer": answer, "read_at": _at(read)}
            for text, asked, answer, read in Question.objects.filter(campaign=campaign, asked_by=user)
            .order_by("asked_at")
            .values_list("text", "asked_at", "answer", "read_at")
        ],
        "comments": [
            {"text": text, "at": _at(at)}
            for text, at in Comment.objects.filter(author=user, thread__item__campaign=campaign)
            .order_by("at")
            .values_list("text", "at")
        ],
        "rulings_on_returned_answers": [
            {"ruling": ruling, "at": _at(at)}
            for ruling, at in Return.objects.filter(
                assignment__expert=user, assignment__round__campaign=campaign
            )
            .exclude(_hidden(campaign, user))
            .order_by("at")
            .values_list("ruling", "at")
        ],
        "examples_written": list(
            Example.objects.filter(campaign=campaign, author=user).values("relation", "head", "tail", "label")
        ),
        "examples_judged": [
            {"relation": relation, "head": head, "tail": tail, "label": label}
            for relation, head, tail, label in ExampleScore.objects.filter(
                example__campaign=campaign, user=user
            ).values_list("example__relation", "example__head", "example__tail", "label")
        ],
        "guidelines_acknowledged": [
            {"version": version, "at": _at(at)}
            for version, at in Acknowledgement.objects.filter(guideline__campaign=campaign, user=user)
            .order_by("at")
            .values_list("guideline__version", "at")
        ],
        "hours": _hours(campaign, user),
    }


def _answers(campaign: Campaign, user: User) -> QuerySet[Annotation]:
    return Annotation.objects.filter(assignment__round__campaign=campaign, assignment__expert=user)


def _hidden(campaign: Campaign, user: User) -> Q:
    """What is about rows that are hidden from their expert for now."""
    hidden = user.assignments.filter(round__campaign=campaign).filter(
        hidden_originals(campaign, expert_id=user.pk)
    )
    return Q(assignment__in=hidden.values("pk"))


_COLUMNS = (
    "assignment__round__kind", "assignment__round__number", "assignment__part__index", "assignment__position",
    "assignment__unit__compound", "assignment__item__context__source", "assignment__item__translation",
    "assignment__item__head", "assignment__item__relation", "assignment__item__tail", "revision", "label",
    "cannot_judge", "problem", "detail", "reasons", "note", "unsure", "seconds", "visible_seconds", "active_seconds",
    "created_at", "judged_under",
)  # fmt: skip


def _answer_rows(campaign: Campaign, user: User) -> list[Document]:
    rows = _answers(campaign, user).exclude(_hidden(campaign, user)).order_by("created_at", "pk")
    protocol = get_protocol(campaign.protocol)
    found = []
    for (
        kind, number, part, position, compound, source, translation, head, relation, tail, revision, label,
        cannot_judge, problem, detail, reasons, note, unsure, seconds, visible, active, at, guideline,
    ) in rows.annotate(judged_under=JUDGED_UNDER).values_list(*_COLUMNS).iterator(CHUNK):  # fmt: skip
        text = (
            {"head": head, "relation": relation, "tail": tail}
            if campaign.protocol == Campaign.Protocol.TRIPLE
            else {"compound": compound, "source": source, "translation": translation}
        )
        # To their expert hidden repeats are units of the main round.
        round_ = Round.Kind.MAIN.value if kind == Round.Kind.REPEAT else kind
        found.append(
            {
                "round": round_,
                "number": 1 if round_ == Round.Kind.MAIN else number,
                "part": None if part is None else part + 1,
                "screen": position,
                **text,
                "revision": revision,
                "answer": protocol.answer(label).key if label else None,
                "cannot_judge": cannot_judge or None,
                "problem": problem or None,
                "detail": detail or None,
                "reasons": reasons,
                "note": note,
                "unsure": unsure,
                "seconds": seconds,
                "visible_seconds": visible,
                "active_seconds": active,
                "at": _at(at),
                "guideline": guideline,
            }
        )
    return found


def _hours(campaign: Campaign, user: User) -> Document:
    found = statement(campaign, user)
    entries = TimeEntry.objects.filter(campaign=campaign, user=user)
    return {
        "counted_seconds": found.total.paid,
        "days": [
            {"day": day.day.isoformat(), "screens": day.screens, "counted_seconds": day.paid}
            for day in found.days
            if day.day is not None
        ],
        "entries": [
            {"kind": kind, "day": day.isoformat(), "seconds": seconds, "reason": reason, "made_at": _at(made)}
            for kind, day, seconds, reason, made in entries.values_list(
                "kind", "day", "seconds", "reason", "created_at"
            )
        ],
    }


def _at(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
