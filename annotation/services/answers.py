"""Saving an expert's answers: the hot path.

One screen is saved by one request, all or nothing. The numbered steps below are the whole protocol between
the seat and the database; nothing counts, nothing writes a session, nothing depends on the campaign's size.

1. Read the assignments named, with their round: they must be this expert's, of this unit, in an open round.
2. UPDATE … WHERE revision = expected: the compare-and-set. Fewer rows than answers means that somebody was
   faster (another tab, another machine, this very request sent twice), or that the part was handed in.
3. INSERT one annotation per answer, under the client key.
4. If step 2 fell short, the transaction is undone and the reason is looked up: the same key and body were
   stored before (the same reply again), the key was used for another body, or the answer is stale.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, Value, When
from django.utils import timezone

from annotation.models import Annotation, Assignment, HandIn, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import KeyReused, NotYours, Refused, Stale

NOTE_LIMIT = 500  # code points, counted alike in the browser


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One row's answer: a label code, or the cause why it cannot be judged."""

    assignment: int
    revision: int  # the revision the expert saw; 0 for a first answer
    label: str = ""
    cannot_judge: str = ""
    problem: str = ""
    detail: str = ""
    reasons: tuple[str, ...] = ()
    atoms: tuple[int, ...] = ()
    note: str = ""
    unsure: bool = False


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How long the screen was before the expert, from paint to answer, and where in their session it stood."""

    seconds: float | None = None
    visible_seconds: float | None = None
    active_seconds: float | None = None
    session: str = ""
    session_position: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The answers to one screen, sent together under one client key."""

    unit: int
    client_key: UUID
    answers: tuple[Answer, ...]
    timing: Timing = field(default_factory=Timing)
    reference_seen: bool | None = None

    @property
    def digest(self) -> str:
        """The same for the same answers, however often they are sent; times do not count."""
        body = {"unit": self.unit, "answers": [asdict(answer) for answer in self.answers]}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Saved:
    """An acknowledged answer: this assignment now stands at this revision."""

    assignment: int
    revision: int


def save_answers(
    sheet: Sheet, *, campaign_id: int, expert_id: int, source: str = Annotation.Source.SEAT
) -> list[Saved]:
    """Store one screen's answers, or raise and store nothing.

    Raises NotYours, KeyReused, Stale, and Refused or ProtocolError for what is wrong with the answers. Sent again with the same key and body, returns
    what was stored the first time.
    """
    if not sheet.answers:
        raise Refused("There is no answer to save.")
    expected = {answer.assignment: answer for answer in sheet.answers}
    if len(expected) != len(sheet.answers):
        raise Refused("The same row is answered twice; send one answer for each row.")
    try:
        with transaction.atomic():
            round_ = _round_of(sheet, campaign_id=campaign_id, expert_id=expert_id)
            if _compare_and_set(sheet.answers, expert_id=expert_id) != len(sheet.answers):
                raise _FellShort
            _append(sheet, round_=round_, source=source)
    except (_FellShort, IntegrityError):
        return _explain(sheet, expert_id=expert_id)
    return [Saved(answer.assignment, answer.revision + 1) for answer in sheet.answers]


class _FellShort(Exception):
    """Fewer rows changed than answers were sent."""


def _round_of(sheet: Sheet, *, campaign_id: int, expert_id: int) -> Round:
    """The open round all the rows belong to; checks the answers against the campaign's protocol."""
    rows = list(
        Assignment.objects.filter(
            pk__in=[answer.assignment for answer in sheet.answers],
            expert_id=expert_id,
            unit_id=sheet.unit,
            round__campaign_id=campaign_id,
        ).select_related("round__campaign")
    )
    if len(rows) != len(sheet.answers) or len({row.round_id for row in rows}) != 1:
        raise NotYours("There is no such unit among your work.")
    round_ = rows[0].round
    for answer in sheet.answers:
        check_answer(answer, protocol_name=round_.campaign.protocol)
    return round_


def check_answer(answer: Answer, *, protocol_name: str) -> None:
    """Refuse what is not an answer of this protocol."""
    protocol = get_protocol(protocol_name)
    if bool(answer.label) == bool(answer.cannot_judge):
        raise ProtocolError("An answer is a label or “cannot judge” with its cause: one of the two.")
    if answer.label:
        protocol.answer(answer.label)
    causes = {cause.code for cause in protocol.cannot_judge_causes}
    for cause in (answer.cannot_judge, answer.problem):
        if cause and cause not in causes:
            raise ProtocolError(f"“{cause}” is not a cause; the causes are {', '.join(sorted(causes))}.")
    if len(answer.note) > NOTE_LIMIT:
        raise ProtocolError(f"A note holds at most {NOTE_LIMIT} characters; this one has {len(answer.note)}.")


def _compare_and_set(answers: Sequence[Answer], *, expert_id: int) -> int:
    """Step 2; returns how many rows stood at the revision the expert saw and were changed."""
    seen = Q()
    for answer in answers:
        seen |= Q(pk=answer.assignment, revision=answer.revision)
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    open_round = Round.objects.filter(pk=OuterRef("round"), state=Round.State.OPEN)
    return Assignment.objects.filter(
        seen, ~Exists(handed_in), Exists(open_round), expert_id=expert_id, withdrawn_at__isnull=True
    ).update(
        revision=F("revision") + 1,
        label=_by_row(answers, "label"),
        cannot_judge=_by_row(answers, "cannot_judge"),
        answered_at=timezone.now(),
        postponed_at=None,
    )


def _by_row(answers: Sequence[Answer], name: str) -> Case:
    whens = [When(pk=answer.assignment, then=Value(getattr(answer, name))) for answer in answers]
    return Case(*whens, output_field=CharField())


def _append(sheet: Sheet, *, round_: Round, source: str) -> None:
    """Step 3."""
    digest = sheet.digest
    now = timezone.now()
    Annotation.objects.bulk_create(
        Annotation(
            assignment_id=answer.assignment,
            revision=answer.revision + 1,
            client_key=sheet.client_key,
            digest=digest,
            label=answer.label,
            cannot_judge=answer.cannot_judge,
            problem=answer.problem,
            detail=answer.detail,
            reasons=list(answer.reasons),
            atoms=list(answer.atoms),
            note=answer.note,
            unsure=answer.unsure,
            seconds=sheet.timing.seconds,
            visible_seconds=sheet.timing.visible_seconds,
            active_seconds=sheet.timing.active_seconds,
            session=sheet.timing.session,
            session_position=sheet.timing.session_position,
            reference_seen=sheet.reference_seen,
            guideline_id=round_.guideline_id,
            source=source,
            created_at=now,
        )
        for answer in sheet.answers
    )


def _explain(sheet: Sheet, *, expert_id: int) -> list[Saved]:
    """Step 4: what was stored under this key before, or why nothing can be stored now."""
    rows = Assignment.objects.filter(
        pk__in=[answer.assignment for answer in sheet.answers], expert_id=expert_id
    ).select_related("round", "part")
    stored = {
        annotation.assignment_id: annotation
        for annotation in Annotation.objects.filter(assignment__in=rows, client_key=sheet.client_key)
    }
    if stored:
        if len(stored) != len(sheet.answers) or any(row.digest != sheet.digest for row in stored.values()):
            raise KeyReused("This client key was used for other answers; use a new key for a new answer.")
        return [Saved(answer.assignment, stored[answer.assignment].revision) for answer in sheet.answers]
    _refuse_what_is_closed(list(rows))
    raise Stale(
        "This was answered elsewhere in the meantime: look at the answer that is stored, and change it if need be.",
        current=[current_answer(row) for row in rows],
    )


def _refuse_what_is_closed(rows: Sequence[Assignment]) -> None:
    if any(row.withdrawn_at for row in rows):
        raise Refused("This unit is no longer yours to judge: it was withdrawn or given to somebody else.")
    if any(row.round.state != Round.State.OPEN for row in rows):
        raise Refused("This round is closed; ask the project manager to open it again.")
    handed_in = HandIn.objects.filter(
        part__in={row.part_id for row in rows if row.part_id}, expert__in={row.expert_id for row in rows}
    )
    if handed_in.exists():
        raise Refused("This part was handed in; ask the project manager to give it back to you.")


def current_answer(row: Assignment) -> dict[str, Any]:
    """What is stored for a row, for the expert who gave it."""
    answer = get_protocol(row.round.campaign.protocol).answer(row.label).key if row.label else None
    return {
        "assignment": row.pk,
        "revision": row.revision,
        "label": answer,
        "cannot_judge": row.cannot_judge or None,
    }
