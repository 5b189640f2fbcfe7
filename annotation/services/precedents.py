"""Precedents: settled decisions about a relation, a pattern or an atom, found by experts with one key.

A precedent may name items, and only settled ones: their label is final, nobody is still to judge them, and their
answers cannot be changed any more. One that is opened again is not named until it is settled anew.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Guideline, Item, Precedent, Round, Thread, User
from annotation.protocol.definition import Words
from annotation.protocol.display import joined_translation
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import CARRIED
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import still_to_come
from annotation.services.people import audit
from annotation.services.questions import UnitText
from annotation.services.seat_numbers import assignment_of
from annotation.services.subjects import subjects_of
from annotation.services.turns import turn

LENGTH = 1000
FOUND = 20  # of a search; who finds more has not searched for much
NAMED = 50  # items of one precedent


@dataclass(frozen=True)
class PrecedentLine:
    """A precedent as it is shown: what it is about, what was decided, and the settled items it names."""

    pk: int
    about: str
    key: str
    text: Words
    version: int | None
    items: tuple[UnitText, ...]
    retired: bool


def settled(items: QuerySet[Any]) -> QuerySet[Any]:
    """Of these items, those whose decision is over: labelled, judged by everybody, frozen, not under discussion."""
    given_again = Assignment.objects.filter(
        item=OuterRef("pk"),
        withdrawn_at__isnull=True,
        answered_at__isnull=True,
        round__state=Round.State.OPEN,
    )
    talking = Thread.objects.filter(item=OuterRef("pk"), resolved_at__isnull=True)
    return (
        items.filter(~Exists(given_again), ~Exists(talking), retired_at__isnull=True)
        .exclude(still_to_come())
        .filter(final_label__isnull=False)
        .exclude(final_label__label="")
        .exclude(final_label__rule=CARRIED.name)  # nobody judged it; its source may be judged still
    )


def add_precedent(
    campaign: Campaign,
    *,
    about: str,
    key: str,
    text_en: str,
    text_zh: str,
    version: int | None = None,
    positions: Sequence[int] = (),
    by: User,
) -> Precedent:
    """Add a precedent. The same again while it stands is the same one.

    Raises ProtocolError for texts, keys or versions that are none, Refused for items that are not settled.
    """
    if about not in Precedent.About.values or key not in subjects_of(campaign).of(about):
        raise ProtocolError(_("Choose what the precedent is about."))
    texts = {"text_en": _checked(text_en), "text_zh": _checked(text_zh)}
    with turn(campaign):
        same = campaign.precedents.filter(about=about, key=key, retired_at__isnull=True, **texts).first()
        if same is not None:
            return same
        items = _settled_at(campaign, positions)
        made = Precedent.objects.create(
            campaign=campaign,
            about=about,
            key=key,
            guideline=_version(campaign, version),
            created_by=by,
            **texts,
        )
        made.items.set(items)
        audit(campaign, by, "precedent added", {"about": about, "key": key, "items": sorted(set(positions))})
    return made


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if "\0" in text:
        raise ProtocolError(_("The text holds U+0000, which cannot be stored."))
    if not text or len(text) > LENGTH:
        raise ProtocolError(_("Write 1 to %(limit)d characters.") % {"limit": LENGTH})
    return text


def _version(campaign: Campaign, version: int | None) -> Guideline | None:
    if version is None:
        return None
    found: Guideline | None = campaign.guidelines.filter(version=version).first()
    if found is None:
        raise ProtocolError(_("There is no such version of the guidelines."))
    return found


def _settled_at(campaign: Campaign, positions: Sequence[int]) -> list[Item]:
    wanted = set(positions)
    if len(wanted) > NAMED:
        raise Refused(_("A precedent names at most %(n)d items.") % {"n": NAMED})
    active = Item.objects.active().filter(campaign=campaign, position__in=wanted)
    found = list(settled(active))
    missing = sorted(wanted - {item.position for item in found})
    if missing:
        raise Refused(
            _(
                "These items are not settled: %(positions)s. A precedent names only items with a final label that "
                "nobody can change any more."
            )
            % {"positions": ", ".join(map(str, missing))}
        )
    return found


def retire_precedent(campaign: Campaign, *, pk: int, by: User) -> None:
    """No longer good law: experts do not find it any more. Done already, it stays so."""
    found = campaign.precedents.filter(pk=pk)
    if not found.exists():
        raise NotYours(_("There is no such precedent in this campaign."))
    with transaction.atomic():
        if found.filter(retired_at__isnull=True).update(retired_at=timezone.now()):
            audit(campaign, by, "precedent taken back", {"precedent": pk})


# Looking


def all_precedents(campaign: Campaign) -> list[PrecedentLine]:
    """Every precedent, those in force first. Two queries."""
    found = list(campaign.precedents.select_related("guideline"))
    return _lines(sorted(found, key=lambda one: one.retired_at is not None))


def precedents_about(
    campaign: Campaign, *, expert_id: int, text: str = "", screen: Mapping[str, Any] | None = None
) -> list[PrecedentLine]:
    """What an expert finds: precedents that hold every word of `text`, or are about the unit on one of their screens.

    Three queries at most.
    """
    if text.split():
        return _lines(_in_force(campaign, text)[:FOUND])
    if screen is None:
        return []
    return _lines(_in_force(campaign).filter(_about(screen, expert_id))[:FOUND])


def precedents_in_force(campaign: Campaign, *, text: str = "") -> list[PrecedentLine]:
    """All that experts may find, or those of them that hold every word of `text`. Two queries."""
    return _lines(_in_force(campaign, text))


def _in_force(campaign: Campaign, text: str = "") -> QuerySet[Precedent]:
    found = campaign.precedents.filter(retired_at__isnull=True).select_related("guideline")
    for word in text.split():
        found = found.filter(Q(key__icontains=word) | Q(text_en__icontains=word) | Q(text_zh__icontains=word))
    return found


def _about(screen: Mapping[str, Any], expert_id: int) -> Q:
    if "compound" not in screen:
        return Q(about=Precedent.About.RELATION, key__in=[row["relation"] for row in screen["rows"]])
    atoms = [text.casefold() for _kind, text in screen["atoms"]]
    first = assignment_of(screen["id"], expert=expert_id)
    pattern = Assignment.objects.filter(pk=first).values("unit__pattern")
    return Q(about=Precedent.About.ATOM, key__in=atoms) | Q(about=Precedent.About.PATTERN, key__in=pattern)


def _lines(found: Iterable[Precedent]) -> list[PrecedentLine]:
    precedents = list(found)
    named: QuerySet[Any] = Item.objects.filter(precedents__in=precedents).annotate(precedent=F("precedents"))
    by_precedent: dict[int, list[Item]] = defaultdict(list)
    for item in settled(named).select_related("unit", "context").order_by("position"):
        by_precedent[item.precedent].append(item)
    return [
        PrecedentLine(
            pk=one.pk,
            about=one.about,
            key=one.key,
            text=Words(one.text_en, one.text_zh or one.text_en),
            version=one.guideline.version if one.guideline else None,
            items=tuple(_text(item) for item in by_precedent[one.pk]),
            retired=one.retired_at is not None,
        )
        for one in precedents
    ]


def _text(item: Item) -> UnitText:
    if item.context is None:
        return UnitText(head=item.head, relation=item.relation, tail=item.tail)
    return UnitText(
        compound=item.unit.compound,
        sentences=[(item.context.source, joined_translation(item.translation))],
    )
