"""METEOR 1.5 as `pycocoevalcap` carries it: a Java program that is asked line by line.

The program gives 23 counts for each sentence, of which six sums are all that its score is made of: matches weighted by
how they match and by whether a word is a function word (on both sides), the weighted lengths, chunks, matched words.
Summed over sentences they give its own total to the last digits, so that sentences can be drawn anew without asking it
again. Its options are those of `pycocoevalcap`: English, with its normalisation (`-norm`), which lower-cases.

Source: Denkowski and Lavie (2014), Meteor Universal, WMT; parameters for English as in the program.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from select import select
from threading import Timer
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.sentences import say

Floats = NDArray[np.float64]

JAR = "meteor/meteor-1.5.jar"
NO_JAVA = say(
    "METEOR needs Java, which was not found. Install a Java runtime (Debian, Ubuntu: apt-get install "
    "default-jre-headless), then score again."
)
START_SECONDS = 600.0  # it reads its paraphrases first, which takes a busy machine minutes
SIGN_SECONDS = 5.0  # between two signs of life while it is waited for
BATCH, BATCH_SECONDS = 100, 120.0  # sentences, and how long they may take
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75
_WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])  # exact, stem, synonym, paraphrase
_COUNTS = 23
_CLOSE = 1e-6


class MeteorFailed(Exception):
    """METEOR gave no score; `message` says why, as a sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def java() -> str | None:
    """Where Java is."""
    return shutil.which("java")


def java_version(program: str) -> str:
    """Its version as it says it; "unknown" where it says none.

    >>> java_version("/nowhere/java")
    'unknown'
    """
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    found = re.search(r'version "([^"]+)"', said.stderr + said.stdout)
    return found[1] if found else "unknown"


def meteor(sums: Floats) -> Floats:
    """(…, 6) sums as `meteor_rows` gives them to (…, 1) scores times 100; 0 where nothing matches.

    >>> float(meteor(np.array([2.0, 2.0, 2.0, 2.0, 0.0, 2.0]))[0])  # all words, in one stretch
    100.0
    """
    matched, found, length, wanted, chunks, words = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    precision, recall = _ratio(matched, length), _ratio(found, wanted)
    mean = _ratio(precision * recall, _ALPHA * precision + (1 - _ALPHA) * recall)
    score = mean * (1 - _GAMMA * _ratio(chunks, words) ** _BETA)
    return np.asarray(100 * score[..., None], dtype=np.float64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole != 0)


def meteor_row(counts: Sequence[float]) -> Floats:
    """The program's 23 counts of one sentence to the six that are summed.

    A sentence that matches as a whole adds no chunk to a total, as in the program.

    >>> said = "2 2 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 1 2 2"
    >>> meteor_row([float(count) for count in said.split()]).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.0, 2.0]
    """
    length, wanted, function, wanted_function = counts[:4]
    # By stage: content words of the hypothesis and of the reference, function words of both.
    stages = np.array(counts[4:20]).reshape(4, 4)
    chunks, matched_words, found_words = counts[20:]
    whole = chunks == 1 and matched_words == length and found_words == wanted
    return np.array(
        [
            _WEIGHTS @ (_DELTA * stages[:, 0] + (1 - _DELTA) * stages[:, 2]),
            _WEIGHTS @ (_DELTA * stages[:, 1] + (1 - _DELTA) * stages[:, 3]),
            _DELTA * (length - function) + (1 - _DELTA) * function,
            _DELTA * (wanted - wanted_function) + (1 - _DELTA) * wanted_function,
            0.0 if whole else chunks,
            (matched_words + found_words) / 2,
        ]
    )


def meteor_rows(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    program: str,
    progress: Callable[[int], None],
) -> Floats:
    """(sentences, 6) what each adds to METEOR's sums.

    Args:
        hypotheses, references: texts of any kind; program: where Java is; progress: is told how many are done, also
            while the program lets one wait.

    Raises:
        MeteorFailed: the program is not there, does not start, dies, does not answer in time, or counts otherwise.
    """
    rows: list[Floats] = []
    lines: list[str] = []
    with _Program([program, *_options()], cwd=_folder(), alive=lambda: progress(len(rows))) as asked:
        for start in range(0, len(hypotheses), BATCH):
            asked.allow(START_SECONDS if not start else BATCH_SECONDS)
            for place in range(start, min(start + BATCH, len(hypotheses))):
                lines.append(asked.ask(_line(hypotheses[place], references[place])))
                rows.append(meteor_row(_counts(lines[-1])))
            progress(len(rows))
        asked.allow(START_SECONDS)
        total = asked.total(lines)
    found = np.stack(rows)
    if abs(float(meteor(found.sum(axis=0))[0]) / 100 - total) > _CLOSE:
        raise MeteorFailed(say("METEOR's own total differs from that of its counts; another version of it?"))
    return found


def _options() -> list[str]:
    return ["-jar", "-Xmx2G", Path(JAR).name, "-", "-", "-stdio", "-l", "en", "-norm"]


def _folder() -> Path:
    found = find_spec("pycocoevalcap")
    jar = (
        None
        if found is None or not found.submodule_search_locations
        else (Path(found.submodule_search_locations[0]) / JAR)
    )
    if jar is None or not jar.is_file():
        raise MeteorFailed(say("METEOR's program does not come with the pycocoevalcap that is installed."))
    return jar.parent


def _line(hypothesis: str, references: Sequence[str]) -> str:
    """What separates the texts of a line may not stand in one."""
    texts = [text.replace("|||", " ") for text in (*references, hypothesis)]
    return " ||| ".join(["SCORE", *(" ".join(text.split()) for text in texts)])


def _counts(line: str) -> list[float]:
    try:
        counts = [float(count) for count in line.split()]
    except ValueError:
        counts = []
    if len(counts) != _COUNTS:
        raise MeteorFailed(say("METEOR stopped in the middle; score again."))
    return counts


class _Program:
    """METEOR while it runs. It is killed where an answer takes longer than was last allowed; `alive` is called every
    few seconds while it is waited for.
    """

    def __init__(self, command: Sequence[str], *, cwd: Path, alive: Callable[[], None]) -> None:
        self._timer: Timer | None = None
        self._late = False
        self._alive = alive
        self._read_ahead = b""
        try:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        except OSError as error:
            raise MeteorFailed(
                say(
                    "METEOR could not be started: {strerror}.",
                    strerror=error.strerror or type(error).__name__,
                )
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # what was still to be written has no reader any more

    def allow(self, seconds: float) -> None:
        """From now on everything until the next call may take so long together."""
        self._cancel()
        self._timer = Timer(seconds, self._give_up)
        self._timer.daemon = True
        self._timer.start()

    def ask(self, line: str) -> str:
        """One line of it, for one of ours."""
        self._write(line)
        return self._read()

    def total(self, lines: Sequence[str]) -> float:
        """Its own score of all sentences with these counts; before it the scores of each."""
        self._write(" ||| ".join(["EVAL", *lines]))
        for _line in lines:
            self._read()
        try:
            return float(self._read())
        except ValueError:
            raise self._stopped() from None

    def _write(self, line: str) -> None:
        stream, left = self._stream(self._process.stdin), f"{line}\n".encode()
        try:
            while left:
                left = left[stream.write(left) :]
        except (OSError, ValueError):
            raise self._stopped() from None

    def _read(self) -> str:
        stream = self._stream(self._process.stdout)
        while b"\n" not in self._read_ahead:
            ready, _, _ = select([stream], [], [], SIGN_SECONDS)
            if not ready:
                self._alive()
                continue
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                raise self._stopped()
            self._read_ahead += piece
        line, self._read_ahead = self._read_ahead.split(b"\n", 1)
        return line.decode("utf-8", "replace").strip()

    def _stream(self, stream: IO[bytes] | None) -> IO[bytes]:
        if stream is None:
            raise self._stopped()
        return stream

    def _stopped(self) -> MeteorFailed:
        if self._late:
            return MeteorFailed(say("METEOR did not answer in time and was stopped; score again."))
        return MeteorFailed(say("METEOR stopped in the middle; score again."))

    def _give_up(self) -> None:
        self._late = True
        self._process.kill()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
