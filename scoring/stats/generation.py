"""What a model generates for heads and relations, scored against references: BLEU-1 to 4, METEOR, ROUGE-L, CIDEr.

The measures are those of `pycocoevalcap`, by which tables of generated commonsense knowledge are made; it is installed
as an extra. As in the scripts that print these tables (COMET-ATOMIC 2020), texts are lower-cased and split at blanks,
no further tokeniser runs, and the first hypothesis of a head and relation is scored against all its references. With
`every` hypothesis scored, each stands for itself beside all references of its question, as these scripts do for the
best k.

- *BLEU* is this library's: clipped counts over the whole set, the reference closest in length, 1e-15 and 1e-9 in place
  of smoothing. It is not the BLEU of `sacrebleu` in `bleu`.
- *ROUGE-L* (β = 1.2) and *CIDEr* (its CIDEr-D: clipped, σ = 6, times 10) are means over hypotheses. CIDEr weighs
  n-grams by how many questions of the whole set have them in a reference; these weights stay where questions are drawn
  anew.
- *METEOR*: see `meteor`. Without Java it has no figure, and the reason is given.

Sources: Papineni et al. (2002), ACL; Lin and Och (2004), ACL; Vedantam, Zitnick and Parikh (2015), CVPR; Hwang et al.
(2021), AAAI, for what is scored.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from scoring.stats.meteor import NO_JAVA, MeteorFailed, java, java_version, meteor, meteor_rows
from scoring.stats.question_sums import Family

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

LIBRARY = "pycocoevalcap"
NO_LIBRARY = say(
    "Generations are scored by pycocoevalcap, which is not installed. Install it with: "
    ".venv/bin/pip install pycocoevalcap==1.2 (the extra “downstream”). Nothing was scored."
)
ORDERS = 4
_TINY, _SMALL = 1e-15, 1e-9  # of the library
_STEP = 200  # hypotheses between two signs of life
_STAGES = 4  # of the work: BLEU, ROUGE-L, CIDEr, METEOR


@dataclass(frozen=True, eq=False, kw_only=True)
class Scored:
    """What each question adds to every figure.

    Attributes:
        rows: by family (questions, columns); a family that is not there stands in `undefined` with the reason.
        signature: what was scored how, with the versions of what scores.
    """

    rows: dict[str, Floats]
    undefined: dict[str, str]
    signature: str


def require_library() -> None:
    """ProtocolError with what to install, where the library is not there."""
    if find_spec(LIBRARY) is None:
        raise ProtocolError(NO_LIBRARY)


def bleu(sums: Floats) -> Floats:
    """(…, 10) sums to (…, 4) BLEU-1 to BLEU-4, times 100.

    Columns: words of the hypotheses, words of the closest references, then by order n-grams of the hypotheses and
    those of them that a reference has.

    >>> [round(float(score), 2) for score in bleu(np.array([8, 9, 8, 6, 4, 2, 6, 3, 1, 1]))]
    [66.19, 54.04, 40.09, 41.06]
    """
    counts = np.asarray(sums, dtype=np.float64)
    length, wanted = counts[..., 0], counts[..., 1]
    guessed, right = counts[..., 2 : 2 + ORDERS], counts[..., 2 + ORDERS :]
    precisions = np.cumprod((right + _TINY) / (guessed + _SMALL), axis=-1)
    ratio = (length + _TINY) / (wanted + _SMALL)
    brevity = np.where(ratio < 1, np.exp(1 - 1 / np.minimum(ratio, 1)), 1.0)
    powers = 1.0 / np.arange(1, ORDERS + 1)
    return np.asarray(100 * precisions**powers * brevity[..., None], dtype=np.float64)


def mean(sums: Floats) -> Floats:
    """(…, 2) sums of similarities and of hypotheses to (…, 1) means, times 100.

    >>> mean(np.array([1.5, 3.0])).tolist()
    [50.0]
    """
    return np.asarray(100 * sums[..., :1] / sums[..., 1:], dtype=np.float64)


FAMILIES = (
    Family(name="bleu", measures=("bleu1", "bleu2", "bleu3", "bleu4"), of_sums=bleu),
    Family(name="meteor", measures=("meteor",), of_sums=meteor),
    Family(name="rouge_l", measures=("rouge_l",), of_sums=mean),
    Family(name="cider", measures=("cider",), of_sums=mean),
)


def prepared(text: str, *, cased: bool = False) -> str:
    """A text as it is scored: lower-cased unless `cased`, one blank between words.

    >>> prepared(" To eat  FOOD.\\u3000")
    'to eat food.'
    """
    return " ".join((text if cased else text.lower()).split())


def score_generations(
    said: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    every: bool = False,
    cased: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> Scored:
    """What each question adds to BLEU, METEOR, ROUGE-L and CIDEr.

    Args:
        said: for each question its hypotheses, the likeliest first; references: its references, one or more.
        every: all hypotheses, each for itself; else the first alone.
        cased: upper and lower case differ (METEOR's own normalisation lower-cases all the same).
        progress: is told how much is done, of how much.

    Raises:
        ProtocolError: the library is not installed.
        ValueError: a question without a hypothesis or reference.
    """
    require_library()
    segments = _segments(said, references, every=every, cased=cased)
    rows = {
        "bleu": _by_question(segments, _bleu_counts(segments, progress)),
        "rouge_l": _by_question(segments, _with_count(_rouge(segments, progress))),
        "cider": _by_question(segments, _with_count(_cider(segments, progress))),
    }
    undefined: dict[str, str] = {}
    told = "none"
    try:
        counts, told = _meteor(segments, progress)
        rows["meteor"] = _by_question(segments, counts)
    except MeteorFailed as failed:
        undefined["meteor"] = failed.message
    progress(_STAGES * segments.n, _STAGES * segments.n)
    return Scored(
        rows=rows, undefined=undefined, signature=_signature(segments, told, every=every, cased=cased)
    )


@dataclass(frozen=True, eq=False)
class _Segments:
    """One hypothesis each, with its references; `question`: (segments,) whose it is."""

    hypotheses: list[str]
    references: list[list[str]]
    question: NDArray[np.int64]
    questions: int

    @property
    def n(self) -> int:
        return len(self.hypotheses)


def _segments(
    said: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, every: bool, cased: bool
) -> _Segments:
    if len(said) != len(references) or not said or not all(said) or not all(references):
        raise ValueError("each question needs a hypothesis and a reference")
    chosen = [list(one) if every else [one[0]] for one in said]
    ready = [[prepared(text, cased=cased) for text in of_question] for of_question in references]
    return _Segments(
        hypotheses=[prepared(text, cased=cased) for one in chosen for text in one],
        references=[ready[place] for place, one in enumerate(chosen) for _text in one],
        question=np.repeat(np.arange(len(chosen)), [len(one) for one in chosen]),
        questions=len(chosen),
    )


def _by_question(segments: _Segments, counts: Floats) -> Floats:
    columns = [
        np.bincount(segments.question, weights=column, minlength=segments.questions) for column in counts.T
    ]
    return np.stack(columns, axis=1)


def _with_count(values: Floats) -> Floats:
    return np.stack([values, np.ones(values.size)], axis=1)


def _bleu_counts(segments: _Segments, progress: Progress) -> Floats:
    from pycocoevalcap.bleu.bleu_scorer import BleuScorer  # noqa: PLC0415

    scorer: Any = BleuScorer(n=ORDERS)
    rows = []
    for place, (hypothesis, references) in enumerate(
        zip(segments.hypotheses, segments.references, strict=True)
    ):
        scorer += (hypothesis, references)
        counts = scorer.ctest[-1]
        closest = min((abs(length - counts["testlen"]), length) for length in counts["reflen"])[1]
        rows.append([counts["testlen"], closest, *counts["guess"], *counts["correct"]])
        if place % _STEP == 0:
            progress(place, _STAGES * segments.n)
    return np.array(rows, dtype=np.float64)


def _rouge(segments: _Segments, progress: Progress) -> Floats:
    from pycocoevalcap.rouge.rouge import Rouge  # noqa: PLC0415

    scorer: Any = Rouge()
    values = []
    for place, (hypothesis, references) in enumerate(
        zip(segments.hypotheses, segments.references, strict=True)
    ):
        values.append(scorer.calc_score([hypothesis], references))
        if place % _STEP == 0:
            progress(segments.n + place, _STAGES * segments.n)
    return np.array(values, dtype=np.float64)


def _cider(segments: _Segments, progress: Progress) -> Floats:
    from pycocoevalcap.cider.cider_scorer import CiderScorer  # noqa: PLC0415

    scorer: Any = CiderScorer()
    for hypothesis, references in zip(segments.hypotheses, segments.references, strict=True):
        scorer += (hypothesis, references)

    def told(done: int) -> None:
        progress(2 * segments.n + done, _STAGES * segments.n)

    scorer.ctest = _Watched(scorer.ctest, told)
    _score, values = scorer.compute_score()
    return np.asarray(values, dtype=np.float64)


class _Watched(list[Any]):
    """A list that tells how far who goes through it has come: the library's loop gives no sign of life."""

    def __init__(self, items: Iterable[Any], told: Callable[[int], None]) -> None:
        super().__init__(items)
        self._told = told

    def __iter__(self) -> Iterator[Any]:
        for place, one in enumerate(super().__iter__()):
            if place % _STEP == 0:
                self._told(place)
            yield one


def _meteor(segments: _Segments, progress: Progress) -> tuple[Floats, str]:
    """The counts, and what counted them."""
    program = java()
    if program is None:
        raise MeteorFailed(NO_JAVA)

    def told(done: int) -> None:
        progress(3 * segments.n + done, _STAGES * segments.n)

    told(0)
    rows = meteor_rows(segments.hypotheses, segments.references, program=program, progress=told)
    return rows, f"1.5(en,-norm,java:{java_version(program)})"


def _signature(segments: _Segments, told: str, *, every: bool, cased: bool) -> str:
    try:
        found = version(LIBRARY)
    except PackageNotFoundError:
        found = "unknown"
    first = np.unique(segments.question, return_index=True)[1]
    references = sum(len(segments.references[place]) for place in first)
    return (
        f"generation|ver:1|{LIBRARY}:{found}|case:{'mixed' if cased else 'lower'}|tok:blanks"
        f"|hyps:{'all' if every else 'first'}|n:{segments.questions}|hypotheses:{segments.n}|references:{references}"
        f"|bleu:coco(closest,1e-15,1e-9)|rouge_l:beta1.2|cider:d(n4,sigma6,x10,df:references)|meteor:{told}"
    )
