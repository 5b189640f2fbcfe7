"""doccano's JSONL for text classification: one text a line, with its label or labels.

Source: doccano's own export (`backend/data_export`) and import: the members `id`, `text`, `label` (a list of names),
`Comments`, and whatever else the text was imported with beside them, or under `meta`. A project in which everybody
labels on their own is exported as an archive with one file for each person, called by their name; one in which all
share their labels as an archive with the file `all.jsonl`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from annotation.formats.adapters.base import (
    Adapter,
    Asked,
    Content,
    Fault,
    Found,
    ItemRecord,
    Judged,
    Judgements,
    Record,
    begins_with,
    items_of_objects,
    with_warnings,
)
from annotation.formats.adapters.packages import Given
from annotation.formats.cells import excerpt, is_blank
from annotation.formats.decoding import detect_encoding, text_stream
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.jsonl import read_objects
from annotation.formats.strict_json import is_text
from annotation.formats.workbook import is_workbook
from annotation.formats.writers import CONTENT_TYPES, json_line
from annotation.protocol.sentences import say

_EXTENSIONS = (".jsonl", ".json", ".ndjson")
_SHARED = "all"  # the file of everybody together
_META = ("meta", "metadata")
_COMMENTS = ("Comments", "comments")
# What is no column of an item, wherever a version of doccano or this writer puts it.
_OWN = {
    "id",
    "text",
    "data",
    "label",
    "labels",
    "annotator",
    "cannot_judge",
    "seconds",
    "annotation_approver",
}
_OWN |= {*_META, *_COMMENTS}
_NAMES = {
    "annotator": "annotator", "label": "label", "cannot_judge": "cannot_judge", "seconds": "seconds",
    "note": "Comments",
}  # fmt: skip


class Doccano(Adapter):
    """The items' columns stand under `meta`; `text` is made of them for people. A line for each judgement, and one with
    no label for an item without any; lines of one item have the same `id`.
    """

    name = "doccano"
    title = "doccano"
    brings_causes = True
    extension = "jsonl"
    content_type = CONTENT_TYPES["jsonl"]
    carries = (
        say("The items, with every column, under “meta”."),
        say("For each judgement: who judged, the label or why it cannot be judged, the note, the seconds."),
    )
    lacks = (
        say("Several labels of one text by the same person, spans and relations: they are refused."),
        say("Earlier answers, rounds, parts and slots, marks of doubt, times of day."),
    )
    lacks_beside_label = True

    def knows(self, found: Given) -> bool:
        """Lines that name a text and its labels as doccano does; other files of objects name neither so."""
        if not all(begins_with(data, b"{") for data in found.files.values()):
            return False
        try:
            firsts = [next(_objects(data), None) for data in found.files.values()]
        except FormatError:
            return False
        return all(
            first is not None
            and isinstance(first[1], dict)
            and is_text(first[1].get("text"))
            and isinstance(first[1].get("label", first[1].get("labels")), list)
            for first in firsts
        )

    def read(self, found: Given, asked: Asked) -> Found:
        several = len(found.files) > 1
        reader = _Lines(asked, serial=several)
        encodings: list[str] = []
        for path, data in found.files.items():
            annotator = _author(found, path, asked)
            try:
                encodings.append(reader.read(path, data, annotator=annotator))
            except FormatError as error:
                if not several:
                    raise
                raise FormatError(
                    say("{name}: {message}", name=path, message=error.message), line=error.line
                ) from None
        if not reader.items:
            raise FormatError(say("The file holds no texts."))
        items = items_of_objects(
            reader.items, asked, name=found.name, format=self.name, encoding=encodings[0]
        )
        items = with_warnings(items, reader.warnings)
        return Found(items=items, judgements=reader.judgements.of(items, asked))

    def write(self, content: Content) -> Iterator[bytes]:
        for record in content.records:
            judged: tuple[Judged | None, ...] = record.judgements if content.with_judgements else ()
            lines = [json_line(_line(record, content, one)) for one in judged or (None,)]
            yield ("\n".join(lines) + "\n").encode()


def _author(found: Given, path: str, asked: Asked) -> str:
    """Who judged what is in a file: the person it is called by in an archive, or among several files."""
    stem = PurePosixPath(path).stem
    alone_and_named = found.packed and stem.lower() != _SHARED and not asked.annotator_given
    return stem if len(found.files) > 1 or alone_and_named else asked.annotator


def _line(record: ItemRecord, content: Content, judged: Judged | None) -> dict[str, Any]:
    told: dict[str, Any] = {"id": record.number, "text": _text(record, content)}
    told["meta"] = {column: record.cells[column] for column in content.columns}
    told["label"] = [judged.label] if judged and judged.label else []
    if judged:
        told["annotator"] = judged.annotator
        if judged.cannot_judge:
            told["cannot_judge"] = judged.cannot_judge
        if judged.seconds is not None:
            told["seconds"] = judged.seconds
        told["Comments"] = [judged.note] if judged.note else []
    return told


def _text(record: ItemRecord, content: Content) -> str:
    names = (
        ("compound", "source", "translation")
        if content.protocol == "compound"
        else ("head", "relation", "tail")
    )
    return ("\n" if content.protocol == "compound" else " | ").join(
        record.cells[name] or "" for name in names
    )


def _objects(data: bytes) -> Iterator[Record]:
    return read_objects(text_stream(data, detect_encoding(data), newline="\n"))


@dataclass
class _Lines:
    """What was found so far. With `serial` the lines of all files are counted through."""

    asked: Asked
    serial: bool
    items: list[Record] = field(default_factory=list)
    judgements: Judgements = field(default_factory=lambda: Judgements(names=_NAMES))
    first: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)  # by id, or by what it says
    warnings: list[RowIssue] = field(default_factory=list)
    count: int = 0

    def read(self, path: str, data: bytes, *, annotator: str) -> str:
        if is_workbook(data) or (self.serial and not path.lower().endswith(_EXTENSIONS)):
            raise FormatError(say("This is no JSONL file."))
        encoding = detect_encoding(data)
        if encoding.warning:
            self.warnings.append(RowIssue(None, None, encoding.warning))
        before = self.count
        for line, found in read_objects(text_stream(data, encoding, newline="\n")):
            self.count += 1
            self._line(self.count if self.serial else line, found, annotator)
        if self.serial:
            message = say(
                "{name} holds lines {first} to {last}; all files are counted through.",
                name=excerpt(path), first=before + 1, last=self.count,
            )  # fmt: skip
            self.warnings.append(RowIssue(None, None, message))
        return encoding.name

    def _line(self, line: int, found: dict[str, Any] | RowIssue, annotator: str) -> None:
        if isinstance(found, RowIssue):
            self.items.append((line, RowIssue(line, None, found.message)))
            return
        try:
            item = self._item(line, found)
        except Fault as fault:
            self.items.append((line, RowIssue(line, fault.place, fault.message)))
            return
        try:
            cells = _answer(found, annotator)
        except Fault as fault:
            self.judgements.refuse(line, fault.place, fault.message)
            return
        if cells is not None:
            self.judgements.add(line, cells, item=item)

    def _item(self, line: int, found: dict[str, Any]) -> int:
        """The line on which the item stands first; there it is noted."""
        cells = _columns(found, self.asked.protocol)
        number = found.get("id")
        if isinstance(number, list | dict | bool):
            raise Fault("id", say("“{name}” is neither a number nor a text.", name="id"))
        key = json_line(["", cells]) if number is None else json_line([number])
        first, said = self.first.setdefault(key, (line, cells))
        if first == line:
            self.items.append((line, cells))
        elif said != cells:
            raise Fault(
                "id",
                say(
                    "The id “{id}” stands on line {line} already, with another text.",
                    id=excerpt(str(number)),
                    line=first,
                ),
            )
        return first


def _columns(found: dict[str, Any], protocol: str) -> dict[str, Any]:
    """The item's columns: what stands under meta, and what stands beside the text."""
    text = found.get("text", found.get("data"))
    if not is_text(text):
        raise Fault("text", say("“{name}” is not a text.", name="text"))
    cells = {name: value for name, value in found.items() if name not in _OWN}
    for name in _META:
        meta = found.get(name)
        if not isinstance(meta, dict | None):
            raise Fault(name, say("“{name}” is not an object.", name=name))
        cells |= meta or {}
    if protocol == "compound":
        cells.setdefault("translation", text)
    return cells


def _answer(found: dict[str, Any], annotator: str) -> dict[str, Any] | None:
    """The answer on a line; None where there is none."""
    if "annotations" in found and "label" not in found:
        raise Fault(
            "annotations",
            say("The labels are numbers of a list that is not in the file. Export with the labels as texts."),
        )
    label = _label(found.get("label", found.get("labels")))
    cause = found.get("cannot_judge")
    if label is None and cause is None:
        return None
    who = found.get("annotator")
    if who is not None and not is_text(who):
        raise Fault("annotator", say("“{name}” is not a text.", name="annotator"))
    return {
        "annotator": annotator if who is None or is_blank(who) else who,
        "label": label,
        "cannot_judge": cause,
        "seconds": found.get("seconds"),
        "note": _note(found),
    }


def _label(labels: Any) -> str | None:
    if labels is None or isinstance(labels, str):
        return labels
    if not isinstance(labels, list):
        raise Fault("label", say("“{name}” is not a list of texts.", name="label"))
    if len(labels) > 1:
        raise Fault("label", say("The text has {n} labels; an answer is one.", n=len(labels)))
    if labels and not isinstance(labels[0], str):
        raise Fault("label", say("“{name}” is not a list of texts.", name="label"))
    return labels[0] if labels else None


def _note(found: Mapping[str, Any]) -> str | None:
    comments = next((found[name] for name in _COMMENTS if name in found), None) or []
    if not isinstance(comments, list) or not all(isinstance(comment, str) for comment in comments):
        raise Fault("Comments", say("“{name}” is not a list of texts.", name="Comments"))
    return "\n".join(comments) or None
