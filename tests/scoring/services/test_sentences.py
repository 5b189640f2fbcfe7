"""Every reason, warning and note of a document can be said in the language of the page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign
from annotation.protocol.sentences import Sentence
from annotation.services.parts import assign_parts
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.scores import Wish
from scoring.services.submissions import submit
from tests.material import answer_everything, as_csv, compounds, load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db

LEXICON = "gardener\t园丁\n".encode()
JUDGE = as_csv([{"item_id": row["item_id"], "label": 1} for row in compounds(2)]).encode()


def plain(value: object, name: str = "") -> Iterator[str]:
    """What a page would show in English whatever its language."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from plain(one, key)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from plain(one, name)
    elif isinstance(value, str) and name.endswith(("reason", "warnings")) and not isinstance(value, Sentence):
        yield value


def made(campaign: Campaign, kind: str, **options: Any) -> Mapping[str, Any]:
    return report(campaign, kind, Options(resamples=100, **options))


def test_of_compounds_that_nobody_judged(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(2), tmp_path, system="base")
    for kind in ("error-rates", "agreement", "bleu", "comparison"):
        assert list(plain(made(campaign, kind))) == []
    assert list(plain(made(campaign, "compound-check", lexicon=LEXICON))) == []
    assert list(plain(made(campaign, "estimate", judge=JUDGE))) == []


def test_of_compounds_judged_by_one_person(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    rows = [row | {"translation": "园丁挥手."} for row in compounds(2)]
    load_rows(campaign, rows, tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, "1")
    assert made(campaign, "bleu")["warnings"]
    for kind in ("error-rates", "agreement", "bleu", "comparison"):
        assert list(plain(made(campaign, kind))) == []
    assert list(plain(made(campaign, "compound-check", lexicon=LEXICON))) == []
    assert list(plain(made(campaign, "estimate", judge=JUDGE))) == []


def test_of_triples_that_are_all_alike(tmp_path: Path) -> None:
    campaign = new_campaign("triple")
    load_rows(campaign, triples(4, split="test", label="1"), tmp_path)
    for kind in ("agreement", "statistics", "human", "artifacts"):
        assert list(plain(made(campaign, kind))) == []
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, "1")
    assert made(campaign, "human")["rows"][0]["reason"]
    for kind in ("agreement", "statistics", "human", "artifacts"):
        assert list(plain(made(campaign, kind))) == []


@pytest.mark.parametrize(("label", "score"), [("1", 1), ("0", 0), ("1", 0), ("0", 1)])
def test_of_a_submission(label: str, score: int, tmp_path: Path) -> None:
    campaign = new_campaign("triple")
    load_rows(campaign, triples(4, split="test", label=label), tmp_path)
    rows = [{"triple_id": f"t{place}", "prediction": score} for place in range(1, 5)]
    done = submit(campaign, as_csv(rows).encode(), name="s.csv", wish=Wish(system="s"), by=None)
    assert done.document["warnings"]
    assert done.document["rows"][0]["reason"]
    assert list(plain(done.document)) == []
    submit(campaign, as_csv(rows).encode(), name="t.csv", wish=Wish(system="t"), by=None)
    compared = made(campaign, "comparison")
    assert compared["groups"][0]["differences"][0]["reason"]
    assert list(plain(compared)) == []
