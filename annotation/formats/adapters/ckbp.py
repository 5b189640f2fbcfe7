"""The layout of CKBP: a table of triples, and beside it one file for each expert with a label a line.

Source: the published files of CKBP v2 (Fang et al. 2023): `ckbp2.0.csv` with head, relation, tail, class, split and
label; `human1.csv` and `human2.csv` with the one column label1 or label2, whose line i belongs to row i. Columns of
these names in the table itself mean the same.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from annotation.formats.adapters.base import (
    Adapter,
    Asked,
    Content,
    Found,
    Judgements,
    read_items,
    with_warnings,
)
from annotation.formats.adapters.packages import Given, pack
from annotation.formats.cells import excerpt, fold_header, is_blank
from annotation.formats.decoding import detect_encoding, text_lines
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.tables import read_table
from annotation.formats.workbook import is_workbook
from annotation.formats.writers import write_csv
from annotation.protocol.sentences import say

TABLE = "evaluation_set.csv"
_COLUMNS = ("triple_id", "head", "relation", "tail", "class", "split", "label")
_NEEDED = {"head", "relation", "tail"}
_HUMAN = re.compile(r"(?:human|label|annotator|expert)[ _-]?([1-9][0-9]?)")
_SPLITS = {"test": "tst", "train": "trn"}
_NAMES = {"annotator": "human", "label": "label", "slot": "human"}


class Ckbp(Adapter):
    """Column i of the labels is the judgements of slot i."""

    name = "ckbp"
    title = "CKBP"
    protocols = ("triple",)
    reads_tables = True
    extension = "zip"
    content_type = "application/zip"
    carries = (
        say("The triples with class, split and imported label."),
        say("The label of each slot, row by row."),
    )
    lacks = (
        say("Who judged which row: column 1 holds the labels of slot 1, whoever had it."),
        say("“Cannot judge”, notes, seconds, earlier answers, rounds and parts."),
        say("Where an item of a built set came from."),
    )

    def knows(self, found: Given) -> bool:
        """A table of triples with the experts' files beside it."""
        if len(found.files) == 1:
            return False
        try:
            _table, humans, others = _sorted(found)
        except FormatError:
            return False
        return bool(humans) and not others

    def read(self, found: Given, asked: Asked) -> Found:
        name, humans, others = _sorted(found)
        items = read_items(read_table(found.files[name], name=name), asked)
        columns = [*_columns_within(found.files[name], name), *humans]
        numbers = [column.number for column in columns]
        if len(set(numbers)) < len(numbers):
            raise FormatError(say("Two columns or files hold the labels of the same expert."))
        judgements = Judgements(names=_NAMES)
        lines = [row.line for row in items.rows]
        for column in columns:
            self._read_column(column, items.n_rows, lines, judgements)
        unused = [RowIssue(None, None, say("“{name}” was not read.", name=excerpt(path))) for path in others]
        unknown = tuple(name for name in items.unknown_columns if not _number_of(name))
        items = replace(with_warnings(items, unused), unknown_columns=unknown)
        return Found(items=items, judgements=judgements.of(items, asked))

    def _read_column(
        self, column: "_Column", n_rows: int, lines: Sequence[int], judgements: Judgements
    ) -> None:
        if len(column.labels) != n_rows:
            raise FormatError(
                say(
                    "{name} holds {n} labels, but the table has {rows} rows: line i must belong to row i.",
                    name=excerpt(column.source),
                    n=len(column.labels),
                    rows=n_rows,
                )
            )
        for line, label in zip(lines, column.labels, strict=False):  # rows with errors end the import anyway
            if not is_blank(label):
                judgements.add(
                    line, {"annotator": f"human{column.number}", "label": label, "slot": str(column.number)}
                )

    def write(self, content: Content) -> Iterator[bytes]:
        return pack(_files(content))


@dataclass(frozen=True, slots=True)
class _Column:
    """One expert's labels, in the order of the rows; `source` says where they stand."""

    number: int
    source: str
    labels: Sequence[str]


def _sorted(found: Given) -> tuple[str, list[_Column], list[str]]:
    """The table, the experts' files in the order of their numbers, and what is neither; FormatError where there is no
    table, with what is wrong with the first file that cannot be read.
    """
    tables: list[str] = []
    humans: list[_Column] = []
    others: list[str] = []
    unread: list[FormatError] = []
    for path, data in found.files.items():
        try:
            header = _header(path, data)
        except FormatError as error:
            alone = len(found.files) == 1
            unread.append(
                error
                if alone
                else FormatError(
                    say("{name}: {message}", name=excerpt(path), message=error.message), line=error.line
                )
            )
            header = set()
        if header >= _NEEDED:
            tables.append(path)
        elif len(header) == 1 and (number := _number_of(next(iter(header))) or _number_of(_stem(path))):
            humans.append(_Column(number, path, _labels(data, number_of_path=path)))
        else:
            others.append(path)
    if not tables and unread:
        raise unread[0]
    if len(tables) != 1:
        raise FormatError(
            say("One table with head, relation and tail is needed; {n} of the files are such.", n=len(tables))
            if tables
            else say("None of the files has the columns head, relation and tail.")
        )
    return tables[0], sorted(humans, key=lambda column: column.number), others


def _header(path: str, data: bytes) -> set[str]:
    """The names of the columns, folded; of a text that is no table its first line."""
    if not is_workbook(data):
        first = next(iter(text_lines(data, detect_encoding(data))), "")
        if "," not in first and "\t" not in first:
            return {fold_header(first.strip('"'))}
    return {fold_header(name) for name in read_table(data, name=path).header}


def _stem(path: str) -> str:
    return fold_header(PurePosixPath(path).stem)


def _number_of(name: str) -> int:
    """Which expert's a column or file of this name is; 0 where it is none's."""
    matched = _HUMAN.fullmatch(fold_header(name))
    return int(matched[1]) if matched else 0


def _labels(data: bytes, *, number_of_path: str) -> list[str]:
    """The lines below the header; an empty one is a row that was not judged."""
    lines = [line.strip().strip('"') for line in text_lines(data, detect_encoding(data))][1:]
    for number, line in enumerate(lines, start=2):
        if "\0" in line:
            raise FormatError(
                say("{name}: the line holds U+0000, which cannot be stored.", name=excerpt(number_of_path)),
                line=number,
            )
    return lines


def _columns_within(data: bytes, name: str) -> Iterator[_Column]:
    """The experts' columns of the table itself."""
    table = read_table(data, name=name)
    places = {place: number for place, column in enumerate(table.header) if (number := _number_of(column))}
    if not places:
        return
    rows = list(table.rows)
    for place, number in places.items():
        cells = [(row.cells[place] or "") if place < len(row.cells) else "" for row in rows]
        yield _Column(number, table.header[place], cells)


def _files(content: Content) -> Iterator[tuple[str, Iterator[bytes]]]:
    columns = [name for name in _COLUMNS if name in content.columns]
    labels: list[Mapping[int, str]] = []

    def rows() -> Iterator[list[str | None]]:
        for record in content.records:
            labels.append({judged.slot: judged.label for judged in record.judgements if judged.label})
            split = record.cells.get("split") or ""
            cells = {**record.cells, "split": _SPLITS.get(split, split)}
            yield [cells[name] for name in columns]

    yield TABLE, write_csv(columns, rows(), mark=False)
    if not content.with_judgements or not any(labels):
        return
    for slot in range(1, content.k + 1):
        lines = ([row.get(slot, "")] for row in labels)
        yield f"human{slot}.csv", write_csv([f"label{slot}"], lines, mark=False)
