"""Dry runs: everybody judges the same few units before the main round begins, on their own, and then they talk.

A dry run is planned before anything is stored, may be repeated on units that nobody has seen, and ends with a
decision: until the last one has one, no parts of the main round are given out. What the decision rests on is a
statistic; it is computed above and comes here as figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Gold, Item, Membership, Part, Round, Thread, User
from annotation.protocol.chance import fingerprint
from annotation.protocol.sampling import StratifiedSample, stratified_sample
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.services.campaigns import check_seed
from annotation.services.counts import counts
from annotation.services.errors import Refused
from annotation.services.people import add_member, audit, check_experts, find_or_create_experts
from annotation.services.rounds import Share, close_round, open_round, reopen_round
from annotation.services.turns import turn

FEWEST_EXPERTS = 2
USUAL_N = {Campaign.Protocol.TRIPLE: 60, Campaign.Protocol.COMPOUND: 24}
MINIMUM = 1  # of each relation or pattern
OTHER = "other"  # the stratum of compounds whose pattern is not known
REASON_LENGTH = 1000
CHUNK = 5000


class Source(StrEnum):
    """What becomes of the items of a dry run."""

    SET_ASIDE = "set_aside"  # they are out of the evaluation set
    EXPOSED = "exposed"  # they stay in it, and out of agreement


class Bound(StrEnum):
    """Which figure has to reach the threshold."""

    VALUE = "value"
    LOWER = "lower"  # of the interval


class Decision(StrEnum):
    """How a dry run ended. Without one it is open, or its agreement is still to be computed."""

    PASSED = "passed"
    NOT_PASSED = "not_passed"
    OVERRIDDEN = "overridden"
    NO_GATE = "no_gate"
    TAKEN_BACK = "taken_back"


OPENS_MAIN = frozenset({Decision.PASSED, Decision.OVERRIDDEN, Decision.NO_GATE})


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What the agreement must reach, chosen before anybody judges."""

    coefficient: str
    threshold: float
    bound: Bound = Bound.VALUE

    def as_json(self) -> dict[str, Any]:
        return {"coefficient": self.coefficient, "threshold": self.threshold, "bound": str(self.bound)}


def gate_of(round_: Round) -> Gate | None:
    """The gate that was fixed when the dry run was opened."""
    stored = round_.settings.get("gate")
    if stored is None:
        return None
    return Gate(
        coefficient=stored["coefficient"], threshold=stored["threshold"], bound=Bound(stored["bound"])
    )


# Planning and opening ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DryRunPlan:
    """Who will judge what. `hash` is the SHA-256 of everything that it is made of: equal hashes are equal plans."""

    experts: tuple[str, ...]
    sample: StratifiedSample
    items: tuple[int, ...]
    seed: int
    source: Source
    gate: Gate | None

    @property
    def n_units(self) -> int:
        return len(self.sample.keys)

    @property
    def settings(self) -> dict[str, Any]:
        """What is kept with the round."""
        return {
            "seed": self.seed,
            "n": self.n_units,
            "source": str(self.source),
            "gate": None if self.gate is None else self.gate.as_json(),
            "strata": [stratum.as_json() for stratum in self.sample.strata],
        }

    @property
    def hash(self) -> str:
        identity = {**self.settings, "units": self.sample.keys, "items": self.items, "experts": self.experts}
        return fingerprint(identity)

    def as_json(self) -> dict[str, Any]:
        """What `dry_run --json` prints."""
        return {
            "experts": list(self.experts),
            "n_units": self.n_units,
            "n_items": len(self.items),
            **self.settings,
            "hash": self.hash,
        }


def plan_dry_run(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    n: int | None = None,
    seed: int | None = None,
    source: Source = Source.SET_ASIDE,
    gate: Gate | None = None,
) -> DryRunPlan:
    """What `open_dry_run` would store, or its refusal. Creates nobody, stores nothing.

    By default 60 triples or 24 compounds, or all there are where they are fewer, at least one of each relation or
    pattern, drawn by the campaign's seed out of the units that nobody was given in any round. A unit comes whole.
    """
    seed = campaign.seed if seed is None else seed
    check_seed(seed)
    if gate is not None and not -1 <= gate.threshold <= 1:
        raise Refused(say("Agreement lies between −1 and 1, so a threshold does too: give one such as 0.6."))
    if len(experts) < FEWEST_EXPERTS:
        raise Refused(say("A dry run compares people: name at least two experts."))
    check_experts(campaign, experts)
    units = _fresh_units(campaign)
    if not units:
        raise Refused(
            say("There is no unit left that nobody was given; bring in more items before a dry run.")
        )
    wanted = min(USUAL_N[Campaign.Protocol(campaign.protocol)], len(units)) if n is None else n
    sample = stratified_sample(
        list(units), [stratum for stratum, _items in units.values()], wanted, minimum=MINIMUM, seed=seed
    )
    return DryRunPlan(
        experts=tuple(name.strip() for name in experts),
        sample=sample,
        items=tuple(item for key in sample.keys for item in units[key][1]),
        seed=seed,
        source=source,
        gate=gate,
    )


def fresh_items(campaign: Campaign) -> QuerySet[Item]:
    """The items of units that nobody was given in any round, without those whose label is known beforehand: these are
    left for the rounds that they check.
    """
    given = Assignment.objects.filter(round__campaign=campaign, withdrawn_at__isnull=True)
    gold = Gold.objects.filter(item__campaign=campaign)
    return (
        Item.objects.active()
        .filter(campaign=campaign)
        .exclude(unit__in=given.values("unit"))
        .exclude(unit__in=gold.values("item__unit"))
    )


def _fresh_units(campaign: Campaign) -> dict[str, tuple[str, list[int]]]:
    """By key, in the order of import: the stratum and the items of each of these units."""
    group = "relation" if campaign.protocol == Campaign.Protocol.TRIPLE else "unit__pattern"
    rows = (
        fresh_items(campaign)
        .order_by("unit__position", "position")
        .values_list("unit__key", group, "unit__type", "pk")
    )
    found: dict[str, tuple[str, list[int]]] = {}
    for key, stratum, kind, item in rows.iterator(CHUNK):
        found.setdefault(key, (stratum or kind or OTHER, []))[1].append(item)
    return found


def open_dry_run(
    campaign: Campaign,
    *,
    experts: Sequence[str],
    n: int | None = None,
    seed: int | None = None,
    source: Source = Source.SET_ASIDE,
    gate: Gate | None = None,
    due_on: date | None = None,
    by: User | None,
    confirmed_hash: str | None = None,
) -> Round:
    """Give the planned sample to all the experts, in one transaction; its items are set aside or marked exposed.

    `confirmed_hash` is what the manager was shown; if the campaign has changed since, nothing is stored.
    """
    with turn(campaign):
        refuse_while_open(campaign)
        planned = plan_dry_run(campaign, experts=experts, n=n, seed=seed, source=source, gate=gate)
        if confirmed_hash is not None and confirmed_hash != planned.hash:
            raise Refused(
                say(
                    "The campaign changed since this plan was shown: items were added, given out or taken away. "
                    "Look at the new plan and confirm it again."
                )
            )
        people = find_or_create_experts(planned.experts, by)
        for person in people:
            add_member(campaign, person, Membership.Role.EXPERT, by=by)
        round_ = open_round(
            campaign,
            Round.Kind.DRY_RUN,
            shares=[Share(items=planned.items, experts=people)],
            settings=planned.settings,
            by=by,
            due_on=due_on,
        )
        now = timezone.now()
        items = _items_of(round_)
        if source == Source.SET_ASIDE:
            items.update(retired_at=now, retired_why=Item.Retired.SET_ASIDE)
        else:
            items.update(exposed_at=now)
    return round_


def _items_of(round_: Round) -> Any:
    return Item.objects.filter(pk__in=Assignment.objects.filter(round=round_).values("item"))


def refuse_while_open(campaign: Campaign) -> None:
    """One dry run at a time."""
    still = campaign.rounds.filter(kind=Round.Kind.DRY_RUN, state=Round.State.OPEN).first()
    if still is not None:
        raise Refused(
            say("Dry run {number} is still open; close it before you open another.", number=still.number)
        )


# Taking back -------------------------------------------------------------------------------------------------


def take_back(round_: Round, *, by: User | None) -> Round:
    """Undo the opening while nobody has answered: its items stand as they stood, and may be drawn again.

    Repeated, it changes nothing. Raises Refused once there is an answer.
    """
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if decision_of(round_) == Decision.TAKEN_BACK:
            return round_
        # An answer that is on its way is waited for, or finds its assignment taken away.
        revisions = list(round_.assignments.select_for_update().values_list("revision", flat=True))
        if any(revisions) or round_.state != Round.State.OPEN:
            raise Refused(
                say("Somebody has answered in this dry run, so it cannot be taken back; close it instead.")
            )
        round_ = close_round(round_, outcome={"decision": str(Decision.TAKEN_BACK)}, by=by)
        items = _items_of(round_)
        items.update(exposed_at=None)
        items.filter(retired_why=Item.Retired.SET_ASIDE).update(retired_at=None, retired_why="")
        round_.assignments.update(withdrawn_at=round_.closed_at)
    return round_


def taken_back(prefix: str = "") -> Q:
    """Rounds that were undone before anybody answered; `prefix` leads to the round."""
    return Q(**{f"{prefix}outcome__decision": str(Decision.TAKEN_BACK)})


# Closing and deciding ----------------------------------------------------------------------------------------


def decision_of(round_: Round) -> Decision | None:
    """How the dry run ended; None while it is open or undecided."""
    decision = (round_.outcome or {}).get("decision")
    return None if decision is None else Decision(decision)


def missing_experts(round_: Round) -> dict[str, int]:
    """By pseudonym: how many items they have not answered, who has any."""
    rows = (
        Assignment.objects.filter(round=round_, withdrawn_at__isnull=True, answered_at__isnull=True)
        .order_by("slot")
        .values_list("slot", "expert")
    )
    left: dict[int, int] = {}
    for _slot, expert in rows:
        left[expert] = left.get(expert, 0) + 1
    names = dict(
        Membership.objects.filter(campaign=round_.campaign_id, user__in=left).values_list("user", "pseudonym")
    )
    return {names[expert]: n for expert, n in left.items()}


def close_dry_run(round_: Round, *, without_missing: bool = False, by: User | None) -> Round:
    """Nobody judges in it any more; the pseudonyms of who is missing are kept. Closed already, it stays as it is.

    Raises Refused where nobody has answered, or answers are missing and `without_missing` does not say so.
    """
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if round_.state != Round.State.OPEN:
            return round_
        missing = missing_experts(round_)
        if not round_.assignments.filter(withdrawn_at__isnull=True, answered_at__isnull=False).exists():
            raise Refused(say("Nobody has answered in this dry run yet; take it back instead of closing it."))
        if missing and not without_missing:
            raise Refused(
                say_count(
                    "{n} answer is still missing ({who}). Wait for it, or close the dry run without it.",
                    "{n} answers are still missing ({who}). Wait for them, or close the dry run without them.",
                    n=sum(missing.values()),
                    who=", ".join(missing),
                )
            )
        return close_round(round_, outcome={"missing": missing}, by=by)


def decide(round_: Round, figures: Mapping[str, Any], *, by: User | None) -> Round:
    """Keep what the agreement came to and whether it reached the gate. Decided already, it stays as it is.

    `figures`: value, ci95, n, reason and signature of the gate's coefficient, and whatever is worth keeping beside.
    """
    gate = gate_of(round_)
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if round_.state != Round.State.CLOSED:
            raise Refused(say("This dry run is open; close it first."))
        if decision_of(round_) is None:
            decision = Decision.NO_GATE if gate is None else _passed(gate, figures)
            round_.outcome = {**(round_.outcome or {}), **figures, "decision": str(decision)}
            round_.save(update_fields=["outcome"])
            audit(
                round_.campaign,
                by,
                "dry run decided",
                {"number": round_.number, "decision": str(decision), "value": figures.get("value")},
            )
    return round_


def _passed(gate: Gate, figures: Mapping[str, Any]) -> Decision:
    """An agreement that is undefined, or that has no interval where one is asked for, does not pass."""
    interval = figures.get("ci95")
    reached = (interval[0] if interval else None) if gate.bound == Bound.LOWER else figures.get("value")
    return Decision.PASSED if reached is not None and reached >= gate.threshold else Decision.NOT_PASSED


def override(round_: Round, *, reason: str, by: User) -> Round:
    """Go on although the gate was not passed; the reason is kept. Overridden already, the first reason stays."""
    reason = reason.strip()
    if not 1 <= len(reason) <= REASON_LENGTH:
        raise Refused(
            say("Say in 1 to {limit} characters why you go on although the gate was not passed.",
                limit=REASON_LENGTH)
        )  # fmt: skip
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if decision_of(round_) == Decision.OVERRIDDEN:
            return round_
        if decision_of(round_) != Decision.NOT_PASSED:
            raise Refused(say("Only a gate that was not passed can be overridden."))
        round_.outcome = {
            **(round_.outcome or {}),
            "decision": str(Decision.OVERRIDDEN),
            "reason_to_go_on": reason,
            "overridden_by": by.pk,
            "overridden_at": timezone.now().isoformat(),
        }
        round_.save(update_fields=["outcome"])
        audit(round_.campaign, by, "dry run gate overridden", {"number": round_.number, "reason": reason})
    return round_


def reopen_dry_run(round_: Round, *, by: User | None) -> Round:
    """Let a closed dry run be judged again, for who comes late. Open already, it stays so.

    Raises Refused once its answers were talked about, the main round has begun, or another dry run came after it.
    """
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if round_.state == Round.State.OPEN:
            return round_
        campaign = round_.campaign
        refuse_while_open(campaign)
        later = campaign.rounds.filter(kind=Round.Kind.DRY_RUN, number__gt=round_.number).exists()
        if later or decision_of(round_) == Decision.TAKEN_BACK:
            raise Refused(say("Only the last dry run can be opened again, and none that was taken back."))
        found = counts(**what_keeps_closed(round_))
        if (reason := why_stays_closed(found)) is not None:
            raise Refused(reason)
        return reopen_round(round_, by=by)


def what_keeps_closed(round_: Round) -> dict[str, QuerySet[Any]]:
    """What decides whether a closed dry run can be judged again: to be counted."""
    return {
        "main_parts": Part.objects.filter(round__campaign=round_.campaign_id, round__kind=Round.Kind.MAIN),
        "discussed": Thread.objects.filter(item__in=_items_of(round_)),
    }


def why_stays_closed(found: Mapping[str, int]) -> Sentence | None:
    """Why it cannot, by how many of these there are; None where it can."""
    if found["main_parts"]:
        return say("The main round has begun; a dry run before it stays closed.")
    if found["discussed"]:
        return say("Items of this dry run were opened to discussion, so its answers stay as they are.")
    return None


# What the others ask -----------------------------------------------------------------------------------------


def last_dry_run(campaign: Campaign) -> Round | None:
    """The latest that was not taken back."""
    rounds = campaign.rounds.filter(kind=Round.Kind.DRY_RUN).order_by("-number")
    return next((found for found in rounds if decision_of(found) != Decision.TAKEN_BACK), None)


def why_main_waits(campaign: Campaign) -> str | None:
    """Why no parts of the main round are given out now; None where nothing holds it up. One query."""
    last = last_dry_run(campaign)
    if last is None or decision_of(last) in OPENS_MAIN:
        return None
    if last.state == Round.State.OPEN:
        return say(
            "Dry run {number} is open: parts of the main round are given out once it is closed and decided.",
            number=last.number,
        )
    if decision_of(last) is None:
        return say(
            "The agreement of dry run {number} was not computed yet: compute it on its page, and then give out parts.",
            number=last.number,
        )
    return say(
        "Dry run {number} did not pass its gate: hold another one, or say on its page why you go on.",
        number=last.number,
    )


def refuse_before_the_gate(campaign: Campaign) -> None:
    """Refuse to give out parts of the main round until the last dry run, if there is one, is decided."""
    reason = why_main_waits(campaign)
    if reason is not None:
        raise Refused(reason)
