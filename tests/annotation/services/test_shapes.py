"""A campaign goes into another program's shape and comes back: what the shape says it carries is all there."""

import io
import json
import zipfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.formats.adapters.registry import SHAPES
from annotation.formats.cells import is_blank
from annotation.formats.errors import FormatError
from annotation.models import Annotation, Assignment, Campaign, Item, Membership, User
from annotation.services.answers import NOTE_LIMIT
from annotation.services.campaigns import create_campaign
from annotation.services.exports import names_of
from annotation.services.items import withdraw
from annotation.services.parts import assign_parts
from annotation.services.shape_exports import export_shape
from annotation.services.shapes import ShapeReport, look_at_shape, read_shape, recognised, store_shape
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    in_order,
    judge_rows,
    load_rows,
    new_campaign,
    save,
    screens_of_work,
    sheet,
    triple_campaign,
    triples,
)

pytestmark = pytest.mark.django_db

WITH_ITEMS = ("label-studio", "doccano", "huggingface")
BY_NAME = ("crowdkit", "nltk")


def exported(campaign: Campaign, shape: str, *, real: bool = True, **more: Any) -> bytes:
    return b"".join(export_shape(campaign, shape, names=names_of(campaign, real=real), **more).chunks())


def bring(campaign: Campaign, content: bytes, shape: str, folder: Path, **more: Any) -> ShapeReport:
    path = folder / f"brought.{SHAPES[shape].extension}"
    path.write_bytes(content)
    report = store_shape(campaign, read_shape(campaign, [path], shape_name=shape, **more))
    assert report.as_json()["errors"] == []
    assert report.ok
    return report


def answers(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Every current answer of the main round, with everything that a shape may carry."""
    return sorted(
        Annotation.objects.filter(assignment__round__campaign=campaign, assignment__round__kind="main").values_list(
            "assignment__item__position", "assignment__expert__username", "label", "cannot_judge", "note", "seconds",
        )
    )  # fmt: skip


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def without_slug(content: bytes, slug: str) -> dict[str, bytes]:
    """The file, or the files of an archive, in which the campaign's own name does not matter."""
    files = members_of(content) if content.startswith(b"PK") else {"": content}
    return {
        name: data.replace(slug.encode(), b"campaign") if name == "README.md" else data
        for name, data in files.items()
    }


def judged_triples(folder: Path, slug: str = "source", *, ids: bool = True) -> Campaign:
    """Twelve triples, one of them twice where they have no ids, with labels, notes, seconds and one “cannot judge”."""
    rows = triples(12, **{"class": "cs_head", "split": "test", "label": ""})
    for number, row in enumerate(rows):
        row["split"] = ("test", "dev", "")[number % 3]
        row["label"] = ("1", "0", "")[number % 3]
    if not ids:
        rows = [{name: value for name, value in row.items() if name != "triple_id"} for row in rows]
        rows[5] |= {name: rows[2][name] for name in ("head", "relation", "tail")}
    campaign = new_campaign(slug=slug)
    load_rows(campaign, rows, folder)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1)
    answer_everything(campaign, lambda row: ("1", "0.5", "0")[(row.item_id + row.slot) % 3])
    first = next(screens_of_work(campaign))[0]
    first.refresh_from_db()
    save(
        sheet([first], "", cannot_judge="text_broken", note='a "note",\twith\nall'),
        first.expert_id,
        slug=slug,
    )
    Annotation.objects.filter(assignment=first).update(seconds=12.25)
    return campaign


def judged_compounds(folder: Path, slug: str = "source", *, k: int = 2) -> Campaign:
    """Two systems, one of them in two runs; some of their translations are the same, one is empty."""
    campaign = new_campaign("compound", slug=slug, k=k)
    first = compounds(2, system="base")
    first[3]["translation"] = ""
    load_rows(campaign, first, folder)
    second = compounds(2, system="large", run="1")
    for row in second[:4]:
        row["translation"] = f"{row['translation']} 别的"
    load_rows(campaign, second, folder)
    load_rows(campaign, [{**row, "run": ""} for row in second], folder)
    experts = [f"e{number}" for number in range(k)]
    assign_parts(campaign, experts=experts, design="cyclic" if k > 1 else "single", seed=1)
    answer_everything(campaign, lambda row: str(row.item_id % 2))
    return campaign


# Items and judgements


@pytest.mark.parametrize("shape", WITH_ITEMS)
@pytest.mark.parametrize("ids", [True, False])
def test_it_brings_triples_and_their_judgements_back(tmp_path: Path, shape: str, ids: bool) -> None:
    source = judged_triples(tmp_path, ids=ids)
    content = exported(source, shape)
    target = new_campaign(slug="target")
    report = bring(target, content, shape, tmp_path)
    assert report.items is not None
    assert (report.items.added, report.n_judgements) == (12, 24)
    assert in_order(target) == in_order(source)
    current = [row for row in answers(source) if row[3] or row[2]]
    latest = {(row[0], row[1]): row for row in current if not row[3]} | {
        (row[0], row[1]): row for row in current if row[3]
    }
    assert answers(target) == sorted(latest.values())
    assert without_slug(exported(target, shape), "target") == without_slug(content, "source")
    assert not User.objects.filter(username__in=["ada", "bo"], is_active=False).exists()
    assert verify(target) == []
    again = bring(target, content, shape, tmp_path)
    assert again.items is not None
    assert (again.items.added, again.items.unchanged, again.n_judgements) == (0, 12, 0)


@pytest.mark.parametrize("shape", WITH_ITEMS)
def test_it_brings_compounds_of_several_systems_back(tmp_path: Path, shape: str) -> None:
    source = judged_compounds(tmp_path)
    content = exported(source, shape)
    target = new_campaign("compound", slug="target", k=2)
    report = bring(target, content, shape, tmp_path)
    assert report.items is not None
    assert report.items.rows == 30
    assert in_order(target) == in_order(source)
    assert answers(target) == answers(source)
    assert without_slug(exported(target, shape), "target") == without_slug(content, "source")


def test_it_brings_ckbp_back_by_slots(tmp_path: Path) -> None:
    source = judged_triples(tmp_path)
    content = exported(source, "ckbp")
    files = members_of(content)
    assert list(files) == ["evaluation_set.csv", "human1.csv", "human2.csv"]
    assert files["evaluation_set.csv"].splitlines()[0] == b"triple_id,head,relation,tail,class,split,label"
    assert b",tst," in files["evaluation_set.csv"]
    target = new_campaign(slug="target")
    report = bring(target, content, "ckbp", tmp_path)
    assert report.n_judgements == 23  # one of the 24 is “cannot judge”
    assert report.annotators == ["human1", "human2"]
    assert in_order(target) == in_order(source)
    slots = ("assignment__item__position", "assignment__slot", "label")
    labels = [
        sorted(
            Annotation.objects.filter(assignment__round__campaign=campaign)
            .exclude(assignment__label="")
            .values_list(*slots)
        )
        for campaign in (source, target)
    ]
    assert labels[0] == labels[1]
    assert exported(target, "ckbp") == content


def test_it_brings_cognition_back(tmp_path: Path) -> None:
    source = new_campaign("compound", slug="source")
    rows = compounds(3, system="bilingual")
    for number, row in enumerate(rows, start=1):
        row["item_id"] = f"NP-{number:04d}"
    load_rows(source, rows, tmp_path)
    assign_parts(source, experts=["ada"], design="single", seed=1)
    answer_everything(source, lambda row: str(row.item_id % 2))
    content = exported(source, "cognition")
    assert list(members_of(content)) == ["NP.en", "NP.compound", "NP.zh", "NP-bilingual.xlsx"]
    target = new_campaign("compound", slug="target")
    report = bring(target, content, "cognition", tmp_path, annotator="ada")
    assert report.n_judgements == 15
    assert in_order(target) == in_order(source)
    assert answers(target) == answers(source)
    assert exported(target, "cognition") == content


# Judgements of items that are there


@pytest.mark.parametrize("shape", BY_NAME)
@pytest.mark.parametrize("ids", [True, False])
def test_it_brings_judgements_back_to_the_same_triples(tmp_path: Path, shape: str, ids: bool) -> None:
    source = judged_triples(tmp_path, ids=ids)
    done = export_shape(source, shape, names=names_of(source, real=True))
    content = b"".join(done.chunks())
    assert (done.n_judgements, done.left_out) == (23, 1)
    target = new_campaign(slug="target")
    bring(target, exported(source, "label-studio", with_judgements=False), "label-studio", tmp_path)
    assert answers(target) == []
    assert bring(target, content, shape, tmp_path).n_judgements == 23
    assert exported(target, shape) == content


@pytest.mark.parametrize("shape", BY_NAME)
def test_a_name_tells_the_translations_of_a_context_apart(tmp_path: Path, shape: str) -> None:
    source = judged_compounds(tmp_path)
    content = exported(source, shape)
    assert "c1-1␟large␟1".encode() in content
    target = new_campaign("compound", slug="target", k=2)
    bring(target, exported(source, "doccano", with_judgements=False), "doccano", tmp_path)
    bring(target, content, shape, tmp_path)
    assert answers(target) == [(*row[:5], None) for row in answers(source)]
    assert exported(target, shape) == content


def test_items_that_one_cell_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    campaign = new_campaign()
    long = "PersonX " + "very " * 60
    rows = [{"head": f"{long}{i}", "relation": "xWant", "tail": f"rests {i}"} for i in (1, 2)]
    load_rows(campaign, rows, tmp_path)
    judge_rows(campaign, [{**row, "annotator": "ada", "label": "1"} for row in rows])
    with pytest.raises(FormatError, match="Two items would be called"):
        exported(campaign, "crowdkit")
    target = new_campaign(slug="target")
    bring(target, exported(campaign, "label-studio"), "label-studio", tmp_path)
    assert in_order(target) == in_order(campaign)


def test_a_name_with_a_tab_cannot_stand_in_a_line_of_tabs(tmp_path: Path) -> None:
    campaign = new_campaign()
    row = {"triple_id": "a\tb", "head": "PersonX eats", "relation": "xWant", "tail": "rest"}
    load_rows(campaign, [row], tmp_path)
    judge_rows(campaign, [{"triple_id": "a\tb", "annotator": "ada", "label": "1"}])
    with pytest.raises(FormatError, match="holds a tab or a line break"):
        exported(campaign, "nltk")


# What is given out


def test_people_stand_under_their_pseudonyms(tmp_path: Path) -> None:
    campaign = judged_triples(tmp_path)
    for shape in (*WITH_ITEMS, *BY_NAME, "ckbp"):
        content = exported(campaign, shape, real=False)
        assert b"ada" not in content, shape
        assert b"A1" in content or shape == "ckbp", shape


def test_it_holds_the_answers_of_the_main_round_to_items_that_stand(tmp_path: Path) -> None:
    campaign = judged_triples(tmp_path)
    item = Item.objects.filter(campaign=campaign).order_by("position")[3]
    withdraw(campaign, item.pk, reason="a misprint", by=make_user("boss"))
    done = export_shape(campaign, "label-studio", names=names_of(campaign, real=False))
    assert (done.n_items, done.n_judgements) == (11, 22)
    tasks = json.loads(b"".join(done.chunks()))
    assert [task["id"] for task in tasks] == list(range(1, 12))
    assert "t4" not in {task["data"]["triple_id"] for task in tasks}


def test_items_alone_hold_no_judgement(tmp_path: Path) -> None:
    campaign = judged_triples(tmp_path)
    for shape in (*WITH_ITEMS, "ckbp"):
        done = export_shape(campaign, shape, names=names_of(campaign, real=False), with_judgements=False)
        assert (done.n_items, done.n_judgements) == (12, 0)
        assert b"A1" not in b"".join(done.chunks())
    with pytest.raises(FormatError, match="holds judgements only"):
        export_shape(campaign, "nltk", names=names_of(campaign, real=False), with_judgements=False)


def test_one_system_is_chosen_where_a_shape_holds_one(tmp_path: Path) -> None:
    campaign = judged_compounds(tmp_path, k=1)
    with pytest.raises(FormatError, match="base; large; large/1"):
        exported(campaign, "cognition")
    done = export_shape(campaign, "cognition", names=names_of(campaign, real=False), system="large", run="1")
    assert (done.n_items, done.n_judgements) == (10, 10)  # six of them share the other system's items
    done.file.close()


def test_a_system_whose_translations_were_all_withdrawn_is_none_to_choose(tmp_path: Path) -> None:
    campaign = new_campaign("compound", slug="source")
    load_rows(campaign, compounds(1, system="base"), tmp_path)
    others = compounds(2, system="large")[5:]
    load_rows(campaign, others, tmp_path)
    for item in Item.objects.filter(campaign=campaign, outputs__system__name="large"):
        withdraw(campaign, item.pk, reason="a misprint", by=make_user(f"boss-{item.pk}"))
    names = names_of(campaign, real=False)
    export_shape(campaign, "cognition", names=names).file.close()
    with pytest.raises(FormatError, match="“large”; there are: base"):
        export_shape(campaign, "cognition", names=names, system="large")


@pytest.mark.parametrize(("protocol", "shape"), [("compound", "ckbp"), ("triple", "cognition")])
def test_a_shape_of_the_other_protocol_is_refused(protocol: str, shape: str) -> None:
    campaign = new_campaign(protocol)
    with pytest.raises(FormatError, match="this campaign is one of"):
        exported(campaign, shape)


def test_its_queries_do_not_grow(tmp_path: Path, django_assert_num_queries: Any) -> None:
    small = judged_triples(tmp_path, "small")
    names = names_of(small, real=False)
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as few:
        export_shape(small, "label-studio", names=names).file.close()
    large = triple_campaign(tmp_path, 60, experts=["ada", "bo"], slug="large")
    answer_everything(large)
    names = names_of(large, real=False)
    with django_assert_num_queries(len(few)):
        export_shape(large, "label-studio", names=names).file.close()


# What is brought in


def test_nothing_is_stored_where_a_judgement_cannot_be(tmp_path: Path) -> None:
    campaign = new_campaign(slug="target")
    task = {"data": {"head": "PersonX eats", "relation": "xWant", "tail": "rest"}}
    people = [{"completed_by": n, "result": [choice("1")]} for n in (1, 2, 3)]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([{**task, "annotations": people}]))
    file = read_shape(campaign, [path], shape_name="label-studio")
    report = look_at_shape(campaign, file)
    assert not report.can_be_stored
    assert "More people judged this item" in report.as_json()["errors"][0]["message"]
    assert not store_shape(campaign, file).ok
    assert not Item.objects.filter(campaign=campaign).exists()
    assert not User.objects.filter(username="user-1").exists()


def choice(label: str, control: str = "label") -> dict[str, Any]:
    return {"from_name": control, "to_name": "text", "type": "choices", "value": {"choices": [label]}}


TASK = {"head": "PersonX eats", "relation": "xWant", "tail": "rest"}


def label_studio(folder: Path, *tasks: tuple[dict[str, Any], list[dict[str, Any]]]) -> Path:
    """A file of items and the answers to each."""
    path = folder / "tasks.json"
    path.write_text(json.dumps([{"data": data, "annotations": answers} for data, answers in tasks]))
    return path


def answer(label: str, who: str = "ada", note: str = "") -> dict[str, Any]:
    noted = {"from_name": "note", "type": "textarea", "value": {"text": [note]}}
    return {"completed_by": {"email": who}, "result": [choice(label), *([noted] if note else [])]}


OUTPUTS = [compounds(1, system=system)[0] for system in ("base", "large")]  # they read the same: one item


@pytest.mark.parametrize(
    ("protocol", "tasks", "said"),
    [
        ("triple", [(TASK, [answer("1"), answer("0")])], "answer to this item stands on line 1 already"),
        (
            "triple",
            [(TASK, [answer("1"), answer("0", "Ada")])],
            "answer to this item stands on line 1 already",
        ),
        (
            "compound",
            [(OUTPUTS[0], [answer("1")]), (OUTPUTS[1], [answer("0")])],
            "answer to this item stands on line 1 already",
        ),
        (
            "compound",
            [(OUTPUTS[0], [answer("1"), answer("1", "bo")]), (OUTPUTS[1], [answer("1", "cy")])],
            "More people judged this item",
        ),
        ("triple", [(TASK, [answer("1", note="x" * 501)])], "The note has 501 characters; at most 500"),
    ],
)
def test_a_look_finds_what_storing_would_refuse(
    tmp_path: Path, protocol: str, tasks: list[tuple[dict[str, Any], list[dict[str, Any]]]], said: str
) -> None:
    campaign = new_campaign(protocol, slug="target", k=2)
    path = label_studio(tmp_path, *tasks)
    file = read_shape(campaign, [path], shape_name="label-studio")
    look = look_at_shape(campaign, file)
    assert not look.can_be_stored
    document = look.as_json()
    assert [said in error["message"] for error in document["errors"]] == [True]
    assert (document["added"], document["judgements"], document["outputs"]) == (0, 0, None)
    assert not store_shape(campaign, file).ok
    assert not Item.objects.filter(campaign=campaign).exists()


def test_the_same_answer_twice_is_one(tmp_path: Path) -> None:
    campaign = new_campaign(slug="target")
    longest = answer("1", note="x" * NOTE_LIMIT)
    path = label_studio(tmp_path, (TASK, [longest, longest]))
    assert store_shape(campaign, read_shape(campaign, [path], shape_name="label-studio")).ok
    assert Annotation.objects.get().note == "x" * NOTE_LIMIT


def test_a_note_that_is_too_long_is_refused_beside_items_that_are_there(tmp_path: Path) -> None:
    campaign = new_campaign(slug="target")
    load_rows(campaign, [TASK], tmp_path)
    report = judge_rows(campaign, [{**TASK, "annotator": "ada", "label": "1", "note": "x" * 501}])
    assert [(error.line, error.column) for error in report.errors] == [(2, "note")]
    assert "The note has 501 characters; at most 500" in report.errors[0].message
    assert not Annotation.objects.exists()


def test_a_look_writes_nothing_and_says_what_would_come(tmp_path: Path) -> None:
    content = exported(judged_triples(tmp_path), "doccano")
    path = tmp_path / "all.jsonl"
    path.write_bytes(content)
    target = new_campaign(slug="target")
    assert recognised(target, [path]) == "doccano"
    document = look_at_shape(target, read_shape(target, [path], shape_name="doccano")).as_json()
    assert (document["rows"], document["added"], document["judgements"]) == (12, 12, 24)
    assert sorted(document["annotators"]) == ["ada", "bo"]
    assert document["not_carried"] == list(SHAPES["doccano"].lacks_of("triple"))
    assert not Item.objects.filter(campaign=target).exists()
    assert not Membership.objects.filter(campaign=target, role="expert").exists()


def test_people_of_a_file_become_closed_accounts(tmp_path: Path) -> None:
    campaign = new_campaign(slug="target")
    path = tmp_path / "tasks.json"
    task = {
        "id": 7,
        "data": {"head": "PersonX eats", "relation": "xWant", "tail": "rest"},
        "annotations": [
            {"completed_by": {"id": 4, "email": "mei@example.org"}, "result": [choice("Always/Often", "x")]},
            {"completed_by": 9, "result": [choice("0", "x")], "lead_time": 4.288},
        ],
    }
    path.write_text(json.dumps([task]))
    bring(campaign, path.read_bytes(), "label-studio", tmp_path)
    rows = Annotation.objects.values_list("assignment__expert__username", "label", "seconds")
    assert sorted(rows) == [("mei@example.org", "1", None), ("user-9", "0", 4.288)]
    assert not User.objects.filter(is_active=True, username__in=["mei@example.org", "user-9"]).exists()


def test_a_stored_answer_is_not_overwritten(tmp_path: Path) -> None:
    source = judged_triples(tmp_path)
    content = exported(source, "label-studio").replace(b'{"choices": ["0.5"]}', b'{"choices": ["1"]}')
    path = tmp_path / "changed.json"
    path.write_bytes(content)
    report = store_shape(source, read_shape(source, [path], shape_name="label-studio"))
    assert not report.ok
    assert report.as_json()["conflicts"]
    assert "0.5" in set(Assignment.objects.values_list("label", flat=True))


# Texts of every kind

TEXTS = st.one_of(
    st.sampled_from(
        ["'12", "007", "1e5", "=1+1", "#N/A", "TRUE", "null", "-", '"', "'", "1.0", " x ", "a\tb\nc\r\nd"]
    ),
    st.text(
        st.one_of(
            st.sampled_from(",;\t\n\r\"'|␟#=+-@\u200f\u202e\u2028\u0085 0123456789אבשלוم𝄞🙂中文\\{}[]"),
            st.characters(exclude_categories=["Cs", "Cc"]),
        ),
        min_size=1,
        max_size=30,
    ),
).filter(lambda text: not is_blank(text))
NUMBERS = count(1)
IN_ONE_TEST = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def there_and_back(source: Campaign, target: Campaign, shape: str, folder: Path) -> None:
    content = exported(source, shape)
    bring(target, content, shape, folder)
    assert in_order(target) == in_order(source)
    if shape != "ckbp":
        assert answers(target) == answers(source)
    assert without_slug(exported(target, shape), target.slug) == without_slug(content, source.slug)


def two_campaigns(protocol: str) -> list[Campaign]:
    number = next(NUMBERS)
    return [
        create_campaign(slug=f"{name}-{number}", protocol=protocol, annotators_per_item=2, seed=1)
        for name in ("any", "back")
    ]


@settings(max_examples=20, deadline=None, suppress_health_check=IN_ONE_TEST)
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["1", "0.5", "0"]), TEXTS), min_size=1, max_size=4),
    shape=st.sampled_from([*WITH_ITEMS, "ckbp"]),
)
def test_any_text_of_a_triple_comes_back_as_it_was(
    tmp_path: Path, rows: list[tuple[str, str, str, str]], shape: str
) -> None:
    source, target = two_campaigns("triple")
    given_rows = [{"head": head, "relation": "xWant", "tail": tail} for head, tail, _label, _note in rows]
    load_rows(source, given_rows, tmp_path)
    judgements = [
        {**row, "annotator": "ada", "label": label, "note": note}
        for row, (_head, _tail, label, note) in zip(given_rows, rows, strict=True)
    ]
    assert judge_rows(source, judgements).ok
    there_and_back(source, target, shape, tmp_path)


@settings(max_examples=15, deadline=None, suppress_health_check=IN_ONE_TEST)
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS, st.sampled_from(["1", "0"])), min_size=1, max_size=3),
    compound=TEXTS,
    shape=st.sampled_from(WITH_ITEMS),
)
def test_any_text_of_a_compound_comes_back_as_it_was(
    tmp_path: Path, rows: list[tuple[str, str, str, str]], compound: str, shape: str
) -> None:
    source, target = two_campaigns("compound")
    given_rows = [
        {
            "item_id": f"i{number}",
            "compound": compound,
            "context_no": number,
            "source": text,
            "translation": translation,
            "reference": reference,
            "system": "base",
        }
        for number, (text, translation, reference, _label) in enumerate(rows, start=1)
    ]
    load_rows(source, given_rows, tmp_path)
    judgements = [
        {"item_id": row["item_id"], "annotator": "ada", "label": label}
        for row, (_text, _translation, _reference, label) in zip(given_rows, rows, strict=True)
    ]
    assert judge_rows(source, judgements).ok
    there_and_back(source, target, shape, tmp_path)
