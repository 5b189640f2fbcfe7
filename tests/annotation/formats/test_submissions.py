"""Files of predictions and translations: numbers in every spelling, and what is refused."""

from typing import Any

import pytest

from annotation.formats.errors import FormatError
from annotation.formats.rows import FileRows
from annotation.formats.submissions import SubmittedRow, read_submission
from annotation.formats.tables import read_table


def read(text: str, *, protocol: str = "triple", **options: Any) -> FileRows[SubmittedRow]:
    return read_submission(read_table(text.encode(), name="sent.csv"), protocol=protocol, **options)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("0.0", 0.0),
        ("1.0", 1.0),
        ("1", 1.0),
        (" .5 ", 0.5),
        ("-3.25", -3.25),
        ("1e-3", 0.001),
        ("０.７", 0.7),
    ],
)
def test_it_reads_numbers_as_text(text: str, score: float) -> None:
    [row] = read(f"triple_id,prediction\nt1,{text}\n").rows

    assert (row.score, row.translation, row.line, row.number) == (score, None, 2, 1)
    assert row.key is not None
    assert row.key.folded == "t1"


@pytest.mark.parametrize("text", ["yes", "nan", "inf", "1e999", '"0,5"', "0x1"])
def test_it_names_the_line_of_what_is_no_number(text: str) -> None:
    found = read(f"triple_id,prediction\nt1,1\nt2,{text}\n")

    [issue] = found.errors
    assert (issue.line, issue.column) == (3, "prediction")
    assert "is not a number" in issue.message


def test_it_refuses_an_empty_prediction_and_an_id_that_comes_twice() -> None:
    found = read("triple_id,prediction\nt1,\nt2,1\nt2 ,0\n")

    assert [(issue.line, issue.column) for issue in found.errors] == [(2, "prediction"), (4, "triple_id")]
    assert "stands on line 3 already" in found.errors[1].message


def test_it_lets_rows_with_equal_texts_share_a_key() -> None:
    found = read("head,relation,tail,prediction\nit rains,Causes,mud,1\nit rains,Causes,mud,0\n")

    assert not found.errors
    first, second = (row.key for row in found.rows)
    assert first is not None
    assert first == second
    assert first.derived


def test_it_reads_another_column_in_place_of_the_prediction() -> None:
    [row] = read("label1,prediction\n1,0.2\n", column="label1", by_position=True).rows

    assert (row.score, row.key, row.texts) == (1.0, None, {})


def test_it_needs_something_that_names_the_item() -> None:
    with pytest.raises(FormatError, match="must be read by position"):
        read("prediction\n1\n")
    with pytest.raises(FormatError, match="both item_id and triple_id"):
        read("item_id,triple_id,prediction\na,a,1\n")
    with pytest.raises(FormatError, match="lacks the column prediction"):
        read("triple_id,score\na,1\n")


def test_it_reads_translations_an_empty_one_with_a_warning() -> None:
    found = read("compound,context_no,translation\nthe dog,1,狗笑了。\nthe dog,2,\n", protocol="compound")

    assert [row.translation for row in found.rows] == ["狗笑了。", ""]
    assert [(issue.line, issue.column) for issue in found.warnings] == [(3, "translation")]
    assert found.rows[0].texts == {"compound": "the dog", "context_no": "1"}


def test_it_refuses_an_empty_name_or_number_of_a_context() -> None:
    found = read("compound,context_no,translation\n,1,狗\nthe dog,first,狗\n", protocol="compound")

    assert [(issue.line, issue.column) for issue in found.errors] == [(2, "compound"), (3, "context_no")]
