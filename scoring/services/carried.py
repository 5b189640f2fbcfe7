"""Verdicts that are carried over: their error, from the translations that were judged anyway."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from annotation.models import Assignment, Campaign, CarryOver, Round
from annotation.protocol.base import get_protocol
from annotation.services.exports import names_of
from scoring.services.doubles import repeats_of
from scoring.services.first_answers import first_answers
from scoring.stats.carry_over import CarryOverReport, carry_over_report
from scoring.stats.shift import UNDECIDED, JudgedTwice

Document = dict[str, Any]
CHUNK = 5000


def carried_error(campaign: Campaign, *, carried: Collection[int], seed: int, resamples: int) -> Document:
    """Of the items whose label is `carried`: how many, from how many sources, by which rules, and how often such a
    label would have been another.
    """
    rows = CarryOver.objects.filter(campaign=campaign, checked=False).values_list("item", "source", "rule")
    counted = [(source, rule) for item, source, rule in rows.iterator(CHUNK) if item in carried]
    return {
        "labels": len(carried),
        "sources": len({source for source, _rule in counted}),
        "rules": sorted({rule for _source, rule in counted}),
        **error_of(campaign, seed=seed, resamples=resamples).as_json(),
    }


def error_of(campaign: Campaign, *, seed: int, resamples: int) -> CarryOverReport:
    """The report over what was judged anyway by experts who judged its source. A fixed number of queries.

    Independent answers only, as in agreement: those of before a spot check, and none to what was talked about before.
    People stand under their pseudonyms.
    """
    names = names_of(campaign, real=False).by_user
    return carry_over_report(
        _checked(campaign, names), _repeats(campaign, names), seed=seed, resamples=resamples
    )


def _checked(campaign: Campaign, names: Mapping[int, str]) -> JudgedTwice:
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
    found = [
        (answers[source][expert], own, names[expert], unit)
        for item, source, unit in rows
        for expert, own in answers.get(item, {}).items()
        if expert in answers.get(source, {})
    ]
    return JudgedTwice(
        before=np.array([row[0] for row in found], dtype=np.int8),
        later=np.array([row[1] for row in found], dtype=np.int8),
        person=[row[2] for row in found],
        unit=[row[3] for row in found],
    )


def _answers(campaign: Campaign, items: set[int]) -> Mapping[int, Mapping[int, int]]:
    """By item and expert the verdict: 1, 0, or -1 for "cannot judge"."""
    changed = first_answers(campaign)
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    ).order_by("item", "slot")
    found: dict[int, dict[int, int]] = {}
    for item, expert, now in rows.values_list("item", "expert", "label").iterator(CHUNK):
        if item in items:
            label = changed[item, expert].label if (item, expert) in changed else now
            found.setdefault(item, {})[expert] = int(label) if label else UNDECIDED
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
