"""Who judges what: exactly k experts an item, all of them experts of the campaign, none of them twice."""

from collections import Counter
from collections.abc import Iterator

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from annotation.models import Assignment, AuditEntry, Campaign, HandIn, Item, Membership, PartUnit, Round
from annotation.models.item import in_play
from annotation.services.campaigns import main_round
from annotation.services.carried import carried_items
from annotation.services.late_items import late_items, too_late, waiting_items
from annotation.services.verify.rows import CHUNK, named, standing

# What a batch was closed without was given out too: it is withdrawn at the moment of the closing.
_GIVEN = Q(withdrawn_at__isnull=True) | Q(withdrawn_at=F("part__design__closed_at"))


def exactly_k(campaign: Campaign) -> Iterator[str]:
    """Every item of a unit that was given to experts in the main round has k of them, in slots 1 … k, or takes the
    verdict on an alike translation; in other rounds, which may hold some items of a unit only, every item that was
    given to anybody.
    """
    yield from exactly_k_in_main(campaign, main_round(campaign))
    yield from _in_other_rounds(campaign)
    strays = (
        standing(campaign)
        .filter(slot__gt=F("round__k"), item__retired_at__isnull=True)
        .exclude(round__kind=Round.Kind.REPEAT)
        .exclude(part__design__plan__has_key="overlap")
    )
    for position, slot, kind, k in named(strays, "item__position", "slot", "round__kind", "round__k"):
        yield (
            f"item at position {position} has somebody in slot {slot} of the {kind} round, where {k} are enough"
        )


def exactly_k_in_main(campaign: Campaign, main: Round) -> Iterator[str]:
    """The same for the main round alone, but for items that came later and wait to be given out. One query, three
    where something is missing.
    """
    k = campaign.annotators_per_item
    mine = Q(assignments__round__kind=Round.Kind.MAIN)
    placed = PartUnit.objects.filter(round=main)
    at_closing = Q(assignments__withdrawn_at=F("assignments__part__design__closed_at"))
    given = mine & Q(assignments__slot__lte=k)
    given &= Q(assignments__withdrawn_at__isnull=True) | at_closing
    items = (
        Item.objects.active()
        .filter(campaign=campaign, unit__in=placed.values("unit"))
        .exclude(pk__in=carried_items())
        .annotate(
            experts=Count("assignments__expert", filter=given, distinct=True),
            low=Min("assignments__slot", filter=given),
            high=Max("assignments__slot", filter=given),
            slots=Count("assignments__slot", filter=given, distinct=True),
            gone=Count(
                "assignments", filter=mine & Q(assignments__withdrawn_at__isnull=False), distinct=True
            ),
        )
        .exclude(experts=k, slots=k, low=1, high=k)
        .exclude(gone=0, pk__in=waiting_items(main).order_by().values("pk"))
        .order_by("position")
    )
    late: set[int] | None = None
    closed: set[int] = set()
    for position, experts, gone in items.values_list("position", "experts", "gone").iterator(CHUNK):
        step = ""
        if late is None:
            late = set(late_items(main).values_list("position", flat=True))
            closed = set(too_late(main).values_list("position", flat=True))
        if gone:
            step = "; withdraw and restore it: what was taken away with it comes back"
        elif position in late | closed:  # restored after its unit was given out, or its batch is closed
            first = "open the batch again and " if position in closed else ""
            step = f"; {first}give out parts: it goes to the experts of its unit"
        yield f"item at position {position} has {experts} experts in the main round, not {k}{step}"


def _in_other_rounds(campaign: Campaign) -> Iterator[str]:
    given = Q(slot__lte=F("round__k")) & _GIVEN
    items = (
        Assignment.objects.filter(
            in_play("item__"),
            round__campaign=campaign,
            part__isnull=False,
            item__batch__published_at__isnull=False,
        )
        .exclude(round__kind__in=(Round.Kind.MAIN, Round.Kind.REPEAT))
        .order_by("item__position", "round")
        .values_list("round", "round__kind", "round__k", "item", "item__position")
        .annotate(
            asked=Count("pk", filter=Q(withdrawn_at__isnull=True)),
            experts=Count("expert", filter=given, distinct=True),
            low=Min("slot", filter=given),
            high=Max("slot", filter=given),
            slots=Count("slot", filter=given, distinct=True),
        )
        .filter(asked__gt=0)
        .exclude(experts=F("round__k"), slots=F("round__k"), low=1, high=F("round__k"))
    )
    for _round, kind, k, _item, position, _asked, experts, *_more in items.iterator(CHUNK):
        yield f"item at position {position} has {experts} experts in the {kind} round, not {k}"


def experts_take_part(campaign: Campaign) -> Iterator[str]:
    """Who was given an item is an expert of the campaign, and hands in only parts in which they were given some."""
    members = dict(campaign.memberships.values_list("user", "pseudonym"))
    experts = campaign.memberships.filter(role=Membership.Role.EXPERT)
    given = Assignment.objects.filter(round__campaign=campaign).order_by().values_list("expert")
    strangers = given.exclude(expert__in=experts.values("user")).annotate(n=Count("pk")).order_by("expert")
    for expert, n in strangers:
        yield f"{members.get(expert, 'somebody')} was given {n} items, and is no expert of this campaign"
    theirs = Assignment.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    parts = HandIn.objects.filter(~Exists(theirs), part__round__campaign=campaign).order_by("part", "expert")
    for index, expert in parts.values_list("part__index", "expert"):
        yield (
            f"part {index + 1} was handed in by {members.get(expert, 'somebody')}, who was given nothing in it"
        )


def somebody_manages(campaign: Campaign) -> Iterator[str]:
    """A campaign that ever had a manager has one; on the command line one can be made that nobody manages yet."""
    manages = campaign.memberships.filter(role=Membership.Role.MANAGER)
    added = AuditEntry.objects.filter(
        campaign=campaign, action="person added", detail__role=Membership.Role.MANAGER
    )
    if not manages.exists() and (campaign.created_by_id is not None or added.exists()):
        yield "nobody manages this campaign any more; add a manager on the command line"


def checkers_have_not_judged(campaign: Campaign) -> Iterator[str]:
    """Who checks an item has judged it in no other round."""
    other = (
        Assignment.objects.filter(
            Q(withdrawn_at__isnull=True) | Q(answered_at__isnull=False),
            round__campaign=campaign,
            item=OuterRef("item"),
            expert=OuterRef("expert"),
        )
        .exclude(round__kind=Round.Kind.SPOT_CHECK)
        .order_by()
    )
    checks = standing(campaign).filter(Exists(other), round__kind=Round.Kind.SPOT_CHECK)
    for number, position in named(checks, "round__number", "item__position"):
        yield f"spot check {number} gives the item at position {position} to somebody who has judged it"


def moves_add_up(campaign: Campaign) -> Iterator[str]:
    """What is recorded of moves takes away what it gives, from and to people of the campaign, and no more than the rows
    bear out: what was given away is withdrawn.
    """
    moved = list(campaign.rounds.filter(settings__has_key="moves").order_by("pk"))
    if not moved:
        return
    users = {str(pk): user for pk, user in campaign.memberships.values_list("pk", "user")}
    for round_ in moved:
        came: Counter[str] = Counter()
        went: Counter[str] = Counter()
        for number, entry in enumerate(round_.settings["moves"], start=1):
            items = entry["items"]
            if sum(items.values()) or not items.keys() <= users.keys():
                yield f"move {number} of the {round_.kind} round gives other items than it takes away"
            for member, n in items.items():
                (came if n > 0 else went)[member] += abs(n)
        rows = _rows_by_expert(round_)
        for member in sorted((came.keys() | went.keys()) & users.keys(), key=int):
            given, gone = rows.get(users[member], (0, 0))
            if came[member] > given or went[member] > gone:
                yield f"the moves of the {round_.kind} round name more items of one expert than were given or taken"


def _rows_by_expert(round_: Round) -> dict[int, tuple[int, int]]:
    """By account: how many rows of parts somebody was ever given, and how many of them are withdrawn."""
    rows: QuerySet[Assignment] = round_.assignments.filter(part__isnull=False).order_by()
    counted = rows.values_list("expert").annotate(given=Count("pk"), gone=Count("withdrawn_at"))
    return {expert: (given, gone) for expert, given, gone in counted}
