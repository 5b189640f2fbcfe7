"""What the methods paragraph says of the dry runs before the main round."""

from collections.abc import Mapping, Sequence

from annotation.models import Campaign, Round
from annotation.protocol.sentences import Sentence, say
from annotation.services.dry_runs import Bound, Decision, Source, decision_of, gate_of

_ENDED = {
    Decision.PASSED: say("passed"),
    Decision.NOT_PASSED: say("not passed"),
    Decision.OVERRIDDEN: say("not passed, gone on with a reason"),
}


def dry_run_sentences(campaign: Campaign, names: Mapping[str, str]) -> Sequence[Sentence]:
    """What each that was decided came to; `names` are those of the coefficients. One query."""
    rounds = campaign.rounds.filter(kind=Round.Kind.DRY_RUN, state=Round.State.CLOSED).order_by("number")
    told = (decision_of(found) for found in rounds)
    decided = [
        found for found, how in zip(rounds, told, strict=True) if how not in (None, Decision.TAKEN_BACK)
    ]
    return [
        sentence
        for found in decided
        for sentence in (_run(found, names), *_gate(found, names), *_missing(found))
    ]


def _run(round_: Round, names: Mapping[str, str]) -> Sentence:
    outcome = round_.outcome or {}
    aside = round_.settings["source"] == Source.SET_ASIDE
    return say(
        "In dry run {number}, {k} experts judged the same {n} units ({source}): {name} {value} (n = {items}).",
        number=round_.number,
        k=round_.k,
        n=round_.settings["n"],
        source=say("set aside") if aside else say("kept, and out of agreement"),
        name=names.get(outcome["coefficient"], outcome["coefficient"]),
        value=_value(outcome["value"], outcome["ci95"]),
        items=outcome["n"],
    )


def _value(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None:
        return say("undefined")
    return f"{value:.4f}" + (f" [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else "")


def _gate(round_: Round, names: Mapping[str, str]) -> list[Sentence]:
    gate, decision = gate_of(round_), decision_of(round_)
    if gate is None or decision not in _ENDED:
        return []
    values = {
        "name": names.get(gate.coefficient, gate.coefficient),
        "threshold": f"{gate.threshold:g}",
        "ended": _ENDED[decision],
    }
    if gate.bound == Bound.LOWER:
        return [
            say(
                "The gate, for {name} a lower end of the interval of {threshold} or more, was {ended}.",
                **values,
            )
        ]
    return [say("The gate, for {name} a value of {threshold} or more, was {ended}.", **values)]


def _missing(round_: Round) -> list[Sentence]:
    missing = (round_.outcome or {}).get("missing", {})
    return [say("It was closed with answers of experts missing: {n}.", n=len(missing))] if missing else []
