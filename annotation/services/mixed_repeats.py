"""Hidden repeats beside a later batch: mixed in among screens that nobody has seen yet."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.models import Assignment, Round, Thread
from annotation.protocol.chance import chance
from annotation.protocol.repeats import DISTANCE, Original, Repeat, place_repeats, rows_to_repeat, wanted_of
from annotation.services.effective import AGAIN
from annotation.services.repeat_screens import Screen, Standing

_HALVED = (0, 1, 2, 3, 16)  # how often a distance is halved where it is too long; the last leaves none


@dataclass(frozen=True)
class NewScreen:
    """A screen that nobody has seen yet: its part, and how many rows each of its contexts has."""

    part: int
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Among:
    """Repeats among screens that nobody has seen yet: each original, and the new screen in front of which it comes.

    Of an original there are only as many rows as a new screen has, since more would tell it from new ones. `judged`:
    screens there were to draw from; `asked`: how many of them were wanted. `distance`: units between each original and
    its repeat, at least.
    """

    judged: int = 0
    asked: int = 0
    distance: int = 0
    repeats: tuple[tuple[Screen, int], ...] = ()


def among_new(
    round_: Round, coming: Mapping[int, Sequence[NewScreen]], *, percent: float, seed: int
) -> dict[int, Among]:
    """For each expert with `coming` new screens, a share of what they have judged, drawn to come among these.

    Repeats come as late as others where there is room for all of them; else the distance is halved until there is,
    and at last what was judged in the sitting that goes on is taken too. Of a unit that was judged on several screens
    one is drawn; none that was talked about or judged again since, which no longer tells how its expert judges alone.
    Each has the rows of a new screen that is drawn for it, and stands in its unit's part where new screens do. Five
    queries.
    """
    found = Standing.of(round_)
    seen = _seen_again(round_)
    return {
        expert: _among(expert, screens, found, seen, percent=percent, seed=seed)
        for expert, screens in coming.items()
    }


def _seen_again(round_: Round) -> set[int]:
    """Units that were opened to discussion, or judged again after one or under new guidelines."""
    talked = Thread.objects.filter(item__campaign=round_.campaign_id)
    again = Assignment.objects.filter(round__campaign=round_.campaign_id, round__kind__in=AGAIN)
    return {*talked.values_list("item__unit", flat=True), *again.order_by().values_list("unit", flat=True)}


def _among(
    expert: int,
    coming: Sequence[NewScreen],
    found: Standing,
    seen: Collection[int],
    *,
    percent: float,
    seed: int,
) -> Among:
    latest_first = found.judged(expert)
    of_unit: dict[str, list[tuple[int, Screen]]] = defaultdict(list)
    for since, screen in enumerate(latest_first):
        if (expert, screen.unit) not in found.repeated and screen.unit not in seen:
            of_unit[screen.key].append((since, screen))
    if not coming:
        return Among(judged=len(latest_first))
    drawn = {key: _one_of(screens, coming, key=key, seed=seed) for key, screens in of_unit.items()}
    asked = wanted_of(len(latest_first), percent=percent) if percent else 0
    wanted = min(asked, len(drawn))
    old = {key: one for key, one in drawn.items() if found.old_enough(one[1], expert)}
    places: dict[int, list[int]] = defaultdict(list)  # of a part, where it has new screens
    for place, new in enumerate(coming):
        places[new.part].append(place)
    distance = 0
    repeats: tuple[Repeat, ...] = ()
    for pool, distance in ((pool, DISTANCE >> halved) for pool in (old, drawn) for halved in _HALVED):
        originals = [
            Original(key, screen.group, since, places.get(screen.part))
            for key, (since, screen) in pool.items()
        ]
        repeats = place_repeats(
            originals, range(len(coming)), n=wanted, seed=seed, distance=distance, ahead=0
        )
        if len(repeats) == wanted:
            break
    return Among(
        judged=len(latest_first),
        asked=asked,
        distance=distance,
        repeats=tuple((drawn[one.key][1], one.before) for one in repeats),
    )


def _one_of(
    screens: Sequence[tuple[int, Screen]], coming: Sequence[NewScreen], *, key: str, seed: int
) -> tuple[int, Screen]:
    """One of a unit's screens that holds as many rows as a new screen drawn by chance, cut down to these."""
    drawn = int.from_bytes(chance("shape", seed, key), "big") % len(coming)
    shape = coming[drawn].shape
    cut = []
    for since, screen in screens:
        rows = rows_to_repeat(screen.contexts, shape, seed=seed, key=key)
        less = replace(
            screen,
            assignments=tuple(screen.assignments[row] for row in rows),
            contexts=tuple(screen.contexts[row] for row in rows),
        )
        cut.append((since, less))
    return min(cut, key=lambda one: (-len(one[1].assignments), chance("again", seed, key, one[1].position)))
