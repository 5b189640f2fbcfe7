"""Label models: against another program, by hand, by their properties, and on answers with planted errors."""

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring.stats.aggregation import (
    MODELS,
    NO_ANSWER,
    NO_OVERLAP,
    NO_TRIANGLE,
    OF_NOBODY,
    ONE_CATEGORY,
    ONE_EXPERT,
    ONE_ITEM,
    TWO_AN_ITEM,
    Aggregated,
    Name,
    aggregate,
    dawid_skene,
    mace,
    majority,
)
from scoring.stats.agreement_table import Ratings

Table = NDArray[np.int64]
Fit = Callable[..., Aggregated]
FITTED = (dawid_skene, mace)


def ratings(table: Sequence[Sequence[int]] | Table, *, categories: str = "ab") -> Ratings:
    found = np.asarray(table, dtype=np.int64)
    return Ratings(
        raters=tuple(f"w{place}" for place in range(found.shape[1])),
        table=found,
        categories=tuple(categories),
        scale=tuple(float(place) for place in range(len(categories))),
        items=range(len(found)),
    )


# Against crowd-kit ---------------------------------------------------------------------------------------------

# 60 items, five people of accuracy .9, .85, .8, .7, .45, four answers an item (numpy, default_rng(20)). The figures
# below are those of crowd-kit 1.4.2 (numpy 2.4.6, pandas 3.1.1): DawidSkene(n_iter=20000, tol=1e-13), and
# MACE(method="em", n_iter=3000, n_restarts=1, random_state=0) with the rows sorted by worker, label and task: it takes
# the order of first appearance for the sorted one.
SIXTY = (
    "01-20 000-2 -0002 1-121 0-102 0-010 0-021 20-21 -1111 -0000 1-112 10-20 -0201 0100- 0-120 222-0 00-21 000-0 -0000 "
    "-0202 00-02 11-01 11-21 00-02 22-21 -1112 -0010 00-20 2-202 0101- 00-11 002-0 -1001 1-112 112-2 2222- 2220- 000-1 "
    "2-222 0-021 1110- -0122 2-222 1-002 0000- 1111- 11-11 0001- 12-21 00-10 -0012 0-000 0-000 000-1 000-0 0-110 0000- "
    "2222- 00-00 111-1"
)
BY_DAWID_SKENE = "aaabaaacbabacaacaaacabbacbaacaaaabbccacabacaabbacaaaaaaaacab"
PRIOR = [0.611631, 0.197482, 0.190887]
DIAGONALS = {
    "w0": [0.93058, 1.0, 0.89086], "w1": [0.8513, 1.0, 0.70979], "w2": [0.79279, 0.8889, 1.0],
    "w3": [0.47878, 0.60204, 0.67946], "w4": [0.50177, 0.59988, 0.43303],
}  # fmt: skip
FOURTH = [0.01765, 0.98235, 0.0]  # posterior of the fourth item
BY_MACE = "aaabbaacbabbcabcaaacabbacbaacaaaabbccacabbcaabbacaaaaaabacab"
COMPETENCE = {"w0": 0.799, "w1": 0.659, "w2": 0.8835, "w3": 0.3318, "w4": 0.2633}
FIFTH = [0.4577, 0.4929, 0.0494]


def sixty() -> Ratings:
    rows = [[-1 if answer == "-" else int(answer) for answer in row] for row in SIXTY.split()]
    return ratings(rows, categories="abc")


def letters(found: Aggregated) -> str:
    return "".join(found.categories[number] for number in found.label)


def test_dawid_skene_gives_what_crowd_kit_gives() -> None:
    found = dawid_skene(sixty(), restarts=0, steps=20_000, tolerance=1e-15)

    assert letters(found) == BY_DAWID_SKENE
    assert found.prior == pytest.approx(PRIOR, abs=1e-6)
    assert found.posterior[3] == pytest.approx(FOURTH, abs=1e-5)
    for name, diagonal in DIAGONALS.items():
        confusion = found.experts[name].confusion
        assert confusion is not None
        assert [(confusion[place] or [])[place] for place in range(3)] == pytest.approx(diagonal, abs=1e-5)
        # Competence: how often they answer what is true.
        assert found.experts[name].value == pytest.approx(np.dot(PRIOR, diagonal), abs=1e-5)


def test_mace_gives_what_crowd_kit_gives() -> None:
    found = mace(sixty(), restarts=0, steps=20_000, tolerance=1e-15)

    assert letters(found) == BY_MACE
    assert found.posterior[4] == pytest.approx(FIFTH, abs=1e-4)
    assert {name: one.value for name, one in found.experts.items()} == pytest.approx(COMPETENCE, abs=1e-4)


@pytest.mark.parametrize("fit", FITTED)
def test_more_starts_and_another_seed_find_the_same_labels(fit: Fit) -> None:
    first, second = (fit(sixty(), seed=seed, restarts=8) for seed in (1, 2))
    assert letters(first) == letters(second)
    assert first.converged
    assert second.converged


# By hand -------------------------------------------------------------------------------------------------------


def test_majority_counts_and_leaves_ties_open() -> None:
    found = majority(ratings([[1, 1, 0], [0, 1, -1], [-1, -1, -1], [-1, 0, -1]]))
    assert found.label.tolist() == [1, -1, -1, 0]
    assert found.posterior[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert np.isnan(found.posterior[2]).all()
    assert [one.value for one in found.experts.values()] == [1.0, 1.0, 0.0]
    assert [one.n for one in found.experts.values()] == [2, 3, 1]


def test_one_step_of_dawid_skene_by_hand() -> None:
    """Three people, four items; the first M step from shares of answers, the posterior of one item after it."""
    table = [[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]]
    found = dawid_skene(ratings(table), restarts=0, steps=0)
    # Shares of b: 1, 0, 2/3, 1/3; the prior of b is 1/2. Of the b mass (2), w0 answers b with 1 + 2/3: .8333; w2 with
    # 1 + 1/3: .6667. By symmetry the same for a. Item 3 (b b a): b .8333² × .3333, a .1667² × .6667.
    for_b, for_a = 0.5 * (5 / 6) ** 2 * (1 / 3), 0.5 * (1 / 6) ** 2 * (2 / 3)
    assert found.prior == pytest.approx([0.5, 0.5])
    assert found.posterior[2, 1] == pytest.approx(for_b / (for_b + for_a))
    likelihoods = [0.5 * (5 / 6) ** 2 * (2 / 3) + 0.5 * (1 / 6) ** 2 * (1 / 3), for_b + for_a]
    assert found.log_likelihood == pytest.approx(2 * np.log(likelihoods).sum())
    assert (found.iterations, found.converged) == (0, False)
    assert "had not settled after 0 steps" in found.warnings[-1]


def test_one_step_of_mace_by_hand() -> None:
    """θ = 1/2 and even habits: an answer equals what is true with probability 3/4."""
    found = mace(ratings([[1, 1, 0], [0, 0, 0]]), restarts=0, steps=0)
    assert found.posterior[0, 1] == pytest.approx((3 / 4) ** 2 * (1 / 4) / (3 / 16))
    assert found.posterior[1, 0] == pytest.approx((3 / 4) ** 3 / ((3 / 4) ** 3 + (1 / 4) ** 3))
    assert found.log_likelihood == pytest.approx(np.log(3 / 32) + np.log(7 / 32))


def test_a_person_who_is_wrong_in_a_way_of_their_own_outvotes_nobody() -> None:
    """w2 says b whatever is true; where w0 and w1 differ, w2's b breaks the majority's tie and no model's."""
    table = [[1, 1, 1]] * 10 + [[0, 0, 1]] * 10 + [[0, 0, 1]] * 5
    assert majority(ratings(table)).experts["w2"].value == pytest.approx(10 / 25)
    assert (mace(ratings(table)).experts["w2"].value or 0) < 0.05
    confusion = dawid_skene(ratings(table)).experts["w2"].confusion
    assert confusion is not None
    assert confusion[0] == pytest.approx([0, 1], abs=1e-6)
    assert confusion[1] == pytest.approx([0, 1], abs=1e-6)


# Undefined, and not told by the answers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[-1, -1], [-1, -1]], NO_ANSWER),
        ([[1, 0], [-1, -1]], ONE_ITEM),
        ([[1, -1], [0, -1]], ONE_EXPERT),
        ([[1, -1], [-1, 0]], NO_OVERLAP),
        ([[1, 1], [1, 1]], ONE_CATEGORY),
    ],
)
@pytest.mark.parametrize("fit", FITTED)
def test_a_model_without_an_answer_says_why(fit: Fit, table: list[list[int]], reason: str) -> None:
    found = fit(ratings(table))
    document = found.as_json()
    assert found.reason == reason
    assert found.label.tolist() == [-1, -1]
    assert np.isnan(found.posterior).all()
    assert document["log_likelihood"] is None
    assert all(one["value"] is None and one["reason"] == reason for one in document["experts"].values())
    assert f"{found.model}|ver:1|items:" in found.signature


@pytest.mark.parametrize("name", list(MODELS))
def test_without_people_there_is_no_answer(name: Name) -> None:
    nobody = ratings(np.zeros((3, 0), dtype=np.int64))
    nothing = ratings(np.zeros((0, 2), dtype=np.int64))
    assert aggregate(nobody, name).label.tolist() == [-1, -1, -1]
    assert aggregate(nobody, name).reason == aggregate(nothing, name).reason == NO_ANSWER


def test_majority_needs_answers_only() -> None:
    assert majority(ratings([[-1, -1]])).reason == NO_ANSWER
    assert majority(ratings([[1, -1]])).label.tolist() == [1]


@pytest.mark.parametrize("fit", FITTED)
def test_who_answered_nothing_has_no_competence(fit: Fit) -> None:
    found = fit(ratings([[1, 1, 1, -1], [0, 0, 0, -1], [1, 0, 1, -1]]))
    assert (found.experts["w3"].value, found.experts["w3"].reason) == (None, OF_NOBODY)


def test_it_warns_where_two_answers_an_item_cannot_tell() -> None:
    pairs = ratings([[1, 1, -1], [0, -1, 0], [-1, 1, 0], [-1, 0, 0], [1, -1, 1]])
    assert TWO_AN_ITEM in dawid_skene(pairs).warnings
    assert NO_TRIANGLE not in mace(pairs).warnings  # three people who share items in pairs
    assert TWO_AN_ITEM not in dawid_skene(ratings([[1, 1, 0], [0, 0, 0]])).warnings


@pytest.mark.parametrize(
    "table",
    [
        [[1, 1], [0, 0], [1, 0]],
        [[1, 1, -1, -1], [-1, 0, 0, -1], [-1, -1, 1, 1], [0, -1, -1, 0], [1, 0, -1, -1]],  # a ring of four
    ],
)
def test_it_warns_where_competences_can_be_traded(table: list[list[int]]) -> None:
    assert NO_TRIANGLE in mace(ratings(table)).warnings


def test_two_answers_an_item_fit_equally_well_with_other_shares() -> None:
    """Why it warns: two people, the same likelihood, and other labels' shares."""
    rng = np.random.default_rng(3)
    truth = rng.random(4000) < 0.3
    table = np.stack([truth ^ (rng.random(4000) < error) for error in (0.1, 0.2)], axis=1).astype(np.int64)
    found = [dawid_skene(ratings(table), restarts=0, steps=steps, tolerance=0) for steps in (200, 4000)]
    other = dawid_skene(ratings(1 - table), restarts=0)
    assert found[0].log_likelihood == pytest.approx(found[1].log_likelihood or 0, abs=1e-3)
    assert other.log_likelihood == pytest.approx(found[1].log_likelihood or 0, abs=1e-3)
    assert found[1].prior is not None
    assert found[1].prior[1] != pytest.approx(0.3, abs=0.02)  # settled, and not on what is true


# Properties ----------------------------------------------------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn, *, people: int = 5, categories: int = 3, gaps: bool = True) -> Table:
    n, m = draw(st.integers(2, 12)), draw(st.integers(2, people))
    lowest = -1 if gaps else 0
    rows = st.lists(st.integers(lowest, categories - 1), min_size=m, max_size=m)
    return np.array(draw(st.lists(rows, min_size=n, max_size=n)))


NAMES: tuple[Name, ...] = tuple(MODELS)


@given(table=tables(), seed=st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_the_order_of_people_and_items_changes_nothing(table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people, items = rng.permutation(table.shape[1]), rng.permutation(len(table))
    for model in (
        majority,
        lambda r: dawid_skene(r, restarts=0, steps=60),
        lambda r: mace(r, restarts=0, steps=60),
    ):
        there = model(ratings(table, categories="abc"))
        moved = model(ratings(table[items][:, people], categories="abc"))
        assert moved.reason == there.reason
        assert moved.posterior == pytest.approx(there.posterior[items], abs=1e-6, nan_ok=True)


@given(table=tables())
@settings(max_examples=60, deadline=None)
def test_what_all_answer_alike_stays_so_under_majority_and_mace(table: Table) -> None:
    for model in (majority, mace):
        found = model(ratings(table, categories="abc"))
        if found.reason:
            continue
        for label, row in zip(found.label, table, strict=True):
            answers = set(row.tolist()) - {-1}
            if len(answers) == 1:
                assert label == answers.pop()


@given(answers=st.lists(st.integers(0, 2), min_size=2, max_size=12), people=st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_people_who_answer_alike_are_followed(answers: list[int], people: int) -> None:
    table = np.repeat(np.array(answers)[:, None], people, axis=1)
    for name in NAMES:
        found = aggregate(ratings(table, categories="abc"), name)
        assert found.reason == ONE_CATEGORY or found.label.tolist() == answers


@given(table=tables())
@settings(max_examples=60, deadline=None)
def test_posteriors_are_probabilities_and_reasons_stand_for_what_is_missing(table: Table) -> None:
    for name in NAMES:
        found = aggregate(ratings(table, categories="abc"), name)
        answered = (table != -1).any(axis=1)
        if found.reason is None:
            assert found.posterior[answered].sum(axis=1) == pytest.approx(1)
            assert (found.posterior[answered] >= 0).all()
        assert np.isnan(found.posterior[~answered]).all()
        for one in found.experts.values():
            assert (one.value is None) == (one.reason is not None)
            assert one.value is None or -1e-9 <= one.value <= 1 + 1e-9


@given(table=tables())
@settings(max_examples=40, deadline=None)
def test_no_step_of_dawid_skene_lowers_the_likelihood(table: Table) -> None:
    found = [
        dawid_skene(ratings(table, categories="abc"), restarts=0, steps=n, tolerance=-1) for n in range(6)
    ]
    likelihoods = [one.log_likelihood for one in found]
    if None not in likelihoods:
        assert (np.diff(np.array(likelihoods)) > -1e-9).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_call_gives_the_same_result(name: Name) -> None:
    first, second = (aggregate(sixty(), name, seed=5) for _ in range(2))
    assert first.as_json() == second.as_json()
    assert (first.posterior == second.posterior).all()


# Planted errors ----------------------------------------------------------------------------------------------------


def planted(accuracy: Sequence[float], *, n: int, per_item: int, seed: int) -> tuple[Table, Table]:
    """What is true, and answers of so many people an item, each right as often as it says."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    table = np.full((n, len(accuracy)), -1)
    for column, right in enumerate(accuracy):
        wrong = (truth + rng.integers(1, 3, size=n)) % 3
        table[:, column] = np.where(rng.random(n) < right, truth, wrong)
    for row in table:
        row[rng.permutation(len(accuracy))[per_item:]] = -1
    return truth, table


@pytest.mark.parametrize("seed", range(3))
def test_dawid_skene_recovers_planted_accuracies_and_labels_better_than_majority(seed: int) -> None:
    accuracy = [0.95, 0.9, 0.6, 0.5, 0.45]
    truth, table = planted(accuracy, n=3000, per_item=4, seed=seed)
    found = dawid_skene(ratings(table, categories="abc"))
    assert [one.value for one in found.experts.values()] == pytest.approx(accuracy, abs=0.04)
    assert found.prior == pytest.approx([0.5, 0.3, 0.2], abs=0.06)
    by_majority = majority(ratings(table, categories="abc"))
    assert (found.label == truth).mean() > (by_majority.label == truth).mean() + 0.05


@pytest.mark.parametrize("seed", range(3))
def test_mace_recovers_who_guesses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, knows = 3000, [0.9, 0.8, 0.5, 0.1]
    truth = rng.integers(0, 3, n)
    habit = np.array([0.2, 0.2, 0.6])
    table = np.stack(
        [np.where(rng.random(n) < theta, truth, rng.choice(3, size=n, p=habit)) for theta in knows], axis=1
    )
    found = mace(ratings(table, categories="abc"))
    assert [one.value for one in found.experts.values()] == pytest.approx(knows, abs=0.05)
    assert (found.label == truth).mean() > 0.9


def test_a_million_items_of_two_answers_take_seconds() -> None:
    rng = np.random.default_rng(0)
    n, people = 1_000_000, 4
    truth = rng.integers(0, 2, n)
    table = np.full((n, people), -1, dtype=np.int8)
    first = rng.integers(0, people, n)
    for column in (first, (first + rng.integers(1, people, n)) % people):
        table[np.arange(n), column] = truth ^ (rng.random(n) < 0.05)
    given = Ratings(
        raters=("a", "b", "c", "d"), table=table, categories=("0", "1"), scale=(0.0, 1.0), items=np.arange(n)
    )
    start = perf_counter()
    found = [aggregate(given, name) for name in NAMES]
    assert perf_counter() - start < 20
    assert [(one.label == truth).mean() > 0.85 for one in found] == [True] * 3
