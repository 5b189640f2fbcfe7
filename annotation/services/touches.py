"""Which items a change of the guidelines touches: of some relations, patterns, atoms or positions."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from annotation.models import Campaign, Item
from annotation.protocol.sentences import say
from annotation.services.errors import Refused

MOST_POSITIONS = 2000
_RANGE = re.compile(r"([0-9]{1,9})(?:[-–]([0-9]{1,9}))?")


def touched(touches: Mapping[str, Any]) -> Q:
    """The items that a change is about: of these relations, patterns, atoms or positions. Nothing named, none."""
    found = Q(relation__in=touches.get("relations", []))
    found |= Q(unit__pattern__in=touches.get("patterns", []))
    found |= Q(position__in=touches.get("items", []))
    for atom in touches.get("atoms", []):
        # A unit's atoms are a list of lists; in its text, a whole string between quotes is one atom.
        found |= Q(atoms_as_text__icontains=json.dumps(atom))
    return found


def touched_items(campaign: Campaign, touches: Mapping[str, Any]) -> QuerySet[Item]:
    """The items that count of those a change is about."""
    return with_atoms(Item.objects.active().filter(campaign=campaign)).filter(touched(touches))


def with_atoms(items: QuerySet[Item]) -> QuerySet[Item]:
    """Items of which `touched` can tell whether they hold an atom."""
    return items.alias(atoms_as_text=Cast("unit__atoms", TextField()))


def positions_in(text: str) -> list[int]:
    """The positions of “3, 7, 12-15”, each once, in order; Refused for what is no position."""
    found: set[int] = set()
    for word in re.split(r"[\s,;，；、]+", text.strip()):
        if not word:
            continue
        match = _RANGE.fullmatch(word)
        if not match:
            raise Refused(say("“{word}” is no position; write numbers such as 3, 7, 12-15.", word=word[:40]))
        first = int(match[1])
        last = int(match[2] or first)
        if last < first or last - first >= MOST_POSITIONS or len(found) > MOST_POSITIONS:
            raise Refused(say("Name at most {n} positions, the lower one first.", n=MOST_POSITIONS))
        found.update(range(first, last + 1))
    return sorted(found)


def positions_text(positions: Sequence[int]) -> str:
    """The opposite, one by one."""
    return ", ".join(str(position) for position in positions)
