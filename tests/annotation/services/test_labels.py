"""Final labels: the rule over the experts' answers, repeatable, and known to be stale when an answer changes."""

import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from django.utils import timezone

from annotation.models import Assignment, Campaign, FinalLabel, Item
from annotation.protocol.errors import ProtocolError
from annotation.services.items import restore, withdraw
from annotation.services.labels import compute, finalize, rule_for, stale_labels, store
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    judge_rows,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    sheet,
    triple_campaign,
    triples,
)
from tests.shared import shared

pytestmark = pytest.mark.django_db

SCORES = ("0", "0.5", "1")
PLAUSIBLE = {("1", "1"), ("1", "0.5"), ("0.5", "1")}


def judged(protocol: str, votes: Sequence[Sequence[str]], folder: Path, *, k: int) -> Campaign:
    """One item per entry of `votes`, judged by as many experts; "" in it stands for cannot judge."""
    campaign = new_campaign(protocol, k=k)
    rows = triples(len(votes)) if protocol == "triple" else compounds(len(votes), contexts=1)
    load_rows(campaign, rows, folder)
    design = "single" if k == 1 else "cyclic"
    assign_parts(campaign, experts=["ada", "bo", "chen"][:k], design=design, seed=1)
    cause = {"triple": "not_understood", "compound": "source_broken"}[protocol]
    for row in Assignment.objects.order_by("item__position", "slot"):
        given = votes[row.item.position - 1]
        if row.slot <= len(given):
            label = given[row.slot - 1]
            answer = sheet([row], label) if label else sheet([row], "", cannot_judge=_cause(campaign, cause))
            save(answer, row.expert_id)
    return campaign


def _cause(campaign: Campaign, wanted: str) -> str:
    from annotation.protocol.base import get_protocol

    codes = [cause.code for cause in get_protocol(campaign.protocol).cannot_judge_causes]
    return wanted if wanted in codes else codes[0]


def outcomes() -> list[tuple[str, str]]:
    """(label, reason) in import order."""
    return list(FinalLabel.objects.order_by("item__position").values_list("label", "reason"))


def test_it_labels_all_nine_pairs_of_scores(tmp_path: Path) -> None:
    pairs = list(product(SCORES, repeat=2))
    campaign = judged("triple", pairs, tmp_path, k=2)
    result = finalize(campaign)
    assert (result.rule, result.labelled, result.unlabelled, result.changed) == ("ckbp2", 9, {}, 9)
    assert outcomes() == [("1" if pair in PLAUSIBLE else "0", "") for pair in pairs]
    assert list(FinalLabel.objects.order_by("item__position").values_list("inputs", flat=True)) == [
        list(pair) for pair in pairs
    ]


def test_it_gives_the_pairs_of_the_case_the_labels_it_names(tmp_path: Path) -> None:
    with shared("cases/c42_likert_nine_pairs.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    pairs = [[str(float(cell)).removesuffix(".0") for cell in row[1:3]] for row in rows]
    assert sorted(map(tuple, pairs)) == sorted(product(SCORES, repeat=2))
    campaign = judged("triple", pairs, tmp_path, k=2)
    finalize(campaign)
    assert outcomes() == [("1" if tuple(pair) in PLAUSIBLE else "0", "") for pair in pairs]


def test_it_gives_no_label_to_what_is_incomplete(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1"), ("1",), ()], tmp_path, k=2)
    document = run_json("finalize", campaign.slug)
    assert (document["labelled"], document["unlabelled"]) == (1, {"incomplete": 2})
    assert outcomes() == [("1", ""), ("", "incomplete"), ("", "incomplete")]


def test_it_says_in_words_how_many_got_a_label_and_why_not(tmp_path: Path) -> None:
    campaign = judged("compound", [("1", "0"), ("1", "1"), ("1",)], tmp_path, k=2)
    ran = run("finalize", campaign.slug)
    assert ran.code == 0
    assert "1 item labelled, 2 not" in ran.out
    assert "1 without a label: incomplete" in ran.out
    assert "1 without a label: tie" in ran.out


def test_it_takes_the_verdict_of_a_single_expert(tmp_path: Path) -> None:
    campaign = judged("compound", [("1",), ("0",), ("",), ()], tmp_path, k=1)
    result = finalize(campaign)
    assert result.rule == "majority"
    assert outcomes() == [("1", ""), ("0", ""), ("", "cannot_judge"), ("", "incomplete")]


def test_it_needs_a_majority_of_two(tmp_path: Path) -> None:
    votes = [("1", "1"), ("0", "0"), ("1", "0"), ("0", "1"), ("1", ""), ("", "0"), ("", ""), ("1",)]
    campaign = judged("compound", votes, tmp_path, k=2)
    result = finalize(campaign)
    assert outcomes() == [
        ("1", ""), ("0", ""), ("", "tie"), ("", "tie"), ("", "cannot_judge"), ("", "cannot_judge"),
        ("", "cannot_judge"), ("", "incomplete"),
    ]  # fmt: skip
    assert result.unlabelled == {"cannot_judge": 3, "incomplete": 1, "tie": 2}


def test_it_gives_a_triple_no_label_where_one_expert_cannot_judge(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", ""), ("0", "")], tmp_path, k=2)
    finalize(campaign)
    assert outcomes() == [("", "cannot_judge"), ("", "cannot_judge")]


def test_it_changes_nothing_when_repeated(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1"), ("0", "1")], tmp_path, k=2)
    first = finalize(campaign)
    before = list(FinalLabel.objects.order_by("pk").values())
    again = finalize(campaign)
    assert (first.label_version, again.label_version, again.changed) == (1, 1, 0)
    assert list(FinalLabel.objects.order_by("pk").values()) == before


def test_it_raises_the_version_of_what_changed_only(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1"), ("1", "1")], tmp_path, k=2)
    finalize(campaign)
    row = Assignment.objects.get(item__position=2, slot=1)
    save(sheet([row], "0"), row.expert_id)
    assert stale_labels(campaign) == 1
    result = finalize(campaign)
    assert (result.changed, result.label_version) == (1, 2)
    assert stale_labels(campaign) == 0
    assert list(FinalLabel.objects.order_by("item__position").values_list("label", "version")) == [
        ("1", 1), ("0", 2),
    ]  # fmt: skip


def test_it_finds_a_label_stale_though_the_same_answer_was_given_again(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1")], tmp_path, k=2)
    finalize(campaign)
    row = Assignment.objects.get(slot=1)
    save(sheet([row], "0"), row.expert_id)
    row.refresh_from_db()
    save(sheet([row], "1"), row.expert_id)
    assert stale_labels(campaign) == 1
    assert finalize(campaign).labelled == 1
    assert stale_labels(campaign) == 0


def test_it_finds_an_answer_that_was_saved_while_the_rule_ran(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1"), ("1", "1")], tmp_path, k=2)
    seen_at = timezone.now()
    computed = compute(campaign, "ckbp2")
    row = Assignment.objects.get(item__position=1, slot=2)
    save(sheet([row], "0"), row.expert_id)
    store(campaign, "ckbp2", computed, seen_at=seen_at)
    assert outcomes() == [("1", ""), ("1", "")]
    assert stale_labels(campaign) == 1
    finalize(campaign)
    assert outcomes() == [("0", ""), ("1", "")]
    assert stale_labels(campaign) == 0


def test_it_labels_by_another_rule_on_request_and_remembers_it(tmp_path: Path) -> None:
    campaign = judged("compound", [("1", "0"), ("1", "")], tmp_path, k=2)
    assert finalize(campaign, rule="unanimous").rule == "unanimous"
    assert finalize(Campaign.objects.get()).rule == "unanimous"
    assert {label.rule for label in FinalLabel.objects.all()} == {"unanimous"}


def test_it_must_be_told_a_rule_for_triples_with_three_experts(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "0.5", "1"), ("0", "0.5", "1")], tmp_path, k=3)
    with pytest.raises(ProtocolError, match="has no label rule by default; name one"):
        rule_for(campaign)
    ran = run("finalize", campaign.slug, "--json")
    assert ran.code == 1
    assert "name one" in ran.document["errors"][0]["message"]
    assert run("finalize", campaign.slug, "--rule", "ckbp2").code == 1
    assert not FinalLabel.objects.exists()
    assert run_json("finalize", campaign.slug, "--rule", "majority")["labelled"] == 2
    assert outcomes() == [("1", ""), ("0", "")]


def test_it_drops_the_label_of_a_withdrawn_item_and_gives_it_again(tmp_path: Path) -> None:
    campaign = judged("triple", [("1", "1"), ("0", "0")], tmp_path, k=2)
    finalize(campaign)
    mei = make_user("mei")
    item = Item.objects.get(position=1)
    withdraw(campaign, item.pk, reason="nonsense", by=mei)
    result = finalize(campaign)
    assert (result.labelled, result.label_version) == (1, 2)
    assert outcomes() == [("0", "")]
    restore(campaign, item.pk, by=mei)
    assert finalize(campaign).labelled == 2
    assert outcomes() == [("1", ""), ("0", "")]
    assert verify(campaign) == []


def test_it_counts_imported_judgements_like_any_others(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 2)
    for annotator, labels in (("human1", ("1", "0")), ("human2", ("0.5", "1"))):
        judge_rows(campaign, [{"label": label} for label in labels], annotator=annotator, by_position=True)
    assert not FinalLabel.objects.exists()  # an import of judgements never finalises
    assert finalize(campaign).labelled == 2
    assert outcomes() == [("1", ""), ("0", "")]


def test_it_does_not_label_before_everybody_has_answered(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 4, experts=["ada", "bo"])
    for row in Assignment.objects.filter(expert__username="ada"):
        save(sheet([row], "1"), row.expert_id)
    result = finalize(campaign)
    assert (result.labelled, result.unlabelled) == (0, {"incomplete": 4})
    answer_everything(campaign, "1")
    assert finalize(campaign).labelled == 4
