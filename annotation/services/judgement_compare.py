"""What the judgements of a file would change: beside those that are stored. Nothing is written here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.models import Annotation, Assignment, Round
from annotation.protocol.sentences import say, say_count
from annotation.services.judgement_items import ItemJudgements
from annotation.services.judgement_report import JudgementReport

CHUNK = 2000  # items looked at, and written, at once


@dataclass
class Standing:
    """How the round stands for some judgements: who was given their items, in which slots, with which answers."""

    k: int
    experts: Mapping[str, int]  # by folded name
    assigned: dict[tuple[int, int], Assignment]
    taken: dict[int, set[int]]
    revisions: dict[tuple[int, int], tuple[str, str]]  # (assignment, revision) → label, cause

    @classmethod
    def of(
        cls,
        round_: Round,
        judged: Sequence[ItemJudgements],
        experts: Mapping[str, int],
        *,
        lock: bool = False,
    ) -> "Standing":
        assigned: dict[tuple[int, int], Assignment] = {}
        taken: dict[int, set[int]] = defaultdict(set)
        revisions: dict[tuple[int, int], tuple[str, str]] = {}
        for items in batches(sorted({one.item for one in judged})):
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

    def assignment(self, one: ItemJudgements) -> Assignment | None:
        """The author's assignment of the item, if there is one."""
        expert = self.experts.get(one.annotator)
        return None if expert is None else self.assigned.get((one.item, expert))


def batches(items: Sequence[int]) -> Iterator[Sequence[int]]:
    """The items, `CHUNK` by `CHUNK`."""
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))


@dataclass(frozen=True)
class Step:
    """What is to be written of one person's judgements of one item: the revisions that are not there yet."""

    judged: ItemJudgements
    rows: tuple[JudgementRow, ...]
    assignment: Assignment | None  # None: one is to be made
    slot: int


def plan_steps(standing: Standing, judged: Sequence[ItemJudgements], report: JudgementReport) -> list[Step]:
    """What is to be written; what stands against it goes into the report. Slots that rows name are taken first."""
    steps: list[Step] = []
    for one in sorted(judged, key=lambda one: one.slot is None):
        rows, problem = _missing_rows(standing, one, report)
        if problem is not None:
            report.errors.append(RowIssue(one.rows[0].line, *problem))
        elif rows:
            slot = _slot(standing, one, report)
            if slot is not None:
                steps.append(Step(one, rows, standing.assignment(one), slot))
    report.errors.sort(key=lambda issue: issue.line or 0)
    report.conflicts.sort(key=lambda conflict: conflict["line"])
    return sorted(steps, key=lambda step: step.judged.rows[0].line)


def _slot(standing: Standing, one: ItemJudgements, report: JudgementReport) -> int | None:
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
    standing: Standing, one: ItemJudgements, report: JudgementReport
) -> tuple[tuple[JudgementRow, ...], _Problem | None]:
    """The answers that are not stored yet, or what is wrong with them."""
    assignment = standing.assignment(one)
    problem = _slot_problem(standing, one, assignment)
    if problem is not None:
        return (), problem
    if assignment is None or assignment.answered_at is None:
        return one.rows, None  # in the order of their numbers, whatever these are
    pairs = _by_rank(standing, assignment, one) or _by_number(assignment, one)
    if _differs(standing, assignment, pairs, report):
        return (), None
    if _is_current(assignment, one):
        report.unchanged += 1
        return (), None
    later = {number: row for number, row in pairs.items() if number > assignment.revision}
    if list(later) != list(range(assignment.revision + 1, assignment.revision + 1 + len(later))):
        return (), ("revision", _gap(assignment.revision, list(later)))
    if not later:
        report.unchanged += 1
    return tuple(later.values()), None


_Pairs = dict[int, JudgementRow]  # by the revision that a row is, in their order


def _by_rank(standing: Standing, assignment: Assignment, one: ItemJudgements) -> _Pairs | None:
    """The n-th row is the n-th revision, where the file tells the whole story: it holds as many rows as are stored
    or more, and begins with the same answer. So a file whose numbers have gaps adds nothing the second time.
    """
    if len(one.rows) == 1 and one.rows[0].revision is None:
        return None
    first = standing.revisions.get((assignment.pk, 1))
    if len(one.rows) < assignment.revision or one.rows[0].answer != first:
        return None
    pairs = dict(enumerate(one.rows, start=1))
    agrees = all(
        standing.revisions.get((assignment.pk, number), row.answer) == row.answer
        for number, row in pairs.items()
    )
    return pairs if agrees or _has_gap(assignment, one) else None


def _by_number(assignment: Assignment, one: ItemJudgements) -> _Pairs:
    """A row is the revision that its number says; a single one without a number is the last."""
    alone = assignment.revision if len(one.rows) == 1 else 1
    return {row.revision or alone: row for row in one.rows}


def _has_gap(assignment: Assignment, one: ItemJudgements) -> bool:
    """Whether the numbers cannot be those of the revisions stored and following."""
    later = [number for number in _by_number(assignment, one) if number > assignment.revision]
    return later != list(range(assignment.revision + 1, assignment.revision + 1 + len(later)))


def _slot_problem(standing: Standing, one: ItemJudgements, assignment: Assignment | None) -> _Problem | None:
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


def _is_current(assignment: Assignment, one: ItemJudgements) -> bool:
    """Whether a single row says what the assignment holds, under whatever number."""
    return len(one.rows) == 1 and one.rows[0].answer == (assignment.label, assignment.cannot_judge)


def _gap(stored: int, numbers: Sequence[int]) -> str:
    missing = next(number for number in range(stored + 1, max(numbers) + 1) if number not in numbers)
    return say(
        "Revision {number} cannot be added, since revision {missing} is missing. Import a file that "
        "holds every revision.",
        number=next(number for number in numbers if number > missing),
        missing=missing,
    )


def _differs(standing: Standing, assignment: Assignment, pairs: _Pairs, report: JudgementReport) -> bool:
    """Whether a row says something else than is stored under its revision."""
    for revision, row in pairs.items():
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
