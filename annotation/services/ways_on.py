"""What can be done after a dry run: another one, parts of the main round, opening it again, or none of these."""

from dataclasses import dataclass

from annotation.models import Round
from annotation.protocol.sentences import Sentence
from annotation.services.campaigns import main_round
from annotation.services.counts import counts
from annotation.services.dry_runs import fresh_items, what_keeps_closed, why_stays_closed
from annotation.services.parts import what_waits


@dataclass(frozen=True, kw_only=True)
class WaysOn:
    """`fresh`: there are units for another dry run; `to_give`: something waits to be given out; `stays_closed`: why
    this one cannot be opened again, None where it can.
    """

    fresh: bool
    to_give: bool
    stays_closed: Sentence | None


def ways_on(round_: Round) -> WaysOn:
    """Of the last dry run, closed. Two queries."""
    waits = what_waits(main_round(round_.campaign))
    found = counts(fresh=fresh_items(round_.campaign), **waits, **what_keeps_closed(round_))
    return WaysOn(
        fresh=found["fresh"] > 0,
        to_give=any(found[name] for name in waits),
        stays_closed=why_stays_closed(found),
    )
