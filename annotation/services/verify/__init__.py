"""Checking that what must hold does hold: read-only, over everything a campaign has stored.

Constraints in the database give *at most* one expert per slot; that it is *exactly* k, and that what is derived
agrees with what it is derived from, is checked here: a rule is a function that yields where it does not hold. Cost: a
fixed number of queries, each of them a scan that the database aggregates or narrows down; what violates a rule comes
row by row, and is listed up to a limit.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from django.utils import timezone

from annotation.models import Campaign
from annotation.services.snapshot import snapshot
from annotation.services.verify.answers import (
    answers_agree,
    answers_of_the_protocol,
    frozen_stay_frozen,
    nothing_open_in_what_is_handed_in,
)
from annotation.services.verify.carried import (
    carried_from_alike,
    carried_from_judged,
    carried_labels_are_their_sources,
)
from annotation.services.verify.discussion import again_in_their_slots, discussion_waits
from annotation.services.verify.experts import (
    checkers_have_not_judged,
    exactly_k,
    experts_take_part,
    moves_add_up,
    somebody_manages,
)
from annotation.services.verify.items import (
    gold_stands,
    imports_complete,
    outputs_in_their_context,
    replaced_have_a_successor,
    set_aside_stay_out,
    withdrawn_items_rest,
)
from annotation.services.verify.labels import labels_follow_the_rule, labels_of_items_that_count
from annotation.services.verify.outputs import outputs_of_what_stands
from annotation.services.verify.places import assignments_in_their_place, one_screen_in_one_place, units_whole
from annotation.services.verify.repeats import (
    nobody_waits_twice,
    repeats_have_originals,
    repeats_wait_for_somebody,
)
from annotation.services.verify.rounds import guidelines_of_the_campaign, rounds_end_together

SHOWN = 100  # of each rule; the rest is counted


@dataclass(frozen=True)
class Violation:
    """A rule that does not hold, and where."""

    rule: str
    where: str


CHECKS: Mapping[str, Callable[[Campaign], Iterator[str]]] = {
    "exactly k experts per item": exactly_k,
    "units are never torn": units_whole,
    "assignments stand in their place": assignments_in_their_place,
    "one screen in one place": one_screen_in_one_place,
    "experts take part": experts_take_part,
    "somebody manages": somebody_manages,
    "moves add up": moves_add_up,
    "answers agree with their annotations": answers_agree,
    "answers are the protocol's": answers_of_the_protocol,
    "nothing is open in what is handed in": nothing_open_in_what_is_handed_in,
    "frozen answers stay frozen": frozen_stay_frozen,
    "discussion waits for judging": discussion_waits,
    "items are judged again in their slots": again_in_their_slots,
    "checkers have not judged": checkers_have_not_judged,
    "repeats have originals": repeats_have_originals,
    "repeats wait for somebody": repeats_wait_for_somebody,
    "nobody waits twice for one repeat": nobody_waits_twice,
    "final labels follow their rule": labels_follow_the_rule,
    "final labels are of items that count": labels_of_items_that_count,
    "verdicts are carried over from alike translations": carried_from_alike,
    "verdicts are carried over from what is judged": carried_from_judged,
    "carried labels are those of their sources": carried_labels_are_their_sources,
    "withdrawn items rest": withdrawn_items_rest,
    "replaced items have a successor": replaced_have_a_successor,
    "set-aside items stay out": set_aside_stay_out,
    "gold stands on texts that stand": gold_stands,
    "rounds end together": rounds_end_together,
    "guidelines are the campaign's": guidelines_of_the_campaign,
    "outputs stand in their context": outputs_in_their_context,
    "no output stands on a replaced item": outputs_of_what_stands,
    "imports are complete": imports_complete,
}


OF_COMPOUNDS = frozenset(
    {
        "verdicts are carried over from alike translations",
        "verdicts are carried over from what is judged",
        "carried labels are those of their sources",
        "outputs stand in their context",
        "no output stands on a replaced item",
    }
)


def checks_of(campaign: Campaign) -> list[str]:
    """The rules that can be violated by a campaign of this kind."""
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    return [rule for rule in CHECKS if compound or rule not in OF_COMPOUNDS]


def verify(campaign: Campaign) -> list[Violation]:
    """Every violation found, the first hundred of each rule."""
    with snapshot():
        found: list[Violation] = []
        for name, check in CHECKS.items():
            places = check(campaign)
            found += [Violation(name, where) for where in islice(places, SHOWN)]
            more = sum(1 for _where in places)
            if more:
                found.append(Violation(name, f"and {more} more"))
        return found


def unfinished_imports(campaign: Campaign) -> list[str]:
    """Imports that ended before they were published: nobody sees their rows, and the next import sweeps them away."""
    lapsed = campaign.import_batches.filter(published_at__isnull=True, lease_until__lte=timezone.now())
    return [batch.file_name for batch in lapsed]
