"""The queue in which writers of one SQLite file wait.

SQLite lets one connection write at a time and makes the others try again after pauses that grow, so whoever
has just written tends to win again: with eight busy writers some waited four seconds for a transaction of a
third of a millisecond. Here the threads of one process pass the turn on by a lock of their own, at once, and
processes wait on a file lock at an even pace.
"""

import fcntl
import os
import threading
import time
from collections import defaultdict
from pathlib import Path

PAUSE = 0.0005  # seconds; an even pace is what keeps it fair

_turns: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)  # among the threads of this process
os.register_at_fork(after_in_child=_turns.clear)  # whoever held one there does not live here


class WriterQueue:
    """One connection's place in the queue of a database file.

    The lock belongs to an open file, not to a process: two connections exclude each other whether they live in
    two threads or in two processes, and the kernel lets go of it when its holder is killed.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._turn = threading.Lock()
        self._owner = 0

    def enter(self, path: Path, *, timeout: float) -> None:
        """Wait for the turn; TimeoutError when it does not come within `timeout` seconds."""
        self.leave()
        deadline = time.monotonic() + timeout
        turn = _turns[path]
        if not turn.acquire(timeout=timeout):
            raise TimeoutError
        try:
            file = _locked(path, deadline)
        except BaseException:
            turn.release()
            raise
        self._file, self._turn, self._owner = file, turn, os.getpid()

    def leave(self) -> None:
        """Let the next one in; nothing happens where the turn was not taken.

        A process that was forked in mid-transaction holds the same open file: it closes its copy and leaves the
        lock to its parent.
        """
        if self._file is None:
            return
        file, self._file = self._file, None
        if self._owner == os.getpid():
            fcntl.flock(file, fcntl.LOCK_UN)
            self._turn.release()
        os.close(file)


def _locked(path: Path, deadline: float) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _lock(file, deadline)
    except BaseException:
        os.close(file)
        raise
    return file


def _lock(file: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(PAUSE)
        else:
            return
