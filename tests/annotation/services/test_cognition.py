"""Importing a CoGnition test set: items and verdicts, both or neither."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.formats.cognition import read_cognition
from annotation.models import Annotation, Assignment, Context, Item, Output, Unit, User
from annotation.services import judgement_compare
from annotation.services.cognition import store_cognition
from annotation.services.labels import finalize
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import Ran, new_campaign, run

pytestmark = pytest.mark.django_db

SOURCES = [f"i saw the dog in place {i} ." for i in range(1, 6)] + [
    f"she liked every doctor here , time {i} ." for i in range(1, 6)
]
COMPOUNDS = ["the dog"] * 5 + ["every doctor"] * 5
REFERENCES = [f"我在{i}看见了狗。" for i in range(1, 6)] + [f"她喜欢每个医生{i}。" for i in range(1, 6)]
TRANSLATIONS = [f"我 在 {i} 看见 了 狗 。" for i in range(1, 6)] + [
    f"她 喜欢 医生 {i} 。" for i in range(1, 6)
]
# As in the released workbooks: text and numbers, mixed.
VERDICTS: list[object] = ["1", 1, "1", 0, "0", 1, "1", 1, "1", 1]


def text(folder: Path, name: str, lines: Sequence[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def workbook(
    folder: Path,
    *,
    name: str = "NP-git.xlsx",
    sources: Sequence[str] = SOURCES,
    translations: Sequence[str] = TRANSLATIONS,
    verdicts: Sequence[object] = VERDICTS,
) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(["src", "hyp", "human eval"])
    for row in zip(sources, translations, verdicts, strict=True):
        sheet.append(list(row))
    book.save(folder / name)
    return folder / name


def bring(folder: Path, translations: Path, *options: str, system: str = "base") -> Ran:
    """`import_cognition` into the campaign main."""
    return run(
        "import_cognition",
        "main",
        "--sources",
        text(folder, "NP.en", SOURCES),
        "--compounds",
        text(folder, "NP.compound", COMPOUNDS),
        "--references",
        text(folder, "NP.zh", REFERENCES),
        "--translations",
        translations,
        "--system",
        system,
        *options,
        "--json",
    )


def counts() -> list[int]:
    return [model._default_manager.count() for model in (Unit, Context, Item, Output, Assignment, Annotation)]


@pytest.fixture(autouse=True)
def campaign() -> Any:
    return new_campaign("compound")


def test_it_stores_items_and_mixed_verdicts(campaign: Any, tmp_path: Path) -> None:
    ran = bring(tmp_path, workbook(tmp_path))
    assert ran.code == 0, ran.err
    assert (ran.document["added"], ran.document["judgements"]) == (10, 10)
    assert counts() == [2, 10, 10, 10, 10, 10]
    assert list(Context.objects.order_by("pk").values_list("key", flat=True))[::9] == ["NP-0001", "NP-0010"]
    assert list(Assignment.objects.order_by("item__position").values_list("label", flat=True)) == [
        str(verdict) for verdict in VERDICTS
    ]
    assert list(Unit.objects.values_list("type", "pattern", "words")) == [("NP", "NP:DET+N", 2)] * 2
    released = User.objects.get()
    assert (released.username, released.is_active) == ("released", False)
    assert verify(campaign) == []


def test_it_adds_nothing_the_second_time(tmp_path: Path) -> None:
    bring(tmp_path, workbook(tmp_path))
    before = counts()
    ran = bring(tmp_path, workbook(tmp_path))
    assert ran.code == 0
    assert (ran.document["added"], ran.document["unchanged"]) == (0, 10)
    assert (ran.document["judgements"], ran.document["judgements_unchanged"]) == (0, 10)
    assert counts() == before


def test_it_stores_no_item_where_a_verdict_contradicts_a_stored_one(tmp_path: Path) -> None:
    bring(tmp_path, workbook(tmp_path))
    before = counts()
    ran = bring(tmp_path, workbook(tmp_path, verdicts=[0, *VERDICTS[1:]]))
    assert ran.code == 1
    (conflict,) = ran.document["conflicts"]
    assert (conflict["key"], conflict["field"], conflict["old"], conflict["new"]) == (
        "NP-0001",
        "label",
        "1",
        "0",
    )
    assert "Nothing was stored" in ran.err
    # A further system whose outputs are the same texts meets the same verdicts.
    ran = bring(tmp_path, workbook(tmp_path, verdicts=[0, *VERDICTS[1:]]), system="large")
    assert ran.code == 1
    assert (ran.document["added"], ran.document["stored"]) == (0, False)
    assert counts() == before


def test_it_stores_no_item_where_a_verdict_cannot_be_read(tmp_path: Path) -> None:
    ran = bring(tmp_path, workbook(tmp_path, verdicts=["maybe", *VERDICTS[1:]]))
    assert ran.code == 1
    assert [(error["line"], error["column"]) for error in ran.document["errors"]] == [(2, "human eval")]
    assert counts() == [0, 0, 0, 0, 0, 0]


def test_it_keeps_the_source_that_was_judged(campaign: Any, tmp_path: Path) -> None:
    judged = [*SOURCES[:2], "I saw the dog somewhere else .", *SOURCES[3:]]
    ran = bring(tmp_path, workbook(tmp_path, sources=judged))
    assert ran.code == 0
    assert [row["key"] for row in ran.document["differing_sources"]] == ["NP-0003"]
    context = Context.objects.get(key="NP-0003")
    assert (context.source, context.source_differs) == (judged[2], True)
    bleu = run("report", campaign.slug, "--kind", "bleu", "--json").document
    assert (bleu["n"], bleu["left_out"]) == (9, 1)
    rates = run("report", campaign.slug, "--kind", "error-rates", "--json").document
    assert rates["instance"]["n"] == 10


def test_it_stores_a_second_system_on_the_same_test_set(campaign: Any, tmp_path: Path) -> None:
    bring(tmp_path, workbook(tmp_path))
    large = text(tmp_path, "large.txt", [f"{line}！" for line in TRANSLATIONS])
    ran = bring(tmp_path, large, system="large")
    assert ran.code == 0, ran.err
    assert (ran.document["added"], ran.document["items"], ran.document["judgements"]) == (10, 10, 0)
    assert counts() == [2, 10, 20, 20, 10, 10]
    assert finalize(campaign).unlabelled == {"incomplete": 10}


def test_it_stores_a_second_system_with_verdicts_of_its_own(campaign: Any, tmp_path: Path) -> None:
    bring(tmp_path, workbook(tmp_path))
    translations = [f"{line}！" for line in TRANSLATIONS]
    large = workbook(tmp_path, name="large.xlsx", translations=translations, verdicts=["1"] * 10)
    ran = bring(tmp_path, large, system="large")
    assert ran.code == 0, ran.err
    assert (ran.document["added"], ran.document["judgements"]) == (10, 10)
    for system, errors in (("base", 2), ("large", 0)):
        rates = run("report", campaign.slug, "--kind", "error-rates", "--system", system, "--json").document
        assert (rates["instance"]["n"], rates["instance"]["errors"]) == (10, errors)


def test_it_asks_what_to_do_where_the_first_system_was_judged_on_another_source(
    campaign: Any, tmp_path: Path
) -> None:
    judged = [*SOURCES[:2], "I saw the dog somewhere else .", *SOURCES[3:]]
    bring(tmp_path, workbook(tmp_path, sources=judged))
    large = workbook(tmp_path, name="large.xlsx", translations=[f"{t}！" for t in TRANSLATIONS])
    ran = bring(tmp_path, large, system="large")
    assert ran.code == 1
    assert [(c["key"], c["field"]) for c in ran.document["conflicts"]] == [("NP-0003", "source")]
    ran = bring(tmp_path, large, "--on-conflict", "keep", system="large")
    assert ran.code == 0, ran.err
    assert (ran.document["added"], ran.document["judgements"]) == (9, 9)
    rates = run("report", campaign.slug, "--kind", "error-rates", "--system", "large", "--json").document
    assert (rates["instance"]["n"], rates["aggregate"]["n"], rates["aggregate"]["undecided"]) == (9, 1, 1)


def test_it_names_the_annotator_who_is_asked_for(tmp_path: Path) -> None:
    ran = bring(tmp_path, workbook(tmp_path), "--annotator", "Expert 1")
    assert ran.code == 0
    assert User.objects.get().username == "Expert 1"


def test_it_refuses_verdicts_of_nobody(tmp_path: Path) -> None:
    ran = bring(tmp_path, workbook(tmp_path), "--annotator", " ")
    assert ran.code == 1
    assert "A name is empty" in ran.document["errors"][0]["message"]
    assert counts() == [0, 0, 0, 0, 0, 0]


def test_it_refuses_files_of_different_lengths(tmp_path: Path) -> None:
    short = text(tmp_path, "short.txt", TRANSLATIONS[:9])
    ran = bring(tmp_path, short)
    assert ran.code == 1
    assert "NP.en has 10" in ran.err
    assert "short.txt has 9" in ran.err
    assert counts() == [0, 0, 0, 0, 0, 0]


def test_it_refuses_this_layout_in_a_campaign_of_triples(tmp_path: Path) -> None:
    new_campaign("triple", slug="triples")
    path = text(tmp_path, "NP.en", SOURCES)
    files = [
        argument
        for name in ("sources", "compounds", "references", "translations")
        for argument in (f"--{name}", path)
    ]
    ran = run("import_cognition", "triples", *files, "--system", "base", "--json")
    assert ran.code == 1
    assert "this layout holds compounds" in ran.document["errors"][0]["message"]


def test_verdicts_that_were_cut_off_are_added_the_next_time(
    campaign: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The items stand first; the verdicts follow in chunks, and the same files add what is missing."""
    monkeypatch.setattr(judgement_compare, "CHUNK", 4)
    paths: dict[str, Any] = {
        "sources": text(tmp_path, "NP.en", SOURCES),
        "compounds": text(tmp_path, "NP.compound", COMPOUNDS),
        "references": text(tmp_path, "NP.zh", REFERENCES),
        "translations": workbook(tmp_path),
    }
    files = read_cognition(**paths, system="base", run=None)
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_cognition(campaign, files, paths=paths, annotator="ann", progress=stop)
    assert seen == [(10, 10), (4, 10)]
    assert (Item.objects.count(), Annotation.objects.count()) == (10, 4)
    report = store_cognition(campaign, files, paths=paths, annotator="ann")
    assert report.verdicts is not None
    assert (report.items.added, report.verdicts.added, report.verdicts.unchanged) == (0, 6, 4)
    assert Annotation.objects.count() == 10
    assert verify(campaign) == []


def table(folder: Path, header: str, *cells: str) -> Path:
    """Translations as a table with a row for each line."""
    lines = ["\t".join((translation, *cells)) for translation in TRANSLATIONS]
    return text(folder, "out.tsv", [header, *lines])


def test_it_says_what_it_would_store_and_of_whom(tmp_path: Path) -> None:
    make_user("ada")
    ran = bring(
        tmp_path, table(tmp_path, "Hyp\tHuman Eval\textra", "1", "x"), "--dry-run", "--annotator", "ada"
    )
    assert ran.code == 0, ran.err
    found = ran.document
    assert (found["added"], found["judgements"], found["stored"]) == (10, 10, False)
    assert found["columns"] == {"Hyp": "hyp", "Human Eval": "human eval"}
    assert found["unknown_columns"] == ["extra"]
    assert "“ada” is an existing account" in found["warnings"][-1]["message"]
    assert counts() == [0] * 6

    stored = bring(tmp_path, table(tmp_path, "Hyp\tHuman Eval\textra", "1", "x"), "--annotator", "ada")
    assert (stored.code, stored.document["judgements"]) == (0, 10)
    assert "“ada” is an existing account" in stored.document["warnings"][-1]["message"]


def test_a_dry_run_finds_verdicts_that_contradict_stored_ones(tmp_path: Path) -> None:
    bring(tmp_path, workbook(tmp_path))
    ran = bring(tmp_path, workbook(tmp_path, verdicts=[0, *VERDICTS[1:]]), "--dry-run")
    assert (ran.code, len(ran.document["conflicts"])) == (1, 1)
    again = bring(tmp_path, workbook(tmp_path), "--dry-run")
    assert (again.code, again.document["judgements"], again.document["judgements_unchanged"]) == (0, 0, 10)


def test_it_warns_where_the_table_holds_no_verdicts(tmp_path: Path) -> None:
    found = bring(tmp_path, table(tmp_path, "hyp\tverdict", "1"), "--dry-run").document
    assert (found["judgements"], found["unknown_columns"]) == (0, ["verdict"])
    assert ["there is no column “human eval”" in warning["message"] for warning in found["warnings"]] == [
        True
    ]
