"""The pages of downstream benchmarks: adding one, sending in, reading, and what none of them shows."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test.utils import CaptureQueriesContext

from annotation.models import Job, User
from scoring.models import Benchmark, BenchmarkSubmission
from scoring.services.boards import set_board
from scoring.stats import generation
from scoring.tasks import downstream
from scoring.templatetags.figures import percent_interval, row_word
from tests.factories import Cast, make_cast
from tests.pages import client_of, text_of
from tests.scoring.downstream import GOLD, SAID, choices_benchmark, chosen, pairs_benchmark, send

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/downstream/"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def add(user: User, text: str = GOLD, **fields: Any) -> HttpResponseBase:
    form = {"name": "csqa", "kind": "choice", "hypotheses": "first", **fields}
    form["file"] = SimpleUploadedFile("gold.csv", text.encode())
    return client_of(user).post(PAGE, form)


def submit(user: User, benchmark: Benchmark, text: str, **fields: Any) -> HttpResponseBase:
    form = {"system": "base", **fields, "file": SimpleUploadedFile("sent.csv", text.encode())}
    return client_of(user).post(f"{PAGE}{benchmark.pk}/", form)


def run_jobs() -> None:
    for job in Job.objects.filter(kind="downstream", state=Job.State.PENDING).order_by("pk"):
        downstream(job.pk)


def test_an_empty_page_says_what_to_do(cast: Cast) -> None:
    manager, viewer = (text_of(client_of(user).get(PAGE)) for user in (cast.mei, cast.vera))

    assert "There is no benchmark yet" in manager
    assert "Add a file of references or of right answers below" in manager
    assert "A manager adds one." in viewer
    assert "Check and freeze" not in viewer
    assert PAGE not in text_of(client_of(cast.ada).get("/work/"))


def test_a_manager_adds_a_benchmark_and_others_cannot(cast: Cast) -> None:
    answer = add(cast.mei)

    benchmark = Benchmark.objects.get()
    assert answer.headers["Location"] == f"{PAGE}{benchmark.pk}/"
    assert (benchmark.created_by, benchmark.questions.count()) == (cast.mei, 20)
    assert "Nothing was scored here yet" in text_of(client_of(cast.mei).get(f"{PAGE}{benchmark.pk}/"))
    for user in (cast.vera, cast.ada, cast.otto):
        assert add(user, name="other").status_code == 404


def test_bad_rows_are_named_and_nothing_is_stored(cast: Cast) -> None:
    answer = add(cast.mei, GOLD + "q21,,,\n")

    assert answer.status_code == 400
    page = text_of(answer)
    assert "Rows do not fit, so nothing was stored" in page
    assert "line 22, column “gold”: The question has no gold option" in page
    assert not Benchmark.objects.exists()


def test_a_file_is_stored_scored_by_the_worker_and_read(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)

    answer = submit(cast.mei, benchmark, chosen(15), run="1")
    waiting = text_of(client_of(cast.mei).get(f"{PAGE}{benchmark.pk}/"))
    run_jobs()
    page = text_of(client_of(cast.vera).get(f"{PAGE}{benchmark.pk}/"))
    over_all = text_of(client_of(cast.vera).get(PAGE))

    assert answer.status_code == 302
    assert "What was sent in waits to be scored" in waiting
    assert "75.00" in page
    assert "Signature: downstream|ver:1|" in page
    assert "How to read this" in page
    assert "csqa" in over_all
    assert "75.00" in over_all


def test_a_file_sent_again_after_another_is_said_to_count_again(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    for right in (10, 15):
        submit(cast.mei, benchmark, chosen(right), run="1")
    run_jobs()

    form = {"system": "base", "run": "1", "file": SimpleUploadedFile("sent.csv", chosen(10).encode())}
    told = text_of(client_of(cast.mei).post(f"{PAGE}{benchmark.pk}/", form, follow=True))
    run_jobs()
    page = text_of(client_of(cast.vera).get(f"{PAGE}{benchmark.pk}/"))

    assert "50.00" in page
    assert "75.00" not in page
    assert "another one after it. Now it counts again" in told


def test_rows_of_a_model_that_do_not_fit_are_named(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)

    answer = submit(cast.mei, benchmark, chosen(19, wrong="D"))

    assert answer.status_code == 400
    assert "line 21, column “choice”: “D” is none of the question's options" in text_of(answer)
    assert not BenchmarkSubmission.objects.exists()
    assert not Job.objects.exists()


def test_viewers_send_in_only_where_a_manager_opened_the_board(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    closed = submit(cast.vera, benchmark, chosen(10))
    set_board(cast.campaign, audience="members", quota=5, by=None)

    opened = submit(cast.vera, benchmark, chosen(10))

    assert (closed.status_code, opened.status_code) == (404, 302)
    assert BenchmarkSubmission.objects.get().created_by == cast.vera
    for user in (cast.ada, cast.otto):
        assert submit(user, benchmark, chosen(10)).status_code == 404


def test_without_the_extra_the_page_says_so_and_stores_nothing(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = pairs_benchmark(cast.campaign)
    monkeypatch.setattr(generation, "find_spec", lambda name: None)

    answer = submit(cast.mei, benchmark, SAID)

    assert answer.status_code == 400
    assert "pip install pycocoevalcap==1.2" in text_of(answer)
    assert not BenchmarkSubmission.objects.exists()


def test_generations_are_shown_with_a_dash_and_its_reason_for_meteor(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pycocoevalcap", reason="the extra “downstream” is not installed")
    monkeypatch.setattr(generation, "java", lambda: None)
    benchmark = pairs_benchmark(cast.campaign)
    submit(cast.mei, benchmark, SAID)
    run_jobs()

    page = text_of(client_of(cast.mei).get(f"{PAGE}{benchmark.pk}/"))

    for words in ("xEffect", "METEOR needs Java"):
        assert words in page
    # A kept document has lost the order of its members on PostgreSQL: figures stand under their own heads all the same.
    heads = "Runs BLEU-1 BLEU-2 BLEU-3 BLEU-4 METEOR ROUGE-L CIDEr"
    row = r"base 1 62\.50 .*? 35\.36 .*? 0\.00 .*?METEOR needs Java.*? 80\.55 .*? 169\.25"
    assert re.search(f"{heads} {row}", page)


def test_nothing_that_is_right_leaves_the_site(cast: Cast) -> None:
    gold = "question_id,gold\nq1,Zebra77\nq2,Zebra77\nq3,Zebra77\n"
    choices = choices_benchmark(cast.campaign, gold=gold)
    pairs = pairs_benchmark(cast.campaign)
    pairs.questions.filter(name__contains="sings").update(gold=["Zebra77"])
    submit(cast.mei, choices, "question_id,choice\nq1,B\nq2,B\nq3,A\n")
    run_jobs()
    client = client_of(cast.mei)
    addresses = [PAGE, *(f"{PAGE}{one.pk}/" for one in (choices, pairs))]
    addresses += [f"{PAGE}{choices.pk}/board.{form}" for form in ("md", "tex", "csv", "json")]
    addresses += [f"{PAGE}{one.pk}/questions.{form}" for one in (choices, pairs) for form in ("csv", "jsonl")]

    answers = [client.get(address) for address in addresses]
    refused = submit(cast.mei, choices, "question_id,choice\nq1,B\nq1,C\nq99,A\n")
    unfit = submit(cast.mei, pairs, SAID + "PersonX flies,xEffect,lands\n")

    assert {answer.status_code for answer in answers} == {200}
    assert (refused.status_code, unfit.status_code) == (400, 400)
    for answer in (*answers, refused, unfit):
        assert "Zebra77" not in whole(answer)


def whole(answer: HttpResponseBase) -> str:
    """Everything that was sent, of a file too."""
    assert isinstance(answer, HttpResponse | StreamingHttpResponse)
    return (answer.getvalue() if isinstance(answer, StreamingHttpResponse) else answer.content).decode()


def test_the_table_is_taken_along_in_four_forms(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    client = client_of(cast.vera)
    assert client.get(f"{PAGE}{benchmark.pk}/board.md").status_code == 404
    send(benchmark, chosen(15), "base")
    submit(cast.mei, benchmark, chosen(10), system="small")
    run_jobs()

    found = {form: client.get(f"{PAGE}{benchmark.pk}/board.{form}") for form in ("md", "tex", "csv", "json")}
    text = {form: whole(answer) for form, answer in found.items()}
    over_all = whole(client.get(f"{PAGE}accuracies.md"))

    assert "| base | 75.00 |" in text["md"]
    assert "base & 75.00" in text["tex"]
    assert text["csv"].startswith("\ufefftable,group,")
    assert json.loads(text["json"])["systems"][0]["figures"]["accuracy"]["mean"] == 75.0
    assert "attachment" in found["md"].headers["Content-Disposition"]
    assert "| base | 75.00 | 75.00 |" in over_all


def test_accuracies_stand_under_their_own_benchmarks(cast: Cast) -> None:
    planted = {"WinoGrande": 4, "aNLI": 12, "CSQA": 18}
    for name, right in planted.items():
        submit(cast.mei, choices_benchmark(cast.campaign, name), chosen(right))
        run_jobs()

    page = text_of(client_of(cast.mei).get(PAGE))

    found = re.search(
        r"System WinoGrande aNLI CSQA Mean base ([\d.]+).*?– [\d.]+ ([\d.]+).*?– [\d.]+ ([\d.]+)", page
    )
    assert found is not None
    assert found.groups() == ("20.00", "60.00", "90.00")


def test_one_benchmark_has_no_mean_beside_its_own_figures(cast: Cast) -> None:
    choices_benchmark(cast.campaign, "aNLI")
    for name, right in (("base", 4), ("large", 16)):
        submit(cast.mei, Benchmark.objects.get(), chosen(right), system=name)
        run_jobs()

    page = text_of(client_of(cast.mei).get(PAGE))

    assert "System aNLI base" in page
    assert "Differences of the means" not in page
    assert "gives every benchmark the same weight" not in page


def test_submissions_and_benchmarks_are_removed_in_that_order(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    sent = send(benchmark, chosen(15), "base")
    client = client_of(cast.mei)

    early = client.post(f"{PAGE}{benchmark.pk}/remove/")
    removed = client.post(f"{PAGE}submissions/{sent.pk}/remove/")
    run_jobs()
    gone = client.post(f"{PAGE}{benchmark.pk}/remove/")

    assert early.status_code == 409
    assert "Remove these first" in text_of(early)
    assert (removed.status_code, gone.status_code) == (302, 302)
    assert not Benchmark.objects.exists()


def test_a_benchmark_of_another_campaign_is_not_there(cast: Cast) -> None:
    other = choices_benchmark(cast.otto.memberships.get().campaign)

    for address in (f"{PAGE}{other.pk}/", f"{PAGE}{other.pk}/questions.csv", f"{PAGE}{other.pk}/board.md"):
        assert client_of(cast.mei).get(address).status_code == 404
    assert client_of(cast.mei).post(f"{PAGE}{other.pk}/remove/").status_code == 404


def test_an_archived_campaign_is_only_read(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    cast.campaign.archived_at = cast.campaign.created_at
    cast.campaign.save()

    assert submit(cast.mei, benchmark, chosen(10)).status_code == 409
    assert add(cast.mei, name="x").status_code == 409
    assert "Check, store and score" not in text_of(client_of(cast.mei).get(f"{PAGE}{benchmark.pk}/"))


def test_pages_take_as_many_queries_for_many_systems_as_for_one(cast: Cast) -> None:
    benchmark = choices_benchmark(cast.campaign)
    client = client_of(cast.mei)
    counts = []
    for systems in (("a",), ("b", "c", "d")):
        for name in systems:
            send(benchmark, chosen(10), name, by=cast.mei)
        submit(cast.mei, benchmark, chosen(11 + len(systems)), system=f"one more {len(systems)}")
        run_jobs()
        of_pages = []
        for address in (PAGE, f"{PAGE}{benchmark.pk}/"):
            with CaptureQueriesContext(connection) as found:
                assert client.get(address).status_code == 200
            of_pages.append(len(found))
        counts.append(of_pages)

    assert counts[0] == counts[1]
    assert max(counts[0]) <= 16


def test_an_interval_below_zero_has_a_word_between_its_bounds() -> None:
    assert percent_interval([-45.0, -5.0]) == "−45.00 to −5.00"
    assert percent_interval([5.0, 45.0]) == "5.00 – 45.00"


def test_a_pattern_may_break_behind_its_signs() -> None:
    assert row_word("NP:DET+ADJ") == "NP:<wbr>DET+<wbr>ADJ"
