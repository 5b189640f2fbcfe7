"""The command that scores a release with a model: its file, its words, its refusals, and a kill in its middle."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Campaign
from scoring.management.commands import score_model
from scoring.models import Submission
from scoring.services.checkpoints import Text
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from tests.conftest import StartManage, eventually
from tests.material import Ran, load, load_rows, new_campaign, run, run_json, triples
from tests.scoring.tiny_models import edit_config, tiny
from tests.shared import shared

pytestmark = pytest.mark.django_db

SCORES = "main-v1-test-tiny.csv"


class Fake:
    """Every second triple is plausible to it."""

    versions: Mapping[str, str] = {"torch": "1"}

    def too_long(self, texts: Sequence[Text]) -> tuple[list[int], int]:
        return [], 100

    def score(self, texts: Sequence[Text]) -> list[float]:
        return [0.9 if int(text.rest.split()[-1]) % 2 else 0.1 for text in texts]


def released(folder: Path, n: int = 12) -> Campaign:
    """t1 … in test but for the last two in dev, every second one plausible; released as v1."""
    campaign = new_campaign()
    rows = [
        row | {"split": "test" if place <= n - 2 else "dev", "label": str(place % 2)}
        for place, row in enumerate(triples(n), start=1)
    ]
    load_rows(campaign, rows, folder)
    freeze(campaign, "v1", wish=SplitWish(), by=None)
    return campaign


def checkpoint(folder: Path, **config: Any) -> Path:
    """What looks like a checkpoint from outside, for runs with a scorer that needs none."""
    made = folder / "tiny"
    made.mkdir()
    (made / "model.safetensors").write_bytes(b"")
    (made / "config.json").write_text(
        json.dumps({"architectures": ["BertForSequenceClassification"], **config})
    )
    return made


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder of its own, with a model that needs no library."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(score_model, "load", lambda _checkpoint: Fake())


def said(folder: Path, *arguments: object, name: str = "tiny") -> Ran:
    return run("score_model", "main", "--release", "v1", "--checkpoint", folder / name, *arguments)


@pytest.mark.usefixtures("fake")
def test_it_writes_a_file_named_after_what_it_holds(tmp_path: Path) -> None:
    released(tmp_path)
    checkpoint(tmp_path)

    ran = said(tmp_path)

    assert ran.code == 0, ran.err
    assert (tmp_path / SCORES).read_text().splitlines()[:3] == ["triple_id,prediction", "t1,0.9", "t2,0.1"]
    assert f"10 triples scored. Written to {SCORES}; {SCORES}.header.json says how." in ran.out
    assert "Signature: model:BertForSequenceClassification|checkpoint:" in ran.out
    assert "10 of 10 scored" in ran.err
    assert "note: label 1 (LABEL_1) is read as plausible; --label names another." in ran.err
    again = said(tmp_path)
    assert "10 triples scored, 10 of them before" in again.out
    assert not Submission.objects.exists()


@pytest.mark.usefixtures("fake")
def test_it_scores_what_it_wrote(tmp_path: Path) -> None:
    released(tmp_path)
    folder = checkpoint(tmp_path)

    document = run_json(
        "score_model", "main", "--release", "v1", "--checkpoint", folder, "--out", "x.csv",
        "--submit", "BERT: seed 1", "--threshold", "tune",
    )  # fmt: skip

    submission = Submission.objects.get()
    assert (submission.system, submission.run, submission.split) == ("BERT", "seed 1", "test")
    assert submission.release is not None
    assert (document["output"], document["rows"], document["rows_before"]) == ("x.csv", 12, 0)
    assert document["score"]["submission"] == submission.pk
    assert document["score"]["rows"][0] | {"n": 10, "auc": 100.0, "f1": 100.0} == document["score"]["rows"][0]
    assert (document["score"]["tuned"], document["split"]) == (True, "test and dev")
    ran = said(tmp_path, "--out", "x.csv", "--submit", "BERT:seed 1", "--threshold", "tune")
    assert f"Submission {submission.pk}." in ran.out
    assert Submission.objects.count() == 1


@pytest.mark.usefixtures("fake")
def test_it_says_that_a_language_model_gives_no_probability_of_being_plausible(tmp_path: Path) -> None:
    released(tmp_path)
    checkpoint(tmp_path, architectures=["GPT2LMHeadModel"])

    assert "no probabilities of being plausible; for F1 take the threshold from dev" in said(tmp_path).err


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--batch-size", "0"], 2, "--batch-size is at least 1."),
        (["--out", "scores.txt"], 2, "ends in .csv"),
        (["--threshold", "0.5"], 2, "--threshold is for --submit."),
        (["--submit", ":1"], 2, "--submit takes the name of the system"),
        (["--submit", "s", "--threshold", "half"], 2, "--threshold takes a number or tune, not “half”."),
        (["--submit", "s", "--threshold", "nan"], 2, "--threshold takes a number or tune"),
        (["--release", "v9"], 1, "There is no release “v9” of this campaign; there are: v1."),
        (["--label", "7"], 1, "means plausible: 0 = LABEL_0, 1 = LABEL_1. See --label."),
        (["--template", "{head}"], 1, "See --template."),
        (["--checkpoint", "absent"], 1, "is no checkpoint"),
    ],
)
def test_it_refuses_what_cannot_work(arguments: list[str], code: int, sentence: str, tmp_path: Path) -> None:
    released(tmp_path)
    checkpoint(tmp_path)

    ran = said(tmp_path, *arguments)

    assert ran.code == code
    assert sentence in ran.err
    assert not list(tmp_path.glob("*.header.json"))
    assert not Submission.objects.exists()
    assert said(tmp_path, *arguments, "--json").document["errors"][0]["message"] in ran.err


@pytest.mark.usefixtures("fake")
def test_an_archived_campaign_is_read_and_not_written(tmp_path: Path) -> None:
    released(tmp_path)
    checkpoint(tmp_path)
    Campaign.objects.update(archived_at=timezone.now())

    assert said(tmp_path, "--submit", "s").code == 1
    assert not (tmp_path / SCORES).exists()
    assert said(tmp_path).code == 0


@pytest.mark.usefixtures("fake")
def test_it_scores_every_triple_of_the_released_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its triples stands in dev and in test; its ids, texts and splits are those of the files."""
    campaign = new_campaign()
    load(campaign, shared("data/ckbp/ckbp2.0.csv"))
    freeze(campaign, "v1", wish=SplitWish(), by=None)
    checkpoint(tmp_path)
    monkeypatch.setattr(Fake, "score", lambda _self, texts: [len(str(text)) / 1000 for text in texts])

    document = json.loads(said(tmp_path, "--submit", "length", "--json").out)

    assert (document["rows"], document["score"]["rows"][0]["n"]) == (4048, 4048)


# With the libraries


def test_a_real_model_goes_all_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path / "tiny", "BertForSequenceClassification")
    released(tmp_path)
    monkeypatch.chdir(tmp_path)

    ran = said(tmp_path, "--submit", "tiny", "--batch-size", "4")

    assert ran.code == 0, ran.err
    rows = [line.split(",") for line in (tmp_path / SCORES).read_text().splitlines()[1:]]
    stored = Submission.objects.get().predictions.order_by("item").values_list("score", flat=True)
    assert [float(score) for _id, score in rows] == list(stored)
    assert len(set(stored)) > 1
    assert "Loading weights" not in ran.err
    header = json.loads((tmp_path / f"{SCORES}.header.json").read_text())
    assert set(header["runs"][0]) == {"from_row", "batch_size", "torch", "transformers"}
    other = said(tmp_path, "--batch-size", "8", "--out", "eight.csv")
    assert other.code == 0
    eight = [float(line.split(",")[1]) for line in (tmp_path / "eight.csv").read_text().splitlines()[1:]]
    assert eight == pytest.approx(list(stored), abs=1e-5)
    edit_config(tmp_path / "tiny", note="changed")
    assert "begun otherwise; what differs: the checkpoint." in said(tmp_path).err


@pytest.mark.django_db(transaction=True)
def test_a_real_run_that_is_killed_ends_as_if_it_had_not_been(
    start_manage: StartManage, live_database_url: str, tmp_path: Path
) -> None:
    n = 1500
    folder = tiny(tmp_path / "tiny", "BertForSequenceClassification")
    released(tmp_path, n)

    def begin(name: str) -> Any:
        return start_manage(
            "score_model", "main", "--release", "v1", "--checkpoint", str(folder), "--out", str(tmp_path / name),
            "--batch-size", "2", DATABASE_URL=live_database_url, OMP_NUM_THREADS="1",
        )  # fmt: skip

    def lines(name: str) -> int:
        path = tmp_path / name
        return path.read_bytes().count(b"\n") if path.exists() else 0

    killed = begin("killed.csv")
    assert eventually(lambda: lines("killed.csv") > 20, within=300), killed.log.read_text()
    killed.kill()
    stopped_at = lines("killed.csv")
    assert stopped_at < n - 2
    again, one_go = begin("killed.csv"), begin("one.csv")
    for started in (again, one_go):
        assert started.process.wait(timeout=600) == 0, started.log.read_text()

    assert lines("killed.csv") == n - 1
    for ending in ("", ".header.json"):
        assert (tmp_path / f"killed.csv{ending}").read_bytes() == (tmp_path / f"one.csv{ending}").read_bytes()
    assert "of them before" in again.log.read_text()
