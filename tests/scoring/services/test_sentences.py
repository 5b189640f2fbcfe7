"""Every reason, warning and note of a document can be said in the language of the page."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.models import Campaign
from annotation.protocol.sentences import Sentence
from annotation.services.gold import mark
from annotation.services.parts import assign_parts
from annotation.services.spot_checks import Decision
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.scores import Wish
from scoring.services.spot_checks import finish
from scoring.services.submissions import submit
from scoring.stats.consistency import shift
from tests.annotation.services.test_repeats import expert
from tests.material import answer_everything, as_csv, compounds, load_rows, new_campaign, triples
from tests.scoring.services.test_spot_checks import check, opened, ready

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


def test_of_a_spot_check_and_gold_that_tell_nothing(tmp_path: Path) -> None:
    campaign = ready(tmp_path, 6)
    mark(campaign, 1, label="1", note="", by=None)
    campaign.rounds.get(kind="main").assignments.filter(part__index=1).update(label="", cannot_judge="other")
    campaign.rounds.get(kind="main").assignments.filter(item__position=1).update(
        label="", cannot_judge="other"
    )
    round_ = opened(campaign, n=4)
    check(campaign)

    before = made(campaign, "spot-check")
    finish(round_, Decision.ACCEPT, reason="Fine.", by=expert("mei"))
    kept = made(campaign, "spot-check")

    assert kept == before
    for document in (before, kept, made(campaign, "gold")):
        assert list(plain(document)) == []
    assert before["reason"] == "nothing of part 2 (A1, A2) was checked"
    assert before["reason"].values["parts"].values["part"] == 2
    assert made(campaign, "gold")["experts"][0]["reason"] == "no gold item was judged"


def test_of_repeats_of_which_nothing_moved() -> None:
    same = np.array([0, 1])
    assert list(plain(shift(same, same).as_json())) == []
    assert list(plain(shift(same[:0], same[:0]).as_json())) == []
