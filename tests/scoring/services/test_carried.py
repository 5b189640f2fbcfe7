"""Figures on verdicts that are carried over: counted in error rates, in nothing about experts, with their error."""

import csv
import io
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, Campaign, CarryOver, User
from annotation.services.batches import close_batch
from annotation.services.campaigns import main_round
from annotation.services.carried import standing
from annotation.services.carry_over import end_carry_over
from annotation.services.labels import finalize
from scoring.records import records
from scoring.services.gather import labels_of
from scoring.services.kept_reports import inputs_of
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.release_content import SplitWish, gather_content
from scoring.services.what_if import compared
from tests.carrying import CONTEXTS, LEXICON, N, give_out, rows, says, truth, two_systems, wish
from tests.factories import make_repeat, make_user
from tests.material import answer_everything, load_rows, new_campaign, run, save, sheet

pytestmark = pytest.mark.django_db

ASKED = Options(resamples=100, seed=1)
LATER = Options(system="later", resamples=100, seed=1)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Ada judges both systems; a fifth of what could be carried over is judged anyway, and finalised."""
    made = two_systems(tmp_path)
    give_out(made, carry_over=wish(20))
    answer_everything(made, says)
    finalize(made)
    return made


@pytest.fixture
def beside(tmp_path: Path) -> Campaign:
    """The same with everything judged."""
    made = two_systems(tmp_path, slug="beside")
    give_out(made)
    answer_everything(made, says)
    finalize(made)
    return made


def n_carried() -> int:
    return standing().count()


class TestErrorRates:
    def test_they_are_those_of_judging_everything(self, campaign: Campaign, beside: Campaign) -> None:
        one, other = (report(made, "error-rates", LATER) for made in (campaign, beside))

        for rate in ("instance", "aggregate", "all_contexts_wrong"):
            assert one[rate] == other[rate]
        assert one["wrong_contexts_histogram"] == other["wrong_contexts_histogram"]
        assert {
            by: {value: row["instance"] for value, row in found.items()}
            for by, found in one["by"].items()
            if by not in ("reference_seen", "session_position")
        } == {
            by: {value: row["instance"] for value, row in found.items()}
            for by, found in other["by"].items()
            if by not in ("reference_seen", "session_position")
        }

    def test_beside_every_rate_stands_how_many_are_carried(self, campaign: Campaign) -> None:
        document = report(campaign, "error-rates", LATER)

        assert document["carried"] == n_carried() > 0
        assert sum(row["carried"] for row in document["by"]["determiner"].values()) == n_carried()
        assert all("carried" in row for found in document["by"].values() for row in found.values())
        assert document["labels"]["carried"] == n_carried()
        assert "majority/1+carried/1@final:" in document["signature"]
        assert {
            row["carried"]
            for row in records("error-rates", document)
            if row["group"] == "all" and row["by"] == "all"
        } >= {n_carried()}

    def test_a_system_of_which_nothing_is_carried_says_so(self, campaign: Campaign) -> None:
        assert report(campaign, "error-rates", Options(system="base", resamples=100))["carried"] == 0

    def test_before_labels_are_final_too(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish(20))
        answer_everything(made, says)

        document = report(made, "error-rates", LATER)

        assert document["labels"]["source"] == "computed"
        assert (document["carried"], document["instance"]["n"]) == (n_carried(), N * CONTEXTS)

    def test_while_it_is_off_no_document_says_a_word(self, beside: Campaign) -> None:
        for kind, asked in (
            ("error-rates", LATER),
            ("comparison", ASKED),
            ("methods", ASKED),
            ("what-if", ASKED),
        ):
            assert "carr" not in str(report(beside, kind, asked)).lower()
        assert labels_of(beside).carried == frozenset()

    @pytest.mark.parametrize("form", ["md", "latex", "csv"])
    def test_as_text(self, campaign: Campaign, form: str) -> None:
        ran = run("report", campaign.slug, "--kind", "error-rates", "--system", "later", "--format", form)
        assert ran.code == 0
        assert ("carried" if form == "csv" else "carried over") in ran.out
        if form == "csv":
            assert {len(row) for row in csv.reader(io.StringIO(ran.out))} == {
                len(next(csv.reader(io.StringIO(ran.out))))
            }


def test_agreement_and_self_consistency_count_what_was_judged_once(tmp_path: Path) -> None:
    made = two_systems(tmp_path, k=2)
    give_out(made, carry_over=wish(20))
    answer_everything(made, says)
    finalize(made)

    document = report(made, "agreement", ASKED)

    assert document["n_items"] == 2 * N * CONTEXTS - n_carried()
    assert Assignment.objects.count() == 2 * document["n_items"]
    assert "self_consistency" not in document


class TestError:
    def test_it_is_found_as_planted(self, campaign: Campaign) -> None:
        """Ada says otherwise of every third translation judged anyway, and of one of four repeats."""
        checked = list(CarryOver.objects.filter(checked=True).order_by("item__position"))
        planted = checked[::3]
        for pair in planted:
            row = Assignment.objects.get(item=pair.item)
            save(sheet([row], "0" if truth(row.item) == "1" else "1"), row.expert_id)
        sources = {pair.source_id for pair in checked}
        originals = Assignment.objects.filter(round__kind="main").exclude(item__in=sources).order_by("pk")[:4]
        for place, row in enumerate(originals):
            again = make_repeat(row, position=10_000 + place)
            says_so = truth(row.item) if place else ("0" if truth(row.item) == "1" else "1")
            save(sheet([again], says_so), row.expert_id)
        finalize(campaign)

        found = report(campaign, "comparison", ASKED)["judging"]["carry_over"]

        assert (found["labels"], found["sources"]) == (n_carried(), n_carried())
        pooled = found["pooled"]
        assert pooled["differs"]["n"] == len(checked)
        assert pooled["differs"]["errors"] == len(planted)
        assert (pooled["repeats"]["n"], pooled["repeats"]["errors"]) == (4, 1)
        assert pooled["excess"] == pytest.approx(100 * (len(planted) / len(checked) - 1 / 4))
        assert pooled["ci95"][0] < pooled["excess"] < pooled["ci95"][1]
        assert list(found["by_person"]) == ["A1"]
        assert found["rules"][0].startswith("carry-over|ver:1|")
        # no consequence for what is carried
        assert report(campaign, "error-rates", LATER)["carried"] == n_carried()

    def test_without_repeats_it_says_why_nothing_is_taken_off(self, campaign: Campaign) -> None:
        pooled = report(campaign, "comparison", ASKED)["judging"]["carry_over"]["pooled"]

        assert (pooled["differs"]["errors"], pooled["excess"]) == (0, None)
        assert pooled["reason"] == "these experts were given nothing again"

    def test_who_judged_the_source_is_compared_and_nobody_else(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path, k=2)
        give_out(made, carry_over=wish(20))
        answer_everything(made, says)
        n_checked = CarryOver.objects.filter(checked=True).count()
        pair = CarryOver.objects.filter(checked=True).earliest("pk")
        Assignment.objects.filter(item=pair.source, slot=1).update(expert=_somebody())

        found = report(made, "comparison", ASKED)["judging"]["carry_over"]["pooled"]

        assert found["differs"]["n"] == 2 * n_checked - 1

    def test_what_stood_beside_its_source_on_one_screen_tells_nothing(self, tmp_path: Path) -> None:
        """Where all translations are shown at once, nobody judges the one without the other."""
        made = two_systems(tmp_path)
        Campaign.objects.filter(pk=made.pk).update(display=Campaign.Display.SIDE_BY_SIDE)
        made.refresh_from_db()
        give_out(made, carry_over=wish(20))
        answer_everything(made, says)
        finalize(made)
        for design in main_round(made).designs.all():
            close_batch(made, design.pk, by=None)

        found = report(made, "comparison", ASKED)["judging"]["carry_over"]

        assert found["on_one_screen"] == CarryOver.objects.filter(checked=True).count()
        assert (found["pooled"]["differs"]["n"], found["pooled"]["differs"]["percent"]) == (0, None)
        assert "with the source on the same screen (10)" in report(made, "methods", ASKED)["text"]["en"]

    def test_it_costs_as_many_queries_however_much_there_is(self, tmp_path: Path) -> None:
        costs = []
        for slug, n in (("small", 10), ("large", 60)):
            made = new_campaign("compound", slug=slug, k=1)
            for rest, name in (("挥手。", "base"), ("招手！", "later")):
                load_rows(made, rows(rest=rest)[:n], tmp_path, system=name)
            give_out(made, carry_over=wish(20))
            answer_everything(made, says)
            finalize(made)
            with CaptureQueriesContext(connection) as queries:
                report(made, "comparison", Options(resamples=20, texts=False))
            costs.append(len(queries))
        assert costs[0] == costs[1]

    def test_a_kept_comparison_is_older_once_it_is_ended(self, campaign: Campaign) -> None:
        before = inputs_of(campaign)
        end_carry_over(campaign, by=None)
        assert inputs_of(campaign) != before

    @pytest.mark.parametrize("form", ["md", "latex", "csv"])
    def test_as_text(self, campaign: Campaign, form: str) -> None:
        ran = run("report", campaign.slug, "--kind", "comparison", "--format", form)
        assert ran.code == 0
        assert ("carry-over" if form == "csv" else "Verdicts carried over") in ran.out


def _somebody() -> User:
    return make_user("somebody")


class TestMethods:
    def test_the_paragraph_names_rule_numbers_and_error(self, campaign: Campaign) -> None:
        for design in main_round(campaign).designs.all():
            close_batch(campaign, design.pk, by=None)
        document = report(campaign, "methods", ASKED)

        text = document["text"]["en"]
        assert f"labels {n_carried()}, sources {n_carried()}, rule carry-over|ver:1|" in text
        assert "of 10 such verdicts 0.00 % [0.00, " in text
        assert "is not known, since these experts were given nothing again" in text
        assert f"verdicts carried over {n_carried()}" in text
        n = 2 * N * CONTEXTS - n_carried()
        assert f"{n} final labels follow from the judgements by the rule majority" in text

    def test_figures_wait_until_nobody_is_judging(self, tmp_path: Path) -> None:
        made = two_systems(tmp_path)
        give_out(made, carry_over=wish(20))
        first = Assignment.objects.filter(item__in=standing().values("source")).earliest("pk")
        save(sheet([first], "1"), first.expert_id)
        finalize(made)

        text = report(made, "methods", ASKED)["text"]["en"]

        assert "labels 1, sources 1, rule carry-over|ver:1|" in text
        assert report(made, "comparison", ASKED)["judging"]["carry_over"]["sources"] == 1
        assert "such verdicts" not in text


def test_what_another_rule_or_model_would_change_goes_along_with_the_source(tmp_path: Path) -> None:
    made = two_systems(tmp_path, k=2)
    give_out(made, carry_over=wish(20))
    first = set(Assignment.objects.filter(slot=1).values_list("pk", flat=True))
    answer_everything(made, lambda row: "1" if row.pk in first and row.item.position % 3 == 0 else "0")
    finalize(made)

    for asked in (Options(rule="unanimous", resamples=100), Options(model="majority", resamples=100)):
        found = compared(made, asked)
        for side in (found.before, found.after):
            states = {side.state[item] for item in found.items}
            assert len(states) > 1
            for pair in standing():
                assert side.state[pair.item_id] == side.state[pair.source_id]
            assert side.labels.carried == {
                pair.item_id for pair in standing() if side.state[pair.item_id] in ("0", "1")
            }


def test_a_release_tells_carried_labels_from_judged_ones(campaign: Campaign, tmp_path: Path) -> None:
    for design in main_round(campaign).designs.all():
        close_batch(campaign, design.pk, by=None)
    content = gather_content(campaign, SplitWish())

    assert content.conditions["labels_by_rule"] == {
        "carried": n_carried(),
        "majority": 2 * N * CONTEXTS - n_carried(),
    }
    assert len(content.votes) == 2 * N * CONTEXTS - n_carried()
    assert len(content.items) == 2 * N * CONTEXTS


def test_the_automatic_check_is_held_against_what_was_judged(campaign: Campaign) -> None:
    document = report(
        campaign, "compound-check", Options(system="later", lexicon=LEXICON.encode(), resamples=100)
    )

    assert document["judged"] == N * CONTEXTS - n_carried()
    assert f"{n_carried()} verdicts are carried over" in " ".join(document["warnings"])
