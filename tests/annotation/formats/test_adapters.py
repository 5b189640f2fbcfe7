"""Files in the shapes of other programs: what they say is read, and what is wrong with them is told with its place."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.formats.adapters import parquet as parquet_files
from annotation.formats.adapters.base import Asked, Found
from annotation.formats.adapters.packages import Given, given, is_archive, of_archive
from annotation.formats.adapters.registry import SHAPES, shape, shape_of
from annotation.formats.compound_units import CompoundRow
from annotation.formats.errors import FormatError
from annotation.formats.triples import TripleRow
from annotation.protocol.wording import default_wording
from tests.annotation.formats.files import workbook
from tests.shared import shared

TRIPLE = {"triple_id": "t1", "head": "PersonX eats", "relation": "xWant", "tail": "to rest"}
COMPOUND = {
    "item_id": "c1",
    "compound": "the dog",
    "context_no": "1",
    "source": "he saw the dog .",
    "translation": "他看见了狗。",
}


def read(
    name: str,
    files: Mapping[str, bytes] | bytes,
    *,
    protocol: str = "triple",
    column: str | None = None,
    **more: Any,
) -> Found:
    found = Given(name="file", files={"file": files} if isinstance(files, bytes) else files)
    asked = Asked(
        protocol=protocol, wording=default_wording(protocol), annotator="released", column=column, **more
    )
    return SHAPES[name].read(found, asked)


def errors(found: Found) -> list[tuple[int | None, str | None, str]]:
    """What is wrong with items and judgements: line, field, sentence."""
    issues = [
        *(found.items.errors if found.items else ()),
        *(found.judgements.errors if found.judgements else ()),
    ]
    return [(issue.line, issue.column, str(issue.message)) for issue in issues]


def compounds(found: Found) -> list[CompoundRow]:
    assert found.items is not None
    return [row for row in found.items.rows if isinstance(row, CompoundRow)]


def triples(found: Found) -> list[TripleRow]:
    assert found.items is not None
    return [row for row in found.items.rows if isinstance(row, TripleRow)]


def judged(found: Found) -> list[tuple[str | None, str, str]]:
    """Which item, who, which label."""
    assert found.judgements is not None
    assert errors(found) == []
    return [(row.key.given if row.key else None, row.annotator, row.label) for row in found.judgements.rows]


def warnings(found: Found) -> str:
    rows = found.items or found.judgements
    assert rows is not None
    return " ".join(str(issue.message) for issue in rows.warnings)


# Every shape says what it is


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_says_what_it_carries_and_what_not(name: str) -> None:
    adapter = SHAPES[name]
    assert adapter.name == name
    assert adapter.carries
    assert adapter.lacks
    assert all(sentence.endswith(".") for sentence in (*adapter.carries, *adapter.lacks))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\x02",
        b"\xff\xfe\x00",
        "一".encode("utf-16-le"),
        b"PK\x03\x04broken",
        b"%PDF-1.7\n",
        b"\n\n\n",
    ],
)
def test_what_is_no_such_file_is_refused(name: str, content: bytes) -> None:
    protocol = SHAPES[name].protocols[0]
    assert shape_of(Given(name="x", files={"x": content}), protocol) is None
    try:
        found = read(name, content, protocol=protocol)
    except FormatError:
        return
    assert errors(found)  # a text is refused line by line


def test_there_is_no_other_shape() -> None:
    with pytest.raises(FormatError, match="There is no shape “brat”"):
        shape("brat", "triple")
    with pytest.raises(FormatError, match="CKBP holds triples"):
        shape("ckbp", "compound")


# CrowdKit


def test_crowdkit_reads_task_worker_label_in_any_order_and_with_tabs() -> None:
    found = read("crowdkit", b"worker\tTASK\tlabel\tgold\nada\tt1\t1\tx\nbo\tt1\t0.5\t\n")
    assert judged(found) == [("t1", "ada", "1"), ("t1", "bo", "0.5")]
    assert found.items is None
    assert found.judgements is not None
    assert found.judgements.columns == {"TASK": "triple_id", "worker": "annotator", "label": "label"}
    assert found.judgements.unknown_columns == ("gold",)


def test_crowdkit_reads_the_old_name_of_the_worker() -> None:
    assert judged(read("crowdkit", b"task,performer,label\nt1,ada,1\n")) == [("t1", "ada", "1")]


def test_crowdkit_tells_the_place_of_what_is_wrong() -> None:
    content = b"task,worker,label\nt1,ada,2\nt2,,1\n,bo,1\nt3,cy,1\nt3,cy,0\nt4,dee\n"
    assert [(line, column) for line, column, _message in errors(read("crowdkit", content))] == [
        (2, "label"), (3, "worker"), (4, "task"), (6, "task"), (7, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"task,worker\nt1,ada\n", "lacks the column label"),
        (b"task,worker,label,Label\nt1,ada,1,1\n", "twice"),
        (b"task,worker,label\n", "no data rows"),
        (b'{"task": "t1", "task": "t2"}\n', "twice"),
        (b"PAR1task", "Parquet"),
    ],
)
def test_crowdkit_refuses_a_file_as_a_whole(content: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read("crowdkit", content)


def test_crowdkit_splits_a_name_into_key_system_and_run() -> None:
    content = "task,worker,label\nc1␟large␟1,ada,1\nc1␟base,ada,0\n".encode()
    found = read("crowdkit", content, protocol="compound")
    assert found.judgements is not None
    assert [(row.key and row.key.given, row.system, row.run) for row in found.judgements.rows] == [
        ("c1", "large", "1"), ("c1", "base", None),
    ]  # fmt: skip


def test_crowdkit_is_recognised_by_its_header() -> None:
    given = Given(name="a.csv", files={"a.csv": b"worker,label,task\nada,1,t1\n"})
    assert shape_of(given, "triple") is SHAPES["crowdkit"]
    other = Given(name="a.csv", files={"a.csv": b"triple_id,annotator,label\nt1,ada,1\n"})
    assert shape_of(other, "triple") is None


# NLTK


def test_nltk_reads_its_own_example() -> None:
    content = "".join(f"{coder}\t{number}\t1\n" for number in range(1, 4) for coder in "ab").encode()
    assert judged(read("nltk", content)) == [(str(n), coder, "1") for n in (1, 2, 3) for coder in "ab"]


def test_nltk_knows_no_quoting_and_takes_a_header() -> None:
    content = b'coder\titem\tlabel\r\nada\t"t1\t1\r\n\r\nbo\tt2 "x"\t0'
    assert judged(read("nltk", content)) == [('"t1', "ada", "1"), ('t2 "x"', "bo", "0")]


def test_nltk_tells_the_place_of_what_is_wrong() -> None:
    content = b"ada\tt1\t1\nada t2 1\nada\tt3\t1\t1\n\tt4\t1\nada\tt5\tyes\nada\tt6\t\x00\nada\tt1\t0\n"
    assert [(line, column) for line, column, _message in errors(read("nltk", content))] == [
        (2, None), (3, None), (4, "coder"), (5, "label"), (6, "label"), (7, "item"),
    ]  # fmt: skip


# Label Studio


def task(number: int = 1, *annotations: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "data": TRIPLE | {"triple_id": f"t{number}"},
        "annotations": list(annotations),
        **more,
    }


def annotation(label: Any = "1", who: Any = "ada", **more: Any) -> dict[str, Any]:
    result = {"from_name": "plausible", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
    return {"id": 1, "completed_by": who, "result": [result], "was_cancelled": False, **more}


def studio(*tasks: Any, column: str | None = None, indent: int | None = None) -> Found:
    content = json.dumps(list(tasks), indent=indent, ensure_ascii=False).encode()
    return read("label-studio", content, column=column)


def test_label_studio_reads_tasks_and_who_judged_them() -> None:
    found = studio(
        task(1, annotation("1", {"id": 3, "email": "ada@x.org"}), annotation("Never", 12, lead_time=4.288)),
        task(2),
        indent=2,
    )
    assert judged(found) == [("t1", "ada@x.org", "1"), ("t1", "user-12", "0")]
    assert found.items is not None
    assert [row.key.given for row in found.items.rows] == ["t1", "t2"]
    assert found.judgements is not None
    assert found.judgements.rows[1].seconds == 4.288


def test_label_studio_says_what_it_leaves_aside() -> None:
    skipped = annotation(was_cancelled=True) | {"result": []}
    empty = annotation() | {"result": []}
    found = studio(task(1, annotation(who=None), skipped, empty, predictions=[{"result": []}], drafts=[{}]))
    assert judged(found) == [("t1", "released", "1")]
    for part in (
        "1 task holds predictions",
        "1 task holds a draft",
        "1 annotation was skipped",
        "holds no choice",
    ):
        assert part in warnings(found)


def test_label_studio_names_the_line_on_which_a_task_begins() -> None:
    tasks = (
        '{"data": {"head": "a", "relation": "xWant", "tail": "b"}}',
        '{\n"data": {"head": "a", "tail": "b"}}',
    )
    content = f"[\n{tasks[0]},\n{tasks[1]}\n]".encode()
    assert errors(read("label-studio", content)) == [(3, "relation", "The cell is empty, but is needed.")]
    on_one_line = json.dumps(
        [task(1), {"data": {"triple_id": "t2", "head": "a", "relation": "xWant"}}]
    ).encode()
    found = read("label-studio", on_one_line)
    assert [(line, column) for line, column, _message in errors(found)] == [(2, "tail")]
    assert "it is the task's number" in warnings(found)


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ("no object", None),
        ({"data": []}, "data"),
        ({"data": TRIPLE, "id": []}, "id"),
        ({"data": TRIPLE, "annotations": {}}, "annotations"),
        (task(1, "x"), "annotations[0]"),
        (task(1, {"result": {}}), "annotations[0].result"),
        (task(1, {"result": ["x"]}), "annotations[0].result[0]"),
        (task(1, annotation(), annotation(["1"])), "annotations[1].result"),
        (task(1, annotation(None)), "annotations[0].result"),
        (task(1, annotation(True)), "annotations[0].result"),
        (task(1, annotation(who=[1])), "annotations[0].completed_by"),
        (task(1, annotation(who={"id": None})), "annotations[0].completed_by"),
        (task(1, annotation(lead_time="1")), "annotations[0].lead_time"),
        (task(1, annotation(lead_time=-1)), "annotations[0].lead_time"),
        (task(1, annotation(was_cancelled="no")), "annotations[0].was_cancelled"),
        (task(1, annotation("maybe")), "annotations.result"),
        (task(1, annotation(who="")), "annotations.completed_by"),
        ({"data": TRIPLE | {"head": {"a": 1}}}, "head"),
        ({"data": TRIPLE | {"head": "a\u0000b"}}, "head"),
    ],
)
def test_label_studio_tells_the_place_of_what_is_wrong(broken: Any, place: str | None) -> None:
    found = studio(task(9), broken)
    assert [(line, column or None) for line, column, _message in errors(found)] == [(2, place)]


def test_label_studio_takes_half_a_character_for_none() -> None:
    content = json.dumps([{"data": TRIPLE | {"head": "x"}}]).replace('"x"', '"\\ud83d"').encode()
    assert "surrogate" in errors(read("label-studio", content))[0][2]


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        ("{}", 1, "not a JSON list"),
        ("[]", None, "no tasks"),
        ('[{"data": {}},\n{"data" {}}]', 2, "a colon is missing"),
        ('[\n{"data": {"head": "a", "head": "b"}}]', 2, "twice"),
        ('[{"data": {"head": NaN}}]', 1, "NaN"),
        ('[{"data": {"head": 1e999}}]', 1, "larger than any number"),
        ('[{"data": {}}\n{"data": {}}]', 2, "A comma or the end"),
        ('[{"data": {}},\n]', 2, "comma stands before the end"),
        ('[{"data": {}}]\n[]', 2, "follows the end"),
        ('[{"data": {}}', 1, "A comma or the end"),
        ("[" * 100_000, 1, "nested too deeply"),
        ('[{"data": ' + "[" * 100_000, 1, "nested too deeply"),
    ],
)
def test_label_studio_refuses_a_file_as_a_whole(content: str, line: int | None, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence) as refused:
        read("label-studio", content.encode())
    assert refused.value.line == line


def test_label_studio_asks_which_of_several_choices_is_the_label() -> None:
    other = {"from_name": "fluency", "to_name": "text", "type": "choices", "value": {"choices": ["good"]}}
    several = annotation("1")
    several["result"].append(other)
    assert "“plausible”, “fluency”" in errors(studio(task(1, several)))[0][2]
    assert judged(studio(task(1, several), column="plausible")) == [("t1", "ada", "1")]


def test_label_studio_refuses_a_task_that_stands_twice() -> None:
    assert [(line, column) for line, column, _m in errors(studio(task(1), task(1) | {"data": TRIPLE}))] == [
        (2, "id")
    ]


def test_label_studio_needs_the_texts_of_an_item() -> None:
    with pytest.raises(FormatError, match="lacks the columns head, relation, tail"):
        studio({"data": {"text": "PersonX eats"}})


def test_label_studio_reads_utf8_with_a_mark_and_utf16() -> None:
    content = json.dumps([task(1, annotation("从不"))], ensure_ascii=False)
    for data in (b"\xef\xbb\xbf" + content.encode(), b"\xff\xfe" + content.encode("utf-16-le")):
        assert judged(read("label-studio", data)) == [("t1", "ada", "0")]


# doccano


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def test_doccano_reads_its_own_export_with_columns_beside_the_text() -> None:
    flat = {"id": 5, "text": "eats | rest", "label": ["1"], "Comments": ["sure"]}
    flat |= {name: value for name, value in TRIPLE.items() if name != "triple_id"}
    found = read("doccano", lines(flat, flat | {"id": 6, "tail": "to sleep", "label": []}))
    assert judged(found) == [("PersonX eats | xWant | to rest", "released", "1")]
    assert found.judgements is not None
    assert found.judgements.rows[0].note == "sure"
    assert found.items is not None
    assert len(found.items.rows) == 2


def test_doccano_takes_each_file_of_an_archive_for_one_person() -> None:
    record = {"id": 1, "text": "x", "meta": TRIPLE}
    files = {"ada.jsonl": lines(record | {"label": ["1"]}), "bo.jsonl": lines(record | {"label": ["0"]})}
    found = read("doccano", files)
    assert judged(found) == [("t1", "ada", "1"), ("t1", "bo", "0")]
    assert "bo.jsonl holds lines 2 to 2" in warnings(found)


@pytest.mark.parametrize(
    ("name", "packed", "told", "who"),
    [
        ("alice.jsonl", True, None, "alice"),
        ("alice.jsonl", True, "mei", "mei"),
        ("all.jsonl", True, None, "released"),
        ("alice.jsonl", False, None, "released"),
    ],
)
def test_doccano_takes_the_only_file_of_an_archive_for_one_person(
    tmp_path: Path, name: str, packed: bool, told: str | None, who: str
) -> None:
    content = lines({"id": 1, "text": "x", "meta": TRIPLE, "label": ["1"]})
    path = tmp_path / ("dataset.zip" if packed else name)
    path.write_bytes(archive((name, content), (f"__MACOSX/._{name}", b"x")) if packed else content)
    asked = Asked(
        protocol="triple",
        wording=default_wording("triple"),
        annotator=told or "released",
        annotator_given=told is not None,
    )
    found = SHAPES["doccano"].read(given([path]), asked)
    assert judged(found) == [("t1", who, "1")]
    assert "counted through" not in warnings(found)


def test_doccano_takes_the_text_of_a_compound_for_its_translation() -> None:
    meta = {name: value for name, value in COMPOUND.items() if name != "translation"}
    found = read(
        "doccano", lines({"data": "他看见了狗。", "label": "correct", "meta": meta}), protocol="compound"
    )
    assert judged(found) == [("c1", "released", "1")]


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ({"label": []}, "text"),
        ({"text": 5, "meta": TRIPLE}, "text"),
        ({"text": "x", "meta": []}, "meta"),
        ({"text": "x", "meta": TRIPLE, "id": {}}, "id"),
        ({"text": "x", "meta": TRIPLE, "label": {"a": 1}}, "label"),
        ({"text": "x", "meta": TRIPLE, "label": ["1", "0"]}, "label"),
        ({"text": "x", "meta": TRIPLE, "label": [[0, 4, "x"]]}, "label"),
        ({"text": "x", "meta": TRIPLE, "label": ["maybe"]}, "label"),
        ({"text": "x", "meta": TRIPLE, "label": ["1"], "annotator": 4}, "annotator"),
        ({"text": "x", "meta": TRIPLE, "label": ["1"], "Comments": "x"}, "Comments"),
        ({"text": "x", "meta": TRIPLE, "annotations": [{"label": 2, "user": 1}]}, "annotations"),
        ({"text": "x", "meta": TRIPLE, "label": ["1"], "cannot_judge": "other"}, "cannot_judge"),
        ({"text": "x", "meta": TRIPLE, "label": ["1"], "seconds": "soon"}, "seconds"),
        ({"id": 9, "text": "x", "meta": TRIPLE | {"tail": "else"}}, "id"),
    ],
)
def test_doccano_tells_the_place_of_what_is_wrong(broken: Any, place: str) -> None:
    good = {"id": 9, "text": "x", "meta": TRIPLE | {"triple_id": "t9"}}
    found = read("doccano", lines(good, broken))
    assert [(line, column) for line, column, _message in errors(found)] == [(2, place)]


@pytest.mark.parametrize("line", [b'{"text": "a", "text": "b"}', b'{"text": NaN}', b"[1]", b"{", b'"x"'])
def test_doccano_refuses_lines_that_are_no_objects(line: bytes) -> None:
    found = read("doccano", lines({"text": "x", "meta": TRIPLE}) + line + b"\n")
    assert [line for line, _column, _message in errors(found)] == [2]


# CKBP

CKBP = b"head,relation,tail,class,split,label\na,xWant,b,cs_head,tst,1\nc,xNeed,d,adv,dev,0\ne,xAttr,f,all_head,,\n"


def test_ckbp_reads_the_published_files() -> None:
    names = ("ckbp2.0.csv", "human1.csv", "human2.csv")
    files = {name: shared(f"data/ckbp/{name}").read_bytes() for name in names}
    found = read("ckbp", files)
    assert found.items is not None
    assert found.judgements is not None
    assert errors(found) == []
    assert (found.items.n_rows, len(found.judgements.rows)) == (5006, 10012)
    assert {row.slot for row in found.judgements.rows if row.annotator == "human2"} == {2}


def test_ckbp_takes_an_empty_line_for_a_row_not_judged() -> None:
    found = read(
        "ckbp",
        {"set.csv": CKBP, "human2.csv": b"label2\n1\n\n0.5\n", "human1.csv": b'label1\r\n""\r\n1\r\n0\r\n'},
    )
    assert found.judgements is not None
    assert [(row.line, row.annotator, row.label, row.slot) for row in found.judgements.rows] == [
        (3, "human1", "1", 1), (4, "human1", "0", 1), (2, "human2", "1", 2), (4, "human2", "0.5", 2),
    ]  # fmt: skip


def test_ckbp_reads_columns_of_labels_in_the_table() -> None:
    table = b"head,relation,tail,label1,human2\na,xWant,b,1,0\nc,xNeed,d,,1\n"
    found = read("ckbp", table)
    assert [one[1:] for one in judged(found)] == [("human1", "1"), ("human2", "0"), ("human2", "1")]
    assert found.items is not None
    assert found.items.unknown_columns == ()


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"human1.csv": b"label1\n1\n"}, "None of the files has the columns"),
        ({"a.csv": CKBP, "b.csv": CKBP}, "2 of the files are such"),
        ({"a.csv": CKBP, "human1.csv": b"label1\n1\n"}, "holds 1 labels, but the table has 3 rows"),
        (
            {"a.csv": CKBP, "human1.csv": b"label1\n1\n1\n1\n", "x/human1.csv": b"label1\n1\n1\n1\n"},
            "the same expert",
        ),
        ({"a.csv": CKBP, "human1.csv": b"label1\n1\n\x00\n1\n"}, "U\\+0000"),
    ],
)
def test_ckbp_refuses_files_as_a_whole(files: dict[str, bytes], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read("ckbp", files)


def test_ckbp_tells_the_place_of_what_is_wrong() -> None:
    found = read("ckbp", {"a.csv": CKBP.replace(b"xNeed", b"xneed"), "human1.csv": b"label1\n1\nmaybe\n1\n"})
    assert (3, "relation") in [(line, column) for line, column, _message in errors(found)]
    found = read("ckbp", {"a.csv": CKBP, "human1.csv": b"label1\n1\nmaybe\n1\n"})
    assert [(line, column) for line, column, _message in errors(found)] == [(3, "label")]


def test_ckbp_says_what_it_did_not_read() -> None:
    found = read("ckbp", {"a.csv": CKBP, "scores.csv": b"score\n0.1\n"})
    assert "“scores.csv” was not read" in warnings(found)


# CoGnition


def cognition(**changed: bytes) -> dict[str, bytes]:
    files = {
        "NP.en": b"he saw the dog .\n" * 5,
        "NP.compound": b"the dog\n" * 5,
        "NP.zh": "他看见了狗。\n".encode() * 5,
        "NP-base.xlsx": workbook(["src", "hyp", "human eval"], *[["he saw the dog .", "狗", 1]] * 5),
    }
    return {name: data for name, data in (files | changed).items() if data}


def test_cognition_tells_the_system_from_the_name_of_the_workbook() -> None:
    found = read("cognition", cognition(), protocol="compound")
    assert {row.system for row in compounds(found)} == {"base"}
    assert [one[1:] for one in judged(found)] == [("released", "1")] * 5
    named = read("cognition", cognition(), protocol="compound", system="other")
    assert {row.system for row in compounds(named)} == {"other"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"NP.zh": b""}, "There are 0 files of references"),
        ({"VP.en": b"x\n"}, "There are 2 files of sources"),
        ({"NP.zh": b"x\n"}, "do not have the same number of lines"),
        ({"NP-base.xlsx": b"", "NP.xlsx": workbook(["hyp"], *[["狗"]] * 5)}, "whose translations these are"),
        ({"NP-base.xlsx": b"PK\x03\x04broken"}, "NP-base.xlsx"),
    ],
)
def test_cognition_refuses_files_as_a_whole(changed: dict[str, bytes], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read("cognition", cognition(**changed), protocol="compound")


def test_cognition_refuses_a_name_that_no_file_can_have() -> None:
    files = cognition(**{"NP.en": b"", f"{'N' * 300}.en": b"he saw the dog .\n" * 5})
    with pytest.raises(FormatError, match="no name that a file can have"):
        read("cognition", files, protocol="compound", system="base")


def test_cognition_tells_the_place_of_what_is_wrong() -> None:
    book = workbook(
        ["src", "hyp", "human eval"], *[["he saw the dog .", "狗", 1]] * 4, ["he saw the dog .", "狗", "so"]
    )
    found = read("cognition", cognition(**{"NP-base.xlsx": book}), protocol="compound")
    assert [(line, column) for line, column, _message in errors(found)] == [(6, "human eval")]


# Hugging Face


def card(*configs: str) -> bytes:
    return ("---\nconfigs:\n" + "".join(configs) + "---\n# x\n").encode()


ITEMS = "- config_name: items\n  data_files:\n  - split: validation\n    path: data/*.csv\n"
CSV = b"head,relation,tail\na,xWant,b\n"


def parquet(rows: list[dict[str, Any]]) -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), target)
    return target.getvalue()


def test_hugging_face_takes_the_split_of_a_file() -> None:
    found = read(
        "huggingface", {"README.md": card(ITEMS), "data/a.csv": CSV, "data/b.csv": CSV.replace(b"b", b"c")}
    )
    assert errors(found) == []
    assert [(row.split, row.tail) for row in triples(found)] == [("dev", "b"), ("dev", "c")]
    assert "data/b.csv holds rows 2 to 2" in warnings(found)


@pytest.mark.parametrize("data_files", ["data/a.csv", "[data/a.csv]", "[{split: test, path: [data/a.csv]}]"])
def test_hugging_face_reads_every_form_of_data_files(data_files: str) -> None:
    config = f"- config_name: x\n  data_files: {data_files}\n"
    found = read("huggingface", {"README.md": card(config), "data/a.csv": CSV})
    assert found.items is not None
    assert len(found.items.rows) == 1


def test_hugging_face_reads_parquet_and_judgements_by_position() -> None:
    items = [
        {"position": n, "head": "a", "relation": "xWant", "tail": f"b{n}", "label": n - 1} for n in (1, 2)
    ]
    votes = [
        {"position": 2, "round": "main", "annotator": "A1", "label": "0.5", "slot": 1},
        {"position": 1, "round": "resolution", "annotator": "A1", "label": "1", "slot": 1},
    ]
    configs = (
        "- config_name: items\n  data_files: data/test.parquet\n",
        "- config_name: votes\n  data_files: data/votes.parquet\n",
    )
    files = {
        "README.md": card(*configs),
        "data/test.parquet": parquet(items),
        "data/votes.parquet": parquet(votes),
    }
    found = read("huggingface", files)
    assert judged(found) == [("a | xWant | b2", "A1", "0.5")]
    assert [row.label for row in triples(found)] == ["0", "1"]


def test_hugging_face_makes_an_output_of_each_system_of_a_release() -> None:
    row = COMPOUND | {"systems": "a/seed1; b", "split": "", "label": 1}
    config = "- config_name: items\n  data_files: d.jsonl\n"
    found = read("huggingface", {"README.md": card(config), "d.jsonl": lines(row)}, protocol="compound")
    assert errors(found) == []
    assert [(row.system, row.run) for row in compounds(found)] == [("a", "seed1"), ("b", None)]


@pytest.mark.parametrize(
    ("readme", "sentence"),
    [
        (None, "no README.md"),
        (b"# x\n", "does not begin with"),
        (b"---\nconfigs: []\n", "has no end"),
        (b"---\nconfigs: []\n---\n", "not a list of configurations"),
        (b"---\n[1]\n---\n", "not an object"),
        (b"---\nconfigs: [\n---\n", "YAML cannot be read"),
        (b"---\na: &x [1]\nb: *x\n---\n", "references"),
        (b"---\nconfigs: 1\nconfigs: 2\n---\n", "stands twice"),
        (b"---\nconfigs: !!python/object/apply:os.system [ls]\n---\n", "no “config_name”"),
        (b"---\nconfigs: 2020-13-45\n---\n", "not a list of configurations"),
        (b"---\nconfigs: " + b"1" * 9000 + b"\n---\n", "not a list of configurations"),
        (card("- data_files: a.csv\n"), "no “config_name”"),
        (card("- config_name: a\n  data_files: {split: test}\n"), "neither paths nor splits"),
        (card("- config_name: a\n"), "neither paths nor splits"),
        (card("- config_name: a\n  data_files: ../../etc/passwd\n"), "No file “../../etc/passwd”"),
        (card("- config_name: a\n  data_files: data/a.csv\n" * 2), "Two configurations are called"),
        (
            card(
                "- {config_name: a, data_files: data/a.csv}\n", "- {config_name: b, data_files: data/b.csv}\n"
            ),
            "Several",
        ),
        (
            card(
                "- {config_name: a, data_files: data/a.csv}\n", "- {config_name: b, data_files: data/*.csv}\n"
            ),
            "“data/a.csv” is named twice, in “a” and in “b”. Name each file once",
        ),
        (card("- {config_name: a, data_files: [data/a.csv, ./data/a.csv]}\n"), "named twice"),
        (
            card("- config_name: a\n  data_files:\n" + "".join(f"  - nothing{n}/*\n" for n in range(101))),
            "No file “nothing0/",
        ),
        (b"---\nconfigs: " + b"[" * 21 + b"]" * 21 + b"\n---\n", "nested more than 20 deep"),
        (b"---\nconfigs: " + b"[" * 900 + b"]" * 900 + b"\n---\n", "nested more than 20 deep"),
        (b"---\nconfigs: " + b"[" * 60_000 + b"\n---\n", "nested more than 20 deep"),
        (b"---\na: " + b"1" * (1 << 16) + b"\n---\n", "longer than 64 KB"),
        (
            card("- {config_name: a, data_files: other.csv}\n"),
            "No configuration of README.md has the columns",
        ),
        (b"---\n" + b"a: [" * 3000 + b"\n---\n", "README.md"),
    ],
)
def test_hugging_face_refuses_a_folder_as_a_whole(readme: bytes | None, sentence: str) -> None:
    files = {"data/a.csv": CSV, "data/b.csv": CSV, "other.csv": b"x,y\n1,2\n"} | (
        {} if readme is None else {"README.md": readme}
    )
    with pytest.raises(FormatError, match=sentence):
        read("huggingface", files)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"head,relation,tail\na,xWant\n", "data/a.csv: The row has 2 cells"),
        (b"head,relation,tail\n", "data/a.csv: .*no data rows"),
        (b"", "data/a.csv: The file is empty"),
    ],
)
def test_hugging_face_names_the_file_that_cannot_be_read(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read("huggingface", {"README.md": card(ITEMS), "data/a.csv": data})


def test_hugging_face_says_that_a_file_of_it_is_an_archive() -> None:
    with pytest.raises(FormatError, match=r"data/a\.csv: This is a zip archive and no workbook"):
        read("huggingface", {"README.md": card(ITEMS), "data/a.csv": archive(("a.csv", CSV))})


def test_hugging_face_holds_few_patterns_against_every_file() -> None:
    names = [f"d{number}.csv" for number in range(101)]
    files = {
        "README.md": card("- config_name: a\n  data_files:\n", *(f"  - {name}*\n" for name in names)),
        **dict.fromkeys(names, CSV),
    }
    with pytest.raises(FormatError, match=r"more than 100 paths with .* Name the files by their own paths"):
        read("huggingface", files)
    plain = card("- config_name: a\n  data_files:\n", *(f"  - {name}\n" for name in names))
    found = read("huggingface", files | {"README.md": plain})
    assert found.items is not None
    assert found.items.n_rows == 101


def test_hugging_face_is_recognised_by_its_card_alone() -> None:
    """What is wrong with the card is said of a shape that is known."""
    absent = Given(name="x", files={"README.md": card("- config_name: a\n  data_files: gone.csv\n")})
    assert shape_of(absent, "triple") is SHAPES["huggingface"]
    with pytest.raises(FormatError, match=r"No file “gone\.csv”"):
        read("huggingface", absent.files)


ONE_PARQUET = card("- config_name: items\n  data_files: [a.parquet]\n")


def in_every_row(text: str, n: int, **options: Any) -> bytes:
    """A Parquet file that holds a text once, for the heads of all its rows."""
    places = pa.array([0] * n, type=pa.int32())
    columns = {"head": text, "relation": "xWant", "tail": "y"}
    table = pa.table(
        {name: pa.DictionaryArray.from_arrays(places, pa.array([cell])) for name, cell in columns.items()}
    )
    target = io.BytesIO()
    if options:
        table = table.cast(pa.schema(dict.fromkeys(columns, pa.string())))
    pq.write_table(table, target, **options)
    return target.getvalue()


@pytest.mark.parametrize(
    "options",
    [{}, {"use_dictionary": True}, {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}],
)
def test_hugging_face_refuses_a_parquet_file_that_would_fill_the_memory(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "MAX_UNPACKED", 1 << 24)
    data = in_every_row("x" * (1 << 16), 600, **options)
    assert len(data) < 1 << 17
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    with pytest.raises(
        FormatError, match=r"a\.parquet: The files unpack to more than can be read at once \(256 MB\)"
    ):
        read("huggingface", {"README.md": ONE_PARQUET, "a.parquet": data})
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24
    assert pa.total_allocated_bytes() - before < 1 << 20


def test_hugging_face_counts_the_parquet_files_of_a_folder_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_UNPACKED", 1 << 20)
    half = in_every_row("x" * 1000, 600)
    files = {"a.parquet": half, "b.parquet": half, "README.md": ONE_PARQUET}
    assert read("huggingface", files).items is not None
    both = card("- config_name: items\n  data_files: [a.parquet, b.parquet]\n")
    with pytest.raises(FormatError, match=r"b\.parquet: .*Bring them in parts"):
        read("huggingface", files | {"README.md": both})


def test_hugging_face_reads_texts_numbers_and_booleans_of_parquet_files() -> None:
    text = pa.array(["狗", "猫", None])
    columns = {
        "head": text.dictionary_encode(),
        "relation": pa.array(["xWant"] * 3, type=pa.large_string()),
        "tail": pa.array(["a", "b", "c"], type=pa.string_view()),
        "x.y": text,
        "x": pa.array([{"y": "1"}] * 3),
        "n": pa.array([1, 2.5, None]),
        "b": pa.array([True, None, False]),
        "z": pa.nulls(3),
        "bytes": pa.array([b"1"] * 3),
    }
    target = io.BytesIO()
    pq.write_table(pa.table({**columns, "head": pa.array(["狗", "猫", "鱼"]).dictionary_encode()}), target)
    found = read("huggingface", {"README.md": ONE_PARQUET, "a.parquet": target.getvalue()})
    assert errors(found) == []
    assert [(row.head, row.relation, row.tail) for row in triples(found)] == [
        ("狗", "xWant", "a"), ("猫", "xWant", "b"), ("鱼", "xWant", "c"),
    ]  # fmt: skip
    target = io.BytesIO()
    pq.write_table(pa.table({**columns, "head": columns["x"]}), target)
    found = read("huggingface", {"README.md": ONE_PARQUET, "a.parquet": target.getvalue()})
    assert {(line, column) for line, column, _message in errors(found)} == {
        (1, "head"),
        (2, "head"),
        (3, "head"),
    }


def test_hugging_face_knows_the_numbers_of_its_own_rows() -> None:
    config = "- config_name: items\n  data_files: d.jsonl\n"
    found = read("huggingface", {"README.md": card(config), "d.jsonl": lines({"row": 1, **TRIPLE, "x": 1})})
    assert found.items is not None
    assert found.items.unknown_columns == ("x",)


def test_hugging_face_refuses_a_broken_parquet_file() -> None:
    config = "- config_name: items\n  data_files: a.parquet\n"
    with pytest.raises(FormatError, match=r"a\.parquet: The Parquet file cannot be read"):
        read("huggingface", {"README.md": card(config), "a.parquet": b"PAR1 no PAR1"})


def test_hugging_face_tells_which_judgement_has_no_item() -> None:
    votes = "- config_name: votes\n  data_files: votes.jsonl\n"
    item = {"row": 1, **TRIPLE}
    vote = {"row": 2, "annotator": "ada", "label": "1"}
    files = {
        "README.md": card("- config_name: items\n  data_files: d.jsonl\n", votes),
        "d.jsonl": lines(item),
    }
    found = read("huggingface", files | {"votes.jsonl": lines(vote | {"row": 1}, vote)})
    assert errors(found) == [(2, "row", "No item has row “2”.")]
    with pytest.raises(FormatError, match="do not say which item they are about"):
        read("huggingface", files | {"votes.jsonl": lines({"annotator": "ada", "label": "1"})})


def about(items: list[dict[str, Any]], votes: list[dict[str, Any]]) -> Found:
    """Items and votes of a folder, each a number of its own in a column `row`, or none."""
    configs = (
        "- {config_name: items, data_files: d.jsonl}\n",
        "- {config_name: votes, data_files: v.jsonl}\n",
    )
    told = [
        TRIPLE | {"triple_id": f"t{number}", "tail": f"to {number}"} | item
        for number, item in enumerate(items)
    ]
    answers = [{"annotator": "ada", "label": "1"} | vote for vote in votes]
    return read(
        "huggingface", {"README.md": card(*configs), "d.jsonl": lines(*told), "v.jsonl": lines(*answers)}
    )


def test_hugging_face_refuses_a_judgement_that_names_no_item_or_two() -> None:
    empty = "The cell is empty; write the row of the item that was judged."
    for nothing in ({}, {"row": None}, {"row": " "}, {"row": ["1"]}):
        found = about([{"row": 1}, {**nothing, "triple_id": "t9"}], [{"row": 1}, nothing])
        assert errors(found) == [(2, "row", empty)]
    found = about([{"row": 1}, {"row": 2}, {"row": 2}], [{"row": 2}])
    assert [(line, column) for line, column, _message in errors(found)] == [(1, "row")]
    assert "Several items have row “2” (rows 2 and 3)" in errors(found)[0][2]
    assert judged(about([{"row": 1}, {"row": 2}, {"row": 2}], [{"row": 1}])) == [("t0", "ada", "1")]


# Archives


def archive(*members: tuple[str, bytes], packed: bool = False, by: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED if packed else by) as written:
        for name, data in members:
            written.writestr(name or zipfile.ZipInfo(name), data)
    return target.getvalue()


def broken_deflate() -> bytes:
    """An archive whose packed bytes are none."""
    data = archive(("a.csv", b"1" * 100), packed=True)
    start = data.index(b"a.csv") + len(b"a.csv")
    return data[:start] + b"\xff" * 4 + data[start + 4 :]


def test_an_archive_gives_its_files_without_what_systems_leave_behind() -> None:
    data = archive(
        ("set/a.csv", b"1"), ("set/data/b.csv", b"2"), ("__MACOSX/set/._a.csv", b""), ("set/.DS_Store", b"")
    )
    assert of_archive(data) == {"a.csv": b"1", "data/b.csv": b"2"}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (archive(("../a.csv", b"1")), "leads out"),
        (archive(("/etc/a.csv", b"1")), "leads out"),
        (archive(("x\\..\\..\\a.csv", b"1")), "leads out"),
        (archive(), "no file"),
        (archive(("a", b"\0" * (40 << 20)), packed=True), "more than can be read"),
        (archive(*[(f"{n}", b"") for n in range(2001)]), "more than 2,000 files"),
        (archive(("", b"1")), "a file without a name. Make it again"),
        (
            archive(("a.csv", b"1"), by=zipfile.ZIP_LZMA),
            "“a.csv” is packed in an unusual way. Make the archive again",
        ),
        (archive(("a.csv", b"1"), by=zipfile.ZIP_BZIP2), "“a.csv” is packed in an unusual way"),
        (broken_deflate(), "cannot be read: it is damaged"),
        (archive(("a.csv", b"1" * 100))[:-30], "is damaged"),
        (archive(("a.csv", b"1" * 100)).replace(b"1" * 100, b"2" * 100), "is damaged"),
    ],
)
def test_a_hostile_archive_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        of_archive(data)


def test_a_damaged_archive_is_told_from_a_damaged_workbook() -> None:
    sheet = workbook(["a"], ["1"])[:-30]
    assert is_archive(archive(("a.csv", b"1" * 100))[:-30], name="a.zip")
    assert not is_archive(sheet, name="upload")
    assert not is_archive(b"PK\x03\x04broken", name="a.xlsx")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_holds_a_file_once() -> None:
    with pytest.raises(FormatError, match="twice"):
        of_archive(archive(("a.csv", b"1"), ("a.csv", b"2")))
