"""How often each expert's answer to a gold item is its known label, with an exact interval.

Gold items are ordinary items and stay in agreement, labels and error rates; here they are looked at by themselves.
Only independent answers of the main round count, as they were before a spot check sent a part back; a “cannot judge”
stands beside the share, not in it. An expert's gold items are taken as independent of each other, which contexts of
one compound are not quite.
"""

from collections import Counter
from typing import Any

from django.db.models import OuterRef, Subquery

from annotation.models import Assignment, Campaign, Membership, Round
from annotation.protocol.sentences import say
from annotation.services.gold import gold_count
from scoring.services.first_answers import first_answers
from scoring.stats.proportions import clopper_pearson, percent, percent_interval

Document = dict[str, Any]

CONTRAST = 1.0  # points between two scores
NOTHING = say("no gold item was judged")


def gold_report(campaign: Campaign) -> Document:
    """By pseudonym: judged, right, and how many of the others are a whole point off. Three queries."""
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
        item__gold__isnull=False,
    )
    member = Membership.objects.filter(campaign=campaign, user=OuterRef("expert"))
    answered = rows.annotate(
        joined=Subquery(member.values("pk")[:1]), pseudonym=Subquery(member.values("pseudonym")[:1])
    )
    changed = first_answers(campaign)
    found: dict[str, Counter[str]] = {}  # by pseudonym, in the order in which they joined
    for item, expert, pseudonym, now, known in answered.order_by("joined").values_list(
        "item", "expert", "pseudonym", "label", "item__gold__label"
    ):
        label = changed[item, expert].label if (item, expert) in changed else now
        if pseudonym is not None:
            found.setdefault(pseudonym, Counter())[_outcome(label, known)] += 1
    return {
        "campaign": campaign.slug,
        "n_gold": gold_count(campaign),
        "experts": [_of_expert(pseudonym, outcomes) for pseudonym, outcomes in found.items()],
        "signature": "gold|ver:1|interval:clopper-pearson|round:main",
    }


def _outcome(label: str, known: str) -> str:
    if not label:
        return "cannot_judge"
    if label == known:
        return "right"
    return "contrasts" if abs(float(label) - float(known)) >= CONTRAST else "near"


def _of_expert(pseudonym: str, outcomes: Counter[str]) -> Document:
    n = outcomes["right"] + outcomes["near"] + outcomes["contrasts"]
    return {
        "expert": pseudonym,
        "n": n,
        "right": outcomes["right"],
        "contrasts": outcomes["contrasts"],
        "cannot_judge": outcomes["cannot_judge"],
        "percent": percent(outcomes["right"] / n) if n else None,
        "ci95": percent_interval(clopper_pearson(outcomes["right"], n)) if n else None,
        **({} if n else {"reason": NOTHING, "ci95_reason": NOTHING}),
    }
