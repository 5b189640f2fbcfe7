"""When the verdict on one translation holds for another: found, equal, and nothing guessed."""

import pytest

from annotation.protocol.carry_over import Variant, alike, pairs, renderings, signature, stretch
from annotation.protocol.chance import chance

FORMS = {
    "the": [],
    "another": ["另一", "另"],
    "every": ["每", "都"],
    "small": ["小"],
    "dog": ["狗", "犬"],
    "child": ["小孩", "孩子"],
    "car": ["车", "汽车"],
    "he liked": ["他喜欢"],
    "met the dog": ["遇见了狗"],
}
SMALL_DOG = ("another small dog", ["another", "small", "dog"])


def shared(one: str, other: str, compound: str = SMALL_DOG[0], atoms: list[str] | None = None) -> str | None:
    return alike(compound, SMALL_DOG[1] if atoms is None else atoms, one, other, FORMS)


class TestAlike:
    def test_the_rest_may_differ(self) -> None:
        assert shared("他看见另一只小狗。", "她听说另一只小狗跑了！") == "另一只小狗"

    def test_the_stretch_may_stand_at_either_edge_of_the_sentence(self) -> None:
        assert shared("另一只小狗跑了", "他有另一只小狗") == "另一只小狗"
        assert shared("另一只小狗", "另一只小狗。") == "另一只小狗"

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param("她听说另一只小的狗跑了。", id="one particle more"),
            pytest.param("她听说另一只小犬跑了。", id="another form of an atom"),
            pytest.param("她听说另一条小狗跑了。", id="another measure word"),
            pytest.param("她听说小狗另一只跑了。", id="another order"),
            pytest.param("她听说另一只狗跑了。", id="an atom is missing"),
            pytest.param("她听说另一只小狗和另一只小狗跑了。", id="two stretches"),
            pytest.param("另一只小狗看另一个。", id="an atom again, so that two pieces could be meant"),
            pytest.param("", id="nothing there"),
        ],
    )
    def test_whatever_is_not_equal_or_not_certain_is_judged(self, other: str) -> None:
        assert shared("他看见另一只小狗。", other) is None

    def test_width_blanks_and_segmentation_make_no_difference(self) -> None:
        forms = {**FORMS, "dog": ["ＤＯＧ", "狗"]}
        one = alike(*SMALL_DOG, "他 看见 另@@ 一 只 小 dog。", "另一只小ｄｏｇ跑了", forms)
        assert one is None  # the case of letters does make one
        assert (
            alike(*SMALL_DOG, "他 看见 另@@ 一 只 小 DOG。", "另一只\u200b小ＤＯＧ跑了", forms)
            == "另一只小DOG"
        )

    def test_both_have_to_be_certain(self) -> None:
        assert shared("另一只小狗和另一只小狗。", "另一只小狗跑了。") is None


class TestStretch:
    def test_it_is_the_shortest_piece(self) -> None:
        required = renderings(*SMALL_DOG, FORMS) or ()
        assert stretch("另一家的小猫和另一只小狗。", required) == "另一只小狗"
        assert (
            stretch("狗在那里看见另一只小狗。", required) is None
        )  # the piece from the first 狗 on is one too

    def test_two_pieces_that_overlap_are_two(self) -> None:
        assert stretch("每只狗都跑", renderings("every dog", ["every", "dog"], FORMS) or ()) is None

    def test_renderings_of_two_atoms_do_not_overlap(self) -> None:
        required = renderings("the small child", ["the", "small", "child"], FORMS) or ()
        assert stretch("那个小孩子", required) is None  # 小 is part of the child
        assert stretch("那个小小孩子", required) == "小小孩子"

    def test_it_does_not_end_inside_a_longer_rendering(self) -> None:
        required = renderings("the small car", ["the", "small", "car"], FORMS) or ()
        assert stretch("小汽车", required) == "小汽车"
        assert stretch("小车", required) == "小车"
        assert stretch("汽车小", required) == "汽车小"

    def test_a_text_full_of_renderings_takes_no_time(self) -> None:
        required = renderings("another small dog he liked", ["another", "small", "dog", "he liked"], FORMS)
        assert stretch("另小狗他喜欢" * 5000, required or ()) is None

    def test_an_atom_of_several_words_is_looked_up_whatever_its_case_and_spacing(self) -> None:
        required = renderings("the dog he liked", ["The", "dog", "he  Liked"], FORMS)
        assert required == (("狗", "犬"), ("他喜欢",))


class TestRenderings:
    def test_an_atom_that_the_lexicon_does_not_know_cannot_be_found(self) -> None:
        assert renderings("another lazy dog", ["another", "lazy", "dog"], FORMS) is None

    def test_nothing_to_be_found_is_nothing_found(self) -> None:
        assert renderings("the", ["the"], FORMS) is None
        assert renderings("a sleepy gardener", [], FORMS) is None

    def test_a_rendering_of_the_whole_compound_comes_first(self) -> None:
        assert renderings("Met the  dog", ["met", "the", "dog"], FORMS) == (("遇见了狗",),)


def variants(*given: bool, shared: str | None = "小狗", context: int = 1) -> list[Variant]:
    """Translations of one context by position, those that experts have marked."""
    return [
        Variant(
            item=100 * context + n,
            context=context,
            key=f"{context}-{n}",
            position=n,
            stretch=shared,
            given=has,
        )
        for n, has in enumerate(given, start=1)
    ]


class TestPairs:
    def test_the_source_is_what_was_given_before_or_else_the_first(self) -> None:
        found = pairs([*variants(False, True, False), *variants(False, False, context=2)], percent=1, seed=1)

        assert [(pair.item, pair.source) for pair in found] == [(101, 102), (103, 102), (202, 201)]

    def test_what_was_judged_as_a_check_is_a_source_only_where_there_is_no_other(self) -> None:
        first, second, new = variants(True, True, False)
        checked = Variant(**{**vars(first), "checked": True})

        assert [pair.source for pair in pairs([checked, second, new], percent=1, seed=1)] == [second.item]
        assert [pair.source for pair in pairs([checked, new], percent=1, seed=1)] == [checked.item]

    def test_nothing_is_carried_where_no_stretch_was_found_or_in_another_sentence(self) -> None:
        alone = [*variants(True, shared="小狗"), *variants(False, context=2)]
        assert pairs([*alone, *variants(True, False, shared=None, context=3)], percent=50, seed=1) == ()

    @pytest.mark.parametrize(("percent", "n"), [(10, 4), (1, 1), (50, 20), (100, 40), (3.75, 2)])
    def test_the_share_is_exactly_as_asked_for(self, percent: float, n: int) -> None:
        many = [one for context in range(40) for one in variants(True, False, context=context)]

        found = pairs(many, percent=percent, seed=5)

        assert len(found) == 40
        assert sum(pair.checked for pair in found) == n
        by_lot = sorted((pair.key for pair in found), key=lambda key: chance("carry-over", 5, key))
        assert {pair.key for pair in found if pair.checked} == set(by_lot[:n])

    def test_a_larger_share_holds_the_smaller_one_and_another_seed_draws_others(self) -> None:
        many = [one for context in range(40) for one in variants(True, False, context=context)]
        drawn = {
            (percent, seed): {pair.key for pair in pairs(many, percent=percent, seed=seed) if pair.checked}
            for percent, seed in ((10, 1), (20, 1), (10, 2))
        }

        assert drawn[10, 1] < drawn[20, 1]
        assert drawn[10, 1] != drawn[10, 2]


def test_the_signature_tells_one_lexicon_from_another() -> None:
    one, other = (signature(forms, percent=10, seed=1) for forms in (FORMS, {**FORMS, "dog": ["狗"]}))

    assert one.startswith("carry-over|ver:1|lexicon:")
    assert one != other
    assert len(signature(FORMS, percent=0.123456789, seed=2**31)) <= 200
