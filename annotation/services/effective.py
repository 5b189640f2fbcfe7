"""Experts' effective answers, read from their rows: labels, resolutions and agreement after it count the same ones.

What an effective score is, and when an item waits, is arithmetic and stands in `protocol.effective`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, Round
from annotation.protocol.effective import Effective, effective

CHUNK = 2000
# Rounds in which people judge again what they have judged on their own; and all rounds whose answers make labels.
AGAIN = (Round.Kind.RESOLUTION, Round.Kind.REJUDGEMENT)
COUNTED = (Round.Kind.MAIN, *AGAIN)

Label = str | None  # a label code, None for "cannot judge"


@dataclass(frozen=True)
class AgainAnswers:
    """What was answered to an item in later rounds, round by round, by expert; and how often these were saved."""

    position: int
    rounds: Sequence[Mapping[int, Label]]
    revisions: int


@dataclass(frozen=True)
class ItemAnswers:
    """The answers to one item, by expert in slot order. `revisions`: how many times they were saved, in all."""

    item: int
    independent: Mapping[int, Label]
    effective: Effective[int, Label]
    revisions: int


def answered(campaign: Campaign, *kinds: str) -> QuerySet[Assignment]:
    """The answers of these rounds that count: an overlap's, beyond the first k, only tell how far experts agree."""
    return Assignment.objects.filter(
        round__campaign=campaign,
        slot__lte=campaign.annotators_per_item,
        round__kind__in=kinds,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
    )


def again_answers(campaign: Campaign) -> dict[int, AgainAnswers]:
    """By item, what was judged again. One query; in most campaigns it finds nothing."""
    rows = answered(campaign, *AGAIN).order_by("item", "round", "slot")
    found: dict[int, AgainAnswers] = {}
    columns = rows.values_list("item", "item__position", "round", "expert", "label", "revision")
    for item, group in groupby(columns.iterator(CHUNK), key=lambda row: row[0]):
        rounds: dict[int, dict[int, Label]] = defaultdict(dict)
        position = revisions = 0
        for _item, position, round_, expert, label, revision in group:  # noqa: B007  # the same in each
            rounds[round_][expert] = label or None
            revisions += revision
        found[item] = AgainAnswers(position, [rounds[key] for key in sorted(rounds)], revisions)
    return found


def item_answers(campaign: Campaign) -> Iterator[ItemAnswers]:
    """Every item with an answer that counts. Two queries."""
    again = again_answers(campaign)
    rows = answered(campaign, Round.Kind.MAIN).order_by("item", "slot")
    columns = rows.values_list("item", "expert", "label", "revision")
    for item, group in groupby(columns.iterator(CHUNK), key=lambda row: row[0]):
        independent: dict[int, Label] = {}
        revisions = 0
        for _item, expert, label, revision in group:
            independent[expert] = label or None
            revisions += revision
        yield _of_item(item, independent, revisions, again.pop(item, None))
    for item, alone in again.items():
        yield _of_item(item, {}, 0, alone)


def _of_item(
    item: int, independent: Mapping[int, Label], revisions: int, again: AgainAnswers | None
) -> ItemAnswers:
    if again is None:
        return ItemAnswers(item, independent, effective(independent, []), revisions)
    return ItemAnswers(item, independent, effective(independent, again.rounds), revisions + again.revisions)
