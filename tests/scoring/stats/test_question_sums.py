"""Figures from sums over questions: against closed forms and plain loops."""

import numpy as np
import pytest

from scoring.stats.choice import ACCURACY, MEASURES, accuracy, accuracy_of, answered
from scoring.stats.proportions import wilson
from scoring.stats.question_sums import SystemRows, draw, mean_over_sets


def answers(right: int, n: int, *, last: bool = False) -> np.ndarray:
    found = np.zeros(n, dtype=np.int8)
    found[(n - right) if last else 0 : n if last else right] = 1
    return found


def test_an_accuracy_and_its_interval_are_those_of_a_share() -> None:
    found = accuracy_of(draw([answered("a", [answers(140, 200)])], accuracy, MEASURES), 0)

    low, high = wilson(140, 200)
    assert found.spread.mean == 70.0
    assert found.interval == pytest.approx((100 * low, 100 * high), abs=1.5)
    assert found.method == "bootstrap-over-questions"


@pytest.mark.parametrize(("right", "bounds"), [(40, (91.19, 100)), (0, (0, 8.81))])
def test_where_all_are_right_or_wrong_the_interval_is_exact(right: int, bounds: tuple[float, float]) -> None:
    found = accuracy_of(draw([answered("a", [answers(right, 40)])], accuracy, MEASURES), 0)

    assert found.interval == pytest.approx(bounds, abs=0.01)
    assert found.method == "clopper-pearson"


def test_one_question_has_no_interval_and_says_so() -> None:
    rows = SystemRows(name="a", runs=(np.array([[1.0, 2.0]]),))
    figure = draw([rows], lambda sums: sums[..., :1] / sums[..., 1:], ["x"]).figure(0, "x")

    assert figure.interval is None
    assert figure.ci95_reason is not None
    assert "nothing to resample" in figure.ci95_reason


def test_a_mean_over_runs_has_its_spread_and_covers_all_runs() -> None:
    runs = [answers(50, 100), answers(60, 100), answers(70, 100)]
    found = draw([answered("a", runs)], accuracy, MEASURES).figure(0, ACCURACY)

    assert (found.spread.mean, found.spread.sd, found.spread.n) == (60.0, 10.0, 3)


def test_p_is_that_of_the_sign_test_of_discordant_questions() -> None:
    # 10 questions only a has right, 2 only b: 2 · P(at most 2 of 12) = 2 · 79 / 4096.
    a, b = np.zeros(100, dtype=np.int8), np.zeros(100, dtype=np.int8)
    a[:60], b[:50], b[60:62] = 1, 1, 1
    found = draw([answered("a", [a]), answered("b", [b])], accuracy, MEASURES, shuffles=50_000)

    difference = found.difference(0, 1, ACCURACY)
    assert difference.difference == pytest.approx(8.0)
    assert difference.p == pytest.approx(2 * 79 / 4096, abs=0.004)


def test_two_that_say_the_same_are_not_told_apart() -> None:
    one = answers(30, 60)
    found = draw([answered("a", [one]), answered("b", [one])], accuracy, MEASURES).difference(0, 1, ACCURACY)

    assert (found.difference, found.p, found.interval) == (0.0, 1.0, None)
    assert found.ci95_reason is not None


def test_unequal_numbers_of_runs_have_an_interval_and_no_p() -> None:
    systems = [answered("a", [answers(50, 90), answers(52, 90)]), answered("b", [answers(20, 90)])]
    found = draw(systems, accuracy, MEASURES).difference(0, 1, ACCURACY)

    assert found.p is None
    assert found.p_reason is not None
    assert "as many runs" in found.p_reason
    assert found.interval is not None


def test_a_pair_does_not_depend_on_who_else_is_there() -> None:
    systems = [answered(name, [answers(right, 120)]) for name, right in (("a", 80), ("b", 60), ("c", 10))]

    alone = draw(systems[:2], accuracy, MEASURES).difference(0, 1, ACCURACY)
    among = draw(systems, accuracy, MEASURES).difference(0, 1, ACCURACY)

    assert (alone.interval, alone.p) == (among.interval, among.p)


def test_swapping_two_runs_each_is_what_a_plain_loop_does() -> None:
    rng = np.random.default_rng(5)
    runs = [[rng.random((40, 2)) + np.array([[0, 1]]) for _ in range(2)] for _ in range(2)]
    systems = [SystemRows(name=name, runs=tuple(of)) for name, of in zip("ab", runs, strict=True)]

    def of_sums(sums: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(sums[..., :1] / sums[..., 1:]))

    found = draw(systems, of_sums, ["x"], shuffles=20, seed=3)

    coins_of = np.random.default_rng([3, 1]).integers(0, 256, size=(20, 5), dtype=np.uint8)
    coins = np.unpackbits(coins_of, axis=1)[:, :40].astype(bool)
    for row, coin in enumerate(coins):
        values = []
        for mine, other in ((0, 1), (1, 0)):
            sides = [np.where(coin[:, None], runs[other][r], runs[mine][r]).sum(axis=0) for r in range(2)]
            values.append(np.mean([np.sqrt(side[0] / side[1]) for side in sides]))
        assert found.swapped[0, 1][row, 0] == pytest.approx(values[0] - values[1])


def test_a_mean_over_sets_weighs_sets_alike_whatever_their_sizes() -> None:
    sets = [
        draw(
            [answered("a", [answers(90, 100)]), answered("b", [answers(80, 100)])], accuracy, MEASURES, seed=1
        ),
        draw([answered("a", [answers(5, 20)]), answered("b", [answers(2, 20)])], accuracy, MEASURES, seed=2),
    ]
    found = mean_over_sets(sets)

    assert found.figure(0, ACCURACY).spread.mean == pytest.approx((90 + 25) / 2)
    difference = found.difference(0, 1, ACCURACY)
    assert difference.difference == pytest.approx((10 + 15) / 2)
    assert difference.p is not None
    assert difference.p < 0.01
    assert difference.n == 120


def test_systems_of_one_name_or_of_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        draw([answered("a", [answers(1, 9)]), answered("a", [answers(2, 9)])], accuracy, MEASURES)
    with pytest.raises(ValueError, match="same questions"):
        draw([answered("a", [answers(1, 9)]), answered("b", [answers(2, 8)])], accuracy, MEASURES)
    with pytest.raises(ValueError, match="no run"):
        answered("a", [])
