"""Pictures say their texts in another language, where the machine has letters for it."""

import warnings
from typing import Any

import pytest

from annotation.protocol.sentences import Sentence
from scoring import figures
from scoring.figures import draw

DATA: dict[str, dict[str, Any]] = {
    "artifacts": {
        "points": [
            {"word": "happy", "n": 30, "percent": 100.0, "beyond": True},
            {"word": "letter", "n": 5, "percent": 40.0, "beyond": False},
        ],
        "curve": [{"n": 1, "lower": 0.0, "upper": 100.0}, {"n": 40, "lower": 30.0, "upper": 70.0}],
    },
    "comparison": {
        "systems": ["base"],
        "rows": [{"compound": f"dog {row}", "percent": [20.0]} for row in range(figures.NAMED_ROWS + 1)],
    },
    "precision-recall": {
        "title": "tiny",
        "base": 50.0,
        "points": [{"recall": 100.0, "precision": 50.0}],
    },
    "reliability": {
        "title": "tiny",
        "bins": [{"mean_score": 0.5, "percent": 50.0, "ci95": [40.0, 60.0]}],
    },
}
TEXTS = {"artifacts": 6, "comparison": 2, "precision-recall": 3, "reliability": 3}

needs_chinese = pytest.mark.skipif(
    figures._fonts() == [figures.LATIN], reason="no Chinese font is installed here"
)


@pytest.mark.parametrize("kind", DATA)
def test_every_text_is_said_in_the_language_of_the_picture(kind: str) -> None:
    asked: list[str] = []

    def loud(text: str) -> str:
        asked.append(text)
        return text.upper()

    draw(kind, DATA[kind], "svg", translate=loud)

    assert len(asked) == TEXTS[kind]
    assert all(isinstance(text, Sentence) for text in asked)


def test_a_text_that_no_font_can_show_stays_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "_fonts", lambda: [figures.LATIN])
    english = draw("reliability", DATA["reliability"], "svg")
    assert draw("reliability", DATA["reliability"], "svg", translate=lambda text: f"图 {text}") == english
    assert draw("reliability", DATA["reliability"], "svg", translate=str.upper) != english


@needs_chinese
def test_a_chinese_picture_holds_its_letters() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a letter that no font has
        pdf = draw("reliability", DATA["reliability"], "pdf", translate=lambda _text: "合理（%）")
    assert b"/Type3" in pdf
    assert b"/FontFile" not in pdf  # outlines of OpenType in a place for TrueType would not open everywhere


@needs_chinese
def test_a_chinese_name_in_an_english_picture_is_drawn_as_well() -> None:
    named = {"systems": ["译文系统"], "rows": [{"compound": "the dog", "percent": [20.0]}]}
    assert b"/FontFile" not in draw("comparison", named, "pdf")
    assert b"/FontFile2" in draw("comparison", {**named, "systems": ["base"]}, "pdf")
