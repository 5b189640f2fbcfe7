import pytest

from annotation.formats.cells import excerpt, fold_header, is_blank, whole_number
from annotation.formats.columns import match_columns, match_item_columns, records
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.keys import compound_key, id_key, triple_key, unit_key
from annotation.protocol.compound import COMPOUND
from annotation.protocol.triple import TRIPLE
from tests.annotation.formats.files import csv_table, jsonl_table


def test_it_matches_names_trimmed_of_every_space_and_without_case() -> None:
    header = (" Compound ", "SOURCE", "translation\u00a0", "\u200bType\u3000", "Ｓystem", "remarkz", "")
    matched = match_item_columns(header, COMPOUND)
    assert matched.given == {
        " Compound ": "compound",
        "SOURCE": "source",
        "translation\u00a0": "translation",
        "\u200bType\u3000": "type",
        "Ｓystem": "system",
    }
    assert matched.unknown == ("remarkz", "(column 7, without a name)")
    assert matched.places["type"] == 3


def test_it_names_the_letter_of_another_script_in_a_name() -> None:
    with pytest.raises(FormatError) as error:
        match_columns(("triple_id", "h\u0435ad", "tail"), known=("head", "tail"), needed=("head", "tail"))
    assert error.value.message.endswith(
        "“h\u0435ad” holds “\u0435” (U+0435), which is no letter of head; type the name anew."
    )


def test_it_lists_what_was_found_and_what_is_needed_where_a_column_is_missing() -> None:
    with pytest.raises(FormatError) as caught:
        match_item_columns(("head", "x" * 5000, "relation"), TRIPLE)
    assert "lacks the column tail" in caught.value.message
    assert "“head”" in caught.value.message
    assert "head, relation, tail" in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("header", "read_as", "said"),
    [
        (("a", "b"), None, "The file lacks the columns x, y. It has “a”, “b”."),
        (("a", "X"), None, "The file lacks the column y. It has “a”, “X”; needed are x, y."),
        (("a", "X"), {"z": "y"}, "The file lacks the column z. It has “a”, “X”; needed are x, z."),
    ],
)
def test_what_is_needed_is_said_where_it_is_more_than_what_is_missing(
    header: tuple[str, ...], read_as: dict[str, str] | None, said: str
) -> None:
    with pytest.raises(FormatError) as refusal:
        match_columns(header, known=("x", "y"), needed=("x", "y"), read_as=read_as)
    assert refusal.value.message == said


def test_one_column_that_is_needed_is_named_once() -> None:
    with pytest.raises(FormatError) as refusal:
        match_columns(("a",), known=("x",), needed=("x",), read_as={"z": "x"})
    assert refusal.value.message == "The file lacks the column z. It has “a”."


def test_it_reads_one_column_as_another() -> None:
    matched = match_columns(
        ("LABEL1 ", "label"), known=("label",), needed=("label",), read_as={"label1": "label"}
    )
    assert (matched.given, matched.unknown) == ({"LABEL1 ": "label"}, ("label",))
    with pytest.raises(FormatError, match="lacks the column label9"):
        match_columns(("label1",), known=("label",), needed=("label",), read_as={"label9": "label"})


def test_it_gives_rows_by_canonical_names_and_numbers_them() -> None:
    table = csv_table(" Tail ,x,HEAD,relation", "t1,,h1,r1", "bad", "t2,,h2,r2")
    found = list(records(table, match_item_columns(table.header, TRIPLE)))
    assert [(r.line, r.number, r.cells.get("tail"), len(r.problems)) for r in found] == [
        (2, 1, "t1", 0),
        (3, 2, None, 1),
        (4, 3, "t2", 0),
    ]


def test_it_minds_nested_values_only_in_columns_that_are_read() -> None:
    good = {"head": "h", "relation": "xWant", "tail": "t", "meta": {"by": [1]}}
    table = jsonl_table(good, {**good, "tail": ["t"]})
    matched = match_columns(table.header, known=("head", "tail"), needed=("head",))
    found = list(records(table, matched))
    assert [[p.column for p in r.problems] for r in found] == [[], ["tail"]]


def test_it_names_problems_by_the_canonical_column() -> None:
    table = csv_table(" HEAD ,relation,tail", "a\0b,xWant,t")
    (found,) = records(table, match_item_columns(table.header, TRIPLE))
    assert found.problems[0].column == "head"


@pytest.mark.parametrize("text", [None, "", " ", "\u3000\u00a0\t\r\n", "\u200b\ufeff \u2060"])
def test_it_knows_blank_cells(text: str | None) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["0", "NA", "null", " x ", "。"])
def test_it_takes_words_and_zeros_for_text(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("３", 3),
        ("3.0", 3),
        (" 3 ", 3),
        ("+3", 3),
        ("3.", 3),
        ("03", 3),
        ("3.5", None),
        ("-1", None),
    ],
)
def test_it_reads_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["x", "1e2", "1_000", "99999999999", "NaN", ""])
def test_it_reads_no_number_into_other_text(text: str) -> None:
    assert whole_number(text) is None


def test_it_quotes_long_and_invisible_text_short_and_visible() -> None:
    quoted = excerpt("\0\u202e" * 1_000_000)
    assert len(quoted) == 121
    assert quoted.startswith("\\x00\\u202e")
    assert excerpt("那个 <b>") == "那个 <b>"


def test_it_says_where_an_issue_is() -> None:
    assert str(RowIssue(7, "tail", "It is empty.")) == "line 7, column “tail”: It is empty."
    assert str(FormatError("The file is empty.")) == "The file is empty."
    assert FormatError("m", line=2, column="c").as_issue() == RowIssue(2, "c", "m")


def test_it_compares_ids_as_people_see_them() -> None:
    pairs = [
        ("caf\u00e9-1", "cafe\u0301-1"),
        ("a01", "a01\u200b"),
        ("b 02", "b\u00a002"),
        ("１", " 1 "),
        ("x\ufeff", "x"),
    ]
    assert [id_key(a).folded == id_key(b).folded for a, b in pairs] == [True] * len(pairs)
    assert id_key("a\u200b").given == "a\u200b"
    assert id_key("a1").folded != id_key("A1").folded


def test_it_derives_distinct_keys_that_can_be_indexed() -> None:
    keys = [
        triple_key("a", "b", "c", occurrence=1),
        triple_key("a", "b", "c", occurrence=2),
        triple_key("a | b", "", "c", occurrence=1),
        compound_key("the dog", 3, occurrence=1),
        compound_key("the dog", None, occurrence=3),
        compound_key("the dog", 3, occurrence=2),
        triple_key("那" * 50_000 + "1", "b", "c", occurrence=1),
        triple_key("那" * 50_000 + "2", "b", "c", occurrence=1),
        id_key("x" * 140_000),
    ]
    assert len({key.folded for key in keys}) == len(keys)
    assert max(len(key.folded.encode()) for key in keys) < 2_704
    assert all(len(key.given) < 220 for key in keys if key.derived)
    assert len(unit_key("那" * 50_000)) < 700


def test_it_folds_headers_idempotently() -> None:
    assert fold_header(fold_header(" İTEM ")) == fold_header(" İTEM ")
