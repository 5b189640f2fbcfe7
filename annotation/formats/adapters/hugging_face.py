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
from annotation.formats.adapters.packages import Given, pack
from annotation.formats.cells import excerpt, fold_header, whole_number
from annotation.formats.decoding import detect_encoding
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from annotation.formats.writers import json_line
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say

CARD = "README.md"
ITEMS, VOTES = "items", "votes"
_ROW = "row"  # the number of an item, which its judgements name
_PLACES = (_ROW, "position")  # tell the order and which item is meant, and are no columns of items
_MAX_FRONT_MATTER = 1 << 18
_MAX_CONFIGS = 100
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
            return bool(_configs(found))
        except FormatError:
            return False

    def read(self, found: Given, asked: Asked) -> Found:
        tables = [_table(found, name, files) for name, files in _configs(found).items()]
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
    """The files of each configuration, as the front matter of README.md names them."""
    front = _front_matter(found)
    configs = front.get("configs")
    if not isinstance(configs, list) or not configs or len(configs) > _MAX_CONFIGS:
        raise _card(say("“{name}” is not a list of configurations.", name="configs"))
    files: dict[str, Files] = {}
    for config in configs:
        if not isinstance(config, dict) or not isinstance(config.get("config_name"), str):
            raise _card(say("A configuration has no “config_name”."))
        name = config["config_name"]
        if name in files:
            raise _card(say("Two configurations are called “{name}”.", name=excerpt(name)))
        files[name] = [
            (split, path)
            for split, pattern in _data_files(name, config.get("data_files"))
            for path in _matching(found, pattern)
        ]
    return files


def _front_matter(found: Given) -> dict[str, Any]:
    data = found.files.get(CARD)
    if data is None:
        raise FormatError(say("There is no README.md, whose front matter says which files are which."))
    text = data.decode(detect_encoding(data).codec).removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        raise _card(say("It does not begin with a line “---”, after which the configurations stand."))
    front, mark, _rest = text[4:].partition("\n---")
    if not mark or len(front) > _MAX_FRONT_MATTER:
        raise _card(say("The part between the two lines “---” has no end or is too long."))
    try:
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


def _refuse_repeats(front: str) -> None:
    """No name twice in one object, of which readers take the last in silence; no references, which multiply a text."""
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front, Loader=yaml.BaseLoader)):
        raise _card(say("Its front matter holds references (“*name”), which are not read."))
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


def _matching(found: Given, pattern: str) -> list[str]:
    plain = pattern.removeprefix("./")
    paths = [path for path in found.files if path == plain or fnmatchcase(path, plain)]
    if not paths:
        raise _card(say("No file “{path}” is in the folder.", path=excerpt(pattern)))
    return paths


def _card(message: str) -> FormatError:
    return FormatError(say("{name}: {message}", name=CARD, message=message))


def _table(found: Given, name: str, files: Files) -> _Table:
    table = _Table(name, None, [], {}, set(), [])
    encodings: list[str | None] = []
    for split, path in files:
        first = len(table.records) + 1
        try:
            header, rows, encoding = _rows(found.files[path], path)
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


def _rows(data: bytes, path: str) -> tuple[Sequence[str], list[dict[str, Any]], str | None]:
    """Header, rows and encoding of one data file; a row that cannot be read is a FormatError with its line."""
    if path.lower().endswith(".parquet"):
        return _parquet(data)
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


def _parquet(data: bytes) -> tuple[Sequence[str], list[dict[str, Any]], None]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        file = pq.ParquetFile(BytesIO(data))
        meta = file.metadata
        size = sum(meta.row_group(number).total_byte_size for number in range(meta.num_row_groups))
        if size > 1 << 28:
            raise FormatError(say("The file unpacks to more than can be read at once. Bring it in parts."))
        names = file.schema_arrow.names
        rows = [
            {name: _cell(value) for name, value in row.items()}
            for batch in file.iter_batches()
            for row in batch.to_pylist()
        ]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise FormatError(
            say("The Parquet file cannot be read; it is damaged or of an unusual kind.")
        ) from error
    if len(set(names)) < len(names):
        raise FormatError(say("Two columns of the Parquet file have the same name."))
    return names, rows, None


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
    """A release names all systems of an item in one cell, “a/seed1; b”: each is an output of its own."""
    if protocol != "compound":
        return records
    return [(line, output) for line, row in records for output in _by_system(row)]


def _by_system(row: Any) -> Iterator[dict[str, Any]]:
    systems = row.get("systems")
    if not isinstance(systems, str) or "system" in row:
        yield row
        return
    kept = {name: value for name, value in row.items() if name not in ("systems", "split", "label", "reason")}
    for named in systems.split("; "):
        system, _slash, run = named.partition("/")
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
    lines: dict[Any, int] = {}
    for line, row in source.records:
        lines.setdefault(_value(row, by), line)
    judgements = Judgements(names=_NAMES)
    for number, row in votes.records:
        cells = {fold_header(name): value for name, value in row.items()}
        if cells.get("round") not in (None, "", "main"):
            continue
        item = lines.get(cells.get(by))
        if item is None:
            message = say("No item has {column} “{value}”.", column=by, value=excerpt(str(cells.get(by))))
            judgements.refuse(number, by, message)
            continue
        judgements.add(number, {name: cells.get(name) for name in _VOTE_COLUMNS}, item=item)
    return judgements.of(items, asked)


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
