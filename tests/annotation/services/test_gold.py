"""Gold items: marked one by one or by a file, all or none, and in nothing that an expert gets."""

import json
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEntry, Campaign, Gold, Item, User
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import NotYours, Refused
from annotation.services.gold import gold_count, gold_of, mark, unmark
from annotation.services.people import add_member
from tests.factories import make_user, signed_in
from tests.material import compounds, load_rows, new_campaign, run, run_json, triple_campaign, write_csv

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return triple_campaign(tmp_path, 6, experts=["ada", "lin"])


def labels(campaign: Campaign) -> dict[int, str]:
    return {gold.item.position: gold.label for gold in gold_of(campaign)}


class TestMarking:
    def test_an_item_is_marked_and_marked_anew(self, campaign: Campaign) -> None:
        first = mark(campaign, 2, label="always", note="two linguists", by=None)
        same = mark(campaign, 2, label="1", note="two linguists", by=None)
        other = mark(campaign, 2, label="0.5", note="", by=None)

        assert [one.as_json() for one in (first, same, other)] == [
            {"added": 1, "changed": 0, "unchanged": 0},
            {"added": 0, "changed": 0, "unchanged": 1},
            {"added": 0, "changed": 1, "unchanged": 0},
        ]
        assert labels(campaign) == {2: "0.5"}

    def test_the_record_tells_which_items_and_not_their_labels(self, campaign: Campaign) -> None:
        mark(campaign, 2, label="1", note="two linguists", by=None)

        entry = AuditEntry.objects.get(action="gold marked")

        assert entry.detail == {"added": 1, "changed": 0, "positions": [2]}

    def test_it_refuses_what_is_no_item_no_answer_or_too_long(self, campaign: Campaign) -> None:
        with pytest.raises(NotYours, match="no item at position 7"):
            mark(campaign, 7, label="1", note="", by=None)
        with pytest.raises(ProtocolError):
            mark(campaign, 1, label="perhaps", note="", by=None)
        with pytest.raises(Refused, match="at most 500"):
            mark(campaign, 1, label="1", note="x" * 501, by=None)
        assert gold_count(campaign) == 0

    def test_a_mark_comes_off(self, campaign: Campaign) -> None:
        mark(campaign, 2, label="1", note="", by=None)
        pk = gold_of(campaign)[0].item_id

        unmark(campaign, pk, by=None)

        assert gold_count(campaign) == 0
        assert AuditEntry.objects.filter(action="gold unmarked").count() == 1
        with pytest.raises(NotYours):
            unmark(campaign, pk, by=None)

    def test_another_campaigns_items_are_out_of_reach(self, campaign: Campaign, tmp_path: Path) -> None:
        mark(campaign, 2, label="1", note="", by=None)
        other = triple_campaign(tmp_path, 3, slug="other")

        with pytest.raises(NotYours):
            unmark(other, gold_of(campaign)[0].item_id, by=None)
        assert gold_of(other) == []


class TestFile:
    def test_a_table_marks_all_its_items(self, campaign: Campaign, tmp_path: Path) -> None:
        table = write_csv(
            tmp_path / "gold.csv",
            [
                {"triple_id": "t1", "label": "Always", "note": "clear"},
                {"triple_id": "t4", "label": "0", "note": ""},
            ],
        )

        document = run_json("mark_gold", "main", str(table))
        again = run_json("mark_gold", "main", str(table))

        assert (document["added"], document["changed"], document["errors"]) == (2, 0, [])
        assert (again["added"], again["unchanged"]) == (0, 2)
        assert labels(campaign) == {1: "1", 4: "0"}
        assert Gold.objects.get(item__position=1).note == "clear"

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            ([{"triple_id": "t9", "label": "1"}], "no item"),
            ([{"triple_id": "t1", "label": "maybe"}], "maybe"),
            ([{"triple_id": "t1", "label": "1"}, {"triple_id": "t1", "label": "0"}], "stands on line"),
            (
                [
                    {"triple_id": "t1", "label": "1", "annotator": "x"},
                    {"triple_id": "t1", "label": "1", "annotator": "y"},
                ],
                "another row already",
            ),
        ],
    )
    def test_one_wrong_row_stores_nothing(
        self, campaign: Campaign, tmp_path: Path, rows: list[dict[str, object]], said: str
    ) -> None:
        first = {"triple_id": "t2", "label": "1", **({"annotator": "x"} if "annotator" in rows[0] else {})}
        table = write_csv(tmp_path / "gold.csv", [first, *rows])

        ran = run("mark_gold", "main", str(table))

        assert ran.code == 1
        assert said in ran.out + ran.err
        assert "Nothing was stored." in ran.out + ran.err
        assert gold_count(campaign) == 0

    def test_a_table_takes_marks_off(self, campaign: Campaign, tmp_path: Path) -> None:
        for position in (1, 2, 4):
            mark(campaign, position, label="1", note="", by=None)
        table = write_csv(
            tmp_path / "gold.csv", [{"triple_id": f"t{place}", "label": "0"} for place in (1, 3, 4)]
        )

        document = run_json("mark_gold", "main", str(table), "--unmark")
        wrong = write_csv(
            tmp_path / "wrong.csv", [{"triple_id": "t2", "label": "1"}, {"triple_id": "t9", "label": "1"}]
        )
        ran = run("mark_gold", "main", str(wrong), "--unmark")

        assert (document["removed"], document["errors"]) == (2, [])
        assert labels(campaign) == {2: "1"}
        assert AuditEntry.objects.get(action="gold unmarked").detail == {"positions": [1, 4]}
        assert (ran.code, "Nothing was changed." in ran.out + ran.err) == (1, True)

    def test_items_that_were_set_aside_are_marked_too(self, campaign: Campaign, tmp_path: Path) -> None:
        # They are judged in the dry run, where gold tells most; those withdrawn are judged by nobody.
        now = timezone.now()
        Item.objects.filter(position=2).update(retired_at=now, retired_why="set_aside")
        Item.objects.filter(position=3).update(retired_at=now, retired_why="withdrawn")
        table = write_csv(
            tmp_path / "gold.csv", [{"triple_id": f"t{place}", "label": "1"} for place in (1, 2, 3)]
        )

        document = run_json("mark_gold", "main", str(table))

        assert labels(campaign) == {1: "1", 2: "1"}
        assert [str(one["message"]) for one in document["warnings"]] == [
            "The item was withdrawn; its row was skipped."
        ]

    def test_compounds_are_named_by_their_context(self, tmp_path: Path) -> None:
        campaign = new_campaign("compound")
        load_rows(campaign, compounds(2, contexts=2, system="base"), tmp_path)
        table = write_csv(tmp_path / "gold.csv", [{"item_id": "c2-1", "label": "错误"}])

        run_json("mark_gold", "main", str(table))

        assert labels(campaign) == {3: "0"}


def test_no_response_to_an_expert_says_which_items_are_gold(campaign: Campaign) -> None:
    """With marks and without, every page and every address of an expert is the same."""
    client = signed_in(User.objects.get(username="ada"))
    addresses = [
        reverse("work", args=["main"]),
        reverse("history", args=["main"]),
        reverse("api_next", args=["main"]) + "?count=50",
        reverse("api_recent", args=["main"]),
        reverse("hand_in", args=["main", 0]),
        *(reverse("api_screen", args=["main", number]) for number in (1, 2, 3)),
    ]
    before = [client.get(address).content for address in addresses]
    add_member(campaign, make_user("mei"), "manager")
    for position in range(1, 7):
        mark(campaign, position, label="1", note="two linguists", by=None)

    after = [client.get(address).content for address in addresses]

    def without_tokens(body: bytes) -> str:
        text = body.decode()
        return "\n".join(line for line in text.splitlines() if "csrf" not in line)

    assert [without_tokens(one) for one in after] == [without_tokens(one) for one in before]
    assert not [one for one in after if b"linguists" in one or b"gold" in one.lower()]
    assert json.loads(after[2])["units"]
