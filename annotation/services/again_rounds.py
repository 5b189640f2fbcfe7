"""Rounds in which the experts of an item judge it again, in their slots: what resolution and re-judgement share.

Which items are judged again is decided by `resolution` and `rejudgement`. Here they become shares of the same
experts, a plan that is shown before anything is stored, and a round that is closed with what is missing named.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Item, Round, User
from annotation.services.effective import AGAIN
from annotation.services.errors import NotYours, Refused
from annotation.services.rounds import Share, close_round, open_round, reopen_round, round_of
from annotation.services.seen import seen_since
from annotation.services.turns import turn

CHUNK = 2000
REASON_LENGTH = 500


@dataclass(frozen=True, kw_only=True)
class AgainPlan:
    """Which items would be judged again, by whom, and which would not although they are meant, with the reason.

    `loads`: by pseudonym, how many items. `left_out`: reason (`inactive`, `split_unit`, `at_work`) → positions.
    """

    shares: Sequence[Share]
    items: Sequence[int]
    loads: Mapping[str, int]
    left_out: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def hash(self) -> str:
        """Of what a manager was shown: another plan has another."""
        rows = [f"{','.join(str(user.pk) for user in share.experts)}:{share.items}" for share in self.shares]
        return sha256("\n".join(rows).encode()).hexdigest()


def _at_work() -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        round__kind__in=AGAIN, round__state=Round.State.OPEN, withdrawn_at__isnull=True
    )


def is_being_judged_again(item: Item) -> bool:
    """Whether its experts are at it once more, and what they say there is not to be seen yet."""
    return _at_work().filter(item=item).exists()


def plan_again(campaign: Campaign, items: Sequence[int]) -> AgainPlan:
    """Shares of the items' own experts. Left out are items with an expert whose account is closed, items that are
    being judged again at this moment, and, of a compound whose translations have different experts, those whose experts
    are not the first ones': a unit stands in one share. Five queries.
    """
    at_work = set(_at_work().filter(round__campaign=campaign).values_list("item", flat=True))
    experts = _experts_of(campaign)
    people = User.objects.in_bulk({expert for found in experts.values() for expert in found})
    of_unit: dict[int, tuple[int, ...]] = {}
    by_experts: dict[tuple[int, ...], list[int]] = defaultdict(list)
    left_out: dict[str, list[int]] = defaultdict(list)
    wanted = set(items)
    rows = Item.objects.filter(campaign=campaign).order_by("position").values_list("pk", "unit", "position")
    for item, unit, position in rows.iterator(CHUNK):
        if item not in wanted:
            continue
        given = experts.get(item, ())
        if item in at_work:
            left_out["at_work"].append(position)
        elif not all(people[expert].is_active for expert in given):
            left_out["inactive"].append(position)
        elif of_unit.setdefault(unit, given) != given:
            left_out["split_unit"].append(position)
        else:
            by_experts[given].append(item)
    names = dict(campaign.memberships.values_list("user", "pseudonym"))
    loads = Counter({expert: 0 for given in by_experts for expert in given})
    for given, found in by_experts.items():
        for expert in given:
            loads[expert] += len(found)
    return AgainPlan(
        shares=[
            Share(items=found, experts=[people[expert] for expert in given])
            for given, found in sorted(by_experts.items())
        ],
        items=[item for _given, found in sorted(by_experts.items()) for item in found],
        loads=dict(sorted((names.get(expert, "–"), n) for expert, n in loads.items())),
        left_out=dict(sorted(left_out.items())),
    )


def _experts_of(campaign: Campaign) -> dict[int, tuple[int, ...]]:
    """By item, who judged it on their own, slot 1 first."""
    found: dict[int, list[int]] = defaultdict(list)
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    ).order_by("item", "slot")
    for item, expert in rows.values_list("item", "expert").iterator(CHUNK):
        found[item].append(expert)
    return {item: tuple(experts) for item, experts in found.items()}


def open_again(
    campaign: Campaign,
    kind: Round.Kind,
    *,
    plan: Callable[[], AgainPlan],
    before: Callable[[AgainPlan], None],
    settings: Mapping[str, Any],
    confirmed: str | None,
    due_on: date | None,
    by: User | None,
) -> Round:
    """Store what `plan` says now, if it is what was confirmed; `before` runs in the same transaction.

    Raises Refused where the plan changed since it was shown, where it holds nothing, and while a round of this kind is
    open.
    """
    with turn(campaign):
        planned = plan()
        if confirmed is not None and confirmed != planned.hash:
            raise Refused(
                _(
                    "What would be judged again has changed since this was shown; look at it once more and confirm."
                )
            )
        before(planned)
        return open_round(
            campaign,
            kind,
            shares=planned.shares,
            settings={**settings, "items": planned.n_items, "hash": planned.hash},
            due_on=due_on,
            by=by,
        )


def missing_in(round_: Round) -> dict[str, int]:
    """By pseudonym, how many answers of a round are still to come."""
    names = dict(round_.campaign.memberships.values_list("user", "pseudonym"))
    rows = round_.assignments.filter(
        withdrawn_at__isnull=True, answered_at__isnull=True, item__retired_at__isnull=True
    )
    counts = rows.order_by().values_list("expert").annotate(n=Count("pk"))
    return dict(sorted((names.get(expert, "–"), n) for expert, n in counts))


def close_again(campaign: Campaign, kind: str, number: int, *, reason: str = "", by: User | None) -> Round:
    """Nobody judges in it any more. Items that only some of their experts have judged again go on waiting.

    Raises NotYours; Refused where answers are missing and no reason says why it is closed without them.
    """
    round_ = _round(campaign, kind, number)
    reason = reason.strip()
    if len(reason) > REASON_LENGTH:
        raise Refused(_("Give the reason in at most %(limit)d characters.") % {"limit": REASON_LENGTH})
    with turn(campaign):
        missing = missing_in(round_)
        if missing and not reason:
            raise Refused(
                _(
                    "Answers are still to come: %(missing)s. Wait for them, or say why the round is closed without."
                )
                % {"missing": ", ".join(f"{name} {n}" for name, n in missing.items())}
            )
        return close_round(round_, outcome={"missing": missing, "reason": reason}, by=by)


def reopen_again(campaign: Campaign, kind: str, number: int, *, by: User | None) -> Round:
    """Undo the closing. Raises NotYours; Refused while a later round of this kind is open, and once its experts may
    have seen one another's new answers.
    """
    round_ = _round(campaign, kind, number)
    with turn(campaign):
        if campaign.rounds.filter(kind=kind, state=Round.State.OPEN).exclude(pk=round_.pk).exists():
            raise Refused(_("A round of this kind is open; close it before you open another."))
        round_.refresh_from_db()
        if round_.closed_at is not None and seen_since(round_, round_.closed_at):
            raise Refused(
                _(
                    "Experts have looked into discussions since this round was closed, where they see one another's "
                    "new answers: it stays closed. Open another round instead."
                )
            )
        return reopen_round(round_, by=by)


def _round(campaign: Campaign, kind: str, number: int) -> Round:
    round_ = round_of(campaign, kind, number) if kind in AGAIN else None
    if round_ is None:
        raise NotYours(_("There is no such round in this campaign."))
    return round_
