import pytest

from annotation.formats.rows import FileRows
from annotation.formats.triples import TripleRow, read_triples
from tests.annotation.formats.files import csv_table, jsonl_table


def read(*lines: str) -> FileRows[TripleRow]:
    return read_triples(csv_table(*lines))


def places(found: FileRows[TripleRow], kind: str = "errors") -> list[tuple[int | None, str | None]]:
    return [(issue.line, issue.column) for issue in getattr(found, kind)]


def test_it_reads_every_column() -> None:
    found = read(
        "triple_id,head,relation,tail,class,split,label", "t1, it rains ,Causes,wet,cs_head,tst,１.0"
    )
    assert (found.errors, found.warnings) == ((), ())
    (row,) = found.rows
    assert (row.triple_id, row.key.folded, row.head, row.relation, row.tail) == (
        "t1",
        "t1",
        " it rains ",
        "Causes",
        "wet",
    )
    assert (row.item_class, row.split, row.label) == ("cs_head", "test", "1")


@pytest.mark.parametrize("tail", ["null", "NA", "None", "nan", "N/A", "42", "0", "3.10", "1e3", "=1+1"])
def test_it_takes_no_word_or_number_for_anything_but_text(tail: str) -> None:
    assert read("head,relation,tail", f"a,xWant,{tail}").rows[0].tail == tail


def test_it_reports_empty_cells_with_line_and_column() -> None:
    found = read(
        "triple_id,head,relation,tail", "a,,xWant,t", "b,h,,t", "c,h,xWant,", " ,h,xWant,t", "d,h,xWant,t"
    )
    assert places(found) == [(2, "head"), (3, "relation"), (4, "tail"), (5, "triple_id")]


def test_it_reports_relations_that_are_not_spelt_exactly_and_suggests_the_right_spelling() -> None:
    relations = ["xwant", "xWish", " xWant", "XWANT\u200b", "general effect", "general Effect", "HasSubEvent"]
    found = read("head,relation,tail", *[f"a,{name},b{i}" for i, name in enumerate(relations)])
    assert places(found) == [(line, "relation") for line in range(2, 7)]
    suggestions = ["did you mean “xWant”" in issue.message for issue in found.errors]
    assert suggestions == [True, False, True, True, False]
    assert "did you mean “general Effect”" in found.errors[4].message
    assert "general React" in found.errors[1].message


def test_it_keeps_repeated_triples_apart_with_a_warning() -> None:
    found = read("head,relation,tail", "a,xWant,b", "a,xNeed,b", "a,xWant,b", " a\u200b,xWant,b")
    assert places(found, "warnings") == [(4, None), (5, None)]
    assert "line 2" in found.warnings[1].message
    assert len({row.key.folded for row in found.rows}) == 4
    assert found.rows[3].key.given.endswith("(3)")


def test_it_says_in_what_else_equal_triples_differ() -> None:
    found = read(
        "head,relation,tail,class,split,label",
        "it rains,Causes,wet,adv,dev,1",
        "it rains,Causes,wet,cs_head,dev,",
        "it rains,Causes,wet,adv,dev,1",
    )

    assert str(found.warnings[0].message) == (
        "The same triple stands on line 2 already, with class “adv” there and “cs_head” here; label “1” there and "
        "“–” here; it is kept as number 2 of them."
    )
    assert "with" not in str(found.warnings[1].message)


def test_it_lets_ids_tell_equal_triples_apart() -> None:
    found = read("triple_id,head,relation,tail", "1,a,xWant,b", "2,a,xWant,b")
    assert found.errors == ()
    assert [issue.line for issue in found.warnings] == [3]  # two items, and worth a look


def test_it_reports_every_look_alike_id() -> None:
    ids = ["caf\u00e9-1", "cafe\u0301-1", "a01", "a01\u200b", "b 02", "b\u00a002", "a\u206001", "A01"]
    found = read("triple_id,head,relation,tail", *[f"{name},a,xWant,b" for name in ids])
    assert places(found) == [(3, "triple_id"), (5, "triple_id"), (7, "triple_id"), (8, "triple_id")]
    assert [row.triple_id for row in found.rows] == ["caf\u00e9-1", "a01", "b 02", "A01"]


@pytest.mark.parametrize(
    ("text", "split"),
    [("tst", "test"), ("TEST ", "test"), ("dev", "dev"), ("trn", "train"), ("train", "train"), ("", None)],
)
def test_it_reads_splits_under_one_name(text: str, split: str | None) -> None:
    assert read("head,relation,tail,split", f"a,xWant,b,{text}").rows[0].split == split


@pytest.mark.parametrize(
    ("text", "label"),
    [("1", "1"), ("0", "0"), ("0.0", "0"), ("True", "1"), ("false", "0"), (" １ ", "1"), ("", None)],
)
def test_it_reads_final_labels(text: str, label: str | None) -> None:
    assert read("head,relation,tail,label", f"a,xWant,b,{text}").rows[0].label == label


@pytest.mark.parametrize(
    ("column", "text"), [("label", "0.5"), ("label", "2"), ("label", "yes"), ("split", "validation")]
)
def test_it_reports_labels_and_splits_that_are_none(column: str, text: str) -> None:
    assert places(read(f"head,relation,tail,{column}", f"a,xWant,b,{text}")) == [(2, column)]


def test_it_keeps_unknown_classes_and_warns_once_of_each() -> None:
    found = read(
        "head,relation,tail,class", "a,xWant,b,Adv", "a,xWant,c,Adv", "a,xWant,d,adv", "a,xWant,e,new"
    )
    assert places(found, "warnings") == [(2, "class"), (5, "class")]
    assert [row.item_class for row in found.rows] == ["Adv", "Adv", "adv", "new"]


def test_it_reads_json_numbers_booleans_and_missing_members() -> None:
    found = read_triples(
        jsonl_table(
            {"triple_id": 7, "head": "a", "relation": "xWant", "tail": 42, "label": True},
            {"head": "a", "relation": "xWant", "tail": "b"},
            {"triple_id": 8, "head": "a", "relation": "xWant", "tail": None},
        )
    )
    assert [(row.triple_id, row.tail, row.label) for row in found.rows] == [("7", "42", "1")]
    assert places(found) == [(2, "triple_id"), (3, "tail")]


def test_it_reports_several_problems_of_one_row() -> None:
    assert places(read("head,relation,tail,split,label", ",xWish,b,x,y")) == [
        (2, "head"),
        (2, "relation"),
        (2, "split"),
        (2, "label"),
    ]
