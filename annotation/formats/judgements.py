"""Files of judgements: which expert gave which label to which item."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from annotation.formats.cells import excerpt, is_blank, whole_number
from annotation.formats.columns import Record, given_text, match_columns, needed_texts, yes_or_no
from annotation.formats.compounds import context_number
from annotation.formats.errors import RowIssue
from annotation.formats.key_columns import (
    ITEM_IDS,
    KEY_TEXTS,
    check_key_columns,
    id_column,
    key_of_id,
    key_of_texts,
    key_texts,
)
from annotation.formats.keys import ItemKey
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Table
from annotation.protocol.base import get_protocol
from annotation.protocol.definition import Choice
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.protocol.text import fold_key, fold_name
from annotation.protocol.wording import Wording, default_wording

_OWN = (
    "annotator", "label", "cannot_judge", "problem", "detail", "reasons", "atoms", "note", "unsure", "seconds",
    "revision", "slot", "round", "system", "run",
)  # fmt: skip
# What an export writes in the column round; anything else in a column of that name says nothing.
ROUNDS = ("dry_run", "main", "resolution", "rejudgement", "spot_check", "repeat")
MAIN = "main"
IMPORTED_ROUNDS = (MAIN, "repeat")  # what was judged again, or in another round, has no way in
_MOST_SECONDS = 999_999_999
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]*)?|\.[0-9]+")
MAX_REVISION = 9_999
MAX_SLOT = 99
_MAX_ATOM = 999

# An expert (folded), the revision, the system and its run: whose label, of which output.
_Whose = tuple[str, int | None, str, str]


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """One expert's answer to one item: `label`, a code of the protocol's scale, or the cause why they could not
    judge it.

    `number` counts the file's data rows from 1: the item's position where a file goes by position. `key` is the
    id or, without one, what is derived from the texts, None where the file holds neither. `texts` are the
    columns that name the item, as given, to be checked: compound and context_no, or head, relation and tail.
    """

    line: int
    number: int
    key: ItemKey | None
    texts: dict[str, str]
    annotator: str
    label: str
    seconds: float | None
    note: str | None
    revision: int | None
    system: str | None
    run: str | None
    slot: int | None = None
    cannot_judge: str = ""
    problem: str = ""
    detail: str = ""
    reasons: tuple[str, ...] = ()
    atoms: tuple[int, ...] = ()
    unsure: bool = False

    @property
    def answer(self) -> tuple[str, str]:
        """What was judged: a label or a cause."""
        return self.label, self.cannot_judge


def read_judgements(
    table: Table,
    *,
    protocol: str,
    annotator: str | None = None,
    column: str | None = None,
    by_position: bool = False,
    round: str = MAIN,  # noqa: A002
    wording: Wording | None = None,
) -> FileRows[JudgementRow]:
    """The judgements of a table that belong to a `round` of that kind; rows that name another one are skipped with a
    warning, unless the file goes `by_position`.

    `annotator` holds for a file without that column. `column` names the column that holds the labels, for
    files with one column per expert: there a row without a label is one the expert did not judge, and is
    skipped with a warning, unless the file goes `by_position`. Everywhere else an empty label is an error.
    Two labels of one expert for one item need different `revision` numbers. What an export writes is read back:
    a row holds a label or the cause of a “cannot judge”. Answers may also be given in the words of a campaign's own
    `wording`, and its reasons are those by which a compound can be wrong.
    """
    needed = ("label",) if annotator is not None else ("annotator", "label")
    matched = match_columns(
        table.header,
        known=(*ITEM_IDS, *KEY_TEXTS[protocol], *_OWN),
        needed=needed,
        read_as={} if column is None else {column: "label"},
    )
    check_key_columns(matched, KEY_TEXTS[protocol], by_position=by_position)
    skipping = None if by_position else column
    return _Judgements(
        matched=matched,
        protocol=protocol,
        annotator=annotator,
        skipping=skipping,
        other_rounds=frozenset() if by_position else frozenset(ROUNDS) - {round},
        wording=wording or default_wording(protocol),
    ).read(table)


@dataclass(kw_only=True)
class _Judgements(Reading[JudgementRow]):
    """What later rows are compared with. `annotator` is that of a file that names none, `skipping` the column of
    labels where a row without one is skipped, `other_rounds` those whose rows are skipped.
    """

    protocol: str
    annotator: str | None
    skipping: str | None
    other_rounds: frozenset[str]
    wording: Wording
    n_skipped: int = 0
    n_of_round: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    occurrences: dict[tuple[str, _Whose], int] = field(default_factory=dict)
    first_lines: dict[tuple[str, _Whose], int] = field(default_factory=dict)

    def row(self, record: Record, problems: list[RowIssue]) -> JudgementRow | None:
        of_round = fold_name(record.cells.get("round", ""))
        if of_round in self.other_rounds:
            self.n_of_round[of_round] = self.n_of_round.get(of_round, 0) + 1
            return None
        if self.skipping is not None and is_blank(record.cells.get("label")):
            self.n_skipped += 1
            return None
        named = "annotator" in self.matched
        annotator = (given_text(record, "annotator") if named else self.annotator) or ""
        if is_blank(annotator):
            problems.append(
                RowIssue(record.line, "annotator", say("The cell is empty; name who gave this label."))
            )
        remarks = self._remarks(record, problems)
        label = self._label(record, remarks.cannot_judge, problems)
        if remarks.detail and label != get_protocol(self.protocol).scale[0].score:
            message = say("A detail stands beside the third answer only; it was left out.")
            self.warnings.append(RowIssue(record.line, "detail", message))
            remarks = replace(remarks, detail="")
        revision = _number(record, "revision", MAX_REVISION, problems)
        slot = _number(record, "slot", MAX_SLOT, problems)
        seconds = _seconds(record, problems)
        system, run = given_text(record, "system"), given_text(record, "run")
        whose = (fold_name(annotator), revision, fold_key(system or ""), fold_key(run or ""))
        key = self._key(record, whose, problems)
        return JudgementRow(
            line=record.line,
            number=record.number,
            key=key,
            texts=key_texts(record, self.protocol),
            annotator=annotator,
            label=label,
            seconds=seconds,
            note=given_text(record, "note"),
            revision=revision,
            system=system,
            run=run,
            slot=slot,
            cannot_judge=remarks.cannot_judge,
            problem=remarks.problem,
            detail=remarks.detail,
            reasons=remarks.reasons,
            atoms=remarks.atoms,
            unsure=remarks.unsure,
        )

    def finish(self) -> None:
        for name, n in self.n_of_round.items():
            told = _of_importable_round if name in IMPORTED_ROUNDS else _of_another_round
            self.warnings.append(RowIssue(None, "round", told(n, name)))
        if self.n_skipped:
            message = say_count(
                "{n} row has no label in the column “{column}”; it was skipped.",
                "{n} rows have no label in the column “{column}”; they were skipped.",
                n=self.n_skipped,
                column=excerpt(self.skipping or ""),
            )
            self.warnings.append(RowIssue(None, self.skipping, message))

    def _remarks(self, record: Record, problems: list[RowIssue]) -> "_Remarks":
        """What stands beside the label. Other programs' columns of these names may hold anything: what is no such
        code is left out with a warning, except for the cause of a “cannot judge”, which is the answer itself.
        """
        causes = get_protocol(self.protocol).cannot_judge_causes
        return _Remarks(
            cannot_judge="".join(_codes(record, "cannot_judge", causes, problems)[:1]),
            problem="".join(_codes(record, "problem", causes, self.warnings)[:1]),
            detail="".join(_codes(record, "detail", self.wording.details, self.warnings)[:1]),
            reasons=_codes(record, "reasons", self.wording.reasons, self.warnings),
            atoms=_atoms(record, self.warnings),
            unsure=yes_or_no(record, "unsure", self.warnings),
        )

    def _label(self, record: Record, cause: str, problems: list[RowIssue]) -> str:
        text = given_text(record, "label")
        if text is None:
            if not cause:
                problems.append(RowIssue(record.line, "label", say("The label is empty.")))
            return ""
        if cause:
            message = say("The row has a label and says “cannot judge”; an answer is one of the two.")
            problems.append(RowIssue(record.line, "cannot_judge", message))
        try:
            if text not in self.labels:
                self.labels[text] = self.wording.parse_label(text, in_file=True)
            return self.labels[text]
        except ProtocolError as error:
            problems.append(RowIssue(record.line, "label", error.message))
            return ""

    def _key(self, record: Record, whose: _Whose, problems: list[RowIssue]) -> ItemKey | None:
        """The item's key; the same expert's second label under one id needs a revision of its own."""
        column = id_column(self.matched)
        if column is None:
            return self._derived_key(record, whose, problems)
        key = key_of_id(record, column, problems)
        if key is None:
            return None
        line = self.first_lines.setdefault((key.folded, whose), record.line)
        if line != record.line:
            message = say(
                "The same expert's label of “{text}” stands on line {line} already. Remove one of "
                "them, or number them in a column “revision”.",
                text=excerpt(key.given),
                line=line,
            )
            problems.append(RowIssue(record.line, column, message))
        return key

    def _derived_key(self, record: Record, whose: _Whose, problems: list[RowIssue]) -> ItemKey | None:
        """The r-th of an expert's rows with the same texts belongs to the r-th item with these texts."""
        names = KEY_TEXTS[self.protocol]
        if not all(name in self.matched for name in names):
            return None
        number = context_number(record, problems) if "context_no" in names else None
        texts = needed_texts(record, [name for name in names if name != "context_no"], problems)
        if texts is None:
            return None
        first = key_of_texts(texts, number)
        same = (first.folded, whose)
        self.occurrences[same] = occurrence = self.occurrences.get(same, 0) + 1
        return first if occurrence == 1 else key_of_texts(texts, number, occurrence=occurrence)


def _of_importable_round(n: int, name: str) -> Sentence:
    return say_count(
        "{n} row belongs to a round “{name}”; it was skipped. Import each round's rows by themselves.",
        "{n} rows belong to a round “{name}”; they were skipped. Import each round's rows by themselves.",
        n=n,
        name=name,
    )


def _of_another_round(n: int, name: str) -> Sentence:
    return say_count(
        "{n} row belongs to a round “{name}”; it was skipped. Only judgements of the main round and repeats can be "
        "imported: labels made of them are those before that round.",
        "{n} rows belong to a round “{name}”; they were skipped. Only judgements of the main round and repeats can be "
        "imported: labels made of them are those before that round.",
        n=n,
        name=name,
    )


@dataclass(frozen=True, slots=True)
class _Remarks:
    """What a row says beside its label."""

    cannot_judge: str
    problem: str
    detail: str
    reasons: tuple[str, ...]
    atoms: tuple[int, ...]
    unsure: bool


def _number(record: Record, name: str, highest: int, problems: list[RowIssue]) -> int | None:
    text = given_text(record, name)
    if text is None:
        return None
    number = whole_number(text)
    if number is None or not 1 <= number <= highest:
        problems.append(
            RowIssue(
                record.line,
                name,
                say("“{text}” is no {name}; write 1, 2, 3, …", text=excerpt(text), name=name),
            )
        )
    return number


def _codes(record: Record, name: str, choices: Sequence[Choice], found: list[RowIssue]) -> tuple[str, ...]:
    """The codes in a cell, with spaces between them; what is none of the choices is noted in `found`."""
    known = [choice.code for choice in choices]
    codes = (given_text(record, name) or "").split()
    for code in codes:
        if code not in known:
            message = say(
                "“{code}” is not one of the choices, which are {known}.",
                code=excerpt(code),
                known=", ".join(known) or "–",
            )
            found.append(RowIssue(record.line, name, message))
    return tuple(code for code in codes if code in known)


def _atoms(record: Record, warnings: list[RowIssue]) -> tuple[int, ...]:
    text = given_text(record, "atoms")
    if text is None:
        return ()
    numbers = [whole_number(word) for word in text.split()]
    found = tuple(number for number in numbers if number is not None and number <= _MAX_ATOM)
    if len(found) < len(numbers):
        message = say(
            "“{text}” does not number the atoms; write their places with spaces: 0 2.", text=excerpt(text)
        )
        warnings.append(RowIssue(record.line, "atoms", message))
    return found


def _seconds(record: Record, problems: list[RowIssue]) -> float | None:
    text = given_text(record, "seconds")
    if text is None:
        return None
    if not _SECONDS.fullmatch(fold_key(text)):
        message = say(
            "“{text}” is not a number of seconds from 0 to {highest}; write a number such as 12.5, or nothing.",
            text=excerpt(text),
            highest=_MOST_SECONDS,
        )
        problems.append(RowIssue(record.line, "seconds", message))
        return None
    return float(fold_key(text))
