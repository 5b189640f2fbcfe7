"""Which units come again, and where: late enough, never among the screens a page may hold, drawn by the seed alone."""

from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.repeats import AHEAD, DISTANCE, Original, place_repeats, wanted_of

GROUPS = ("xWant", "xNeed", "oReact")

originals = st.lists(st.integers(0, 900), unique=True, max_size=60).map(
    lambda since: [Original(f"u{one}", GROUPS[one % 3], one) for one in sorted(since)]
)
places = st.lists(st.integers(0, 400), unique=True).map(sorted)


@given(originals, places, st.integers(0, 80), st.integers(0, 2**31))
def test_a_repeat_comes_late_enough_and_behind_what_a_page_may_hold(
    judged: list[Original], free: list[int], n: int, seed: int
) -> None:
    since = {one.key: one.since for one in judged}

    drawn = place_repeats(judged, free, n=n, seed=seed)

    assert len(drawn) <= n
    assert len({one.key for one in drawn}) == len(drawn)
    for one in drawn:
        assert one.before in free
        assert one.before >= AHEAD
        assert since[one.key] + one.before >= DISTANCE
    assert [one.before for one in drawn] == sorted(one.before for one in drawn)


@given(originals, places, st.integers(1, 80), st.integers(0, 2**31))
def test_as_many_come_as_can(judged: list[Original], free: list[int], n: int, seed: int) -> None:
    last = free[-1] if free else -1
    able = [one for one in judged if last >= max(AHEAD, DISTANCE - one.since)]

    assert len(place_repeats(judged, free, n=n, seed=seed)) == min(n, len(able))


def test_the_seed_decides_alone_and_every_group_has_its_share() -> None:
    judged = [Original(f"u{number}", GROUPS[number % 3], 300 + number) for number in range(90)]

    drawn = place_repeats(judged, range(500), n=9, seed=4)
    group = {one.key: one.group for one in judged}

    assert drawn == place_repeats(judged, range(500), n=9, seed=4)
    assert {one.key for one in drawn} != {one.key for one in place_repeats(judged, range(500), n=9, seed=5)}
    assert sorted(group[one.key] for one in drawn) == sorted(GROUPS * 3)
    assert len({one.before for one in drawn}) > 6  # spread over the list, not in a heap


def test_a_share_of_few_is_one() -> None:
    assert [wanted_of(judged, percent=5) for judged in (0, 1, 29, 30, 1000)] == [0, 1, 1, 2, 50]
