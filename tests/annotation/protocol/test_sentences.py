"""Sentences that are said again in another language."""

import copy
import json

from annotation.formats.errors import FormatError, RowIssue
from annotation.protocol.sentences import Sentence, from_data, say, say_count

CHINESE = {
    "Line {line}: {message}": "第 {line} 行：{message}",
    "The cell is empty.": "单元格为空。",
    "{n} row was skipped.": "已跳过 {n} 行。",
}


def gettext(text: str) -> str:
    return CHINESE[text]


def ngettext(one: str, _many: str, _n: int) -> str:
    return CHINESE[one]


def chinese(sentence: Sentence) -> str:
    return sentence.translated(gettext, ngettext)


def test_it_is_english_and_remembers_its_template() -> None:
    sentence = say("Line {line}: {message}", line=3, message=say("The cell is empty."))
    assert sentence == "Line 3: The cell is empty."
    assert chinese(sentence) == "第 3 行：单元格为空。"


def test_it_agrees_with_its_number() -> None:
    one, two = (say_count("{n} row was skipped.", "{n} rows were skipped.", n=n) for n in (1, 2))
    assert (one, two) == ("1 row was skipped.", "2 rows were skipped.")
    assert (chinese(one), chinese(two)) == ("已跳过 1 行。", "已跳过 2 行。")


def test_values_are_no_templates() -> None:
    sentence = say("Line {line}: {message}", line=1, message="{line} {0} %(x)s")
    assert sentence == "Line 1: {line} {0} %(x)s"
    assert chinese(sentence) == "第 1 行：{line} {0} %(x)s"


def test_it_survives_being_copied_and_kept_as_json() -> None:
    sentence = say("Line {line}: {message}", line=2, message=say("The cell is empty."))
    kept = from_data(json.loads(json.dumps(sentence.as_data())))
    for again in (copy.deepcopy(sentence), kept):
        assert again == sentence
        assert chinese(again) == "第 2 行：单元格为空。"


def test_an_error_names_its_place_in_a_sentence_too() -> None:
    error = FormatError(say("The cell is empty."), line=2, column="tail")
    assert str(error) == "line 2, column “tail”: The cell is empty."
    assert isinstance(error.sentence, Sentence)
    assert isinstance(error.sentence.values["message"], Sentence)
    assert str(RowIssue(None, None, "The file is empty.")) == "The file is empty."
