"""What was judged more than once: by several experts (overlap), or by the same expert again (repeats)."""

from collections.abc import Mapping, Sequence

import numpy as np
from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, Output, Round
from annotation.protocol.base import get_protocol
from scoring.services.gather import SystemRun
from scoring.stats.consistency import Repeats
from scoring.stats.noise import Judgements, Source

CHUNK = 5000


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
        ).values_list("item", "context__unit", "context")
    }
    answers = _answers(chosen.system.campaign).exclude(label="")
    kinds = ("item", "expert", "label", "slot", "round__kind", "round__number")
    rows = [row for row in answers.values_list(*kinds).iterator(CHUNK) if row[0] in contexts]
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


def repeats_of(campaign: Campaign, names: Mapping[int, str]) -> Repeats | None:
    """What experts were given again after their answer in the main round; None where nothing was."""
    if not campaign.rounds.filter(kind=Round.Kind.REPEAT).exists():
        return None
    category = {label: place for place, label in enumerate(get_protocol(campaign.protocol).labels)}
    order = ("round__kind", "round__number")
    rows = _answers(campaign).order_by(*order, "item__position")
    given: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for item, expert, label, unit, kind in rows.values_list(
        "item", "expert", "label", "unit", "round__kind"
    ).iterator(CHUNK):
        if kind == Round.Kind.MAIN or (item, expert) in given:
            given.setdefault((item, expert), []).append((label, unit))
    twice = {key: found for key, found in given.items() if len(found) > 1}
    if not twice:
        return None
    compounds = campaign.protocol == Campaign.Protocol.COMPOUND
    return Repeats(
        item=[item for item, _expert in twice],
        person=[names[expert] for _item, expert in twice],
        first=np.array([category.get(found[0][0], -1) for found in twice.values()], dtype=np.int64),
        again=np.array([category.get(found[1][0], -1) for found in twice.values()], dtype=np.int64),
        cluster=[found[0][1] for found in twice.values()] if compounds else None,
    )


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
