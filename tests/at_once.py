"""Two who act at the same moment, each in a thread and on a connection of its own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from django.db import connection, transaction

from annotation.services.errors import KeptAside, NotYours, Refused

Act = Callable[[], object]


def at_once(*acts: Act) -> list[object]:
    """What each returned, in their order."""

    def alone(act: Act) -> object:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(alone, acts))


def while_in_work(first: Act, second: Act) -> Sequence[object]:
    """The second begins when the first has written all it writes and not yet committed it."""
    written = Event()

    def slow() -> object:
        with transaction.atomic():
            told = first()
            written.set()
            time.sleep(0.4)  # the second comes as far as the rows that the first holds
        return told

    def after() -> object:
        assert written.wait(10)
        return second()

    return at_once(slow, after)


def told(word: str, act: Act) -> Act:
    """The act, which returns the word, or that it was refused."""

    def tried() -> str:
        try:
            act()
        except KeptAside:
            return "aside"
        except (Refused, NotYours):
            return "refused"
        return word

    return tried
