from hypothesis import given
from hypothesis import strategies as st

from annotation.formats.system_cells import systems_cell, systems_in

NAMES = st.text(st.sampled_from("a/;% 2F3B5\t名"), max_size=8)


@given(st.sets(st.tuples(NAMES, NAMES), min_size=1, max_size=4))
def test_every_name_comes_back(systems: set[tuple[str, str]]) -> None:
    assert sorted(systems_in(systems_cell(systems))) == sorted(systems)


def test_it_reads_what_was_written_before_names_were_escaped() -> None:
    assert list(systems_in("100%/seed 5%; a;b; 50%2f")) == [("100%", "seed 5%"), ("a;b", ""), ("50%2f", "")]


def test_names_without_those_marks_stand_as_they_are() -> None:
    assert systems_cell([("large", "seed1"), ("base", "")]) == "base; large/seed1"
