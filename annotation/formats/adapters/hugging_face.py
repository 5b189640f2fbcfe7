"""A folder that Hugging Face's `datasets` loads without code: README.md, whose front matter says which files are which.

Files are CSV, TSV, JSONL or Parquet (`parquet`). One configuration of the front matter (`hugging_face_card`) holds the
items; one that names an annotator and a label for each row holds the judgements.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.formats.adapters.base import (
    Adapter,
    Asked,
    Content,
    Found,
    ItemRecord,
    ItemRows,
    Judgements,
    Record,
    items_of_objects,
    refuse_alone,
    with_warnings,
)
from annotation.formats.adapters.hugging_face_card import CARD, Files, configs_of, named_configs
from annotation.formats.adapters.packages import Given, pack
from annotation.formats.adapters.parquet import Room, read_parquet
from annotation.formats.cells import excerpt, fold_header, is_blank, whole_number
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.formats.system_cells import systems_in
from annotation.formats.tables import read_table
from annotation.formats.writers import json_line
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import Sentence, say

ITEMS, VOTES = "items", "votes"
_ROW = "row"  # the number of an item, which its judgements name
_PLACES = (_ROW, "position")  # tell the order and which item is meant, and are no columns of items
_UNSPLIT = "test"  # where items have no split
# What the Hub calls a split; of another name there is none here, such as “unlabelled”.
_SPLITS = {
    "train": "train",
    "trn": "train",
    "dev": "dev",
    "validation": "dev",
    "val": "dev",
    "test": "test",
    "tst": "test",
}
_ITEMS = {
    "triple": say("The triples, with every column, in a file for each split."),
    "compound": say(
        "The instances, each context of a compound with its translations, with every column, in one file."
    ),
}
_VOTE_COLUMNS = ("annotator", "label", "cannot_judge", "note", "seconds", "slot")
_NAMES = {name: name for name in _VOTE_COLUMNS}


class HuggingFace(Adapter):
    """A file of items for each split, and `data/votes.jsonl`, whose rows name their item by its number."""

    name = "huggingface"
    title = "Hugging Face"
    brings_causes = True
    extension = "zip"
    content_type = "application/zip"
    carries = (
        say(
            "For each judgement: who judged, in which slot, the label or why it cannot be judged, note, seconds."
        ),
    )
    lacks = (
        say("Earlier answers, rounds and parts, marks of doubt, times of day."),
        say("Files that are named by code, and those that only the Hub holds: bring the whole folder."),
    )
    lacks_beside_label = True

    def carries_of(self, protocol: str) -> tuple[Sentence, ...]:
        return (_ITEMS[protocol], *self.carries)

    def knows(self, found: Given) -> bool:
        try:
            return bool(named_configs(found))
        except FormatError:
            return False

    def read(self, found: Given, asked: Asked) -> Found:
        refuse_alone(found)
        room = Room()
        tables = [_table(found, name, files, room) for name, files in configs_of(found).items()]
        needed = set(get_protocol(asked.protocol).needed_columns)
        of_items = [table for table in tables if needed <= table.columns]
        if not of_items:
            raise FormatError(
                say(
                    "No configuration of README.md has the columns {needed}.",
                    needed=", ".join(sorted(needed)),
                )
            )
        if len(of_items) > 1:
            raise FormatError(
                say(
                    "Several configurations hold items: {names}. Leave one of them in README.md.",
                    names=", ".join(excerpt(table.name, 40) for table in of_items[:20]),
                )
            )
        source = of_items[0]
        records = _in_order(
            [(line, _item(row, source.split_of[line], asked.protocol)) for line, row in source.records]
        )
        items = items_of_objects(
            _outputs(records, asked.protocol),
            asked,
            name=found.name,
            format=self.name,
            encoding=source.encoding,
        )
        unknown = tuple(name for name in items.unknown_columns if fold_header(name) not in _PLACES)
        items = replace(with_warnings(items, source.warnings), unknown_columns=unknown)
        votes = next((table for table in tables if table is not source and _is_votes(table)), None)
        if votes is None:
            return Found(items=items, judgements=None)
        return Found(items=items, judgements=_judgements(votes, source, items, asked))

    def write(self, content: Content) -> Iterator[bytes]:
        return pack(_files(content))


# Reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """The rows of one configuration, counted through all its files."""

    name: str
    encoding: str | None
    records: list[tuple[int, dict[str, Any]]]
    split_of: dict[int, str]
    columns: set[str]
    warnings: list[RowIssue]


def _table(found: Given, name: str, files: Files, room: Room) -> _Table:
    table = _Table(name, None, [], {}, set(), [])
    encodings: list[str | None] = []
    for split, path in files:
        first = len(table.records) + 1
        try:
            header, rows, encoding = _rows(found.files[path], path, room)
        except FormatError as error:
            raise FormatError(
                say("{name}: {message}", name=path, message=error.message),
                line=error.line,
                column=error.column,
            ) from None
        encodings.append(encoding)
        table.columns.update(map(fold_header, header))
        for number, row in enumerate(rows, start=first):
            table.records.append((number, row))
            table.split_of[number] = split
        message = say(
            "{name} holds rows {first} to {last}; all files are counted through.",
            name=excerpt(path), first=first, last=len(table.records),
        )  # fmt: skip
        table.warnings.append(RowIssue(None, None, message))
    return replace(table, encoding=next(iter(encodings), None))


def _rows(data: bytes, path: str, room: Room) -> tuple[Sequence[str], list[dict[str, Any]], str | None]:
    """Header, rows and encoding of one data file; a row that cannot be read is a FormatError with its line."""
    if path.lower().endswith(".parquet"):
        return read_parquet(data, room)
    table = read_table(data, name=path)
    rows: list[dict[str, Any]] = []
    for row in table.rows:
        if row.problems:
            raise FormatError(row.problems[0].message, line=row.line, column=row.problems[0].column)
        rows.append(
            {
                name: [] if place in row.nested else cell
                for place, (name, cell) in enumerate(zip(table.header, row.cells, strict=True))
            }
        )
    return table.header, rows, table.encoding


def _item(row: Mapping[str, Any], split: str, protocol: str) -> dict[str, Any]:
    """The row; a triple's split is that of its file where no column says it."""
    told = dict(row)
    names = {fold_header(name) for name in told}
    if protocol == "triple" and "split" not in names and split.lower() in _SPLITS:
        told["split"] = _SPLITS[split.lower()]
    return told


def _in_order(records: list[tuple[int, dict[str, Any]]]) -> list[Record]:
    """The rows in the order they had before they were parted by their splits, where they tell it."""
    places = [whole_number(str(_value(row, _ROW) or "")) for _line, row in records]
    known = [place for place in places if place is not None]
    if len(set(known)) < len(records):
        return list(records)
    return [record for _place, record in sorted(zip(known, records, strict=True), key=lambda pair: pair[0])]


def _outputs(records: list[Record], protocol: str) -> list[Record]:
    """A release names all systems of an item in one cell (`system_cells`): each is an output of its own."""
    if protocol != "compound":
        return records
    return [(line, output) for line, row in records for output in _by_system(row)]


def _by_system(row: Any) -> Iterator[dict[str, Any]]:
    systems = row.get("systems")
    if not isinstance(systems, str) or "system" in row:
        yield row
        return
    kept = {name: value for name, value in row.items() if name not in ("systems", "split", "label", "reason")}
    for system, run in systems_in(systems):
        yield {**kept, "system": system, "run": run}


def _is_votes(table: _Table) -> bool:
    return {"annotator", "label"} <= table.columns


def _judgements(
    votes: _Table, source: _Table, items: ItemRows, asked: Asked
) -> FileRows[JudgementRow] | None:
    """The rows of the votes, each with the line of its item, found by the number or the id that both name."""
    by = next(
        (name for name in (*_PLACES, "item_id", "triple_id") if name in votes.columns & source.columns),
        None,
    )
    if by is None:
        raise FormatError(
            say(
                "The judgements in “{name}” do not say which item they are about: there is no column row, position, "
                "item_id or triple_id in both.",
                name=excerpt(votes.name),
            )
        )
    lines: dict[str, list[int]] = {}
    for line, row in source.records:
        if (said := _named(_value(row, by))) is not None:
            lines.setdefault(said, []).append(line)
    judgements = Judgements(names=_NAMES)
    for number, row in votes.records:
        cells = {fold_header(name): value for name, value in row.items()}
        if cells.get("round") not in (None, "", "main"):
            continue
        said = _named(cells.get(by))
        those = lines.get(said, []) if said is not None else []
        if len(those) != 1:
            judgements.refuse(number, by, _which(by, said, those))
            continue
        (item,) = those
        judgements.add(number, {name: cells.get(name) for name in _VOTE_COLUMNS}, item=item)
    return judgements.of(items, asked)


def _which(by: str, said: str | None, lines: Sequence[int]) -> str:
    """Why it is not known which item a judgement is about."""
    if said is None:
        return say("The cell is empty; write the {column} of the item that was judged.", column=by)
    if not lines:
        return say("No item has {column} “{value}”.", column=by, value=excerpt(said))
    return say(
        "Several items have {column} “{value}” (rows {first} and {second}). Number the items in a column “row”, and "
        "name these numbers here.",
        column=by, value=excerpt(said), first=lines[0], second=lines[1],
    )  # fmt: skip


def _named(value: Any) -> str | None:
    """What names an item; None where nothing does."""
    return value if isinstance(value, str) and not is_blank(value) else None


def _value(row: Mapping[str, Any], name: str) -> Any:
    return next((value for given, value in row.items() if fold_header(given) == name), None)


# Writing -----------------------------------------------------------------------------------------------------


def _files(content: Content) -> Iterator[tuple[str, list[bytes]]]:
    by_split: dict[str, list[str]] = {}
    votes: list[str] = []
    for record in content.records:
        split = str(record.cells.get("split") or "") or _UNSPLIT
        by_split.setdefault(split, []).append(json_line(_item_row(record, content)))
        if content.with_judgements:
            votes += [json_line(row) for row in _votes(record)]
    tables = {ITEMS: sorted(by_split)} | ({VOTES: [VOTES]} if votes else {})
    yield CARD, [_readme(content, tables).encode()]
    for split in tables[ITEMS]:
        yield f"data/{split}.jsonl", [f"{line}\n".encode() for line in by_split[split]]
    if votes:
        yield f"data/{VOTES}.jsonl", [f"{line}\n".encode() for line in votes]


def _item_row(record: ItemRecord, content: Content) -> dict[str, Any]:
    return {_ROW: record.number} | {name: record.cells[name] for name in content.columns}


def _votes(record: ItemRecord) -> Iterator[dict[str, Any]]:
    for judged in record.judgements:
        yield {
            _ROW: record.number,
            "annotator": judged.annotator,
            "label": judged.label,
            "cannot_judge": judged.cannot_judge,
            "note": judged.note,
            "seconds": judged.seconds,
            "slot": judged.slot,
        }


def _readme(content: Content, tables: Mapping[str, Sequence[str]]) -> str:
    lines = ["---", f"pretty_name: {json.dumps(content.stem, ensure_ascii=False)}", "configs:"]
    for config, names in tables.items():
        lines += [
            f"- config_name: {config}",
            *(["  default: true"] if config == ITEMS else []),
            "  data_files:",
        ]
        for name in names:
            lines += [f"  - split: {name}", f"    path: data/{name}.jsonl"]
    return "\n".join([*lines, "---", "", f"# {content.stem}", ""])
