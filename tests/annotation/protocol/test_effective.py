"""Effective scores over any history of rounds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.effective import effective

LABEL = st.sampled_from(["1", "0.5", "0", None])
EXPERTS = ("a", "b", "c")
ANSWERS = st.dictionaries(st.sampled_from(EXPERTS), LABEL)


@given(
    independent=ANSWERS,
    again=st.lists(st.dictionaries(st.sampled_from((*EXPERTS, "late")), LABEL), max_size=4),
)
@settings(deadline=None)
def test_it_is_the_last_answer_and_waits_for_the_rest_of_the_last_round(
    independent: dict[str, str | None], again: list[dict[str, str | None]]
) -> None:
    """Told once more, the long way: answer by answer, and by who has spoken in the last round that was begun."""
    naive = {}
    for expert, first in independent.items():
        history = [first, *(answers[expert] for answers in again if expert in answers)]
        naive[expert] = history[-1]
    begun = [answers for answers in again if any(expert in independent for expert in answers)]
    waiting = bool(begun) and any(expert not in begun[-1] for expert in independent)

    found = effective(independent, again)

    assert dict(found.scores) == naive
    assert list(found.scores) == list(independent)
    assert found.waiting == waiting
    assert "late" not in found.counted
    if waiting:
        assert dict(found.counted) == {
            expert: begun[-1][expert] for expert in independent if expert in begun[-1]
        }
        assert len(found.counted) < len(independent)
    else:
        assert dict(found.counted) == naive


@given(independent=ANSWERS)
@settings(deadline=None)
def test_without_a_later_round_it_is_the_independent_answer(independent: dict[str, str | None]) -> None:
    found = effective(independent, [])

    assert (dict(found.scores), dict(found.again), found.waiting) == (independent, {}, False)
