"""Verdicts that are carried over: their error, from the translations that were judged anyway."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from annotation.models import Assignment, Campaign, CarryOver, Round
from annotation.protocol.base import get_protocol
from annotation.services.exports import names_of
from scoring.services.doubles import repeats_of
from scoring.services.first_answers import first_answers
from scoring.stats.carry_over import carry_over_report
from scoring.stats.shift import UNDECIDED, JudgedTwice

Document = dict[str, Any]
CHUNK = 5000


def carried_error(campaign: Campaign, *, carried: Collection[int], seed: int, resamples: int) -> Document:
    """Of the items whose label is `carried`: how many, from how many sources, by which rules, and how often such a
    label would have been another. A fixed number of queries.

    That is told by what was judged anyway by experts who judged its source: independent answers only, as in agreement,
    those of before a spot check, none to what was talked about before, and none that was given with the source beside
    it on one screen. People stand under their pseudonyms.
    """
    rows = CarryOver.objects.filter(campaign=campaign, checked=False).values_list("item", "source", "rule")
    counted = [(source, rule) for item, source, rule in rows.iterator(CHUNK) if item in carried]
    names = names_of(campaign, real=False).by_user
    checked = _checked(campaign, names)
    return {
        "labels": len(carried),
        "sources": len({source for source, _rule in counted}),
        "rules": sorted({rule for _source, rule in counted}),
        **({"on_one_screen": checked.on_one_screen} if checked.on_one_screen else {}),
        **carry_over_report(
            checked.apart, _repeats(campaign, names), seed=seed, resamples=resamples
        ).as_json(),
    }


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was judged anyway, and by how many more verdicts an expert had the source on the very screen."""

    apart: JudgedTwice
    on_one_screen: int


def _checked(campaign: Campaign, names: Mapping[int, str]) -> Checked:
    pairs = CarryOver.objects.filter(
        campaign=campaign,
        checked=True,
        item__retired_at__isnull=True,
        source__retired_at__isnull=True,
        item__exposed_at__isnull=True,
        source__exposed_at__isnull=True,
    ).order_by("item__position")
    rows = list(pairs.values_list("item", "source", "item__unit"))
    answers = _answers(campaign, {pk for item, source, _unit in rows for pk in (item, source)})
    both = [
        (answers[source][expert], own, names[expert], unit)
        for item, source, unit in rows
        for expert, own in answers.get(item, {}).items()
        if expert in answers.get(source, {})
    ]
    found = [row for row in both if row[0].screen != row[1].screen]
    return Checked(
        apart=JudgedTwice(
            before=np.array([row[0].verdict for row in found], dtype=np.int8),
            later=np.array([row[1].verdict for row in found], dtype=np.int8),
            person=[row[2] for row in found],
            unit=[row[3] for row in found],
        ),
        on_one_screen=len(both) - len(found),
    )


class _Answer(NamedTuple):
    """The verdict (1, 0, or -1 for "cannot judge"), and the place of its screen among the expert's."""

    verdict: int
    screen: int


def _answers(campaign: Campaign, items: set[int]) -> Mapping[int, Mapping[int, _Answer]]:
    """By item and expert."""
    changed = first_answers(campaign)
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    ).order_by("item", "slot")
    found: dict[int, dict[int, _Answer]] = {}
    for item, expert, now, screen in rows.values_list("item", "expert", "label", "position").iterator(CHUNK):
        if item in items:
            label = changed[item, expert].label if (item, expert) in changed else now
            verdict = int(label) if label else UNDECIDED
            found.setdefault(item, {})[expert] = _Answer(verdict, screen)
    return found


def _repeats(campaign: Campaign, names: Mapping[int, str]) -> JudgedTwice:
    twice = repeats_of(campaign, names)
    if twice is None:
        nothing = np.array([], dtype=np.int8)
        return JudgedTwice(before=nothing, later=nothing, person=[], unit=[])
    verdict = np.array([*map(int, get_protocol(campaign.protocol).labels), UNDECIDED], dtype=np.int8)
    return JudgedTwice(
        before=verdict[twice.first],
        later=verdict[twice.again],
        person=twice.person,
        unit=twice.item if twice.cluster is None else twice.cluster,
    )
