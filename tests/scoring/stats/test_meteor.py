"""METEOR: the same figures as the library's wrapper, and a program that dies, hangs or counts otherwise."""

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import pytest

from scoring.stats import meteor
from scoring.stats.meteor import MeteorFailed, java, meteor_row, meteor_rows

PERFECT = "2.0 2.0 1.0 1.0 1.0 1.0 1.0 1.0 " + "0.0 " * 12 + "1.0 2.0 2.0"


def stand_in(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program in METEOR's place."""
    script = folder / "java"
    script.write_text(f"#!{sys.executable}\nimport sys, time\n{body}")
    script.chmod(0o755)
    monkeypatch.setattr(meteor, "_folder", lambda: folder)
    return str(script)


ANSWERING = f"""
for line in sys.stdin:
    if line.startswith("SCORE"):
        print("{PERFECT}", flush=True)
    else:
        for _ in range(line.count("|||")):
            print("1.0")
        print(TOTAL, flush=True)
"""


def rows(program: str, n: int = 3) -> object:
    return meteor_rows(["to eat"] * n, [["to eat", "x"]] * n, program=program, progress=lambda done: None)


def test_it_equals_the_librarys_own_wrapper(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    program = java()
    if program is None:
        pytest.skip("METEOR needs Java")
    from pycocoevalcap.meteor.meteor import Meteor

    chance = random.Random(3)
    words = [
        "to",
        "eat",
        "eats",
        "food",
        "dog",
        "dogs",
        "ran",
        "quickly",
        "a",
        "the",
        "PersonX's",
        "can't",
        ".",
        "|",
    ]
    hypotheses = [" ".join(chance.choices(words, k=chance.randint(1, 7))) for _ in range(40)]
    references = [
        [hypotheses[place]] if place % 9 == 0 else [" ".join(chance.choices(words, k=5)) for _ in range(3)]
        for place in range(40)
    ]
    wanted: list[tuple[float, list[float]]] = []

    class Asked(meteor._Program):
        """The same program asked by the library's own wrapper too, before it ends: it takes long to start."""

        def total(self, lines: Sequence[str]) -> float:
            own = super().total(lines)
            wrapper = Meteor.__new__(Meteor)
            wrapper.meteor_p, wrapper.lock = self._process, Lock()
            gts, res = dict(enumerate(references)), {place: [one] for place, one in enumerate(hypotheses)}
            wanted.append(wrapper.compute_score(gts, res))
            return own

    monkeypatch.setattr(meteor, "_Program", Asked)

    found = meteor_rows(hypotheses, references, program=program, progress=lambda done: None)

    ((whole, each),) = wanted
    assert float(meteor.meteor(found.sum(axis=0))[0]) == pytest.approx(100 * whole, abs=1e-6)
    assert meteor.meteor(found)[:, 0].tolist() == pytest.approx([100 * one for one in each], abs=1e-6)


def test_a_program_that_answers_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in(tmp_path, ANSWERING.replace("TOTAL", "1.0"), monkeypatch)

    found = meteor_rows(["to eat"] * 250, [["to eat"]] * 250, program=program, progress=lambda done: None)

    assert found.shape == (250, 6)
    assert float(meteor.meteor(found.sum(axis=0))[0]) == pytest.approx(100)


def test_signs_of_life_come_while_the_program_lets_one_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = ANSWERING.replace("TOTAL", "1.0").replace(
        "for line in sys.stdin:", "time.sleep(0.5)\nfor line in sys.stdin:", 1
    )
    program = stand_in(tmp_path, slow, monkeypatch)
    monkeypatch.setattr(meteor, "SIGN_SECONDS", 0.05)
    seen: list[int] = []

    meteor_rows(["to eat"], [["to eat"]], program=program, progress=seen.append)

    assert seen.count(0) > 2
    assert seen[-1] == 1


def test_a_program_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in(tmp_path, "time.sleep(600)", monkeypatch)
    monkeypatch.setattr(meteor, "START_SECONDS", 0.5)
    before = time.monotonic()

    with pytest.raises(MeteorFailed, match="did not answer in time"):
        rows(program)
    assert time.monotonic() - before < 60


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(1)", "stopped in the middle"),
        ("sys.stdin.readline(); print('1 2 3', flush=True); time.sleep(60)", "stopped in the middle"),
        ("sys.stdin.readline(); print('no counts', flush=True); time.sleep(60)", "stopped in the middle"),
        (ANSWERING.replace("TOTAL", "0.5"), "another version"),
    ],
)
def test_a_program_that_dies_or_counts_otherwise_gives_a_sentence(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = stand_in(tmp_path, body, monkeypatch)

    with pytest.raises(MeteorFailed, match=words):
        rows(program)


def test_a_program_that_cannot_be_started_gives_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meteor, "_folder", lambda: tmp_path)

    with pytest.raises(MeteorFailed, match="could not be started"):
        rows(str(tmp_path / "nothing"))


def test_what_separates_texts_stands_in_none() -> None:
    assert meteor._line("a ||| b\nc", ["x\u2028y"]) == "SCORE ||| x y ||| a b c"


def test_a_sentence_that_matches_as_a_whole_adds_no_chunk() -> None:
    assert meteor_row([float(one) for one in PERFECT.split()])[4] == 0
