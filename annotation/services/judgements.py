"""Bringing in judgements that were made elsewhere: each becomes an answer of the main round.

A judgement fills its author's open assignment if there is one, else a free slot of the item. Nothing is ever
overwritten: another label by the same person is a conflict. All or nothing, in one transaction.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.keys import compound_key, triple_key
from annotation.formats.rows import FileRows
from annotation.models import Annotation, Assignment, Campaign, Item, Membership, Output, Round, User
from annotation.protocol.text import fold_key, fold_name
from annotation.services.errors import Refused
from annotation.services.people import NAME_LENGTH, add_member, audit

CHUNK = 2000
RELEASED = "released"  # the account of judgements whose author a file does not name


@dataclass(frozen=True)
class Judged:
    """Which item, by whom, and the labels in the order they were given."""

    item: int
    unit: int
    annotator: str  # folded
    rows: tuple[JudgementRow, ...]


@dataclass
class JudgementReport:
    """What the file held and what became of it."""

    file: FileRows[JudgementRow]
    added: int = 0
    unchanged: int = 0
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    annotators: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The document of `import_annotations`."""
        return {
            "file": self.file.name,
            "format": self.file.format,
            "encoding": self.file.encoding,
            "sheet": self.file.sheet,
            "columns": self.file.columns,
            "unknown_columns": list(self.file.unknown_columns),
            "rows": self.file.n_rows,
            "added": self.added,
            "unchanged": self.unchanged,
            "annotators": self.annotators,
            "conflicts": self.conflicts,
            "errors": [_issue(issue) for issue in (*self.file.errors, *self.errors)],
            "warnings": [_issue(issue) for issue in (*self.file.warnings, *self.warnings)],
        }

    @property
    def ok(self) -> bool:
        return not (self.file.errors or self.errors or self.conflicts)


def _issue(issue: RowIssue) -> dict[str, Any]:
    return {"line": issue.line, "column": issue.column, "message": issue.message}


class _NothingStored(Exception):
    """Undoes the transaction; the report says why."""


def import_judgements(
    campaign: Campaign,
    file: FileRows[JudgementRow],
    *,
    by_position: bool = False,
    by: User | None = None,
    dry_run: bool = False,
) -> JudgementReport:
    """Store the file's judgements, all or none; with `dry_run` only find out what would be stored."""
    report = JudgementReport(file)
    if file.errors:
        return report
    judged = _matched(campaign, file, by_position=by_position, report=report)
    if report.errors:
        return report
    try:
        with transaction.atomic():
            round_ = campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
            # Written first: two imports at once queue up here, and each sees the slots the other took.
            Round.objects.filter(pk=round_.pk).update(state=round_.state)
            people = _people(campaign, judged, by=by)
            report.annotators = [person.username for person in people.values()]
            _store(round_, judged, people, report)
            if dry_run or not report.ok:
                raise _NothingStored
            audit(campaign, by, "judgements imported", {"file": file.name, "added": report.added})
    except _NothingStored:
        report.added = report.added if dry_run and report.ok else 0
    return report


def _matched(
    campaign: Campaign, file: FileRows[JudgementRow], *, by_position: bool, report: JudgementReport
) -> list[Judged]:
    """Each row's item; what cannot be matched is reported with its line."""
    index = _Index(campaign)
    n_items = len(index.by_position) + len(index.withdrawn)
    if by_position and n_items != file.n_rows:
        raise Refused(
            f"The file has {file.n_rows} rows and the campaign {n_items} items: rows can only be matched by "
            "position where the numbers are equal."
        )
    found: dict[tuple[int, str], list[JudgementRow]] = defaultdict(list)
    for row in file.rows:
        if by_position and row.number in index.withdrawn:
            message = f"The item at position {row.number} was withdrawn; its row was skipped."
            report.warnings.append(RowIssue(row.line, None, message))
            continue
        item = index.at(row) if by_position else index.find(row)
        if isinstance(item, str):
            report.errors.append(RowIssue(row.line, None, item))
        else:
            found[item, fold_name(row.annotator)].append(row)
    return [
        Judged(item, index.unit_of[item], annotator, tuple(sorted(rows, key=lambda row: row.revision or 1)))
        for (item, annotator), rows in found.items()
    ]


class _Index:
    """The campaign's items by position, by key, and by the texts that name them."""

    def __init__(self, campaign: Campaign) -> None:
        self.compound = campaign.protocol == Campaign.Protocol.COMPOUND
        self.by_position: dict[int, int] = {}
        withdrawn = Item.objects.published().filter(campaign=campaign, retired_why=Item.Retired.WITHDRAWN)
        self.withdrawn = frozenset(withdrawn.values_list("position", flat=True))
        self.by_key: dict[str, list[int]] = defaultdict(list)
        self.by_text: dict[str, list[int]] = defaultdict(list)
        self.unit_of: dict[int, int] = {}
        self.texts_of: dict[int, dict[str, str]] = {}
        self.given_key: dict[int, str] = {}  # of items whose file had ids
        self.outputs: dict[int, set[tuple[str, str]]] = defaultdict(set)
        seen: dict[str, int] = defaultdict(int)
        contexts: set[int] = set()
        fields = (
            "pk",
            "position",
            "unit",
            "key_folded",
            "given_key",
            "head",
            "relation",
            "tail",
            "unit__compound",
        )
        for row in (
            Item.objects.active()
            .filter(campaign=campaign)
            .order_by("position")
            .values(*fields, "context", "context__number")
            .iterator(CHUNK)
        ):
            item = row["pk"]
            self.by_position[row["position"]] = item
            self.by_key[row["key_folded"]].append(item)
            if row["given_key"]:
                self.given_key[item] = row["key_folded"]
            self.unit_of[item] = row["unit"]
            self.texts_of[item] = self._texts(row)
            if row["context"] not in contexts:  # further translations of a context are no further context
                seen[self._text_key(row, 1)] += 1
            contexts.add(row["context"] or -item)
            self.by_text[self._text_key(row, seen[self._text_key(row, 1)])].append(item)
        if self.compound:
            outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
            for item, system, run in outputs.values_list("item", "system__name", "run"):
                self.outputs[item].add((system, run))

    def _texts(self, row: dict[str, Any]) -> dict[str, str]:
        if self.compound:
            return {"compound": row["unit__compound"], "context_no": str(row["context__number"])}
        return {"head": row["head"], "relation": row["relation"], "tail": row["tail"]}

    def _text_key(self, row: dict[str, Any], occurrence: int) -> str:
        if self.compound:
            return compound_key(row["unit__compound"], row["context__number"], occurrence=occurrence).folded
        return triple_key(row["head"], row["relation"], row["tail"], occurrence=occurrence).folded

    def at(self, row: JudgementRow) -> int | str:
        """The item at the row's position; an id and texts that the file repeats must be the item's."""
        item = self.by_position[row.number]
        if row.key and not row.key.derived and row.key.folded != self.given_key.get(item, row.key.folded):
            return f"“{row.key.given[:120]}” is not the id of the item at position {row.number}."
        for name, text in row.texts.items():
            if fold_key(text) != fold_key(self.texts_of[item][name]):
                return f"The {name} is not that of the item at position {row.number}."
        return item

    def find(self, row: JudgementRow) -> int | str:
        """The row's item, or why there is none."""
        if row.key is None:
            return "Nothing says which item this row belongs to."
        found = self.by_key.get(row.key.folded) or self.by_text.get(row.key.folded, [])
        if self.compound and (row.system is not None or row.run is not None):
            found = [item for item in found if self._produced(item, row)]
        if not found:
            return f"There is no item “{row.key.given[:120]}” in this campaign."
        if len(found) > 1:
            return (
                f"“{row.key.given[:120]}” has {len(found)} different translations; say which one is meant in the "
                "columns system and run."
            )
        return found[0]

    def _produced(self, item: int, row: JudgementRow) -> bool:
        return any(
            (row.system is None or system == row.system) and (row.run is None or run == row.run)
            for system, run in self.outputs[item]
        )


def _people(campaign: Campaign, judged: Iterable[Judged], *, by: User | None) -> dict[str, User]:
    """The accounts of the authors; who has none gets one that is closed, and stays closed."""
    people: dict[str, User] = {}
    for one in judged:
        if one.annotator in people:
            continue
        _check_name(one.annotator)
        user = User.objects.filter(username_folded=one.annotator).first()
        if user is None:
            user = User.objects.create_user(one.rows[0].annotator.strip(), is_active=False)
        people[one.annotator] = user
        if user.is_active:
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
        elif not Membership.objects.filter(campaign=campaign, user=user).exists():
            user.is_active = True  # for the moment of joining only: a closed account is refused
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
    return people


def _check_name(folded: str) -> None:
    if not folded:
        raise Refused("The annotator's name is empty; say whose judgements these are.")
    if len(folded) > NAME_LENGTH:
        raise Refused(f"The name “{folded[:40]}…” is longer than {NAME_LENGTH} characters.")


@dataclass
class _Slots:
    """Who judges each item of the round already, and which slots are free."""

    assigned: dict[tuple[int, int], Assignment]
    taken: dict[int, set[int]]
    last: dict[int, int]  # by expert: the last position

    @classmethod
    def of(cls, round_: Round) -> "_Slots":
        assigned: dict[tuple[int, int], Assignment] = {}
        taken: dict[int, set[int]] = defaultdict(set)
        for row in round_.assignments.iterator(CHUNK):
            assigned[row.item_id, row.expert_id] = row
            if row.withdrawn_at is None:
                taken[row.item_id].add(row.slot)
        last = (
            round_.assignments.values("expert").annotate(last=Max("position")).values_list("expert", "last")
        )
        return cls(assigned, taken, defaultdict(int, dict(last)))


def _store(round_: Round, judged: Sequence[Judged], people: dict[str, User], report: JudgementReport) -> None:
    slots = _Slots.of(round_)
    new: list[Assignment] = []
    filled: list[Assignment] = []
    answers: list[tuple[Assignment, Judged]] = []
    for one in judged:
        expert = people[one.annotator]
        assignment = slots.assigned.get((one.item, expert.pk))
        if assignment is None:
            assignment = _take_slot(round_, one, expert, slots, report)
            if assignment is None:
                continue
            new.append(assignment)
        elif assignment.answered_at is not None:
            _compare(assignment, one, report)
            continue
        else:
            filled.append(assignment)
        _answer(assignment, one)
        answers.append((assignment, one))
    if not report.ok:
        return
    made = Assignment.objects.bulk_create(new, batch_size=CHUNK)
    assert all(row.pk for row in made)
    Assignment.objects.bulk_update(filled, ["label", "revision", "answered_at"], batch_size=200)
    Annotation.objects.bulk_create(_annotations(answers, round_), batch_size=CHUNK)
    report.added = len(answers)


def _take_slot(
    round_: Round, one: Judged, expert: User, slots: _Slots, report: JudgementReport
) -> Assignment | None:
    free = next((slot for slot in range(1, round_.k + 1) if slot not in slots.taken[one.item]), None)
    if free is None:
        message = (
            f"This item has its {round_.k} expert(s) already; a judgement by {expert.username} has no place."
        )
        report.errors.append(RowIssue(one.rows[0].line, "annotator", message))
        return None
    slots.taken[one.item].add(free)
    slots.last[expert.pk] += 1
    place = slots.last[expert.pk]
    return Assignment(
        round=round_,
        unit_id=one.unit,
        item_id=one.item,
        expert=expert,
        slot=free,
        position=place,
        queue=place,
    )


def _compare(assignment: Assignment, one: Judged, report: JudgementReport) -> None:
    last = one.rows[-1]
    if assignment.label == last.label:
        report.unchanged += 1
        return
    report.conflicts.append(
        {
            "line": last.line,
            "key": last.key.given if last.key else str(last.number),
            "field": "label",
            "old": assignment.label or assignment.cannot_judge,
            "new": last.label,
        }
    )


def _answer(assignment: Assignment, one: Judged) -> None:
    assignment.revision = len(one.rows)
    assignment.label = one.rows[-1].label
    assignment.answered_at = timezone.now()


def _annotations(answers: Iterable[tuple[Assignment, Judged]], round_: Round) -> Iterable[Annotation]:
    now = timezone.now()
    for assignment, one in answers:
        for revision, row in enumerate(one.rows, start=1):
            yield Annotation(
                assignment=assignment,
                revision=revision,
                client_key=uuid.uuid4(),
                digest="",
                label=row.label,
                note=row.note or "",
                seconds=row.seconds,
                guideline_id=round_.guideline_id,
                source=Annotation.Source.IMPORT,
                created_at=now,
            )
