"""Uploaded files while they wait: their names, their folders, what is read of them."""

from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import Campaign, User
from annotation.services import uploads
from annotation.services.errors import NotYours, Refused
from tests.factories import make_campaign, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    return make_campaign()


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def kept(campaign: Campaign, mei: User, name: str, data: bytes = b"x") -> uploads.Upload:
    return uploads.keep(campaign, "items", {"file": SimpleUploadedFile(name, data)}, options={}, by=mei)


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("NP.en", "NP.en"),
        ("NP (1).compound", "NP (1).compound"),
        ("第一批.csv", "第一批.csv"),
        (".hidden", "hidden"),
        ("a\\b:c.csv", "a_b_c.csv"),
        ("line\nbreak\x00.csv", "line_break_.csv"),
    ],
)
def test_it_keeps_a_files_own_name_as_far_as_every_system_takes_it(
    campaign: Campaign, mei: User, name: str, stored: str
) -> None:
    upload = kept(campaign, mei, name)

    assert upload.path("file").name == stored


def test_it_shortens_a_name_that_no_file_system_takes_and_keeps_its_extension(
    campaign: Campaign, mei: User
) -> None:
    upload = kept(campaign, mei, "长" * 150 + ".xlsx")

    assert upload.path("file").suffix == ".xlsx"
    assert len(upload.path("file").name.encode()) <= uploads.NAME_BYTES


def test_it_lets_nobody_else_read_the_folder(campaign: Campaign, mei: User) -> None:
    upload = kept(campaign, mei, "a.csv")

    folder = Path(settings.MEDIA_ROOT) / "uploads" / upload.token
    assert folder.stat().st_mode & 0o077 == 0


def test_it_finds_an_upload_in_its_campaign_only(campaign: Campaign, mei: User) -> None:
    upload = kept(campaign, mei, "a.csv")

    assert uploads.find(campaign, upload.token).files == upload.files
    with pytest.raises(NotYours):
        uploads.find(make_campaign("other"), upload.token)
    with pytest.raises(NotYours):
        uploads.find(campaign, "00000000-0000-4000-8000-000000000000")


def test_it_notices_a_file_that_is_gone_or_changed(campaign: Campaign, mei: User) -> None:
    upload = kept(campaign, mei, "a.csv", b"one")

    upload.path("file").write_bytes(b"two")
    with pytest.raises(Refused, match="Upload it again"):
        upload.path("file")


def test_it_lets_the_files_go_once_they_are_stored_and_keeps_the_result(
    campaign: Campaign, mei: User
) -> None:
    upload = kept(campaign, mei, "a.csv")
    path = upload.path("file")

    uploads.finish(upload, {"rows": 3})

    assert not path.exists()
    assert uploads.find(campaign, upload.token).result == {"rows": 3}
