"""Pools, candidates and training triples: read strictly, every fault with its line and column."""

import time

import pytest

from annotation.formats.errors import MissingColumns
from annotation.formats.pools import read_candidates, read_pool, read_training
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from annotation.protocol.evaluation_set import PoolTriple
from tests.annotation.formats.files import csv_table

KNOWN = ("xWant", "Causes")


def places(file: FileRows[PoolTriple]) -> list[tuple[int | None, str | None]]:
    return [(issue.line, issue.column) for issue in file.errors]


def test_a_pool_is_head_relation_and_tail_and_what_else_it_says_of_them() -> None:
    file = read_pool(
        csv_table("Tail,head,relation,label,class,split,triple_id", "b, a ,xWant,1,cs_head,tst,t7"),
        relations=KNOWN,
    )
    assert file.rows == (
        PoolTriple(line=2, head=" a ", relation="xWant", tail="b", item_class="cs_head", label="1", id="t7"),
    )
    assert (file.errors, file.unknown_columns, file.n_rows) == ((), ("split",), 1)


def test_a_pool_may_repeat_triples_and_ids() -> None:
    file = read_pool(csv_table("triple_id,head,relation,tail", *["t,a,xWant,b"] * 3), relations=KNOWN)
    assert len(file.rows) == 3
    assert file.errors == file.warnings == ()


def test_faults_bear_their_line_and_column() -> None:
    file = read_candidates(
        csv_table(
            "head,relation,tail,score",
            "a,xWant,b,0.5",
            ",xWant,b,0.5",
            "a,xwant,b,0.5",
            "a,isNew,b,high",
            "a,Causes,b,",
            "a,Causes,b,inf",
            "a,Causes,b,1e999",
            "a,Causes",
        ),
        relations=KNOWN,
    )
    assert [row.line for row in file.rows] == [2]
    assert places(file) == [
        (3, "head"), (4, "relation"), (5, "relation"), (5, "score"), (6, "score"), (7, "score"), (8, "score"),
        (9, None),
    ]  # fmt: skip
    assert file.errors[1].message == "“xwant” is no relation; did you mean “xWant”?"
    assert file.errors[3].message == "“high” is not a number; write one such as 0, 1 or 0.73."


@pytest.mark.parametrize(
    ("text", "score"), [("1.0", 1.0), ("9e-1", 0.9), (" .5 ", 0.5), ("-2", -2.0), ("０.９", 0.9)]
)
def test_a_score_is_a_number_however_it_is_written(text: str, score: float) -> None:
    file = read_candidates(
        csv_table("head,relation,tail,p", f"a,xWant,b,{text}"), relations=KNOWN, column="p"
    )
    assert [row.score for row in file.rows] == [score]


def test_candidates_without_a_score_and_pools_without_a_tail_are_refused() -> None:
    with pytest.raises(MissingColumns, match="lacks the column score"):
        read_candidates(csv_table("head,relation,tail", "a,xWant,b"), relations=KNOWN)
    with pytest.raises(MissingColumns, match="lacks the column tail"):
        read_pool(csv_table("head,relation", "a,xWant"), relations=KNOWN)


def test_training_triples_are_of_whatever_relation() -> None:
    file = read_training(csv_table("head,relation,tail,majority_vote", "a,AtLocation,b,1"))
    assert [row.relation for row in file.rows] == ["AtLocation"]


def test_a_hundred_thousand_rows_are_read_in_seconds() -> None:
    lines = "".join(f"PersonX takes {n},xWant,to keep {n % 77},0.9{n % 10}\n" for n in range(100_000))
    start = time.process_time()
    file = read_candidates(
        read_table(f"head,relation,tail,score\n{lines}".encode(), name="c.csv"), relations=KNOWN
    )
    assert len(file.rows) == 100_000
    assert time.process_time() - start < 20
