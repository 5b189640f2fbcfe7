"""Which items stand on which screen, and how far apart: of any units, in both displays."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Assignment, Campaign, Part, Round, User
from annotation.services.layout import UnitRows, share_of
from tests.factories import make_campaign, make_part, make_side_by_side, make_user

pytestmark = pytest.mark.django_db

# Of each unit, how many distinct translations each of its contexts has.
SHAPES = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=14)
SEEDS = st.integers(0, 2**31 - 1)
with_database = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def place() -> tuple[Round, Part, User]:
    round_ = make_campaign(protocol="compound").rounds.get()
    return round_, make_part(round_), make_user("ada")


def units_of(shapes: list[list[int]]) -> list[UnitRows]:
    number = iter(range(1, 10_000))
    return [
        UnitRows(pk, f"u{pk}", "", tuple(tuple(next(number) for _item in range(n)) for n in shape))
        for pk, shape in enumerate(shapes, start=1)
    ]


def laid_out(place: tuple[Round, Part, User], units: list[UnitRows], *, seed: int) -> list[list[Assignment]]:
    """The rows screen by screen, in the order in which they come up."""
    round_, part, expert = place
    round_.campaign.seed = seed
    screens: dict[int, list[Assignment]] = defaultdict(list)
    for row in share_of(round_, part, units, slot=1, expert=expert):
        screens[row.position].append(row)
    assert list(screens) == list(range(len(screens)))
    assert all([row.row for row in rows] == list(range(1, len(rows) + 1)) for rows in screens.values())
    return list(screens.values())


def items(screens: list[list[Assignment]]) -> list[list[int]]:
    return [[row.item_id for row in rows] for rows in screens]


def context_of(units: list[UnitRows]) -> dict[int, tuple[int, int]]:
    return {
        item: (unit.pk, number)
        for unit in units
        for number, found in enumerate(unit.contexts)
        for item in found
    }


@with_database
@given(shapes=SHAPES, seed=SEEDS)
def test_alone_a_screen_holds_one_translation_of_each_context(
    place: tuple[Round, Part, User], shapes: list[list[int]], seed: int
) -> None:
    units = units_of(shapes)
    contexts = context_of(units)
    screens = laid_out(place, units, seed=seed)
    assert sorted(item for rows in items(screens) for item in rows) == sorted(contexts)
    for rows in screens:
        assert {contexts[row.item_id][0] for row in rows} == {rows[0].unit_id}
        shown = [contexts[row.item_id] for row in rows]
        assert len(set(shown)) == len(shown)
    n_screens = Counter(rows[0].unit_id for rows in screens)
    assert n_screens == {unit.pk: max(map(len, unit.contexts)) for unit in units}


@with_database
@given(shapes=SHAPES, seed=SEEDS)
def test_alone_the_variants_of_a_unit_lie_as_far_apart_as_is_said(
    place: tuple[Round, Part, User], shapes: list[list[int]], seed: int
) -> None:
    units = units_of(shapes)
    variants = {unit.pk: max(map(len, unit.contexts)) for unit in units}
    groups = Counter(variants.values())
    places: dict[int, list[int]] = defaultdict(list)
    for place_, rows in enumerate(laid_out(place, units, seed=seed)):
        places[rows[0].unit_id].append(place_)
    for unit, found in places.items():
        v = variants[unit]
        between = groups[v] - 1 + sum(n * m // v for m, n in groups.items() if m != v)
        assert all(after - before - 1 >= between for before, after in pairwise(found))


@with_database
@given(n=st.integers(2, 30), variants=st.integers(2, 6), seed=SEEDS)
def test_alone_every_unit_comes_once_before_any_comes_again_where_all_have_as_many(
    place: tuple[Round, Part, User], n: int, variants: int, seed: int
) -> None:
    screens = laid_out(place, units_of([[variants] * 3] * n), seed=seed)
    for turn in range(variants):
        assert len({rows[0].unit_id for rows in screens[turn * n : (turn + 1) * n]}) == n


@with_database
@given(shapes=SHAPES, seed=SEEDS)
def test_side_by_side_a_unit_is_one_screen_and_its_contexts_are_not_mixed(
    place: tuple[Round, Part, User], shapes: list[list[int]], seed: int
) -> None:
    make_side_by_side(place[0].campaign)
    units = units_of(shapes)
    contexts = context_of(units)
    screens = laid_out(place, units, seed=seed)
    assert sorted(rows[0].unit_id for rows in screens) == [unit.pk for unit in units]
    assert sorted(item for rows in items(screens) for item in rows) == sorted(contexts)
    for rows in screens:
        order = [contexts[row.item_id] for row in rows]
        changes = sum(before != after for before, after in pairwise(order))
        assert changes == len(set(order)) - 1


@pytest.mark.parametrize("display", ["alone", "side_by_side"])
def test_the_seed_and_the_expert_decide_and_the_import_does_not(
    place: tuple[Round, Part, User], display: str
) -> None:
    if display == "side_by_side":
        make_side_by_side(place[0].campaign)
    units = units_of([[3, 2, 4]] * 12)
    first = items(laid_out(place, units, seed=1))
    assert items(laid_out(place, units, seed=1)) == first
    assert items(laid_out(place, units, seed=2)) != first
    assert items(laid_out((*place[:2], make_user("lin")), units, seed=1)) != first
    # Among the translations of a context each comes first somewhere: a place names no system.
    contexts = context_of(units)
    ranks = set()
    for unit in units:
        (found,) = (group for group in unit.contexts if len(group) == 3)
        ranks.add(found.index(next(item for rows in first for item in rows if item in found)))
    assert ranks == {0, 1, 2}
    assert len({contexts[item] for rows in first for item in rows}) == 36


def test_triples_in_runs_stay_in_runs() -> None:
    campaign = make_campaign(order=Campaign.Order.RUNS)
    round_ = campaign.rounds.get()
    units = [UnitRows(pk, f"t{pk}", ("xWant", "oWant")[pk % 2], ((pk,),)) for pk in range(1, 81)]
    rows = share_of(round_, make_part(round_), units, slot=1, expert=make_user("ada"))
    relations = [("xWant", "oWant")[row.unit_id % 2] for row in rows]
    assert sum(before != after for before, after in pairwise(relations)) <= 3
