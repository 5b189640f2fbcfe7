"""A model's scores as a file: rows that `score` reads, whole after any stop, never mixed with another model's."""

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Campaign
from annotation.protocol.wording import default_wording
from annotation.services.errors import Refused
from scoring.models import Release, Submission
from scoring.services.checkpoints import CLASSIFIER, Checkpoint, Text
from scoring.services.model_scores import (
    TEMPLATE,
    Plan,
    check_template,
    header_of,
    plan_scores,
    verbalise,
    write_scores,
)
from scoring.services.release_content import SplitWish
from scoring.services.releases import freeze
from scoring.services.scores import Wish
from tests.conftest import ROOT
from tests.material import compounds, load_rows, new_campaign, run_json, triples

pytestmark = pytest.mark.django_db

BATCH = 4
CHECKPOINT = Checkpoint(
    folder=Path("/models/tiny"),
    architecture="TinyForSequenceClassification",
    kind=CLASSIFIER,
    fingerprint="a" * 64,
    labels=("LABEL_0", "LABEL_1"),
    label=1,
)


@dataclass
class Fake:
    """A scorer without a model. What it says depends on the whole batch, as the last digits of a real one do."""

    before_batch: Callable[[int], None] = lambda number: None
    limit: int = 1000
    batches: list[int] = field(default_factory=list)
    versions: Mapping[str, str] = field(default_factory=lambda: {"torch": "1"})

    def too_long(self, texts: Sequence[Text]) -> tuple[list[int], int]:
        return [place for place, text in enumerate(texts) if len(str(text)) > self.limit], self.limit

    def score(self, texts: Sequence[Text]) -> list[float]:
        self.before_batch(len(self.batches))
        self.batches.append(len(texts))
        whole = "\n".join(map(str, texts))
        return [_share(f"{text}\n{whole}") for text in texts]


def _share(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def frozen(folder: Path, rows: Sequence[Mapping[str, object]] = (), **fields: Any) -> Release:
    """t1 … t10 in test, t11 and t12 in dev, or these rows."""
    campaign = new_campaign()
    Campaign.objects.filter(pk=campaign.pk).update(**fields)
    campaign.refresh_from_db()
    known = rows or [
        row | {"split": "test" if place <= 10 else "dev", "label": str(place % 2)}
        for place, row in enumerate(triples(12), start=1)
    ]
    load_rows(campaign, known, folder)
    return freeze(campaign, "v1", wish=SplitWish(), by=None)


def planned(release: Release, *, template: str = TEMPLATE, **wish: Any) -> Plan:
    return plan_scores(release, CHECKPOINT, template=template, wish=Wish(system="", release=release, **wish))


def written(plan: Plan, path: Path, scorer: Fake | None = None, *, batch_size: int = BATCH) -> Fake:
    used = scorer or Fake()
    write_scores(plan, path, load=lambda _checkpoint: used, batch_size=batch_size)
    return used


def never(_checkpoint: Checkpoint) -> Fake:
    raise AssertionError("no model is needed here")


# Triples as texts


def test_it_says_a_triple_in_the_words_of_its_campaign() -> None:
    wording = default_wording("triple")
    triple = {"head": " PersonX  plant a\ttree", "relation": "xWant", "tail": "PersonX water {it} "}

    said = verbalise(TEMPLATE, wording, **triple)
    papers = verbalise("{head} {phrase} {tail}.", wording, **triple)
    marked = verbalise("{head} [SEP] {relation} [SEP] {tail}", wording, **triple)

    assert said == Text("PersonX plant a tree, afterwards, PersonX wants ", "PersonX water {it}")
    assert papers == Text("PersonX plant a tree as a result, PersonX wants to ", "PersonX water {it}.")
    assert str(marked) == "PersonX plant a tree [SEP] xWant [SEP] PersonX water {it}"
    with pytest.raises(Refused, match="“general Want” has no published phrase"):
        verbalise("{head} {phrase} {tail}", wording, **triple | {"relation": "general Want"})


@pytest.mark.parametrize(
    "template",
    [
        "", "{head} {tail}", "{relation} {tail}", "{head} {relation}", "{head} {relation} {tail} {tail}",
        "{head} {relation} {tail} {label}", "{head!r} {relation} {tail}", "{head} {relation:>9} {tail}",
        "{head} {relation} {tail", "{head} {relation} {{tail}}", "{head} {relation} {} {tail}",
        "{head.x} {relation} {tail}",
    ],
)  # fmt: skip
def test_it_refuses_a_template_that_says_no_triple(template: str) -> None:
    with pytest.raises(Refused, match=r"A template has \{head\}"):
        check_template(template)


def test_it_takes_the_words_that_were_frozen_with_the_release(tmp_path: Path) -> None:
    own = {"relations": [{"code": "leads", "connector": {"en": "which leads to", "zh": "导致"}}]}
    row = {
        "triple_id": "t1",
        "head": "rain",
        "relation": "leads",
        "tail": "mud",
        "split": "test",
        "label": "1",
    }
    release = frozen(tmp_path, [row], wording=own)

    Campaign.objects.update(wording={})

    assert planned(Release.objects.get(pk=release.pk)).texts == [Text("rain, which leads to ", "mud")]


# The file


def test_it_writes_a_file_that_score_reads_as_it_is(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"

    used = written(plan, path)
    document = run_json("score", "main", path, "--system", "tiny", "--release", "v1")

    lines = path.read_bytes().split(b"\r\n")
    assert lines[0] == b"triple_id,prediction"
    assert [line.split(b",")[0] for line in lines[1:]] == [b"t%d" % place for place in range(1, 11)] + [b""]
    assert used.batches == [4, 4, 2]
    assert (document["rows"][0]["n"], document["unknown_columns"]) == (10, [])
    stored = Submission.objects.get().predictions.values_list("score", flat=True)
    again = [score for start in (0, 4, 8) for score in Fake().score(plan.texts[start : min(start + 4, 10)])]
    assert list(stored) == again


def test_it_says_beside_the_file_what_the_scores_are(tmp_path: Path) -> None:
    release = frozen(tmp_path)
    written(planned(release), tmp_path / "said.csv")

    header = json.loads((tmp_path / "said.csv.header.json").read_text())

    assert header["signature"] == (
        f"model:TinyForSequenceClassification|checkpoint:{'a' * 12}|score:softmax, label 1 (LABEL_1)|"
        f"template:{TEMPLATE}|release:{release.sha256[:12]}|split:test|n:10"
    )
    assert (header["release"], header["checkpoint"], header["folder"]) == (release.sha256, "a" * 64, "tiny")
    assert header["runs"] == [{"from_row": 0, "batch_size": BATCH, "torch": "1"}]
    assert "/models" not in json.dumps(header)


def test_a_threshold_from_dev_needs_the_scores_of_dev(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path), threshold=None), tmp_path / "said.csv"
    written(plan, path)

    document = run_json("score", "main", path, "--system", "s", "--release", "v1", "--threshold", "tune")

    assert (len(plan.keys), plan.split, document["tuned"]) == (12, "test and dev", True)


def test_triples_without_ids_go_by_what_names_them(tmp_path: Path) -> None:
    """One stands twice; two others are alike for longer than a name that is shown."""
    long = "PersonX " + "walks and " * 30
    texts = [
        ("PersonX eats", "full"),
        ("PersonX eats", "full"),
        (f"{long}sits", "tired"),
        (f"{long}runs", "tired"),
    ]
    rows = [
        {"head": head, "relation": "xReact", "tail": tail, "split": "test", "label": str(place % 2)}
        for place, (head, tail) in enumerate(texts)
    ]
    plan, path = planned(frozen(tmp_path, rows)), tmp_path / "said.csv"
    written(plan, path)

    document = run_json("score", "main", path, "--system", "s", "--release", "v1")

    assert list(plan.columns) == ["head", "relation", "tail"]
    scores = Fake().score(plan.texts)
    assert (
        list(Submission.objects.get().predictions.order_by("item").values_list("score", flat=True)) == scores
    )
    assert document["rows"][0]["n"] == 4


def test_it_takes_triples_only(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="s")
    release = Release.objects.create(campaign=campaign, name="v1", sha256="0" * 64, size=1, manifest={})

    with pytest.raises(Refused, match="one of compounds"):
        planned(release)


# Stopped and started again


def test_it_ends_equal_wherever_it_was_cut_off(tmp_path: Path) -> None:
    """At every byte; also where a power cut has left zeros."""
    plan = planned(frozen(tmp_path))
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    written(plan, whole)
    data, header = whole.read_bytes(), header_of(whole).read_bytes()

    for size in range(len(data)):
        for zeros in (b"", b"\0" * 5):
            cut.write_bytes(data[:size] + zeros)
            header_of(cut).write_bytes(header)
            used = written(plan, cut)
            assert cut.read_bytes() == data, size
            assert header_of(cut).read_bytes() == header
            kept = max(0, data[:size].count(b"\r\n") - 1)
            assert sum(used.batches) == (10 - kept // BATCH * BATCH if kept < 10 else 0)


def test_it_goes_on_after_a_kill(tmp_path: Path) -> None:
    plan = planned(frozen(tmp_path))
    one_go, killed = tmp_path / "one.csv", tmp_path / "killed.csv"
    written(plan, one_go)

    def die(number: int) -> None:
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        written(plan, killed, Fake(before_batch=die))
        os._exit(1)
    _pid, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert killed.read_bytes().count(b"\r\n") == 1 + 2 * BATCH

    used = written(plan, killed)

    assert used.batches == [2]
    assert killed.read_bytes() == one_go.read_bytes()
    assert header_of(killed).read_bytes() == header_of(one_go).read_bytes()


def test_a_whole_file_needs_no_model(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"
    written(plan, path)
    before = path.read_bytes()

    scored = write_scores(plan, path, load=never, batch_size=3)

    assert (scored.before, path.read_bytes()) == (10, before)


def test_another_batch_size_goes_on_and_is_written_down(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"

    def stop(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(plan, path, Fake(before_batch=stop))
    used = written(plan, path, batch_size=3)

    assert used.batches == [3, 1]  # from row 6 on, where a batch of three begins
    runs = json.loads(header_of(path).read_text())["runs"]
    assert [(run["from_row"], run["batch_size"]) for run in runs] == [(0, 4), (6, 3)]
    assert path.read_bytes().count(b"\r\n") == 11


# Never mixed


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"checkpoint": replace(CHECKPOINT, fingerprint="b" * 64)}, "the checkpoint"),
        ({"checkpoint": replace(CHECKPOINT, label=0)}, "how its output is read"),
        ({"template": "{head} {relation} {tail}"}, "the template, the triples"),
        ({"split": "all"}, "the split, the triples"),
        ({"release": "v2"}, "the release, the split, the triples"),
    ],
)
def test_it_adds_nothing_to_a_file_that_was_begun_otherwise(
    change: dict[str, Any], what: str, tmp_path: Path
) -> None:
    release, path = frozen(tmp_path), tmp_path / "said.csv"

    def stop(number: int) -> None:
        if number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        written(planned(release), path, Fake(before_batch=stop))
    before = path.read_bytes(), header_of(path).read_bytes()
    if change.get("release"):
        other = freeze(release.campaign, "v2", wish=SplitWish(rule="none"), by=None)
        changed = planned(other, split="all")
    else:
        wish = Wish(system="", release=release, split=change.get("split", "test"))
        changed = plan_scores(
            release,
            change.get("checkpoint", CHECKPOINT),
            template=change.get("template", TEMPLATE),
            wish=wish,
        )

    with pytest.raises(Refused, match=f"begun otherwise; what differs: {what}\\."):
        write_scores(changed, path, load=never, batch_size=BATCH)

    assert (path.read_bytes(), header_of(path).read_bytes()) == before


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (1, b"triple_id,score\r\nt1,0.5\r\n"),
        (2, b"triple_id,prediction\r\nt9,0.5\r\nt2,0.5\r\n"),
        (3, b"triple_id,prediction\r\nt1,0.5\r\nt2,plausible\r\n"),
        (3, b"triple_id,prediction\r\nt1,0.5\r\nt2,0.5,x"),
        (3, b"triple_id,prediction\r\nt1,0.5\r\nt2;0.5"),
        (2, b"triple_id,prediction\r\nt1,0.5\nt2,0.5\n"),
        (12, b"triple_id,prediction\r\n" + b"".join(b"t%d,0.5\r\n" % n for n in range(1, 11)) + b"t"),
    ],
)
def test_it_adds_nothing_to_rows_that_are_not_its_own(line: int, data: bytes, tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"
    written(plan, path)
    path.write_bytes(data)

    with pytest.raises(Refused, match=f"^Line {line} of “.*said.csv” is none of the rows"):
        write_scores(plan, path, load=never, batch_size=BATCH)

    assert path.read_bytes() == data


@pytest.mark.parametrize("header", [None, "", "[]", "{}", '{"form": "another"}'])
def test_it_leaves_a_file_alone_that_it_did_not_begin(header: str | None, tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "mine.csv"
    path.write_text("triple_id,prediction\r\nt1,0.5\r\n")
    if header is not None:
        header_of(path).write_text(header)

    with pytest.raises(Refused, match=r"is there already, and no “mine\.csv\.header\.json” beside it"):
        write_scores(plan, path, load=never, batch_size=BATCH)

    assert path.read_text() == "triple_id,prediction\nt1,0.5\n"


def test_two_runs_never_write_one_file(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"

    def meanwhile(number: int) -> None:
        if number == 1:
            with pytest.raises(Refused, match="Another run is adding"):
                written(plan, path)

    written(plan, path, Fake(before_batch=meanwhile))
    other = tmp_path / "other.csv"
    written(plan, other)
    assert path.read_bytes() == other.read_bytes()


# What a model cannot do


def test_a_number_that_is_none_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"
    used = Fake()
    say = used.score
    monkeypatch.setattr(
        used, "score", lambda texts: [float("nan") if "letter 6" in str(text) else 0.5 for text in texts]
    )
    with pytest.raises(Refused, match="no number for “t6”"):
        written(plan, path, used)
    assert path.read_bytes().count(b"\r\n") == 1 + BATCH

    monkeypatch.setattr(used, "score", say)
    written(plan, path, used)
    assert path.read_bytes().count(b"\r\n") == 11


def test_what_is_too_long_is_not_cut(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"
    longest = max(len(str(text)) for text in plan.texts)

    with pytest.raises(Refused, match=f"longer than the {longest - 1} tokens"):
        written(plan, path, Fake(limit=longest - 1))

    assert not path.exists()
    assert written(plan, path, Fake(limit=longest)).batches == [4, 4, 2]


def test_it_says_where_it_cannot_write_before_a_model_is_loaded(tmp_path: Path) -> None:
    plan = planned(frozen(tmp_path))

    with pytest.raises(Refused, match=r"There is no folder “.*absent”"):
        write_scores(plan, tmp_path / "absent" / "said.csv", load=never, batch_size=BATCH)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(Refused, match="cannot be written"):
        write_scores(plan, tmp_path / "folder.csv", load=never, batch_size=BATCH)


def test_it_tells_how_far_it_is(tmp_path: Path) -> None:
    plan, path = planned(frozen(tmp_path)), tmp_path / "said.csv"
    told: list[tuple[int, int]] = []

    write_scores(
        plan, path, load=lambda _checkpoint: Fake(), batch_size=BATCH,
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip

    assert told == [(0, 10), (4, 10), (8, 10), (10, 10)]


def test_one_file_knows_the_libraries_of_models() -> None:
    code = [path for room in ("annotation", "scoring", "config") for path in (ROOT / room).rglob("*.py")]
    known = [
        path.name for path in code if re.search(r"\b(torch|transformers)\b", path.read_text(encoding="utf-8"))
    ]
    assert known == ["checkpoints.py"]
