"""A folder that Hugging Face's `datasets` loads without code: README.md, whose front matter says which files are which.

Source: the Hub's documentation, “Manual Configuration”: `configs` is a list of `config_name` and `data_files`; these
are a path, a list of paths, or a list of `split` and `path`; a path may hold `*`. Files are CSV, TSV, JSONL or Parquet.
One configuration holds the items; one that names an annotator and a label for each row holds the judgements.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from io import BytesIO
from typing import Any

import yaml

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
    with_warnings,
)
from annotation.formats.adapters.packages import MAX_UNPACKED, Given, pack, too_large
from annotation.formats.cells import excerpt, fold_header, is_blank, whole_number
from annotation.formats.decoding import detect_encoding
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.formats.system_cells import systems_in
from annotation.formats.tables import read_table
from annotation.formats.writers import json_line
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say

CARD = "README.md"
ITEMS, VOTES = "items", "votes"
_ROW = "row"  # the number of an item, which its judgements name
_PLACES = (_ROW, "position")  # tell the order and which item is meant, and are no columns of items
# A card as people and the Hub write it stays far below each of these; beyond, YAML takes seconds and then hours.
_MAX_FRONT_MATTER = 1 << 16
_MAX_DEPTH = 20
_MAX_CONFIGS = 100
_MAX_PATTERNS = 100  # each is held against every file
# One text may stand in every row of a Parquet file that is a few hundred bytes long.
_BATCH = 500
_CELL_SIZE = 32  # what a cell takes beside its text
_IN_ONE_PIECE = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}  # encodings of a text
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
        say("The items, with every column; triples in a file for each split."),
        say(
            "For each judgement: who judged, in which slot, the label or why it cannot be judged, note, seconds."
        ),
    )
    lacks = (
        say("Earlier answers, rounds and parts, details, reasons, atoms, marks of doubt, times of day."),
        say("Files that are named by code, and those that only the Hub holds: bring the whole folder."),
    )

    def knows(self, found: Given) -> bool:
        try:
            return bool(_named_configs(found))
        except FormatError:
            return False

    def read(self, found: Given, asked: Asked) -> Found:
        room = _Room(MAX_UNPACKED)
        tables = [_table(found, name, files, room) for name, files in _configs(found).items()]
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

Files = list[tuple[str, str]]  # split and path


@dataclass(frozen=True)
class _Table:
    """The rows of one configuration, counted through all its files."""

    name: str
    encoding: str | None
    records: list[tuple[int, dict[str, Any]]]
    split_of: dict[int, str]
    columns: set[str]
    warnings: list[RowIssue]


def _configs(found: Given) -> dict[str, Files]:
    """The files of each configuration, as the front matter of README.md names them: each file once."""
    files: dict[str, Files] = {}
    named: dict[str, str] = {}
    patterns = 0
    for name, said in _named_configs(found).items():
        files[name] = []
        for split, pattern in _data_files(name, said):
            patterns += _is_pattern(pattern)
            if patterns > _MAX_PATTERNS:
                raise _card(
                    say(
                        "It names more than {n} paths with “*”, “?” or “[”. Name the files by their own paths.",
                        n=_MAX_PATTERNS,
                    )
                )
            for path in _matching(found, pattern):
                if path in named:
                    raise _card(
                        say(
                            "The file “{path}” is named twice, in “{first}” and in “{second}”. Name each file once.",
                            path=excerpt(path), first=excerpt(named[path], 40), second=excerpt(name, 40),
                        )
                    )  # fmt: skip
                named[path] = name
                files[name].append((split, path))
    return files


def _named_configs(found: Given) -> dict[str, Any]:
    """What the front matter says of the files of each configuration."""
    configs = _front_matter(found).get("configs")
    if not isinstance(configs, list) or not configs or len(configs) > _MAX_CONFIGS:
        raise _card(say("“{name}” is not a list of configurations.", name="configs"))
    said: dict[str, Any] = {}
    for config in configs:
        if not isinstance(config, dict) or not isinstance(config.get("config_name"), str):
            raise _card(say("A configuration has no “config_name”."))
        name = config["config_name"]
        if name in said:
            raise _card(say("Two configurations are called “{name}”.", name=excerpt(name)))
        said[name] = config.get("data_files")
    return said


def _front_matter(found: Given) -> dict[str, Any]:
    data = found.files.get(CARD)
    if data is None:
        raise FormatError(say("There is no README.md, whose front matter says which files are which."))
    text = data.decode(detect_encoding(data).codec).removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        raise _card(say("It does not begin with a line “---”, after which the configurations stand."))
    front, mark, _rest = text[4:].partition("\n---")
    if not mark:
        raise _card(say("The part between the two lines “---” has no end."))
    if len(front) > _MAX_FRONT_MATTER:
        raise _card(
            say(
                "The part between the two lines “---” is longer than {n} KB. Leave “configs” in it, and move the rest "
                "below.",
                n=_MAX_FRONT_MATTER >> 10,
            )
        )
    try:
        _refuse_depth(front)
        _refuse_repeats(front)
        value = yaml.load(front, Loader=yaml.BaseLoader)  # every scalar is a text, and no tag makes an object
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = None if place is None else place.line + 2
        raise FormatError(say("{name}: the YAML cannot be read.", name=CARD), line=line) from None
    except RecursionError:
        raise _card(say("Its lists or objects are nested too deeply.")) from None
    if not isinstance(value, dict):
        raise _card(say("Its front matter is not an object."))
    return value


def _refuse_depth(front: str) -> None:
    """No lists in lists without end, which take far more time than they are long; no references, which multiply a text.
    Nothing is composed before this is known.
    """
    depth = 0
    for event in yaml.parse(front, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.AliasEvent):
            raise _card(say("Its front matter holds references (“*name”), which are not read."))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise _card(
                say(
                    "Its lists or objects are nested more than {n} deep. Leave “configs” in the front matter, and move "
                    "the rest below.",
                    n=_MAX_DEPTH,
                )
            )


def _refuse_repeats(front: str) -> None:
    """No name twice in one object, of which readers take the last in silence."""
    waiting = [yaml.compose(front, Loader=yaml.BaseLoader)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.MappingNode):
            counts = Counter(str(key.value) for key, _value in node.value)
            twice = next((name for name, n in counts.items() if n > 1), None)
            if twice is not None:
                raise FormatError(
                    say("{name}: “{twice}” stands twice.", name=CARD, twice=excerpt(twice)),
                    line=node.start_mark.line + 2,
                )
            waiting += [value for _key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _data_files(name: str, said: Any) -> Iterator[tuple[str, str]]:
    """Split and path, whichever of the forms names them."""
    for one in said if isinstance(said, list) else [said]:
        split, paths = ("", one) if isinstance(one, str) else ("", None)
        if isinstance(one, dict):
            split, paths = one.get("split", ""), one.get("path")
        for path in paths if isinstance(paths, list) else [paths]:
            if not isinstance(path, str) or not isinstance(split, str):
                raise _card(
                    say(
                        "“data_files” of “{name}” is neither paths nor splits with paths.", name=excerpt(name)
                    )
                )
            yield split, path


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")


def _matching(found: Given, pattern: str) -> list[str]:
    plain = pattern.removeprefix("./")
    paths = [plain] if plain in found.files else []
    if _is_pattern(plain):
        paths = [path for path in found.files if path == plain or fnmatchcase(path, plain)]
    if not paths:
        raise _card(say("No file “{path}” is in the folder.", path=excerpt(pattern)))
    return paths


def _card(message: str) -> FormatError:
    return FormatError(say("{name}: {message}", name=CARD, message=message))


def _table(found: Given, name: str, files: Files, room: "_Room") -> _Table:
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


@dataclass
class _Room:
    """How much more the Parquet files of a folder may hold, all together, once they are unpacked."""

    left: int

    def take(self, size: int) -> None:
        """FormatError where it is more than is left."""
        self.left -= size
        if self.left < 0:
            raise FormatError(too_large())


def _rows(data: bytes, path: str, room: _Room) -> tuple[Sequence[str], list[dict[str, Any]], str | None]:
    """Header, rows and encoding of one data file; a row that cannot be read is a FormatError with its line."""
    if path.lower().endswith(".parquet"):
        return _parquet(data, room)
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


def _parquet(data: bytes, room: _Room) -> tuple[Sequence[str], list[dict[str, Any]], None]:
    """The rows of a Parquet file. What the rows take is known before they are made: texts are read as places in a list
    of different texts, and only columns of texts, numbers and booleans are read at all.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(BytesIO(data))
        meta, schema = file.metadata, file.schema_arrow
        if len(set(schema.names)) < len(schema.names):
            raise FormatError(say("Two columns of the Parquet file have the same name."))
        size = sum(meta.row_group(number).total_byte_size for number in range(meta.num_row_groups))
        if size > MAX_UNPACKED:
            raise FormatError(too_large())
        readable = [field.name for field in schema if _is_plain(field.type)]
        whole, piecewise = _encoded(meta)
        file = pq.ParquetFile(BytesIO(data), read_dictionary=[name for name in readable if name in whole])
        batches = file.iter_batches(
            max(1, min(_BATCH, MAX_UNPACKED // max(1, piecewise))), columns=readable, use_threads=False
        )
        rows: list[dict[str, Any]] = []
        for batch in batches if readable else ():
            columns = {name: batch.column(name) for name in readable}
            room.take(batch.num_rows * len(schema.names) * _CELL_SIZE)
            room.take(sum(map(_size, columns.values())))
            cells = [
                map(_cell, columns[name].to_pylist()) if name in columns else [[]] * batch.num_rows
                for name in schema.names
            ]
            rows += [dict(zip(schema.names, row, strict=True)) for row in zip(*cells, strict=True)]
    except MemoryError:
        raise FormatError(too_large()) from None
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise FormatError(
            say("The Parquet file cannot be read; it is damaged or of an unusual kind.")
        ) from error
    return schema.names, rows, None


def _is_text(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return any((pa.types.is_string(kind), pa.types.is_large_string(kind), pa.types.is_string_view(kind)))


def _is_plain(kind: Any) -> bool:
    """Whether a column holds what the cell of a table can: text, numbers, booleans."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return _is_text(kind) or any(test(kind) for test in tests)


def _encoded(meta: Any) -> tuple[set[str], int]:
    """The texts' columns that are encoded so that a text stands somewhere in one piece, and of the others the bytes
    of the largest: each of its texts may be put together of all of them.
    """
    others: dict[str, int] = {}
    names: set[str] = set()
    for number in range(meta.num_row_groups):
        group = meta.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.physical_type != "BYTE_ARRAY":
                continue
            names.add(column.path_in_schema)
            if not _IN_ONE_PIECE.issuperset(column.encodings):
                others[column.path_in_schema] = max(
                    others.get(column.path_in_schema, 0), column.total_uncompressed_size
                )
    return names - others.keys(), max(others.values(), default=0)


def _size(column: Any) -> int:
    """The bytes that the texts of a column take, each counted wherever it stands."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if not pa.types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary.cast(pa.large_string()))
    return int(pc.sum(pc.take(lengths, column.indices)).as_py() or 0)


def _cell(value: Any) -> Any:
    """A value as the readers of tables take it: text, or a list for what is nested."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        if value != value or value in (float("inf"), float("-inf")):
            raise FormatError(say("A column holds NaN or Infinity, which is no number."))
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)
    return []


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
