"""Saving an expert's answers: the hot path.

One screen is saved by one request, all or nothing, and answered with what comes next. Nothing counts, nothing
writes a session, nothing depends on the campaign's size:

1. Where the sheet's rows stand: they must be this expert's, of one unit and round (`answers_sql.read`). On
   PostgreSQL what this process read for the expert's last sheet is tried first; step 2 notices if it has changed.
2. Compare-and-set of the rows on the revision the expert saw, and one annotation per answer under the client
   key (`answers_sql.write_and_read_next`). Fewer rows than answers means that somebody was faster (another tab,
   another machine, this very request sent twice), or that the part was handed in: nothing is stored.
3. Only then is the reason looked up: the same key and body were stored before (the same reply again), the key
   was used for another body, or the answer is stale.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Annotation, Assignment, Campaign, HandIn, Round, Surplus
from annotation.protocol.base import PROTOCOLS, Choice, get_protocol
from annotation.protocol.compound import WRONG_REASONS
from annotation.protocol.definition import fold_label
from annotation.protocol.errors import ProtocolError
from annotation.protocol.triple import ZERO_DETAILS
from annotation.protocol.wording import Wording, default_wording
from annotation.services import answers_sql
from annotation.services.answers_sql import FellShort, NotFound, Place
from annotation.services.errors import (
    KeptAside,
    KeyReused,
    NotAcknowledged,
    NotYours,
    Refused,
    SignedOut,
    Stale,
)
from annotation.services.screens import MAX_SCREENS, screens_of
from annotation.services.seat_numbers import number_of
from annotation.services.sheets import Answer, Saved, Sheet

_USUAL = {name: default_wording(name) for name in PROTOCOLS}
T = TypeVar("T")
NOTE_LIMIT = 500  # code points, counted alike in the browser


@dataclass(frozen=True)
class Judged:
    """What was acknowledged, and the screens that come next."""

    saved: list[Saved]
    screens: list[dict[str, Any]]


def save_answers(
    sheet: Sheet,
    *,
    slug: str,
    expert_id: int,
    source: str = Annotation.Source.SEAT,
    after: int = 0,
    count: int = 0,
    language: str = "",
    admit: Callable[[Place], bool] = lambda place: True,
) -> Judged:
    """Store one screen's answers, or raise and store nothing; then up to `count` screens after a queue number.

    `language` is that of the page, stored with the other conditions under which the answers were given.
    `admit` looks at the account as it stands in the database, for callers that have not (a session whose
    password has changed since is not admitted). An answer is stored under the version of the guidelines that it says,
    or under the last one its author knows: never under one they have not acknowledged. Raises NotYours, SignedOut,
    KeyReused, Stale, NotAcknowledged, and Refused or ProtocolError for what is wrong with the answers. Sent again with
    the same key and body, it returns what was stored first.
    """
    _check_rows(sheet)
    attempt = _Attempt(sheet, slug, expert_id, source, after, min(count, MAX_SCREENS), language)
    known = answers_sql.known_place(slug=slug, expert=expert_id)
    if known is not None and known.settles(sheet.guideline) and admit(known):
        with suppress(
            FellShort, ProtocolError
        ):  # or it is not known well enough: the database has the last word
            return attempt.at(known).save()
    try:
        place = answers_sql.read(sheet, slug=slug, expert=expert_id)
    except NotFound:
        raise NotYours(_("There is no such unit among your work.")) from None
    if not (place.is_active and admit(place)):
        raise SignedOut(_("There is no such unit among your work."))
    _refuse_unread(place, sheet, slug=slug)
    found = attempt.at(place)
    try:
        return found.save()
    except FellShort:
        return found.judged(*_explain(found))


@dataclass(frozen=True)
class _Attempt:
    """What is to be written for whom, and what is to be read after it."""

    sheet: Sheet
    slug: str
    expert_id: int
    source: str
    after: int
    count: int
    language: str

    def at(self, place: Place) -> "_Write":
        """The same at its place, its answers checked by the rules that hold there."""
        conditions = {"language": self.language, "reference": place.reference, "display": place.display}
        answers = tuple(checked(answer, place=place) for answer in self.sheet.answers)
        sheet = replace(self.sheet, answers=answers, conditions=conditions | self.sheet.conditions)
        return _Write(**(vars(self) | {"sheet": sheet}), place=place)


@dataclass(frozen=True)
class _Write(_Attempt):
    """An attempt at its place."""

    place: Place

    def save(self) -> Judged:
        return self.judged(*self.write(self.sheet))

    def write(self, sheet: Sheet) -> tuple[list[Saved], list[answers_sql.Row]]:
        rows = answers_sql.write_and_read_next(
            sheet,
            self.place,
            slug=self.slug,
            expert=self.expert_id,
            source=self.source,
            after=self.after,
            count=self.count,
        )
        return self.acknowledged(sheet), rows

    def acknowledged(self, sheet: Sheet) -> list[Saved]:
        return [
            Saved(number_of(answer.assignment, expert=self.expert_id), answer.revision + 1)
            for answer in sheet.answers
        ]

    def read_next(self) -> list[answers_sql.Row]:
        return answers_sql.read_next(
            rounds=self.place.open_rounds, expert=self.expert_id, after=self.after, count=self.count
        )

    def judged(self, saved: list[Saved], rows: list[answers_sql.Row]) -> Judged:
        place = self.place
        shown = screens_of(
            rows,
            protocol=place.protocol,
            reference=place.reference,
            display=place.display,
            expert_id=self.expert_id,
        )
        return Judged(saved, shown)


def _check_rows(sheet: Sheet) -> None:
    if not sheet.answers:
        raise Refused(_("There is no answer to save."))
    if len({answer.assignment for answer in sheet.answers}) != len(sheet.answers):
        raise ProtocolError(_("The same row is answered twice; send one answer for each row."))


def _refuse_unread(place: Place, sheet: Sheet, *, slug: str) -> None:
    """What is judged again because the guidelines changed is judged under the change, or under a later version."""
    if not place.changed_by:
        return
    if place.acknowledged.get(place.under(sheet.guideline), 0) < max(place.changed_by):
        raise NotAcknowledged(
            _(
                "This unit is judged again because the guidelines have changed. Read what is new in them first and "
                "confirm it, here: %(address)s. Then open the unit again; nothing was stored."
            )
            % {"address": settings.ASSAY_URL + reverse("guideline_change", args=[slug])}
        )


def checked(answer: Answer, *, place: Place) -> Answer:
    """The answer in codes; a ProtocolError for what is no answer of this campaign.

    A note loses the blanks around it. A triple may carry a problem beside its label; everywhere an answer is a label or
    a cause, one of the two.
    """
    protocol = get_protocol(place.protocol)
    if bool(answer.label) == bool(answer.cannot_judge):
        raise ProtocolError(_("An answer is a label or “cannot judge” with its cause: one of the two."))
    if answer.detail and place.protocol == Campaign.Protocol.COMPOUND:
        raise ProtocolError(_("A detail is given beside the third answer of a triple; a compound has none."))
    wording = place.own_wording or _USUAL[place.protocol]
    answer = replace(_in_codes(answer, protocol.cannot_judge_causes, wording), note=answer.note.strip())
    _check_note(answer.note)
    label = wording.parse_label(answer.label) if answer.label else ""
    lowest = label == protocol.labels[0]
    if place.protocol == Campaign.Protocol.COMPOUND:
        _check_why(answer, place, wrong=lowest)
        return replace(answer, label=label, detail="")
    _check_why(answer, place, wrong=False)
    named = _detail_of(answer.label, wording)
    if answer.detail:
        _check_detail(answer, named if named != protocol.scale[0].key else "", lowest=lowest)
    detail = answer.detail or (named if place.zero_detail else "")
    if lowest and place.zero_detail and not detail:
        raise ProtocolError(_("Say which it is: rarely, never, ambiguous or invalid."))
    return replace(answer, label=label, detail=detail if lowest else "")


def _check_detail(answer: Answer, named: str, *, lowest: bool) -> None:
    """A detail stands beside the third answer only, and beside no label that names another; `named` is what the label
    names, "" where it is the third answer as a whole.
    """
    if not lowest:
        raise ProtocolError(
            _(
                "A detail says which it is of rarely, never, ambiguous and invalid: it stands beside no other answer."
            )
        )
    if named not in {"", answer.detail}:
        raise ProtocolError(
            _("The label says “%(label)s” and the detail “%(detail)s”; an answer is one of the two.")
            % {"label": named, "detail": answer.detail}
        )


def _check_why(answer: Answer, place: Place, *, wrong: bool) -> None:
    """Reasons and atoms say why a compound's translation is wrong: they stand beside no other answer."""
    if answer.problem and place.protocol == Campaign.Protocol.COMPOUND:
        raise ProtocolError(
            _("A problem is reported beside the score of a triple; a compound has “cannot judge”.")
        )
    if not wrong and (answer.reasons or answer.atoms):
        raise ProtocolError(
            _("Reasons and atoms say why a compound is wrong: they stand beside no other answer.")
        )
    if wrong and place.reasons == Campaign.Reasons.REQUIRED and not answer.reasons:
        raise ProtocolError(_("Say why the compound is wrong: this campaign asks for at least one reason."))
    n_atoms = place.atoms
    if n_atoms is not None and any(atom >= n_atoms for atom in answer.atoms):
        raise ProtocolError(
            _("An atom is named by its place in the compound, counted from 0; this compound has %(n)d.")
            % {"n": n_atoms}
        )


def _in_codes(answer: Answer, causes: Sequence[Choice], wording: Wording) -> Answer:
    return replace(
        answer,
        cannot_judge=_code_of(answer.cannot_judge, causes),
        problem=_code_of(answer.problem, causes),
        detail=_code_of(answer.detail, (*wording.details, *ZERO_DETAILS)),
        reasons=_once(_code_of(reason, wording.reasons or WRONG_REASONS) for reason in answer.reasons),
        atoms=_once(answer.atoms),
    )


def _once(named: Iterable[T]) -> tuple[T, ...]:
    """Each of them once, in the order given."""
    return tuple(dict.fromkeys(named))


def _code_of(given: str, choices: Sequence[Choice]) -> str:
    """The code of a choice that was named by it, or by its words in either language."""
    code = _find(given, choices)
    if code is None:
        known = ", ".join(sorted({choice.code for choice in choices}))
        raise ProtocolError(
            _("“%(code)s” is not one of the choices, which are %(choices)s.")
            % {"code": given, "choices": known}
        )
    return code


def _find(given: str, choices: Sequence[Choice]) -> str | None:
    if not given or any(given == choice.code for choice in choices):
        return given
    folded = fold_label(given)
    for choice in choices:
        if folded in {fold_label(name) for name in (choice.code, choice.words.en, choice.words.zh)}:
            return choice.code
    return None


# Other names of three details that files and programs may give as well.
_DETAILS = {"很少成立": "rarely", "从不成立": "never", "不成立": "invalid"}


def _detail_of(label: str, wording: Wording) -> str:
    """A third answer that was named by its detail: never, 从不, ambiguous …, or as the campaign calls it."""
    return (
        _find(label, wording.details) or _DETAILS.get(fold_label(label)) or _find(label, ZERO_DETAILS) or ""
    )


def _check_note(note: str) -> None:
    if len(note) > NOTE_LIMIT:
        raise ProtocolError(
            _("A note holds at most %(limit)d characters; this one has %(length)d.")
            % {"limit": NOTE_LIMIT, "length": len(note)}
        )
    if "\0" in note:
        raise ProtocolError(_("The note holds U+0000, which cannot be stored."))


def _explain(attempt: _Write) -> tuple[list[Saved], list[answers_sql.Row]]:
    """Step 3: what was stored under this key before, or why nothing can be stored now."""
    sheet = attempt.sheet
    rows = list(
        Assignment.objects.filter(
            pk__in=[answer.assignment for answer in sheet.answers], expert_id=attempt.expert_id
        ).select_related("round__campaign", "part")
    )
    stored = dict(
        Annotation.objects.filter(assignment__in=rows, client_key=sheet.client_key).values_list(
            "assignment", "digest"
        )
    )
    if stored:
        return _again(attempt, stored), attempt.read_next()
    late = {row.pk for row in rows if row.withdrawn_at}
    if late:
        return _keep_aside(attempt, late)
    _refuse_what_is_closed(rows)
    current = [current_answer(row) for row in rows]
    stored_at = {row.pk: row.revision for row in rows}
    if any(answer.revision > stored_at.get(answer.assignment, answer.revision) for answer in sheet.answers):
        raise Stale(
            _("A row names a revision that it has not reached; name the one at which it stands now."),
            current=current,
        )
    raise Stale(
        _(
            "This was answered elsewhere in the meantime: look at the answer that is stored, and change it if need be."
        ),
        current=current,
    )


def _again(attempt: _Write, stored: dict[int, str]) -> list[Saved]:
    """The reply to a request that came before, if it is the same request."""
    kept = set(
        Surplus.objects.filter(
            assignment__expert=attempt.expert_id, client_key=attempt.sheet.client_key
        ).values_list("assignment", flat=True)
    )
    sheet = _without(attempt.sheet, kept)
    if stored.keys() != {answer.assignment for answer in sheet.answers} or set(stored.values()) != {
        sheet.digest
    }:
        raise KeyReused(_("This client key was used for other answers; use a new key for a new answer."))
    return attempt.acknowledged(sheet)


def _keep_aside(attempt: _Write, late: set[int]) -> tuple[list[Saved], list[answers_sql.Row]]:
    """Answers to rows that were taken away meanwhile are kept, not counted; the others are saved as ever."""
    sheet = attempt.sheet
    kept = {
        answer.assignment: json.loads(json.dumps(asdict(answer)))
        for answer in sheet.answers
        if answer.assignment in late
    }
    earlier = Surplus.objects.filter(assignment__in=kept, client_key=sheet.client_key)
    if any(kept[row] != answer for row, answer in earlier.values_list("assignment", "answer")):
        raise KeyReused(_("This client key was used for other answers; use a new key for a new answer."))
    Surplus.objects.bulk_create(
        (Surplus(assignment_id=row, client_key=sheet.client_key, answer=kept[row]) for row in kept),
        ignore_conflicts=True,  # sent again
    )
    rest = _without(sheet, late)
    if not rest.answers:
        raise KeptAside(
            _(
                "This unit was withdrawn, or given to somebody else, before your answer arrived. The answer is kept "
                "for the manager and does not count."
            )
        )
    try:
        return attempt.write(rest)
    except FellShort:
        return _explain(replace(attempt, sheet=rest))


def _without(sheet: Sheet, rows: set[int]) -> Sheet:
    return replace(sheet, answers=tuple(answer for answer in sheet.answers if answer.assignment not in rows))


def _refuse_what_is_closed(rows: Sequence[Assignment]) -> None:
    if any(row.round.state != Round.State.OPEN for row in rows):
        if any(row.round.campaign.closed_at for row in rows):
            raise Refused(_("This campaign is closed: nothing is judged in it any more."))
        raise Refused(_("This round is closed; ask the manager to open it again."))
    handed_in = HandIn.objects.filter(
        part__in={row.part_id for row in rows if row.part_id}, expert__in={row.expert_id for row in rows}
    )
    frozen = list(handed_in.values_list("part__design__closed_at", flat=True))
    if any(frozen):
        raise Refused(_("The batch of this part is closed: all its answers are frozen."))
    if frozen:
        raise Refused(_("This part was handed in; ask the manager to give it back to you."))


def current_answer(row: Assignment) -> dict[str, Any]:
    """What is stored for a row, for the expert who gave it."""
    answer = get_protocol(row.round.campaign.protocol).answer(row.label).key if row.label else None
    return {
        "assignment": number_of(row.pk, expert=row.expert_id),
        "revision": row.revision,
        "label": answer,
        "cannot_judge": row.cannot_judge or None,
    }
