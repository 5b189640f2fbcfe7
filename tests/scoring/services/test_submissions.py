"""Submissions: never partly stored, a quota that holds, and nothing that tells a hidden label."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from annotation.models import AuditEntry, Campaign, Item, User
from annotation.services.errors import Refused
from annotation.services.items import withdraw
from annotation.services.jobs import request as request_job
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from scoring.models import Board, Evaluation, Prediction, Submission
from scoring.records import records
from scoring.reports import as_markdown
from scoring.services import submissions
from scoring.services.boards import (
    board_document,
    document_for,
    leaderboard,
    over_runs,
    set_board,
    shown_document,
)
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from scoring.services.scores import Wish
from scoring.services.submissions import Submitted, submit
from scoring.services.targets import SubmissionError
from scoring.tasks import score
from tests.factories import make_user
from tests.material import answer_everything, as_csv, load_rows, new_campaign, triples

pytestmark = pytest.mark.django_db

NOT_COUNTED_ONE = "1 row is of an item that was withdrawn or set aside for a dry run; it was not counted."


def campaign_with(folder: Path, n: int = 50, *, label: str | None = None) -> Campaign:
    """t1 … tn, every second plausible; the first four fifths are test. The classes take turns."""
    campaign = new_campaign()
    rows = triples(n)
    for place, row in enumerate(rows):
        row |= {
            "class": ("adv", "test_set")[place // 2 % 2],
            "split": "test" if place < n * 4 // 5 else "dev",
            "label": label or str(place % 2),
        }
    load_rows(campaign, rows, folder)
    return campaign


def sent(campaign: Campaign, scores: list[float] | None = None, **wish: Any) -> dict[str, Any]:
    """What `submit` takes: a score for every item, by default the labels themselves."""
    n = Item.objects.active().filter(campaign=campaign).count()
    values = scores or [float(place % 2) for place in range(n)]
    rows = [{"triple_id": f"t{place}", "prediction": value} for place, value in enumerate(values, start=1)]
    return {"name": "sent.csv", "source": as_csv(rows).encode(), "wish": Wish(**{"system": "s", **wish})}


def send(campaign: Campaign, by: User | None = None, board: Board | None = None, **given: Any) -> Submitted:
    taken = sent(campaign, **given)
    return submit(campaign, taken["source"], name=taken["name"], wish=taken["wish"], by=by, board=board)


def open_to(campaign: Campaign, *, quota: int = 5) -> Board:
    return set_board(campaign, audience="accounts", quota=quota, by=None)


# Whole or not at all


def test_it_stores_nothing_where_storing_fails_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_with(tmp_path)

    def fail(*_args: object) -> None:
        assert Prediction.objects.exists()  # in the transaction that now ends
        raise RuntimeError

    monkeypatch.setattr(submissions, "_store_evaluation", fail)
    with pytest.raises(RuntimeError):
        send(campaign)

    assert not Submission.objects.exists()
    assert not Prediction.objects.exists()


def test_it_stores_nothing_where_a_row_does_not_fit(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path)

    with pytest.raises(SubmissionError) as caught:
        send(campaign, scores=[1.0] * 51)

    assert [issue.line for issue in caught.value.issues] == [52]
    assert not Submission.objects.exists()


def test_it_skips_what_was_withdrawn_by_position_and_names_it_otherwise(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path)
    withdraw(campaign, Item.objects.get(position=3).pk, reason="broken", by=make_user("mei"))
    rows = [{"prediction": place % 2} for place in range(50)]

    done = submit(
        campaign, as_csv(rows).encode(), name="x.csv", wish=Wish(system="s", by_position=True), by=None
    )

    assert [str(one) for one in done.warnings] == [NOT_COUNTED_ONE]
    assert (done.document["rows"][0]["n"], done.document["rows"][0]["auc"]) == (39, 100.0)


@pytest.mark.parametrize("with_texts", [False, True], ids=["by id", "by texts"])
def test_rows_of_what_is_withdrawn_or_set_aside_are_not_counted(tmp_path: Path, with_texts: bool) -> None:
    """A published file has a row for every item; by key and by position it is taken alike."""
    campaign = campaign_with(tmp_path)
    rows: list[dict[str, Any]] = [
        ({name: one[name] for name in ("head", "relation", "tail")} if with_texts else {"triple_id": f"t{n}"})
        | {"prediction": n % 2}
        for n, one in enumerate(triples(50), start=0 if with_texts else 1)
    ]
    Item.objects.filter(position=7).update(retired_at=timezone.now(), retired_why="set_aside")
    withdraw(campaign, Item.objects.get(position=3).pk, reason="broken", by=make_user("mei"))
    told = "2 rows are of items that were withdrawn or set aside for a dry run; they were not counted."
    for by_position in (False, True):
        wish = Wish(system=f"s{by_position}", by_position=by_position)
        done = submit(campaign, as_csv(rows).encode(), name="x.csv", wish=wish, by=None)
        assert [str(one) for one in done.warnings] == [told]
        assert done.document["rows"][0]["n"] == 38
        assert done.submission.predictions.count() == 48
        assert "set_aside" not in str(done.document)

    unknown = rows[0] | ({"tail": "no such thing"} if with_texts else {"triple_id": "t99"})
    with pytest.raises(SubmissionError) as caught:
        submit(campaign, as_csv([*rows, unknown]).encode(), name="x.csv", wish=Wish(system="s"), by=None)
    assert [issue.line for issue in caught.value.issues] == [52]


def test_rows_of_what_is_no_item_of_a_release_are_not_counted(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path)
    Item.objects.filter(position=7).update(retired_at=timezone.now(), retired_why="set_aside")
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    finalize(campaign)
    release = freeze(campaign, "v1", wish=SplitWish(), by=None)
    rows = [{"triple_id": f"t{n}", "prediction": n % 2} for n in range(1, 51)]
    wish = Wish(system="s", release=release, split="all")
    done = submit(campaign, as_csv(rows).encode(), name="x.csv", wish=wish, by=None)
    assert [str(one) for one in done.warnings] == [NOT_COUNTED_ONE]
    assert done.submission.predictions.count() == 49


# Labels that change


def test_it_measures_again_against_the_labels_there_are_now(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, 20, label="1")
    submission = send(campaign, scores=[float(place % 2) for place in range(20)]).submission
    assert submission.evaluation.result["rows"][0]["auc"] is None
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    finalize(campaign)
    [line] = leaderboard(campaign, split="test", viewer=None, manages=True)
    assert line.stale

    job = request_job(campaign=campaign, kind="score", arguments={}, by=None)
    for _twice in range(2):
        score(job.pk)

    job.refresh_from_db()
    assert (job.state, job.result) == ("done", {"submissions": 1})
    evaluation = Evaluation.objects.get(submission=submission)
    assert evaluation.result["rows"][0]["auc"] == 0.0
    assert evaluation.result["labels"]["label_version"] == 1
    [line] = leaderboard(campaign, split="test", viewer=None, manages=True)
    assert not line.stale


def test_it_leaves_out_an_item_that_came_later(tmp_path: Path) -> None:
    campaign = campaign_with(tmp_path, 20)
    submission = send(campaign).submission
    more = [
        {
            "triple_id": "t21",
            "head": "it rains",
            "relation": "Causes",
            "tail": "mud",
            "split": "test",
            "label": "1",
        }
    ]
    load_rows(campaign, more, tmp_path)

    document = submissions.measure_again(submission)

    assert document["rows"][0]["n"] == 16
    assert "newer than this submission, or with another text now: 1" in document["warnings"][0]


# Quota


def test_it_counts_test_and_not_dev(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path), make_user("vera")
    board = open_to(campaign, quota=2)
    for run in ("1", "2"):
        send(campaign, vera, board, run=run)
    send(campaign, vera, board, run="1")  # the same file again

    with pytest.raises(Refused, match="all 2 submissions against test"):
        send(campaign, vera, board, run="3")

    send(campaign, vera, board, run="3", split="dev")
    send(campaign, make_user("otto"), board)
    send(campaign, None, None, run="3")
    assert Submission.objects.filter(created_by=vera).count() == 3


def test_it_takes_nothing_from_the_quota_for_a_file_that_does_not_fit(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path), make_user("vera")
    board = open_to(campaign, quota=1)

    with pytest.raises(SubmissionError):
        send(campaign, vera, board, scores=[1.0] * 51)

    assert send(campaign, vera, board).submission.pk


# What a submitter is shown


def test_it_says_nothing_about_labels_where_scoring_fails(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path, label="0"), make_user("vera")
    board = open_to(campaign)

    with pytest.raises(Refused) as caught:
        send(campaign, vera, board, threshold=None)

    assert "plausible" not in caught.value.message
    assert "could not be scored" in caught.value.message
    entry = AuditEntry.objects.get(campaign=campaign, action="submission failed")
    assert (entry.actor, "labelled plausible" in entry.detail["reason"]) == (vera, True)
    assert not Submission.objects.exists()
    with pytest.raises(Exception, match="no triple labelled plausible"):
        send(campaign, threshold=None)


def test_it_says_to_everybody_which_splits_there_are(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(4, label="1", split="test"), tmp_path)

    with pytest.raises(Refused, match="No item is in the split dev; there is test"):
        send(campaign, make_user("vera"), open_to(campaign), split="dev")


def document_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    figures = {"auc": 61.6349, "f1": 39.4444, "precision": 50.0, "recall": 33.3, "reason": None}
    return {
        "system": "s", "rows": [{**row, **figures} for row in rows], "left_out": 3, "signature": "n:1",
        "mean_over_relations": {}, "labels": {"label_version": 1}, "warnings": [],
    }  # fmt: skip


def test_it_shows_rows_only_where_both_classes_have_twenty_items() -> None:
    rows = [
        {"group": "all", "n": 40, "plausible": 20},
        {"group": "ID", "n": 40, "plausible": 21},
        {"group": "OOD", "n": 40, "plausible": 19},
        {"group": "Adv", "n": 19, "plausible": 19},
    ]

    shown = shown_document(document_of(rows))

    assert shown["rows"] == [{"group": "all", "n": 40, "auc": 61.63, "f1": 39.44}]
    assert shown["withheld"] == ["ID", "OOD", "Adv"]
    assert shown.keys() & {"left_out", "mean_over_relations", "labels", "signature"} == set()


def test_it_gives_a_submitter_the_same_rounded_figures_everywhere(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path, 100), make_user("vera")
    scores = [float(place % 2) if place % 7 else 1.0 for place in range(100)]
    submission = send(campaign, vera, open_to(campaign), scores=scores).submission

    whole = document_for(submission, manages=True)
    shown = document_for(submission, manages=False)

    assert [row["group"] for row in shown["rows"]] == ["all", "ID", "Adv"]
    for row, full in zip(shown["rows"], whole["rows"], strict=False):
        assert row == {
            "group": row["group"],
            "n": full["n"],
            "auc": round(full["auc"], 2),
            "f1": round(full["f1"], 2),
        }
    [line] = leaderboard(campaign, split="test", viewer=vera, manages=False)
    assert line.mine
    assert line.figures["all"]["auc"].mean == shown["rows"][0]["auc"]
    assert line.figures["OOD"]["auc"].mean is None
    runs = over_runs(submission, manages=False)
    assert runs["rows"][0] == {
        "group": "all",
        "auc": {
            "mean": shown["rows"][0]["auc"],
            "sd": None,
            "n": 1,
            "reason": runs["rows"][0]["auc"]["reason"],
        },
        "f1": {"mean": shown["rows"][0]["f1"], "sd": None, "n": 1, "reason": runs["rows"][0]["f1"]["reason"]},
    }


def test_it_takes_the_mean_over_runs_before_it_rounds(tmp_path: Path) -> None:
    """45.652… and 43.902… have the mean 44.777…: 44.78, though the rounded figures' mean is 44.775."""
    campaign, vera = campaign_with(tmp_path), make_user("vera")
    board = open_to(campaign)
    rng = np.random.default_rng(3)
    for run in "abc":
        send(campaign, vera, board, system="one", run=run, scores=list(rng.random(50)))

    [managers] = leaderboard(campaign, split="test", viewer=None, manages=True)
    [submitters] = leaderboard(campaign, split="test", viewer=vera, manages=False)

    for name in ("auc", "f1"):
        exact, shown = managers.figures["all"][name], submitters.figures["all"][name]
        assert exact.mean is not None
        assert exact.sd is not None
        assert (shown.mean, shown.sd) == (round(exact.mean, 2), round(exact.sd, 2))
        assert exact.mean != shown.mean


# The board


def test_it_puts_the_best_first_and_accounts_apart(tmp_path: Path) -> None:
    campaign, vera, otto = campaign_with(tmp_path), make_user("vera"), make_user("otto")
    board = open_to(campaign)
    send(campaign, vera, board, system="perfect")
    send(campaign, vera, board, system="wrong", scores=[1.0 - place % 2 for place in range(50)])
    send(campaign, otto, board, system="wrong", scores=[0.5] * 50)
    send(campaign, vera, board, system="only dev", split="dev")

    lines = leaderboard(campaign, split="test", viewer=otto, manages=True)

    assert [(line.system, line.figures["all"]["auc"].mean, line.mine) for line in lines] == [
        ("perfect", 100.0, False),
        ("wrong", 50.0, True),
        ("wrong", 0.0, False),
    ]
    assert [line.system for line in leaderboard(campaign, split="dev", viewer=otto, manages=True)] == [
        "only dev"
    ]


def names_in(found: Any) -> set[str]:
    """Every name in a document."""
    if isinstance(found, dict):
        return set(found).union(*map(names_in, found.values()))
    return set().union(*map(names_in, found)) if isinstance(found, list) else set()


def test_managers_see_intervals_and_submitters_none(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path, 100), make_user("vera")
    board = open_to(campaign)
    for run in ("1", "2"):
        scores = [float(place % 2) if place % (6 + int(run)) else 1.0 for place in range(100)]
        sent = send(campaign, vera, board, system="one", run=run, scores=scores).submission

    seen = {}
    for manages in (True, False):
        lines = leaderboard(campaign, split="test", viewer=vera, manages=manages)
        seen[manages] = {
            "figures": document_for(sent, manages=manages),
            "runs": over_runs(sent, manages=manages),
            "board": board_document(lines, split="test", release=None, manages=manages),
        }

    assert not [name for name in names_in(seen[False]) if "ci95" in name]
    assert not [name for name in names_in(records("leaderboard", seen[False]["board"])) if "ci95" in name]
    own = seen[True]["figures"]["rows"][0]["auc_ci95"]
    both = seen[True]["runs"]["rows"][0]["auc"]
    assert both["ci95"][0] < both["mean"] < both["ci95"][1]
    assert both["ci95"] != own
    assert seen[True]["board"]["rows"][0]["ci95"] == both["ci95"]
    assert "95 % intervals" in as_markdown("leaderboard", seen[True]["board"])
    assert "95 % interval" not in as_markdown("leaderboard", seen[False]["board"])


def test_figures_measured_before_there_were_intervals_stay_readable(tmp_path: Path) -> None:
    campaign, vera = campaign_with(tmp_path, 100), make_user("vera")
    sent = send(
        campaign, vera, open_to(campaign), scores=[float(place % 2) for place in range(100)]
    ).submission
    result = sent.evaluation.result
    result["rows"] = [
        {name: value for name, value in row.items() if "ci95" not in name} for row in result["rows"]
    ]
    sent.evaluation.save()

    found = over_runs(sent, manages=True)["rows"][0]["auc"]
    assert (found["mean"], found["ci95"]) == (100, None)
    assert "measured again" in found["ci95_reason"]
    assert "| all |" in as_markdown("score", document_for(sent, manages=True))
