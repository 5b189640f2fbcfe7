"""What the methods paragraph says of rounds beside and after the main one: repeats, checks, what was judged again."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, Q

from annotation.models import Campaign, Round
from annotation.protocol.sentences import Sentence, say
from annotation.services.spot_checks import Decision, Error

_DECIDED = {
    Decision.ACCEPT: say("accepted"),
    Decision.REWORK: say(
        "reworked in part; agreement counts what the experts had answered before, labels what they answered then"
    ),
    Decision.STOPPED: say("stopped"),
}
_ERRORS = {
    Error.CONTRAST: say("a judgement a whole point apart from the checker's, or the opposite verdict"),
    Error.LABEL: say("a judgement in whose place the checker's answer would give the item another label"),
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
    return [
        sentence
        for round_ in rounds
        for sentence in (
            _sentence(round_, items=round_.items, given=round_.given),
            *(_found(round_) if round_.kind == Round.Kind.SPOT_CHECK else ()),
        )
    ]


def _sentence(round_: Round, *, items: int, given: int) -> Sentence:
    if round_.kind == Round.Kind.REPEAT and "later_items" in round_.settings:
        return say(
            "Beside a later batch of {new}, {screens} that its experts had judged before came to them again without "
            "their being told so, drawn with seed {seed} (asked for were {percent} % of what they had judged): "
            "{items}, {answers}; labels and agreement between experts count none of these.",
            new=_items(round_.settings["later_items"]),
            screens=_screens(sum(round_.settings["drawn"].values())),
            percent=f"{round_.settings['percent']:g}",
            seed=round_.settings["seed"],
            items=_items(items),
            answers=_answers(given),
        )
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


def _found(check: Round) -> Sequence[Sentence]:
    """What a spot check came to, as it was kept with its decision; nothing before that, and of one that was stopped."""
    report = (check.outcome or {}).get("report")
    if not report:
        return []
    return [
        say(
            "Of {checked} that could be compared, drawn at random from {size}, {errors} held an error ({error}): "
            "an estimated error rate of {rate}; {plan}.",
            checked=_units(check, report["checked"]),
            size=f"{report['size']:,}",
            errors=f"{report['errors']:,}",
            error=_ERRORS[Error(report["error"])],
            rate=_rate(report),
            plan=_plan(report["rule"]),
        )
    ]


def _units(check: Round, n: int) -> Sentence:
    """What was drawn: a compound as a whole."""
    if check.campaign.protocol == Campaign.Protocol.COMPOUND:
        return say("1 compound") if n == 1 else say("{n} compounds", n=f"{n:,}")
    return say("1 triple") if n == 1 else say("{n} triples", n=f"{n:,}")


def _rate(report: Mapping[str, Any]) -> Sentence:
    if report["percent"] is None or report["ci95"] is None:
        return say("undefined")
    low, high = report["ci95"]
    return say(
        "{percent} % [{low}, {high}] (95 % interval, exact for parts of finite size)",
        percent=f"{report['percent']:.2f}",
        low=f"{low:.2f}",
        high=f"{high:.2f}",
    )


def _plan(rule: Mapping[str, Any]) -> Sentence:
    """What had to hold for the work to be accepted, as it was said before anything was checked."""
    if rule["c"] is None:
        return say("how many to check was chosen by hand, and no plan said how many errors to accept")
    return say(
        "the plan, for an acceptable rate of {acceptable} % against a rejectable one of {rejectable} % with the risks "
        "{alpha} and {beta}, accepted at most {c}",
        acceptable=f"{100 * rule['acceptable']:g}",
        rejectable=f"{100 * rule['rejectable']:g}",
        alpha=f"{rule['alpha']:g}",
        beta=f"{rule['beta']:g}",
        c=f"{rule['c']:,}",
    )


def _screens(n: int) -> Sentence:
    return say("1 screen") if n == 1 else say("{n} screens", n=f"{n:,}")


def _items(n: int) -> Sentence:
    return say("1 item") if n == 1 else say("{n} items", n=f"{n:,}")


def _answers(n: int) -> Sentence:
    return say("1 answer") if n == 1 else say("{n} answers", n=f"{n:,}")
