"""Benchmarks and what is sent to them: stored whole or not at all, and tables whose figures are known beforehand."""

import csv
import io
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEntry, Campaign, Job
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from scoring.models import Benchmark, BenchmarkResponse, BenchmarkSubmission, Evaluation
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.services.benchmarks import (
    BOARD,
    add_benchmark,
    open_questions,
    questions_file,
    read_sent,
    remove_benchmark,
    remove_submission,
    store_sent,
)
from scoring.services.downstream import scores
from scoring.services.downstream.accuracies import accuracies_document
from scoring.services.downstream.board import board_document
from scoring.services.downstream.figures import Draws
from scoring.services.downstream.kept import ACCURACIES, kept_accuracies, kept_board
from scoring.services.downstream.scores import check_scorable, score_waiting, statistics_of
from scoring.services.downstream.work import request_scoring, take_in
from scoring.services.targets import SubmissionError
from scoring.stats import generation
from scoring.tasks import downstream
from tests.factories import make_user
from tests.material import new_campaign
from tests.scoring.downstream import GOLD, PAIRS, SAID, choices_benchmark, chosen, pairs_benchmark, send

pytestmark = pytest.mark.django_db

FEW = Draws(resamples=200, shuffles=500)


@pytest.fixture
def campaign() -> Campaign:
    return new_campaign()


@pytest.fixture
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    monkeypatch.setattr(generation, "java", lambda: None)


def figures(document: dict[str, Any], system: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [one["figures"] for one in document["systems"] if one["system"] == system]
    return found


# Benchmarks


def test_a_benchmark_is_frozen_with_its_checksum_and_written_down(campaign: Campaign) -> None:
    benchmark = pairs_benchmark(campaign)

    assert (benchmark.questions.count(), benchmark.hypotheses, benchmark.cased) == (3, "first", False)
    assert benchmark.questions.all()[0].gold == ["to drink water", "to sleep well"]
    assert len(benchmark.sha256) == 64
    assert AuditEntry.objects.filter(campaign=campaign, action="benchmark added").count() == 1


def test_of_a_file_with_a_bad_row_nothing_is_stored(campaign: Campaign) -> None:
    bad = GOLD + 'q21,D,"[""A"", ""B""]",\nq1,A,,\n'

    with pytest.raises(SubmissionError) as caught:
        add_benchmark(campaign, bad.encode(), file_name="g.csv", name="x", kind="choice", by=None)

    assert [issue.line for issue in caught.value.issues] == [22, 23]
    assert not Benchmark.objects.exists()
    assert not AuditEntry.objects.filter(action="benchmark added").exists()


def test_two_benchmarks_of_one_campaign_have_two_names(campaign: Campaign) -> None:
    choices_benchmark(campaign, "CSQA")

    with pytest.raises(Refused, match="choose another name"):
        choices_benchmark(campaign, "ｃsqa")
    choices_benchmark(new_campaign(slug="other"), "CSQA")


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\u200bb"])
def test_a_name_is_there_short_and_visible(name: str, campaign: Campaign) -> None:
    with pytest.raises(Refused):
        choices_benchmark(campaign, name)


def test_what_is_to_be_answered_holds_nothing_that_is_right(campaign: Campaign) -> None:
    columns, rows = open_questions(pairs_benchmark(campaign))
    assert (list(columns), next(rows)) == (["head", "relation"], ["PersonX eats pizza", "xWant"])

    columns, rows = open_questions(choices_benchmark(campaign))
    assert (list(columns), next(rows)) == (["question_id", "options"], ["q1", ["A", "B", "C"]])


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_options_are_a_list_in_json_and_its_text_in_a_table(form: str, campaign: Campaign) -> None:
    data = b"".join(questions_file(choices_benchmark(campaign), form, mark=False)).decode()
    if form == "jsonl":
        first = json.loads(data.splitlines()[0])
        assert first["options"] == ["A", "B", "C"]
    else:
        first = next(csv.DictReader(data.splitlines()))
        assert json.loads(first["options"]) == ["A", "B", "C"]


def test_a_benchmark_is_removed_only_once_its_submissions_are(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    sent = send(benchmark, chosen(10), "base")

    with pytest.raises(Refused, match="has submissions"):
        remove_benchmark(benchmark, by=None)
    remove_submission(sent, by=None)
    remove_benchmark(benchmark, by=None)

    assert not Benchmark.objects.exists()
    assert not BenchmarkResponse.objects.exists()
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions)[-2:] == ["benchmark submission removed", "benchmark removed"]


# Submissions


def test_the_same_file_under_the_same_names_is_the_same_submission(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)

    first, again = send(benchmark, chosen(10), "base", "1"), send(benchmark, chosen(10), "base", "1")
    other = send(benchmark, chosen(10), "base", "2")

    assert first.pk == again.pk != other.pk
    assert BenchmarkResponse.objects.count() == 40


def test_a_later_file_of_a_run_counts_and_the_earlier_one_stays(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "base")
    send(benchmark, chosen(15), "base")
    score_waiting(benchmark)

    document = board_document(benchmark, draws=FEW)

    assert figures(document, "base")["accuracy"]["values"] == [75.0]
    assert benchmark.submissions.count() == 2


def test_a_file_sent_again_after_another_counts_again(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    first, second = send(benchmark, chosen(10), "base"), send(benchmark, chosen(15), "base")
    score_waiting(benchmark)
    first.refresh_from_db()
    more: dict[str, Any] = {"file_name": "s.csv", "system": "base", "run": "", "human": False}

    taken = take_in(benchmark, chosen(10).encode(), **more, by=make_user("vera"), replaces_others=True)

    assert (taken.stored.again, taken.stored.repeated) == (True, False)
    assert taken.job is not None
    assert taken.submission.pk > second.pk
    kept = (taken.submission.statistics, taken.submission.scored_at)
    assert kept == (first.statistics, first.scored_at)
    assert figures(board_document(benchmark, draws=FEW), "base")["accuracy"]["values"] == [50.0]
    assert BenchmarkResponse.objects.count() == 2 * 20
    assert AuditEntry.objects.filter(action="benchmark submission removed").count() == 1
    twice = take_in(benchmark, chosen(10).encode(), **more, by=make_user("wen"), replaces_others=False)
    assert (twice.stored.repeated, twice.submission, twice.job) == (True, taken.submission, None)
    with pytest.raises(Refused, match="Somebody else sent in this run"):
        take_in(benchmark, chosen(15).encode(), **more, by=make_user("xia"), replaces_others=False)


@pytest.mark.parametrize("name", ["gpt", "ＧＰＴ", "Gpt"])
def test_a_name_is_written_in_one_way(name: str, campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "GPT", "Run 1")

    with pytest.raises(Refused, match="“GPT” is on this benchmark already"):
        send(benchmark, chosen(11), name, "Run 1")
    with pytest.raises(Refused, match="“GPT” has a run “Run 1” on this benchmark already"):
        send(benchmark, chosen(11), "GPT", "run 1")
    send(benchmark, chosen(11), name, "run 1", human=True)
    send(benchmark, chosen(11), "GPT", "Run 1")
    send(benchmark, chosen(11), "GPT", "Run 2")
    send(choices_benchmark(campaign, "other"), chosen(11), name)
    assert benchmark.submissions.filter(human=False).count() == 3


def test_nobody_but_managers_replaces_what_somebody_else_sent(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "base", by=make_user("vera"))
    sent = read_sent(benchmark, chosen(11).encode(), file_name="s.csv")
    more: dict[str, Any] = {"file_name": "s.csv", "system": "base", "by": make_user("wen")}

    with pytest.raises(Refused, match="Somebody else sent in this run"):
        store_sent(benchmark, sent, **more, replaces_others=False)
    store_sent(benchmark, sent, **more)

    assert benchmark.submissions.count() == 2


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (chosen(10) + "q99,A\n", [22]),
        (chosen(10, n=19), [None]),
        (chosen(19, wrong="D"), [21]),
    ],
)
def test_of_a_file_that_does_not_fit_nothing_is_stored(
    text: str, lines: list[int | None], campaign: Campaign
) -> None:
    benchmark = choices_benchmark(campaign)

    with pytest.raises(SubmissionError) as caught:
        send(benchmark, text, "base")

    assert [issue.line for issue in caught.value.issues] == lines
    assert not BenchmarkSubmission.objects.exists()


# Choices: known answers


def test_accuracies_are_those_planted_by_skill_too(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(15), "big")
    send(benchmark, chosen(12), "base")
    score_waiting(benchmark)

    document = board_document(benchmark, draws=FEW)

    assert figures(document, "big")["accuracy"]["mean"] == 75.0
    assert figures(document, "base")["accuracy"]["mean"] == 60.0
    groups = {
        (group["group"], one["system"]): one["figures"]["accuracy"]["mean"]
        for group in document["groups"]
        for one in group["systems"]
    }
    assert groups == {
        ("time", "big"): 100.0, ("time", "base"): 100.0, ("place", "big"): 37.5, ("place", "base"): 0.0,
    }  # fmt: skip
    (difference,) = document["differences"]
    assert (difference["a"], difference["b"], difference["difference"]) == ("base", "big", -15.0)
    assert difference["p"] == difference["p_holm"]  # one pair: 3 of 3 discordant, exactly 1/4
    assert difference["p"] == pytest.approx(0.25, abs=0.06)


def test_runs_have_mean_and_spread_and_people_a_row_of_their_own(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    for run, right in (("1", 10), ("2", 12), ("3", 14)):
        send(benchmark, chosen(right), "base", run)
    send(benchmark, chosen(19), "base", human=True)
    score_waiting(benchmark)

    document = board_document(benchmark, draws=FEW)

    model, people = document["systems"]
    assert (model["human"], model["runs"]) == (False, ["1", "2", "3"])
    assert (model["figures"]["accuracy"]["mean"], model["figures"]["accuracy"]["sd"]) == (60.0, 10.0)
    assert (people["human"], people["figures"]["accuracy"]["mean"]) == (True, 95.0)
    assert document["differences"] == []


def test_people_may_bear_a_name_that_looks_like_a_systems(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "base")
    send(benchmark, chosen(12), "base (human)")
    send(benchmark, chosen(19), "base", human=True)
    score_waiting(benchmark)

    document = board_document(benchmark, draws=FEW)

    found = [(one["system"], one["human"], one["figures"]["accuracy"]["mean"]) for one in document["systems"]]
    assert found == [("base", False, 50.0), ("base (human)", False, 60.0), ("base", True, 95.0)]
    assert [(one["a"], one["b"]) for one in document["differences"]] == [("base", "base (human)")]


def test_holm_runs_over_the_pairs_of_a_figure(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    for name, right in (("a", 2), ("b", 10), ("c", 20)):
        send(benchmark, chosen(right), name)
    score_waiting(benchmark)

    found = board_document(benchmark, draws=FEW)["differences"]

    assert [(one["a"], one["b"]) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    smallest = min(one["p"] for one in found)
    assert next(one["p_holm"] for one in found if one["p"] == smallest) == pytest.approx(3 * smallest)


def test_the_table_of_accuracies_has_every_benchmark_and_their_plain_mean(campaign: Campaign) -> None:
    names = ("aNLI", "CSQA", "PIQA", "SIQA", "WG")
    for place, name in enumerate(names):
        benchmark = choices_benchmark(campaign, name)
        send(benchmark, chosen(10 + place), "base")
        send(benchmark, chosen(12 + place), "big")
        if name != "WG":
            send(benchmark, chosen(20), "partial")
        send(benchmark, chosen(19), "experts", human=True)
        score_waiting(benchmark)

    document = accuracies_document(campaign, draws=FEW)

    assert [one["name"] for one in document["benchmarks"]] == list(names)
    rows = {one["system"]: one for one in document["systems"]}
    assert [rows["base"]["benchmarks"][name]["mean"] for name in names] == [50.0, 55.0, 60.0, 65.0, 70.0]
    assert (rows["base"]["mean"]["mean"], rows["big"]["mean"]["mean"]) == (60.0, 70.0)
    assert rows["partial"]["benchmarks"]["WG"] is None
    assert rows["partial"]["mean"]["mean"] is None
    assert "not scored on every benchmark" in rows["partial"]["mean"]["reason"]
    (difference,) = document["differences"]
    assert (difference["a"], difference["b"], difference["difference"], difference["n"]) == (
        "base",
        "big",
        -10,
        100,
    )
    assert difference["p"] < 0.05
    table = as_markdown(ACCURACIES, document)
    assert "| model | aNLI | CSQA | PIQA | SIQA | WG | Avg. |" in table
    assert "| base | 50.00 | 55.00 | 60.00 | 65.00 | 70.00 | 60.00 |" in table
    assert "| experts (human) | 95.00 | 95.00 | 95.00 | 95.00 | 95.00 | 95.00 |" in table
    assert "base & 50.00 & 55.00 & 60.00 & 65.00 & 70.00 & 60.00 \\\\" in as_latex(ACCURACIES, document)


def test_the_table_of_accuracies_gives_signs_of_life(campaign: Campaign) -> None:
    for name in ("a", "b"):
        benchmark = choices_benchmark(campaign, name)
        send(benchmark, chosen(10), "base")
        score_waiting(benchmark)
    seen: list[tuple[int, int]] = []

    accuracies_document(campaign, draws=FEW, progress=lambda done, total: seen.append((done, total)))

    assert {(0, 4), (1, 4), (2, 4), (3, 4), (1, 1)} <= set(seen)


def test_two_benchmarks_of_one_file_are_drawn_apart(campaign: Campaign) -> None:
    for name in ("one", "two"):
        benchmark = choices_benchmark(campaign, name)
        send(benchmark, chosen(10), "base")
        score_waiting(benchmark)

    document = accuracies_document(campaign)

    (row,) = document["systems"]
    low, high = row["benchmarks"]["one"]["ci95"]
    mean_low, mean_high = row["mean"]["ci95"]
    assert mean_high - mean_low < 0.85 * (high - low)  # 1 / √2 of it, drawn together it would be as wide


# Generations


@pytest.mark.usefixtures("without_java")
def test_the_table_of_generations_is_laid_out_as_papers_print_it(campaign: Campaign) -> None:
    benchmark = pairs_benchmark(campaign)
    send(benchmark, SAID, "COMET")
    score_waiting(benchmark)

    document = board_document(benchmark, draws=FEW)

    found = figures(document, "COMET")
    # Of 8 words 5 stand in a reference (musical; to, drink; gets, tired); the closest references have 7.
    assert found["bleu1"]["mean"] == pytest.approx(62.5)
    assert found["meteor"]["mean"] is None
    assert "Java" in found["meteor"]["reason"]
    assert [one["group"] for one in document["groups"]] == ["xAttr", "xEffect", "xWant"]
    table = as_markdown(BOARD, document)
    assert "| model | BLEU-1 | BLEU-2 | BLEU-3 | BLEU-4 | METEOR | ROUGE-L | CIDEr |" in table
    assert "| COMET | 62.50 | " in table
    assert "–: METEOR needs Java" in table
    assert "Signature: `downstream|ver:1|" in table
    assert "\\caption{atomic}" in as_latex(BOARD, document)
    rows = list(csv.DictReader(io.StringIO(as_csv(BOARD, document))))
    (row,) = [one for one in rows if one["measure"] == "bleu1" and one["group"] == "all"]
    assert float(row["mean"]) == pytest.approx(62.5)


@pytest.mark.usefixtures("without_java")
def test_perfect_generations_score_all_there_is(campaign: Campaign) -> None:
    benchmark = pairs_benchmark(campaign)
    perfect = PAIRS.replace("reference", "hypothesis")
    send(benchmark, perfect, "copy")
    score_waiting(benchmark)

    found = figures(board_document(benchmark, draws=FEW), "copy")

    assert found["bleu1"]["mean"] == pytest.approx(100, abs=1e-6)
    assert found["rouge_l"]["mean"] == pytest.approx(100)


@pytest.mark.usefixtures("without_java")
def test_all_hypotheses_are_scored_where_the_benchmark_says_so(campaign: Campaign) -> None:
    text = PAIRS.replace("reference", "hypothesis")
    first, every = pairs_benchmark(campaign, "first"), pairs_benchmark(campaign, "all", hypotheses="all")
    for benchmark in (first, every):
        send(benchmark, text, "copy")
        score_waiting(benchmark)

    signatures = [board_document(one, draws=FEW)["signature"] for one in (first, every)]

    assert "|hyps:first|n:3|hypotheses:3|references:5|" in signatures[0]
    assert "|hyps:all|n:3|hypotheses:5|references:5|" in signatures[1]


@pytest.mark.usefixtures("without_java")
def test_a_system_without_meteor_is_compared_by_the_rest(campaign: Campaign) -> None:
    benchmark = pairs_benchmark(campaign)
    send(benchmark, SAID, "a")
    send(benchmark, SAID.replace("musical", "happy"), "b")
    score_waiting(benchmark)

    found = {one["measure"]: one for one in board_document(benchmark, draws=FEW)["differences"]}

    assert found["bleu1"]["difference"] == pytest.approx(12.5)
    assert found["meteor"]["difference"] is None
    assert "Java" in found["meteor"]["reason"]


def test_without_the_extra_nothing_is_scored_and_a_sentence_says_what_to_install(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "find_spec", lambda name: None)
    benchmark = pairs_benchmark(campaign)

    with pytest.raises(ProtocolError, match="not installed"):
        check_scorable(benchmark)
    with pytest.raises(ProtocolError, match="not installed"):
        statistics_of(benchmark, list(benchmark.questions.all()), [("x",)] * 3)
    check_scorable(choices_benchmark(campaign))


def test_a_run_that_cannot_be_seen_is_refused_with_a_sentence(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)

    with pytest.raises(Refused, match="all of them visible"):
        send(benchmark, chosen(3), "base", "\u200b")


# The job


def run_jobs() -> None:
    for job in Job.objects.filter(kind="downstream", state=Job.State.PENDING).order_by("pk"):
        downstream(job.pk)


def test_the_worker_scores_what_waits_and_keeps_the_tables(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "base")
    request_scoring(benchmark, by=None)
    assert kept_board(benchmark).waits

    run_jobs()

    kept, over_all = kept_board(benchmark), kept_accuracies(campaign)
    assert kept.is_current
    assert over_all.is_current
    assert kept.document is not None
    assert figures(kept.document, "base")["accuracy"]["mean"] == 50.0
    assert benchmark.submissions.get().scored_at is not None
    send(benchmark, chosen(20), "big")
    assert not kept_board(benchmark).is_current


def test_a_job_that_runs_twice_keeps_one_table(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    send(benchmark, chosen(10), "base")
    job = request_scoring(benchmark, by=None)
    downstream(job.pk)
    first = kept_board(benchmark).document
    Job.objects.filter(pk=job.pk).update(state=Job.State.PENDING)

    downstream(job.pk)

    assert kept_board(benchmark).document == first
    assert Evaluation.objects.filter(kind=BOARD).count() == 1


@pytest.mark.parametrize("kind", ["choice", "generation"])
def test_a_submission_that_is_removed_while_others_are_scored_stops_nothing(
    campaign: Campaign, without_java: None, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    make, text = (choices_benchmark, chosen(10)) if kind == "choice" else (pairs_benchmark, SAID)
    benchmark = make(campaign)
    sent = [send(benchmark, text, name) for name in ("first", "second", "third")]
    real = scores.score

    def score_and_remove(submission: BenchmarkSubmission, *told: Any) -> Any:
        found = real(submission, *told)
        BenchmarkSubmission.objects.filter(pk=sent[1].pk).delete()
        return found

    monkeypatch.setattr(scores, "score", score_and_remove)

    assert score_waiting(benchmark) == 2
    assert not benchmark.submissions.filter(scored_at__isnull=True).exists()


def test_with_the_last_submission_its_table_goes(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    sent = send(benchmark, chosen(10), "base")
    request_scoring(benchmark, by=None)
    run_jobs()

    remove_submission(sent, by=None)
    request_scoring(benchmark, by=None)
    run_jobs()

    assert kept_board(benchmark).document is None
    assert kept_accuracies(campaign).document is None


def test_a_job_without_the_extra_fails_with_its_sentence(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = pairs_benchmark(campaign)
    send(benchmark, SAID, "base")
    monkeypatch.setattr(generation, "find_spec", lambda name: None)
    job = request_scoring(benchmark, by=None)

    downstream(job.pk)

    job.refresh_from_db()
    assert job.state == Job.State.FAILED
    assert "pip install pycocoevalcap" in job.message
    assert benchmark.submissions.get().statistics is None


def test_a_job_of_a_benchmark_that_is_gone_ends_quietly(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    job = request_scoring(benchmark, by=None)
    remove_benchmark(benchmark, by=None)

    downstream(job.pk)

    job.refresh_from_db()
    assert job.state == Job.State.DONE


def test_reading_a_kept_table_takes_as_many_queries_for_many_systems(campaign: Campaign) -> None:
    benchmark = choices_benchmark(campaign)
    counts = []
    for systems in (("a",), ("b", "c", "d")):
        for name in systems:
            send(benchmark, chosen(10), name)
        request_scoring(benchmark, by=None)
        run_jobs()
        with CaptureQueriesContext(connection) as found:
            kept_board(benchmark)
        counts.append(len(found))

    assert counts == [3, 3]
