"""Releases: equal states give equal bytes, later changes alter nothing, and a stranger can load the folder."""

import csv
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone

from annotation.models import Assignment, AuditEntry, Campaign, FinalLabel, Item
from annotation.services.errors import Refused
from annotation.services.items import withdraw
from annotation.services.jobs import request as request_job
from annotation.services.labels import finalize
from annotation.services.moves import move_units, moved_of, planned_moves
from annotation.services.parts import assign_parts
from annotation.services.peeks import peeks_of
from annotation.services.screens import next_screens
from scoring.models import Release, Submission
from scoring.services.boards import leaderboard
from scoring.services.open_items import open_items
from scoring.services.release_content import SplitWish
from scoring.services.releases import archive_of, freeze
from scoring.services.scores import Wish
from scoring.services.submissions import submit
from scoring.tasks import release as release_task
from tests.factories import make_assignment, make_member, make_user, rows_on
from tests.material import (
    answer_everything,
    as_csv,
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
from tests.pages import client_of, text_of

pytestmark = pytest.mark.django_db

EXPERTS = ["ada lovelace", "bo"]


def judged(folder: Path, *, n: int = 20) -> Campaign:
    """Two experts; every second triple is plausible, and nobody can say which class has a split."""
    campaign = triple_campaign(folder, n, experts=EXPERTS, **{"class": "adv"})
    answer_everything(campaign, lambda row: "1" if row.item.position % 2 else "0")
    finalize(campaign)
    return campaign


def files_of(release: Release) -> dict[str, bytes]:
    """The archive's members, by their place under the one folder."""
    with zipfile.ZipFile(archive_of(release)) as archive:
        root = f"{release.campaign.slug}/"
        assert all(name.startswith(root) for name in archive.namelist())
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        return {name.removeprefix(root): archive.read(name) for name in archive.namelist()}


def table_of(files: dict[str, bytes], path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[path].decode(), newline="")))


def frozen(campaign: Campaign, name: str = "v1", **wish: Any) -> Release:
    return freeze(campaign, name, wish=SplitWish(**wish), by=None)


# Unchanging


def test_it_gives_equal_bytes_for_equal_states(tmp_path: Path) -> None:
    campaign = judged(tmp_path)

    first, second = frozen(campaign), frozen(campaign, "v2")

    assert first.sha256 == second.sha256 == hashlib.sha256(archive_of(first).read_bytes()).hexdigest()
    assert first.size == archive_of(first).stat().st_size
    other_seed = frozen(campaign, "v3", seed=1)
    assert other_seed.sha256 != first.sha256
    assert frozen(campaign, "v1") == first  # the same name again
    with pytest.raises(Refused, match="never changes"):
        frozen(campaign, "v1", seed=1)


def test_it_does_not_change_with_what_is_submitted(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    release = frozen(campaign)
    scored = as_csv([{"triple_id": f"t{place}", "prediction": place % 2} for place in range(1, 21)]).encode()
    submit(campaign, scored, name="x.csv", wish=Wish(system="s", split="all"), by=None)
    submit(campaign, scored, name="x.csv", wish=Wish(system="s", release=release), by=None)

    assert frozen(campaign, "later").sha256 == release.sha256
    told = run_json("report", campaign.slug, "--kind", "methods")
    assert "Signatures of the latest submissions" in told["text"]["en"]


def test_it_does_not_change_with_the_campaign(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    release = frozen(campaign)
    before = archive_of(release).read_bytes()
    scored = as_csv([{"triple_id": f"t{place}", "prediction": place % 2} for place in range(1, 21)]).encode()
    wish = Wish(system="s", release=release)
    first = submit(campaign, scored, name="x.csv", wish=wish, by=None).document

    for row in Assignment.objects.filter(item__position__lte=10):
        save(sheet([row], "0" if row.label == "1" else "1"), row.expert_id)
    finalize(campaign)
    Item.objects.filter(position=1).update(item_class="test_set", split="dev")

    release.refresh_from_db()
    assert archive_of(release).read_bytes() == before
    assert frozen(campaign, "later").sha256 != release.sha256
    again = submit(campaign, scored, name="x.csv", wish=wish, by=None).document
    assert again == first
    assert first["rows"][0]["auc"] == 100.0
    assert first["release"] == "v1"
    assert f"release:{release.sha256[:12]}" in first["signature"]
    [line] = leaderboard(campaign, split="test", release=release, viewer=None, manages=True)
    assert not line.stale
    assert leaderboard(campaign, split="test", viewer=None, manages=True) == []


def test_it_notices_a_file_that_is_not_what_was_frozen(tmp_path: Path) -> None:
    release = frozen(judged(tmp_path))
    path = archive_of(release)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b" ")

    with pytest.raises(Refused, match=release.sha256):
        archive_of(release)
    path.unlink()  # nor is it written anew under the old checksum
    with pytest.raises(Refused, match=release.sha256):
        archive_of(release)


# What it holds


def test_it_holds_everything_with_its_checksum(tmp_path: Path) -> None:
    release = frozen(judged(tmp_path))
    files = files_of(release)

    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {
        path: hashlib.sha256(content).hexdigest() for path, content in files.items() if path != "SHA256SUMS"
    }
    assert set(files) >= {
        "README.md", "DATASHEET.md", "manifest.json", "design.json", "agreement.json", "conditions.json", "split.json",
        "guidelines/v1.en.md", "guidelines/v1.zh.md", "data/dev.parquet", "csv/test.csv", "jsonl/votes.jsonl",
    }  # fmt: skip
    manifest = json.loads(files["manifest.json"])
    assert {file["path"]: file["sha256"] for file in manifest["files"]}.items() <= sums.items()
    assert manifest == {**release.manifest}
    assert (manifest["items"], manifest["labelled"], manifest["votes"]) == (20, 20, 40)
    assert manifest["labels"]["rule"] == "ckbp2"


def test_it_holds_the_same_rows_in_every_format(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    files = files_of(frozen(judged(tmp_path)))

    for split, n in (("dev", 4), ("test", 16)):
        rows = table_of(files, f"csv/{split}.csv")
        assert [row["split"] for row in rows] == [split] * n
        assert [int(row["label"]) for row in rows] == [int(row["position"]) % 2 for row in rows]
        objects = [json.loads(line) for line in files[f"jsonl/{split}.jsonl"].decode().splitlines()]
        stored = pq.read_table(io.BytesIO(files[f"data/{split}.parquet"])).to_pylist()
        assert objects == stored
        assert [row["triple_id"] for row in rows] == [row["triple_id"] for row in stored]


def test_it_names_nobody(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    first = Assignment.objects.order_by("pk")[0]
    save(sheet([first], "0", note="ask Ada Lovelace"), first.expert_id)
    finalize(campaign)
    files = files_of(frozen(campaign))

    whole = b"".join(content for path, content in files.items() if not path.endswith(".parquet")).lower()
    assert b"lovelace" not in whole
    votes = table_of(files, "csv/votes.csv")
    assert {row["annotator"] for row in votes} == {"A1", "A2"}
    assert votes[0].keys() & {"note", "answered_at", "session", "item_id"} == set()
    design = json.loads(files["design.json"])
    assert [part["experts"] for part in design["parts"]] == [["A1", "A2"], ["A2", "A1"]]
    agreement = json.loads(files["agreement.json"])
    assert agreement["raters"] == ["A1", "A2"]


def judge_what_is_open(campaign: Campaign) -> None:
    for member in campaign.memberships.filter(role="expert"):
        for screen in next_screens(campaign, expert_id=member.user_id, count=50):
            save(sheet(rows_on(screen, member.user), "1"), member.user_id)


def test_its_judgements_are_those_of_its_items(tmp_path: Path) -> None:
    """What was set aside for a dry run, or withdrawn, is no item of the release: nor are its judgements."""
    campaign = judged(tmp_path)
    aside, gone, *_others = campaign.items.order_by("position").values_list("pk", flat=True)
    campaign.items.filter(pk=aside).update(retired_at=timezone.now(), retired_why=Item.Retired.SET_ASIDE)
    withdraw(campaign, gone, reason="twice", by=make_user("mei"))
    finalize(campaign)

    release = frozen(campaign)
    files = files_of(release)
    items = {
        row["position"] for name in ("dev", "test") if f"csv/{name}.csv" in files
        for row in table_of(files, f"csv/{name}.csv")
    }  # fmt: skip
    votes = table_of(files, "csv/votes.csv")
    assert {vote["position"] for vote in votes} == items
    assert len(votes) == release.manifest["votes"] == 2 * 18
    conditions = json.loads(files["conditions.json"])
    assert (conditions["judgements"], conditions["by_round"]) == (36, {"main": 36})
    assert conditions["by_display"] == {"alone": 36}
    assert {vote["display"] for vote in votes} == {"alone"}


def test_a_release_of_a_round_at_work_is_a_look(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    frozen(campaign)
    assert peeks_of(campaign) == []
    campaign.rounds.create(kind="repeat", number=2, k=2, guideline=campaign.guidelines.get())
    again = campaign.rounds.get(kind="repeat")
    row = campaign.rounds.get(kind="main").assignments.earliest("pk")
    for item in campaign.items.order_by("-position")[:2]:
        make_assignment(item, row.expert, round=again, part=row.part, position=item.position + 100)
    first = again.assignments.earliest("pk")
    save(sheet([first], "1"), first.expert_id)
    frozen(campaign, "v2")
    assert [(peek.kind, peek.by, peek.open_answers) for peek in peeks_of(campaign)] == [("release", None, 1)]
    assert (
        "a release of the judgements (open answers: 1)"
        in files_of(frozen(campaign, "v3"))["METHODS.md"].decode()
    )


def test_it_tells_who_judged_what_and_not_who_was_to(tmp_path: Path) -> None:
    """Of A1's ten units two are judged when A1 leaves; the others judge the rest."""
    campaign = triple_campaign(tmp_path, 20)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1)
    ada, *others = campaign.memberships.filter(role="expert").order_by("pk")
    for screen in next_screens(campaign, expert_id=ada.user_id, count=2):
        save(sheet(rows_on(screen, ada.user), "1"), ada.user_id)
    takers = [member.pk for member in others]
    shown = planned_moves(campaign, giver=ada.pk, takers=takers)
    move_units(campaign, giver=ada.pk, takers=takers, confirmed_hash=shown.hash, by=None)
    judge_what_is_open(campaign)
    finalize(campaign)
    files = files_of(frozen(campaign))
    design = json.loads(files["design.json"])
    held = [share for part in design["parts"] for share in part["shares"]]
    of_ada = [part for part in design["parts"] if "A1" in part["planned_experts"]]

    assert (design["moved_units"], design["left"]) == (8, ["A1"])
    assert sum(share["n_judged"] for share in held) == sum(share["n_items"] for share in held) == 40
    assert sum(share["n_judged"] for share in held if share["expert"] == "A1") == 2
    assert len(of_ada) == 2
    assert all(set(part["experts"]) - set(part["planned_experts"]) for part in of_ada)
    methods = files["METHODS.md"].decode()
    assert "Units that were given to another expert after the parts were given out: 8." in methods
    assert "their open units moved to others: 1." in methods


def test_who_gave_some_units_away_and_went_on_has_not_left(tmp_path: Path) -> None:
    campaign = triple_campaign(tmp_path, 20)
    assign_parts(campaign, experts=["ada", "bo", "chen", "dan"], design="cyclic", seed=1)
    ada, *others = campaign.memberships.filter(role="expert").order_by("pk")
    asked: dict[str, Any] = {"giver": ada.pk, "takers": [member.pk for member in others], "n": 3}
    move_units(campaign, **asked, confirmed_hash=planned_moves(campaign, **asked).hash, by=None)
    before = moved_of(campaign)
    judge_what_is_open(campaign)

    assert (before.units, before.left) == (3, [])
    assert (moved_of(campaign).units, moved_of(campaign).left) == (3, [])


def test_it_loads_as_the_front_matter_says(tmp_path: Path) -> None:
    files = files_of(frozen(judged(tmp_path)))

    front = yaml.safe_load(files["README.md"].decode().split("---\n")[1])

    assert front["pretty_name"] == "main"
    items, votes = front["configs"]
    assert (items["config_name"], items["default"]) == ("items", True)
    assert items["data_files"] == [
        {"split": "dev", "path": "data/dev.parquet"},
        {"split": "test", "path": "data/test.parquet"},
    ]
    assert votes["data_files"] == [{"split": "votes", "path": "data/votes.parquet"}]
    assert all(file["path"] in files for config in front["configs"] for file in config["data_files"])


def test_it_puts_items_without_a_label_apart_with_the_reason(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(6, split="test"), tmp_path)
    rows = [{"triple_id": f"t{place}", "label": "1"} for place in range(1, 7)]
    judge_rows(campaign, rows, annotator="ann")
    judge_rows(campaign, rows[:4], annotator="bob")
    finalize(campaign)

    release = frozen(campaign)

    files = files_of(release)
    assert [row["position"] for row in table_of(files, "csv/test.csv")] == ["1", "2", "3", "4"]
    assert [(row["label"], row["reason"]) for row in table_of(files, "csv/unlabelled.csv")] == [
        ("", "incomplete")
    ] * 2
    assert release.manifest["split"]["items"] == {"test": 4, "unlabelled": 2}
    assert "incomplete: 2" in files["DATASHEET.md"].decode()


def test_it_writes_a_datasheet_of_what_is_known(tmp_path: Path) -> None:
    text = files_of(frozen(judged(tmp_path)))["DATASHEET.md"].decode()

    for sentence in (
        "20 triples of head, relation and tail. Label 1: 10; label 0: 10.",
        "40 judgements (experts: 2; per item: 2)",
        "by the rule ckbp2",
        "The split was made by the rule default with seed 0, identical triples kept together: dev: 4, test: 16",
        "raw agreement 1.0000",
        "is not recorded",
    ):
        assert sentence in text, sentence


def test_it_writes_a_paragraph_for_a_paper(tmp_path: Path) -> None:
    text = files_of(frozen(judged(tmp_path)))["METHODS.md"].decode()

    for sentence in (
        "Experts judge on their own, k = 2 of them each item, on the scale 0, 0.5, 1; experts 2, judgements 40,",
        "Items were dealt by the design cyclic with seed 1 (hash ",
        "by version of the guidelines: version 1: 40.",
        "Krippendorff's alpha (nominal) 1.0000",
        "Gwet's AC2 with quadratic weights 1.0000",
        "(n = 20)",
        "Signature of the agreement: agreement:",
        "No interim figures of the answers were computed here while blind answers were open.",
        "The split was made by the rule default with seed 0",
    ):
        assert sentence in text, text


def test_it_supposes_nothing_of_judgements_made_elsewhere(tmp_path: Path) -> None:
    campaign = new_campaign(k=1)
    load_rows(campaign, triples(3, label="1"), tmp_path)
    without = files_of(frozen(campaign))["METHODS.md"].decode()
    judge_rows(campaign, [{"triple_id": f"t{place}", "label": "1"} for place in range(1, 4)], annotator="ann")

    files = files_of(frozen(campaign, "v2"))

    assert "The judgements behind the labels are not part of this release." in without
    for path in ("METHODS.md", "DATASHEET.md"):
        assert "given elsewhere is not recorded" in files[path].decode()
        assert "Settings of the judging page" not in files[path].decode()
        assert "version 1" not in files[path].decode()
    assert [row["guideline"] for row in table_of(files, "csv/votes.csv")] == [""] * 3


# Splits


def test_it_keeps_the_split_that_was_imported(tmp_path: Path) -> None:
    campaign = new_campaign()
    rows = triples(10, label="1")
    for place, row in enumerate(rows):
        row["split"] = "tst" if place % 3 else "dev"
    rows[1] |= {name: rows[0][name] for name in ("head", "relation", "tail")}  # one triple on both sides
    load_rows(campaign, rows, tmp_path)

    release = frozen(campaign)

    assert release.manifest["split"]["rule"] == "keep"
    assert release.manifest["split"]["items"] == {"dev": 4, "test": 6, "unlabelled": 0}
    assert release.manifest["leakage"]["triples_on_both_sides"] == 1
    again = frozen(campaign, "even", rule="default", by_head=True)
    assert again.manifest["split"]["items"] == {"dev": 2, "test": 8, "unlabelled": 0}
    assert again.manifest["leakage"]["test_units_with_head_in_dev"] == 0
    assert "votes" not in files_of(again)["README.md"].decode().split("---\n")[1]


def test_it_splits_compounds_as_a_whole_where_asked(tmp_path: Path) -> None:
    campaign = new_campaign("compound", k=1)
    load_rows(campaign, compounds(5), tmp_path, system="base")
    assign_parts(campaign, experts=["ada"], design="single", seed=1)
    answer_everything(campaign, lambda row: "0" if row.item.position % 4 == 0 else "1")
    with pytest.raises(Refused, match="compute the final labels first"):
        frozen(campaign)
    finalize(campaign)

    whole, halves = frozen(campaign), frozen(campaign, "split", rule="default")

    assert whole.manifest["split"]["items"] == {"none": 25, "unlabelled": 0}
    rows = table_of(files_of(whole), "csv/test.csv")
    assert (rows[0]["systems"], rows[0]["reference"] != "", len(rows)) == ("base", True, 25)
    assert halves.manifest["split"]["items"] == {"dev": 5, "test": 20, "unlabelled": 0}
    assert len({row["compound"] for row in table_of(files_of(halves), "csv/dev.csv")}) == 1
    assert halves.manifest["leakage"] is None


# Refusals, the job, the command


def test_it_refuses_what_cannot_be_frozen() -> None:
    campaign = new_campaign()
    with pytest.raises(Refused, match="No item has a label yet"):
        frozen(campaign)
    with pytest.raises(Refused, match="1 to 40 letters"):
        frozen(campaign, "../v1")
    with pytest.raises(Refused, match="no such rule"):
        frozen(campaign, rule="thirds")
    assert not Release.objects.exists()


def test_it_refuses_labels_that_rest_on_older_answers(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    first = Assignment.objects.order_by("pk")[0]
    save(sheet([first], "0.5"), first.expert_id)

    with pytest.raises(Refused, match="answers are newer than the final labels"):
        frozen(campaign)

    finalize(campaign)
    assert frozen(campaign).manifest["labels"]["label_version"] == 2
    FinalLabel.objects.filter(item__position=3).delete()  # as of an item that was withdrawn and is back
    with pytest.raises(Refused, match="answers are newer than the final labels"):
        frozen(campaign, "v2")


def test_it_freezes_as_a_job_that_may_run_twice(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    arguments = {"name": "v1", "split": "default", "seed": 3, "by_head": False}
    job = request_job(campaign=campaign, kind="release", arguments=arguments, by=None)

    for _twice in range(2):
        release_task(job.pk)

    job.refresh_from_db()
    release = Release.objects.get()
    assert (job.state, job.result) == ("done", {"release": "v1", "sha256": release.sha256})
    assert release.manifest["split"]["seed"] == 3
    assert release.items.count() == 20
    assert AuditEntry.objects.filter(campaign=campaign, action="release frozen").count() == 1


def test_the_command_freezes_and_writes_a_folder_or_an_archive(tmp_path: Path) -> None:
    judged(tmp_path)
    folder, archive = tmp_path / "unpacked", tmp_path / "v1.zip"

    document = run_json("release", "main", "v1", "--split", "ckbp-released", "--seed", "4", "-o", folder)
    again = run_json("release", "main", "v1", "--split", "ckbp-released", "--seed", "4", "-o", archive)

    assert document["sha256"] == again["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert document["split"]["items"] == {"test": 20, "unlabelled": 0}  # every cell is smaller than five
    release = Release.objects.get()
    assert {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    } == files_of(release)
    ran = run("release", "main", "v1", "--split", "none")
    assert (ran.code, "never changes" in ran.err) == (1, True)
    ran = run("release", "main", "v1", "--split", "ckbp-released", "--seed", "4", "-o", folder)
    assert (ran.code, "is there already" in ran.err) == (1, True)
    assert "sha256" in run("release", "main", "v1", "--split", "ckbp-released", "--seed", "4").out


# What a system gets to see


def test_it_gives_out_items_without_labels(tmp_path: Path) -> None:
    campaign = judged(tmp_path)
    release = frozen(campaign)
    Item.objects.filter(campaign=campaign).update(imported_label="1")

    today, then = open_items(campaign), open_items(campaign, release)

    assert list(today.columns) == ["triple_id", "head", "relation", "tail", "class", "split"]
    assert {row[-1] for row in today.rows} == {""}
    assert sorted({str(row[-1]) for row in then.rows}) == ["dev", "test"]
    assert not Submission.objects.exists()


def test_it_gives_out_contexts_without_references(tmp_path: Path) -> None:
    campaign = new_campaign("compound")
    load_rows(campaign, compounds(1), tmp_path, system="base")

    found = open_items(campaign)

    assert list(found.columns) == ["item_id", "compound", "context_no", "source"]
    assert len(list(found.rows)) == 5


def test_a_release_of_an_unchanged_campaign_says_so(tmp_path: Path) -> None:
    judged(tmp_path)
    assert run_json("release", "main", "v1")["same_as"] == []
    assert run_json("release", "main", "v2")["same_as"] == ["v1"]
    assert "The same state as v1, byte for byte." in run("release", "main", "v3").out
    vera = make_user("vera")
    make_member(Campaign.objects.get(), vera, "viewer", "V1")
    page = text_of(client_of(vera).get("/campaigns/main/releases/"))
    assert page.count("same state as v1") == 2
