"""What was done in a campaign, looked up: who, when, what, what was there before and after.

People stand under their pseudonyms, in the entries too; who asks for names is written down by the page.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.formats.writers import Cell
from annotation.models import AuditEntry, Campaign, Membership
from annotation.services.moves import MOVED
from annotation.services.named_records import with_names

PAGE = 50
CHUNK = 2000
HIDDEN = "–"  # the name of somebody who has no place here
BY_PSEUDONYM = frozenset({MOVED, "late items given out"})  # entries that name people by their pseudonyms
COLUMNS = ("at", "who", "action", "before", "after", "detail")

# Actions that are a change of one state to another; their entries need not say so.
TRANSITIONS: Mapping[str, tuple[str, str]] = {
    "account closed": ("open", "closed"),
    "account reopened": ("closed", "open"),
    "batch closed": ("open", "closed"),
    "batch opened again": ("closed", "open"),
    "campaign closed": ("open", "closed"),
    "campaign opened again": ("closed", "open"),
    "campaign archived": ("closed", "archived"),
    "campaign taken out of the archive": ("archived", "closed"),
    "item withdrawn": ("counts", "withdrawn"),
    "item restored": ("withdrawn", "counts"),
    "part given back": ("handed in", "open"),
    "round opened again": ("closed", "open"),
    "round closed": ("open", "closed"),
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which entries: of one person (by their place in the campaign), of one action, of one day."""

    member: int | None = None
    action: str = ""
    day: date | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One action. `changes` are (what, before, after), `facts` the rest of what was written down."""

    pk: int
    at: datetime
    who: str  # a pseudonym, "" for the command line
    action: str
    changes: tuple[tuple[str, Any, Any], ...]
    facts: tuple[tuple[str, Any], ...]  # pairs: a fact may be called “items”


@dataclass(frozen=True, kw_only=True)
class Trail:
    """A page of entries, the latest first, and the key before which the next begins; None on the last."""

    entries: tuple[Entry, ...] = ()
    next_before: int | None = None


def trail(campaign: Campaign, wanted: Wanted, *, before: int | None = None, names: bool = False) -> Trail:
    """Fifty entries. Two queries, whatever the campaign's age. Pages are cut by key, which never moves."""
    people = _People.of(campaign, names=names)
    rows = _rows(campaign, wanted, people)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PAGE + 1])
    entries = tuple(_entry(row, people) for row in found[:PAGE])
    return Trail(entries=entries, next_before=found[PAGE - 1].pk if len(found) > PAGE else None)


def actions_of(campaign: Campaign) -> list[str]:
    """The actions there are entries of."""
    people = _People.of(campaign, names=False)
    rows = _rows(campaign, Wanted(), people).order_by("action")
    return list(rows.values_list("action", flat=True).distinct())


def export_rows(campaign: Campaign, wanted: Wanted) -> Iterator[list[Cell]]:
    """Everything that was asked for, the latest first, in `COLUMNS`; people under their pseudonyms."""
    people = _People.of(campaign, names=False)
    for row in _rows(campaign, wanted, people).iterator(CHUNK):
        entry = _entry(row, people)
        before = {name: old for name, old, _new in entry.changes}
        after = {name: new for name, _old, new in entry.changes}
        yield [
            entry.at.isoformat(timespec="seconds"),
            entry.who,
            entry.action,
            _as_text(before),
            _as_text(after),
            _as_text(dict(entry.facts)),
        ]


def _as_text(record: Mapping[str, Any]) -> str | None:
    return json.dumps(record, ensure_ascii=False, sort_keys=True) if record else None


@dataclass(frozen=True)
class _People:
    """How people are called: by their account's key and by their account's name."""

    by_user: Mapping[int, str]
    by_name: Mapping[str, str]
    by_pseudonym: Mapping[str, str]
    by_member: Mapping[int, int]

    @classmethod
    def of(cls, campaign: Campaign, *, names: bool) -> "_People":
        rows = list(
            Membership.objects.filter(campaign=campaign).values_list(
                "pk", "user", "user__username", "pseudonym"
            )
        )
        called = {
            user: f"{pseudonym} ({name})" if names else pseudonym for _pk, user, name, pseudonym in rows
        }
        return cls(
            called,
            {name: called[user] for _pk, user, name, _pseudonym in rows},
            {pseudonym: called[user] for _pk, user, _name, pseudonym in rows},
            {pk: user for pk, user, *_rest in rows},
        )

    def called(self, name: str) -> str:
        return self.by_name.get(name, HIDDEN)

    def known_as(self, pseudonym: str) -> str:
        return self.by_pseudonym.get(pseudonym, HIDDEN)


def _rows(campaign: Campaign, wanted: Wanted, people: _People) -> QuerySet[AuditEntry]:
    """Entries of the campaign, and those about the accounts of its people, which belong to no campaign."""
    of_accounts = Q(campaign__isnull=True, detail__person__in=list(people.by_name))
    rows = AuditEntry.objects.filter(Q(campaign=campaign) | of_accounts)
    if wanted.member is not None:
        rows = rows.filter(actor=people.by_member.get(wanted.member, 0))
    if wanted.action:
        rows = rows.filter(action=wanted.action)
    if wanted.day:
        begin = timezone.make_aware(datetime.combine(wanted.day, time.min))
        end = timezone.make_aware(datetime.combine(wanted.day, time.max))
        rows = rows.filter(at__gte=begin, at__lte=end)
    return rows.order_by("-pk")


def _entry(row: AuditEntry, people: _People) -> Entry:
    detail = with_names(row.detail, people.known_as if row.action in BY_PSEUDONYM else people.called)
    if detail.get("person") == detail.get("pseudonym"):  # told once, where names are hidden
        detail.pop("person", None)
    changes, facts = _split(row.action, detail)
    who = "" if row.actor_id is None else people.by_user.get(row.actor_id, HIDDEN)
    return Entry(
        pk=row.pk, at=row.at, who=who, action=row.action, changes=changes, facts=tuple(facts.items())
    )


def _split(action: str, detail: Mapping[str, Any]) -> tuple[tuple[tuple[str, Any, Any], ...], dict[str, Any]]:
    """What changed, and what else was written down."""
    changes: list[tuple[str, Any, Any]] = []
    facts: dict[str, Any] = {}
    for name, value in detail.items():
        if name in ("before", "after"):
            continue
        if action in ("settings changed", "text corrected") and isinstance(value, list):
            changes.append((name, *value))
        else:
            facts[name] = value
    if "after" in detail:
        changes += _pairs(detail.get("before"), detail["after"])
        facts = {name: value for name, value in facts.items() if name not in {key for key, *_ in changes}}
    elif action in TRANSITIONS:
        changes.append(("state", *TRANSITIONS[action]))
    return tuple(changes), facts


def _pairs(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    if isinstance(after, Mapping):
        earlier = before if isinstance(before, Mapping) else {}
        return [(name, earlier.get(name), value) for name, value in after.items()]
    return [("value", before, after)]
