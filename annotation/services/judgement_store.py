"""Writing judgements of a file, in chunks, each in a short transaction that compares again.

Cut off in between, the same file adds the rest.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from django.db import IntegrityError
from django.db.models import Max
from django.utils import timezone

from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Annotation, Assignment, Round, User
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from annotation.services.import_store import Progress
from annotation.services.judgement_compare import Standing, Step, batches, plan_steps
from annotation.services.judgement_items import ItemJudgements
from annotation.services.judgement_report import JudgementReport
from annotation.services.turns import turn

# What was read once and is compared again: its findings are those of the first time.
_NO_FILE: FileRows[JudgementRow] = FileRows(
    name="", format="", encoding=None, sheet=None, columns={}, unknown_columns=(), n_rows=0, rows=(), errors=(),
    warnings=(),
)  # fmt: skip


def write_judgements(
    round_: Round, judged: Sequence[ItemJudgements], people: Mapping[str, User], progress: Progress
) -> int:
    """Chunk by chunk, all judgements of one item in the same chunk; returns how many answers were added."""
    by_item: dict[int, list[ItemJudgements]] = defaultdict(list)
    for one in judged:
        by_item[one.item].append(one)
    experts = {name: user.pk for name, user in people.items()}
    done = 0
    for items in batches(list(by_item)):
        chunk = [one for item in items for one in by_item[item]]
        try:
            with turn(round_.campaign_id):  # two imports at once: each sees the slots the other took
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


def _write_chunk(round_: Round, chunk: Sequence[ItemJudgements], experts: Mapping[str, int]) -> int | None:
    """Compare again and write; None where something stands against it now."""
    report = JudgementReport(_NO_FILE)
    steps = plan_steps(Standing.of(round_, chunk, experts, lock=True), chunk, report)
    if not report.ok:
        return None
    last = _last_places(round_, experts)
    new: list[Assignment] = []
    changed: list[Assignment] = []
    written: list[tuple[Assignment, int, Step]] = []
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


def _assignment(round_: Round, step: Step, expert: int, *, place: int) -> Assignment:
    return Assignment(
        round=round_,
        unit_id=step.judged.unit,
        item_id=step.judged.item,
        expert_id=expert,
        slot=step.slot,
        position=place,
        queue=place,
    )


def _answer(assignment: Assignment, step: Step) -> None:
    assignment.revision += len(step.rows)
    assignment.label, assignment.cannot_judge = step.rows[-1].answer
    assignment.answered_at = timezone.now()


def _annotations(written: Iterable[tuple[Assignment, int, Step]], round_: Round) -> Iterable[Annotation]:
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
                note=(row.note or "").strip(),
                seconds=row.seconds,
                guideline_id=round_.guideline_id,
                source=Annotation.Source.IMPORT,
                created_at=now,
            )
