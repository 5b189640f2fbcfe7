"""What was judged more than once: by several experts (overlap), or by the same expert again (repeats)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Q, QuerySet

from annotation.models import Annotation, Assignment, Campaign, Output, Round
from annotation.protocol.base import get_protocol
from annotation.services.rounds import FIRST_DRAWN
from scoring.services.first_answers import Changed, first_answers
from scoring.services.gather import SystemRun
from scoring.stats.consistency import Repeats
from scoring.stats.noise import Judgements, Source

CHUNK = 5000

_Row = tuple[Any, ...]  # item, expert, label, slot, kind and number of the round


def doubles_of(chosen: SystemRun) -> tuple[Judgements, Source] | None:
    """All judgements of a run's instances and what they measure noise by; None where nothing was judged twice.

    Overlap between experts comes first: what one expert does again tells of this expert's wavering only.
    """
    contexts = {
        item: (unit, context)
        for item, unit, context in Output.objects.filter(
            system=chosen.system,
            run=chosen.run,
            batch__published_at__isnull=False,
            item__retired_at__isnull=True,
            item__exposed_at__isnull=True,  # talked about before: its answers are not independent
        ).values_list("item", "context__unit", "context")
    }
    answers = _answers(chosen.system.campaign)
    kinds = ("item", "expert", "label", "slot", "round__kind", "round__number")
    changed = first_answers(chosen.system.campaign)
    there = [row for row in answers.values_list(*kinds).iterator(CHUNK) if row[0] in contexts]
    rows = [row for row in (_first_given(row, changed) for row in there) if row[2]]
    main = [row for row in rows if row[4] == Round.Kind.MAIN]
    if _has_doubles([row[0] for row in main]):
        return _judgements([(*row[:4], 0) for row in main], contexts), "overlap"
    experts = {(row[0], row[1]) for row in main}
    again = [row for row in rows if row[4] == Round.Kind.REPEAT and (row[0], row[1]) in experts]
    if not again:
        return None
    return _judgements(
        [(*row[:4], 0) for row in main] + [(*row[:4], row[5]) for row in again], contexts
    ), "repeats"


def _first_given(row: _Row, changed: Changed) -> _Row:
    """An answer of the main round as it was before a spot check sent its part back."""
    item, expert, _now, *where = row
    first = changed.get((item, expert)) if row[4] == Round.Kind.MAIN else None
    return row if first is None else (item, expert, first.label, *where)


def repeats_of(
    campaign: Campaign, names: Mapping[int, str], *, draws: Collection[int] | None = None
) -> Repeats | None:
    """What experts were given again after their answer in the main round; None where nothing was.

    The first time counts as it stood when the second came: who then looks back may change the one after the other.
    `draws` takes only repeats of the draws with these numbers.
    """
    if not campaign.rounds.filter(kind=Round.Kind.REPEAT).exists():
        return None
    category = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    order = ("round__kind", "round__number")
    rows = _answers(campaign).order_by(*order, "item__position")
    if draws is not None:
        again = _answers(campaign).filter(round__kind=Round.Kind.REPEAT, round__number__in=draws)
        main = Q(round__kind=Round.Kind.MAIN, item__in=again.order_by().values("item"))
        rows = rows.filter(main | Q(round__kind=Round.Kind.REPEAT, round__number__in=draws))
    given: dict[tuple[int, int], list[_Given]] = {}
    columns = rows.values_list(
        "item", "expert", "round__kind", "pk", "label", "unit", "revision", "round__number"
    )
    for item, expert, kind, pk, label, unit, revision, number in columns.iterator(CHUNK):
        if kind == Round.Kind.MAIN or (item, expert) in given:
            given.setdefault((item, expert), []).append(_Given(pk, label, unit, revision, number))
    twice = {key: found for key, found in given.items() if len(found) > 1}
    if not twice:
        return None
    before = _before_the_repeat([found[:2] for found in twice.values()])
    first = [before.get(found[0].pk, found[0].label) for found in twice.values()]
    compounds = campaign.protocol == Campaign.Protocol.COMPOUND
    return Repeats(
        item=[item for item, _expert in twice],
        person=[names[expert] for _item, expert in twice],
        first=np.array([category.get(label, -1) for label in first], dtype=np.int64),
        again=np.array([category.get(found[1].label, -1) for found in twice.values()], dtype=np.int64),
        cluster=[found[0].unit for found in twice.values()] if compounds else None,
    )


class _Given(NamedTuple):
    """One answer as it stands."""

    pk: int
    label: str
    unit: int
    revision: int
    round_number: int


def _before_the_repeat(pairs: Sequence[Sequence[_Given]]) -> dict[int, str]:
    """Of originals that were changed at all and drawn to come again here: their label when the repeat was judged."""
    changed = {
        again.pk: first.pk
        for first, again in pairs
        if first.revision > 1 and again.round_number >= FIRST_DRAWN
    }
    if not changed:
        return {}
    began = {
        changed[again]: at
        for again, at in Annotation.objects.filter(assignment__in=changed, revision=1).values_list(
            "assignment", "created_at"
        )
    }
    saved = Annotation.objects.filter(assignment__in=began).order_by("revision")
    return {
        first: label
        for first, label, at in saved.values_list("assignment", "label", "created_at")
        if at <= began[first]
    }


def _has_doubles(items: Sequence[int]) -> bool:
    return len(set(items)) < len(items)


def _judgements(
    rows: Sequence[tuple[int, int, str, int, int]], contexts: Mapping[int, tuple[int, int]]
) -> Judgements:
    return Judgements(
        unit=[contexts[row[0]][0] for row in rows],
        context=[contexts[row[0]][1] for row in rows],
        verdict=np.array([int(row[2]) for row in rows], dtype=np.int8),
        order=np.array([1000 * row[4] + row[3] for row in rows], dtype=np.int64),
    )


def _answers(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__kind__in=(Round.Kind.MAIN, Round.Kind.REPEAT),
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
    )
