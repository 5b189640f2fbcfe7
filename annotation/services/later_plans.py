"""A later batch before it is given out: who is given what, part by part, and what comes again among it."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotation.models import Assignment, Part, User
from annotation.protocol.chance import fingerprint
from annotation.services.layout import UnitRows
from annotation.services.mixed_repeats import Among, NewScreen

Rows = list[Assignment]  # of one screen


@dataclass(frozen=True, kw_only=True)
class PartShare:
    """What one expert is given in one of their parts: new items of units that they have there."""

    part: Part
    slot: int
    units: tuple[UnitRows, ...]
    screens: tuple[Rows, ...]  # in the expert's own drawn order, not stored and without a place

    @property
    def n_items(self) -> int:
        return sum(unit.n_items for unit in self.units)

    @property
    def new_screens(self) -> list[NewScreen]:
        context = {
            item: (unit.pk, number)
            for unit in self.units
            for number, items in enumerate(unit.contexts)
            for item in items
        }
        return [
            NewScreen(
                self.part.pk,
                tuple(sorted(Counter(context[row.item_id] for row in rows).values(), reverse=True)),
            )
            for rows in self.screens
        ]


@dataclass(frozen=True, kw_only=True)
class LaterShare:
    """What one expert is given: new items, part by part, and what comes again among them."""

    expert: User
    name: str  # the pseudonym
    parts: tuple[PartShare, ...]
    among: Among = field(default_factory=Among)

    @property
    def n_items(self) -> int:
        return sum(share.n_items for share in self.parts)

    @property
    def n_again(self) -> int:
        """Units that come again."""
        return len(self.among.repeats)

    @property
    def n_items_again(self) -> int:
        return sum(len(screen.assignments) for screen, _before in self.among.repeats)


@dataclass(frozen=True, kw_only=True)
class LaterPlan:
    """A later batch before it is given out: `again` per cent of what its experts judged before come beside it."""

    again: float
    seed: int
    n_units: int = 0
    n_items: int = 0
    shares: tuple[LaterShare, ...] = ()
    absent: tuple[str, ...] = ()  # who has left, so that others take their places

    @property
    def n_again(self) -> int:
        return sum(share.n_again for share in self.shares)

    @property
    def n_asked(self) -> int:
        """Screens that the share comes to; as many come again, or as many as there are."""
        return sum(share.among.asked for share in self.shares)

    @property
    def n_items_again(self) -> int:
        """Judgements that are asked for a second time."""
        return sum(share.n_items_again for share in self.shares)

    @property
    def judged(self) -> int:
        """Screens that its experts judged before."""
        return sum(share.among.judged for share in self.shares)

    @property
    def distance(self) -> int:
        """Units between an original and its repeat, at least, over all experts."""
        return min((share.among.distance for share in self.shares if share.n_again), default=0)

    @cached_property
    def hash(self) -> str:
        """Equal only for plans that give the same to the same people in the same order."""
        return fingerprint(
            {
                "again": self.again,
                "seed": self.seed,
                "shares": [
                    {
                        "expert": share.expert.username_folded,
                        "parts": [
                            [one.part.index, one.slot, [[unit.key, unit.n_items] for unit in one.units]]
                            for one in share.parts
                        ],
                        "again": [
                            [screen.key, screen.position, list(screen.assignments), at]
                            for screen, at in share.among.repeats
                        ],
                    }
                    for share in self.shares
                ],
            }
        )

    def as_json(self) -> dict[str, Any]:
        """What `assign_parts --json` tells of it."""
        return {
            "n_items": self.n_items,
            "n_units": self.n_units,
            "again_percent": self.again,
            "seed": self.seed,
            "n_asked": self.n_asked,
            "n_again": self.n_again,
            "n_items_again": self.n_items_again,
            "distance": self.distance,
            "absent": list(self.absent),
            "shares": {
                share.expert.username: {
                    "n_items": share.n_items,
                    "n_again": share.n_again,
                    "n_items_again": share.n_items_again,
                }
                for share in self.shares
            },
            "hash": self.hash if self.n_items else None,
        }
