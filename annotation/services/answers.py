"""Saving an expert's answers: the hot path.

One screen is saved by one request, all or nothing, and answered with what comes next. Nothing counts, nothing
writes a session, nothing depends on the campaign's size:

1. Read where the sheet's rows stand: they must be this expert's, of one unit and round (`answers_sql.read`).
2. Compare-and-set of the rows on the revision the expert saw, and one annotation per answer under the client
   key (`answers_sql.write_and_read_next`). Fewer rows than answers means that somebody was faster (another tab,
   another machine, this very request sent twice), or that the part was handed in: nothing is stored.
3. Only then is the reason looked up: the same key and body were stored before (the same reply again), the key
   was used for another body, or the answer is stale.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.models import Annotation, Assignment, HandIn, Round
from annotation.protocol.base import Protocol, get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services import answers_sql
from annotation.services.answers_sql import FellShort, NotFound, Place
from annotation.services.errors import KeyReused, NotYours, Refused, Stale
from annotation.services.screens import MAX_SCREENS, screens_of
from annotation.services.sheets import Answer, Saved, Sheet

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
    admit: Callable[[Place], bool] = lambda place: True,
) -> Judged:
    """Store one screen's answers, or raise and store nothing; then up to `count` screens after a queue number.

    `admit` looks at the account as it stands in the database, for callers that have not (a session whose
    password has changed since is not admitted). Raises NotYours, KeyReused, Stale, and Refused or ProtocolError
    for what is wrong with the answers. Sent again with the same key and body, it returns what was stored first.
    """
    _check_rows(sheet)
    try:
        place = answers_sql.read(sheet, slug=slug, expert=expert_id)
    except NotFound:
        raise NotYours("There is no such unit among your work.") from None
    if not (place.is_active and admit(place)):
        raise NotYours("There is no such unit among your work.")
    protocol = get_protocol(place.protocol)
    sheet = replace(sheet, answers=tuple(checked(answer, protocol=protocol) for answer in sheet.answers))
    count = min(count, MAX_SCREENS)
    try:
        rows = answers_sql.write_and_read_next(
            sheet, place, expert=expert_id, source=source, after=after, count=count
        )
    except FellShort:
        saved = _explain(sheet, expert_id=expert_id)
        rows = answers_sql.read_next(round_id=place.round, expert=expert_id, after=after, count=count)
    else:
        saved = [Saved(answer.assignment, answer.revision + 1) for answer in sheet.answers]
    return Judged(saved, screens_of(rows, protocol=place.protocol, reference=place.reference))


def _check_rows(sheet: Sheet) -> None:
    if not sheet.answers:
        raise Refused("There is no answer to save.")
    if len({answer.assignment for answer in sheet.answers}) != len(sheet.answers):
        raise Refused("The same row is answered twice; send one answer for each row.")


def checked(answer: Answer, *, protocol: Protocol) -> Answer:
    """The answer with its label as a label code; a ProtocolError for what is no answer of this protocol.

    A triple may carry a problem beside its label; everywhere an answer is a label or a cause, one of the two.
    """
    if bool(answer.label) == bool(answer.cannot_judge):
        raise ProtocolError("An answer is a label or “cannot judge” with its cause: one of the two.")
    causes = {cause.code for cause in protocol.cannot_judge_causes}
    for cause in (answer.cannot_judge, answer.problem):
        if cause and cause not in causes:
            raise ProtocolError(f"“{cause}” is not a cause; the causes are {', '.join(sorted(causes))}.")
    if len(answer.note) > NOTE_LIMIT:
        raise ProtocolError(f"A note holds at most {NOTE_LIMIT} characters; this one has {len(answer.note)}.")
    if "\0" in answer.note:
        raise ProtocolError("The note holds U+0000, which cannot be stored.")
    return replace(answer, label=protocol.parse_label(answer.label)) if answer.label else answer


def _explain(sheet: Sheet, *, expert_id: int) -> list[Saved]:
    """Step 3: what was stored under this key before, or why nothing can be stored now."""
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
