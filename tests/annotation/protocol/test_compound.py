"""How compounds are built: types, patterns, atoms."""

import json
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol.compound import ATOMS, Atom, analyse
from annotation.protocol.inventory import AtomInventory
from tests.shared import shared

A_SAMPLE = {
    "NP": ["the dog", "each lazy dog", "any chair he liked", "another fake airplane on the floor"],
    "VP": [
        "liked the dog",
        "chose every silly hat",
        "liked the dog he liked",
        "left each red car at the store",
    ],
    "PP": [
        "without the dog",
        "except any red car",
        "on the chair on the floor",
        "toward the empty farm he liked",
    ],
}


@pytest.mark.parametrize("kind", ["NP", "VP"])
def test_it_analyses_every_released_compound_to_the_counted_patterns(kind: str) -> None:
    compounds = shared(f"data/cognition/{kind}.compound").read_text(encoding="utf-8").split("\n")[:3600]
    expected = json.loads(shared("reference/expected.json").read_text(encoding="utf-8"))["cognition"]
    analyses = [analyse(compound) for compound in compounds]
    patterns = {
        pattern: row["instances"]
        for pattern, row in expected["by_pattern"].items()
        if pattern.startswith(kind)
    }
    lengths = {
        key: row["instances"]
        for key, row in expected["by_type_and_word_length"].items()
        if key.startswith(kind)
    }
    assert Counter(analysis.pattern for analysis in analyses) == patterns
    assert Counter(f"{analysis.type}:{analysis.words}" for analysis in analyses) == lengths
    assert all(analysis.recognised for analysis in analyses)


@pytest.mark.parametrize(("kind", "compound"), [(k, c) for k, cs in A_SAMPLE.items() for c in cs])
def test_it_knows_the_four_patterns_of_each_type(kind: str, compound: str) -> None:
    analysis = analyse(compound)
    lead = {"NP": "", "VP": "V+", "PP": "P+"}[kind]
    tail = ["DET+N", "DET+ADJ+N", "DET+N+MOD", "DET+ADJ+N+MOD"][A_SAMPLE[kind].index(compound)]
    assert (analysis.type, analysis.pattern) == (kind, f"{kind}:{lead}{tail}")
    assert analysis.words == len(compound.split())
    assert len(analysis.atoms) == len(f"{lead}{tail}".split("+"))


def test_it_takes_the_modifier_from_the_end() -> None:
    assert analyse("liked the dog he liked").atoms == (
        Atom("V", "liked", 0, 5),
        Atom("DET", "the", 6, 9),
        Atom("N", "dog", 10, 13),
        Atom("MOD", "he liked", 14, 22),
    )
    assert analyse("on the chair on the floor").atoms[-1] == Atom("MOD", "on the floor", 13, 25)
    assert analyse("under the building at the store").pattern == "PP:P+DET+N+MOD"


def test_it_ignores_case_and_spacing_but_keeps_the_text_of_its_atoms() -> None:
    given_text = "  Another\u00a0lazy  DOG he \t liked "
    analysis = analyse(given_text)
    assert analysis.pattern == "NP:DET+ADJ+N+MOD"
    assert [atom.text for atom in analysis.atoms] == ["Another", "lazy", "DOG", "he \t liked"]
    assert all(given_text[atom.start : atom.end] == atom.text for atom in analysis.atoms)
    assert analysis.words == 5


@pytest.mark.parametrize(
    ("compound", "certain_type", "words"),
    [
        ("the sleepy gardener", "NP", 3),
        ("every tired clerk", "NP", 3),
        ("a broken kite", "NP", 3),
        ("the clerk , tired", "NP", 3),
        ("the dog who barked", "NP", 4),
        ("the", "NP", 1),
        ("under the green bridge", "PP", 4),
        ("near the long wall", "PP", 4),
        ("saw the green bridge", "VP", 4),
        ("painted the old fence", None, 4),  # "beneath the old fence" looks the same
        ("with a paper hat", None, 4),
        ("like", None, 1),
        ("to go home", None, 3),
        ("dog the", None, 2),
        ("", None, 0),
        (" \u3000 ", None, 0),
        ("— ?", None, 0),
        ("那个困倦的园丁", None, 1),
    ],
)
def test_it_says_of_an_unknown_compound_only_what_is_certain(
    compound: str, certain_type: str | None, words: int
) -> None:
    analysis = analyse(compound)
    assert not analysis.recognised
    assert (analysis.type, analysis.pattern, analysis.atoms, analysis.words) == (
        certain_type,
        None,
        (),
        words,
    )


def test_it_takes_another_inventory_with_atoms_of_several_words() -> None:
    inventory = AtomInventory(
        kinds={
            "DET": frozenset({"the", "all the"}),
            "ADJ": frozenset({"cold"}),
            "N": frozenset({"ice", "ice cream"}),
            "V": frozenset({"ate", "ate up"}),
            "P": frozenset({"except", "except for"}),
            "MOD": frozenset({"cream"}),
        },
        patterns=ATOMS.patterns,
    )
    assert analyse("except for all the cold ice cream", inventory).pattern == "PP:P+DET+ADJ+N"
    assert [a.text for a in analyse("ate up the ice cream", inventory).atoms] == [
        "ate up",
        "the",
        "ice cream",
    ]
    assert analyse("the dog", inventory).pattern is None


def test_it_reads_a_hundred_thousand_words_without_delay() -> None:
    assert analyse("the dog " * 50_000).words == 100_000


COMPOUNDS = [
    " ".join(filter(None, atoms))
    for atoms in product(
        ["", *sorted(ATOMS.kinds["V"])[:4], *sorted(ATOMS.kinds["P"])[:4]],
        sorted(ATOMS.kinds["DET"]),
        ["", "small", "fake"],
        ["dog", "airplane"],
        ["", *sorted(ATOMS.kinds["MOD"])],
    )
]


@given(st.sampled_from(COMPOUNDS), st.sampled_from(["\u00a0", "  ", "\t", "\u3000"]), st.booleans())
@settings(deadline=None)
def test_it_recognises_every_combination_of_its_atoms(compound: str, space: str, upper: bool) -> None:
    text = (compound.upper() if upper else compound).replace(" ", space)
    analysis = analyse(text)
    assert analysis.pattern == analyse(compound).pattern
    assert analysis.recognised
    assert space.join(atom.text for atom in analysis.atoms) == text
    assert 2 <= len(analysis.atoms) <= 5
    assert 2 <= analysis.words <= 7
