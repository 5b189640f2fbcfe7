"""Checking a campaign: every planted fault is found, and nothing is said of a good one."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.formats.compounds import read_compounds
from annotation.formats.tables import read_table
from annotation.formats.triples import read_triples
from annotation.models import (
    Annotation,
    Assignment,
    Campaign,
    Design,
    FinalLabel,
    HandIn,
    ImportBatch,
    Item,
    Output,
    Part,
    PartUnit,
    Round,
    User,
)
from annotation.services import verify as verify_module
from annotation.services.batches import close_batch
from annotation.services.discussion import open_thread
from annotation.services.imports import store
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.verify import verify
from tests.factories import make_assignment, make_member, make_user, save_label, signed_in
from tests.material import (
    answer_everything,
    as_csv,
    compounds,
    load_rows,
    new_campaign,
    run,
    save,
    sheet,
    triple_campaign,
    triples,
)
from tests.pages import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Four compounds for two of three experts, judged and finalised."""
    made = new_campaign("compound", k=2)
    load_rows(made, compounds(4, contexts=2, system="base"), tmp_path)
    assign_parts(made, experts=["ada", "bo", "chen"], design="cyclic", seed=1)
    answer_everything(made, lambda row: "0" if row.item.position == 3 else "1")
    finalize(made)
    assert verify(made) == []
    return made


def lose_an_assignment(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2, slot=2).delete()


def lose_all_assignments_of_an_item(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2).delete()


def leave_a_gap_in_the_slots(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2, slot=2).update(slot=3)


def withdraw_an_assignment(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2, slot=1).update(withdrawn_at=timezone.now())


def tear_a_unit(campaign: Campaign) -> None:
    row = Assignment.objects.filter(item__position=2)[0]
    other = Part.objects.exclude(assignments=row)[0]
    Assignment.objects.filter(pk=row.pk).update(part=other)


def take_a_unit_out_of_its_part(campaign: Campaign) -> None:
    PartUnit.objects.filter(unit__items__position=2).delete()


def change_an_answer_without_saving_it(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2, slot=1).update(label="0")


def turn_a_label_into_a_cause(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2, slot=1).update(label="", cannot_judge="broken_source")


def lose_an_annotation(campaign: Campaign) -> None:
    Annotation.objects.filter(assignment__item__position=2, assignment__slot=1).delete()


def skip_a_revision(campaign: Campaign) -> None:
    Annotation.objects.filter(assignment__item__position=2, assignment__slot=1).update(revision=5)


def give_another_label(campaign: Campaign) -> None:
    FinalLabel.objects.filter(item__position=2).update(label="0")


def give_a_label_without_reason(campaign: Campaign) -> None:
    FinalLabel.objects.filter(item__position=2).update(label="", reason="tie")


def name_an_unknown_rule(campaign: Campaign) -> None:
    FinalLabel.objects.filter(item__position=2).update(rule="toss a coin")


def rest_on_too_many_answers(campaign: Campaign) -> None:
    FinalLabel.objects.filter(item__position=2).update(inputs=["1", "1", "1"])


def rest_on_answers_nobody_gave(campaign: Campaign) -> None:
    FinalLabel.objects.filter(item__position=2).update(inputs=["0", "0"], label="0")


def leave_an_output_behind(campaign: Campaign) -> None:
    old = Item.objects.get(position=2)
    kept = {
        name: getattr(old, name) for name in ("unit", "context", "batch", "position", "key", "key_folded")
    }
    Item.objects.filter(pk=old.pk).update(retired_at=timezone.now(), retired_why="replaced")
    Item.objects.create(
        campaign=campaign, given_key=True, translation=old.translation, digest=old.digest, **kept
    )


def send_an_output_astray(campaign: Campaign) -> None:
    output = Output.objects.get(item__position=2)
    Output.objects.filter(pk=output.pk).update(item=Item.objects.get(position=3))


def lose_an_imported_item(campaign: Campaign) -> None:
    Assignment.objects.filter(item__position=2).delete()
    Item.objects.filter(position=2).delete()


def give_a_repeat_to_who_has_not_judged(campaign: Campaign) -> None:
    """The second expert's slot, drawn for who has judged in none."""
    row = a_repeat(campaign)
    stranger = make_user("eve")
    Assignment.objects.filter(pk=row.pk).update(expert=stranger)


def give_a_repeat_in_another_slot(campaign: Campaign) -> None:
    Assignment.objects.filter(pk=a_repeat(campaign).pk).update(slot=9)


def take_the_original_of_a_repeat_away(campaign: Campaign) -> None:
    row = a_repeat(campaign)
    Assignment.objects.filter(round__kind="main", item=row.item, slot=row.slot).update(
        answered_at=None, revision=0, label=""
    )
    Annotation.objects.filter(assignment__round__kind="main", assignment__item=row.item).delete()


def leave_a_repeat_with_somebody_who_left(campaign: Campaign) -> None:
    a_repeat(campaign)
    User.objects.filter(assignments__round__kind="repeat").update(is_active=False)


def take_the_expert_of_a_repeat_out(campaign: Campaign) -> None:
    row = a_repeat(campaign)
    campaign.memberships.filter(user=row.expert).update(role="viewer")


def give_a_repeat_twice(campaign: Campaign) -> None:
    row = a_repeat(campaign)
    again = Round.objects.create(
        campaign=campaign, kind="repeat", number=3, k=2, guideline=row.round.guideline
    )
    row.pk, row.round, row.position, row.queue = None, again, row.position + 1, row.queue + 1
    row.save()


def a_repeat(campaign: Campaign) -> Assignment:
    """An open hidden repeat, as a draw stores it; by itself it is no fault."""
    original = Assignment.objects.get(round__kind="main", item__position=2, slot=1)
    round_ = Round.objects.create(
        campaign=campaign, kind="repeat", number=2, k=2, guideline=original.round.guideline
    )
    made = make_assignment(
        original.item,
        original.expert,
        slot=1,
        round=round_,
        part=original.part,
        position=original.position + 1000,
        queue=original.queue + 1000,
    )
    assert verify(campaign) == []
    return made


def lose_a_hand_in_of_a_closed_batch(campaign: Campaign) -> None:
    part = a_closed_part(campaign)
    HandIn.objects.filter(part=part)[:1].get().delete()


def save_an_answer_after_the_discussion_began(campaign: Campaign) -> None:
    part = a_closed_part(campaign)
    row = part.assignments.order_by("pk")[0]
    open_thread(campaign, row.item_id, by=None)
    assert verify(campaign) == []
    save_label(row, row.label)


def a_closed_part(campaign: Campaign) -> Part:
    design = Design.objects.get(round__campaign=campaign)
    close_batch(campaign, design.pk, by=make_user("mei"))
    assert verify(campaign) == []
    return design.parts.filter(assignments__isnull=False).order_by("index")[0]


FAULTS: list[tuple[str, Callable[[Campaign], None]]] = [
    ("exactly k experts per item", lose_an_assignment),
    ("exactly k experts per item", lose_all_assignments_of_an_item),
    ("exactly k experts per item", leave_a_gap_in_the_slots),
    ("exactly k experts per item", withdraw_an_assignment),
    ("units are never torn", tear_a_unit),
    ("units are never torn", take_a_unit_out_of_its_part),
    ("answers agree with their annotations", change_an_answer_without_saving_it),
    ("answers agree with their annotations", turn_a_label_into_a_cause),
    ("answers agree with their annotations", lose_an_annotation),
    ("answers agree with their annotations", skip_a_revision),
    ("final labels follow their rule", give_another_label),
    ("final labels follow their rule", give_a_label_without_reason),
    ("final labels follow their rule", name_an_unknown_rule),
    ("final labels follow their rule", rest_on_too_many_answers),
    ("final labels follow their rule", rest_on_answers_nobody_gave),
    ("repeats have originals", give_a_repeat_to_who_has_not_judged),
    ("repeats have originals", give_a_repeat_in_another_slot),
    ("repeats have originals", take_the_original_of_a_repeat_away),
    ("repeats wait for somebody", leave_a_repeat_with_somebody_who_left),
    ("repeats wait for somebody", take_the_expert_of_a_repeat_out),
    ("nobody waits twice for one repeat", give_a_repeat_twice),
    ("frozen answers stay frozen", lose_a_hand_in_of_a_closed_batch),
    ("frozen answers stay frozen", save_an_answer_after_the_discussion_began),
    ("outputs stand in their context", send_an_output_astray),
    ("no output stands on a replaced item", leave_an_output_behind),
    ("imports are complete", lose_an_imported_item),
]


@pytest.mark.parametrize(("rule", "plant"), FAULTS, ids=[plant.__name__ for _rule, plant in FAULTS])
def test_it_finds(rule: str, plant: Callable[[Campaign], None], campaign: Campaign) -> None:
    plant(campaign)
    found = verify(campaign)
    assert rule in {violation.rule for violation in found}
    ran = run("verify", campaign.slug, "--json")
    assert ran.code == 1
    assert ran.document["ok"] is False
    assert {"rule": found[0].rule, "where": found[0].where} in ran.document["violations"]


def test_it_says_where_a_rule_is_violated(campaign: Campaign) -> None:
    lose_an_assignment(campaign)
    ran = run("verify", campaign.slug)
    assert ran.code == 1
    assert "exactly k experts per item: item at position 2 has 1 experts in the main round, not 2" in ran.err


def test_it_finds_nothing_in_a_good_campaign(campaign: Campaign) -> None:
    ran = run("verify", campaign.slug, "--json")
    assert (ran.code, ran.document) == (0, {"ok": True, "violations": []})
    assert "Everything that must hold does hold." in run("verify", campaign.slug).out


def test_it_does_not_blame_a_label_that_waits_for_the_rule(campaign: Campaign) -> None:
    row = Assignment.objects.get(item__position=2, slot=1)
    save(sheet([row], "0"), row.expert_id)
    assert verify(campaign) == []


def test_it_looks_at_one_campaign_only(campaign: Campaign, tmp_path: Path) -> None:
    other = triple_campaign(tmp_path, 2, slug="other")
    lose_an_assignment(campaign)
    assert verify(other) == []


def test_it_shows_a_hundred_of_each_rule_and_counts_the_rest(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "SHOWN", 2)
    Assignment.objects.filter(slot=2).delete()
    found = [violation.where for violation in verify(campaign) if "exactly k" in violation.rule]
    assert len(found) == 3
    assert found[-1] == "and 6 more"


def test_it_does_not_mind_an_import_that_never_was_published(campaign: Campaign) -> None:
    ImportBatch.objects.create(
        campaign=campaign, file_name="killed.csv", sha256="0" * 64, lease_until=timezone.now()
    )
    assert verify(campaign) == []
    ran = run("verify", campaign.slug, "--json")
    assert (ran.code, ran.document) == (0, {"ok": True, "violations": []})
    assert "the import of killed.csv was never finished" in ran.err
    mei = make_user("mei")
    make_member(campaign, mei, "manager", "M1")
    assert "The import of killed.csv was never finished." in text_of(
        signed_in(mei).get("/campaigns/main/verify/")
    )


def test_it_says_nothing_of_an_import_that_is_under_way(campaign: Campaign) -> None:
    ImportBatch.objects.create(
        campaign=campaign,
        file_name="now.csv",
        sha256="0" * 64,
        lease_until=timezone.now() + timedelta(minutes=1),
    )
    assert run("verify", campaign.slug).err == ""


SLUGS = (f"campaign-{number}" for number in count())


@st.composite
def designs(draw: st.DrawFn) -> dict[str, object]:
    """A protocol, units, systems, experts and a design that fits them."""
    design = draw(st.sampled_from(["cyclic", "pairs", "single"]))
    experts = draw(st.integers(2 if design == "pairs" else 1, 4))
    k = {"pairs": 2, "single": 1}.get(design) or draw(st.integers(1, experts))
    times = draw(st.integers(1, 2))
    return {
        "protocol": draw(st.sampled_from(["compound", "triple"])),
        "units": draw(st.integers(1, 5)),
        "contexts": draw(st.integers(1, 5)),
        "systems": draw(st.integers(1, 3)),
        "k": k,
        "experts": [f"expert {i}" for i in range(experts)],
        "design": design,
        "parts": None if design == "pairs" else experts * times,
        "seed": draw(st.integers(0, 2**31 - 1)),
        "labels": draw(st.lists(st.sampled_from(["0", "1", ""]), min_size=1, max_size=5)),
    }


@given(designs())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_finds_nothing_whatever_the_design(db: None, case: dict[str, object]) -> None:
    made = build(case)
    assert verify(made) == []
    labels = case["labels"]
    assert isinstance(labels, list)
    cause = "source_broken" if made.protocol == "compound" else "not_understood"
    cause = causes(made)[0] if cause not in causes(made) else cause
    answer_everything(made, lambda row: labels[row.item.position % len(labels)], cause=cause)
    assert verify(made) == []
    if made.protocol == "compound" or made.annotators_per_item == 2:
        finalize(made)
    else:
        finalize(made, rule="majority")
    assert verify(made) == []


def causes(campaign: Campaign) -> list[str]:
    from annotation.protocol.base import get_protocol

    return [cause.code for cause in get_protocol(campaign.protocol).cannot_judge_causes]


def build(case: dict[str, object]) -> Campaign:
    """The campaign of a case, every system in a file of its own, given out in parts."""
    n, k, systems, contexts = (int(str(case[name])) for name in ("units", "k", "systems", "contexts"))
    made = new_campaign(str(case["protocol"]), slug=next(SLUGS), k=k)
    if made.protocol == "triple":
        table = read_table(as_csv(triples(n)).encode(), name="t.csv")
        store(made, read_triples(table), sha256="")
    for system in range(systems if made.protocol == "compound" else 0):
        rows = compounds(n, contexts=contexts)
        for row in rows[: system * 2]:
            row["translation"] = f"{row['translation']}{system}"
        table = read_table(as_csv(rows).encode(), name="c.csv")
        store(made, read_compounds(table, system=f"s{system}"), sha256="")
    assign_parts(
        made,
        experts=list(case["experts"]),  # type: ignore[call-overload]
        design=str(case["design"]),
        seed=int(str(case["seed"])),
        parts=case["parts"],  # type: ignore[arg-type]
    )
    return made
