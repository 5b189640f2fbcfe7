import pytest

from annotation.formats.compounds import read_compounds
from annotation.formats.errors import FormatError
from annotation.formats.judgements import JudgementRow, read_judgements
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from tests.annotation.formats.files import csv_table, workbook


def places(found: FileRows[JudgementRow], kind: str = "errors") -> list[tuple[int | None, str | None]]:
    return [(issue.line, issue.column) for issue in getattr(found, kind)]


def compound(*lines: str) -> FileRows[JudgementRow]:
    return read_judgements(csv_table(*lines), protocol="compound")


def test_it_reads_every_column() -> None:
    found = compound(
        "item_id,Annotator,label,seconds,note,revision,system,run,extra",
        "d1, Lin ,Correct,12.5, hm ,２,base,1,x",
    )
    (row,) = found.rows
    assert found.unknown_columns == ("extra",)
    assert (row.key is not None and row.key.folded, row.annotator, row.label) == ("d1", " Lin ", "1")
    assert (row.seconds, row.note, row.revision, row.system, row.run) == (12.5, " hm ", 2, "base", "1")


@pytest.mark.parametrize("text", ["1", "correct", "CORRECT ", "正确", "１", "1.0", "true", "True"])
def test_it_reads_every_spelling_of_a_verdict(text: str) -> None:
    assert compound("item_id,annotator,label", f"d1,a,{text}").rows[0].label == "1"


@pytest.mark.parametrize(
    ("text", "label"), [("1", "1"), ("0.5", "0.5"), ("sometimes", "0.5"), ("never", "0"), ("often", "1")]
)
def test_it_reads_the_words_of_the_scale(text: str, label: str) -> None:
    found = read_judgements(csv_table("triple_id,annotator,label", f"t1,a,{text}"), protocol="triple")
    assert found.rows[0].label == label


def test_a_detail_beside_another_answer_than_the_third_is_left_out() -> None:
    lines = ("triple_id,annotator,label,detail", "t1,a,1,never", "t2,a,0.5,invalid", "t3,a,0,never")
    found = read_judgements(csv_table(*lines), protocol="triple")
    assert [row.detail for row in found.rows] == ["", "", "never"]
    assert places(found, "warnings") == [(2, "detail"), (3, "detail")]


def test_it_reports_labels_annotators_and_ids_that_are_empty_or_wrong() -> None:
    found = compound(
        "item_id,annotator,label", "d1,a,", "d2,,1", ",a,1", "d4,a,0.5", "d5,a,perhaps", "d6,a,0"
    )
    assert places(found) == [(2, "label"), (3, "annotator"), (4, "item_id"), (5, "label"), (6, "label")]
    assert "0.5" in found.errors[3].message
    assert (found.n_rows, len(found.rows)) == (6, 1)


def test_it_reports_a_second_label_of_one_expert_unless_it_is_a_revision() -> None:
    header = "item_id,annotator,label,revision"
    found = compound(
        header, "d1,Lin,1,", "d1,wei,1,", "d1\u200b,lin,0,", "d2,Lin,1,1", "d2,Lin,0,2", "d2,Lin,0,2.0"
    )
    assert places(found) == [(4, "item_id"), (7, "item_id")]
    assert "line 2" in found.errors[0].message


def test_it_tells_the_outputs_of_systems_apart() -> None:
    found = compound("item_id,annotator,label,system", "d1,a,1,x", "d1,a,0,y")
    assert found.errors == ()


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1_0", "1e3", "twelve"])
def test_it_reports_times_that_are_none(text: str) -> None:
    found = compound("item_id,annotator,label,seconds", f"d1,a,1,{text}")
    assert places(found) == [(2, "seconds")]
    assert "from 0 to 999999999" in found.errors[0].message


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x"])
def test_it_reports_revisions_that_are_none(text: str) -> None:
    assert places(compound("item_id,annotator,label,revision", f"d1,a,1,{text}")) == [(2, "revision")]


def test_it_takes_the_annotator_it_is_told_where_the_file_has_no_such_column() -> None:
    found = read_judgements(csv_table("item_id,label", "d1,1"), protocol="compound", annotator="lin")
    assert [row.annotator for row in found.rows] == ["lin"]


def test_it_gives_no_row_without_a_name_to_the_annotator_it_is_told() -> None:
    table = csv_table("item_id,annotator,label", "d1,,1", "d2,wei,1", "d3,\u200b,0")
    found = read_judgements(table, protocol="compound", annotator="lin")
    assert places(found) == [(2, "annotator"), (4, "annotator")]
    assert [row.annotator for row in found.rows] == ["wei"]


def test_it_reads_a_column_of_labels_by_position() -> None:
    table = csv_table("Label1", "1", "0", "1")
    found = read_judgements(table, protocol="triple", annotator="a", column="label1", by_position=True)
    assert [(row.number, row.line, row.label, row.key) for row in found.rows] == [
        (1, 2, "1", None),
        (2, 3, "0", None),
        (3, 4, "1", None),
    ]


def test_it_names_the_missing_column() -> None:
    with pytest.raises(FormatError, match=r"lacks the column label2. It has “label1”"):
        read_judgements(
            csv_table("label1", "1"), protocol="triple", annotator="a", column="label2", by_position=True
        )


def test_it_skips_items_an_expert_did_not_judge_in_a_wide_file_with_ids_only() -> None:
    lines = ("item_id,A1,A2", "d1,1,0", "d2,,1", "d3,1,")
    found = read_judgements(csv_table(*lines), protocol="compound", annotator="A1", column="A1")
    assert [(row.label, row.line) for row in found.rows] == [("1", 2), ("1", 4)]
    assert "1 row" in found.warnings[0].message
    by_position = read_judgements(
        csv_table(*lines), protocol="compound", annotator="A1", column="A1", by_position=True
    )
    assert places(by_position) == [(3, "A1")]


def test_it_needs_to_know_which_item_a_row_belongs_to() -> None:
    with pytest.raises(FormatError, match="by position"):
        read_judgements(csv_table("annotator,label", "a,1"), protocol="triple")
    with pytest.raises(FormatError, match="both item_id and triple_id"):
        compound("item_id,triple_id,annotator,label", "1,2,a,1")


def test_it_derives_keys_from_texts_and_lets_repeated_triples_take_rows_in_order() -> None:
    lines = (
        "head,relation,tail,annotator,label",
        "h,xWant,t,a,1",
        "h,xWant,t,b,0",
        "h,xWant,t,a,0.5",
        "h,xWant,,a,1",
    )
    found = read_judgements(csv_table(*lines), protocol="triple")
    keys = [row.key.folded for row in found.rows if row.key]
    assert (keys[0] == keys[1], keys[0] == keys[2]) == (True, False)
    assert places(found) == [(5, "tail")]
    assert found.rows[0].texts == {"head": "h", "relation": "xWant", "tail": "t"}


def test_it_derives_the_same_keys_as_the_items_have() -> None:
    items = read_compounds(
        csv_table("compound,context_no,source,translation", "the dog,1,the dog,x", "the dog,2,the dog,x")
    )
    found = compound("compound,context_no,annotator,label", "the dog,2.0,a,1", "the dog,x,a,1")
    assert found.rows[0].key == items.rows[1].key
    assert places(found) == [(3, "context_no")]


def test_it_keeps_a_zero_of_a_workbook_a_zero() -> None:
    data = workbook(["item_id", "label", "annotator"], [1, 0, "a"], [2, 1.0, "a"], [None, 1, "a"])
    found = read_judgements(read_table(data, name="t.xlsx"), protocol="compound")
    assert [(row.key and row.key.given, row.label) for row in found.rows] == [("1", "0"), ("2", "1")]
    assert places(found) == [(4, "item_id")]


def test_it_names_columns_as_the_file_does() -> None:
    found = compound("item_id, Annotator,VERDICT,label", "d1,,1,1", "d2,a,1,perhaps")
    assert places(found) == [(2, " Annotator"), (3, "label")]
    named = read_judgements(
        csv_table("item_id,annotator,Verdict", "d1,a,perhaps"), protocol="compound", column="verdict"
    )
    assert places(named) == [(2, "Verdict")]


@pytest.mark.parametrize("name", ["dry_run", "resolution", "rejudgement", "spot_check"])
def test_it_says_that_other_rounds_have_no_way_in(name: str) -> None:
    found = compound("item_id,annotator,label,round", f"d1,lin,1,{name}", "d2,lin,1,main")
    (warning,) = found.warnings
    assert len(found.rows) == 1
    assert warning.message.startswith(
        f"1 row belongs to a round “{name}”; it was skipped. Only judgements of"
    )
    assert "labels made of them are those before that round" in warning.message
    assert "by themselves" not in warning.message


def test_it_says_to_import_repeats_by_themselves() -> None:
    found = compound("item_id,annotator,label,round", "d1,lin,1,repeat", "d2,lin,1,main")
    assert "Import each round's rows by themselves." in found.warnings[0].message
