"""A random sample of units: by the seed, nested, each set as likely as any other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocol.assignment import PlanUnit, draw_sample, plan
from annotation.protocol.errors import ProtocolError

KEYS = [f"u{number}" for number in range(40)]


@given(st.integers(1, 40), st.integers(0, 1000))
def test_it_keeps_the_order_and_depends_on_the_seed_alone(n: int, seed: int) -> None:
    found = draw_sample(KEYS, n, seed=seed)
    assert (len(found.unit_keys), found.of) == (n, 40)
    assert list(found.unit_keys) == [key for key in KEYS if key in found]
    assert set(draw_sample(KEYS[::-1], n, seed=seed).unit_keys) == set(found.unit_keys)
    assert n == 1 or set(draw_sample(KEYS, n - 1, seed=seed).unit_keys) < set(found.unit_keys)


def test_a_unit_is_drawn_as_often_as_any_other() -> None:
    times = dict.fromkeys(KEYS, 0)
    for seed in range(400):
        for key in draw_sample(KEYS, 10, seed=seed).unit_keys:
            times[key] += 1
    # 100 each; the standard deviation of a count is 8.7.
    assert 65 < min(times.values()) <= max(times.values()) < 135


def test_which_part_a_drawn_unit_falls_into_is_another_chance() -> None:
    sample = draw_sample(KEYS, 20, seed=1)
    units = [PlanUnit(key, 1) for key in KEYS]
    planned = plan("cyclic", experts=["a", "b"], units=units, k=2, seed=1, sample=sample)
    dealt = [part.unit_keys for part in planned.parts]
    assert sorted(key for part in dealt for key in part) == sorted(sample.unit_keys)
    assert planned.sample == sample
    whole = plan("cyclic", experts=["a", "b"], units=units, k=2, seed=1)
    only = plan(
        "cyclic", experts=["a", "b"], units=[unit for unit in units if unit.key in sample], k=2, seed=1
    )
    assert planned.hash == only.hash != whole.hash
    assert "sample" not in whole.as_json()


@pytest.mark.parametrize("n", [0, -1, 41])
def test_it_says_how_many_can_be_drawn(n: int) -> None:
    with pytest.raises(ProtocolError, match="ask for 1 to 40"):
        draw_sample(KEYS, n, seed=1)
    with pytest.raises(ProtocolError, match="listed twice"):
        draw_sample(["u", "u"], 1, seed=1)
