"""Files of benchmarks and of what models say to them: what is read, and every way in which a row does not fit."""

from collections.abc import Callable

import pytest

from annotation.formats import downstream
from annotation.formats.downstream import (
    CHOICE,
    GENERATION,
    Fitted,
    Question,
    fit,
    read_answers,
    read_benchmark,
    read_choices,
    read_generations,
    read_references,
    read_responses,
)
from annotation.formats.errors import FormatError, MissingColumns, RowIssue
from annotation.formats.rows import FileRows, Table
from annotation.formats.tables import read_table
from annotation.protocol.text import fold_key
from tests.annotation.formats.files import csv_table, jsonl_table

REFERENCES = "head,relation,reference"

NO_OPTIONS = (
    "The benchmark names no options: a choice that is spelled otherwise than the right one counts as wrong."
)


def where(issues: tuple[RowIssue, ...]) -> list[tuple[int | None, str | None]]:
    return [(issue.line, issue.column) for issue in issues]


def references(*lines: str) -> FileRows[Question]:
    return read_references(csv_table(REFERENCES, *lines))


def answers(*lines: str) -> FileRows[Question]:
    return read_answers(csv_table("question_id,gold,options,skill", *lines))


def generations(*lines: str, header: str = "head,relation,hypothesis") -> Fitted:
    known = references("eat,xWant,sleep", "eat,xWant,rest", "run,xEffect,sweat").rows
    return fit(GENERATION, read_generations(csv_table(header, *lines)), known)


def choices(*lines: str) -> Fitted:
    known = answers('q1,A,"[""A"", ""B""]",time', "q2,B,,").rows
    return fit(CHOICE, read_choices(csv_table("question_id,choice", *lines)), known)


# Benchmarks


def test_rows_of_one_pair_are_one_question_with_several_references() -> None:
    found = references("eat,xWant,sleep", "run,xEffect,sweat", "eat ,xWant,rest")

    assert [(one.texts, one.gold, one.group) for one in found.rows] == [
        (("eat", "xWant"), ("sleep", "rest"), "xWant"),
        (("run", "xEffect"), ("sweat",), "xEffect"),
    ]
    assert found.errors == found.warnings == ()


def test_a_list_of_references_is_read_from_json_and_from_a_cell() -> None:
    rows = read_references(
        jsonl_table({"head": "eat", "relation": "xWant", "references": ["sleep", "rest"]})
    ).rows
    cells = read_references(csv_table("head,relation,references", 'eat,xWant,"[""sleep"", ""rest""]"')).rows

    assert [row.gold for row in rows] == [row.gold for row in cells] == [("sleep", "rest")]


def test_a_reference_that_comes_twice_counts_twice_with_a_warning() -> None:
    found = references("eat,xWant,sleep", "eat,xWant,sleep ")

    assert found.rows[0].gold == ("sleep", "sleep ")
    assert where(found.warnings) == [(3, "reference")]


def test_of_many_references_of_one_pair_each_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []

    def fold(text: str) -> str:
        folded.append(text)
        return fold_key(text)

    monkeypatch.setattr(downstream, "fold_key", fold)
    found = references(*(f"eat,xWant,sleep {number}" for number in range(300)), "eat,xWant,sleep 7")

    assert where(found.warnings) == [(302, "reference")]
    assert len(folded) < 6 * 301


@pytest.mark.parametrize(
    ("line", "column"),
    [(",xWant,sleep", "head"), ("eat,,sleep", "relation"), ("eat,xWant, ", "reference")],
)
def test_an_empty_cell_of_a_benchmark_is_named(line: str, column: str) -> None:
    found = references("run,xEffect,sweat", line)

    assert where(found.errors) == [(3, column)]


@pytest.mark.parametrize("cell", ["sleep", '"[]"', '"[""""]"', '"{""a"": 1}"', '"[[""a""]]"', '"[null]"'])
def test_what_is_no_list_of_texts_is_named(cell: str) -> None:
    found = read_references(csv_table("head,relation,references", f"eat,xWant,{cell}"))

    assert where(found.errors) == [(2, "references")]


@pytest.mark.parametrize("cell", ['"[""\\ud800""]"', '"[""sleep"", ""rest\\udfff""]"'])
def test_half_a_character_in_a_list_is_named(cell: str) -> None:
    """An escape can say it, PostgreSQL and METEOR cannot take it, and a board with it would never be made."""
    found = read_references(csv_table("head,relation,references", f"eat,xWant,{cell}"))
    rows = (f"eat,xWant,{cell}", 'run,xEffect,"[""sweats""]"')
    said = generations(*rows, header="head,relation,hypotheses")

    assert where(found.errors) == [(2, "references")]
    assert where(said.errors) == [(2, "hypotheses")]
    assert "half of a surrogate pair" in found.errors[0].message


def test_a_list_elsewhere_stays_an_error() -> None:
    found = read_references(jsonl_table({"head": ["eat"], "relation": "xWant", "references": ["sleep"]}))

    assert where(found.errors) == [(1, "head")]


def test_a_file_with_both_columns_or_neither_is_refused() -> None:
    with pytest.raises(FormatError, match="keep one of the two columns"):
        read_references(csv_table("head,relation,reference,references", "eat,xWant,sleep,"))
    with pytest.raises(MissingColumns, match="reference"):
        read_references(csv_table("head,relation", "eat,xWant"))


def test_answers_hold_options_and_skill_where_there_are_any() -> None:
    found = answers('q1,A,"[""A"", ""B""]",time', "q2,B,,")

    assert [(one.gold, one.options, one.group) for one in found.rows] == [
        (("A",), ("A", "B"), "time"),
        (("B",), (), ""),
    ]


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ("q2,,,", (3, "gold"), "no gold option"),
        (",A,,", (3, "question_id"), "is needed"),
        ("q1,A,,", (3, "question_id"), "stands on line 2 already"),
        ('q2,C,"[""A"", ""B""]",', (3, "gold"), "“C” is none of the question's options: “A”, “B”"),
        ('q2,A,"[""A"", ""Ａ""]",', (3, "options"), "two or more"),
        ('q2,A,"[""A""]",', (3, "options"), "two or more"),
    ],
)
def test_a_question_that_cannot_be_scored_is_named(line: str, place: tuple[int, str], words: str) -> None:
    found = answers("q1,A,,", line)

    assert where(found.errors) == [place]
    assert words in found.errors[0].message


# What models say


def test_generations_are_fitted_to_their_pairs_in_any_order() -> None:
    found = generations("run,xEffect,sweats", "eat,xWant,nap", "eat,xWant,drink")

    assert found.errors == ()
    assert list(found.said.values()) == [("sweats",), ("nap", "drink")]
    assert "between 1 and 2" in found.warnings[0].message


def test_a_list_of_hypotheses_is_read() -> None:
    table = jsonl_table(
        {"head": "eat", "relation": "xWant", "hypotheses": ["nap", "drink"]},
        {"head": "run", "relation": "xEffect", "hypotheses": ["sweat", "tire"]},
    )
    known = references("eat,xWant,sleep", "run,xEffect,sweat").rows

    found = fit(GENERATION, read_generations(table), known)

    assert found.errors == found.warnings == ()
    assert list(found.said.values()) == [("nap", "drink"), ("sweat", "tire")]


def test_a_pair_without_reference_and_one_without_hypothesis_are_named() -> None:
    found = generations("eat,xWant,nap", "fly,xEffect,lands")

    assert where(found.errors) == [(3, "head"), (None, None)]
    assert "no reference for “fly | xEffect”" in found.errors[0].message
    assert "“run | xEffect”" in found.errors[1].message


def test_columns_are_named_as_the_file_names_them() -> None:
    found = generations("eat,xWant,nap", "fly,xEffect,x", header=" HEAD ,Relation,Hypothesis")

    assert found.errors[0].column == " HEAD "


def test_an_empty_hypothesis_is_named_and_nothing_is_called_missing_beside_it() -> None:
    found = generations("eat,xWant,nap", "run,xEffect,")

    assert where(found.errors) == [(3, "hypothesis")]


def test_rows_that_are_wrong_and_then_questions_that_are_missing_are_named_at_once() -> None:
    generated = generations("eat,xWant,", "fly,xEffect,")
    chosen = choices("q1,", "q9,")

    assert where(generated.errors) == [(2, "hypothesis"), (3, "hypothesis"), (3, "head"), (None, None)]
    assert "“run | xEffect”" in generated.errors[-1].message
    assert where(chosen.errors) == [(2, "choice"), (3, "choice"), (3, "question_id"), (None, None)]
    assert "“q2”" in chosen.errors[-1].message


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "question_id,choice\nq1,A, because\n", 2),
        ("a.csv", "question_id,choice\nq2,A\nq1\n", 3),
        ("a.csv", "question_id,choice\n,A\n", 2),
        ("a.jsonl", '{"question_id": "q2", "choice": "A"}\n{"question_id": "q1", "question_id": "q1"}\n', 2),
        ("a.jsonl", '{"question_id": ["q1"], "choice": "A"}\n', 1),
    ],
)
def test_nothing_is_called_missing_while_a_row_says_no_question(name: str, text: str, line: int) -> None:
    known = answers("q1,A,,", "q2,A,,").rows

    (error,) = fit(CHOICE, read_choices(read_table(text.encode(), name=name)), known).errors

    assert error.line == line


def test_a_pair_that_cannot_be_read_may_be_the_one_that_is_missing() -> None:
    assert where(generations("eat,xWant,nap", "swim,,wet").errors) == [(3, "relation")]


def test_an_unknown_question_that_stands_twice_is_told_once() -> None:
    found = choices("q1,A", "q2,A", "q9,A", "q9,A")

    assert where(found.errors) == [(4, "question_id"), (5, "question_id")]
    assert "no question “q9”" in found.errors[0].message
    assert "stands on line 4 already" in found.errors[1].message


def test_of_many_rows_that_cannot_be_read_the_missing_questions_stay_capped() -> None:
    known = references(*(f"h{i},xWant,sleep" for i in range(30))).rows
    broken = csv_table("head,relation,hypothesis", *(f"g{i},xWant," for i in range(30)))

    found = fit(GENERATION, read_generations(broken), known)

    assert len(found.errors) == 2 * 30 + 21


def test_a_question_answered_twice_keeps_its_first_answer() -> None:
    found = choices("q1,A", "q1,", "q2,B")

    assert where(found.errors) == [(3, "choice"), (3, "question_id")]
    assert found.said["q1"] == ("A",)


@pytest.mark.parametrize(
    ("kind", "read", "header", "hint"),
    [
        (
            GENERATION,
            read_responses,
            "question_id,choice",
            "what a model chooses, for a benchmark of choices",
        ),
        (
            CHOICE,
            read_responses,
            " HEAD,relation,Hypotheses",
            "what a model generates, for a benchmark of generations",
        ),
        (CHOICE, read_responses, "question_id,gold", "a benchmark of choices, with its right options"),
        (
            GENERATION,
            read_responses,
            "head,relation,reference",
            "a benchmark of generations, with its references",
        ),
        (
            CHOICE,
            read_benchmark,
            "head,relation,references",
            "a benchmark of generations, with its references",
        ),
        (
            GENERATION,
            read_benchmark,
            "head,relation,hypothesis",
            "what a model generates, for a benchmark of gen",
        ),
        (
            GENERATION,
            read_benchmark,
            "question_id,gold,skill",
            "a benchmark of choices, with its right options",
        ),
        (CHOICE, read_benchmark, "question_id,choice", "what a model chooses, for a benchmark of choices"),
    ],
)
def test_a_file_of_another_kind_is_told_by_its_columns(
    kind: str, read: Callable[[Table, str], object], header: str, hint: str
) -> None:
    row = ",".join("x" for _ in header.split(","))
    with pytest.raises(MissingColumns, match=f"These are the columns of {hint}"):
        read(csv_table(header, row), kind)


def test_columns_that_are_missing_are_named_once() -> None:
    with pytest.raises(MissingColumns) as refusal:
        read_choices(csv_table("head,relation,hypothesis", "eat,xWant,nap"))
    assert refusal.value.message == (
        "The file lacks the columns question_id, choice. It has “head”, “relation”, “hypothesis”. These are the "
        "columns of what a model generates, for a benchmark of generations."
    )
    with pytest.raises(MissingColumns) as refusal:
        read_choices(csv_table("id,answer", "q1,A"))
    assert "These are" not in refusal.value.message


def test_missing_pairs_are_counted_beyond_the_first_twenty() -> None:
    known = references(*(f"h{i},xWant,sleep" for i in range(30))).rows

    found = fit(GENERATION, read_generations(csv_table("head,relation,hypothesis", "h0,xWant,x")), known)

    assert len(found.errors) == 21
    assert "9 more questions have no row" in found.errors[-1].message


@pytest.mark.parametrize(
    ("lines", "place", "words"),
    [
        (("q1,A",), (None, None), "no choice for the question “q2”"),
        (("q1,A", "q2,B", "q3,A"), (4, "question_id"), "no gold option for it"),
        (("q1,C", "q2,B"), (2, "choice"), "none of the question's options"),
        (("q1,A", "q2,B", "q1 ,A"), (4, "question_id"), "stands on line 2 already"),
        (("q1,", "q2,B"), (2, "choice"), "Nothing was chosen"),
    ],
)
def test_a_choice_that_does_not_fit_is_named(
    lines: tuple[str, ...], place: tuple[int | None, str | None], words: str
) -> None:
    found = choices(*lines)

    assert where(found.errors) == [place]
    assert words in found.errors[0].message


def test_where_no_options_are_known_the_warning_is_the_same_whatever_was_sent() -> None:
    gold = answers("q1,A,,", "q2,B,,")
    right, wrong, strange = (
        fit(CHOICE, read_choices(csv_table("question_id,choice", *lines)), gold.rows)
        for lines in (("q1,A", "q2,B"), ("q1,B", "q2,A"), ("q1,a", "q2,no such thing"))
    )

    assert right.errors == wrong.errors == strange.errors == ()
    assert right.warnings == wrong.warnings == strange.warnings == gold.warnings
    [warning] = gold.warnings
    assert str(warning) == NO_OPTIONS
    some = answers("q1,A,,", 'q2,B,"[""A"", ""B""]",')
    assert "for some of its questions" in some.warnings[0].message
    assert answers('q2,B,"[""A"", ""B""]",').warnings == ()


def test_look_alikes_are_the_same_question_and_the_same_option() -> None:
    found = choices("q１,Ａ", "q2\u200b,B")

    assert found.errors == ()
    assert found.said == {"q1": ("Ａ",), "q2": ("B",)}


def test_no_message_about_a_models_file_tells_what_is_right() -> None:
    known = references("eat,xWant,secretly sleep", "run,xEffect,hidden sweat").rows
    file = read_generations(csv_table("head,relation,hypothesis", "fly,xEffect,x", "eat,xWant,"))
    said = " ".join(str(issue) for issue in fit(GENERATION, file, known).errors)
    gold = answers("q1,what is hidden,,", "q2,other,,").rows
    chosen = fit(CHOICE, read_choices(csv_table("question_id,choice", "q1,x", "q9,y")), gold)

    assert "secretly" not in said
    assert "hidden" not in said
    assert "what is hidden" not in " ".join(map(str, (*chosen.errors, *chosen.warnings)))
