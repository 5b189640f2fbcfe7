"""What the methods paragraph says of rounds beside and after the main one: repeats, checks, what was judged again."""

from collections.abc import Sequence

from django.db.models import Count, Q

from annotation.models import Campaign, Round
from annotation.protocol.sentences import Sentence, say
from annotation.services.spot_checks import Decision

_DECIDED = {
    Decision.ACCEPT: say("accepted"),
    Decision.REWORK: say(
        "reworked in part; agreement counts what the experts had answered before, labels what they answered then"
    ),
    Decision.STOPPED: say("stopped"),
}


def later_round_sentences(campaign: Campaign) -> Sequence[Sentence]:
    """A sentence for each round in which somebody has answered. One query."""
    standing = Q(assignments__withdrawn_at__isnull=True, assignments__answered_at__isnull=False)
    rounds = (
        campaign.rounds.exclude(kind__in=(Round.Kind.MAIN, Round.Kind.DRY_RUN))
        .annotate(
            items=Count("assignments__item", filter=standing, distinct=True),
            given=Count("assignments", filter=standing),
        )
        .filter(given__gt=0)
        .order_by("pk")
    )
    return [_sentence(round_, items=round_.items, given=round_.given) for round_ in rounds]


def _sentence(round_: Round, *, items: int, given: int) -> Sentence:
    if round_.kind == Round.Kind.REPEAT:
        return say(
            "To measure how far experts agree with themselves, {items} came to the same expert again without their "
            "being told so: {answers}; labels and agreement between experts count none of these.",
            items=_items(items),
            answers=_answers(given),
        )
    if round_.kind == Round.Kind.SPOT_CHECK:
        decision = (round_.outcome or {}).get("decision")
        ended = say("not decided yet") if decision is None else _DECIDED[Decision(decision)]
        return say(
            "In spot check {number}, somebody who had seen no answer to them judged {items}: {ended}.",
            number=round_.number,
            items=_items(items),
            ended=ended,
        )
    if round_.kind == Round.Kind.RESOLUTION:
        return say(
            "After discussion, in resolution {number}, the same experts judged {items} again: {answers}.",
            number=round_.number,
            items=_items(items),
            answers=_answers(given),
        )
    return say(
        "After a change of the guidelines, in re-judgement {number}, the same experts judged {items} again: {answers}.",
        number=round_.number,
        items=_items(items),
        answers=_answers(given),
    )


def _items(n: int) -> Sentence:
    return say("1 item") if n == 1 else say("{n} items", n=f"{n:,}")


def _answers(n: int) -> Sentence:
    return say("1 answer") if n == 1 else say("{n} answers", n=f"{n:,}")
