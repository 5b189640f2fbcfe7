"""A board: classes apart, label sources apart, precision for managers, and the experts beside the systems."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Membership, User
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.models import Submission
from scoring.reports import as_markdown
from scoring.services.boards import board_document, leaderboard, over_runs, set_board
from scoring.services.human_line import human_line
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.scores import Wish
from scoring.services.submissions import submit
from tests.factories import make_user
from tests.material import answer_everything, as_csv, load_rows, new_campaign, triples
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

CLASSES = ("test_set", "cs_head", "all_head", "adv")


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Forty-eight triples, a quarter of each class, all of test; judged by two who differ on every seventh."""
    made = new_campaign("triple", k=2)
    rows = [
        row | {"class": CLASSES[place % 4], "split": "test", "label": str(int(place % 8 < 4))}
        for place, row in enumerate(triples(48))
    ]
    load_rows(made, rows, tmp_path)
    add_member(made, make_user("mei"), Membership.Role.MANAGER)
    assign_parts(made, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(made, expert_answer)
    finalize(made)
    return made


def expert_answer(row: Assignment) -> str:
    place = row.item.position - 1
    if place % 7 == 0 and row.slot == 2:
        return "0.5"
    return "1" if place % 8 < 4 else "0"


def send(campaign: Campaign, system: str, *, run: str = "", labels: str = "", flipped: int = 0) -> Submission:
    rows = [
        {"triple_id": f"t{place + 1}", "prediction": int((place % 8 < 4) != (place < flipped))}
        for place in range(48)
    ]
    wish = Wish(system=system, run=run, labels=labels)
    mei = User.objects.get(username="mei")
    return submit(campaign, as_csv(rows).encode(), name="p.csv", wish=wish, by=mei).submission


def board(campaign: Campaign, *, manages: bool = True) -> list[Any]:
    return leaderboard(campaign, split="test", viewer=None, manages=manages)


def test_it_shows_both_out_of_domain_classes_apart(campaign: Campaign) -> None:
    send(campaign, "base", flipped=8)

    [line] = board(campaign)

    assert list(line.figures) == ["all", "ID", "OOD", "cs_head", "all_head", "Adv"]
    auc = {group: measures["auc"].mean for group, measures in line.figures.items()}
    assert all(value is not None for value in auc.values())


def test_precision_and_recall_are_for_managers(campaign: Campaign) -> None:
    send(campaign, "base", flipped=8)

    assert list(board(campaign)[0].figures["all"]) == ["auc", "f1", "precision", "recall"]
    assert list(board(campaign, manages=False)[0].figures["all"]) == ["auc", "f1"]
    page = text_of(client_of(User.objects.get(username="mei")).get("/campaigns/main/submissions/"))
    assert "Precision and recall System Runs" in page


def test_runs_against_final_and_imported_labels_are_two_lines(campaign: Campaign) -> None:
    first = send(campaign, "base", run="1", labels="imported")
    second = send(campaign, "base", run="2", labels="final", flipped=8)
    third = send(campaign, "base", run="3", flipped=16)  # the final ones, since there are some

    lines = board(campaign)

    assert {(line.labels, tuple(run.run for run in line.runs)) for line in lines} == {
        ("imported", ("1",)),
        ("final", ("2", "3")),
    }
    assert over_runs(first)["runs"] == ["1"]
    assert over_runs(second)["runs"] == over_runs(third)["runs"] == ["2", "3"]
    page = text_of(client_of(User.objects.get(username="mei")).get("/campaigns/main/submissions/"))
    assert "imported labels" in page
    assert "final labels" in page


def test_the_experts_stand_beside_the_systems(campaign: Campaign) -> None:
    send(campaign, "base", flipped=8)
    found = human_line(campaign, split="test", release=None, manages=True)
    assert found

    rows = {row["group"]: row for row in report(campaign, "human", Options(resamples=100))["rows"]}

    assert (found.n, found.left_out, found.slots) == (48, 0, 2)
    for group, measures in found.figures.items():
        assert measures["auc"].mean == pytest.approx(rows[group]["auc"])
        assert measures["f1"].mean == pytest.approx(rows[group]["f1"])
    document = board_document(board(campaign), split="test", release=None, manages=True, human=found)
    assert document["human"]["figures"]["all"]["auc"]["mean"] == pytest.approx(rows["all"]["auc"])
    json.dumps(document, allow_nan=False)
    assert "| human | 2 slots |" in as_markdown("leaderboard", document)
    page = text_of(client_of(User.objects.get(username="mei")).get("/campaigns/main/submissions/"))
    assert "The experts' line is the mean of 2 slots over 48 triples" in page


def test_a_submitter_sees_of_the_experts_what_they_see_of_a_system(campaign: Campaign) -> None:
    set_board(campaign, audience="members", quota=5, by=None)
    found = human_line(campaign, split="test", release=None, manages=False)
    assert found

    shown = found.figures["all"]["auc"].mean
    assert shown == pytest.approx(round(shown or 0, 2))
    assert list(found.figures["all"]) == ["auc", "f1"]
    assert found.figures["cs_head"]["auc"].mean is None  # fewer than twenty of a class


def test_without_votes_or_while_answers_are_open_there_is_no_line_of_experts(
    campaign: Campaign, tmp_path: Path
) -> None:
    other = new_campaign("triple", slug="other")
    load_rows(other, triples(4, label="1", split="test"), tmp_path)
    row = Assignment.objects.order_by("pk")[0]
    Assignment.objects.filter(pk=row.pk).update(revision=0, label="", answered_at=None)

    assert human_line(other, split="test", release=None, manages=True) is None
    assert human_line(campaign, split="test", release=None, manages=True) is None
