"""Generations: equal to the library's own commands, and what is said where something is missing."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from annotation.protocol.errors import ProtocolError
from scoring.stats import generation, meteor
from scoring.stats.generation import FAMILIES, Scored, prepared, score_generations

WORDS = [
    *(
        "PersonX",
        "to",
        "go",
        "eat",
        "the",
        "a",
        "home",
        "with",
        "friend",
        "happy",
        "be",
        "feel",
        "and",
        "dinner",
    ),
    *("make", "money", "work", "hard", "get", "up", "sleep", "none"),
]


def real_shaped(n: int, *, hypotheses: int = 1) -> tuple[list[list[str]], list[list[str]]]:
    """Hypotheses and references like those of a commonsense test set: short, several references, mixed case."""
    chance = random.Random(7)

    def text() -> str:
        return " ".join(chance.choices([*WORDS, *(f"Word{i}" for i in range(200))], k=chance.randint(1, 8)))

    references = [[text() for _ in range(chance.randint(1, 6))] for _ in range(n)]
    said = [
        [" ".join([*chance.choice(of).split()[:3], text()]) for _ in range(hypotheses)] for of in references
    ]
    return said, references


def figures(found: Scored) -> dict[str, float]:
    return {
        measure: float(value)
        for family in FAMILIES
        if family.name in found.rows
        for measure, value in zip(
            family.measures, family.of_sums(found.rows[family.name].sum(axis=0)), strict=True
        )
    }


def library(said: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """What the library's own commands give, each hypothesis under a key of its own as in published scripts."""
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    keys = [(i, j) for i, of in enumerate(said) for j in range(len(of))]
    gts = {key: [" ".join(text.lower().split()) for text in references[key[0]]] for key in keys}
    res = {(i, j): [" ".join(said[i][j].lower().split())] for i, j in keys}
    bleu, _ = Bleu(4).compute_score(gts, res, verbose=0)
    return {
        **{f"bleu{order}": 100 * value for order, value in enumerate(bleu, start=1)},
        "rouge_l": 100 * float(Rouge().compute_score(gts, res)[0]),
        "cider": 100 * float(Cider().compute_score(gts, res)[0]),
    }


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "java", lambda: None)


@pytest.mark.usefixtures("no_java")
def test_the_first_hypothesis_scores_as_by_the_librarys_own_commands() -> None:
    said, references = real_shaped(150, hypotheses=3)
    wanted = library([of[:1] for of in said], references)

    found = score_generations(said, references)

    assert figures(found) == pytest.approx(wanted, abs=1e-6)
    assert 10 < wanted["bleu2"] < 90


@pytest.mark.usefixtures("no_java")
def test_every_hypothesis_scores_as_by_the_librarys_own_commands() -> None:
    said, references = real_shaped(60, hypotheses=3)
    said[5] = said[5][:1]  # not every question has as many
    wanted = library(said, references)

    found = score_generations(said, references, every=True)

    assert figures(found) == pytest.approx(wanted, abs=1e-6)
    assert {len(rows) for rows in found.rows.values()} == {60}
    assert "|hyps:all|n:60|hypotheses:178|" in found.signature


@pytest.mark.usefixtures("no_java")
def test_case_counts_only_where_asked() -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    said, references = [["to EAT"], ["x"]], [["to eat"], ["x"]]

    lower = figures(score_generations(said, references))["bleu1"]
    mixed = figures(score_generations(said, references, cased=True))["bleu1"]

    assert round(lower, 2) == 100
    assert round(mixed, 2) == 66.67


@pytest.mark.usefixtures("no_java")
def test_without_java_meteor_has_no_figure_and_says_what_to_install() -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")

    found = score_generations(*real_shaped(3))

    assert set(found.rows) == {"bleu", "rouge_l", "cider"}
    assert found.undefined == {"meteor": meteor.NO_JAVA}
    assert "Install a Java runtime" in found.undefined["meteor"]
    assert found.signature.endswith("|meteor:none")


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "find_spec", lambda name: None)

    with pytest.raises(ProtocolError, match=r"pip install pycocoevalcap==1\.2") as caught:
        score_generations(*real_shaped(3))
    assert "Nothing was scored" in caught.value.message


@pytest.mark.usefixtures("no_java")
def test_progress_is_told_throughout_and_reaches_its_end() -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    seen: list[tuple[int, int]] = []

    score_generations(*real_shaped(450), progress=lambda done, total: seen.append((done, total)))

    assert seen[-1] == (1800, 1800)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len(seen) > 9  # BLEU, ROUGE-L and CIDEr each tell more than once


def test_a_question_without_a_hypothesis_is_a_fault_of_the_caller() -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    with pytest.raises(ValueError, match="a hypothesis and a reference"):
        score_generations([["x"], []], [["x"], ["y"]])


def test_blanks_of_every_kind_are_one() -> None:
    assert prepared("To\u2028eat \x1c food\n", cased=True) == "To eat food"


def test_bleu_of_nothing_right_is_nought_and_never_undefined() -> None:
    found = generation.bleu(np.zeros((2, 10)))

    assert np.isfinite(found).all()
    assert found.max() < 1e-3
