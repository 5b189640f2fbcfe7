"""Bringing in judgements that were made elsewhere: each becomes an answer of the main round.

A judgement fills its author's open assignment if there is one, else the slot its row names, else a free slot of
the item. Nothing is ever overwritten: a later revision is added to those before, another label under the same
revision is a conflict.

Everything is compared first, and nothing is stored where anything stands against it. Then the answers are written
in chunks, each in a short transaction that compares again; cut off in between, the same file adds the rest.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.keys import compound_key, triple_key
from annotation.formats.rows import FileRows
from annotation.models import Annotation, Assignment, Campaign, Item, Membership, Output, Round, User
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_key, fold_name
from annotation.services.errors import Refused
from annotation.services.people import add_member, audit, check_name
from annotation.services.planner import renew_counts

CHUNK = 2000
RELEASED = "released"  # the account of judgements whose author a file does not name


@dataclass(frozen=True)
class Judged:
    """Which item, by whom, and the labels in the order they were given."""

    item: int
    unit: int
    annotator: str  # folded
    rows: tuple[JudgementRow, ...]

    @property
    def slot(self) -> int | None:
        """The slot that the rows name."""
        return next((row.slot for row in self.rows if row.slot is not None), None)


# What was read once and is compared again: its findings are those of the first time.
NO_FILE: FileRows[JudgementRow] = FileRows(
    name="", format="", encoding=None, sheet=None, columns={}, unknown_columns=(), n_rows=0, rows=(), errors=(),
    warnings=(),
)  # fmt: skip


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


Progress = Callable[[int, int], None]


def import_judgements(
    campaign: Campaign,
    file: FileRows[JudgementRow],
    *,
    by_position: bool = False,
    by: User | None = None,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> JudgementReport:
    """Store the file's judgements, all or none; with `dry_run` only find out what would be stored.

    `progress` is called outside any transaction.
    """
    report = JudgementReport(file)
    if file.errors:
        return report
    judged = _matched(campaign, file, by_position=by_position, report=report)
    if report.errors:
        return report
    round_ = campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
    accounts = _accounts(campaign, judged)
    known = {name: user.pk for name, user in accounts.items() if user.pk}
    report.annotators = [user.username for user in accounts.values()]
    steps = _plan(_Standing.of(round_, judged, known), judged, report)
    if dry_run or not report.ok:
        report.added = len(steps) if report.ok else 0
        return report
    if steps:
        with transaction.atomic():
            people = _people(campaign, accounts, by=by)
            audit(campaign, by, "judgements imported", {"file": file.name, "added": len(steps)})
        report.added = _write(round_, [step.judged for step in steps], people, progress)
        renew_counts(Assignment, Annotation)
    return report


def _matched(
    campaign: Campaign, file: FileRows[JudgementRow], *, by_position: bool, report: JudgementReport
) -> list[Judged]:
    """Each row's item; what cannot be matched is reported with its line."""
    index = _Index(campaign, names_outputs={"system", "run"} & set(file.columns.values()) != set())
    n_items = len(index.by_position) + len(index.withdrawn)
    if by_position and n_items != file.n_rows:
        raise Refused(
            say(
                "The file has {n_rows} rows and the campaign {n_items} items: rows can only be "
                "matched by position where the numbers are equal.",
                n_rows=file.n_rows,
                n_items=n_items,
            )
        )
    found: dict[tuple[int, str], list[JudgementRow]] = defaultdict(list)
    for row in file.rows:
        if by_position and row.number in index.withdrawn:
            message = say(
                "The item at position {number} was withdrawn; its row was skipped.", number=row.number
            )
            report.warnings.append(RowIssue(row.line, None, message))
            continue
        if not by_position and index.is_withdrawn(row):
            message = say("The item was withdrawn; its row was skipped.")
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

    def __init__(self, campaign: Campaign, *, names_outputs: bool) -> None:
        self.names_outputs = names_outputs
        self.compound = campaign.protocol == Campaign.Protocol.COMPOUND
        self.by_position: dict[int, int] = {}
        withdrawn = Item.objects.published().filter(campaign=campaign, retired_why=Item.Retired.WITHDRAWN)
        self.withdrawn = frozenset(withdrawn.values_list("position", flat=True))
        self.withdrawn_keys = frozenset(withdrawn.values_list("key_folded", flat=True))
        self.by_key: dict[str, list[int]] = defaultdict(list)
        self.by_text: dict[str, list[int]] = defaultdict(list)
        self.by_name: dict[str, list[int]] = defaultdict(list)  # what exports write where an item has no id
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
            "key",
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
            else:
                self.by_name[fold_key(row["key"])].append(item)
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
            return say(
                "“{key}” is not the id of the item at position {number}.",
                key=row.key.given[:120],
                number=row.number,
            )
        for name, text in row.texts.items():
            if fold_key(text) != fold_key(self.texts_of[item][name]):
                return say(
                    "The {name} is not that of the item at position {number}.", name=name, number=row.number
                )
        return item

    def is_withdrawn(self, row: JudgementRow) -> bool:
        """Whether nothing but withdrawn items stands under the row's key."""
        return (
            row.key is not None
            and row.key.folded in self.withdrawn_keys
            and row.key.folded not in self.by_key
        )

    def find(self, row: JudgementRow) -> int | str:
        """The row's item, or why there is none."""
        if row.key is None:
            return say("Nothing says which item this row belongs to.")
        folded = row.key.folded
        found = self.by_key.get(folded) or self.by_text.get(folded) or self.by_name.get(folded, [])
        if self.compound and (row.system is not None or row.run is not None):
            found = [item for item in found if self._produced(item, row)]
        if (
            len(found) > 1 and self.names_outputs
        ):  # an export leaves the cell of a system or run without a name empty
            found = self._exactly(found, row) or found
        if not found:
            return say("There is no item “{key}” in this campaign.", key=row.key.given[:120])
        if len(found) > 1:
            return say(
                "“{key}” has {n} different translations; say which one is meant in the columns system "
                "and run.",
                key=row.key.given[:120],
                n=len(found),
            )
        return found[0]

    def _exactly(self, found: Sequence[int], row: JudgementRow) -> list[int]:
        return [item for item in found if (row.system or "", row.run or "") in self.outputs[item]]

    def _produced(self, item: int, row: JudgementRow) -> bool:
        return any(
            (row.system is None or system == row.system) and (row.run is None or run == row.run)
            for system, run in self.outputs[item]
        )


def _accounts(campaign: Campaign, judged: Iterable[Judged]) -> dict[str, User]:
    """The authors by folded name; who has no account yet is one that is not stored. Writes nothing."""
    accounts: dict[str, User] = {}
    for one in judged:
        if one.annotator in accounts:
            continue
        check_name(one.rows[0].annotator)
        user = User.objects.filter(username_folded=one.annotator).first()
        if user is None:
            user = User(username=one.rows[0].annotator.strip(), is_active=False)
        elif user.is_active and Membership.objects.filter(campaign=campaign, user=user).exists():
            add_member(campaign, user, Membership.Role.EXPERT)  # refuses another role; who is there stays
        accounts[one.annotator] = user
    return accounts


def _people(campaign: Campaign, accounts: Mapping[str, User], *, by: User | None) -> dict[str, User]:
    """Every author as an expert of the campaign; who has no account gets one that is closed, and stays closed."""
    people: dict[str, User] = {}
    for name, account in accounts.items():
        user = account if account.pk else User.objects.create_user(account.username, is_active=False)
        people[name] = user
        if user.is_active:
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
        elif not Membership.objects.filter(campaign=campaign, user=user).exists():
            user.is_active = True  # for the moment of joining only: a closed account is refused
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
    return people


@dataclass
class _Standing:
    """How the round stands for some judgements: who was given their items, in which slots, with which answers."""

    k: int
    experts: Mapping[str, int]  # by folded name
    assigned: dict[tuple[int, int], Assignment]
    taken: dict[int, set[int]]
    revisions: dict[tuple[int, int], tuple[str, str]]  # (assignment, revision) → label, cause

    @classmethod
    def of(
        cls, round_: Round, judged: Sequence[Judged], experts: Mapping[str, int], *, lock: bool = False
    ) -> "_Standing":
        assigned: dict[tuple[int, int], Assignment] = {}
        taken: dict[int, set[int]] = defaultdict(set)
        revisions: dict[tuple[int, int], tuple[str, str]] = {}
        for items in _batches(sorted({one.item for one in judged})):
            rows = round_.assignments.filter(item__in=items)
            for row in rows.select_for_update() if lock else rows:
                assigned[row.item_id, row.expert_id] = row
                if row.withdrawn_at is None:
                    taken[row.item_id].add(row.slot)
            saved = Annotation.objects.filter(assignment__in=rows.filter(expert__in=experts.values()))
            for assignment, revision, *answer in saved.values_list(
                "assignment", "revision", "label", "cannot_judge"
            ):
                revisions[assignment, revision] = (answer[0], answer[1])
        return cls(round_.k, experts, assigned, taken, revisions)

    def assignment(self, one: Judged) -> Assignment | None:
        expert = self.experts.get(one.annotator)
        return None if expert is None else self.assigned.get((one.item, expert))


def _batches(items: Sequence[int]) -> Iterator[Sequence[int]]:
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))


@dataclass(frozen=True)
class _Step:
    """What is to be written of one person's judgements of one item: the revisions that are not there yet."""

    judged: Judged
    rows: tuple[JudgementRow, ...]
    assignment: Assignment | None  # None: one is to be made
    slot: int


def _plan(standing: _Standing, judged: Sequence[Judged], report: JudgementReport) -> list[_Step]:
    """The steps; what stands against them goes into the report. Slots that rows name are taken before others."""
    steps: list[_Step] = []
    for one in sorted(judged, key=lambda one: one.slot is None):
        rows, problem = _missing_rows(standing, one, report)
        if problem is not None:
            report.errors.append(RowIssue(one.rows[0].line, *problem))
        elif rows:
            slot = _slot(standing, one, report)
            if slot is not None:
                steps.append(_Step(one, rows, standing.assignment(one), slot))
    report.errors.sort(key=lambda issue: issue.line or 0)
    report.conflicts.sort(key=lambda conflict: conflict["line"])
    return sorted(steps, key=lambda step: step.judged.rows[0].line)


def _slot(standing: _Standing, one: Judged, report: JudgementReport) -> int | None:
    """The slot of these judgements; None where there is no place for them, which the report says."""
    assignment = standing.assignment(one)
    if assignment is not None:
        return assignment.slot
    taken = standing.taken[one.item]
    slot = one.slot or next((slot for slot in range(1, standing.k + 1) if slot not in taken), None)
    if slot is None:
        message = say_count(
            "This item has its expert already; a judgement by {name} has no place.",
            "This item has its {n} experts already; a judgement by {name} has no place.",
            n=standing.k,
            name=one.rows[0].annotator.strip(),
        )
        report.errors.append(RowIssue(one.rows[0].line, "annotator", message))
        return None
    if slot in taken:
        message = say("Slot {slot} of this item belongs to another expert already.", slot=slot)
        report.errors.append(RowIssue(one.rows[0].line, "slot", message))
        return None
    taken.add(slot)
    return slot


_Problem = tuple[str, str]  # column, message


def _missing_rows(
    standing: _Standing, one: Judged, report: JudgementReport
) -> tuple[tuple[JudgementRow, ...], _Problem | None]:
    """The revisions that are not stored yet, or what is wrong with them."""
    assignment = standing.assignment(one)
    problem = _slot_problem(standing, one, assignment)
    if problem is not None:
        return (), problem
    if assignment is None or assignment.answered_at is None:
        stored = 0
    else:
        stored = assignment.revision
        if _differs(standing, assignment, one, report):
            return (), None
        if _is_current(assignment, one):
            report.unchanged += 1
            return (), None
    later = tuple(row for row in one.rows if (row.revision or 1) > stored)
    # A file of current answers holds one row of each; its number says how many there were before.
    numbers = [row.revision or 1 for row in later]
    if numbers != list(range(stored + 1, stored + 1 + len(numbers))) and (stored or len(numbers) > 1):
        return (), ("revision", _gap(stored, numbers))
    if not later:
        report.unchanged += 1
    return later, None


def _slot_problem(standing: _Standing, one: Judged, assignment: Assignment | None) -> _Problem | None:
    slots = {row.slot for row in one.rows if row.slot is not None}
    name = one.rows[0].annotator.strip()
    if len(slots) > 1:
        return "slot", say(
            "The judgements of this item by {name} name several slots; they stand in one.", name=name
        )
    if slots and max(slots) > standing.k:
        return "slot", say(
            "There is no slot {slot}; items of this campaign have {k}.", slot=max(slots), k=standing.k
        )
    if assignment is None:
        return None
    if assignment.withdrawn_at is not None:
        return "annotator", say(
            "This item was taken away from {name}; a judgement by them has no place.", name=name
        )
    if slots and assignment.slot not in slots:
        return "slot", say(
            "{name} has slot {slot} of this item, not slot {other}.",
            name=name,
            slot=assignment.slot,
            other=max(slots),
        )
    return None


def _is_current(assignment: Assignment, one: Judged) -> bool:
    """Whether a single row says what the assignment holds, under whatever number."""
    return len(one.rows) == 1 and one.rows[0].answer == (assignment.label, assignment.cannot_judge)


def _gap(stored: int, numbers: Sequence[int]) -> str:
    missing = next(number for number in range(stored + 1, max(numbers) + 1) if number not in numbers)
    return say(
        "Revision {number} cannot be added, since revision {missing} is missing. Import a file that "
        "holds every "
        "revision.",
        number=next(number for number in numbers if number > missing),
        missing=missing,
    )


def _differs(standing: _Standing, assignment: Assignment, one: Judged, report: JudgementReport) -> bool:
    """Whether a row says something else than is stored under its revision; a row without one, than the last."""
    for row in one.rows:
        revision = row.revision or (assignment.revision if len(one.rows) == 1 else 1)
        stored = standing.revisions.get((assignment.pk, revision), row.answer)
        if stored != row.answer:
            report.conflicts.append(
                {
                    "line": row.line,
                    "key": row.key.given if row.key else str(row.number),
                    "field": "label",
                    "old": stored[0] or stored[1],
                    "new": row.label or row.cannot_judge,
                }
            )
            return True
    return False


def _write(round_: Round, judged: Sequence[Judged], people: Mapping[str, User], progress: Progress) -> int:
    """Chunk by chunk, all judgements of one item in the same chunk; returns how many answers were added."""
    by_item: dict[int, list[Judged]] = defaultdict(list)
    for one in judged:
        by_item[one.item].append(one)
    experts = {name: user.pk for name, user in people.items()}
    done = 0
    for items in _batches(list(by_item)):
        chunk = [one for item in items for one in by_item[item]]
        try:
            with transaction.atomic():
                # Written first: two imports at once queue up here, and each sees the slots the other took.
                Round.objects.filter(pk=round_.pk).update(state=round_.state)
                added = _write_chunk(round_, chunk, experts)
        except IntegrityError:
            raise _outrun(done) from None
        if added is None:
            raise _outrun(done)
        done += added
        progress(done, len(judged))
    return done


def _outrun(done: int) -> Refused:
    return Refused(
        say(
            "Somebody judged or assigned the same items at this moment. {done} judgements are stored; "
            "import the file again: what is stored is not stored twice, and what differs is shown.",
            done=done,
        )
    )


def _write_chunk(round_: Round, chunk: Sequence[Judged], experts: Mapping[str, int]) -> int | None:
    """Compare again and write; None where something stands against it now."""
    report = JudgementReport(NO_FILE)
    steps = _plan(_Standing.of(round_, chunk, experts, lock=True), chunk, report)
    if not report.ok:
        return None
    last = _last_places(round_, experts)
    new: list[Assignment] = []
    changed: list[Assignment] = []
    written: list[tuple[Assignment, int, _Step]] = []
    for step in steps:
        expert = experts[step.judged.annotator]
        if step.assignment is None:
            last[expert] += 1
            assignment = _assignment(round_, step, expert, place=last[expert])
            new.append(assignment)
        else:
            assignment = step.assignment
            changed.append(assignment)
        written.append((assignment, assignment.revision, step))
        _answer(assignment, step)
    Assignment.objects.bulk_create(new)
    Assignment.objects.bulk_update(
        changed, ["label", "cannot_judge", "revision", "answered_at"], batch_size=200
    )
    Annotation.objects.bulk_create(_annotations(written, round_))
    return len(steps)


def _last_places(round_: Round, experts: Mapping[str, int]) -> dict[int, int]:
    """By expert: the last position over all rounds, since a position names one screen of an expert."""
    mine = Assignment.objects.filter(round__campaign=round_.campaign_id, expert__in=experts.values())
    return defaultdict(int, mine.order_by().values_list("expert").annotate(last=Max("position")))


def _assignment(round_: Round, step: _Step, expert: int, *, place: int) -> Assignment:
    return Assignment(
        round=round_,
        unit_id=step.judged.unit,
        item_id=step.judged.item,
        expert_id=expert,
        slot=step.slot,
        position=place,
        queue=place,
    )


def _answer(assignment: Assignment, step: _Step) -> None:
    assignment.revision += len(step.rows)
    assignment.label, assignment.cannot_judge = step.rows[-1].answer
    assignment.answered_at = timezone.now()


def _annotations(written: Iterable[tuple[Assignment, int, _Step]], round_: Round) -> Iterable[Annotation]:
    now = timezone.now()
    for assignment, before, step in written:
        for revision, row in enumerate(step.rows, start=before + 1):
            yield Annotation(
                assignment=assignment,
                revision=revision,
                client_key=uuid.uuid4(),
                digest="",
                label=row.label,
                cannot_judge=row.cannot_judge,
                problem=row.problem,
                detail=row.detail,
                reasons=list(row.reasons),
                atoms=list(row.atoms),
                unsure=row.unsure,
                note=row.note or "",
                seconds=row.seconds,
                guideline_id=round_.guideline_id,
                source=Annotation.Source.IMPORT,
                created_at=now,
            )
