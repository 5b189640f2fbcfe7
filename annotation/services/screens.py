"""What an expert sees next: an explicit list of fields, so that nothing else can slip in.

Never another's answer, a label, a class, a split, a score, a system, a primary key (`seat_numbers`) or a mark of any
kind. Cost: one query for the screens whatever the campaign's size, two more (counted over an index) where progress is
asked for.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import (
    Count,
    Exists,
    F,
    FilteredRelation,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)

from annotation.models import Assignment, Campaign, CarryOver, HandIn, Part, Round
from annotation.models.item import in_play
from annotation.protocol.base import get_protocol
from annotation.protocol.display import joined_translation
from annotation.services.part_names import part_name
from annotation.services.seat_numbers import number_of

MAX_SCREENS = 200


def next_screens(
    campaign: Campaign, *, expert_id: int, count: int = 1, after: int | None = None
) -> list[dict[str, Any]]:
    """The expert's next `count` screens that are not fully answered, in the order they come up.

    `after` is the `queue` number of the last screen the caller already has.
    """
    open_rows = open_work(campaign, expert_id=expert_id).filter(answered_at__isnull=True)
    if after is not None:
        open_rows = open_rows.filter(queue__gt=after)
    # A small first query over the index of open rows; the second reads those screens whole, answered rows too.
    wanted = [
        position
        for position, _queue in open_rows.order_by("queue")
        .values_list("position", "queue")
        .distinct()[: min(count, MAX_SCREENS)]
    ]
    rows = open_work(campaign, expert_id=expert_id).filter(position__in=wanted)
    found = screens(rows, campaign=campaign, expert_id=expert_id)
    return sorted(found, key=lambda screen: screen["queue"])


def screen_at(campaign: Campaign, *, expert_id: int, position: int) -> dict[str, Any] | None:
    """One screen by its place in the expert's order, answered or not."""
    rows = own_record(campaign, expert_id=expert_id).filter(position=position)
    found = screens(rows, campaign=campaign, expert_id=expert_id)
    return found[0] if found else None


class LookedBack(NamedTuple):
    """Screens that were answered, the latest first."""

    screens: list[dict[str, Any]]
    partial: bool  # these are all that can be shown, and some are out of sight
    closed: bool  # others were given in rounds that are closed, which are not shown while a round is open


def recent_screens(campaign: Campaign, *, expert_id: int, count: int = 50) -> list[dict[str, Any]]:
    """The screens answered last, the latest first."""
    latest = _latest(own_record(campaign, expert_id=expert_id)).order_by("-at")
    places = [row["place"] for row in latest[:count]]
    return _screens_at(campaign, places, expert_id=expert_id)


def looked_back(campaign: Campaign, *, expert_id: int, count: int = 50) -> LookedBack:
    """The same, and whether something is not among them. At most two queries."""
    return look_back(own_record(campaign, expert_id=expert_id), campaign, expert_id=expert_id, count=count)


def look_back(rows: QuerySet[Assignment], campaign: Campaign, *, expert_id: int, count: int) -> LookedBack:
    """The answered screens among these rows of the expert's record. At most two queries, whatever is found.

    Whether some are out of sight matters only where fewer are found than asked for; of one it is looked up only then.
    """
    latest = _latest(rows).annotate(why=Value(""))
    hidden = out_of_sight(campaign, expert_id=expert_id)
    # Up to two more rows, before all others, for what is not among these: they cost no query of their own.
    not_shown = {"closed": in_closed_rounds(campaign, expert_id=expert_id)}
    if count > 1:
        not_shown["out of sight"] = hidden
    told = [
        others.order_by().values(place=F("row") * 0).annotate(at=Max("answered_at"), why=Value(why))
        for why, others in not_shown.items()
    ]
    found = list(latest.union(*told, all=True).order_by("-why", "-at")[: count + len(told)])
    why = {row["why"] for row in found}
    places = [row["place"] for row in found if not row["why"]][:count]
    partial = len(places) < count and ("out of sight" in why or (count == 1 and hidden.exists()))
    shown = _screens_at(campaign, places, expert_id=expert_id)
    return LookedBack(shown, partial=partial, closed="closed" in why)


def _latest(rows: QuerySet[Assignment]) -> QuerySet[Assignment, dict[str, Any]]:
    """The places of answered screens, and when each was answered last."""
    answered = rows.filter(answered_at__isnull=False).order_by()
    return answered.values(place=F("position")).annotate(at=Max("answered_at"))


def _screens_at(campaign: Campaign, places: Sequence[int], *, expert_id: int) -> list[dict[str, Any]]:
    """The screens at these places of the expert's record, in this order."""
    rank = {position: place for place, position in enumerate(places)}
    whole = own_record(campaign, expert_id=expert_id).filter(position__in=places)
    found = screens(whole, campaign=campaign, expert_id=expert_id)
    return sorted(found, key=lambda screen: rank[screen["position"]])


def progress(campaign: Campaign, *, expert_id: int) -> dict[str, Any]:
    """How far the expert is, counted from the rows: in all, and in the part they are in.

    A part that is handed in, or whose batch (`frozen`) or round is closed, can be looked at and not be changed.
    """
    rows = (
        own_work(campaign, expert_id=expert_id)
        .values(
            "part__index",
            "part__round__kind",
            "round",
            "round__kind",
            "round__number",
            "round__state",
            "part__design__closed_at",
        )
        .annotate(
            total=Count("position", distinct=True),
            open=Count("position", filter=Q(answered_at__isnull=True), distinct=True),
            handed_in=Count("part__hand_ins", filter=Q(part__hand_ins__expert=F("expert")), distinct=True),
            first=Min("queue"),
        )
        .order_by("first")
    )
    parts = _as_shown(list(rows))
    current = next((part for part in parts if part["done"] < part["total"]), parts[-1] if parts else None)
    return {
        "total": sum(part["total"] for part in parts),
        "done": sum(part["done"] for part in parts),
        "part": current and current["index"],
        "part_total": current["total"] if current else 0,
        "part_done": current["done"] if current else 0,
        "parts": parts,
    }


def judged_before(campaign: Campaign, *, expert_id: int) -> bool:
    """Whether the expert has judged anything here, in whatever round. One query."""
    return _work(campaign, expert_id).filter(answered_at__isnull=False).exists()


def _as_shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts under the index and the name by which their expert knows them, in the order they come up."""
    of_round = Counter(row["round"] for row in rows)
    places: Counter[int] = Counter()
    parts: dict[int, dict[str, Any]] = {}
    for row in rows:
        index = row["part__index"]
        places[row["round"]] += 1
        part = parts.setdefault(
            index,
            {
                "index": index,
                "name": part_name(
                    row["round__kind"],
                    row["round__number"],
                    index,
                    place=places[row["round"]],
                    of=of_round[row["round"]],
                ),
                "total": 0,
                "done": 0,
                "handed_in": True,
                "closed": True,
                "frozen": row["part__design__closed_at"] is not None,
                "resolution": row["part__round__kind"] == Round.Kind.RESOLUTION,
            },
        )
        part["total"] += row["total"]
        part["done"] += row["total"] - row["open"]
        part["handed_in"] = part["handed_in"] and bool(row["handed_in"])
        part["closed"] = part["closed"] and row["round__state"] == Round.State.CLOSED
    return list(parts.values())


def own_work(campaign: Campaign, *, expert_id: int) -> QuerySet[Assignment]:
    """Everything that stands in this expert's parts of open rounds; where none is open, of all of them, to look at.

    A hidden repeat belongs to the part in which it comes up, and shares its fate.
    """
    return _work(campaign, expert_id).filter(
        Q(part__round__state=Round.State.OPEN) | ~Exists(_open_parts(campaign))
    )


def in_closed_rounds(campaign: Campaign, *, expert_id: int) -> QuerySet[Assignment]:
    """What the expert answered in parts of closed rounds while another round is open: the rest of `own_work`. In an
    open round they may be judging the same items once more, so they are told that there is some, and shown none of it.

    A hidden repeat belongs to its part here as well, so that nothing is told by one.
    """
    rest = _work(campaign, expert_id).filter(
        Exists(_open_parts(campaign)), part__round__state=Round.State.CLOSED
    )
    return rest.filter(answered_at__isnull=False)


def _open_parts(campaign: Campaign) -> QuerySet[Part]:
    return Part.objects.filter(round__campaign=campaign, round__state=Round.State.OPEN)


def screens_by_expert(part: Part) -> dict[int, int]:
    """How many screens a part has for each of its experts. One query."""
    rows = Assignment.objects.filter(in_play("item__"), part=part, withdrawn_at__isnull=True)
    found = rows.order_by().values_list("expert").annotate(n=Count("position", distinct=True))
    return dict(found)


def own_record(campaign: Campaign, *, expert_id: int) -> QuerySet[Assignment]:
    """What of it the expert may look back on: all but what is hidden because of what is judged once more."""
    return own_work(campaign, expert_id=expert_id).exclude(hidden_originals(campaign, expert_id=expert_id))


def out_of_sight(campaign: Campaign, *, expert_id: int) -> QuerySet[Assignment]:
    """What the expert answered and may not look back on now, beside a later batch or a carry-over check. They are told
    that there is some, never which; of originals of other hidden repeats they are told nothing.
    """
    answered = own_work(campaign, expert_id=expert_id).filter(answered_at__isnull=False)
    work = _work(campaign, expert_id)
    here = _not_handed_in(work)
    return answered.filter(_hidden_screens(campaign, work, here, _repeats(here)))


def hidden_originals(campaign: Campaign, *, expert_id: int) -> Q:
    """Rows that are hidden from their expert for now: those of an item that is judged once more, until that part is
    handed in, so that nobody makes the one answer like the other.

    Beside a later batch, that alone would tell what is new there: so all that was judged before of the units in it is
    hidden, of the new screens' units as well. Where a translation that could have taken another's verdict is judged
    anyway, the screen of whichever of the two comes first is hidden until the other is judged; it is hidden whole, so
    that no gap tells which it is.
    """
    work = _work(campaign, expert_id)
    here = _not_handed_in(work)
    again = _repeats(here)
    hidden: Q = _hidden_screens(campaign, work, here, again)
    return ~Q(round__kind=Round.Kind.REPEAT) & Q(item__in=again.values("item")) | hidden


def _not_handed_in(work: QuerySet[Assignment]) -> QuerySet[Assignment]:
    return work.filter(~Exists(HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))))


def _repeats(here: QuerySet[Assignment]) -> QuerySet[Assignment]:
    return here.filter(round__kind=Round.Kind.REPEAT, round__state=Round.State.OPEN)


def _hidden_screens(
    campaign: Campaign,
    work: QuerySet[Assignment],
    here: QuerySet[Assignment],
    again: QuerySet[Assignment],
) -> Any:
    """Screens that are hidden whole, for what else they would tell.

    Given are an expert's work, what of it is not handed in, and the repeats in that: Django takes as long to put
    these conditions together as the database takes to answer them, so each is put together once.
    """
    beside = again.filter(round__settings__has_key="later_items")
    last = Subquery(beside.order_by("-round__created_at").values("round__created_at")[:1])
    new = here.filter(
        Q(answered_at__isnull=True) | Q(answered_at__gte=last),
        round__kind=Round.Kind.MAIN,
        item__batch__published_at__gt=F("part__design__created_at"),
    )
    since = beside.filter(round__created_at__gt=OuterRef("answered_at"))
    # What costs a look for each row comes last.
    earlier = Q(unit__in=beside.values("unit")) & Q(Exists(since.filter(unit=OuterRef("unit"))))
    earlier |= Q(unit__in=new.values("unit")) & Q(Exists(since))
    earlier |= Q(round__kind=Round.Kind.MAIN, position__in=_beside_checks(campaign, work))
    unfinished = work.filter(answered_at__isnull=True)
    return ~Q(round__kind=Round.Kind.REPEAT) & earlier & ~Q(position__in=unfinished.values("position"))


def _beside_checks(campaign: Campaign, work: QuerySet[Assignment]) -> Any:
    """Positions of screens with one of the two of a checked carry-over, where the other waits on another screen:
    whichever was judged first is not to be looked back on while the other is.
    """
    checks = CarryOver.objects.filter(campaign=campaign, checked=True)
    main = Q(round__kind=Round.Kind.MAIN, round__state=Round.State.OPEN)
    mine = work.filter(main)
    apart = mine.filter(answered_at__isnull=True).exclude(position=OuterRef("position"))
    check = apart.filter(item__carry_over__checked=True, item__carry_over__source=OuterRef("item"))
    source = apart.filter(item__carried_to__checked=True, item__carried_to__item=OuterRef("item"))
    first: Any = Q(item__in=checks.values("source")) & Exists(check)
    first |= Q(item__in=checks.values("item")) & Exists(source)
    return mine.filter(first).values("position")


def open_work(campaign: Campaign, *, expert_id: int) -> QuerySet[Assignment]:
    """What of it may still be judged."""
    return _work(campaign, expert_id).filter(round__state=Round.State.OPEN)


def _work(campaign: Campaign, expert_id: int) -> QuerySet[Assignment]:
    return Assignment.objects.filter(
        round__campaign=campaign, expert_id=expert_id, withdrawn_at__isnull=True, part__isnull=False
    )


class ScreenRow(NamedTuple):
    """One row of a screen as it is read; `answers_sql.SCREEN_COLUMNS` names the same columns in the same order."""

    assignment: int
    revision: int
    position: int
    queue: int
    postponed: bool
    part: int
    unit: int
    compound: str
    compound_atoms: Any
    translation: str
    head: str
    relation: str
    tail: str
    context: int | None
    source: str | None
    start: int | None
    end: int | None
    reference: str | None
    source_differs: bool | None
    label: str | None  # from here on the expert's own stored answer; None where there is none
    cannot_judge: str | None
    problem: str | None
    detail: str | None
    reasons: Any
    atoms: Any
    note: str | None
    unsure: bool | None


_PATHS = (
    "pk", "revision", "position", "queue", "postponed_at", "part__index", "unit", "unit__compound", "unit__atoms",
    "item__translation", "item__head", "item__relation", "item__tail", "item__context", "item__context__source",
    "item__context__start", "item__context__end", "item__context__reference", "item__context__source_differs",
    "current__label", "current__cannot_judge", "current__problem", "current__detail", "current__reasons",
    "current__atoms", "current__note", "current__unsure",
)  # fmt: skip


def screens(rows: Any, *, campaign: Campaign, expert_id: int) -> list[dict[str, Any]]:
    """An expert's assignments as screens: one for each position, in the order of positions. One query."""
    current = FilteredRelation("annotations", condition=Q(annotations__revision=F("revision")))
    found = rows.annotate(current=current).order_by("position", "row")
    return screens_of(
        found.values_list(*_PATHS),
        protocol=campaign.protocol,
        reference=campaign.reference,
        display=campaign.display,
        expert_id=expert_id,
    )


def screens_of(
    rows: Iterable[Sequence[Any]], *, protocol: str, reference: str, display: str, expert_id: int
) -> list[dict[str, Any]]:
    """Rows as they were read, as this expert's screens; rows of one position stand together.

    Side by side, the rows of a context stand together as well, and `context` counts the contexts of the screen.
    """
    named = (ScreenRow(*row) for row in rows)
    return [
        _screen(list(group), protocol=protocol, reference=reference, display=display, expert_id=expert_id)
        for _position, group in groupby(named, key=lambda row: row.position)
    ]


def _screen(
    rows: list[ScreenRow], *, protocol: str, reference: str, display: str, expert_id: int
) -> dict[str, Any]:
    first = rows[0]
    compound = protocol == Campaign.Protocol.COMPOUND
    contexts: dict[int | None, int] = {}
    if compound and display == Campaign.Display.SIDE_BY_SIDE:
        contexts = {
            context: n for n, context in enumerate(dict.fromkeys(row.context for row in rows), start=1)
        }
        rows = sorted(rows, key=lambda row: contexts[row.context])
    screen: dict[str, Any] = {
        "id": number_of(first.assignment, expert=expert_id),
        "protocol": protocol,
        "position": first.position,
        "queue": first.queue,
        "part": first.part,
        "postponed": bool(first.postponed),
    }
    if compound:
        screen |= {
            "compound": first.compound,
            "atoms": [atom[:2] for atom in _decoded(first.compound_atoms)],
        }
    screen["rows"] = [
        {
            "assignment": number_of(row.assignment, expert=expert_id),
            "revision": row.revision,
            **({"context": contexts[row.context]} if contexts else {}),
            **(_compound_row(row, reference=reference) if compound else _triple_row(row)),
            "answer": _answer(row, protocol=protocol),
        }
        for row in rows
    ]
    return screen


def _compound_row(row: ScreenRow, *, reference: str) -> dict[str, Any]:
    hidden = reference == Campaign.Reference.HIDDEN or row.source_differs
    return {
        "source": row.source,
        "span": None if row.start is None else [row.start, row.end],
        "translation": joined_translation(row.translation),
        "raw": row.translation,
        "reference": None if hidden else row.reference or None,
    }


def _triple_row(row: ScreenRow) -> dict[str, Any]:
    return {"head": row.head, "relation": row.relation, "tail": row.tail}


def _answer(row: ScreenRow, *, protocol: str) -> dict[str, Any] | None:
    """The expert's own stored answer to this row."""
    if row.label is None:
        return None
    return {
        "label": get_protocol(protocol).answer(row.label).key if row.label else None,
        "cannot_judge": row.cannot_judge or None,
        "problem": row.problem or None,
        "detail": row.detail or None,
        "reasons": _decoded(row.reasons),
        "atoms": _decoded(row.atoms),
        "note": row.note,
        "flag": bool(row.unsure),
    }


def _decoded(value: Any) -> Any:
    """JSON that a hand-written statement read comes as text."""
    return json.loads(value) if isinstance(value, str) else value
