"""A round's answers in numbers, for figures over all of them. Each function costs a fixed number of queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import (
    BigIntegerField,
    Case,
    ExpressionWrapper,
    F,
    Func,
    Max,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import Assignment, Campaign, Item, Part, Round
from annotation.models.item import in_play
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from annotation.services.dry_runs import Decision, decision_of
from annotation.services.errors import Refused
from scoring.services.columns import Numbers, columns, looked_up
from scoring.services.first_answers import first_answers
from scoring.stats.agreement_groups import Groups
from scoring.stats.agreement_table import MISSING

NO_PART = -1
DAY = timedelta(days=1)
# Account, slot and label travel as one number: a row costs what its columns cost.
_SLOT_BITS, _LABEL_BITS = 16, 8
_EXPERT_BITS = 32
_OFF_THE_SCALE = 2**_LABEL_BITS - 1
_WORTH_READING_ALL = 0.1  # of the table


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Items in the order of the campaign, a row each: `pk`, `position`; `group`, the relation or type.

    `unit`: the compound that an item belongs to; None for triples.
    """

    pk: Numbers
    position: Numbers
    unit: Numbers | None
    group: Groups

    def __len__(self) -> int:
        return len(self.pk)

    def rows_of(self, items: Numbers) -> Numbers:
        """The row of each of these items, -1 for one that is not here."""
        return looked_up(items, self.pk, np.arange(len(self)), unknown=MISSING)

    def only(self, rows: Numbers) -> "JudgedItems":
        """These rows."""
        group = replace(self.group, numbers=self.group.numbers[rows])
        unit = None if self.unit is None else self.unit[rows]
        return JudgedItems(self.pk[rows], self.position[rows], unit, group)


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers to items that were not withdrawn, a row each; of several rounds of one kind the last ones last.

    `item`: its row in `items`, none of which is without an answer. `expert`: an account. `slot`: from 1. `label`: the
    number of a category, -1 for "cannot judge". `part`: its index, -1 for none. `moment`: in seconds since 1970, or
    None where the rounds began less than a day ago.
    """

    items: JudgedItems
    item: Numbers
    expert: Numbers
    slot: Numbers
    label: Numbers
    part: Numbers
    moment: Numbers | None


def answers_of(
    campaign: Campaign, *, round_kind: str, number: int | None = None, part: int | None = None
) -> Answers:
    """All answers of the rounds of this kind, or of one part: five queries, and one more on SQLite; of the main round
    one more, or three where a spot check has sent parts back: what was answered before that counts.

    `number` chooses one of several rounds; of dry runs the last is meant where none is named. Items that were talked
    about in a dry run have no independent answers any more: they are none of the main round's here.

    Raises Refused where there is no such round, ValueError where an answer is none of the protocol's.
    """
    rounds = _rounds(campaign, round_kind, number)
    items = _items(campaign, _COUNTED.get(round_kind, Q(retired_at__isnull=True)))
    found = _columns(campaign, _answered(rounds, part, n_items=len(items)), rounds)
    index_of = dict(Part.objects.filter(round__in=rounds).values_list("pk", "index"))
    place = items.rows_of(found["item"])
    there = place != MISSING
    if not there.all():  # withdrawn items
        place, found = place[there], {name: column[there] for name, column in found.items()}
    answered = np.bincount(place, minlength=len(items)) > 0
    label = found["answer"] & (2**_LABEL_BITS - 1)
    if (label == _OFF_THE_SCALE).any():
        item = items.position[place[label == _OFF_THE_SCALE][0]]
        raise ValueError(f"Item {item}: its answer is not on the scale of {campaign.protocol}s.")
    given = Answers(
        items=items.only(np.flatnonzero(answered)),
        item=(np.cumsum(answered) - 1)[place],
        expert=found["answer"] >> (_SLOT_BITS + _LABEL_BITS),
        slot=(found["answer"] >> _LABEL_BITS) & (2**_SLOT_BITS - 1),
        label=label + MISSING,
        part=looked_up(found["of_part"], *_pairs(index_of), unknown=NO_PART),
        moment=found.get("moment"),
    )
    return _as_first_given(campaign, given) if round_kind == Round.Kind.MAIN else given


def _as_first_given(campaign: Campaign, answers: Answers) -> Answers:
    """With the answers of before a spot check sent their part back."""
    changed = first_answers(campaign)
    if not changed:
        return answers
    number = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    label, moment = answers.label.copy(), None if answers.moment is None else answers.moment.copy()
    rows = answers.items.rows_of(np.array([item for item, _expert in changed], dtype=np.int64))
    key_of = (answers.item.astype(np.int64) << _EXPERT_BITS) + answers.expert
    keys = (rows << _EXPERT_BITS) + np.array([expert for _item, expert in changed], dtype=np.int64)
    of_answer = looked_up(key_of, keys, np.arange(len(changed)), unknown=MISSING)
    firsts = list(changed.values())
    for place in np.flatnonzero(of_answer != MISSING).tolist():
        first = firsts[of_answer[place]]
        label[place] = number.get(first.label, MISSING)
        if moment is not None:
            moment[place] = int(first.at.timestamp())
    return replace(answers, label=label, moment=moment)


def part_groups(answers: Answers) -> Groups:
    """The part of each item: that of its first slot, should an answer have come from elsewhere."""
    first_last = np.argsort(-answers.slot.astype(np.int32), kind="stable")
    part = np.full(len(answers.items), NO_PART)
    part[answers.item[first_last]] = answers.part[first_last]
    return Groups(part - NO_PART, ["imported", *map(str, range(int(part.max(initial=NO_PART)) + 1))])


_COUNTED: Mapping[str, Q] = {
    Round.Kind.MAIN: Q(retired_at__isnull=True, exposed_at__isnull=True),
    Round.Kind.DRY_RUN: in_play(),
}


def exposed_items(campaign: Campaign) -> int:
    """How many items with answers in the main round count in no agreement, since they were talked about before."""
    answered = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    )
    exposed = Item.objects.active().filter(campaign=campaign, exposed_at__isnull=False)
    return exposed.filter(pk__in=answered.values("item")).count()


def _rounds(campaign: Campaign, kind: str, number: int | None) -> list[Round]:
    rounds = list(Round.objects.filter(campaign=campaign, kind=kind).order_by("number"))
    if number is not None:
        found = [round_ for round_ in rounds if round_.number == number]
        if not found:
            raise Refused(say("This campaign has no round {number} of this kind.", number=number))
        return found
    if kind != Round.Kind.DRY_RUN:
        return rounds
    return [round_ for round_ in rounds if decision_of(round_) != Decision.TAKEN_BACK][-1:]


def _items(campaign: Campaign, counted: Q) -> JudgedItems:
    """Every item that was not withdrawn, as far as it counts."""
    group = "relation" if campaign.protocol == Campaign.Protocol.TRIPLE else "unit__type"
    active = Item.objects.filter(counted, campaign=campaign)
    names = sorted(active.order_by().values_list(group, flat=True).distinct())
    number = Case(
        *(When(**{group: name}, then=Value(place)) for place, name in enumerate(names)), default=Value(-1)
    )
    of_compounds = ["unit"] if campaign.protocol == Campaign.Protocol.COMPOUND else []
    pk, position, of_group, *unit = columns(
        active.annotate(of_group=number), "pk", "position", "of_group", *of_compounds
    )
    items = JudgedItems(pk, position, unit[0] if unit else None, Groups(of_group, names))
    return items.only(np.argsort(position, kind="stable"))


def _columns(
    campaign: Campaign, answered: QuerySet[Assignment], rounds: Sequence[Round]
) -> dict[str, Numbers]:
    rows = answered.annotate(
        answer=_packed(campaign),
        of_part=Coalesce("part", Value(0), output_field=BigIntegerField()),
        moment=_Seconds("answered_at"),
    )
    names = ["item", "answer", "of_part"]
    if rounds and min(round_.created_at for round_ in rounds) < timezone.now() - DAY:
        names.append("moment")
    if len(rounds) < 2:
        return dict(zip(names, columns(rows, *names), strict=True))
    *found, of_round = columns(rows, *names, "round")
    number = {round_.pk: number for number, round_ in enumerate(rounds)}
    order = np.argsort(looked_up(of_round, *_pairs(number)), kind="stable")
    return {name: column[order] for name, column in zip(names, found, strict=True)}


def _answered(rounds: Sequence[Round], part: int | None, *, n_items: int) -> QuerySet[Assignment]:
    """The rows that count."""
    of_rounds = [round_.pk for round_ in rounds]
    rows = Assignment.objects.filter(withdrawn_at__isnull=True, answered_at__isnull=False)
    if connection.vendor != "sqlite":
        return rows.filter(round__in=of_rounds, **({} if part is None else {"part": part}))
    # A sum is in no index: SQLite would look rows up one by one in the order of one.
    unsorted = rows.alias(of_round=F("round_id") + Value(0)).filter(of_round__in=of_rounds)
    if part is not None:
        return unsorted.filter(part=part)
    last = Assignment.objects.aggregate(last=Max("pk"))["last"] or 0
    if n_items * sum(round_.k for round_ in rounds) < _WORTH_READING_ALL * last:
        return rows.filter(round__in=of_rounds)
    return unsorted.filter(pk__range=(0, last))


def _packed(campaign: Campaign) -> "ExpressionWrapper[Any]":
    labels = get_protocol(campaign.protocol).labels
    number = Case(
        When(label="", then=Value(0)),
        *(When(label=label, then=Value(place)) for place, label in enumerate(labels, start=1)),
        default=Value(_OFF_THE_SCALE),
    )
    expert = F("expert_id") * Value(2 ** (_SLOT_BITS + _LABEL_BITS), output_field=BigIntegerField())
    slot = F("slot") * Value(2**_LABEL_BITS)
    return ExpressionWrapper(expert + slot + number, output_field=BigIntegerField())


class _Seconds(Func):
    """A moment in seconds since 1970."""

    output_field = BigIntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="STRFTIME('%%%%s', %(expressions)s)")

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="FLOOR(DATE_PART('epoch', %(expressions)s))")


def _pairs(known: Mapping[int, int]) -> tuple[Numbers, Numbers]:
    return np.array([*known], dtype=np.int64), np.array([*known.values()], dtype=np.int64)
