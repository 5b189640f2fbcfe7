"""Spot checks: a sample of what was judged, judged once more by somebody who has seen none of it.

The sample is drawn in strata of part and experts, out of units whose answers are in for good: of closed batches, or
handed in by all their experts. A compound is drawn as a whole. The checker judges at the ordinary seat, where nothing
shows what is checked or how it was answered; that they were given none of it, and have not looked, is made sure of
here and written down. What the answers amount to is worked out in `scoring.services.spot_checks`; the decision is the
manager's, and nothing is corrected by itself.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, AuditEntry, Campaign, HandIn, Membership, Part, Round, User
from annotation.protocol.sampling import stratified_sample
from annotation.services import hand_ins
from annotation.services.campaigns import check_seed, main_round
from annotation.services.errors import NotYours, Refused
from annotation.services.layout import CHUNK
from annotation.services.peeks import PEEK
from annotation.services.people import PERSON_REMOVED, audit
from annotation.services.rounds import Share, close_round, described, open_round, round_of
from annotation.services.turns import turn

REASON_LENGTH = 500
MINIMUM = 1  # of each stratum
# What a person did in a campaign that may have shown them who judged, or how.
LOOKED = (
    *("names shown", "names exported", "names read", "personal data exported", PEEK),
    *("judgements imported", "label decided by an arbiter"),
)


class Error(StrEnum):
    """What counts as an error: a contrast with the checker, or another label with the checker's answer in its place."""

    CONTRAST = "contrast"
    LABEL = "label"


class Decision(StrEnum):
    """How a spot check ended."""

    ACCEPT = "accept"
    REWORK = "rework"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit that may be checked, with the items that were judged and the accounts that judged all of them."""

    pk: int
    key: str
    part: int  # its index
    experts: tuple[int, ...]
    items: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """Units of one part with the same experts, by pseudonym: how many there are, and the keys of those drawn."""

    part: int
    experts: tuple[str, ...]
    size: int
    units: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "experts": list(self.experts),
            "size": self.size,
            "units": list(self.units),
        }


@dataclass(frozen=True, kw_only=True)
class SpotCheckPlan:
    """Who checks what. `rule` is how it was planned: n, c and the rates behind them, or n alone."""

    checker: Membership
    strata: tuple[Stratum, ...]
    items: tuple[int, ...]
    seed: int
    error: Error
    rule: Mapping[str, Any]

    @property
    def n_units(self) -> int:
        return sum(len(stratum.units) for stratum in self.strata)

    @property
    def size(self) -> int:
        return sum(stratum.size for stratum in self.strata)

    @property
    def settings(self) -> dict[str, Any]:
        """What is kept with the round."""
        return {
            "seed": self.seed,
            "checker": self.checker.pseudonym,
            "error": str(self.error),
            "rule": dict(self.rule),
            "strata": [stratum.as_json() for stratum in self.strata],
        }

    @property
    def hash(self) -> str:
        """Equal for equal plans."""
        return hashlib.sha256(json.dumps([self.settings, self.items], sort_keys=True).encode()).hexdigest()


def parts_to_check(campaign: Campaign) -> list[Part]:
    """Parts of the main round that are in for good: of a closed batch, or handed in by all. Three queries."""
    round_ = main_round(campaign)
    given: dict[int, set[int]] = defaultdict(set)
    unanswered = set()
    rows = round_.assignments.filter(part__isnull=False, withdrawn_at__isnull=True).order_by()
    for part, expert, still in rows.values_list("part", "expert").annotate(
        still=Count("pk", filter=Q(answered_at__isnull=True))
    ):
        given[part].add(expert)
        if still:
            unanswered.add(part)
    handed_in: dict[int, set[int]] = defaultdict(set)
    for part, expert in HandIn.objects.filter(part__round=round_).values_list("part", "expert"):
        handed_in[part].add(expert)
    return [
        part
        for part in round_.parts.select_related("design").order_by("index")
        if given[part.pk]
        and part.pk not in unanswered
        and (part.design.closed_at is not None or given[part.pk] <= handed_in[part.pk])
    ]


def frozen_parts(campaign: Campaign) -> set[int]:
    """The indexes of parts that are not given back: of closed batches, whose answers are frozen. One query."""
    closed = main_round(campaign).parts.filter(design__closed_at__isnull=False)
    return set(closed.values_list("index", flat=True))


def units_to_check(campaign: Campaign, parts: Sequence[Part]) -> list[Unit]:
    """All units of these parts, in the order of import. One query."""
    rows = (
        main_round(campaign)
        .assignments.filter(part__in=parts, withdrawn_at__isnull=True, item__retired_at__isnull=True)
        .order_by("unit__position", "item__position", "slot")
        .values_list("unit", "unit__key", "part__index", "item", "expert")
    )
    found: dict[tuple[int, str, int], dict[int, list[int]]] = {}
    for unit, key, part, item, expert in rows.iterator(CHUNK):
        found.setdefault((unit, key, part), {}).setdefault(item, []).append(expert)
    return [
        Unit(
            pk=unit,
            key=key,
            part=part,
            experts=tuple(sorted({expert for experts in items.values() for expert in experts})),
            items=tuple(items),
        )
        for (unit, key, part), items in found.items()
    ]


def checkers_of(campaign: Campaign) -> list[Membership]:
    """Experts of the campaign who may be asked to check; who was given nothing in the main round comes first."""
    given = main_round(campaign).assignments.filter(expert=OuterRef("user"))
    return list(
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True)
        .select_related("user")
        .order_by(Exists(given), "pk")
    )


def likely_to_judge(campaign: Campaign, members: Sequence[Membership]) -> list[Membership]:
    """Who of these is offered as chosen where independent work is given out: whoever was given some before, all where
    nobody was; never who checks others' work, since a checker must be given none of it. One query.
    """
    given = Assignment.objects.filter(round__campaign=campaign).order_by()
    kinds: dict[int, set[str]] = defaultdict(set)
    for expert, kind in given.values_list("expert", "round__kind").distinct():
        kinds[expert].add(kind)
    others = [member for member in members if Round.Kind.SPOT_CHECK not in kinds[member.user_id]]
    return [member for member in others if kinds[member.user_id]] or others


def plan_spot_check(
    campaign: Campaign,
    *,
    checker: int,
    parts: Sequence[int],
    n: int,
    seed: int,
    error: Error = Error.CONTRAST,
    rule: Mapping[str, Any] | None = None,
) -> SpotCheckPlan:
    """What `open_spot_check` would store, or its refusal; stores nothing.

    `checker` is a membership, `parts` are indices. Raises NotYours, ProtocolError for an n that cannot be drawn, and
    Refused where a part is not in for good, or the checker was given a unit that is drawn, or has looked.
    """
    check_seed(seed)
    person = (
        campaign.memberships.filter(pk=checker, role=Membership.Role.EXPERT).select_related("user").first()
    )
    if person is None:
        raise NotYours(_("There is no such expert in this campaign."))
    if not person.user.is_active:
        raise Refused(_("The account of “%(name)s” is closed.") % {"name": person.pseudonym})
    ready = {part.index: part for part in parts_to_check(campaign)}
    for index in parts:
        if index not in ready:
            raise Refused(
                _("Part %(part)d is not in for good: close its batch, or wait until all have handed it in.")
                % {"part": index + 1}
            )
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    units = units_to_check(campaign, [ready[index] for index in parts])
    stratum_of = {unit.key: _stratum(unit, names) for unit in units}
    sample = stratified_sample(list(stratum_of), list(stratum_of.values()), n, minimum=MINIMUM, seed=seed)
    drawn = set(sample.keys)
    _refuse_who_has_seen(campaign, person, [unit for unit in units if unit.key in drawn])
    return SpotCheckPlan(
        checker=person,
        strata=tuple(_strata(units, stratum_of, drawn, names)),
        items=tuple(item for unit in units if unit.key in drawn for item in unit.items),
        seed=seed,
        error=Error(error),
        rule={"n": n, "c": None, **(rule or {})},
    )


def _stratum(unit: Unit, names: Mapping[int, str]) -> str:
    return f"{unit.part}:{'+'.join(_called(unit, names))}"


def _called(unit: Unit, names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(names.get(expert, "–") for expert in unit.experts)


def _strata(
    units: Sequence[Unit], stratum_of: Mapping[str, str], drawn: set[str], names: Mapping[int, str]
) -> list[Stratum]:
    by_name: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_name[stratum_of[unit.key]].append(unit)
    return [
        Stratum(
            part=of[0].part,
            experts=_called(of[0], names),
            size=len(of),
            units=tuple(unit.key for unit in of if unit.key in drawn),
        )
        for of in sorted(by_name.values(), key=lambda units: (units[0].part, units[0].experts))
    ]


def _refuse_who_has_seen(campaign: Campaign, checker: Membership, units: Sequence[Unit]) -> None:
    """The checker must know nothing of these units: given in no round, not even for a while, and nothing looked up."""
    given = Assignment.objects.filter(
        round__campaign=campaign, expert=checker.user_id, unit__in=[unit.pk for unit in units]
    )
    seen = given.order_by().values("unit").distinct().count()
    if seen:
        raise Refused(
            _(
                "%(checker)s was given %(seen)d of these %(n)d units before. Choose somebody who was given none of "
                "them, or other parts."
            )
            % {"checker": checker.pseudonym, "seen": seen, "n": len(units)}
        )
    # Pages and files show managers and viewers answers, and not every look of theirs is written down.
    other_role = Q(
        action=PERSON_REMOVED,
        detail__person=checker.user.username,
        detail__role__in=[Membership.Role.MANAGER, Membership.Role.VIEWER],
    )
    looked = Q(actor=checker.user_id, action__in=LOOKED)
    entry = AuditEntry.objects.filter(looked | other_role, campaign=campaign).order_by("at").first()
    if entry is None:
        return
    told = {"checker": checker.pseudonym, "day": f"{timezone.localtime(entry.at):%Y-%m-%d}"}
    if entry.action == PERSON_REMOVED:
        raise Refused(
            _(
                "%(checker)s was a manager or viewer of this campaign before (until %(day)s), so a check by them is "
                "not blind. Choose somebody else."
            )
            % told
        )
    raise Refused(
        _(
            "%(checker)s has looked at names or figures of this campaign (%(day)s), so a check by them is not "
            "blind. Choose somebody else."
        )
        % told
    )


def open_spot_check(
    campaign: Campaign,
    *,
    checker: int,
    parts: Sequence[int],
    n: int,
    seed: int,
    error: Error = Error.CONTRAST,
    rule: Mapping[str, Any] | None = None,
    due_on: date | None = None,
    by: User | None,
    confirmed_hash: str | None = None,
) -> Round:
    """Give the planned sample to the checker, in one transaction; that they had seen none of it is written down.

    `confirmed_hash` is what the manager was shown; if the campaign has changed since, nothing is stored.
    """
    with turn(campaign):
        planned = plan_spot_check(
            campaign, checker=checker, parts=parts, n=n, seed=seed, error=error, rule=rule
        )
        if confirmed_hash is not None and confirmed_hash != planned.hash:
            raise Refused(
                _(
                    "The campaign changed since this plan was shown: parts were given back, or items taken away. Look "
                    "at the new plan and confirm it again."
                )
            )
        round_ = open_round(
            campaign,
            Round.Kind.SPOT_CHECK,
            shares=[Share(items=planned.items, experts=[planned.checker.user])],
            settings=planned.settings,
            by=by,
            due_on=due_on,
        )
        audit(
            campaign,
            by,
            "checker found not to have seen the sample",
            {
                **described(round_),
                "checker": planned.checker.pseudonym,
                "units": planned.n_units,
                "given_before": 0,
                "looked": 0,
            },
        )
    return round_


# Ending ----------------------------------------------------------------------------------------------------------


def spot_check_of(campaign: Campaign, number: int) -> Round:
    """The spot check of this number, or NotYours."""
    round_ = round_of(campaign, Round.Kind.SPOT_CHECK, number)
    if round_ is None:
        raise NotYours(_("There is no such spot check in this campaign."))
    return round_


def still_to_check(round_: Round) -> int:
    """How many items the checker has not judged yet."""
    return round_.assignments.filter(withdrawn_at__isnull=True, answered_at__isnull=True).count()


def decide(
    round_: Round,
    decision: Decision,
    *,
    reason: str,
    rework: Sequence[tuple[str, int]] = (),
    report: Mapping[str, Any] | None,
    by: User,
) -> Round:
    """Close a spot check: accepted; or some parts given back to their experts, each by pseudonym and index; or stopped.

    `report` is what it found, kept as it was found. Runs in the caller's transaction. Raises Refused without a reason,
    and where it is decided already, not all is checked (but to stop it), or a part cannot be given back.
    """
    reason = reason.strip()
    if not reason or len(reason) > REASON_LENGTH:
        raise Refused(_("Give the reason in 1 to %(limit)d characters.") % {"limit": REASON_LENGTH})
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        if round_.state != Round.State.OPEN:
            raise Refused(_("This spot check is decided already."))
        if decision != Decision.STOPPED and still_to_check(round_):
            raise Refused(_("The check is not finished: wait until everything is judged, or stop it."))
        if bool(rework) != (decision == Decision.REWORK):
            raise Refused(
                _("Say which parts go back to their experts; none does where the work is accepted.")
            )
        for pseudonym, part in rework:
            member = round_.campaign.memberships.filter(pseudonym=pseudonym).first()
            hand_ins.give_back(round_.campaign, index=part, member=member.pk if member else 0, by=by)
        outcome = {
            "decision": str(decision),
            "reason": reason,
            "rework": [{"expert": pseudonym, "part": part} for pseudonym, part in rework],
        }
        round_ = close_round(round_, outcome=outcome, by=by)
        # Afterwards, because what was answered is not for the record of what managers did.
        round_.outcome = {**outcome, "report": report}
        round_.save(update_fields=["outcome"])
    return round_
