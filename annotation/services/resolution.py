"""Resolution: items whose effective scores contrast are discussed, then judged again by the same experts.

A contrast is a 1 against a 0 on a triple, and a tie by the campaign's rule on a compound. Where an arbiter decided,
nothing is left to resolve. A contrast that remains after its experts have judged again stays one: the rule has its say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from annotation.models import Arbitration, Campaign, Item, Round, User
from annotation.protocol.labels import final_label
from annotation.services.again_rounds import AgainPlan, open_again, plan_again
from annotation.services.discussion import open_threads
from annotation.services.effective import ItemAnswers, item_answers
from annotation.services.frozen import complete_items, openable_items
from annotation.services.labels import rule_for


@dataclass(frozen=True, kw_only=True)
class Contrasts:
    """What is to be settled, by primary key. `items` may be judged again now; `blocked` once nobody is to judge them
    on their own any more (a spot check, a repeat); `waiting` were judged again by some of their experts only;
    `before` of `items` were judged again already and contrast still.
    """

    items: Sequence[int]
    blocked: Sequence[int]
    waiting: Sequence[int]
    before: Sequence[int]


def contrasts(campaign: Campaign) -> Contrasts:
    """Of closed batches, without what an arbiter decided. Six queries."""
    decided = Arbitration.objects.filter(item__campaign=campaign, taken_back_at__isnull=True)
    complete = set(
        complete_items(campaign).exclude(pk__in=decided.values("item")).values_list("pk", flat=True)
    )
    openable = set(openable_items(campaign).values_list("pk", flat=True))
    found, waiting = [], []
    for answers in item_answers(campaign):
        if answers.item not in complete:
            continue
        if answers.effective.waiting:
            waiting.append(answers.item)
        elif _contrast(campaign, answers):
            found.append(answers)
    return Contrasts(
        items=[answers.item for answers in found if answers.item in openable],
        blocked=[answers.item for answers in found if answers.item not in openable],
        waiting=waiting,
        before=[answers.item for answers in found if answers.effective.again and answers.item in openable],
    )


def _contrast(campaign: Campaign, answers: ItemAnswers) -> bool:
    votes = tuple(answers.effective.scores.values())
    if campaign.protocol == Campaign.Protocol.TRIPLE:
        return "1" in votes and "0" in votes
    k = campaign.annotators_per_item
    return final_label(rule_for(campaign), votes, k=k).reason == "tie"


def plan_resolution(campaign: Campaign) -> AgainPlan:
    """What a resolution opened now would hold."""
    return plan_again(campaign, contrasts(campaign).items)


def open_resolution(
    campaign: Campaign, *, by: User | None, confirmed: str | None = None, due_on: date | None = None
) -> Round:
    """Open every contrast to discussion and ask its experts to judge it again, each in their slot.

    `confirmed` is the hash of the plan that was shown. Raises Refused as `open_again` does.
    """

    def discuss(planned: AgainPlan) -> None:
        open_threads(campaign, planned.items, by=by)

    return open_again(
        campaign,
        Round.Kind.RESOLUTION,
        plan=lambda: plan_resolution(campaign),
        before=discuss,
        settings={},
        confirmed=confirmed,
        due_on=due_on,
        by=by,
    )


def to_settle(campaign: Campaign, found: Contrasts) -> Iterator[Item]:
    """The items of a list of contrasts, in the order of import, those that wait too."""
    wanted = [*found.items, *found.blocked, *found.waiting]
    yield from (
        Item.objects.filter(pk__in=wanted, campaign=campaign)
        .select_related("unit", "context")
        .order_by("position")
    )
