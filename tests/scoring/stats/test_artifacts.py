"""Words that give the label away, against the released triples and the published number."""

import json

import numpy as np
import pytest

from annotation.protocol.errors import ProtocolError
from scoring.stats.artifacts import Artifacts, artifacts, critical_z
from scoring.stats.composition import LabelledTriples
from tests.scoring.stats.released import expected, labelled_triples

DESCRIBED = "published_as_described: bonferroni .01 two-sided, n>=20, cased, placeholders dropped"
PUBLISHED = (
    "authors_number_83: critical z = 1 - .01/V (quantile never taken), n>=20, cased, placeholders dropped"
)


def released(rule: str) -> Artifacts:
    return artifacts(labelled_triples(), labels="imported", rule=rule)


def small(heads: list[str], labels: list[int], *, tail: str = "") -> Artifacts:
    blank = [""] * len(heads)
    triples = LabelledTriples(
        head=heads,
        relation=blank,
        tail=[tail] * len(heads),
        item_class=blank,
        split=blank,
        label=np.array(labels, dtype=np.int8),
    )
    return artifacts(triples, labels="final")


@pytest.mark.parametrize(
    ("rule", "key", "total"), [("described", DESCRIBED, 1), ("as-published", PUBLISHED, 83)]
)
def test_it_finds_the_words_of_the_released_triples(rule: str, key: str, total: int) -> None:
    found, reference = released(rule), expected("ckbp_v2", "artifacts", key)
    assert (found.vocabulary, found.candidates) == (reference["vocabulary"], reference["candidates_n_ge_min"])
    assert found.z_critical == pytest.approx(reference["z_crit"], abs=1e-6)
    assert len(found.words) == total
    for label in ("plausible", "implausible"):
        ours = {
            (w.word, w.n, round(100 * w.share, 2), round(w.z, 3)) for w in found.words if w.label == label
        }
        assert ours == {tuple(word) for word in reference[f"words_{label}"]}


def test_it_lists_happy_alone_by_the_described_rule() -> None:
    document = released("described").as_json()
    assert [(word["word"], word["label"]) for word in document["words"]] == [("happy", "plausible")]
    assert document["rule"] == "described"


def test_it_lists_the_strongest_words_first() -> None:
    signs_and_strengths = [(word.z < 0, -abs(word.z)) for word in released("as-published").words]
    assert signs_and_strengths == sorted(signs_and_strengths)


def test_it_counts_a_word_once_a_triple_and_keeps_case() -> None:
    found = small(["go go go"] * 20 + ["Go"] * 20, [1] * 20 + [0] * 20, tail="go")
    assert found.vocabulary == 2
    assert {(word.word, word.n) for word in found.words} <= {("go", 40), ("Go", 20)}
    assert [word.word for word in found.words] == ["Go"]


def test_it_drops_the_placeholders_of_persons_only() -> None:
    assert small(["PersonX PersonY PersonZ PeopleX PersonA personx", "a"], [1, 0]).vocabulary == 3


def test_it_tests_only_words_of_twenty_triples() -> None:
    found = small(["rare"] * 19 + ["often"] * 20, [1] * 19 + [0] * 20)
    assert (found.vocabulary, found.candidates) == (2, 1)
    assert [word.word for word in found.words] == ["often"]


def test_it_leaves_triples_without_a_label_out_and_counts_them() -> None:
    found = small(["a"] * 20 + ["b"] * 20 + ["c"] * 5, [1] * 20 + [0] * 20 + [-1] * 5)
    assert (found.vocabulary, found.unlabelled) == (2, 5)


@pytest.mark.parametrize("labels", [[1, 1], [0, 0], [-1, -1]])
def test_it_gives_null_and_a_reason_without_triples_of_both_kinds(labels: list[int]) -> None:
    document = small(["a", "b"], labels).as_json()
    assert document["z_critical"] is None
    assert document["words"] == []
    assert "both kinds" in document["reason"]


def test_it_takes_no_triples() -> None:
    found = small([], [])
    assert (found.vocabulary, found.candidates, found.words) == (0, 0, ())


def test_it_takes_the_quantile_of_statistical_tables() -> None:
    # Two-sided 0.01 for one word: 2.5758, any table of the normal distribution.
    assert critical_z(1, "described") == pytest.approx(2.5758, abs=5e-5)
    assert critical_z(3852, "as-published") < 1


def test_it_names_the_rules_there_are() -> None:
    with pytest.raises(ProtocolError, match="described or as-published"):
        released("bonferroni")


def test_it_writes_the_contracts_document() -> None:
    document = json.loads(json.dumps(released("as-published").as_json()))
    assert {"rule", "vocabulary", "candidates", "z_critical", "words", "signature"} <= set(document)
    assert set(document["words"][0]) == {"word", "n", "percent", "z", "label"}
    assert "rule:as-published" in document["signature"]
