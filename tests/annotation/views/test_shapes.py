"""The pages on which files of other programs come in and go out."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.formats.adapters.registry import SHAPES as SHAPE_LIST
from annotation.models import Annotation, Campaign, Context, Item, Job, Membership, User
from annotation.services.exports import names_of
from annotation.services.jobs import due
from annotation.services.peeks import peeks_of
from annotation.services.people import add_member
from annotation.services.shape_exports import export_shape
from annotation.tasks import import_items
from tests.annotation.formats.test_kinds import OLD, SHEET, WORD
from tests.annotation.services.test_shapes import choice, judged_compounds, judged_triples
from tests.factories import make_user
from tests.material import load_rows, new_campaign, save, screens_of_work, sheet, triple_campaign, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

SHAPES = "/campaigns/{slug}/export/shapes/"


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def managed(campaign: Campaign, mei: User) -> Campaign:
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def send(mei: User, data: bytes, *, name: str, **fields: str) -> Any:
    posted = {f"shape-{field}": value for field, value in fields.items()}
    file = SimpleUploadedFile(name, data)
    return client_of(mei).post(
        "/campaigns/target/import/", {"kind": "shape", "shape-file": file, **posted}, follow=True
    )


def confirm(mei: User, preview: Any) -> Any:
    token = preview.request["PATH_INFO"].split("/")[-2]
    seen = preview.context["found"]["digest"]
    return client_of(mei).post(f"/campaigns/target/import/{token}/confirm/", {"seen": seen}, follow=True)


def content_of(campaign: Campaign, shape: str) -> bytes:
    return b"".join(export_shape(campaign, shape, names=names_of(campaign, real=True)).chunks())


@pytest.mark.parametrize(
    ("shape", "name"),
    [("label-studio", "a.json"), ("doccano", "a.jsonl"), ("huggingface", "a.zip"), ("ckbp", "a.zip")],
)
@pytest.mark.parametrize("told", [True, False])
def test_items_and_judgements_come_in_after_a_look(
    mei: User, tmp_path: Path, shape: str, name: str, told: bool
) -> None:
    content = content_of(judged_triples(tmp_path), shape)
    target = managed(new_campaign(slug="target"), mei)
    preview = send(mei, content, name=name, **({"shape": shape} if told else {}))
    assert preview.status_code == 200
    assert not Item.objects.filter(campaign=target).exists()
    text = text_of(preview)
    assert "12 rows · 12 new" in text
    assert "Judgements 23" in text or "Judgements 24" in text
    assert "Not carried" in text
    assert "rounds" in text
    stored = confirm(mei, preview)
    assert stored.status_code == 200
    assert Item.objects.filter(campaign=target).count() == 12
    n = Annotation.objects.filter(assignment__round__campaign=target).count()
    assert n == (23 if shape == "ckbp" else 24)


def test_a_long_file_is_stored_by_the_worker_and_taken_up_where_it_was_cut_off(
    mei: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.views.imports.IN_REQUEST", 2)
    content = content_of(judged_triples(tmp_path), "label-studio")
    target = managed(new_campaign(slug="target"), mei)
    assert "It waits for the worker." in text_of(confirm(mei, send(mei, content, name="a.json")))
    (job,) = due()
    monkeypatch.setattr("annotation.services.judgements.write_judgements", cut_off)
    with pytest.raises(KeyboardInterrupt):
        import_items(job.pk)
    monkeypatch.undo()
    assert Item.objects.filter(campaign=target).count() == 12
    assert not Annotation.objects.filter(assignment__round__campaign=target).exists()
    Job.objects.filter(pk=job.pk).update(state=Job.State.PENDING)
    import_items(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("done", 2)
    assert Item.objects.filter(campaign=target).count() == 12
    assert Annotation.objects.filter(assignment__round__campaign=target).count() == 24


def cut_off(*_arguments: Any) -> int:
    raise KeyboardInterrupt


def test_what_is_wrong_is_shown_before_anything_is_stored(mei: User) -> None:
    managed(new_campaign(slug="target"), mei)
    tasks = [
        {"data": {"head": "a", "relation": "xWish", "tail": "b"}, "annotations": [{"result": [choice("2")]}]}
    ]
    preview = send(mei, json.dumps(tasks).encode(), name="a.json")
    text = text_of(preview)
    assert "“xWish” is no relation" in text
    assert "“2” is not an answer of this scale" in text
    assert confirm(mei, preview).status_code == 409
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("data", "name", "fields", "sentence"),
    [
        (b"a,b\n1,2\n", "a.csv", {}, "cannot be told for certain"),
        (SHEET, "a.ods", {}, "seems to be a spreadsheet of another program"),
        (WORD, "a.docx", {}, "seems to be a text document"),
        (OLD, "a.xls", {}, "seems to be an old Excel workbook"),
        (SHEET, "a.ods", {"shape": "crowdkit"}, "is not read as a table. Send CSV, TSV, JSONL or XLSX."),
        (WORD, "a.docx", {"shape": "ckbp"}, "is not read as a table. Send CSV, TSV, JSONL or XLSX."),
        (WORD, "a.docx", {"shape": "nltk"}, "but a text file in UTF-8 is needed here"),
        (SHEET, "a.ods", {"shape": "nltk"}, "seems to be a spreadsheet of another program"),
        (b"{", "a.json", {"shape": "label-studio"}, "a.json: line 1: The file is not a JSON list"),
        (b"PK\x03\x04broken", "a.zip", {"shape": "huggingface"}, "The zip archive is damaged"),
        (b"x", "a.csv", {"shape": "cognition"}, "Select a valid choice"),
    ],
)
def test_a_file_that_cannot_be_read_gives_the_form_again(
    mei: User, data: bytes, name: str, fields: dict[str, str], sentence: str
) -> None:
    managed(new_campaign(slug="target"), mei)
    page = send(mei, data, name=name, **fields)
    assert page.status_code == 400
    assert sentence in text_of(page)


def test_judgements_whose_items_are_missing_ask_for_the_items(mei: User, tmp_path: Path) -> None:
    source = judged_triples(tmp_path)
    target = managed(new_campaign(slug="target"), mei)
    content = content_of(source, "nltk")
    text = text_of(send(mei, content, name="a.tsv", shape="nltk"))
    assert (
        "the items of 23 judgements are not in this campaign. Bring the items in first, then send this file again."
        in text
    )
    assert "Mend" not in text
    load_rows(target, triples(11), tmp_path)
    text = text_of(send(mei, content, name="a.tsv", shape="nltk"))
    assert "the item of 1 judgement is not in this campaign" in text
    text = text_of(send(mei, content + b"cy\tt1\tmaybe\n", name="a.tsv", shape="nltk"))
    assert "Nothing can be stored: 2 places in the file are wrong" in text


def test_a_conflict_cannot_be_overwritten(mei: User, tmp_path: Path) -> None:
    content = content_of(judged_triples(tmp_path), "doccano")
    managed(new_campaign(slug="target"), mei)
    assert confirm(mei, send(mei, content, name="a.jsonl")).status_code == 200
    changed = content.replace(b'"label": ["0.5"]', b'"label": ["1"]')
    preview = send(mei, changed, name="a.jsonl")
    assert "the file contradicts what is there" in text_of(preview)
    assert Annotation.objects.filter(assignment__round__campaign__slug="target", label="0.5").exists()


def test_the_page_lists_what_each_shape_does_not_carry(
    mei: User, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    managed(judged_triples(tmp_path), mei)
    client = client_of(mei)
    page = client.get(SHAPES.format(slug="source"))
    text = text_of(page)
    assert page.status_code == 200
    for title in ("Label Studio", "doccano", "CrowdKit", "NLTK", "CKBP", "Hugging Face"):
        assert title in text
    assert "CoGnition" not in text
    assert "Predictions and drafts: they are not read" in text
    with django_assert_max_num_queries(8):
        client.get(SHAPES.format(slug="source"))


def in_chinese(user: User, page: str) -> str:
    client = client_of(user)
    client.post("/language/", {"language": "zh-hans"})
    return text_of(client.get(page))


def test_what_is_not_carried_is_said_of_the_campaigns_protocol(mei: User, tmp_path: Path) -> None:
    managed(judged_triples(tmp_path), mei)
    of_triples = text_of(client_of(mei).get(SHAPES.format(slug="source")))
    assert "The detail of a third answer." in of_triples
    assert "atoms" not in of_triples
    assert "组成成分" not in in_chinese(mei, SHAPES.format(slug="source"))
    assert any("atoms" in sentence for sentence in SHAPE_LIST["doccano"].lacks_of("compound"))


@pytest.mark.parametrize(
    ("protocol", "carried"),
    [
        ("triple", "The triples, with every column, in a file for each split."),
        (
            "compound",
            "The instances, each context of a compound with its translations, with every column, in one file.",
        ),
    ],
)
def test_what_is_carried_is_said_of_the_campaigns_protocol(
    protocol: str, carried: str, mei: User, tmp_path: Path
) -> None:
    managed((judged_triples if protocol == "triple" else judged_compounds)(tmp_path), mei)
    page = text_of(client_of(mei).get(SHAPES.format(slug="source")))
    assert carried in page
    assert ("triples" in page.lower()) == (protocol == "triple")


def test_chinese_sentences_of_a_shape_stand_without_a_blank(mei: User, tmp_path: Path) -> None:
    managed(judged_triples(tmp_path), mei)
    shown = in_chinese(mei, SHAPES.format(slug="source"))
    assert "各条目及全部列，放在“meta”下。每条判断" in shown


def test_a_viewer_is_sent_to_no_page_of_managers(mei: User, tmp_path: Path) -> None:
    campaign = managed(judged_triples(tmp_path), mei)
    vera = make_user("vera")
    add_member(campaign, vera, Membership.Role.VIEWER)
    page = SHAPES.format(slug="source")
    assert "“Import”" in text_of(client_of(mei).get(page))
    assert "“Import”" not in text_of(client_of(vera).get(page))


def test_a_file_goes_out_under_pseudonyms(mei: User, tmp_path: Path) -> None:
    managed(judged_triples(tmp_path), mei)
    response = client_of(mei).get(SHAPES.format(slug="source") + "crowdkit/annotations")
    data = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    assert b"A1" in data
    assert b"ada" not in data
    assert response.headers["X-Assay-Left-Out"] == "cannot_judge=1"
    assert 'filename="source-crowdkit-annotations.csv"' in response.headers["Content-Disposition"]
    viewer = make_user("vera")
    add_member(Campaign.objects.get(slug="source"), viewer, Membership.Role.VIEWER)
    assert client_of(viewer).get(SHAPES.format(slug="source") + "nltk/annotations").status_code == 200


def test_each_file_has_a_name_of_its_own(mei: User, tmp_path: Path) -> None:
    managed(judged_compounds(tmp_path, k=1), mei)
    client, names = client_of(mei), []
    for address in (
        "label-studio/items",
        "label-studio/annotations",
        "cognition/annotations?system=base",
        "cognition/annotations?system=large&run=1",
        "cognition/annotations?system=large&run=",
    ):
        response = client.get(SHAPES.format(slug="source") + address)
        names.append(response.headers["Content-Disposition"].split('"')[1])
    assert names == [
        "source-label-studio-items.json",
        "source-label-studio-annotations.json",
        "source-base-cognition-annotations.zip",
        "source-large-1-cognition-annotations.zip",
        "source-large-cognition-annotations.zip",
    ]


def test_it_asks_back_while_others_judge_and_writes_down_who_went_on(mei: User, tmp_path: Path) -> None:
    campaign = managed(triple_campaign(tmp_path, 3, experts=["ada", "bo"]), mei)
    first = next(screens_of_work(campaign))[0]
    save(sheet([first]), first.expert_id)
    address, client = SHAPES.format(slug="main") + "label-studio/annotations", client_of(mei)
    asked = client.get(address)
    assert asked.status_code == 409
    assert "Experts are still judging" in text_of(asked)
    assert peeks_of(campaign) == []
    taken = client.post(address, {"confirmed": "yes"})
    assert taken.status_code == 200
    assert [(peek.kind, peek.by) for peek in peeks_of(campaign)] == [("annotations", mei)]
    assert client.get(SHAPES.format(slug="main") + "label-studio/items").status_code == 200
    assert len(peeks_of(campaign)) == 1


@pytest.mark.parametrize("method", ["get", "post"])
def test_what_cannot_be_had_is_refused_before_anybody_is_asked(
    mei: User, tmp_path: Path, method: str
) -> None:
    campaign = managed(triple_campaign(tmp_path, 3, experts=["ada", "bo"]), mei)
    for address in ("brat/annotations", "cognition/annotations", "label-studio/annotations?system=base"):
        refused = getattr(client_of(mei), method)(SHAPES.format(slug="main") + address)
        assert refused.status_code == 409
        assert "Experts are still judging" not in text_of(refused)
    assert peeks_of(campaign) == []


def test_a_system_that_is_not_there_is_refused(mei: User, tmp_path: Path) -> None:
    managed(judged_compounds(tmp_path, k=1), mei)
    address = SHAPES.format(slug="source") + "label-studio/annotations?system="
    refused = client_of(mei).post(address + "nope")
    assert refused.status_code == 409
    assert "There is no system “nope”; there are: base; large; large/1." in text_of(refused)
    assert "“9” of a system “large”" in text_of(client_of(mei).get(address + "large&run=9"))


def test_a_shape_that_cannot_hold_the_campaign_says_so(mei: User, tmp_path: Path) -> None:
    managed(judged_compounds(tmp_path, k=1), mei)
    client = client_of(mei)
    page = client.get(SHAPES.format(slug="source"))
    assert "?system=large&amp;run=1" in page.content.decode()
    refused = client.get(SHAPES.format(slug="source") + "cognition/annotations")
    assert refused.status_code == 409
    assert "one system and run" in text_of(refused)
    taken = client.get(SHAPES.format(slug="source") + "cognition/annotations?system=large&run=1")
    data = b"".join(taken.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert "source.en" in archive.namelist()
    assert client.get(SHAPES.format(slug="source") + "brat/annotations").status_code == 409
    assert client.get(SHAPES.format(slug="source") + "ckbp/annotations").status_code == 409


def test_a_system_without_references_is_named_and_not_offered(mei: User, tmp_path: Path) -> None:
    campaign = managed(judged_compounds(tmp_path, k=1), mei)
    Context.objects.filter(
        pk__in=campaign.items.filter(outputs__system__name="large").values("context")[:1]
    ).update(reference="")
    client = client_of(mei)

    page = client.get(SHAPES.format(slug="source"))

    assert "1 context has no reference, which this shape needs" in text_of(page)
    assert "?system=large&amp;run=1" not in page.content.decode()


def test_a_refusal_leads_back_to_where_one_was(mei: User, tmp_path: Path) -> None:
    managed(judged_compounds(tmp_path, k=1), mei)
    client, page = client_of(mei), SHAPES.format(slug="source")
    address = page + "cognition/annotations"

    back = client.get(address, headers={"Referer": f"http://testserver{page}"})
    elsewhere = client.get(address, headers={"Referer": "http://elsewhere.example/"})

    assert f'href="http://testserver{page}"' in body_of(back)
    assert "elsewhere.example" not in body_of(elsewhere)
    assert "Go back with your browser" in text_of(elsewhere)
