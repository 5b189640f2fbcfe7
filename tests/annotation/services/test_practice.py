"""The practice units themselves: whole, in both languages, and marked as the guidelines say."""

import pytest

from annotation.protocol.definition import Words
from annotation.protocol.errors import ProtocolError
from annotation.protocol.triple import RELATION_NAMES
from annotation.services.practice import choices, mark, practice_units
from tests.factories import make_campaign

ANSWERS = {
    "compound": {"wrong", "correct"},
    "triple": {"often", "sometimes", "rarely", "never", "ambiguous", "invalid"},
}


def said(words: Words | None) -> bool:
    return words is None or bool(words.en.strip() and words.zh.strip())


@pytest.mark.parametrize("protocol", ["compound", "triple"])
def test_it_has_five_units_whose_answers_are_explained_in_both_languages(protocol: str) -> None:
    units = practice_units(protocol)

    assert [unit.number for unit in units] == [1, 2, 3, 4, 5]
    for unit in units:
        assert said(unit.why)
        for row in unit.rows:
            assert row.answer in ANSWERS[protocol]
            assert said(row.why)


def test_it_finds_each_compound_in_its_five_sources() -> None:
    for unit in practice_units("compound"):
        assert len(unit.rows) == 5
        assert len({row.answer for row in unit.rows}) == 2, unit.compound
        for row in unit.rows:
            assert row.span is not None, row.source
            assert row.source[slice(*row.span)] == unit.compound


def test_it_uses_published_relations_and_every_answer_of_the_scale() -> None:
    rows = [unit.rows[0] for unit in practice_units("triple")]

    assert {row.relation for row in rows} <= set(RELATION_NAMES)
    assert {row.answer for row in rows} >= {"often", "sometimes", "rarely", "ambiguous", "invalid"}


@pytest.mark.django_db
class TestMark:
    def test_it_offers_what_the_judging_page_offers(self) -> None:
        plain = make_campaign("plain", protocol="triple")
        detailed = make_campaign("detailed", protocol="triple", zero_detail=True)
        compound = make_campaign("compound", protocol="compound", k=1)

        assert [choice.code for choice in choices(plain)] == ["often", "sometimes", "rarely"]
        assert [choice.code for choice in choices(detailed)] == [
            *("often", "sometimes"),
            *("rarely", "never", "ambiguous", "invalid"),
        ]
        assert [choice.code for choice in choices(compound)] == ["wrong", "correct"]

    def test_it_tells_the_right_answer_from_the_right_reason(self) -> None:
        detailed = make_campaign("detailed", protocol="triple", zero_detail=True)
        invalid = practice_units("triple")[2]
        assert invalid.rows[0].answer == "invalid"

        marks = {given: mark(invalid, [given], campaign=detailed)[0] for given in ANSWERS["triple"]}

        assert {given for given, made in marks.items() if made.right} == {
            *("rarely", "never", "ambiguous", "invalid")
        }
        assert {given for given, made in marks.items() if made.right and made.exact} == {"invalid"}
        assert marks["often"].answer.en == "invalid"

    def test_it_takes_the_one_third_answer_for_all_of_its_reasons(self) -> None:
        plain = make_campaign("plain", protocol="triple")

        (made,) = mark(practice_units("triple")[2], ["rarely"], campaign=plain)

        assert made.right
        assert made.exact

    @pytest.mark.parametrize("given", [[], [""], ["never"], ["often", "often"]])
    def test_it_refuses_what_was_not_offered(self, given: list[str]) -> None:
        plain = make_campaign("plain", protocol="triple")

        with pytest.raises(ProtocolError, match="Every row"):
            mark(practice_units("triple")[0], given, campaign=plain)
