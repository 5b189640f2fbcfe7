"""Agreement as a job: worked out apart from being stored, the latest run of each measurement kept."""

from pathlib import Path

import pytest

from annotation.models import Campaign, Job, Part
from annotation.services import jobs
from annotation.services.parts import assign_parts
from scoring.models import Evaluation
from scoring.services import measure
from scoring.services.evaluations import AGREEMENT, agreement_work, request_agreement
from tests.material import answer_everything, load_rows, new_campaign, save, sheet, triples

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = new_campaign()
    load_rows(made, triples(8), tmp_path)
    assign_parts(made, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(made, lambda row: "1" if row.slot == 1 or row.item.position % 2 else "0.5")
    return made


def work(asked: list[Job]) -> None:
    for job in asked:
        jobs.run(job.pk, agreement_work)


def test_it_asks_for_the_whole_and_for_every_part(campaign: Campaign) -> None:
    asked = request_agreement(campaign, by=None)
    assert [job.arguments for job in asked] == [
        {},
        *({"part": part.pk} for part in Part.objects.order_by("index")),
    ]
    assert [job.pk for job in request_agreement(campaign, by=None)] == [job.pk for job in asked]
    one = Part.objects.order_by("index")[0]
    assert [job.arguments for job in request_agreement(campaign, by=None, part=one)] == [{}, {"part": one.pk}]


def test_it_keeps_one_result_for_each_measurement(campaign: Campaign) -> None:
    for _again in range(2):
        work(request_agreement(campaign, by=None))
    assert Evaluation.objects.count() == 3
    whole = Evaluation.objects.get(part=None)
    assert (whole.kind, whole.result["n_items"]) == (AGREEMENT, 8)
    assert whole.result["raters"] == ["A1", "A2"]  # stored under pseudonyms
    assert whole.signature == whole.result["signature"]
    parts = Evaluation.objects.exclude(part=None)
    assert sorted(row.result["n_items"] for row in parts) == [4, 4]
    assert set(Job.objects.values_list("state", flat=True)) == {"done"}


def test_it_stores_the_same_when_it_runs_twice(campaign: Campaign) -> None:
    (job, *_parts) = request_agreement(campaign, by=None)
    jobs.run(job.pk, agreement_work)
    before = Evaluation.objects.values().get(part=None)
    jobs.run(job.pk, agreement_work)  # delivered again: there is nothing to claim
    assert Evaluation.objects.values().get(part=None) == before
    work(request_agreement(campaign, by=None)[:1])
    after = Evaluation.objects.values().get(part=None)
    assert after["result"] == before["result"]


def test_it_replaces_a_result_by_a_newer_one(campaign: Campaign) -> None:
    work(request_agreement(campaign, by=None))
    before = Evaluation.objects.get(part=None).result["coefficients"]["raw"]["value"]
    row = campaign.rounds.get().assignments.filter(label="0.5")[0]
    save(sheet([row], "1"), row.expert_id)
    work(request_agreement(campaign, by=None))
    assert Evaluation.objects.get(part=None).result["coefficients"]["raw"]["value"] == before + 1 / 8


def test_it_leaves_the_other_parts_standing_where_one_fails(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Part.objects.order_by("index")[0]

    def report(asked: Campaign, kind: str, options: object) -> object:
        if getattr(options, "part", None) == failing.pk:
            raise ZeroDivisionError("a cell's text")
        return measure.report(asked, kind, options)  # type: ignore[arg-type]

    monkeypatch.setattr("scoring.services.evaluations.report", report)
    work(request_agreement(campaign, by=None))
    failed = Job.objects.get(state="failed")
    assert failed.arguments == {"part": failing.pk}
    assert "ZeroDivisionError" in failed.message
    assert "cell's text" not in failed.message
    assert Evaluation.objects.count() == 2
    monkeypatch.undo()
    work(request_agreement(campaign, by=None, part=failing))
    assert Evaluation.objects.count() == 3
