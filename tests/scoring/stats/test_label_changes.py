"""Two sets of labels side by side."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.stats.label_changes import (
    CHANGES,
    NOTHING_COMMON,
    ONE_LABEL,
    equal_to_label,
    label_changes,
)

LABELS = ("0", "1")
STATES = st.sampled_from(["0", "1", "tie", "incomplete"])


def test_each_item_is_of_one_kind() -> None:
    before = ["1", "1", "0", "tie", "1", "tie", "tie"]
    after = ["1", "0", "1", "0", "tie", "tie", "incomplete"]
    found = label_changes(before, after, labels=LABELS, source="a>b")
    assert found.change.tolist() == ["kept", "flipped", "flipped", "gained", "lost", "without", "without"]
    document = found.as_json()
    assert [document[name] for name in CHANGES] == [1, 2, 1, 1, 2]
    assert {(one["from"], one["to"]): one["n"] for one in document["table"]}["tie", "incomplete"] == 1
    assert document["between"]["percent"] == pytest.approx(100 / 3)
    assert "|labels:a>b|" in document["signature"]


def test_undefined_figures_say_why() -> None:
    nothing = label_changes(["tie"], ["1"], labels=LABELS, source="").as_json()["between"]
    assert (nothing["percent"], nothing["reason"], nothing["kappa"]) == (None, NOTHING_COMMON, None)
    same = label_changes(["1", "1"], ["1", "1"], labels=LABELS, source="").as_json()["between"]
    assert (same["percent"], same["kappa"], same["kappa_reason"]) == (100, None, ONE_LABEL)


def test_both_sets_need_the_same_items() -> None:
    with pytest.raises(ValueError, match="state for each item"):
        label_changes(["1"], [], labels=LABELS, source="")


@pytest.fixture(scope="module")
def their_kappa() -> Callable[..., float]:
    """Every process that collects this file would load the library, were it imported above."""
    from sklearn.metrics import cohen_kappa_score

    found: Callable[..., float] = cohen_kappa_score
    return found


@given(pairs=st.lists(st.tuples(STATES, STATES), min_size=1, max_size=40))
def test_kinds_add_up_and_kappa_is_that_of_scikit_learn(
    their_kappa: Callable[..., float], pairs: list[tuple[str, str]]
) -> None:
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    found = label_changes(before, after, labels=LABELS, source="")
    back = label_changes(after, before, labels=LABELS, source="")
    assert sum(found.counts.values()) == sum(found.cells.values()) == len(pairs)
    assert (found.counts["gained"], found.counts["lost"]) == (back.counts["lost"], back.counts["gained"])
    both = [pair for pair in pairs if pair[0] in LABELS and pair[1] in LABELS]
    if found.kappa is not None:
        assert found.kappa == pytest.approx(their_kappa(*zip(*both, strict=True), labels=list(LABELS)))


def test_answers_are_compared_with_labels_where_there_are_both() -> None:
    found = equal_to_label(np.array([1, 0, 1, -1, 0]), np.array([1, 1, -1, 0, 0]))
    assert (found["n"], found["equal"], found["percent"]) == (3, 2, pytest.approx(200 / 3))
    assert found["ci95"][0] < 200 / 3 < found["ci95"][1]
    none = equal_to_label(np.array([-1]), np.array([1]))
    assert (none["percent"], none["ci95"]) == (None, None)
    assert none["reason"]
