"""Where words begin."""

import pytest

from annotation.services.words import word_starts


def test_it_finds_words_and_leaves_signs_and_blanks_alone() -> None:
    assert word_starts("又一个懒惰的狗喜欢接到电话。") == [1, 3, 5, 6, 7, 9, 11]
    assert word_starts("叫 big teddy 。") == [2, 6]


@pytest.mark.parametrize("text", ["", "。", "𠮷野家的牛肉饭", "他\u200b喜欢", "1,204 只狗"])
def test_it_counts_code_points(text: str) -> None:
    starts = word_starts(text)

    assert starts == sorted(set(starts))
    assert all(0 < start < len(text) and text[start].isalnum() for start in starts)
