"""The rows of Parquet files, whose size is known before they are made."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from annotation.formats.adapters.packages import MAX_UNPACKED, too_large
from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

# One text may stand in every row of a Parquet file that is a few hundred bytes long.
_BATCH = 500
_CELL_SIZE = 32  # what a cell takes beside its text
_IN_ONE_PIECE = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}  # encodings of a text


@dataclass
class Room:
    """How much more the Parquet files of a folder may hold, all together, once they are unpacked."""

    left: int = field(default_factory=lambda: MAX_UNPACKED)

    def take(self, size: int) -> None:
        """FormatError where it is more than is left."""
        self.left -= size
        if self.left < 0:
            raise FormatError(too_large())


def read_parquet(data: bytes, room: Room) -> tuple[Sequence[str], list[dict[str, Any]], None]:
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
