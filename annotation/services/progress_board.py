"""Progress by part, expert and day, when experts will be done, and their hours: counts only, nothing of any answer."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import TruncDate
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign, HandIn, Membership, Round
from annotation.models.item import in_play
from annotation.protocol.pace import Finish, expected_finish
from annotation.services.errors import NotYours
from annotation.services.hours import Hours, Statement, statement, statements
from annotation.services.part_names import part_name

DAYS_SHOWN = 14


@dataclass(frozen=True, kw_only=True)
class PartLine:
    """One expert's share of a part. `index` is None for judgements that came from a file without one.

    `kind` and `number` are those of its round; hidden repeats go by the part they are mixed into, counted apart.
    """

    name: str
    index: int | None
    kind: str
    number: int
    member: Membership
    given: int
    answered: int
    repeats_given: int
    repeats_answered: int
    handed_in_at: datetime | None
    closed: bool  # its round: nothing is judged or handed in any more

    @property
    def complete(self) -> bool:
        return (self.answered, self.repeats_answered) == (self.given, self.repeats_given)

    @property
    def begun(self) -> bool:
        return bool(self.answered or self.repeats_answered)


@dataclass(frozen=True, kw_only=True)
class ExpertLine:
    """How far one expert is in the rounds that are open, when they may be done, and the hours that count. `before` is
    what they answered in rounds that are closed. Hidden repeats are counted apart, whatever round they are of; what is
    left of them counts for the finish.
    """

    member: Membership
    given: int
    answered: int
    before: int
    repeats_given: int
    repeats_answered: int
    finish: Finish
    due_on: date | None
    paid: float  # seconds, in all rounds

    @property
    def late(self) -> bool:
        """Whether they are expected to be done after the day it is due."""
        return bool(self.due_on and self.finish.day and self.finish.day > self.due_on)


@dataclass(frozen=True, kw_only=True)
class DayLine:
    """What everybody answered on one day, in the order of the board's experts."""

    day: date
    counts: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Board:
    """The whole page."""

    parts: Sequence[PartLine]
    experts: Sequence[ExpertLine]
    days: Sequence[DayLine]


def progress_board(campaign: Campaign, *, today: date | None = None) -> Board:
    """Seven queries, whatever the campaign's size."""
    today = today or timezone.localdate()
    members = _experts(campaign)
    rows = list(_shares(campaign))
    per_day = _per_day(campaign)
    paid = statements(campaign, [member.user_id for member in members])
    due = dict(campaign.rounds.filter(state=Round.State.OPEN).values_list("pk", "due_on"))
    experts = [
        _expert_line(
            member,
            [row for row in rows if row["expert"] == member.user_id],
            due,
            per_day[member.user_id],
            paid[member.user_id],
            today,
        )
        for member in members
    ]
    return Board(
        parts=_part_lines(campaign, members, rows, due.keys()), experts=experts, days=_days(members, per_day)
    )


def _experts(campaign: Campaign) -> list[Membership]:
    found = campaign.memberships.filter(role=Membership.Role.EXPERT)
    return list(found.select_related("user").order_by("id"))


def _shares(campaign: Campaign) -> QuerySet[Assignment, dict[str, Any]]:
    return (
        Assignment.objects.filter(in_play("item__"), round__campaign=campaign, withdrawn_at__isnull=True)
        .order_by("round", "part__index", "expert")
        .values("round", "round__kind", "round__number", "part__index", "expert")
        .annotate(given=Count("pk"), answered=Count("answered_at"))
    )


def _per_day(campaign: Campaign) -> defaultdict[int, dict[date, int]]:
    """By expert: how many answers they gave for the first time on each day; those of files have no day."""
    rows = (
        Annotation.objects.filter(assignment__round__campaign=campaign, revision=1)
        .exclude(source=Annotation.Source.IMPORT)
        .order_by()
        .values("assignment__expert", on=TruncDate("created_at"))
        .annotate(n=Count("pk"))
        .values_list("assignment__expert", "on", "n")
    )
    found: defaultdict[int, dict[date, int]] = defaultdict(dict)
    for expert, on, n in rows:
        found[expert][on] = n
    return found


def _expert_line(
    member: Membership,
    rows: Sequence[Mapping[str, Any]],
    due: Mapping[int, date | None],
    per_day: Mapping[date, int],
    paid: Statement,
    today: date,
) -> ExpertLine:
    waited_for = [row for row in rows if row["round"] in due and row["answered"] < row["given"]]
    left = sum(row["given"] - row["answered"] for row in waited_for)
    repeats, items = _told_apart(rows)
    at_work = [row for row in items if row["round"] in due]
    answered = _sum(at_work, "answered")
    return ExpertLine(
        member=member,
        given=_sum(at_work, "given"),
        answered=answered,
        before=_sum(items, "answered") - answered,
        repeats_given=_sum(repeats, "given"),
        repeats_answered=_sum(repeats, "answered"),
        finish=expected_finish(per_day, left=left, today=today),
        due_on=min((day for row in waited_for if (day := due[row["round"]])), default=None),
        paid=paid.total.paid,
    )


_Rows = list[Mapping[str, Any]]


def _told_apart(rows: Sequence[Mapping[str, Any]]) -> tuple[_Rows, _Rows]:
    """Hidden repeats, and what is given to be judged for the first time or again by everybody's knowing."""
    repeats = [row for row in rows if row["round__kind"] == Round.Kind.REPEAT]
    return repeats, [row for row in rows if row["round__kind"] != Round.Kind.REPEAT]


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(row[name] for row in rows)


def _part_lines(
    campaign: Campaign,
    members: Sequence[Membership],
    rows: Sequence[Mapping[str, Any]],
    open_rounds: Collection[int],
) -> list[PartLine]:
    """Hidden repeats go by the part they are mixed into."""
    handed_in = {
        (index, expert): at
        for index, expert, at in HandIn.objects.filter(part__round__campaign=campaign).values_list(
            "part__index", "expert", "at"
        )
    }
    by_user = {member.user_id: member for member in members}
    of_part: dict[tuple[int | None, str, int], _Rows] = {}
    rounds: dict[tuple[int | None, str], tuple[str, int]] = {}
    for row in rows:
        index, round_ = row["part__index"], (row["round__kind"], row["round__number"])
        name = "" if index is None else part_name(*round_, index)
        rounds.setdefault((index, name), round_)
        of_part.setdefault((index, name, row["expert"]), []).append(row)
    told_apart = {place: _told_apart(of_place) for place, of_place in of_part.items()}
    return [
        PartLine(
            name=name,
            index=index,
            kind=rounds[index, name][0],
            number=rounds[index, name][1],
            member=by_user[expert],
            given=_sum(items, "given"),
            answered=_sum(items, "answered"),
            repeats_given=_sum(repeats, "given"),
            repeats_answered=_sum(repeats, "answered"),
            handed_in_at=handed_in.get((index, expert)) if index is not None else None,
            closed=not any(row["round"] in open_rounds for row in (*items, *repeats)),
        )
        for (index, name, expert), (repeats, items) in told_apart.items()
        if expert in by_user
    ]


def _days(members: Sequence[Membership], per_day: Mapping[int, Mapping[date, int]]) -> list[DayLine]:
    """The last days on which anybody judged, the latest first."""
    days = sorted({day for counts in per_day.values() for day in counts}, reverse=True)[:DAYS_SHOWN]
    return [
        DayLine(day=day, counts=[per_day.get(member.user_id, {}).get(day, 0) for member in members])
        for day in days
    ]


# Hours ---------------------------------------------------------------------------------------------------------

HOURS_COLUMNS = (
    "expert", "day", "screens", "seat_seconds", "guideline_seconds", "practice_seconds", "discussion_seconds",
    "correction_seconds", "counted_seconds",
)  # fmt: skip


def pay_statement(campaign: Campaign, member: int) -> tuple[Membership, Statement]:
    """One expert's hours under the published rule; NotYours where there is no such expert."""
    found = campaign.memberships.filter(pk=member, role=Membership.Role.EXPERT).select_related("user").first()
    if found is None:
        raise NotYours("There is no such expert in this campaign.")
    return found, statement(campaign, found.user)


def hours_rows(campaign: Campaign) -> Iterator[list[Any]]:
    """Everybody's hours day by day, in `HOURS_COLUMNS`; people under their pseudonyms."""
    members = _experts(campaign)
    found = statements(campaign, [member.user_id for member in members])
    for member in members:
        for day in found[member.user_id].days:
            yield _hours_row(member, day)


def _hours_row(member: Membership, day: Hours) -> list[Any]:
    on = day.day.isoformat() if day.day else None
    clocks = (day.seat, day.guideline, day.practice, day.discussion, day.correction, day.paid)
    return [member.pseudonym, on, day.screens, *(round(seconds, 1) for seconds in clocks)]
