"""What a service says when it cannot do what was asked."""

from collections.abc import Sequence


class Refused(Exception):
    """The state of things forbids it; `message` says why and what to do instead.

    `options` names the options that decide it, for who asked with a command: the sentence is for everybody.
    """

    def __init__(self, message: str, *, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.options = options


class OutOfRange(Refused):
    """A number was asked for that nothing here can ever have: a wrong call, whatever the state of things."""


class NotYours(Refused):
    """There is no such thing among what this person may touch; says nothing about what exists elsewhere."""


class SignedOut(NotYours):
    """Who asks is signed in no more: their account was closed, or their password changed, after they signed in."""


class KeptAside(Refused):
    """The answer came too late to count; it is kept and shown to the manager."""


class NotAcknowledged(Refused):
    """What is new in the guidelines has to be read, and that confirmed, first."""


class NoticeUnread(Refused):
    """What is recorded of somebody's work has to be read, and that confirmed, first."""


class KeyReused(Refused):
    """A client key came again with another body: two different answers under one name."""


class Stale(Refused):
    """The answer was given to an older revision; `current` holds what is stored now."""

    def __init__(self, message: str, current: list[dict[str, object]]) -> None:
        super().__init__(message)
        self.current = current
