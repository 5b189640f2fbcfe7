"""What each command says to people and to programs."""

import gc
import json
import sys
from pathlib import Path

import pytest

from annotation.models import AuditEntry, Campaign, Guideline, Membership, Part, Round, User
from annotation.services.campaigns import create_campaign
from annotation.services.errors import Refused
from annotation.services.verify import verify
from tests.factories import make_user, with_password
from tests.material import as_csv, compounds, load_rows, new_campaign, run, run_json, triples, write_csv
from tests.shared import shared

pytestmark = pytest.mark.django_db

# design.md: the document of import_items.
IMPORT_KEYS = {
    "file", "format", "encoding", "sheet", "columns", "unknown_columns", "rows", "added", "unchanged", "conflicts",
    "errors", "warnings",
}  # fmt: skip


# create_campaign


def test_it_opens_a_campaign_with_its_round_and_guidelines() -> None:
    document = run_json("create_campaign", "ckbp-2", "--protocol", "triple", "--title", " CKBP 二 ")
    assert (document["campaign"], document["protocol"], document["annotators_per_item"]) == (
        "ckbp-2",
        "triple",
        2,
    )
    campaign = Campaign.objects.get()
    assert campaign.title == "CKBP 二"
    round_ = Round.objects.get()
    assert (round_.kind, round_.k, round_.state) == ("main", 2, "open")
    guideline = Guideline.objects.get()
    assert guideline.version == 1
    assert "PersonX" in guideline.text_en or guideline.text_en
    assert any("\u4e00" <= character <= "\u9fff" for character in guideline.text_zh)
    assert AuditEntry.objects.get(action="campaign created").detail["k"] == 2


@pytest.mark.parametrize(
    ("protocol", "options", "k"),
    [("compound", [], 1), ("triple", [], 2), ("compound", ["--annotators-per-item", "3"], 3)],
)
def test_it_takes_the_number_of_experts_from_the_protocol(protocol: str, options: list[str], k: int) -> None:
    assert run_json("create_campaign", "x", "--protocol", protocol, *options)["annotators_per_item"] == k
    assert run("create_campaign", "y", "--protocol", protocol).out.startswith("Campaign y: ")


@pytest.mark.parametrize("slug", ["NP", "np_1", "a", "x" * 80, "v2-NP_3"])
def test_it_takes_any_plain_address(slug: str) -> None:
    assert run_json("create_campaign", slug, "--protocol", "compound")["campaign"] == slug


@pytest.mark.parametrize(
    ("slug", "options", "sentence"),
    [
        ("a b", [], "cannot be an address"),
        ("二", [], "cannot be an address"),
        ("../x", [], "cannot be an address"),
        ("", [], "cannot be an address"),
        ("x" * 81, [], "at most 80"),
        ("x", ["--title", "t" * 201], "at most 200 characters"),
        ("x", ["--title", "a\r\nX-Evil: 1"], "The title holds U+000D, which cannot be seen"),
        ("x", ["--title", "\u202eeltit"], "The title holds U+202E, which cannot be seen"),
        ("x", ["--manager", "nobody"], "There is no account “nobody”"),
    ],
)
def test_it_refuses_what_no_campaign_can_be(slug: str, options: list[str], sentence: str) -> None:
    ran = run("create_campaign", slug, "--protocol", "triple", *options, "--json")
    assert ran.code == 1
    assert sentence in ran.document["errors"][0]["message"]
    assert sentence in ran.err
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--annotators-per-item", "0"], "1 to 100 experts"),
        (["--annotators-per-item", "40000"], "1 to 100 experts"),
        (["--seed", "-1"], "A seed is a whole number"),
        (["--seed", str(2**31)], "A seed is a whole number"),
    ],
)
def test_a_number_that_no_campaign_can_have_is_a_wrong_call(options: list[str], sentence: str) -> None:
    ran = run("create_campaign", "x", "--protocol", "triple", *options, "--json")
    assert ran.code == 2
    assert sentence in ran.document["errors"][0]["message"]
    assert sentence in ran.err
    assert not Campaign.objects.exists()


def test_it_refuses_an_address_that_is_taken() -> None:
    new_campaign(slug="main")
    ran = run("create_campaign", "main", "--protocol", "triple", "--json")
    assert ran.code == 1
    assert "There is a campaign at “main” already" in ran.document["errors"][0]["message"]
    assert Campaign.objects.count() == 1


def test_it_makes_its_managers_members() -> None:
    make_user("Mei")
    run_json("create_campaign", "x", "--protocol", "triple", "--manager", "ＭＥＩ")
    assert Membership.objects.get().role == "manager"
    with pytest.raises(Refused):
        create_campaign(slug="x", protocol="triple", by=User.objects.get())


# import_items


def test_it_writes_the_document_of_the_contract(tmp_path: Path) -> None:
    new_campaign("compound", slug="main")
    path = write_csv(tmp_path / "items.csv", compounds(1, remark="x"))
    document = run_json("import_items", "main", path, "--system", "base")
    assert set(document) >= IMPORT_KEYS
    assert (document["file"], document["format"], document["sheet"]) == ("items.csv", "csv", None)
    assert document["encoding"].lower().startswith("utf-8")
    assert document["columns"]["item_id"] == "item_id"
    assert document["unknown_columns"] == ["remark"]
    assert (document["rows"], document["added"], document["unchanged"]) == (5, 5, 0)
    assert (document["conflicts"], document["errors"], document["warnings"]) == ([], [], [])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("empty.csv", b"", "The file is empty"),
        ("header.csv", b"head,relation,tail\n", "no data rows"),
        ("twice.csv", b"head,HEAD,relation,tail\na,b,xWant,c\n", "twice"),
        ("lacking.csv", b"head,tail\na,b\n", "lacks the column"),
        ("broken.xlsx", b"PK\x03\x04 nonsense", "workbook"),
        ("text.xlsx", b"head,relation,tail\na,xWant,b\n", "it is no workbook"),
    ],
)
def test_it_says_why_a_file_cannot_be_read_at_all(
    name: str, content: bytes, sentence: str, tmp_path: Path
) -> None:
    new_campaign(slug="main")
    (tmp_path / name).write_bytes(content)
    for command in (["import_items", "main"], ["import_annotations", "main"]):
        ran = run(*command, tmp_path / name, "--json")
        assert ran.code == 1
        (error,) = ran.document["errors"]
        assert set(error) == {"line", "column", "message"}
        if command[0] == "import_items":
            assert sentence in error["message"]
            assert set(ran.document) >= IMPORT_KEYS
            assert sentence in ran.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "The file has 2 rows and the campaign 1 item:"),
        (("--column", "nope"), "lacks the column"),
        (("--annotator", "n" * 200), "is longer than 150 characters"),
    ],
)
def test_judgements_that_come_to_nothing_have_the_document_of_others(
    options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    load_rows(new_campaign(slug="main"), triples(2 if "--annotator" in options else 1), tmp_path)
    path = write_csv(tmp_path / "judged.csv", [{"label": 1}, {"label": 0}])
    ran = run("import_annotations", "main", path, "--by-position", *options, "--json")
    assert ran.code == 1
    assert set(ran.document) >= IMPORT_KEYS | {"annotators", "without_item"}
    assert (ran.document["file"], ran.document["rows"], ran.document["added"]) == ("judged.csv", 0, 0)
    assert sentence in ran.document["errors"][0]["message"]


@pytest.mark.parametrize(
    ("compounds_text", "sentence"),
    [("a b\n", "has 1"), ("a compound\n" * 4 + "a\0b\n", "U+0000"), ("", "has 0")],
)
def test_a_test_set_that_comes_to_nothing_has_the_document_of_others(
    compounds_text: str, sentence: str, tmp_path: Path
) -> None:
    new_campaign("compound", slug="main")
    files: list[object] = []
    for name, text in [("sources", "s\n" * 5), ("references", "r\n" * 5), ("translations", "t\n" * 5)]:
        (tmp_path / f"NP.{name}").write_text(text)
        files += [f"--{name}", tmp_path / f"NP.{name}"]
    (tmp_path / "NP.compound").write_text(compounds_text)
    ran = run(
        "import_cognition", "main", *files, "--compounds", tmp_path / "NP.compound", "--system", "b", "--json"
    )
    assert ran.code == 1
    assert set(ran.document) >= IMPORT_KEYS | {"judgements", "differing_sources"}
    assert ran.document["file"] == "NP"
    assert sentence in ran.document["errors"][0]["message"]


def test_it_says_that_a_file_is_not_there(tmp_path: Path) -> None:
    new_campaign(slug="main")
    ran = run("import_items", "main", tmp_path / "none.csv", "--json")
    assert ran.code == 1
    assert "cannot be opened" in ran.document["errors"][0]["message"]


def test_it_shows_what_would_happen_and_stores_nothing(tmp_path: Path) -> None:
    campaign = new_campaign(slug="main")
    path = write_csv(tmp_path / "items.csv", triples(3))
    document = run_json("import_items", "main", path, "--dry-run")
    assert (document["added"], document["stored"]) == (3, False)
    assert not campaign.items.exists()
    assert "3 new" in run("import_items", "main", path, "--dry-run").out
    rows = triples(3)
    rows[1]["relation"] = "xWish"
    ran = run("import_items", "main", write_csv(path, rows), "--dry-run", "--json")
    assert ran.code == 1
    assert ran.document["errors"][0]["line"] == 3
    run_json("import_items", "main", write_csv(path, triples(3)))
    rows = triples(3)
    rows[1]["tail"] = "PersonX burns it"
    ran = run("import_items", "main", write_csv(path, rows), "--dry-run", "--json")
    assert ran.code == 1
    assert len(ran.document["conflicts"]) == 1


def test_it_tells_people_about_every_bad_row(tmp_path: Path) -> None:
    new_campaign(slug="main")
    rows = triples(3, note="x")
    rows[0]["relation"] = "xWish"
    rows[2]["tail"] = ""
    ran = run("import_items", "main", write_csv(tmp_path / "items.csv", rows))
    assert (ran.code, ran.out) == (1, "")
    assert "items.csv (csv, utf-8): 3 rows, 0 new" in ran.err
    assert "Nothing was stored." in ran.err
    assert "columns not used: note" in ran.err
    assert "error: line 2, column “relation”:" in ran.err
    assert "error: line 4, column “tail”:" in ran.err


def test_it_names_the_first_columns_it_does_not_use_and_counts_the_rest(tmp_path: Path) -> None:
    new_campaign()
    file = write_csv(tmp_path / "t.csv", triples(1, **{f"note{number}": "" for number in range(25)}))
    ran = run("import_items", "main", file)
    assert "note19 … and 5 more (see --json)" in ran.out + ran.err
    assert "note20" not in ran.out + ran.err
    assert len(run_json("import_items", "main", file)["unknown_columns"]) == 25


def test_it_shows_the_first_fifty_of_many(tmp_path: Path) -> None:
    new_campaign(slug="main")
    rows = [row | {"relation": f"xWish{n}"} for n, row in enumerate(triples(120))]
    path = write_csv(tmp_path / "items.csv", rows)
    ran = run("import_items", "main", path)
    assert ran.err.count("error: line") == 50
    assert "… and 70 more (see --json)" in ran.err
    assert len(run("import_items", "main", path, "--json").document["errors"]) == 120


def test_it_tells_both_texts_of_a_conflict_in_short(tmp_path: Path) -> None:
    new_campaign(slug="main")
    path = write_csv(tmp_path / "items.csv", triples(2))
    run_json("import_items", "main", path)
    rows = triples(2)
    rows[0]["tail"] = "长" * 5000
    ran = run("import_items", "main", write_csv(path, rows))
    assert ran.code == 1
    assert "conflict: t1: tail is “PersonX seals it 1” in the campaign, “长长" in ran.err
    assert len(ran.err) < 1000


# For all


@pytest.mark.parametrize(
    "arguments",
    [
        ("import_items", "none", "x.csv"),
        ("import_annotations", "none", "x.csv"),
        ("assign_parts", "none", "--experts", "a"),
        ("finalize", "none"),
        ("report", "none", "--kind", "agreement"),
        ("export", "none", "--what", "items", "--format", "csv"),
        ("verify", "none"),
    ],
)
def test_it_names_the_campaigns_there_are(arguments: tuple[str, ...]) -> None:
    ran = run(*arguments, "--json")
    assert ran.code == 1
    assert ran.document["errors"][0]["message"] == "There is no campaign “none”; there are: none yet."
    new_campaign(slug="main")
    assert "there are: main." in run(*arguments).err


def test_it_imports_every_case_file_twice_with_the_same_outcome() -> None:
    """Accepted or refused, the same everywhere; a second time nothing is added."""
    folder = shared("cases")
    n = 0
    for path in sorted(folder.glob("c*.*")):
        header = path.read_bytes()[:2000].decode("utf-8", "replace")
        protocol = "triple" if "relation" in header else "compound"
        slug = f"case-{n}"
        n += 1
        new_campaign(protocol, slug=slug)
        first = run("import_items", slug, path, "--json")
        again = run("import_items", slug, path, "--json")
        assert first.code == again.code
        assert first.code in (0, 1)
        if first.code == 0:
            assert again.document["added"] == 0
            assert again.document["unchanged"] == first.document["added"] > 0
        else:
            assert first.document["errors"]
            assert all(error["message"].strip() for error in first.document["errors"])
    assert n > 25


def test_it_prints_one_document_and_nothing_else(tmp_path: Path) -> None:
    new_campaign(slug="main")
    path = write_csv(tmp_path / "items.csv", triples(4))
    options = ("--experts", "ada,bo")
    for arguments in (
        ("import_items", "main", path),
        ("assign_parts", "main", *options, "--preview"),
        ("assign_parts", "main", *options),
        ("finalize", "main"),
        ("report", "main", "--kind", "agreement"),
        ("verify", "main"),
        ("export", "main", "--what", "items", "--format", "csv", "-o", tmp_path / "out.csv"),
    ):
        ran = run(*arguments, "--json")
        assert ran.code == 0
        assert isinstance(json.loads(ran.out), dict)
        assert ran.err == ""
    assert as_csv(triples(1)).startswith("triple_id")


def test_people_read_the_numbers_of_parts_that_the_pages_have(tmp_path: Path) -> None:
    """From 1, and on from batch to batch; `index` is the place in the plan, as it ever was."""
    new_campaign(slug="main")
    options = ("main", "--experts", "ada,bo", "--parts", "2")
    for batch, last in ((1, 4), (2, 8)):
        assert run("import_items", "main", write_csv(tmp_path / "items.csv", triples(last))).code == 0
        preview = run("assign_parts", *options, "--preview")
        document = run_json("assign_parts", *options, "--preview")
        given = run("assign_parts", *options)

        first, second = (2 * batch - 1, 2 * batch)
        for said in (preview.out, given.out):
            assert [f"part {number}:" in said for number in (first - 1, first, second, second + 1)] == [
                False,
                True,
                True,
                False,
            ]
        parts = document["parts"]
        assert [(part["index"], part["number"]) for part in parts] == [(0, first), (1, second)]
    assert list(Part.objects.order_by("index").values_list("index", flat=True)) == [0, 1, 2, 3]


# People


def test_it_adds_people_to_a_campaign_with_a_link_to_come_in() -> None:
    campaign = new_campaign(slug="main")
    document = run_json("add_member", "main", "Mei", "--role", "manager")
    assert (document["person"], document["role"], document["pseudonym"]) == ("Mei", "manager", "M1")
    (invitation,) = document["invitations"]
    assert invitation["person"] == "Mei"
    assert "/invitation/" in invitation["url"]
    with_password(User.objects.get_by_natural_key("mei"))
    again = run_json("add_member", "main", "ＭＥＩ", "--role", "manager")
    assert (again["pseudonym"], again["invitations"]) == ("M1", [])
    assert campaign.memberships.count() == 1
    refused = run("add_member", "main", "mei", "--role", "viewer", "--json")
    assert refused.code == 1
    assert "takes part as manager already" in refused.document["errors"][0]["message"]
    assert run("add_member", "main", "vera", "--role", "viewer").out.startswith(
        "vera takes part in main as viewer (V1)."
    )
    assert AuditEntry.objects.filter(campaign=campaign, action="person added").count() == 2


def test_it_says_what_to_do_with_a_new_campaign() -> None:
    ran = run("create_campaign", "main", "--protocol", "compound")
    assert "1 expert per item." in ran.out
    assert "import_items (or import_cognition) main FILE" in ran.out
    assert "add_member main NAME --role manager" in ran.out
    make_user("mei")
    managed = run("create_campaign", "other", "--protocol", "triple", "--manager", "mei").out
    assert "2 experts per item." in managed
    assert "add_member" not in managed


def test_it_mentions_the_ways_out_of_a_conflict(tmp_path: Path) -> None:
    new_campaign(slug="main")
    path = write_csv(tmp_path / "items.csv", triples(1))
    run_json("import_items", "main", path)
    rows = triples(1)
    rows[0]["tail"] = "PersonX burns it"
    assert "--on-conflict keep" in run("import_items", "main", write_csv(path, rows)).err


def test_it_names_compounds_that_tables_by_pattern_do_not_know(tmp_path: Path) -> None:
    new_campaign("compound", slug="main")
    path = write_csv(tmp_path / "items.csv", compounds(1))
    assert run_json("import_items", "main", path, "--dry-run")["other_patterns"] == ["the sleepy gardener 1"]
    assert "show them as “other”: “the sleepy gardener 1”." in run("import_items", "main", path).out


def test_a_workbook_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_rows(new_campaign(), triples(2), tmp_path)
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    target = tmp_path / "missing" / "items.xlsx"
    ran = run("export", "main", "--what", "items", "--format", "xlsx", "-o", target)
    gc.collect()
    assert (ran.code, ran.err.strip()) == (
        1,
        f"The file “{target}” cannot be written: No such file or directory.",
    )
    assert ignored == []


def test_parts_without_units_are_neither_shown_nor_stored(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(1), tmp_path)
    ran = run("assign_parts", "main", "--experts", "ada,bo")
    assert "part 1: 1 unit, 1 item: " in ran.out
    assert "0 units" not in ran.out
    assert list(Part.objects.values_list("index", flat=True)) == [0]
    assert verify(campaign) == []


def test_it_says_how_many_parts_stay_empty(tmp_path: Path) -> None:
    load_rows(new_campaign(), triples(5), tmp_path)
    asked = ("assign_parts", "main", "--experts", "ada,bo", "--parts", "8")
    said = (
        "3 of the 8 parts stay empty and are given to nobody, since there are fewer units than parts: ask for fewer "
        "parts."
    )
    assert run_json(*asked, "--preview")["warnings"] == [said]
    assert said in run(*asked, "--preview").out
    assert run_json(*asked[:4], "--preview")["warnings"] == []


@pytest.mark.parametrize("parts", ["1002", "40000"])
def test_more_parts_than_anybody_wants_are_a_wrong_call(parts: str, tmp_path: Path) -> None:
    load_rows(new_campaign(), triples(5), tmp_path)
    ran = run("assign_parts", "main", "--experts", "ada,bo", "--parts", parts, "--json")
    assert ran.code == 2
    assert "parts are too many; ask for at most 1,000." in ran.document["errors"][0]["message"]
    assert not Part.objects.exists()


@pytest.mark.parametrize("options", [(), ("--preview",)])
def test_where_all_is_given_out_it_lists_nothing_that_is_not_stored(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    load_rows(new_campaign(), triples(5), tmp_path)
    run_json("assign_parts", "main", "--experts", "ada,bo")
    document = run_json("assign_parts", "main", "--experts", "eve,fay", *options)
    assert document["warnings"] == ["Every unit has its experts already."]
    assert (document["parts"], document["loads"], document["pairs"]) == ([], {}, [])
    assert not Membership.objects.filter(user__username="eve").exists()


@pytest.mark.parametrize("command", ["import_items", "import_annotations"])
def test_a_folder_or_an_empty_name_is_a_wrong_call(command: str, tmp_path: Path) -> None:
    new_campaign()
    write_csv(tmp_path / "items.csv", triples(1))
    folder = run(command, "main", tmp_path, "--json")
    assert (folder.code, "is a folder: name a file in it" in folder.err) == (2, True)
    empty = run(command, "main", "", "--json")
    assert (empty.code, empty.err.strip()) == (2, "The name of a FILE is empty.")
