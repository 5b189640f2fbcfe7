"""Repeats made elsewhere: a second judgement by the same person, in a round of its own, for the self-consistency."""

from pathlib import Path
from typing import Any

import pytest

from annotation.formats.judgements import ROUNDS, read_judgements
from annotation.formats.tables import read_table
from annotation.models import Annotation, Assignment, AuditEntry, Campaign, Membership, Round, User
from annotation.services.campaigns import main_round
from annotation.services.judgements import import_judgements
from annotation.services.labels import finalize
from annotation.services.overview import expert_lines
from annotation.services.people import add_member
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    as_csv,
    compounds,
    exported,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    triple_campaign,
    write_csv,
)
from tests.pages import client_of, hidden, text_of

pytestmark = pytest.mark.django_db

FIRST = {"ann": "1110", "bob": "1100"}
AGAIN = {"ann": "1100", "bob": "1100"}  # ann changes t3


def rows(labels: dict[str, str], **more: object) -> list[dict[str, object]]:
    return [
        {"triple_id": f"t{place}", "annotator": name, "label": label, **more}
        for name, given in labels.items()
        for place, label in enumerate(given, start=1)
    ]


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Four triples, judged by ann and bob."""
    made = triple_campaign(tmp_path, 4)
    judge_rows(made, rows(FIRST))
    return made


@pytest.fixture
def again(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "again.csv", rows(AGAIN))


def answers(kind: str) -> dict[tuple[str, str], tuple[str, int]]:
    """(item, person) → label, slot"""
    found = Assignment.objects.filter(round__kind=kind)
    return {
        (key, name): (label, slot)
        for key, name, label, slot in found.values_list("item__key", "expert__username", "label", "slot")
    }


def test_repeats_stand_beside_the_first_answers_and_give_the_self_consistency(
    campaign: Campaign, again: Path
) -> None:
    finalize(campaign)
    before, labelled = answers("main"), list(campaign.items.values_list("final_label__label", flat=True))
    document = run_json("import_annotations", "main", again, "--round", "repeat")
    assert (document["added"], document["unchanged"], document["annotators"]) == (8, 0, ["ann", "bob"])
    assert answers("main") == before
    repeats = answers("repeat")
    assert repeats["t3", "ann"] == ("0", before["t3", "ann"][1])
    assert {key: slot for key, (_label, slot) in repeats.items()} == {
        key: slot for key, (_label, slot) in before.items()
    }
    round_ = Round.objects.get(kind=Round.Kind.REPEAT)
    assert (round_.k, round_.state, round_.number) == (2, Round.State.CLOSED, 1)
    assert verify(campaign) == []
    assert AuditEntry.objects.filter(action="judgements imported", detail__round="repeat").exists()

    found = run_json("report", "main", "--kind", "agreement")
    own = found["self_consistency"]
    assert own["overall"]["coefficients"]["raw"]["value"] == pytest.approx(7 / 8)
    assert own["by_person"]["ann"]["coefficients"]["raw"]["value"] == pytest.approx(3 / 4)
    assert own["by_person"]["bob"]["coefficients"]["raw"]["value"] == 1
    assert (own["shift"]["n"], own["shift"]["up"], own["shift"]["down"]) == (8, 0, 1)
    # Agreement between people and labels rest on the first answers alone.
    assert found["coefficients"]["raw"]["value"] == pytest.approx(3 / 4)
    assert found["n_items"] == 4
    finalize(campaign)
    assert list(campaign.items.values_list("final_label__label", flat=True)) == labelled


def test_the_same_file_again_adds_nothing_and_another_label_is_a_conflict(
    campaign: Campaign, again: Path, tmp_path: Path
) -> None:
    run_json("import_annotations", "main", again, "--round", "repeat")
    document = run_json("import_annotations", "main", again, "--round", "repeat")
    assert (document["added"], document["unchanged"]) == (0, 8)
    changed = write_csv(tmp_path / "changed.csv", rows({"ann": "1"} | {"bob": "0"}))
    ran = run("import_annotations", "main", changed, "--round", "repeat", "--json")
    assert ran.code == 1
    assert [(one["old"], one["new"]) for one in ran.document["conflicts"]] == [("1", "0")]
    assert Annotation.objects.filter(assignment__round__kind="repeat").count() == 8
    assert Round.objects.filter(kind="repeat").count() == 1


def test_what_nobody_judged_before_is_no_repeat(campaign: Campaign, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "again.csv", rows({"ann": "1", "zoe": "10"}))
    ran = run("import_annotations", "main", file, "--round", "repeat", "--json")
    assert ran.code == 1
    assert [(one["line"], one["column"]) for one in ran.document["errors"]] == [
        (3, "annotator"),
        (4, "annotator"),
    ]
    assert "zoe has not judged this item in the main round" in ran.document["errors"][0]["message"]
    assert not Round.objects.filter(kind="repeat").exists()
    assert not Membership.objects.filter(user__username="zoe").exists()
    wrong_slot = write_csv(tmp_path / "slot.csv", rows({"bob": "1"}, slot=1))
    ran = run("import_annotations", "main", wrong_slot, "--round", "repeat")
    assert (ran.code, "bob has slot 2 of this item, not slot 1" in ran.err) == (1, True)


def test_nobody_is_given_work_in_a_round_of_repeats(tmp_path: Path) -> None:
    made = triple_campaign(tmp_path, 4, experts=["ada", "lin"])
    answer_everything(made, "1")
    file = write_csv(tmp_path / "again.csv", rows({"ada": "10", "lin": "1"}))
    assert run_json("import_annotations", "main", file, "--round", "repeat")["added"] == 3
    for expert in User.objects.filter(username__in=["ada", "lin"]):
        assert next_screens(made, expert_id=expert.pk, count=5) == []
    assert [(line.given, line.answered) for line in expert_lines(main_round(made))] == [(4, 4), (4, 4)]


@pytest.mark.parametrize("form", ["csv", "jsonl", "xlsx"])
def test_an_export_with_both_rounds_comes_back_round_by_round(
    form: str, campaign: Campaign, again: Path, tmp_path: Path
) -> None:
    run_json("import_annotations", "main", again, "--round", "repeat")
    file = tmp_path / f"all.{form}"
    file.write_bytes(exported(campaign, "annotations", form))
    before = run_json("report", "main", "--kind", "agreement")["self_consistency"]
    other = new_campaign(slug="other")
    load_rows(other, [{**row, "triple_id": row["triple_id"]} for row in _triples(campaign)], tmp_path)
    for kind, skipped in (("main", "repeat"), ("repeat", "main")):
        document = run_json("import_annotations", "other", file, "--round", kind)
        assert document["added"] == 8
        assert [one["message"].split(";")[0] for one in document["warnings"]] == [
            f"8 rows belong to a round “{skipped}”"
        ]
    assert run_json("report", "other", "--kind", "agreement")["self_consistency"] == before


def _triples(campaign: Campaign) -> list[dict[str, Any]]:
    return [
        {"triple_id": item.key, "head": item.head, "relation": item.relation, "tail": item.tail}
        for item in campaign.items.order_by("position")
    ]


def test_a_column_that_says_something_else_is_no_round(campaign: Campaign) -> None:
    assert set(ROUNDS) == set(Round.Kind.values)
    file = read_judgements(
        read_table(as_csv(rows(AGAIN, round="second wave")).encode(), name="a.csv"), protocol="triple"
    )
    assert len(file.rows) == 8
    assert import_judgements(campaign, file, repeats=True).added == 8


def test_compounds_are_repeated_too_and_give_the_noise(tmp_path: Path) -> None:
    made = new_campaign("compound", k=1)
    load_rows(made, compounds(12), tmp_path, system="base")
    judged = [{"item_id": row["item_id"], "label": "1"} for row in compounds(12)]
    judge_rows(made, judged, annotator="ann")
    again = [{**row, "label": "0" if row["item_id"] == "c1-1" else "1"} for row in judged[:30]]
    file = write_csv(tmp_path / "again.csv", again)
    run_json("import_annotations", "main", file, "--annotator", "ann", "--round", "repeat")
    rates = run_json("report", "main", "--kind", "error-rates")
    assert (rates["instance"]["n"], rates["instance"]["errors"]) == (60, 0)
    assert "source:repeats" in rates["noise_corrected"]["signature"]
    consistency = run_json("report", "main", "--kind", "agreement")["self_consistency"]
    assert consistency["shift"]["n"] == 30


def test_the_page_takes_repeats(campaign: Campaign, again: Path) -> None:
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    client, address = client_of(mei), "/campaigns/main/import/"
    with again.open("rb") as file:
        sent = {"kind": "judgements", "judgements-file": file, "judgements-repeats": "on"}
        preview = client.post(address, sent, follow=True)
    assert "8" in text_of(preview)
    assert not Round.objects.filter(kind="repeat").exists()
    confirm = preview.redirect_chain[-1][0]
    done = client.post(f"{confirm}confirm/", {"seen": hidden(preview, "seen")}, follow=True)
    assert done.status_code == 200
    assert len(answers("repeat")) == 8
