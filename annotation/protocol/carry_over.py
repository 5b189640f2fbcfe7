"""When the verdict on one translation holds for another of the same sentence: both render the compound alike.

Experts judge a compound only and look past the rest of the sentence. So where two translations of one sentence differ
only outside the compound, the second need not be judged: it takes the verdict on the first. That this holds is an
assumption (what surrounds a phrase may change how it reads), so a share of such translations is judged anyway, and how
often their own verdict is another is the error of carrying over (`scoring.stats.carry_over`).

Where the compound stands in a translation is *found*, not guessed. A lexicon names the renderings of each atom, in the
format of the automatic check, or of the compound as a whole. The *stretch* is the shortest piece of text that holds one
rendering of each atom that has any, none of them overlapping another. It counts only where a text has exactly one: a
second piece that holds them all without holding the first makes it uncertain which is meant, and the text is judged.
Renderings of one atom that overlap ("小孩" and "孩子" in "小孩子") are one rendering, so that no stretch ends inside a
longer word of the lexicon.

Texts are compared without what segmentation put into them, without blanks and characters of no width, after NFKC: full
and half width are alike; everything else, one particle 的 too, makes another stretch. Whatever cannot be found is
judged.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from annotation.protocol.chance import chance, fingerprint
from annotation.protocol.display import joined_translation
from annotation.protocol.repeats import wanted_of
from annotation.protocol.text import fold_key

VERSION = 1
USUAL_SHARE: float = 10  # per cent of what would be carried over that is judged anyway

Forms = Mapping[str, Sequence[str]]  # of each atom, in lower case; none where it may stay untranslated
Span = tuple[int, int]


def plain(text: str) -> str:
    """A translation as it is compared: joined, without any blank or character of no width, NFKC.

    >>> plain("那个 困@@ 倦 的 园@@ 丁，\u200b笑 了 ！")
    '那个困倦的园丁,笑了!'
    """
    return "".join(fold_key(joined_translation(text)).split())


def renderings(compound: str, atoms: Sequence[str], forms: Forms) -> tuple[tuple[str, ...], ...] | None:
    """What has to be found of a compound: the forms of each atom that must be rendered, or of the whole compound where
    the lexicon names it. None where an atom is not in the lexicon, or none has a form: then nothing can be found.

    >>> forms = {"another": ["另一"], "dog": ["狗"], "the": []}
    >>> renderings("another dog", ["another", "dog"], forms)
    (('另一',), ('狗',))
    >>> renderings("the dog", ["the", "dog"], forms)
    (('狗',),)
    >>> renderings("every dog", ["every", "dog"], forms) is None
    True
    """
    whole = forms.get(_name(compound))
    if whole:
        return (_plain_forms(whole),)
    found = [forms.get(_name(atom)) for atom in atoms]
    if any(of_atom is None for of_atom in found):
        return None
    required = tuple(_plain_forms(of_atom) for of_atom in found if of_atom)
    return required or None


def _name(atom: str) -> str:
    return " ".join(atom.casefold().split())


def _plain_forms(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(plain, forms))))


def stretch(translation: str, required: Sequence[Sequence[str]]) -> str | None:
    """The one piece of a translation that renders the compound, None where there is none or more than one.

    `required` as from `renderings`. The cost grows with the square of how often renderings occur, so a text in which
    they occur more than 64 times counts as one in which nothing can be told.

    >>> required = (("另一", "另"), ("狗",))
    >>> stretch("他 看见 另一 只 狗 。", required)
    '另一只狗'
    >>> stretch("另一只狗看见另一只狗。", required) is None  # two
    True
    >>> stretch("他看见一只狗。", required) is None  # "another" is not rendered
    True
    """
    text = plain(translation)
    found = [(start, end, part) for part, forms in enumerate(required) for start, end in _places(text, forms)]
    if len(found) > MOST:
        return None
    spans = _shortest(sorted(found), n_parts=len(required))
    return text[slice(*spans[0])] if len(spans) == 1 else None


MOST = 64


def _places(text: str, forms: Iterable[str]) -> list[Span]:
    """Where an atom is rendered; places that overlap are one.

    >>> _places("小孩子看小孩", ["小孩", "孩子"])
    [(0, 3), (4, 6)]
    """
    places: list[Span] = []
    for start, end in sorted(_occurrences(text, forms)):
        if places and start < places[-1][1]:
            places[-1] = (places[-1][0], max(end, places[-1][1]))
        else:
            places.append((start, end))
    return places


def _occurrences(text: str, forms: Iterable[str]) -> Iterable[Span]:
    for form in forms:
        start = text.find(form)
        while start >= 0:
            yield start, start + len(form)
            start = text.find(form, start + 1)


def _shortest(places: Sequence[tuple[int, int, int]], *, n_parts: int) -> list[Span]:
    """All pieces that hold one place of each part, none overlapping, and hold no other such piece.

    `places`: start, end and part, sorted. From each start the earliest end is found, over the sets of parts that are
    placed already.

    >>> _shortest([(0, 1, 0), (3, 4, 1), (6, 7, 0)], n_parts=2)
    [(0, 4), (3, 7)]
    """
    everything = (1 << n_parts) - 1
    pieces: dict[int, int] = {}  # by end the latest start
    for first, (start, _end, _part) in enumerate(places):
        ends = {0: start}
        for at, end, part in places[first:]:
            for parts, before in list(ends.items()):
                more = parts | 1 << part
                if more != parts and before <= at and end < ends.get(more, end + 1):
                    ends[more] = end
        if everything in ends:
            pieces[ends[everything]] = start
    spans = sorted((start, end) for end, start in pieces.items())
    return [
        one
        for one in spans
        if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in spans)
    ]


def alike(compound: str, atoms: Sequence[str], one: str, other: str, forms: Forms) -> str | None:
    """The stretch that two translations share, None where either has to be judged by itself.

    Version 1 of the rule: each translation has exactly one stretch, and the two are equal, character by character.

    >>> forms = {"the": [], "small": ["小"], "dog": ["狗", "犬"]}
    >>> atoms = ["the", "small", "dog"]
    >>> alike("the small dog", atoms, "他喜欢那只小狗。", "他爱那只小狗！", forms)
    '小狗'
    >>> alike("the small dog", atoms, "他喜欢那只小狗。", "他喜欢那只小的狗。", forms) is None  # one particle more
    True
    """
    required = renderings(compound, atoms, forms)
    if required is None:
        return None
    found = stretch(one, required)
    return found if found is not None and found == stretch(other, required) else None


def signature(forms: Forms, *, percent: float, seed: int) -> str:
    """The rule with all that decides what is carried and what is judged anyway.

    >>> signature({"dog": ["狗"]}, percent=10, seed=7)
    'carry-over|ver:1|lexicon:1e4bf2bb4c06|text:joined+nfkc|judged-anyway:10|seed:7'
    """
    digest = fingerprint({atom: list(found) for atom, found in forms.items()})
    return f"carry-over|ver:{VERSION}|lexicon:{digest[:12]}|text:joined+nfkc|judged-anyway:{percent:g}|seed:{seed}"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One translation of a context: `stretch` as found, `given` to experts before, `key` equal to no other's."""

    item: int
    context: int
    key: str
    position: int
    stretch: str | None
    given: bool
    checked: bool = False  # judged although its verdict could have been carried over


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A translation, and the one whose verdict it can take; `checked`: it is judged anyway."""

    item: int
    source: int
    key: str
    stretch: str
    checked: bool = False


def pairs(variants: Iterable[Variant], *, percent: float, seed: int) -> tuple[Pair, ...]:
    """Which translations can take a verdict, and which of them are judged anyway.

    Of the translations of a context with one stretch the source is the first that was given to experts, one that was
    itself judged as a check only where there is no other; where none was given yet, the first that is given out now.
    All others that were not given before can take its verdict. `percent` of these, rounded half up and one at least,
    are drawn by the seed.

    >>> text = [Variant(item=n, context=1, key=f"k{n}", position=n, stretch="小狗", given=n == 2) for n in (1, 2, 3)]
    >>> [(pair.item, pair.source, pair.checked) for pair in pairs(text, percent=50, seed=1)]
    [(1, 2, False), (3, 2, True)]
    """
    found = [variant for variant in variants if variant.stretch is not None]
    found.sort(key=_group)
    able: list[Pair] = []
    for (_context, shared), group in groupby(found, key=_group):
        members = sorted(group, key=lambda one: (not one.given, one.checked, one.position))
        able += [
            Pair(item=one.item, source=members[0].item, key=one.key, stretch=shared)
            for one in members[1:]
            if not one.given
        ]
    drawn = _drawn([pair.key for pair in able], percent=percent, seed=seed)
    return tuple(
        Pair(item=one.item, source=one.source, key=one.key, stretch=one.stretch, checked=one.key in drawn)
        for one in sorted(able, key=lambda pair: pair.item)
    )


def _group(variant: Variant) -> tuple[int, str]:
    return variant.context, variant.stretch or ""


def _drawn(keys: Sequence[str], *, percent: float, seed: int) -> Collection[str]:
    by_lot = sorted(keys, key=lambda key: chance("carry-over", seed, key))
    return frozenset(by_lot[: wanted_of(len(keys), percent=percent)])
