"""Label Studio's JSON: a list of tasks, each with its `data` and the `annotations` people made of it.

Source: Label Studio's guide, “Label Studio JSON format of annotated tasks” and “Basic Label Studio JSON format”. An
annotation is a list of results; one of the type `choices` with a single choice is a label. `completed_by` is the number
of an account or an object with its e-mail address; `was_cancelled` says that the task was skipped; `lead_time` are
seconds. Predictions and drafts are no judgements.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
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
    noted,
    with_warnings,
)
from annotation.formats.adapters.packages import Given
from annotation.formats.cells import excerpt, is_blank
from annotation.formats.decoding import detect_encoding
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.strict_json import Number, array_elements
from annotation.formats.workbook import is_workbook
from annotation.formats.writers import json_line
from annotation.protocol.sentences import say, say_count

LABEL, CAUSE, NOTE = "label", "cannot_judge", "note"  # the names of the controls, as they are written
_TO = "text"
_NAMES = {
    "annotator": "annotations.completed_by",
    "label": "annotations.result",
    "cannot_judge": "annotations.result",
    "seconds": "annotations.lead_time",
    "note": "annotations.result",
}


class LabelStudio(Adapter):
    """The members of `data` are the canonical columns of items."""

    name = "label-studio"
    title = "Label Studio"
    brings_causes = True
    extension = "json"
    content_type = "application/json; charset=utf-8"
    carries = (
        say("The items, with every column."),
        say("For each judgement: who judged, the label or why it cannot be judged, the note, the seconds."),
    )
    lacks = (
        say("Predictions and drafts: they are not read, and none are written."),
        say("Earlier answers, rounds, parts and slots, marks of doubt, times of day."),
    )
    lacks_beside_label = True

    def knows(self, found: Given) -> bool:
        if len(found.files) != 1:
            return False
        _name, data = found.only
        if is_workbook(data) or not begins_with(data, b"["):
            return False
        try:
            text = data.decode(detect_encoding(data).codec).removeprefix("\ufeff")
            _line, task = next(array_elements(text), (0, None))
        except FormatError:
            return False
        return isinstance(task, dict) and isinstance(task.get("data"), dict)

    def read(self, found: Given, asked: Asked) -> Found:
        name, data = found.only
        if is_workbook(data):
            raise FormatError(say("This is a workbook; the shape is a JSON file."))
        encoding = detect_encoding(data)
        text = data.decode(encoding.codec).removeprefix("\ufeff")
        tasks = list(array_elements(text))
        if not tasks:
            raise FormatError(say("The file holds no tasks."))
        reader = _Tasks(asked)
        one_line = len({line for line, _task in tasks}) < len(tasks)
        for number, (line, task) in enumerate(tasks, start=1):
            reader.read(number if one_line else line, task)
        items = items_of_objects(reader.items, asked, name=name, format=self.name, encoding=encoding.name)
        items = with_warnings(items, reader.warnings(one_line=one_line))
        if encoding.warning:
            items = with_warnings(items, [RowIssue(None, None, encoding.warning)])
        return Found(items=items, judgements=reader.judgements.of(items, asked))

    def write(self, content: Content) -> Iterator[bytes]:
        accounts: dict[str, int] = {}
        beginning, n_annotations = "[\n", 0
        for record in content.records:
            task = _task(record, content, accounts, n_annotations)
            n_annotations += len(task["annotations"])
            yield (beginning + json_line(task)).encode()
            beginning = ",\n"
        yield b"[]\n" if beginning == "[\n" else b"\n]\n"


# Writing -----------------------------------------------------------------------------------------------------


def _task(record: ItemRecord, content: Content, accounts: dict[str, int], before: int) -> dict[str, Any]:
    judged = record.judgements if content.with_judgements else ()
    return {
        "id": record.number,
        "data": {column: record.cells[column] for column in content.columns},
        "annotations": [
            _annotation(one, number, accounts) for number, one in enumerate(judged, start=before + 1)
        ],
        "predictions": [],
    }


def _annotation(judged: Judged, number: int, accounts: dict[str, int]) -> dict[str, Any]:
    account = accounts.setdefault(judged.annotator, len(accounts) + 1)
    results = []
    if judged.label:
        results.append(_result(number, LABEL, "choices", {"choices": [judged.label]}))
    if judged.cannot_judge:
        results.append(_result(number, CAUSE, "choices", {"choices": [judged.cannot_judge]}))
    if judged.note:
        results.append(_result(number, NOTE, "textarea", {"text": [judged.note]}))
    return {
        "id": number,
        "completed_by": {"id": account, "email": judged.annotator},
        "result": results,
        "was_cancelled": not judged.label,
        "ground_truth": False,
        "lead_time": judged.seconds,
    }


def _result(number: int, control: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"{number}-{control}", "from_name": control, "to_name": _TO, "type": kind, "value": value,
    }  # fmt: skip


# Reading -----------------------------------------------------------------------------------------------------


@dataclass
class _Tasks:
    """What was found so far."""

    asked: Asked
    items: list[Record] = field(default_factory=list)
    judgements: Judgements = field(default_factory=lambda: Judgements(names=_NAMES))
    ids: dict[str, int] = field(default_factory=dict)
    predicted: int = 0
    drafted: int = 0
    skipped: int = 0
    empty: int = 0

    def read(self, line: int, task: Any) -> None:
        try:
            data = self._data(line, task)
        except Fault as fault:
            self.items.append((line, RowIssue(line, fault.place, fault.message)))
            return
        self.items.append((line, data))
        self.predicted += bool(task.get("predictions"))
        self.drafted += bool(task.get("drafts"))
        annotations = task.get("annotations")
        if not isinstance(annotations, list | None):
            self.judgements.refuse(line, "annotations", say("“{name}” is not a list.", name="annotations"))
            return
        for number, annotation in enumerate(annotations or ()):
            self._annotation(line, f"annotations[{number}]", annotation)

    def _data(self, line: int, task: Any) -> dict[str, Any]:
        if not isinstance(task, dict):
            raise Fault("", say("The task is not an object."))
        data = task.get("data")
        if not isinstance(data, dict):
            raise Fault("data", say("“{name}” is not an object.", name="data"))
        number = task.get("id")
        if isinstance(number, list | dict | bool):
            raise Fault("id", say("“{name}” is neither a number nor a text.", name="id"))
        if number is not None:
            first = self.ids.setdefault(number, line)
            if first != line:
                raise Fault(
                    "id",
                    say("The task “{id}” stands on line {line} already.", id=excerpt(number), line=first),
                )
        return data

    def _annotation(self, line: int, place: str, annotation: Any) -> None:
        try:
            cells = self._cells(place, annotation)
        except Fault as fault:
            self.judgements.refuse(line, fault.place, fault.message)
            return
        if cells is not None:
            self.judgements.add(line, cells)

    def _cells(self, place: str, annotation: Any) -> dict[str, Any] | None:
        """The answer; None where there is none."""
        if not isinstance(annotation, dict):
            raise Fault(place, say("The annotation is not an object."))
        results = _results(place, annotation)
        cause = _choice(place, results, CAUSE)
        label = _choice(place, results, self._control(place, results))
        cancelled = annotation.get("was_cancelled", False)
        if not isinstance(cancelled, bool | None):
            raise Fault(
                f"{place}.was_cancelled", say("“{name}” is neither true nor false.", name="was_cancelled")
            )
        if cause is None and (cancelled or label is None):
            self.skipped += bool(cancelled)
            self.empty += not cancelled
            return None
        return {
            "annotator": self._annotator(place, annotation.get("completed_by")),
            "label": label,
            "cannot_judge": cause,
            "note": _note(place, results),
            "seconds": _seconds(place, annotation.get("lead_time")),
        }

    def _control(self, place: str, results: list[dict[str, Any]]) -> str:
        """The name of the control that holds the label."""
        if self.asked.column is not None:
            return self.asked.column
        controls = list(
            dict.fromkeys(
                str(result.get("from_name"))
                for result in results
                if result.get("type") == "choices" and result.get("from_name") != CAUSE
            )
        )
        if LABEL in controls or len(controls) <= 1:
            return LABEL if LABEL in controls or not controls else controls[0]
        raise Fault(
            f"{place}.result",
            say(
                "There are several choices: {names}. Say which one is the label, as the column of the labels.",
                names=", ".join(f"“{excerpt(name, 40)}”" for name in controls[:20]),
            ),
        )

    def _annotator(self, place: str, who: Any) -> str:
        """A name: the e-mail address, or what stands for it; a bare number is that of an account."""
        place = f"{place}.completed_by"
        if isinstance(who, dict):
            names = (who.get(name) for name in ("email", "username", "id"))
            who = next((name for name in names if isinstance(name, str) and not is_blank(name)), None)
            if who is None:
                raise Fault(place, say("Nothing in it names a person: there is no e-mail address."))
        if who is None:
            return self.asked.annotator
        if isinstance(who, Number):
            return f"user-{who}"
        if not isinstance(who, str):
            raise Fault(place, say("It names no person: it is neither a number, nor a text, nor an object."))
        return who

    def warnings(self, *, one_line: bool) -> Iterator[RowIssue]:
        if one_line:
            yield RowIssue(
                None,
                None,
                say("Several tasks stand on one line; where a line is named, it is the task's number."),
            )
        predicted, drafted, skipped, empty = self.predicted, self.drafted, self.skipped, self.empty
        yield from noted(
            predicted,
            say_count(
                "{n} task holds predictions of a model, which are not judgements; they were not read.",
                "{n} tasks hold predictions of a model, which are not judgements; they were not read.",
                n=predicted,
            ),
        )
        yield from noted(
            drafted,
            say_count(
                "{n} task holds a draft, which was never submitted; it was not read.",
                "{n} tasks hold drafts, which were never submitted; they were not read.",
                n=drafted,
            ),
        )
        yield from noted(
            skipped,
            say_count(
                "{n} annotation was skipped there without an answer; it is not brought in.",
                "{n} annotations were skipped there without an answer; they are not brought in.",
                n=skipped,
            ),
        )
        yield from noted(
            empty,
            say_count(
                "{n} annotation holds no choice; it is not brought in.",
                "{n} annotations hold no choice; they are not brought in.",
                n=empty,
            ),
        )


def _results(place: str, annotation: Mapping[str, Any]) -> list[dict[str, Any]]:
    results = annotation.get("result")
    if results is None:
        return []
    if not isinstance(results, list):
        raise Fault(f"{place}.result", say("“{name}” is not a list.", name="result"))
    for number, result in enumerate(results):
        if not isinstance(result, dict):
            raise Fault(f"{place}.result[{number}]", say("The result is not an object."))
    return results


def _choice(place: str, results: list[dict[str, Any]], control: str) -> str | None:
    """The one choice of a control; None where it has none."""
    found = [result for result in results if result.get("from_name") == control]
    if not found:
        return None
    place = f"{place}.result"
    value = found[0].get("value")
    choices = value.get("choices") if isinstance(value, dict) else None
    if len(found) > 1 or not isinstance(choices, list) or len(choices) != 1:
        raise Fault(place, say("“{name}” is not one choice: {{“choices”: [“…”]}}.", name=excerpt(control)))
    choice = choices[0]
    if isinstance(choice, bool | list | dict) or choice is None:
        raise Fault(place, say("The choice of “{name}” is not a text.", name=excerpt(control)))
    return str(choice)


def _note(place: str, results: list[dict[str, Any]]) -> str | None:
    found = [result for result in results if result.get("from_name") == NOTE]
    if not found:
        return None
    value = found[0].get("value")
    texts = value.get("text") if isinstance(value, dict) else None
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Fault(f"{place}.result", say("“{name}” is not a list of texts.", name=NOTE))
    return "\n".join(texts) or None


def _seconds(place: str, value: Any) -> str | None:
    """Label Studio measures to the microsecond and more, and writes small numbers with an exponent."""
    if value is None:
        return None
    if not isinstance(value, Number) or not isfinite(float(value)) or float(value) < 0:
        raise Fault(f"{place}.lead_time", say("“{name}” is not a number of seconds.", name="lead_time"))
    return f"{float(value):.6f}".rstrip("0").rstrip(".") if "e" in value.lower() else str(value)
