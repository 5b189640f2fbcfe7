"""An expert's private question about a unit, and the manager's ruling on it.

Only the one who asked and the campaign's managers come here: every function takes the person or the campaign it
is for. A ruling is a rule to judge by, never a score, so nothing here touches an answer.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Case, F, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Item, Question, Round, User
from annotation.protocol.display import joined_translation
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import KeyReused, NotYours
from annotation.services.people import audit
from annotation.services.screens import own_record
from annotation.services.seat import unit_on_screen
from annotation.services.turns import turn

LENGTH = 1000  # code points of a question and of an answer, counted alike in the browser


# Asking


def ask(campaign: Campaign, user: User, *, screen_id: int, text: str, client_key: UUID) -> Question:
    """Put a question about a unit of one's own work. Sent again under its key, it is asked once.

    Raises NotYours, ProtocolError for a text that is empty or too long, KeyReused for another question under the
    same key.
    """
    unit_id = unit_on_screen(campaign, expert_id=user.pk, screen_id=screen_id)
    asked = Question(
        campaign=campaign, unit_id=unit_id, asked_by=user, client_key=client_key, text=_checked(text)
    )
    stored = _stored(asked)
    if stored:
        return stored
    question, _made = Question.objects.get_or_create(
        asked_by=user,
        client_key=client_key,
        defaults={"campaign": campaign, "unit_id": unit_id, "text": asked.text},
    )
    return question


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if "\0" in text:
        raise ProtocolError(_("The text holds U+0000, which cannot be stored."))
    if not text or len(text) > LENGTH:
        raise ProtocolError(_("Write 1 to %(limit)d characters.") % {"limit": LENGTH})
    return text


def _stored(asked: Question) -> Question | None:
    found = Question.objects.filter(asked_by=asked.asked_by, client_key=asked.client_key).first()
    if found and (found.campaign_id, found.unit_id, found.text) != (
        asked.campaign_id,
        asked.unit_id,
        asked.text,
    ):
        raise KeyReused(_("This client key was used for another question; use a new key for a new one."))
    return found


def new_answers(campaign: Campaign, user: User) -> int:
    """How many of one's questions were answered and not read yet."""
    return answered_unread(campaign.pk, user.pk).count()


def answered_unread(campaign: int, user: int) -> QuerySet[Question]:
    """These questions."""
    return Question.objects.filter(
        campaign=campaign, asked_by=user, answered_at__isnull=False, read_at__isnull=True
    )


def read(campaign: Campaign, user: User, *, pk: int) -> None:
    """The one who asked has read the answer as it stands. Said twice, it is said once."""
    mine = Question.objects.filter(campaign=campaign, asked_by=user, pk=pk)
    mine.filter(answered_at__isnull=False, read_at__isnull=True).update(read_at=timezone.now())
    if not mine.exists():
        raise NotYours(_("There is no such question among yours."))


# Answering


def unanswered(campaign: Campaign) -> int:
    """How many questions wait for a manager."""
    return waiting_for_answer(campaign).count()


def waiting_for_answer(campaign: Campaign) -> QuerySet[Question]:
    """These questions."""
    return Question.objects.filter(campaign=campaign, answered_at__isnull=True)


def answer(campaign: Campaign, *, pk: int, text: str, by: User) -> Question:
    """Answer a question, or put another answer in place of the first; the expert is told of it either way.

    Raises NotYours, and ProtocolError for a text that is empty or too long.
    """
    text = _checked(text)
    with turn(campaign):
        earlier = Question.objects.filter(campaign=campaign, pk=pk).values_list("answer", flat=True).first()
        changed = (
            Question.objects.filter(campaign=campaign, pk=pk)
            .exclude(answer=text)
            .update(answer=text, answered_by=by, answered_at=timezone.now(), read_at=None)
        )
        question = Question.objects.filter(campaign=campaign, pk=pk).first()
        if question is None:
            raise NotYours(_("There is no such question in this campaign."))
        if changed:
            audit(
                campaign, by, "question answered", {"question": pk, "before": earlier or None, "after": text}
            )
    return question


# Looking


@dataclass(frozen=True, kw_only=True)
class UnitText:
    """What stands on a unit's screen: a compound with its sentences, or a triple."""

    compound: str = ""
    sentences: Sequence[tuple[str, str]] = ()  # source and translation
    head: str = ""
    relation: str = ""
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class QuestionLine:
    """A question with the text it is about. `position` is the screen of the one who asked, None where it is gone."""

    question: Question
    pseudonym: str
    unit: UnitText
    position: int | None = None


def own_questions(campaign: Campaign, user: User) -> list[QuestionLine]:
    """One's own questions, the latest first. Three queries."""
    found = list(Question.objects.filter(campaign=campaign, asked_by=user).order_by("-asked_at", "-id"))
    units = {question.unit_id for question in found}
    rows = list(
        own_record(campaign, expert_id=user.pk)
        .filter(unit__in=units)
        .select_related("round")
        .order_by("position")
    )
    texts = unit_texts(Item.objects.published().filter(assignments__expert=user, unit__in=units))
    return [
        QuestionLine(
            question=question,
            pseudonym="",
            unit=texts.get(question.unit_id, UnitText()),
            position=next((row.position for row in rows if _was_about(row, question)), None),
        )
        for question in found
    ]


def _was_about(row: Assignment, question: Question) -> bool:
    """A hidden repeat is no place for what was asked before it was drawn: the way there would give it away."""
    drawn_later = row.round.kind == Round.Kind.REPEAT and row.round.created_at > question.asked_at
    return row.unit_id == question.unit_id and not drawn_later


def all_questions(campaign: Campaign) -> list[QuestionLine]:
    """Every question for the managers: those that wait first, the oldest of them first. Three queries."""
    waiting = Case(When(answered_at__isnull=True, then=Value(0)), default=Value(1))
    found = list(
        Question.objects.filter(campaign=campaign)
        .select_related("answered_by")
        .order_by(waiting, F("answered_at").desc(), "asked_at", "id")
    )
    pseudonyms = dict(campaign.memberships.values_list("user", "pseudonym"))
    texts = unit_texts(Item.objects.published().filter(unit__in={question.unit_id for question in found}))
    return [
        QuestionLine(
            question=question,
            pseudonym=pseudonyms.get(question.asked_by_id, "–"),
            unit=texts.get(question.unit_id, UnitText()),
        )
        for question in found
    ]


def unit_texts(items: QuerySet[Item]) -> Mapping[int, UnitText]:
    """By unit: what its items say, contexts in their order."""
    rows = items.select_related("unit", "context").order_by("unit", "context__number", "id").distinct()
    by_unit: dict[int, list[Item]] = defaultdict(list)
    for item in rows:
        by_unit[item.unit_id].append(item)
    return {unit: _text(found) for unit, found in by_unit.items()}


def _text(items: Iterable[Item]) -> UnitText:
    found = list(items)
    first = found[-1]  # of a triple whose text was replaced, the present one
    if first.context is None:
        return UnitText(head=first.head, relation=first.relation, tail=first.tail)
    return UnitText(
        compound=first.unit.compound,
        sentences=[
            (item.context.source, joined_translation(item.translation)) for item in found if item.context
        ],
    )
