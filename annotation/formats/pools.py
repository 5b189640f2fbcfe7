"""Files that evaluation sets are built from: an annotated pool, candidates with a model's score, training triples."""

from collections.abc import Collection
from dataclasses import dataclass

from annotation.formats.cells import excerpt, finite_number
from annotation.formats.columns import MatchedColumns, Record, given_text, match_columns, needed_texts
from annotation.formats.errors import RowIssue
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Table
from annotation.formats.triples import relation_problems
from annotation.protocol.evaluation_set import PoolTriple
from annotation.protocol.sentences import say

TEXTS = ("head", "relation", "tail")
DESCRIBED = ("triple_id", "class", "label")


def read_pool(table: Table, *, relations: Collection[str]) -> FileRows[PoolTriple]:
    """The triples of a pool, repeats included: head, relation and tail, and where it has them triple_id, class, label.

    Relations are matched exactly; any that is not among `relations` is an error.
    """
    matched = match_columns(table.header, known=(*TEXTS, *DESCRIBED), needed=TEXTS)
    return _Pool(matched=matched, relations=tuple(relations), scored=False).read(table)


def read_candidates(
    table: Table, *, relations: Collection[str], column: str | None = None
) -> FileRows[PoolTriple]:
    """The same with a score, a finite number; `column` names the column that holds it, where it is not called score."""
    read_as = {} if column is None else {column: "score"}
    matched = match_columns(
        table.header, known=(*TEXTS, *DESCRIBED, "score"), needed=(*TEXTS, "score"), read_as=read_as
    )
    return _Pool(matched=matched, relations=tuple(relations), scored=True).read(table)


def read_training(table: Table) -> FileRows[PoolTriple]:
    """Triples that a model was trained on: head, relation and tail, of whatever relations."""
    matched: MatchedColumns = match_columns(table.header, known=TEXTS, needed=TEXTS)
    return _Pool(matched=matched, relations=None, scored=False).read(table)


@dataclass(kw_only=True)
class _Pool(Reading[PoolTriple]):
    """`relations` None: any."""

    relations: tuple[str, ...] | None
    scored: bool

    def row(self, record: Record, problems: list[RowIssue]) -> PoolTriple | None:
        texts = needed_texts(record, TEXTS, problems)
        if self.relations is not None:
            problems += relation_problems(record, self.relations)
        score = _score(record, problems) if self.scored else None
        if problems or texts is None:
            return None
        head, relation, tail = texts
        return PoolTriple(
            line=record.line,
            head=head,
            relation=relation,
            tail=tail,
            item_class=given_text(record, "class"),
            label=given_text(record, "label"),
            id=given_text(record, "triple_id"),
            score=score,
        )


def _score(record: Record, problems: list[RowIssue]) -> float | None:
    text = given_text(record, "score")
    if text is None:
        problems.append(RowIssue(record.line, "score", say("The score is empty.")))
        return None
    score = finite_number(text)
    if score is None:
        message = say("“{text}” is not a number; write one such as 0, 1 or 0.73.", text=excerpt(text))
        problems.append(RowIssue(record.line, "score", message))
    return score
