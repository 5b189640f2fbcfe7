"""The answers to one screen, as they are sent and as they are acknowledged.

What is sent names rows by the numbers that its expert knows (`seat_numbers`); here they are primary keys again.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


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

    screen: int  # as `screens` name it: the assignment that stands first on it
    client_key: UUID
    answers: tuple[Answer, ...]
    timing: Timing = field(default_factory=Timing)
    reference_seen: bool | None = None
    guideline: int | None = None  # the version before the expert; None: the last one they know
    conditions: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The same for the same answers, however often they are sent; times do not count."""
        body = {"screen": self.screen, "answers": [vars(answer) for answer in self.answers]}
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Saved:
    """An acknowledged answer: this assignment now stands at this revision."""

    assignment: int  # the number by which its expert knows it
    revision: int
