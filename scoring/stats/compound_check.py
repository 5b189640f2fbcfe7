"""The automatic check of a compound's translation by a lexicon of forms: a diagnostic, never a substitute
for experts.

Every atom of the compound must have one of its lexicon forms in the translation (cleaned of joiners and
spaces), an atom whose entry is "/" needs none. Then the first determiner and the first adjective must come
before the last noun, and so must the modifier, except after a verb ("met the girl at the store" may say
where they met).

Precision and recall are those of finding errors: of the instances called wrong, the share experts called
wrong, and the reverse. On the released noun phrases 99.7 and 87.6, on verb phrases 92.9 and 93.4.

`compatible` reads the lexicon as the published script does, with three quirks: an entry that ends in "/"
holds an empty form and never fails ("liked"), of an atom listed twice the later line wins, and forms are
regular expressions. Otherwise empty forms are dropped, entries of one atom are joined, and forms are plain
text.

Source: Li et al. 2021 (CoGnition), section 4.2 and its published evaluation script.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.formats.errors import FormatError
from annotation.formats.lexicon import Entry, read_entries
from annotation.protocol.compound import Analysis, Atom
from annotation.protocol.sentences import say
from scoring.stats.bleu import clean, remove_spaces
from scoring.stats.error_rates import CORRECT, UNDECIDED, WRONG, Instances, Rates, error_rates
from scoring.stats.proportions import (
    Share,
    percent,
    percent_interval,
    reasons,
    share_over_clusters,
)


@dataclass(frozen=True)
class Lexicon:
    """The forms of each atom (lower case), as patterns; an atom without patterns may be left untranslated."""

    patterns: Mapping[str, tuple[re.Pattern[str], ...]]
    compatible: bool
    warnings: tuple[str, ...]

    def of(self, atom: Atom) -> tuple[re.Pattern[str], ...] | None:
        """The patterns of an atom, None where the lexicon does not know it."""
        return self.patterns.get(atom.text.casefold())


@dataclass(frozen=True, kw_only=True)
class CompoundCheck:
    """The check's verdicts beside the experts', and the error rates it would give.

    `verdict`, shape (instances,): 1 correct, 0 wrong, -1 where the compound could not be checked; `faults`
    says what is wrong or why it was not checked, "" where nothing is. `cells` counts the instances that
    check and experts decided, as (expert, check): `ok_ok`, `bad_ok`, `ok_bad`, `bad_bad`. `precision` is the share
    of instances experts call wrong among those the check calls wrong, `recall` the reverse; the contexts of a
    compound fail together, so their intervals draw whole compounds as that of an error rate does.
    """

    verdict: NDArray[np.int8]
    faults: tuple[str, ...]
    cells: Mapping[str, int]
    precision: Share
    recall: Share
    rates: Rates
    warnings: tuple[str, ...]
    signature: str

    @property
    def error_precision(self) -> float | None:
        """Of the instances the check calls wrong, the share experts call wrong; None when it calls none wrong."""
        return self.precision.share

    @property
    def error_recall(self) -> float | None:
        """Of the instances experts call wrong, the share the check calls wrong; None when they call none wrong."""
        return self.recall.share

    def as_json(self) -> dict[str, Any]:
        """`{n, judged, unchecked, error_precision, error_precision_ci95, …, cells, instance, aggregate}`, percent."""
        return {
            "n": int((self.verdict != UNDECIDED).sum()),
            "judged": sum(self.cells.values()),
            "unchecked": int((self.verdict == UNDECIDED).sum()),
            **_share_json("error_precision", self.precision),
            **_share_json("error_recall", self.recall),
            "cells": dict(self.cells),
            "instance": self.rates.instance.as_json(),
            "aggregate": self.rates.aggregate.as_json(),
            "all_contexts_wrong": self.rates.all_contexts_wrong.as_json(),
            "warnings": list(self.warnings),
            "signature": self.signature,
        }


def _share_json(name: str, share: Share) -> dict[str, Any]:
    return {
        name: percent(share.share),
        f"{name}_ci95": percent_interval(share.interval),
        f"{name}_ci95_method": share.method,
        **reasons(share.reason, f"{name}_reason", f"{name}_ci95_reason"),
    }


def read_lexicon(content: bytes, *, compatible: bool = False) -> Lexicon:
    """A lexicon file: a line for each atom, the atom, a tab, its forms apart by "/"; "/" alone requires no
    form.

    Arguments: the file's bytes (UTF-8, with or without a mark); `compatible` as in the module. Raises
    FormatError with the line when a line has no tab or no form, or, in compatible mode, when a form is no
    regular expression.

    >>> lexicon = read_lexicon("the\\t/\\ndog\\t狗/犬\\n".encode())
    >>> [pattern.pattern for pattern in lexicon.patterns["dog"]], lexicon.patterns["the"]
    (['狗', '犬'], ())
    """
    patterns: dict[str, tuple[re.Pattern[str], ...]] = {}
    warnings: list[str] = []
    for entry in read_entries(content):
        if entry.atom in patterns:
            warnings.append(_twice(entry.line, entry.atom, compatible=compatible))
        earlier = () if compatible else patterns.get(entry.atom, ())
        patterns[entry.atom] = tuple(dict.fromkeys([*earlier, *_patterns(entry, compatible=compatible)]))
    return Lexicon(patterns, compatible, tuple(warnings))


def _twice(line: int, atom: str, *, compatible: bool) -> str:
    if compatible:
        return say("Line {line}: {atom} is listed twice; the later line counts.", line=line, atom=atom)
    return say("Line {line}: {atom} is listed twice; the forms of both lines count.", line=line, atom=atom)


def find_fault(analysis: Analysis, translation: str, lexicon: Lexicon) -> str:
    """What is wrong with a compound's translation by the lexicon, in words; "" when nothing is.

    Arguments: the compound's `analysis`, recognised and with all atoms in the lexicon; the `translation` as
    the system gave it (cleaned here).

    >>> from annotation.protocol.compound import analyse
    >>> lexicon = read_lexicon("another\\t另/又\\ndog\\t狗\\n".encode())
    >>> find_fault(analyse("another dog"), "另 一 只 狗 笑 了", lexicon)
    ''
    >>> find_fault(analyse("another dog"), "一 只 狗 笑 了", lexicon)
    'no form of "another"'
    """
    text = clean(translation)
    places: dict[str, tuple[int, int]] = {}
    words: dict[str, str] = {}
    for atom in analysis.atoms:
        patterns = lexicon.of(atom) or ()
        found = [match.start() for pattern in patterns for match in pattern.finditer(text)]
        if patterns and not found:
            return f'no form of "{atom.text}"'
        words[atom.kind] = atom.text
        if found:
            places[atom.kind] = (min(found), max(found))
    before_noun = ("DET", "ADJ") if "V" in words else ("DET", "ADJ", "MOD")
    for kind in before_noun:
        if kind in places and "N" in places and places[kind][0] >= places["N"][1]:
            return f'"{words[kind]}" does not come before "{words["N"]}"'
    return ""


def compound_check(
    instances: Instances,
    *,
    analyses: Sequence[Analysis],
    translations: Sequence[str],
    lexicon: Lexicon,
    labels: str,
    seed: int = 0,
) -> CompoundCheck:
    """Check one system's outputs by the lexicon and compare with the experts' verdicts.

    Arguments, row by row, shape (instances,): `instances` with the experts' verdicts (-1 where there is
    none), `analyses` of their compounds, `translations` as the system gave them; `labels` and `seed` as in
    `error_rates`. A compound that is not recognised, or holds an atom the lexicon does not know, is not
    checked: it stands with -1 in `verdict`, counts in no cell, and its compound is undecided in the check's
    own error rates.

    How to read it: the check's error rates are those of the check. It misses errors of meaning and of
    attachment, so differences between systems may be its own.

    >>> from annotation.protocol.compound import analyse
    >>> instances = Instances(
    ...     unit=np.array(["any dog"] * 2), context=np.arange(2), verdict=np.array([1, 0], dtype=np.int8),
    ...     cannot_judge=np.zeros(2, dtype=bool))
    >>> check = compound_check(
    ...     instances, analyses=[analyse("any dog")] * 2, translations=["任何狗", "狗"], labels="single/1",
    ...     lexicon=read_lexicon("any\\t任何\\ndog\\t狗\\n".encode()))
    >>> check.error_precision, check.error_recall, check.faults
    (1.0, 1.0, ('', 'no form of "any"'))
    """
    if not len(analyses) == len(translations) == instances.unit.size:
        raise ValueError("each instance needs the analysis of its compound and a translation")
    obstacles = [_obstacle(analysis, lexicon) for analysis in analyses]
    faults = [
        obstacle or find_fault(analysis, translation, lexicon)
        for obstacle, analysis, translation in zip(obstacles, analyses, translations, strict=True)
    ]
    unchecked = np.array([bool(obstacle) for obstacle in obstacles], dtype=np.bool_)
    wrong = np.array([bool(fault) for fault in faults], dtype=np.bool_)
    verdict = np.where(unchecked, UNDECIDED, np.where(wrong, WRONG, CORRECT)).astype(np.int8)
    return _beside_experts(
        instances,
        verdict,
        faults=faults,
        warnings=(*lexicon.warnings, *_unchecked_warnings(obstacles)),
        signature=(
            f"compound-check|ver:1|mode:{'compatible' if lexicon.compatible else 'strict'}"
            f"|atoms:{len(lexicon.patterns)}|experts:{labels}"
        ),
        seed=seed,
    )


def judge_check(
    instances: Instances, verdict: NDArray[np.int8], *, judge: str, labels: str, seed: int = 0
) -> CompoundCheck:
    """The same diagnostic for a judge that gave its verdicts elsewhere.

    Arguments: `instances` as in `compound_check`; `verdict`, shape (instances,), the judge's: 1 correct, 0 wrong, -1
    where it gave none (such an instance counts in no cell, and its compound is undecided in the judge's own rates);
    `judge` and `labels` name both for the signature. Raises ValueError where the shapes differ.

    How to read it: as `compound_check`. A judge with a low recall for errors makes every system look good.

    >>> instances = Instances(
    ...     unit=np.array(["any dog"] * 3), context=np.arange(3), verdict=np.array([1, 0, 0], dtype=np.int8),
    ...     cannot_judge=np.zeros(3, dtype=bool))
    >>> check = judge_check(instances, np.array([1, 0, 1], dtype=np.int8), judge="llm", labels="final")
    >>> check.error_precision, check.error_recall
    (1.0, 0.5)
    """
    if verdict.shape != instances.unit.shape:
        raise ValueError("each instance needs a verdict of the judge, -1 where there is none")
    obstacles = [UNJUDGED if found == UNDECIDED else "" for found in verdict.tolist()]
    return _beside_experts(
        instances,
        verdict,
        faults=obstacles,
        warnings=_unchecked_warnings(obstacles),
        signature=f"judge-check|ver:1|judge:{judge}|experts:{labels}",
        seed=seed,
    )


UNJUDGED = say("not checked: the judge gave no verdict")


def _beside_experts(
    instances: Instances,
    verdict: NDArray[np.int8],
    *,
    faults: Sequence[str],
    warnings: tuple[str, ...],
    signature: str,
    seed: int,
) -> CompoundCheck:
    own = replace(instances, verdict=verdict, cannot_judge=np.zeros_like(instances.cannot_judge), facets={})
    rates = error_rates(own, labels="compound-check", seed=seed)
    both = (instances.verdict == WRONG) & (verdict == WRONG)
    return CompoundCheck(
        verdict=verdict,
        faults=tuple(faults),
        cells=_cells(instances.verdict, verdict),
        precision=share_over_clusters(
            *_per_compound(instances, both, (verdict == WRONG) & (instances.verdict != UNDECIDED)),
            seed=seed,
            nothing=say("no instance is called wrong"),
        ),
        recall=share_over_clusters(
            *_per_compound(instances, both, (instances.verdict == WRONG) & (verdict != UNDECIDED)),
            seed=seed,
            nothing=say("experts call no instance wrong"),
        ),
        rates=rates.overall,
        warnings=warnings,
        signature=f"{signature}|{rates.signature}",
    )


def _patterns(entry: Entry, *, compatible: bool) -> tuple[re.Pattern[str], ...]:
    """What to look for: the forms as they are, or in compatible mode as regular expressions, an empty one too."""
    if not compatible:
        plain = [remove_spaces(form) for form in entry.forms]
        return tuple(re.compile(re.escape(form)) for form in plain if form)
    try:
        return tuple(re.compile(form) for form in entry.forms)
    except re.error as error:
        raise FormatError(
            say(
                "A form of {atom} is not a regular expression ({error}), as compatible mode requires.",
                atom=entry.atom,
                error=str(error),
            ),
            line=entry.line,
        ) from error


def _obstacle(analysis: Analysis, lexicon: Lexicon) -> str:
    """Why a compound cannot be checked, "" when it can."""
    if not analysis.recognised:
        return say("not checked: the compound's parts are not recognised")
    unknown = [atom.text for atom in analysis.atoms if lexicon.of(atom) is None]
    return say("not checked: not in the lexicon: {atoms}", atoms=", ".join(unknown)) if unknown else ""


def _unchecked_warnings(obstacles: Sequence[str]) -> tuple[str, ...]:
    counts = {obstacle: obstacles.count(obstacle) for obstacle in dict.fromkeys(obstacles) if obstacle}
    return tuple(
        say("{n} instances {obstacle}.", n=count, obstacle=obstacle) for obstacle, count in counts.items()
    )


def _cells(human: NDArray[np.int8], auto: NDArray[np.int8]) -> dict[str, int]:
    names = {CORRECT: "ok", WRONG: "bad"}
    return {
        f"human_{names[expert]}_auto_{names[check]}": int(((human == expert) & (auto == check)).sum())
        for check in (CORRECT, WRONG)
        for expert in (CORRECT, WRONG)
    }


def _per_compound(
    instances: Instances, hits: NDArray[np.bool_], among: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each compound how many instances are hits, and among how many."""
    place: dict[Any, int] = {}
    codes = np.array([place.setdefault(key, len(place)) for key in instances.unit.tolist()], dtype=np.int64)
    return np.bincount(codes[hits], minlength=len(place)), np.bincount(codes[among], minlength=len(place))
