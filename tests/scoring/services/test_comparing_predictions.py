"""Submitted systems on the same triples: which runs, which labels, what differs and where."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Campaign, Item, User
from annotation.protocol.sentences import Sentence
from annotation.services.errors import Refused
from annotation.services.items import withdraw
from scoring.reports import as_latex, as_markdown
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from scoring.services.scores import Wish
from scoring.services.submissions import submit
from tests.factories import make_user
from tests.material import as_csv, load_rows, new_campaign, run, run_json, triples

pytestmark = pytest.mark.django_db

N = 60
CLASSES = ("test_set", "cs_head", "all_head", "adv")
GROUPS = ["all", "ID", "OOD", "Adv", "cs_head", "all_head"]


def labels() -> list[int]:
    return [int(place % 3 == 0) for place in range(N)]


def predicted(noise: float, seed: int) -> list[float]:
    """The labels, blurred; rounded, so that scores tie."""
    rng = np.random.default_rng(seed)
    scores = np.array(labels()) * 0.6 + 0.2 + rng.normal(0, noise, N)
    return [float(score) for score in scores.round(1)]


def labelled(folder: Path, **more: object) -> Campaign:
    """Sixty triples of all classes with imported labels, a third of them plausible; the last twelve are dev."""
    campaign = new_campaign()
    rows = triples(N)
    for place, row in enumerate(rows):
        row |= {
            "class": CLASSES[place % 4],
            "split": "test" if place < 48 else "dev",
            "label": str(labels()[place]),
            **more,
        }
    load_rows(campaign, rows, folder)
    return campaign


def send(
    campaign: Campaign,
    scores: Sequence[float],
    system: str,
    name: str = "",
    by: User | None = None,
    **wish: Any,
) -> None:
    rows = [{"triple_id": f"t{place}", "prediction": score} for place, score in enumerate(scores, start=1)]
    wanted = Wish(**{"system": system, "run": name, "split": "test", **wish})
    submit(campaign, as_csv(rows).encode(), name="sent.csv", wish=wanted, by=by)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Two runs of a good system, two of a bad one."""
    made = labelled(tmp_path)
    for system, noise in (("good", 0.1), ("bad", 0.5)):
        for seed in (1, 2):
            send(made, predicted(noise, seed), system, str(seed))
    return made


def compared(campaign: Campaign, **options: Any) -> dict[str, Any]:
    return report(campaign, "comparison", Options(resamples=100, **options))


def of(document: Mapping[str, Any], group: str, measure: str) -> Any:
    (found,) = [one for one in document["groups"] if one["group"] == group]
    (difference,) = [one for one in found["differences"] if one["measure"] == measure]
    return difference


def test_its_figures_are_means_over_runs_by_group(campaign: Campaign) -> None:
    from sklearn.metrics import f1_score, roc_auc_score

    document = compared(campaign)

    assert [group["group"] for group in document["groups"]] == GROUPS
    assert (document["split"], document["release"], document["runs"]) == (
        "test", None, ["bad / 1", "bad / 2", "good / 1", "good / 2"],
    )  # fmt: skip
    rows = np.arange(N) < 48
    for group, classes in (("all", CLASSES), ("OOD", CLASSES[1:3]), ("Adv", CLASSES[3:])):
        kept = rows & np.isin(np.array(CLASSES)[np.arange(N) % 4], classes)
        gold = np.array(labels())[kept]
        scores = {noise: [np.array(predicted(noise, seed))[kept] for seed in (1, 2)] for noise in (0.1, 0.5)}
        auc, f1 = of(document, group, "auc"), of(document, group, "f1")
        assert auc["value_a"] == pytest.approx(
            100 * np.mean([roc_auc_score(gold, one) for one in scores[0.5]])
        )
        assert auc["value_b"] == pytest.approx(
            100 * np.mean([roc_auc_score(gold, one) for one in scores[0.1]])
        )
        assert f1["value_a"] == pytest.approx(
            100 * np.mean([f1_score(gold, one >= 0.5) for one in scores[0.5]])
        )
        assert auc["n"] == kept.sum()
    spread = next(one for one in document["groups"][0]["systems"] if one["measure"] == "auc")
    assert (spread["name"], spread["n"], len(spread["values"])) == ("bad", 2, 2)
    assert spread["sd"] == pytest.approx(np.std(spread["values"], ddof=1))
    assert of(document, "all", "auc")["ci95"][1] < 0
    assert of(document, "all", "auc")["p_holm"] == of(document, "all", "auc")["p"]
    assert document["signature"].endswith("|split:test")


def test_two_runs_are_compared_and_their_triples_listed(campaign: Campaign) -> None:
    document = compared(campaign, a="good / 2", b="bad / 1")

    pair = document["pair"]
    assert (pair["a"], pair["b"]) == ("good / 2", "bad / 1")
    assert [group["group"] for group in pair["groups"]] == GROUPS
    shown = [one for group in pair["groups"] for one in group["differences"]]
    assert {one["measure"] for one in shown} == {"auc", "f1"}
    assert min(one["p_holm"] for one in shown) == pytest.approx(min(1, 12 * min(one["p"] for one in shown)))
    good, bad = ([score >= 0.5 for score in predicted(noise, seed)] for noise, seed in ((0.1, 2), (0.5, 1)))
    parted = [place for place in range(48) if good[place] != bad[place]]
    assert [one["item"] for one in document["differing"]["triples"]] == [place + 1 for place in parted]
    for place, one in zip(parted, document["differing"]["triples"], strict=True):
        right = "bad / 1" if bad[place] == labels()[place] else "good / 2"
        assert one["wrong"] != right
        assert (one["label"], one["score_a"]) == (labels()[place], predicted(0.1, 2)[place])
    twice = compared(campaign, a="good / 2", b="good / 2")
    assert (twice["pair"]["groups"], twice["differing"]["triples"]) == ([], [])
    assert "chosen twice" in twice["pair"]["reason"]


def test_a_run_is_the_latest_of_its_name_and_account(campaign: Campaign) -> None:
    send(campaign, predicted(0.0, 1), "bad", "1")
    send(campaign, predicted(0.3, 1), "bad", "1", by=make_user("otto"))
    document = compared(campaign)

    assert document["runs"] == ["bad / 1", "bad (2) / 1", "bad / 2", "good / 1", "good / 2"]
    systems = {one["name"]: one for one in document["groups"][0]["systems"] if one["measure"] == "auc"}
    assert systems["bad"]["values"][0] == 100
    assert len(of_pairs(document)) == 3
    unequal = next(one for one in of_pairs(document) if one["b"] == "bad (2)")
    assert (unequal["p"], unequal["p_holm"]) == (None, None)
    assert "2 and 1" in unequal["p_reason"]
    assert unequal["ci95"] is not None


def of_pairs(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in document["groups"][0]["differences"] if one["measure"] == "auc"]


def test_some_systems_are_compared_where_they_are_named(campaign: Campaign) -> None:
    send(campaign, predicted(0.3, 3), "third", "1")

    assert len(of_pairs(compared(campaign))) == 3
    chosen = compared(campaign, among=("bad", "good"))
    assert [(one["a"], one["b"]) for one in of_pairs(chosen)] == [("bad", "good")]
    assert chosen["of"] == ["bad", "good", "third"]
    with pytest.raises(Refused, match="There is no system “fourth”; there are: bad, good, third"):
        compared(campaign, among=("fourth",))


def test_splits_and_releases_are_never_mixed(campaign: Campaign) -> None:
    freeze(campaign, "v1", wish=SplitWish(), by=None)
    send(campaign, predicted(0.2, 1), "good", release=campaign.releases.get())
    send(campaign, predicted(0.2, 1), "good", split="all")

    document = compared(campaign)
    assert [(one["release"], one["split"], one["runs"]) for one in document["fields"]] == [
        (None, "test", 4), (None, "all", 1), ("v1", "test", 1),
    ]  # fmt: skip
    released = compared(campaign, release="v1")
    assert (released["runs"], released["pair"]) == (["good"], None)
    assert released["signature"].endswith(f"|release:{campaign.releases.get().sha256[:12]}")
    assert "There is one system" in released["one_system"]
    assert compared(campaign, split="all")["groups"][0]["n"] == N
    with pytest.raises(Refused, match="against “v1 / dev”; there are some against: test, all, v1 / test"):
        compared(campaign, release="v1", split="dev")


def test_a_tuned_threshold_is_that_of_the_labels_there_are_now(tmp_path: Path) -> None:
    campaign = labelled(tmp_path)
    send(campaign, predicted(0.2, 1), "tuned", threshold=None)
    send(campaign, predicted(0.2, 2), "given")
    before = run_json("report", "main", "--kind", "comparison")["submissions"]
    assert (before[0]["title"], before[0]["threshold"], before[0]["tuned"]) == ("given", 0.5, False)

    plausible = Item.objects.filter(split="dev", imported_label="1").order_by("position")
    score = dict(enumerate(predicted(0.2, 1), start=1))
    kept = plausible[0]
    plausible.exclude(pk=kept.pk).update(imported_label="0")
    after = compared(campaign)["submissions"][1]
    assert (after["title"], after["tuned"]) == ("tuned", True)
    assert after["threshold"] == score[kept.position]
    Item.objects.filter(split="dev").update(imported_label="0")
    with pytest.raises(Refused, match="The threshold of “tuned” was to be tuned on dev"):
        compared(campaign)
    assert compared(campaign, among=("given",))["runs"] == ["given"]


def test_what_one_run_does_not_score_is_left_out_of_all(campaign: Campaign, tmp_path: Path) -> None:
    withdraw(campaign, Item.objects.get(position=3).pk, reason="broken", by=make_user("mei"))
    new = [row | {"triple_id": f"n{row['triple_id']}", "split": "test", "label": "1"} for row in triples(2)]
    load_rows(campaign, [row | {"tail": "something new"} for row in new], tmp_path)
    Item.objects.filter(position=5).update(imported_label="")

    document = compared(campaign)
    assert (document["groups"][0]["n"], document["left_out"]) == (46, 1)
    assert document["warnings"] == [
        "Triples that are newer than one of the submissions, or have another text now: 2. They are left out."
    ]


def test_what_is_undefined_says_why(tmp_path: Path) -> None:
    campaign = labelled(tmp_path, label="0")
    send(campaign, [0.1] * N, "low")
    send(campaign, [0.9] * N, "high")
    document = compared(campaign)

    auc = of(document, "all", "auc")
    assert (auc["difference"], auc["ci95"], auc["p"]) == (None, None, None)
    assert {auc[name] for name in ("reason", "ci95_reason", "p_reason")} == {
        "AUC needs plausible and implausible triples"
    }
    spreads = document["groups"][0]["systems"]
    assert [one["reason"] for one in spreads if one["measure"] == "auc"] == [auc["reason"]] * 2
    assert [one for one in said(document) if not isinstance(one, Sentence)] == []
    assert "AUC needs plausible and implausible triples" in as_markdown("comparison", document)


def said(value: Any, name: str = "") -> list[str]:
    """Reasons, notes and warnings anywhere in a document."""
    if isinstance(value, Mapping):
        return [one for key, inner in value.items() for one in said(inner, key)]
    if isinstance(value, list | tuple):
        return [one for inner in value for one in said(inner, name)]
    told = name.endswith(("reason", "warnings", "note", "one_system"))
    return [value] if isinstance(value, str) and told else []


def test_nothing_to_compare_is_refused_with_what_to_do(tmp_path: Path) -> None:
    campaign = labelled(tmp_path)
    ran = run("report", "main", "--kind", "comparison")
    assert (ran.code, "No system has sent in predictions yet" in ran.err) == (1, True)
    send(campaign, predicted(0.2, 1), "one", "1")
    assert "so there is nothing to compare it with" in compared(campaign)["one_system"]
    send(campaign, predicted(0.2, 2), "one", "2")
    two = compared(campaign)
    assert "its 2 runs can be, two at a time" in two["one_system"]
    assert (two["pair"]["a"], two["pair"]["b"]) == ("one / 1", "one / 2")
    Item.objects.update(imported_label="")
    with pytest.raises(Refused, match="No triple that all runs score has a label"):
        compared(campaign)


def test_it_is_written_as_tables(campaign: Campaign) -> None:
    document = compared(campaign)
    shown = as_markdown("comparison", document)
    auc = of(document, "all", "auc")
    assert f"| all | bad | good | 48 | {auc['value_a']:.2f} | {auc['value_b']:.2f} |" in shown
    assert "n: all 48, ID 12, OOD 24, Adv 12, cs_head 12, all_head 12" in shown
    assert r"\caption{Differences in F1 (a minus b)}" in as_latex("comparison", document)
    ran = run(
        "report", "main", "--kind", "comparison", "--format", "csv", "--among", "bad", "--split", "test"
    )
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert {row["table"] for row in rows} == {"system", "pair", "triple"}
    assert {row["group"] for row in rows if row["table"] == "system"} == set(GROUPS)


def test_queries_are_as_many_whatever_the_number_of_systems(campaign: Campaign) -> None:
    with CaptureQueriesContext(connection) as few:
        compared(campaign)
    send(campaign, predicted(0.3, 3), "third", "1")
    with CaptureQueriesContext(connection) as many:
        compared(campaign)
    assert len(few) == len(many) < 10
