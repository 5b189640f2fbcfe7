"""The page that builds an evaluation set: look first, store whole, with and without the worker."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from annotation.models import AuditEntry, Campaign, ImportBatch, Item, Job, Membership, User
from annotation.services import evaluation_set_files, import_files, uploads
from annotation.services.jobs import due
from annotation.services.people import add_member
from annotation.tasks import build_set
from tests.annotation.services.test_evaluation_sets import candidate_rows, pool_rows
from tests.factories import make_user
from tests.material import as_csv, load_rows, new_campaign, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

PAGE = "/campaigns/main/evaluation-set/"
ASKED = {
    "n": "15", "minimum": "0", "leave_out": "general Effect, general Want，general React", "adversarial_n": "10",
    "threshold": "0.9", "filter": "self-bleu", "seed": "7",
}  # fmt: skip


@pytest.fixture
def mei() -> User:
    return make_user("mei")


@pytest.fixture
def campaign(mei: User) -> Campaign:
    campaign = new_campaign()
    add_member(campaign, mei, Membership.Role.MANAGER)
    return campaign


def send(client: Client, *, follow: bool = True, **changed: Any) -> Any:
    files = {
        "pool": SimpleUploadedFile("pool.csv", as_csv(pool_rows(80)).encode()),
        "candidates": SimpleUploadedFile("candidates.csv", as_csv(candidate_rows(60)).encode()),
    }
    given = {name: value for name, value in (ASKED | files | changed).items() if value is not None}
    return client.post(PAGE, given, follow=follow)


def address_of(response: Any) -> str:
    return str(response.request["PATH_INFO"])


def test_it_shows_what_the_set_is_made_of_and_stores_it_when_asked(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)

    shown = send(client)

    page = text_of(shown)
    assert "What the set is made of" in page
    assert "15 of 60 distinct triples in 80 rows" in page
    assert "general Want 20" in page
    assert "adv 10" in page
    assert "xNeed 20 33.33 5 33.33 0" in page
    assert "0.9 – 0.91" in page
    assert "Before the filter 30" in page
    assert not Item.objects.exists()
    done = client.post(f"{address_of(shown)}save/", follow=True)
    assert "25 items are in the campaign." in text_of(done)
    assert Item.objects.active().filter(campaign=campaign).count() == 25
    assert AuditEntry.objects.get(action="evaluation set built").actor == mei
    items = text_of(client.get("/campaigns/main/items/"))
    assert "drawn from pool.csv, line" in items
    assert "candidate of candidates.csv, line" in items


def test_the_file_is_the_one_that_is_stored(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    shown = send(client)
    file = client.get(f"{address_of(shown)}set.csv")
    data = b"".join(file)
    assert file.headers["Content-Disposition"].startswith('attachment; filename="main-set.csv"')
    again = b"".join(client.get(f"{address_of(send(client))}set.csv"))
    assert again == data
    client.post(f"{address_of(shown)}save/")
    assert data.count(b"\r\n") == 26
    assert client.get(f"{address_of(shown)}set.csv").status_code == 404


def test_stored_twice_it_is_stored_once(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    first, second = send(client), send(client, seed="8")
    for _ in range(2):
        assert client.post(f"{address_of(first)}save/").status_code == 302
    refused = client.post(f"{address_of(second)}save/")
    assert refused.status_code == 409
    assert "holds items already" in text_of(refused)
    assert Item.objects.count() == 25
    assert "holds items already" in text_of(client.get(PAGE))
    assert send(client).status_code == 400


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n": None}, "A file and the number of its items go together"),
        ({"candidates": None}, "A file and the number of its items go together"),
        ({"pool": None, "n": None, "candidates": None, "adversarial_n": None}, "Give a pool to draw from"),
        ({"n": "61"}, "A sample of 61 cannot be drawn from 60 units"),
        ({"adversarial_n": "31"}, "31 candidates were asked for; 30 are left"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        (
            {"pool": SimpleUploadedFile("p.csv", b"head,relation,tail\na,xwant,b\n")},
            "p.csv, line 2, column “relation”",
        ),
        (
            {"pool": SimpleUploadedFile("p.csv", b"a,b\n1,2\n")},
            "p.csv: The file lacks the columns head, relation, tail",
        ),
        ({"filter": "none", "keep": "10"}, "The filter chosen does not use this"),
        ({"below": "0.4"}, "The filter chosen does not use this"),
        ({"pool": None, "n": None, "minimum": "2"}, "This only matters for a pool"),
        ({"candidates": None, "adversarial_n": None, "threshold": "0.8"}, "This only matters for candidates"),
        ({"filter": "g-daug", "keep": "5"}, "The filter can keep 10 to 30 candidates; 5 were asked for"),
    ],
)
def test_what_cannot_be_is_said_beside_what_was_typed(
    changed: dict[str, Any], sentence: str, campaign: Campaign, mei: User
) -> None:
    for value in changed.values():
        if isinstance(value, SimpleUploadedFile):
            value.seek(0)
    before = uploads.unfinished(campaign)
    answer = send(client_of(mei), **changed)
    assert answer.status_code == 400
    assert sentence in text_of(answer)
    assert 'value="general Effect, general Want，general React"' in body_of(answer)
    assert uploads.unfinished(campaign) == before  # what was sent is not kept


def test_the_worker_builds_and_stores_what_is_long(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_set_files, "IN_REQUEST", 100)
    monkeypatch.setattr(import_files, "IN_REQUEST", 20)
    client = client_of(mei)
    address = address_of(send(client))
    assert "Evaluation set built" in text_of(client.get(address))
    assert client.post(f"{address}save/").status_code == 409  # not built yet
    job = due()[0]
    build_set(job.pk)
    assert "What the set is made of" in text_of(client.get(address))
    client.post(f"{address}save/")
    assert not Item.objects.exists()
    job = due()[0]
    Job.objects.filter(pk=job.pk).update(state=Job.State.RUNNING)
    client.post(f"{address}save/")  # asked for again while the worker is at it
    assert Job.objects.count() == 2
    Job.objects.filter(pk=job.pk).update(state=Job.State.PENDING)
    build_set(job.pk)
    build_set(job.pk)
    job.refresh_from_db()
    assert (job.state, job.result) == (Job.State.DONE, {"items": 25})
    assert "25 items are in the campaign." in text_of(client.get(address))
    assert Item.objects.count() == 25
    assert f'href="{address}"' in body_of(client.get(f"/campaigns/main/jobs/{job.pk}/"))


def test_an_attempt_that_was_cut_off_after_storing_is_finished_by_the_next(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_files, "IN_REQUEST", 20)
    client = client_of(mei)
    address = address_of(send(client))
    client.post(f"{address}save/")
    with monkeypatch.context() as broken:
        broken.setattr(uploads, "finish", lambda *_: 1 / 0)
        build_set(due()[0].pk)
    assert Item.objects.count() == 25
    assert "Storing the set failed" in text_of(client.get(address))
    client.post(f"{address}save/")
    upload = uploads.find(campaign, address.split("/")[-2])
    evaluation_set_files.save_upload(campaign, upload, by=mei)
    assert Item.objects.count() == 25
    assert "25 items are in the campaign." in text_of(client.get(address))


def test_what_the_worker_cannot_build_is_said(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_set_files, "IN_REQUEST", 100)
    client = client_of(mei)
    address = address_of(send(client, n="61"))
    build_set(due()[0].pk)
    page = client.get(address)
    assert "The set could not be built." in text_of(page)
    assert "A sample of 61 cannot be drawn from 60 units" in text_of(page)
    assert f"{address}save/" not in body_of(page)
    assert client.post(f"{address}discard/", follow=True).status_code == 200
    assert client.get(address).status_code == 404


def test_an_upload_of_one_kind_is_none_of_the_other(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    token = address_of(send(client)).split("/")[-2]
    for page in ("", "findings.csv"):
        assert client.get(f"/campaigns/main/import/{token}/{page}").status_code == 404
    assert client.post(f"/campaigns/main/import/{token}/confirm/", {"seen": "0" * 64}).status_code == 404
    file = SimpleUploadedFile("items.csv", as_csv(pool_rows(3)).encode())
    sent = client.post("/campaigns/main/import/", {"kind": "items", "items-file": file}, follow=True)
    other = address_of(sent).split("/")[-2]
    assert client.get(f"{PAGE}{other}/").status_code == 404
    assert client.post(f"{PAGE}{other}/save/").status_code == 404


def test_a_campaign_of_compounds_is_told_why_not(mei: User) -> None:
    campaign = new_campaign("compound")
    add_member(campaign, mei, Membership.Role.MANAGER)
    client = client_of(mei)
    assert "this campaign is one of compounds" in text_of(client.get(PAGE))
    assert PAGE not in body_of(client.get("/campaigns/main/import/"))
    assert send(client).status_code == 400


def test_a_new_campaign_leads_on_to_the_page(mei: User, campaign: Campaign) -> None:
    client = client_of(mei)
    home = body_of(client.get("/"))
    assert "/campaigns/new/?then=evaluation_set" in home
    form = client.get("/campaigns/new/?then=evaluation_set")
    assert "Build an evaluation set" in text_of(form)
    assert 'name="protocol"' not in body_of(form)  # a set is one of triples
    assert "compound" not in text_of(form)
    given = {"title": "CKBP 3", "slug": "ckbp-3", "then": "evaluation_set"}
    assert client.post("/campaigns/new/", given).headers["Location"] == "/campaigns/ckbp-3/evaluation-set/"
    assert Campaign.objects.get(slug="ckbp-3").protocol == "triple"
    unknown = given | {"slug": "x", "protocol": "triple", "then": "//example.org"}
    assert client.post("/campaigns/new/", unknown).headers["Location"] == "/campaigns/x/"


def test_it_asks_a_fixed_number_of_questions(
    campaign: Campaign, mei: User, django_assert_max_num_queries: Any
) -> None:
    client = client_of(mei)
    address = address_of(send(client))
    with django_assert_max_num_queries(12):
        client.get(PAGE)
    with django_assert_max_num_queries(12):
        client.get(address)


def test_viewers_see_origins_as_they_do_in_exports(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    client.post(f"{address_of(send(client))}save/")
    victor = make_user("victor")
    add_member(campaign, victor, Membership.Role.VIEWER)
    assert "drawn from pool.csv" in text_of(client_of(victor).get("/campaigns/main/items/"))


def test_every_row_that_cannot_be_used_is_shown(campaign: Campaign, mei: User) -> None:
    rows = pool_rows(80)
    for row in rows[:60]:
        row["relation"] = "xwant"
    bad = as_csv(rows).encode()
    page = text_of(send(client_of(mei), pool=SimpleUploadedFile("pool.csv", bad)))
    assert page.count("did you mean “xWant”?") == 51  # in the sentence, and in the list
    assert "In all 60 places in the files cannot be used." in page
    assert "The first 50 of 60." in page


def test_every_row_that_the_worker_could_not_use_is_shown(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_set_files, "IN_REQUEST", 100)
    client = client_of(mei)
    bad = as_csv([row | {"class": "c" * 41} for row in pool_rows(3)]).encode()
    address = address_of(send(client, pool=SimpleUploadedFile("pool.csv", bad)))
    build_set(due()[0].pk)
    page = text_of(client.get(address))
    assert page.count("The text has 41 characters; at most 40 can be stored.") == 4
    assert "What is wrong 3" in page


def test_the_page_shows_all_that_was_asked_for(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    page = text_of(send(client, minimum="2", keep="12", threshold="0.91"))
    for shown in (
        "At least, of each relation 2",
        "Score at least 0.91",
        "Candidates that pass the filter 12",
    ):
        assert shown in page
    assert "Limit of soft uniqueness" not in page
    page = text_of(send(client, filter="soft-uniqueness", below="0.99"))
    assert "Limit of soft uniqueness 0.99" in page


def test_a_set_that_was_stored_is_not_said_to_be_thrown_away(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    address = address_of(send(client))
    client.post(f"{address}save/")
    page = text_of(client.post(f"{address}discard/", follow=True))
    assert "nothing was stored" not in page
    assert "The set is stored already" in page
    assert "25 items are in the campaign." in page


def test_who_asks_twice_at_once_is_led_to_the_set(
    campaign: Campaign, mei: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(mei)
    address = address_of(send(client))
    upload = uploads.find(campaign, address.split("/")[-2])
    sha256 = upload.files[evaluation_set_files.SET].sha256
    at_work = ImportBatch.objects.create(
        campaign=campaign, file_name="s", sha256=sha256, lease_until=timezone.now() + timedelta(minutes=1)
    )
    twin = client.post(f"{address}save/", follow=True)
    assert twin.status_code == 200
    assert "The set is being stored at this moment." in text_of(twin)
    assert not Item.objects.exists()
    assert client.post(f"{address}discard/").status_code == 409
    at_work.delete()
    assert "25 items are in the campaign." in text_of(client.post(f"{address}save/", follow=True))
    # The twin looked before the other was done: what it finds then is the same set.
    evaluation_set_files.save_upload(campaign, upload, by=mei)
    answers = iter([False, True])
    monkeypatch.setattr(evaluation_set_files, "is_stored", lambda *_: next(answers))
    assert evaluation_set_files.save_upload(campaign, upload, by=mei).result
    assert Item.objects.count() == 25


def test_another_import_under_way_is_no_twin(campaign: Campaign, mei: User) -> None:
    client = client_of(mei)
    address = address_of(send(client))
    ImportBatch.objects.create(
        campaign=campaign, file_name="s", sha256="0" * 64, lease_until=timezone.now() + timedelta(minutes=1)
    )
    refused = client.post(f"{address}save/")
    assert refused.status_code == 409
    assert "Another import" in text_of(refused)


def test_what_holds_items_is_not_asked_to_build_a_set(mei: User, campaign: Campaign, tmp_path: Path) -> None:
    client = client_of(mei)
    assert "No set yet?" in text_of(client.get("/campaigns/main/import/"))

    load_rows(campaign, triples(2), tmp_path)

    assert "No set yet?" not in text_of(client.get("/campaigns/main/import/"))
    page = client.get(PAGE)
    assert "holds items already" in text_of(page)
    assert "To the items" in text_of(page)
