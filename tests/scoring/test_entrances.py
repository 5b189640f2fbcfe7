"""The same translations scored by every way in: command, program, page."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Campaign, Membership, User
from annotation.services.access import create_token
from annotation.services.people import add_member
from scoring.models import Submission
from tests.factories import make_user
from tests.material import as_csv, load_rows, new_campaign, run_json, write_csv
from tests.pages import client_of
from tests.shared import case, expected

pytestmark = pytest.mark.django_db


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def campaign_of_pairs(mei: User, folder: Path, name: str) -> tuple[Campaign, list[dict[str, Any]]]:
    """A campaign whose references are the pairs', and the pairs' translations as a system would send them."""
    campaign = new_campaign("compound")
    add_member(campaign, mei, Membership.Role.MANAGER)
    pairs = case(name)
    items = [
        {"item_id": f"p{i}", "compound": "the gardener", "context_no": i, "source": f"the gardener {i} ."}
        | {"translation": f"旧译 {i}", "reference": pair["reference"]}
        for i, pair in enumerate(pairs, start=1)
    ]
    load_rows(campaign, items, folder, system="base")
    sent = [{"item_id": f"p{i}", "translation": pair["translation"]} for i, pair in enumerate(pairs, start=1)]
    return campaign, sent


@pytest.mark.parametrize(
    ("name", "score"),
    [("c38_bleu_pairs_axes.tsv", ("c38", "right")), ("c36_bleu_subword_output.tsv", ("c36", "clean"))],
)
def test_translations_score_the_same_by_command_program_and_page(
    name: str, score: tuple[str, str], mei: User, tmp_path: Path
) -> None:
    _campaign, sent = campaign_of_pairs(mei, tmp_path, name)
    wanted = pytest.approx(expected(score[0])[score[1]], abs=1e-4)

    by_command = run_json("score", "main", write_csv(tmp_path / "sent.csv", sent), "--system", "one")
    by_program = Client().post(
        "/api/v1/campaigns/main/submissions/",
        json.dumps({"system": "two", "rows": sent}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {create_token(mei, 'program')[1]}"},
    )
    by_page = client_of(mei).post(
        "/campaigns/main/submissions/",
        {"system": "three", "file": SimpleUploadedFile("sent.csv", as_csv(sent).encode())},
    )

    assert by_page.status_code == 302
    stored = Submission.objects.get(system="three").evaluation.result
    for document in (by_command, by_program.json(), stored):
        assert document["bleu"]["score"] == wanted
        assert document["bleu"]["n"] == 5
