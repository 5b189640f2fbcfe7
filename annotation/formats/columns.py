"""Which column of a file is which: names as given to canonical names, and rows as cells by canonical name."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from annotation.formats.cells import excerpt, fold_header, is_blank
from annotation.formats.errors import MissingColumns, RowIssue
from annotation.formats.rows import Table
from annotation.protocol.definition import Protocol
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.protocol.text import fold_key


@dataclass(frozen=True, slots=True)
class MatchedColumns:
    """`given` maps names as given to canonical ones, `places` canonical names to positions in the header."""

    given: dict[str, str]
    places: dict[str, int]
    unknown: tuple[str, ...]

    def __contains__(self, canonical: str) -> bool:
        return canonical in self.places


@dataclass(frozen=True, slots=True)
class Record:
    """One row by canonical column names.

    `number` counts the data rows from 1. `cells` lacks the columns that the file or, in JSON, the object lacks;
    an empty cell is "". A record with `problems` cannot be used.
    """

    line: int
    number: int
    cells: dict[str, str]
    problems: tuple[RowIssue, ...]


def match_columns(
    header: tuple[str, ...],
    *,
    known: tuple[str, ...],
    needed: tuple[str, ...],
    read_as: Mapping[str, str] | None = None,
) -> MatchedColumns:
    """Matches a header after trimming (all Unicode spaces and zero-width characters) and case folding.

    A needed column that is missing is MissingColumns, which lists what was found. A column without a name is
    unknown and listed by its place. `read_as` names columns of the file that are read as a canonical one, in
    the place of a column of that very name: {"label1": "label"}.
    """
    options = () if read_as is None else ("column",)
    read_as = read_as or {}
    canonical = {fold_header(name): name for name in known if name not in read_as.values()}
    canonical |= {fold_header(name): name_read for name, name_read in read_as.items()}
    given: dict[str, str] = {}
    places: dict[str, int] = {}
    unknown: list[str] = []
    for place, name in enumerate(header):
        match = canonical.get(fold_header(name))
        if match is None:
            unknown.append(excerpt(name) if fold_header(name) else f"(column {place + 1}, without a name)")
        else:
            given[name] = match
            places[match] = place
    named = {name_read: name for name, name_read in read_as.items()}
    missing = [named.get(name, name) for name in needed if name not in places]
    if missing:
        wanted = [named.get(name, name) for name in needed]
        message: str = _missing_message(missing, header, wanted)
        for hint in filter(None, (_meant(missing, header), _odd(missing, header))):
            message = say("{message} {hint}", message=message, hint=hint)
        raise MissingColumns(message, header=header, options=options)
    return MatchedColumns(given, places, tuple(unknown))


def match_item_columns(
    header: tuple[str, ...], protocol: Protocol, *, more: tuple[str, ...] = ()
) -> MatchedColumns:
    """Matches the header of an item file with the columns of its protocol, and with `more` that may be there."""
    return match_columns(header, known=(*protocol.column_names, *more), needed=protocol.needed_columns)


def as_in_header(issues: Iterable[RowIssue], given: Mapping[str, str]) -> list[RowIssue]:
    """The findings with each column under the name that the file gives it; `given` holds these by canonical name."""
    names = {canonical: excerpt(name) for canonical, name in given.items()}
    return [replace(issue, column=names.get(issue.column or "", issue.column)) for issue in issues]


def records(table: Table, matched: MatchedColumns) -> Iterator[Record]:
    """The rows of a table by canonical names; a list or an object in a column that is read is a problem."""
    places = matched.places
    canonical: dict[str | None, str] = {excerpt(given): name for given, name in matched.given.items()}
    for number, row in enumerate(table.rows, start=1):
        problems = tuple(
            RowIssue(found.line, canonical.get(found.column, found.column), found.message)
            for found in row.problems
        )
        if row.nested:
            message = say(
                "The value is a list or an object; only text, numbers, true, false and null can be read."
            )
            nested = (name for name, place in places.items() if place in row.nested)
            problems += tuple(RowIssue(row.line, name, message) for name in nested)
        if problems:
            yield Record(row.line, number, {}, problems)
            continue
        cells = {name: cell for name, place in places.items() if (cell := row.cells[place]) is not None}
        yield Record(row.line, number, cells, ())


def empty_cells(record: Record, protocol: Protocol, *, has_id: bool) -> list[RowIssue]:
    """The needed cells of an item that are empty; its id too, where the file has a column of ids."""
    names = [protocol.id_column] if has_id else []
    names += [column.name for column in protocol.columns if not column.may_be_empty]
    problems: list[RowIssue] = []
    needed_texts(record, names, problems)
    return problems


def given_text(record: Record, name: str) -> str | None:
    """The cell as given, None where it is blank or not there."""
    text = record.cells.get(name)
    return None if is_blank(text) else text


def needed_text(record: Record, name: str, problems: list[RowIssue]) -> str | None:
    """The cell as given; adds a problem where it is blank or not there."""
    text = given_text(record, name)
    if text is None:
        problems.append(RowIssue(record.line, name, say("The cell is empty, but is needed.")))
    return text


def needed_texts(record: Record, names: Iterable[str], problems: list[RowIssue]) -> tuple[str, ...] | None:
    """The cells as given; None, and a problem for each that is blank or not there, where there is one."""
    texts = [needed_text(record, name, problems) for name in names]
    given = tuple(text for text in texts if text is not None)
    return given if len(given) == len(texts) else None


_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def yes_or_no(record: Record, name: str, problems: list[RowIssue]) -> bool:
    """A cell that says yes or no, blank for no; adds a problem where it says neither."""
    text = given_text(record, name)
    if text is None:
        return False
    answer = _YES_OR_NO.get(fold_key(text).casefold())
    if answer is None:
        problems.append(
            RowIssue(record.line, name, say("“{text}” is neither yes nor no.", text=excerpt(text)))
        )
    return bool(answer)


# What people call the columns in Chinese: a hint, since a guess may be wrong.
_CHINESE = {
    "head": ("头", "头实体", "头事件", "头节点"),
    "relation": ("关系", "关系类型"),
    "tail": ("尾", "尾实体", "尾事件", "尾节点"),
    "compound": ("组合短语", "组合", "复合短语", "组合词", "短语"),
    "source": ("源句", "源文", "原文", "原句", "语境句", "英文", "英文句子"),
    "translation": ("译文", "翻译", "机器译文", "系统译文"),
    "label": ("标签", "标注", "判断"),
    "annotator": ("标注者", "标注员", "标注人", "专家"),
    "prediction": ("预测", "预测值", "得分", "分数"),
}
_MEANT = {name: canonical for canonical, names in _CHINESE.items() for name in names}


def _meant(missing: list[str], header: tuple[str, ...]) -> Sentence | None:
    """Which names of the header seem to be the missing columns in Chinese."""
    found = {name: meant for name in header if (meant := _MEANT.get(fold_header(name))) in missing}
    if not found:
        return None
    pairs = ", ".join(f"“{excerpt(name, 40)}” → {meant}" for name, meant in found.items())
    return say("Some seem to be meant; name them so: {pairs}.", pairs=pairs)


def _odd(missing: list[str], header: tuple[str, ...]) -> Sentence | None:
    """The name of the header that is a missing column but for letters of another script, and the first of these."""
    for name in header:
        folded = fold_header(name)
        for meant in missing:
            odd = [mine for mine, other in zip(folded, meant, strict=False) if mine != other]
            if len(folded) == len(meant) > len(odd) > 0 and all(not letter.isascii() for letter in odd):
                return say(
                    "“{name}” holds “{letter}” (U+{code}), which is no letter of {meant}; type the name anew.",
                    name=excerpt(name, 40),
                    letter=odd[0],
                    code=f"{ord(odd[0]):04X}",
                    meant=meant,
                )
    return None


def _missing_message(missing: list[str], header: tuple[str, ...], needed: list[str]) -> str:
    """What is not there and what is; and all that is needed, where that is more than what is not there."""
    names = [f"“{excerpt(name, 40)}”" for name in header[:30]] + ["…"] * (len(header) > 30)
    if missing == needed:
        return say_count(
            "The file lacks the column {missing}. It has {names}.",
            "The file lacks the columns {missing}. It has {names}.",
            n=len(missing),
            missing=", ".join(missing),
            names=", ".join(names),
        )
    return say_count(
        "The file lacks the column {missing}. It has {names}; needed are {needed}.",
        "The file lacks the columns {missing}. It has {names}; needed are {needed}.",
        n=len(missing),
        missing=", ".join(missing),
        names=", ".join(names),
        needed=", ".join(needed),
    )
