"""Django's SQLite backend, with a queue of writers.

Every transaction is a writing one here (`transaction_mode: IMMEDIATE`): its outermost BEGIN takes the turn, and
commit, rollback or close gives it up. Single statements outside a transaction do not queue; they have SQLite's
own way of waiting.
"""

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteWrapper

from config.sqlite.queue import WriterQueue


class DatabaseWrapper(SQLiteWrapper):
    """One connection, and its place in the queue.

    The methods that it extends are Django's hooks for backends, which the type stubs leave out.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._queue = WriterQueue()

    def _start_transaction_under_autocommit(self) -> None:
        self._take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._queue.leave()
            raise

    def _take_turn(self) -> None:
        if self.is_in_memory_db():
            return
        path = _queue_of(self.settings_dict["NAME"])
        timeout = self.settings_dict["OPTIONS"].get("timeout", 5)
        try:
            self._queue.enter(path, timeout=timeout)
        except TimeoutError:
            raise OperationalError(f"Another transaction held the database for {timeout} seconds.") from None
        except OSError as error:
            raise OperationalError(f"The queue of writers cannot be opened: {error}") from error

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._queue.leave()  # not reached after a commit that failed: the rollback that follows does it

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._queue.leave()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._queue.leave()


@lru_cache
def _queue_of(database: str | Path) -> Path:
    """The file in which the writers of a database wait: resolved, two spellings of one path are one queue."""
    return Path(os.path.realpath(database) + "-queue")
