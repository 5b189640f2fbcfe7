"""Examples of relations, written by managers and experts, and shown once two others have scored them blind.

Until then nobody but its author is told an example's answer or why it holds: who scores it sees head, relation and
tail. Afterwards it stands beside the relation's own examples, and the managers see where the scores differ from it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Campaign, Example, ExampleScore, Membership, User
from annotation.protocol import triple
from annotation.protocol.definition import Words
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit
from annotation.services.turns import turn
from annotation.services.wording import wording_of

NEEDED = 2  # blind scores
TEXT_LENGTH = 500
WAITING = 20  # of one author in one campaign; a list nobody can score helps nobody


@dataclass(frozen=True)
class ToScore:
    """An example as who scores it sees it: nothing else may stand here."""

    pk: int
    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class ExampleLine:
    """An example with all that is known of it: for its author, and once it is scored for managers."""

    example: Example
    author: str  # their pseudonym
    mine: bool
    scores: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return len(self.scores) >= NEEDED

    @property
    def differs(self) -> bool:
        """Whether somebody who judged it blind came to another answer than its author."""
        return any(score != self.example.label for score in self.scores)


def relations_shown(campaign: Campaign) -> tuple[triple.Relation, ...]:
    """The relations there is something to read about, each with the examples that may be shown. One query at most."""
    relations = wording_of(campaign).described
    if not relations:
        return ()
    added: dict[str, list[triple.Example]] = defaultdict(list)
    for example in _standing(campaign).filter(n__gte=NEEDED):
        why = Words(example.why_en or example.why_zh, example.why_zh or example.why_en)
        added[example.relation].append(triple.Example(example.head, example.tail, example.label, why))
    return tuple(
        replace(relation, examples=(*relation.examples, *added[relation.name])) for relation in relations
    )


def to_score(campaign: Campaign, user: User) -> list[ToScore]:
    """The examples that wait for this person's blind score: written by others, not scored by them, not yet by two."""
    waiting = _standing(campaign).filter(n__lt=NEEDED).exclude(Q(author=user) | Q(scores__user=user))
    return [ToScore(pk=one.pk, head=one.head, relation=one.relation, tail=one.tail) for one in waiting]


def lines_for(member: Membership) -> list[ExampleLine]:
    """One's own examples; for managers those of others too, once they are scored. Three queries."""
    campaign, user = member.campaign, member.user_id
    manages = member.role == Membership.Role.MANAGER
    found = list(_standing(campaign).filter(Q(author=user) | (Q(n__gte=NEEDED) if manages else Q(pk=None))))
    scores: dict[int, list[str]] = defaultdict(list)
    for example, label in ExampleScore.objects.filter(example__in=found).values_list("example", "label"):
        scores[example].append(label)
    pseudonyms = dict(campaign.memberships.values_list("user", "pseudonym"))
    return [
        ExampleLine(
            example=example,
            author=pseudonyms.get(example.author_id or 0, "–"),
            mine=example.author_id == user,
            scores=tuple(scores[example.pk]) if len(scores[example.pk]) >= NEEDED else (),
        )
        for example in found
    ]


def _standing(campaign: Campaign) -> QuerySet[Any]:
    """Those that were not taken back, with `n`, how often each was scored."""
    return Example.objects.filter(campaign=campaign, retired_at__isnull=True).annotate(
        n=Count("scores", distinct=True)
    )


def add_example(
    campaign: Campaign,
    user: User,
    *,
    relation: str,
    head: str,
    tail: str,
    label: str,
    why_en: str = "",
    why_zh: str = "",
) -> Example:
    """Propose an example with the answer its author holds for right. The same again is the same one."""
    wording = wording_of(campaign)
    if relation not in wording.relations:
        raise ProtocolError(_("This campaign has no relation “%(name)s”.") % {"name": relation})
    score = triple.TRIPLE.parse_label(label)
    texts = {"head": head, "tail": tail, "why_en": why_en, "why_zh": why_zh}
    texts = {name: text.replace("\r\n", "\n").strip() for name, text in texts.items()}
    if not (texts["head"] and texts["tail"]):
        raise ProtocolError(_("An example needs a head and a tail."))
    if any(len(text) > TEXT_LENGTH or "\0" in text for text in texts.values()):
        raise ProtocolError(_("Write 1 to %(limit)d characters.") % {"limit": TEXT_LENGTH})
    if not (texts["why_en"] or texts["why_zh"]):
        raise ProtocolError(_("Say why the answer is right, in one language at least."))
    with turn(campaign):
        mine = _standing(campaign).filter(author=user)
        same: Example | None = mine.filter(relation=relation, label=score, **texts).first()
        if same is not None:
            return same
        if mine.filter(n__lt=NEEDED).count() >= WAITING:
            raise Refused(
                _("%(n)d of your examples wait to be scored; wait for others to score some.") % {"n": WAITING}
            )
        return Example.objects.create(campaign=campaign, author=user, relation=relation, label=score, **texts)


def score_example(campaign: Campaign, user: User, *, pk: int, label: str) -> None:
    """Score somebody else's example blind. Scored already, the first score stands."""
    score = triple.TRIPLE.parse_label(label)
    example = _standing(campaign).filter(pk=pk).exclude(author=user).first()
    if example is None:
        raise NotYours(_("There is no such example to score."))
    if example.n >= NEEDED and not example.scores.filter(user=user).exists():
        raise Refused(_("Two others have scored this example meanwhile; thank you."))
    ExampleScore.objects.get_or_create(example=example, user=user, defaults={"label": score})


def retire_example(member: Membership, *, pk: int) -> None:
    """Take an example back: its author may, and a manager. Done already, it stays so."""
    examples = Example.objects.filter(campaign=member.campaign_id, pk=pk)
    if member.role != Membership.Role.MANAGER:
        examples = examples.filter(author=member.user_id)
    if not examples.exists():
        raise NotYours(_("There is no such example."))
    with transaction.atomic():
        if examples.filter(retired_at__isnull=True).update(retired_at=timezone.now()):
            audit(member.campaign, member.user, "example taken back", {"example": pk})


def differing(lines: Sequence[ExampleLine]) -> int:
    """How many of them were answered otherwise by who judged them blind."""
    return sum(line.differs for line in lines)
