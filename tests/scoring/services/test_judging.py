"""Systems that were not judged alike: how far, said in words, with the shift between batches beside it."""

from pathlib import Path
from typing import Any

import pytest

from annotation.models import Annotation, Assignment, Campaign, Membership
from annotation.services.later_batches import judged_later, later_draws
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from scoring.reports import as_markdown
from scoring.services.judging import NO_REPEATS, Circumstances, unlike
from scoring.services.measure import report
from scoring.services.options import Options
from tests.factories import make_guideline, make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, run_json
from tests.pages import client_of, text_of
from tests.scoring.kept import computed

pytestmark = pytest.mark.django_db

N = 12


def text_is_wrong(row: Assignment) -> str:
    return "0" if "错" in row.item.translation else "1"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Two systems judged together by Ada and Lin, half each; they differ in every second output."""
    made = new_campaign("compound", k=1)
    load_rows(made, compounds(N), tmp_path, system="base")
    load_rows(made, changed("大", range(0, 5 * N, 2)), tmp_path, system="big")
    assign_parts(made, experts=["ada", "lin"], design="single", seed=1)
    answer_everything(made, text_is_wrong)
    return made


def changed(word: str, places: range) -> list[dict[str, object]]:
    rows = compounds(N)
    for place in places:
        rows[place]["translation"] = f"{word}{'错' if place % 3 == 0 else '对'}{place}"
    return rows


def with_later(campaign: Campaign, folder: Path, *, again: float = 50, stricter: bool = False) -> Campaign:
    """A third system, of which every third output is new; the experts then call all that comes again wrong, or not."""
    load_rows(campaign, changed("晚", range(0, 5 * N, 3)), folder, system="late")
    assign_parts(campaign, experts=["ada", "lin"], design="single", seed=2, again=again)
    repeats = set(Assignment.objects.filter(round__kind="repeat").values_list("pk", flat=True))
    answer_everything(
        campaign, lambda row: "0" if stricter and row.pk in repeats else row.label or text_is_wrong(row)
    )
    return campaign


def judging(campaign: Campaign, **asked: Any) -> dict[str, Any]:
    found: dict[str, Any] = report(campaign, "comparison", Options(texts=False, **asked))["judging"]
    return found


def test_systems_judged_together_are_judged_alike(campaign: Campaign) -> None:
    assert judging(campaign) == {"pairs": [], "warnings": [], "shift": None}
    assert "Not judged alike" not in as_markdown("comparison", report(campaign, "comparison", Options()))


def test_a_later_system_was_judged_in_another_batch(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path)

    found = judging(campaign)

    assert set(judged_later(campaign).values()) == {1}
    alike = {"contexts": 5 * N, "other_experts": 0, "other_guidelines": 0, "other_displays": 0}
    assert found["pairs"] == [
        {"a": "base", "b": "late", **alike, "other_batches": 20},
        {"a": "big", "b": "late", **alike, "other_batches": 20},
    ]
    assert found["warnings"][0] == (
        "In 20 of 60 contexts the translations of base and late were judged in different batches, one later than the "
        "other."
    )
    assert found["shift"]["pooled"]["difference"] == 0
    assert set(found["shift"]["by_person"]) == {"A1", "A2"}
    low, high = found["shift"]["pooled"]["ci95"]
    assert low < 0 < high


def test_experts_who_judge_otherwise_show(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path, stricter=True)

    pooled = judging(campaign)["shift"]["pooled"]

    assert pooled["wrong_later"] == pooled["n"] > pooled["wrong_before"]
    assert pooled["difference"] == pytest.approx(100 * (1 - pooled["wrong_before"] / pooled["n"]))
    assert pooled["ci95"][0] > 0


def test_without_a_share_of_the_old_that_is_said(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path, again=0)
    found = judging(campaign)
    assert (found["shift"], found["shift_reason"]) == (None, NO_REPEATS)
    assert "whether the experts judge as they did" in as_markdown(
        "comparison", report(campaign, "comparison", Options(texts=False))
    )


def test_the_shift_is_that_of_the_batches_compared(campaign: Campaign, tmp_path: Path) -> None:
    """A fourth system comes in a batch beside which nothing was judged again."""
    with_later(campaign, tmp_path, stricter=True)
    load_rows(campaign, changed("末", range(1, 5 * N, 3)), tmp_path, system="last")
    assign_parts(campaign, experts=["ada", "lin"], design="single", seed=3, again=0)
    answer_everything(campaign, lambda row: row.label or text_is_wrong(row))
    assert set(judged_later(campaign).values()) == {1, 2}

    both = judging(campaign)
    alone = judging(campaign, among=("base", "last"))

    assert both["shift"]["pooled"]["n"] > 0
    assert both["shift_reason"] == (
        "Nothing was judged again beside the later batch of these pairs, so the shift is not theirs: base and last; "
        "big and last."
    )
    assert (alone["shift"], alone["shift_reason"]) == (None, NO_REPEATS)


def test_batches_are_told_apart_though_nothing_came_again(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path, again=0)
    load_rows(campaign, changed("末", range(0, 5 * N, 3)), tmp_path, system="last")
    assign_parts(campaign, experts=["ada", "lin"], design="single", seed=3, again=0)
    answer_everything(campaign, lambda row: row.label or text_is_wrong(row))

    assert set(judged_later(campaign).values()) == {1, 2}
    pairs = {(one["a"], one["b"]): one["other_batches"] for one in judging(campaign)["pairs"]}
    assert pairs["late", "last"] == 20


def test_other_guidelines_experts_and_displays_are_counted(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path)
    late = Annotation.objects.filter(
        assignment__round__kind="main", assignment__item__outputs__system__name="late",
        assignment__item__translation__startswith="晚",
    )  # fmt: skip
    late.filter(pk__in=list(late.values_list("pk", flat=True)[:7])).update(guideline=make_guideline(campaign))
    late.filter(pk__in=list(late.values_list("pk", flat=True)[7:10])).update(
        conditions={"display": "side_by_side"}
    )
    Assignment.objects.filter(pk__in=list(late.values_list("assignment", flat=True)[:2])).update(
        expert=make_user("bo")
    )

    found = judging(campaign)

    (pair, *_others) = found["pairs"]
    assert (pair["other_guidelines"], pair["other_displays"], pair["other_experts"]) == (7, 3, 2)
    assert any("by different experts" in one for one in found["warnings"])
    assert any("different versions of the guidelines" in one for one in found["warnings"])
    assert any("different display modes" in one for one in found["warnings"])


def test_two_runs_of_one_system_are_told_too(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(N), tmp_path, system="base", run="1")
    assign_parts(campaign, experts=["ada", "lin"], design="single", seed=1)
    answer_everything(campaign, "1")
    load_rows(campaign, changed("晚", range(0, 5 * N, 3)), tmp_path, system="base", run="2")
    assign_parts(campaign, experts=["ada", "lin"], design="single", seed=2, again=50)
    answer_everything(campaign, "1")

    found = judging(campaign)

    assert [(one["a"], one["b"], one["other_batches"]) for one in found["pairs"]] == [
        ("base / 1", "base / 2", 20)
    ]
    assert found["shift"]["pooled"]["n"] > 0


def test_runs_of_a_system_count_together() -> None:
    """Equal sets of circumstances are equal, whichever runs they come from; what nobody judged is no difference."""
    same = {1: 0, 2: 1, 3: 0, 4: 1}
    found = Circumstances(
        {"other_experts": same, "other_guidelines": dict.fromkeys(same, 0), "other_displays": dict.fromkeys(same, 0),
         "other_batches": dict.fromkeys(same, 0)}
    )  # fmt: skip
    assert unlike(found, {"a": [{7: 1}, {7: 2}], "b": [{7: 4}, {7: 3}]}) == []
    (pair,) = unlike(found, {"a": [{7: 1, 8: 1}], "b": [{7: 2, 8: 99}]})
    assert (pair.contexts, pair.n["other_experts"]) == (1, 1)


def test_it_stands_on_the_page_and_in_tables(campaign: Campaign, tmp_path: Path) -> None:
    mei = make_user("mei")
    add_member(campaign, mei, Membership.Role.MANAGER)
    with_later(campaign, tmp_path)

    page = text_of(computed(client_of(mei), "/campaigns/main/reports/comparison/"))

    assert "Not judged alike" in page
    assert "In 20 of 60 contexts the translations of base and late were judged in different batches" in page
    assert "Shift between the batches" in page
    document = run_json("report", campaign.slug, "--kind", "comparison")
    shown = as_markdown("comparison", document)
    assert "**Shift between batches**" in shown
    assert "In 20 of 60 contexts" in shown


def test_the_methods_paragraph_names_batches_share_and_shift(campaign: Campaign, tmp_path: Path) -> None:
    with_later(campaign, tmp_path)
    (draw,) = later_draws(campaign)

    said = report(campaign, "methods", Options())["text"]["en"]

    assert "compounds 12, systems 3, translations 180 (110 of them distinct)" in said
    assert "items 20, later batches 1, translations by system late: 20." in said
    n = draw.assignments.count()
    screens = draw.assignments.values("expert", "position").distinct().count()
    assert (
        f"Beside a later batch of 20 items, {screens} screens that its experts had judged before came" in said
    )
    assert f"seed 2 (asked for were 50 % of what they had judged): {n} items, {n} answers" in said
    assert "the rate of wrong moved by +0.00 points [" in said
    assert "Signature of the shift: batch-shift|ver:2|" in said
