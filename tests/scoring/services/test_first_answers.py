"""What is changed after a spot check sent it back: labels take it, what measures the experts on their own does not."""

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Campaign, Round
from annotation.services.campaigns import main_round
from annotation.services.gold import mark
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.spot_checks import Decision
from scoring.reports import as_markdown
from scoring.services.doubles import doubles_of
from scoring.services.first_answers import FirstAnswer, first_answers
from scoring.services.gather import choose_run, labels_of, slot_scores
from scoring.services.gold import gold_report
from scoring.services.later_round_methods import later_round_sentences
from scoring.services.measure import report
from scoring.services.options import Document, Options
from scoring.services.spot_checks import finish
from tests.annotation.services.test_repeats import expert
from tests.factories import save_label
from tests.material import answer_everything, compounds, load_rows, new_campaign
from tests.scoring.services.test_spot_checks import check, opened, ready

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Thirty triples, all “1”; a check has found errors of Ada in part 2, which went back to her."""
    made = ready(tmp_path)
    sent_back(made)
    return made


def sent_back(campaign: Campaign) -> Round:
    round_ = opened(campaign)
    check(campaign, wrong=5)
    return finish(round_, Decision.REWORK, reason="Too many.", rework=[("A1", 1)], by=expert("mei"))


def rows_of(campaign: Campaign, *, part: int, name: str = "ada") -> list[Assignment]:
    rows = main_round(campaign).assignments.filter(part__index=part, expert=expert(name))
    return list(rows.select_related("round__guideline").order_by("item__position"))


def agreement(campaign: Campaign) -> Document:
    return report(campaign, "agreement", Options(resamples=100))


def test_agreement_keeps_what_was_answered_before(campaign: Campaign) -> None:
    before = agreement(campaign)
    rows = rows_of(campaign, part=1)
    for row, label in zip(rows[:4], ("0", "0", "0.5", "1"), strict=True):
        save_label(row, label)

    after = agreement(campaign)

    assert {name: after[name] for name in ("coefficients", "pairs", "by", "distribution")} == {
        name: before[name] for name in ("coefficients", "pairs", "by", "distribution")
    }
    assert after["distribution"]["1"] == 60
    described = after["after_resolution"]
    assert (described["reworked"], described["changed"], described["judged_again"]) == (3, 3, 0)
    assert described["distribution"]["0"] == 2
    assert described["coefficients"]["raw"]["value"] < 1
    assert described["coefficients"]["raw"]["ci95"] is None
    assert "After resolution" in as_markdown("agreement", after)


def test_labels_take_what_is_answered_now(campaign: Campaign) -> None:
    row = rows_of(campaign, part=1)[0]
    save_label(row, "0")
    finalize(campaign)
    campaign.refresh_from_db()

    assert labels_of(campaign).by_item[row.item_id] == "0"
    assert slot_scores(campaign, [row.item_id])[0].tolist() == [1.0, 1.0]


def test_what_was_changed_before_the_check_was_decided_counts(tmp_path: Path) -> None:
    campaign = ready(tmp_path)
    row = rows_of(campaign, part=1)[0]
    save_label(row, "0.5")
    sent_back(campaign)
    save_label(row, "0")
    save_label(row, "0.5")
    save_label(row, "0")

    found = first_answers(campaign)

    assert [(key, one.label, one.now) for key, one in found.items()] == [
        ((row.item_id, row.expert_id), "0.5", "0")
    ]
    assert agreement(campaign)["distribution"] == {"0": 0, "0.5": 1, "1": 59}


def test_of_two_checks_the_first_counts(campaign: Campaign) -> None:
    row = rows_of(campaign, part=1)[0]
    save_label(row, "0.5")
    second = Round.objects.create(
        campaign=campaign,
        kind=Round.Kind.SPOT_CHECK,
        number=2,
        k=1,
        guideline=row.round.guideline,
        state=Round.State.CLOSED,
        outcome={"decision": "rework", "rework": [{"expert": "A1", "part": 1}]},
    )
    Round.objects.filter(pk=second.pk).update(closed_at=row.answered_at)
    save_label(row, "0")

    (one,) = first_answers(campaign).values()
    assert (one.label, one.now) == ("1", "0")


def test_other_parts_and_people_are_as_they_stand(campaign: Campaign) -> None:
    save_label(rows_of(campaign, part=0)[0], "0")
    save_label(rows_of(campaign, part=1, name="lin")[0], "0")

    assert first_answers(campaign) == {}
    assert agreement(campaign)["distribution"]["0"] == 2


def test_a_check_that_is_accepted_changes_nothing(tmp_path: Path) -> None:
    campaign = ready(tmp_path)
    round_ = opened(campaign)
    check(campaign)
    finish(round_, Decision.ACCEPT, reason="Fine.", by=expert("mei"))
    save_label(rows_of(campaign, part=1)[0], "0")

    assert first_answers(campaign) == {}
    assert agreement(campaign)["after_resolution"]["reason"] == "there was no resolution"


def test_a_cannot_judge_of_before_stays_one_and_one_of_now_does_not_count(tmp_path: Path) -> None:
    campaign = ready(tmp_path)
    unable, able = rows_of(campaign, part=1)[:2]
    save_label(unable, "")
    sent_back(campaign)
    save_label(unable, "1")
    save_label(able, "")

    assert sum(agreement(campaign)["distribution"].values()) == 59
    scores = slot_scores(campaign, [unable.item_id, able.item_id])
    assert sorted(str(value) for value in scores.ravel()) == ["1.0", "1.0", "1.0", "nan"]


def test_gold_measures_the_answers_of_before(campaign: Campaign) -> None:
    row = rows_of(campaign, part=1)[0]
    mark(campaign, row.item.position, label="1", note="", by=None)
    save_label(row, "0")

    assert [(one["n"], one["right"]) for one in gold_report(campaign)["experts"]] == [(1, 1), (1, 1)]


def test_the_noise_of_compounds_is_that_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = new_campaign("compound", k=2)
    load_rows(campaign, compounds(4), tmp_path, system="base")
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1)
    answer_everything(campaign)
    row = rows_of(campaign, part=0)[0]
    first = FirstAnswer(position=1, label="0", at=timezone.now(), now="1")
    changed = {(row.item_id, row.expert_id): first}
    monkeypatch.setattr("scoring.services.doubles.first_answers", lambda _campaign: changed)

    given = doubles_of(choose_run(campaign))

    assert given is not None
    assert (given[0].verdict == 0).sum() == 1


def test_it_takes_three_queries_whatever_was_changed(campaign: Campaign) -> None:
    counts = []
    for row in rows_of(campaign, part=1)[:2]:
        save_label(row, "0")
        with CaptureQueriesContext(connection) as queries:
            first_answers(campaign)
        counts.append(len(queries))
    assert counts == [3, 3]


def test_the_methods_paragraph_says_which_answers_count(campaign: Campaign) -> None:
    told = " ".join(later_round_sentences(campaign))
    assert "agreement counts what the experts had answered before, labels what they answered then" in told
