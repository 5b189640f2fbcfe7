"""A campaign's items as a manager sees them: looked up, withdrawn, restored. Nobody's single answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Replace
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    HandIn,
    Item,
    Output,
    Round,
    User,
)
from annotation.protocol.labels import ARBITER, CARRIED
from annotation.services import carried
from annotation.services.campaigns import main_round
from annotation.services.dry_runs import taken_back
from annotation.services.effective import COUNTED
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import Standing, standings
from annotation.services.labels import stale_of
from annotation.services.late_items import late_items, too_late
from annotation.services.layout import after_part
from annotation.services.people import audit
from annotation.services.turns import turn

PAGE = 50
REASON_LENGTH = 500
WITHDRAWN = "item withdrawn"
RETIRED = (Item.Retired.WITHDRAWN, Item.Retired.SET_ASIDE)  # states in which items can be looked up


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which items to show; what is None or empty does not narrow anything down."""

    first: int | None = None  # position
    last: int | None = None
    group: str = ""  # a compound's type, a triple's relation
    text: str = ""
    state: str = (
        ""  # withdrawn, set_aside, problem (a cannot judge or a reported problem), or a label's state
    )


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why an expert could not judge an item, or what they reported beside a score; not who."""

    cause: str
    note: str
    cannot_judge: bool


@dataclass(frozen=True, kw_only=True)
class ItemLine:
    """An item with what is known of it without opening anybody's answer."""

    item: Item
    systems: tuple[str, ...]
    given: int
    answered: int
    problems: tuple[Problem, ...]
    withdrawn_because: str
    stale: bool  # its final label rests on other answers than those that are there now
    standing: Standing  # whether its batch is closed, whether it is discussed, whether an arbiter decided
    corrected: bool  # its text took the place of another one
    carried_from: int | None = None  # the position of the item whose verdict it takes

    @property
    def given_to_nobody(self) -> bool:
        """Whether nobody is to judge it, nor another whose verdict it takes."""
        return not self.given and self.carried_from is None

    @property
    def final_or_split(self) -> bool:
        """Whether its answers are in, told as one while it is not told whether they agree."""
        label = getattr(self.item, "final_label", None)
        return label is not None and (bool(label.label) or label.reason == "tie")


@dataclass(frozen=True)
class ItemPage:
    """One page of items, and the position after which the next begins; None on the last."""

    lines: tuple[ItemLine, ...] = field(default_factory=tuple)
    next_after: int | None = None


# Looking -----------------------------------------------------------------------------------------------------


def item_page(campaign: Campaign, wanted: Wanted, *, after: int = 0) -> ItemPage:
    """The next fifty items in the order of import. Five or six queries, whatever the campaign's size.

    Pages are cut by position, which never moves: rows that come or go in between make no repeat and no gap.
    """
    found = list(_shown(_narrowed(campaign, wanted).filter(position__gt=after))[: PAGE + 1])
    items = found[:PAGE]
    if not items:
        return ItemPage()
    return ItemPage(tuple(_lines(campaign, items)), items[-1].position if len(found) > PAGE else None)


def chosen_lines(campaign: Campaign, chosen: Q) -> tuple[ItemLine, ...]:
    """These items in the order of import, a page of them at most. Five or six queries."""
    items = Item.objects.published().filter(chosen, campaign=campaign)
    return tuple(_lines(campaign, list(_shown(items.exclude(retired_why=Item.Retired.REPLACED))[:PAGE])))


def _shown(items: QuerySet[Item]) -> Any:
    """In the order of import, with what lines show of them. `corrected`: another text stood there before."""
    before = Item.objects.filter(
        campaign=OuterRef("campaign"), position=OuterRef("position"), retired_why=Item.Retired.REPLACED
    )
    return (
        items.annotate(corrected=Exists(before))
        .select_related("unit", "context", "final_label", "carry_over")
        .order_by("position")
    )


def groups_of(campaign: Campaign) -> list[str]:
    """What items can be narrowed down to: the types of compounds, the relations of triples."""
    name = "unit__type" if campaign.protocol == Campaign.Protocol.COMPOUND else "relation"
    found = (
        Item.objects.active().filter(campaign=campaign).order_by(name).values_list(name, flat=True).distinct()
    )
    return [group for group in found if group]


def _narrowed(campaign: Campaign, wanted: Wanted) -> QuerySet[Item]:
    items = Item.objects.published().filter(campaign=campaign)
    if wanted.state in RETIRED:
        items = items.filter(retired_why=wanted.state)
    else:
        items = items.exclude(retired_why=Item.Retired.REPLACED)
    if wanted.first is not None:
        items = items.filter(position__gte=wanted.first)
    if wanted.last is not None:
        items = items.filter(position__lte=wanted.last)
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    if wanted.group:
        items = items.filter(**{"unit__type" if compound else "relation": wanted.group})
    if wanted.state and wanted.state not in RETIRED:
        items = items.filter(retired_at__isnull=True).filter(_in_state(campaign, wanted.state))
    # Blanks inside a translation do not count: segmentation put them there.
    items = items.alias(joined=Replace("translation", Value(" "), Value(""), output_field=TextField()))
    for word in wanted.text.split():
        items = items.filter(_holds(word, compound=compound))
    return items


def _in_state(campaign: Campaign, state: str) -> Q:
    if state == "problem":
        return Q(pk__in=_problems(campaign).values("assignment__item"))
    if state == "labelled":
        return Q(final_label__isnull=False) & ~Q(final_label__label="")
    if state == "undecided":
        return Q(final_label__isnull=True) | Q(final_label__label="")
    if state == "stale":
        return Q(pk__in=stale_of(campaign).values("item"))
    # A reason that was true before its answers changed is none any more: such items are stale.
    return Q(final_label__reason=state) & ~Q(pk__in=stale_of(campaign).values("item"))


def _holds(word: str, *, compound: bool) -> Q:
    fields = ("key", "unit__compound", "context__source", "joined") if compound else ("key", "head", "tail")
    found = Q()
    for name in fields:
        found |= Q(**{f"{name}__icontains": word})
    return found


def _current(campaign: Campaign) -> QuerySet[Assignment]:
    """What counts of the main round, and on a withdrawn item what counted until then."""
    return _of_rounds(campaign, (Round.Kind.MAIN,))


def _of_rounds(campaign: Campaign, kinds: Sequence[str]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        Q(withdrawn_at__isnull=True) | Q(withdrawn_at=F("item__retired_at")),
        round__campaign=campaign,
        round__kind__in=kinds,
    )


def _problems(campaign: Campaign) -> QuerySet[Annotation]:
    return Annotation.objects.filter(
        assignment__in=_current(campaign), revision=F("assignment__revision")
    ).exclude(cannot_judge="", problem="")


def _lines(campaign: Campaign, items: Sequence[Any]) -> list[ItemLine]:
    counts = {
        row["item"]: row
        for row in _of_rounds(campaign, COUNTED)
        .filter(item__in=items)
        .order_by()
        .values("item")
        .annotate(
            given=Count("id", filter=Q(round__kind=Round.Kind.MAIN)),
            answered=Count("answered_at", filter=Q(round__kind=Round.Kind.MAIN)),
            revisions=Sum(
                "revision",
                filter=Q(answered_at__isnull=False, slot__lte=campaign.annotators_per_item),
                default=0,
            ),
        )
    }
    systems = _systems(items) if campaign.protocol == Campaign.Protocol.COMPOUND else {}
    problems = _problems_by_item(campaign, items)
    because = _withdrawn_because(campaign, items)
    standing = standings(campaign, items)
    of_carried = _carried(campaign, items)
    none = {"given": 0, "answered": 0, "revisions": 0}
    return [
        ItemLine(
            item=item,
            systems=tuple(systems.get(item.pk, ())),
            given=counts.get(item.pk, none)["given"],
            answered=counts.get(item.pk, none)["answered"],
            problems=tuple(problems.get(item.pk, ())),
            withdrawn_because=because.get(item.pk, ""),
            stale=of_carried[item.pk].stale
            if item.pk in of_carried
            else _is_stale(item, counts.get(item.pk, none), standing[item.pk]),
            standing=standing[item.pk],
            corrected=item.corrected,
            carried_from=of_carried[item.pk].source if item.pk in of_carried else None,
        )
        for item in items
    ]


@dataclass(frozen=True, kw_only=True)
class _Carried:
    """Of an item whose verdict is, or was, carried over: from which position, None where it is no more."""

    source: int | None
    stale: bool


def _carried(campaign: Campaign, items: Sequence[Any]) -> Mapping[int, _Carried]:
    """Two queries where there are such items, else none."""
    able = [item.pk for item in items if _may_be_carried(item)]
    if not able:
        return {}
    source = dict(carried.standing().filter(item__in=able).values_list("item", "source__position"))
    stale = set(stale_of(campaign).filter(item__in=able).values_list("item", flat=True))
    return {pk: _Carried(source=source.get(pk), stale=pk in stale) for pk in able}


def _may_be_carried(item: Any) -> bool:
    label, row = getattr(item, "final_label", None), getattr(item, "carry_over", None)
    by_rule = label is not None and label.rule == CARRIED.name
    return item.retired_at is None and (by_rule or (row is not None and not row.checked))


def _is_stale(item: Item, counts: Mapping[str, int], standing: Standing) -> bool:
    """As `stale_of` has it, from what was counted for the line."""
    label = getattr(item, "final_label", None)
    if label is None or item.retired_at is not None:
        return False
    by_arbiter = label.label if label.rule == ARBITER.name else ""
    if standing.decided != by_arbiter:
        return True
    if label.revisions == counts["revisions"]:
        return False
    return bool(label.reason != "incomplete" or counts["answered"] == counts["given"])


def _systems(items: Sequence[Item]) -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = {}
    outputs = Output.objects.filter(item__in=items, batch__published_at__isnull=False).order_by("pk")
    for item, system, run in outputs.values_list("item", "system__name", "run"):
        found.setdefault(item, []).append(f"{system}/{run}" if run else system)
    return found


def _problems_by_item(campaign: Campaign, items: Sequence[Item]) -> Mapping[int, list[Problem]]:
    found: dict[int, list[Problem]] = {}
    rows = _problems(campaign).filter(assignment__item__in=items).order_by("assignment__slot")
    for item, cause, problem, note in rows.values_list("assignment__item", "cannot_judge", "problem", "note"):
        found.setdefault(item, []).append(
            Problem(cause=cause or problem, note=note, cannot_judge=bool(cause))
        )
    return found


def _withdrawn_because(campaign: Campaign, items: Sequence[Item]) -> Mapping[int, str]:
    """Why items were withdrawn, from the record; asked only where a page shows one. By their positions: where a
    source was corrected since, another item stands withdrawn in the place.
    """
    withdrawn = {item.position: item.pk for item in items if item.retired_why == Item.Retired.WITHDRAWN}
    if not withdrawn:
        return {}
    entries = AuditEntry.objects.filter(
        campaign=campaign, action=WITHDRAWN, detail__position__in=list(withdrawn)
    )
    return {withdrawn[one.detail["position"]]: one.detail["reason"] for one in entries.order_by("pk")}


# Withdrawing and restoring -----------------------------------------------------------------------------------


def withdraw(campaign: Campaign, pk: int, *, reason: str, by: User) -> Item:
    """Take an item out: nobody is asked for it any more and no figure counts it. Its answers are kept.

    Repeated, it changes nothing. Raises NotYours, and Refused without a reason.
    """
    reason = reason.strip()
    if not reason or len(reason) > REASON_LENGTH:
        raise Refused(
            _("Say in 1 to %(limit)d characters why the item is withdrawn.") % {"limit": REASON_LENGTH}
        )
    with turn(campaign):
        item = _item_of(campaign, pk)
        if item.retired_why == Item.Retired.SET_ASIDE:
            raise Refused(_("This item is set aside for a dry run, so no figure counts it anyway."))
        if item.retired_at is None:
            item.retired_at, item.retired_why = timezone.now(), Item.Retired.WITHDRAWN
            item.save(update_fields=["retired_at", "retired_why"])
            # One moment for both: an assignment that stands by its item's own moment still counts there.
            item.assignments.filter(withdrawn_at__isnull=True).update(withdrawn_at=item.retired_at)
            audit(
                campaign,
                by,
                WITHDRAWN,
                {"item": item.pk, "position": item.position, "key": item.key, "reason": reason},
            )
    return item


def restore(campaign: Campaign, pk: int, *, by: User) -> Item:
    """Undo a withdrawal: the item, its assignments and their answers stand as they stood, or as they would by now.

    Repeated, it does nothing; only an item that stands while its assignments do not gets them back.
    """
    with turn(campaign):
        item = _item_of(campaign, pk)
        if item.retired_why == Item.Retired.REPLACED:
            raise Refused(
                _("This text was replaced by a corrected one; it cannot be brought back beside it.")
            )
        if item.retired_why == Item.Retired.SET_ASIDE:
            raise Refused(
                _("This item is set aside for a dry run; it comes back when the dry run is taken back.")
            )
        back = item.retired_at is not None
        if back:
            item.retired_at, item.retired_why = None, ""
            item.save(update_fields=["retired_at", "retired_why"])
        if _bring_back(item) or back:
            audit(
                campaign, by, "item restored", {"item": item.pk, "position": item.position, "key": item.key}
            )
    return item


def still_to_give(item: Item) -> str:
    """What gives an item to experts that came back after its unit was given out; "" where nothing is left to do."""
    round_ = main_round(item.campaign)
    if late_items(round_).filter(pk=item.pk).exists():
        return _(
            "Its unit was given out without it: give out parts again, and the experts of the unit get it."
        )
    if too_late(round_).filter(pk=item.pk).exists():
        return _(
            "Its unit is in a closed batch that was given out without it: open the batch again, and give out parts."
        )
    return ""


def _bring_back(item: Item) -> int:
    """Who was given the item judges it again, the last of each slot that nobody holds; how many rows that changes.

    What became of its unit while it was withdrawn holds for the item too: its open places are those of the experts to
    whom the unit was moved; a part that was handed in opens again where there is work in it; what a batch was closed
    without is withdrawn at the moment of the closing. A repeat comes back with its answer only: a draw that is open may
    have been taken out meanwhile, and another can give the unit again.
    """
    rows = item.assignments.select_related("round", "part__design")
    taken = set(rows.filter(withdrawn_at__isnull=True).values_list("round", "slot"))
    gone = rows.filter(withdrawn_at__isnull=False).exclude(
        round__in=item.campaign.rounds.filter(taken_back())
    )
    back = 0
    for row in gone.order_by("-withdrawn_at", "pk"):
        asked = row.answered_at is None
        place = (row.round_id, row.slot)
        if place in taken or (asked and row.round.kind == Round.Kind.REPEAT):
            continue
        taken.add(place)
        closed_at = row.part.design.closed_at if asked and row.part else None
        if row.withdrawn_at != closed_at:
            _stand(_of_the_holder(row) if asked else row, closed_at)
            back += 1
    return back


def _stand(row: Assignment, closed_at: datetime | None) -> None:
    """The row stands, or is withdrawn with its batch."""
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=closed_at)
    if row.answered_at is None and closed_at is None:
        HandIn.objects.filter(part=row.part_id, expert=row.expert_id).delete()  # there is work in it again


def _of_the_holder(row: Assignment) -> Assignment:
    """This open row; where its unit was moved since, one in its place for who holds the unit in that slot."""
    if row.part is None or row.withdrawn_at is None or row.round.kind != Round.Kind.MAIN:
        return row
    of_slot = Assignment.objects.filter(part=row.part, unit=row.unit_id, slot=row.slot).exclude(
        item=row.item_id
    )
    since = of_slot.filter(Q(withdrawn_at__isnull=True) | Q(withdrawn_at__gt=row.withdrawn_at))
    last = since.select_related("expert").order_by(F("withdrawn_at").desc(nulls_first=True), "-pk").first()
    if (
        last is None
        or Assignment.objects.filter(round=row.round, item=row.item_id, expert=last.expert).exists()
    ):
        return row
    place = after_part(row.part, last.expert)
    return Assignment.objects.create(
        round=row.round,
        part=row.part,
        unit_id=row.unit_id,
        item_id=row.item_id,
        expert=last.expert,
        slot=row.slot,
        position=place.position,
        queue=place.queue,
        withdrawn_at=row.withdrawn_at,
    )


def _item_of(campaign: Campaign, pk: int) -> Item:
    """The item as it stands in the campaign's turn: whatever retires or restores one takes it first."""
    item = Item.objects.published().filter(campaign=campaign, pk=pk).first()
    if item is None:
        raise NotYours(_("There is no such item in this campaign."))
    return item
