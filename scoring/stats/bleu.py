"""Character BLEU and chrF of a system's translations, and the one place where a translation is cleaned.

A system's output may still hold subword joiners (`@@ `) and the spaces of a segmenter. `clean` removes
both; BLEU, chrF and the automatic compound check use it, and nothing else decides what a translation's
characters are. No segmenter stands in this path: scores are exact whatever is installed.

References are taken as they are: only their spaces are dropped, on both sides alike, because a space is no
character of Chinese text and sacrebleu's `tok:char` does not count it either (a reference that holds real
spaces scores as one that does not). A joiner in a reference would be text, and stays.

Statistics of each sentence come first, the score is made of their sums, so that a bootstrap adds up rows
instead of scoring texts again. Source: Papineni et al. 2002; Post 2018, "A Call for Clarity in Reporting
BLEU Scores" (sacrebleu, whose signature every score carries); Popović 2015 for chrF.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say, say_count

ORDERS = 4
_CHRF_BETA = 2

# subword-nmt writes "园@@ 丁"; an output cut short may end in a lone "@@".
_JOINER = re.compile(r"@@(?:\s|$)")
# Spaces of no width: no character for a reader, but one for a score. Joiners inside emoji are not among them.
_NO_WIDTH = re.compile("[\u200b\u2060\ufeff]")

_FULL_WIDTH_MARK = re.compile("[，。！？；：（）、]")
# A mark between letters or digits is part of a name or number (3.10, U.S), not punctuation.
_ASCII_MARK = re.compile(r"(?<![0-9A-Za-z])[,.!?;:()]|[,.!?;:()](?![0-9A-Za-z])")

# Subword marks that `clean` does not undo, as their programs write them: SentencePiece, WordPiece, OpenNMT, byte-level
# and older BPE; and subword-nmt's where the space behind it is gone.
_MARKS_LEFT = {
    "▁": re.compile("▁"),
    "##": re.compile(r"(?:^|\s)##(?=\S)"),
    "￭": re.compile("￭"),
    "Ġ": re.compile("Ġ"),
    "</w>": re.compile("</w>"),
    "@@": re.compile(r"@@(?!\s|$)"),
}

PunctuationClass = Literal["ascii", "full-width", "mixed", "none"]
PUNCTUATION: Mapping[PunctuationClass, str] = {
    "ascii": say("ascii"),
    "full-width": say("full-width"),
    "mixed": say("mixed"),
    "none": say("none"),
}


@dataclass(frozen=True, kw_only=True)
class TextScore:
    """A score (0 to 100) of `n` translations, `left_out` rows apart; None with a reason when no row is left.

    `statistics`, shape (n, columns), are the counts of each sentence in the order given: for BLEU the
    translation's and the reference's length, then matched and all n-grams of orders 1 to 4.
    """

    metric: str
    score: float | None
    n: int
    left_out: int
    signature: str
    reason: str | None
    warnings: tuple[str, ...]
    statistics: NDArray[np.int64] = field(repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """`{n, left_out, score, reason, warnings, signature}`; the caller adds system and run."""
        return {
            "n": self.n,
            "left_out": self.left_out,
            "score": self.score,
            "reason": self.reason,
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


def clean(text: str) -> str:
    """A system's translation as plain text: subword joiners put together, then all spaces removed.

    Spaces are whatever Unicode calls white space (the ideographic and the no-break space, tabs and line
    breaks too) and the zero-width space, word joiner and byte-order mark.

    >>> clean("那个 困@@ 倦 的 园@@ 丁 笑 了 。")
    '那个困倦的园丁笑了。'
    """
    return remove_spaces(_JOINER.sub("", text))


def remove_spaces(text: str) -> str:
    """A text without any space, as `clean` understands the word; what a reference is scored as.

    >>> remove_spaces("泰勒\u3000Swift 笑了")
    '泰勒Swift笑了'
    """
    return _NO_WIDTH.sub("", "".join(text.split()))


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    keep: Sequence[bool] | None = None,
    names: Sequence[str] | None = None,
) -> TextScore:
    """Character BLEU of a system's translations against one reference each (sacrebleu, `tok:char`).

    Arguments, all of one length, row by row: `hypotheses` as the system gave them (cleaned here, and only
    here), `references`; `keep` False leaves a row out and counts it (its source differs from the test
    set's); `names` name rows in errors (default: row 1, 2, …). An empty translation counts as an empty
    translation.

    Raises ProtocolError when lengths differ or a kept reference is empty, TypeError when a row is not one
    text.

    How to read it: 0 to 100, higher is better, only comparable between systems with the same signature and
    `n`. It says little about compounds: the released systems differ by a point of BLEU and by ten of error
    rate.

    >>> round(corpus_bleu(["那个 园@@ 丁 笑 了 。"], ["那个园丁笑了。"]).score, 6)
    100.0
    """
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415

    return _score(BLEU(tokenize="char"), hypotheses, references, keep=keep, names=names)


def corpus_chrf(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    keep: Sequence[bool] | None = None,
    names: Sequence[str] | None = None,
) -> TextScore:
    """Character n-gram F-score (chrF2, orders 1 to 6); arguments, errors and result as in `corpus_bleu`.

    `statistics` has 18 columns: for each order the n-grams of the translation, of the reference, and the
    matched.

    >>> round(corpus_chrf(["那个园丁笑了。"], ["那个园丁笑了。"]).score, 6)
    100.0
    """
    from sacrebleu.metrics.chrf import CHRF  # noqa: PLC0415

    return _score(CHRF(), hypotheses, references, keep=keep, names=names)


def bleu_of_sums(sums: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """BLEU (0 to 100) of summed sentence statistics, shape (..., 10), for any number of resamples at once.

    Equal to sacrebleu's own aggregation with its defaults: exponential smoothing (each further order
    without a match counts as half a match less), no effective order, so 0 where an order has no n-gram or
    no character matches.

    >>> statistics = corpus_bleu(["甲乙丙丁", "甲乙丙"], ["甲乙丙丁", "甲乙丁丙"]).statistics
    >>> float(bleu_of_sums(statistics.sum(axis=0)).round(4))
    74.0811
    """
    sums = np.asarray(sums, dtype=np.float64)
    lengths, matched, total = sums[..., :2], sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    scorable = np.logical_and((total > 0).all(axis=-1), (matched > 0).any(axis=-1))
    total = np.where(total > 0, total, 1.0)
    halvings = np.cumsum(matched == 0, axis=-1)
    precision = np.where(matched == 0, 0.5**halvings, matched) / total
    system = np.where(scorable, lengths[..., 0], 1.0)
    penalty = np.exp(np.minimum(0.0, 1 - lengths[..., 1] / system))
    with np.errstate(divide="ignore"):
        score = 100 * penalty * np.exp(np.log(precision).mean(axis=-1))
    return np.where(scorable, np.minimum(score, 100.0), 0.0)  # rounding leads a hair beyond


def chrf_of_sums(sums: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """chrF2 (0 to 100) of summed sentence statistics, shape (..., 18), for any number of resamples at once.

    Equal to sacrebleu's own aggregation with its defaults: precision and recall are averaged over the orders
    that both sides have n-grams of (no order counts as nought because a text is too short for it), then
    combined with recall weighing twice; 0 where nothing matches.

    >>> statistics = corpus_chrf(["甲乙丙丁", "甲乙丙"], ["甲乙丙丁", "甲乙丁丙"]).statistics
    >>> float(chrf_of_sums(statistics.sum(axis=0)).round(4))
    67.1238
    """
    orders = np.asarray(sums, dtype=np.float64).reshape(*np.shape(sums)[:-1], -1, 3)
    system, reference, matched = orders[..., 0], orders[..., 1], orders[..., 2]
    both = (system > 0) & (reference > 0)
    used = np.maximum(both.sum(axis=-1), 1)
    precision = np.where(both, matched / np.where(both, system, 1.0), 0.0).sum(axis=-1) / used
    recall = np.where(both, matched / np.where(both, reference, 1.0), 0.0).sum(axis=-1) / used
    weighted = _CHRF_BETA**2 * precision + recall
    product = (1 + _CHRF_BETA**2) * precision * recall
    score = np.minimum(100 * product / np.where(weighted > 0, weighted, 1.0), 100.0)
    return np.where(weighted > 0, score, 0.0)


def punctuation_class(texts: Sequence[str]) -> PunctuationClass:
    """How texts are punctuated: ASCII or full-width marks (nine in ten of that kind), mixed, or not at all.

    >>> punctuation_class(["狗笑了。", "他走了，又回来了。"]), punctuation_class(["狗笑了."])
    ('full-width', 'ascii')
    """
    full = sum(len(_FULL_WIDTH_MARK.findall(text)) for text in texts)
    ascii_marks = sum(len(_ASCII_MARK.findall(text)) for text in texts)
    if not full + ascii_marks:
        return "none"
    if full >= 9 * ascii_marks:
        return "full-width"
    return "ascii" if ascii_marks >= 9 * full else "mixed"


def _score(
    metric: Any,
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    keep: Sequence[bool] | None,
    names: Sequence[str] | None,
) -> TextScore:
    rows = _kept_rows(hypotheses, references, keep=keep, names=names)
    cleaned = [clean(hypotheses[row]) for row in rows]
    plain = [remove_spaces(references[row]) for row in rows]
    # The two steps sacrebleu takes in its own significance tests: statistics, then their sums. There is one
    # list of references for all sentences; a list for each sentence would score the first sentence alone.
    statistics = metric._extract_corpus_statistics(cleaned, [plain]) if rows else []
    metric.num_refs = 1
    return TextScore(
        metric=type(metric).__name__,
        score=min(float(metric._aggregate_and_compute(statistics).score), 100.0) if rows else None,
        n=len(rows),
        left_out=len(hypotheses) - len(rows),
        signature=metric.get_signature().format(),
        reason=None if rows else say("no row with a reference to score against"),
        warnings=(
            *(_punctuation_warning(cleaned, plain) if rows else ()),
            *_marks_left([(hypotheses[row], references[row]) for row in rows]),
            *(_too_short_warning(cleaned) if type(metric).__name__ == "BLEU" else ()),
        ),
        statistics=np.array(statistics, dtype=np.int64),
    )


def _marks_left(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Which subword marks stand in translations, and not in their references, when both are compared as text."""
    counts = {
        mark: sum(1 for text, reference in pairs if found.search(text) and not found.search(reference))
        for mark, found in _MARKS_LEFT.items()
    }
    return tuple(
        say_count(
            "{n} translation holds the subword mark “{mark}”, which counts as text and costs points. Put its words "
            "together before it is scored.",
            "{n} translations hold the subword mark “{mark}”, which counts as text and costs points. Put their words "
            "together before they are scored.",
            n=n,
            mark=mark,
        )
        for mark, n in counts.items()
        if n
    )


def _too_short_warning(hypotheses: Sequence[str]) -> tuple[str, ...]:
    """As sacrebleu has it, BLEU is 0 where there is no sequence of four characters to match."""
    if not any(hypotheses) or any(len(text) >= ORDERS for text in hypotheses):
        return ()
    return (
        say("No translation has four characters, so BLEU is 0 whatever they say; chrF can tell them apart."),
    )


def _kept_rows(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    keep: Sequence[bool] | None,
    names: Sequence[str] | None,
) -> list[int]:
    keep = [True] * len(hypotheses) if keep is None else keep
    names = [f"row {row}" for row in range(1, len(hypotheses) + 1)] if names is None else names
    if len(hypotheses) != len(references):
        raise ProtocolError(
            say(
                "There are {translations} translations and {references} references. Each translation needs its own "
                "reference, in the same order.",
                translations=len(hypotheses),
                references=len(references),
            )
        )
    if not len(keep) == len(names) == len(hypotheses):
        raise ValueError("keep and names need one value for each translation")
    rows = [row for row, kept in enumerate(keep) if kept]
    for row in rows:
        if not isinstance(hypotheses[row], str) or not isinstance(references[row], str):
            raise TypeError(
                f"{names[row]}: pass one translation and one reference as text, not a list of them"
            )
        if not remove_spaces(references[row]):
            raise ProtocolError(
                say("{row}: the reference is empty. Supply it, or leave the row out of BLEU.", row=names[row])
            )
    return rows


def _punctuation_warning(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[str, ...]:
    system, reference = punctuation_class(hypotheses), punctuation_class(references)
    if system == reference:
        return ()
    return (
        say(
            "The punctuation of the translations is {system}, that of the references is {reference}: this alone can "
            "cost several points.",
            system=PUNCTUATION[system],
            reference=PUNCTUATION[reference],
        ),
    )
