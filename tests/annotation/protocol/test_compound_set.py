import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.protocol import compound_set
from annotation.protocol.compound import ATOMS
from annotation.protocol.compound_set import RULES, CompoundSet, SetRow, check_compound_set
from annotation.protocol.errors import ProtocolError
from annotation.protocol.inventory import AtomInventory, read_inventory
from annotation.protocol.location import locate

CONTEXTS = (
    "yesterday {} slept .",
    "we all saw {} in the park .",
    "{} could n't stop laughing .",
    "she told us about {}",
    "everyone knew that {} , after all , was late .",
)
# Knows every context above, around another phrase, and the atoms of "another lazy dog he liked".
TRAINING = [context.format("the postman") for context in CONTEXTS] + [
    "a dog barked",
    "another day",
    "he was lazy",
    "it was the one he liked",
]


def rows(compound: str, contexts: tuple[str, ...] = CONTEXTS, *, first: int = 2) -> list[SetRow]:
    return [SetRow(first + n, compound, context.format(compound)) for n, context in enumerate(contexts)]


def found(checked: CompoundSet) -> list[tuple[str, int]]:
    return [(violation.rule, violation.line) for violation in checked.violations]


def test_it_finds_nothing_in_a_set_that_is_as_it_should_be() -> None:
    checked = check_compound_set(rows("another lazy dog he liked"), training=TRAINING)
    assert checked.ok
    assert (checked.compounds, checked.contexts, checked.sentences) == (1, 5, 9)
    assert checked.patterns == {"NP:DET+ADJ+N+MOD": 1}
    assert checked.not_checked == ()


def test_it_says_what_it_could_not_look_at() -> None:
    assert check_compound_set(rows("the dog")).not_checked == ("seen", "atom", "context")
    assert check_compound_set(rows("the dog"), pool=["___ ."]).not_checked == ("seen", "atom")


@pytest.mark.parametrize(
    ("changed", "training", "expected"),
    [
        (rows("another sleepy dog"), TRAINING, [("pattern", 2)]),
        (rows("another lazy dog", CONTEXTS[:4]), TRAINING, [("contexts", 2)]),
        (
            rows("another lazy dog", (*CONTEXTS, "once {} slept .")),
            TRAINING,
            [("contexts", 2), ("context", 7)],
        ),
        (
            rows("another lazy dog", (*CONTEXTS[:4], "Yesterday  {} slept .")),
            TRAINING,
            [("context_repeated", 6)],
        ),
        (
            [*rows("another lazy dog", CONTEXTS[:4]), SetRow(6, "another lazy dog", "it slept .")],
            TRAINING,
            [("source", 6)],
        ),
        (rows("another lazy dog"), [*TRAINING, "was it Another lazy dog?"], [("seen", 2)]),
        (rows("another lazy dog"), TRAINING[:-2], [("atom", 2)]),
        (rows("another lazy dog"), TRAINING[1:], [("context", 2)]),
    ],
)
def test_it_finds_each_planted_violation(
    changed: list[SetRow], training: list[str], expected: list[tuple[str, int]]
) -> None:
    assert found(check_compound_set(changed, training=training)) == expected


def test_a_seen_compound_is_named_with_its_lines() -> None:
    training = [*TRAINING, *["another lazy dog ran , another lazy dog fell"] * 5]
    (violation,) = check_compound_set(rows("another lazy dog"), training=training).violations
    assert violation.message == ("“another lazy dog” stands in the training text, on 5 lines: 10, 11, 12 ….")
    (violation,) = check_compound_set(rows("another lazy dog"), training=[*TRAINING, training[-1]]).violations
    assert violation.message == "“another lazy dog” stands in the training text, on line 10."


@pytest.mark.parametrize(
    ("sentence", "stands"),
    [
        ("the  Car 's key", True),
        ("“the car”", True),
        ("the carpet", False),
        ("the car-park", False),
        ("the ca@@ r stood there", True),
        ("the \u200bcar", True),
        ("bathe car", False),
    ],
)
def test_a_compound_is_seen_as_a_reader_sees_it(sentence: str, stands: bool) -> None:
    checked = check_compound_set(rows("the car"), training=[*TRAINING, sentence])
    assert (("seen", 2) in found(checked)) is stands


def test_a_context_is_known_by_the_pool_with_a_slot_or_as_a_sentence() -> None:
    pool = ["yesterday ___ slept .", "WE all saw nobody in the park ."]
    checked = check_compound_set(rows("the dog"), pool=pool)
    assert found(checked) == [("context", 4), ("context", 5), ("context", 6)]
    assert checked.pool == 2
    # Nothing in the compound's place is no context.
    assert ("context", 2) in found(check_compound_set(rows("the dog"), pool=["yesterday slept ."]))


def test_it_reports_progress() -> None:
    told: list[int] = []
    check_compound_set(rows("the dog"), training=["one two"] * 20_001, progress=told.append)
    assert told == [10_000, 20_000]


def test_another_pair_of_languages_is_a_file() -> None:
    chinese = read_inventory(
        {
            "name": "短语",
            "source_language": "zh",
            "target_language": "en",
            "word_spaces": False,
            "contexts": 2,
            "kinds": {"V": ["看见 了", "喜欢"], "N": ["那只狗", "医生"]},
            "patterns": {"VP": ["V+N"], "NP": ["N"]},
        }
    )
    training = ["昨天我睡了。", "医生走了", "看见了", "那只狗", "我喜欢他们。"]
    set_rows = [
        SetRow(1, "看见了那只狗", "昨天看见了那只狗睡了。"),
        SetRow(2, "看见了那只狗", "我看见了那只狗们。"),
    ]
    checked = check_compound_set(set_rows, inventory=chinese, training=training)
    assert checked.patterns == {"VP:V+N": 1}
    assert found(checked) == []
    assert found(check_compound_set(set_rows, inventory=chinese, training=[*training, "他看见了那只狗"])) == [
        ("seen", 1)
    ]


WORDS = st.sampled_from(["the", "dog", "car", "red", "saw", "he", "liked", ",", "."])
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), max_size=12)


@given(SENTENCES, SENTENCES)
@settings(deadline=None)
def test_it_finds_what_the_plain_definition_finds(sources: list[str], training: list[str]) -> None:
    compounds = ["the dog", "the red car", "saw the dog he liked"]
    set_rows = [
        SetRow(line, compounds[line % 3], source) for line, source in enumerate(sources) if source.strip()
    ]
    checked = check_compound_set(set_rows, training=training)
    seen = {row.compound for row in set_rows if any(locate(row.compound, sentence) for sentence in training)}
    assert {one.compound for one in checked.violations if one.rule == "seen"} == seen
    unknown = {row.line for row in set_rows if _unknown(row, training)}
    assert {one.line for one in checked.violations if one.rule == "context"} == unknown


def _unknown(row: SetRow, training: list[str]) -> bool:
    place = locate(row.compound, row.source)
    if place is None:
        return False
    before, after = row.source[: place[0]].split(), row.source[place[1] :].split()
    for sentence in training:
        words = sentence.split()
        between = len(words) - len(before) - len(after)
        if between > 0 and words[: len(before)] == before and words[len(words) - len(after) :] == after:
            return False
    return True


def test_a_sentence_is_looked_at_as_often_for_many_compounds_as_for_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is looked at grows with the sentences, not with compounds times sentences: counted, not timed."""
    draw = random.Random(7)
    words = [*sorted(ATOMS.kinds["N"]), *sorted(ATOMS.kinds["ADJ"]), "the", "we", "saw", "and", "then", "it"]
    training = [" ".join(draw.choices(words, k=8)) for _ in range(500)]
    pairs = list(product(sorted(ATOMS.kinds["ADJ"]), sorted(ATOMS.kinds["N"])))
    many = [row for n, pair in enumerate(pairs) for row in rows(f"every {' '.join(pair)}", first=5 * n)]
    along = compound_set._Tree.along
    walks = 0

    def counting(tree: Any, sentence: list[str], start: int) -> Any:
        nonlocal walks
        walks += 1
        return along(tree, sentence, start)

    monkeypatch.setattr(compound_set._Tree, "along", counting)
    check_compound_set(many[:50], training=training)
    of_few, walks = walks, 0
    check_compound_set(many, training=training)
    assert walks == of_few > 0


class _Counted(list[str]):
    """Words that count how many of them were looked at in pieces."""

    looked_at = 0

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        _Counted.looked_at += len(found) if isinstance(at, slice) else 1
        return found


def test_a_long_line_is_looked_at_as_often_a_word_as_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text whose line ends were lost is one line of all its words."""
    read = compound_set._words
    monkeypatch.setattr(compound_set, "_words", lambda *asked: _Counted(read(*asked)))
    of_set = rows("every dog", ("{} slept .", "yesterday {} slept .", "we saw {}"))
    looked_at = []
    for n in (1000, 2000):
        _Counted.looked_at = 0
        check_compound_set(of_set, training=["yesterday we saw it . " * n])
        looked_at.append(_Counted.looked_at)
    assert looked_at[1] < 2.1 * looked_at[0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kinds": {}}, "kinds"),
        ({"kinds": {"N": "dog"}}, "N"),
        ({"kinds": {"N": [" "]}}, "N"),
        ({"patterns": {"NP": ["DET+N"]}}, "DET"),
        ({"patterns": []}, "patterns"),
        ({"contexts": 0}, "contexts"),
        ({"contexts": True}, "contexts"),
        ({"word_spaces": "yes"}, "word_spaces"),
        ({"name": ""}, "name"),
        ({"openers": {"VP": ["a"]}}, "VP"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_an_inventory_that_cannot_be_used_is_refused_by_name(change: dict[str, object], named: str) -> None:
    good = {
        "name": "one", "source_language": "en", "target_language": "zh",
        "kinds": {"N": ["dog"]}, "patterns": {"NP": ["N"]},
    }  # fmt: skip
    assert isinstance(read_inventory(good), AtomInventory)
    with pytest.raises(ProtocolError, match=named):
        read_inventory(good | change)


def test_its_rules_are_those_it_names() -> None:
    assert set(RULES) == {"pattern", "contexts", "context_repeated", "source", "seen", "atom", "context"}
