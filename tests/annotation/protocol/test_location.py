"""Where a compound stands in its source."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook

from annotation.protocol.compound import locate
from tests.shared import shared


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_finds_every_released_compound_in_both_of_its_sources(kind: str) -> None:
    folder = shared("data/cognition")
    compounds = (folder / f"{kind}.compound").read_text(encoding="utf-8").split("\n")[:3600]
    sources = (folder / f"{kind}.en").read_text(encoding="utf-8").split("\n")[:3600]
    sheet = load_workbook(folder / f"{kind}-git.xlsx", read_only=True).active
    assert sheet is not None
    header, *rows = sheet.iter_rows(values_only=True)
    judged = [str(row[header.index("src")]) for row in rows]
    assert len(judged) == len(sources) == len(compounds)
    for compound, *texts in zip(compounds, sources, judged, strict=True):
        for text in texts:
            found = locate(compound, text)
            assert found is not None
            assert text[slice(*found)] == compound


def test_it_finds_the_variants_of_the_case_file_and_misses_the_absent_one() -> None:
    with shared("cases/c11_compound_not_in_sentence.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [locate(row["compound"], row["source"]) for row in rows]
    marked = [None if at is None else row["source"][slice(*at)] for row, at in zip(rows, found, strict=True)]
    assert marked == [None, "The Sleepy Gardener", "the clerk, tired", "under  the green bridge"]


@pytest.mark.parametrize(
    ("compound", "source", "marked"),
    [
        # case and space
        ("the dog", "THE DOG barked", "THE DOG"),
        ("THE dog", "see the dog", "the dog"),
        ("the dog", "the \u00a0\u3000dog", "the \u00a0\u3000dog"),
        ("the dog", "the\ndog", "the\ndog"),
        ("  the   dog ", "a the dog b", "the dog"),
        ("the straße", "by THE STRASSE .", "THE STRASSE"),
        # tokenised on one side only
        ("the clerk, tired", "we met the clerk , tired .", "the clerk , tired"),
        ("could n't see the dog", "he couldn't see the dog", "couldn't see the dog"),
        ("couldn't see the dog", "he could n't see the dog", "could n't see the dog"),
        ("couldn't see the dog", "he couldn 't see the dog", "couldn 't see the dog"),
        ("the girl 's dog", "the girl's dog", "the girl's dog"),
        ("the girl's dog", "the girl 's dog", "the girl 's dog"),
        ("the girls ' dog", "the girls' dog", "the girls' dog"),
        ("the ( big ) dog", "the (big) dog", "the (big) dog"),
        ("the $ 20 hat", "the $20 hat", "the $20 hat"),
        ("the t-shirt", "the t - shirt", "the t - shirt"),
        # quotes, accents, width, invisible characters, joints
        ("the girl's dog", "the girl’s dog", "the girl’s dog"),
        ('the "big" dog', "the “big” dog", "the “big” dog"),
        ("the café", "the cafe\u0301 closed", "the cafe\u0301"),
        ("the cafe\u0301", "the café closed", "the café"),
        ("the dog", "ｔｈｅ　ｄｏｇ", "ｔｈｅ　ｄｏｇ"),
        ("the dog", "th\u00ade d\u200bog!", "th\u00ade d\u200bog"),
        ("the teddy", "the te@@ ddy fell", "the te@@ ddy"),
        ("the fish", "the ﬁsh swam", "the ﬁsh"),
        ("the 🐕 dog", "see the 🐕 dog", "the 🐕 dog"),
        # ends of words
        ("the dog", "the dog's bone", "the dog"),
        ("the dog", "(the dog)", "the dog"),
        ("the dog", "the dog—gone", "the dog"),
        ("they do", "they don't", "they do"),
        ("the car", "the carpet, the car-park, the car", "the car"),
        ("the 10", "the 10, then", "the 10"),
    ],
)
def test_it_finds_a_compound_however_it_is_written(compound: str, source: str, marked: str) -> None:
    found = locate(compound, source)
    assert found is not None
    assert source[slice(*found)] == marked


@pytest.mark.parametrize(
    ("compound", "source"),
    [
        ("the car", "the carpet"),
        ("the car", "bathe car"),
        ("the car", "the car-park"),
        ("visited the car", "re-visited the car"),
        ("the car", "the car_park"),
        ("the 10", "the 10,000 coins"),
        ("the 3", "the 3.5 miles"),
        ("the car", "thecar"),
        ("thecar", "the car"),
        ("the dog", "the big dog"),
        ("the caf", "the cafe\u0301"),
        ("the f", "the ﬁsh"),
        ("the end .", "the end…"),
        ("he do", "he donates"),
        ("the dog", ""),
        ("", "the dog"),
        (" \u200b ", "the dog"),
    ],
)
def test_it_finds_nothing_where_the_words_are_others(compound: str, source: str) -> None:
    assert locate(compound, source) is None


def test_it_takes_the_first_of_several_places_that_are_whole_words() -> None:
    assert locate("the dog", "the dogs saw the dog and the dog") == (13, 20)


def test_it_counts_code_points_beyond_the_basic_plane() -> None:
    source = "𠮷👨‍👩‍👧 said: the dog!"
    assert locate("the dog", source) == (source.index("the"), len(source) - 1)


def test_it_searches_a_very_long_source_without_delay() -> None:
    assert locate("the dog", "the do " * 20_000 + "é the dog") is not None


WORD = st.text("abdehot", min_size=1, max_size=4)
SPACE = st.sampled_from([" ", "  ", "\u00a0", "\n", " \u3000"])
WRITTEN = st.tuples(WORD, SPACE, st.booleans())


@given(st.lists(WRITTEN, min_size=1, max_size=9), st.integers(0, 8), st.integers(1, 4))
@settings(deadline=None)
def test_it_marks_the_first_run_of_the_same_words(
    written: list[tuple[str, str, bool]], at: int, n: int
) -> None:
    words = [word for word, _, _ in written]
    at = min(at, len(words) - 1)
    compound = words[at : at + n]
    source = "".join((word.upper() if upper else word) + space for word, space, upper in written)
    found = locate(" ".join(compound), source)
    assert found is not None
    assert source[slice(*found)].lower().split() == compound
    first = next(i for i in range(len(words)) if words[i : i + len(compound)] == compound)
    assert len(source[: found[0]].split()) == first


@given(st.text("ab .,'-n t\u0301é@’"), st.text("ab .,'-n t\u0301é@’"))
@settings(deadline=None)
def test_it_gives_places_inside_the_source_or_none(compound: str, source: str) -> None:
    found = locate(compound, source)
    if found is not None:
        start, end = found
        assert 0 <= start < end <= len(source)
        assert locate(compound, source[start:end]) == (0, end - start)


@given(st.text("ab .,'-nt_1"), st.text("ab .,'-nt_1"))
@settings(deadline=None)
def test_it_reads_plain_and_other_text_by_the_same_rule(compound: str, source: str) -> None:
    # A Chinese word in front takes the text off the path for plain English.
    plain, other = locate(compound, source), locate(compound, f"狗 {source}")
    assert other == (None if plain is None else (plain[0] + 2, plain[1] + 2))
