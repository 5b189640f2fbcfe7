"""Where the words of a Chinese text begin, for the marks an expert asks for."""

from functools import cache
from typing import Any

from django.conf import settings


def word_starts(text: str) -> list[int]:
    """The code points at which words begin, but for the first; before signs and blanks there is no mark.

    Words are those of jieba (Sun Junyi, https://github.com/fxsjy/jieba, precise mode). They help the eye and
    decide nothing: no label and no statistic reads them.

    >>> word_starts("又一个懒惰的狗喜欢接到电话。")
    [1, 3, 5, 6, 7, 9, 11]
    """
    starts: list[int] = []
    at = 0
    for piece in _tokenizer().cut(text):
        if at and any(character.isalnum() for character in piece):
            starts.append(at)
        at += len(piece)
    return starts


@cache
def _tokenizer() -> Any:
    """jieba's dictionary takes seconds and 60 MiB to load: only a process that is asked for words has it."""
    import jieba  # noqa: PLC0415

    jieba.setLogLevel("WARNING")  # it tells on stderr how long loading takes
    tokenizer = jieba.Tokenizer()
    tokenizer.tmp_dir = str(settings.DATA_DIR)  # not /tmp, where anybody could leave a dictionary for it
    return tokenizer
