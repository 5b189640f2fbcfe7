"""What a release says of later rounds: votes by round, and who decided the labels."""

import pytest

from annotation.models import Item
from annotation.services.again_rounds import close_again
from annotation.services.arbitration import arbitrate
from annotation.services.batches import close_batch
from annotation.services.labels import finalize
from annotation.services.resolution import open_resolution
from scoring.services.gather import labels_of
from scoring.services.release_content import SplitWish, gather_content
from scoring.services.release_texts import datasheet
from tests.factories import make_cast, make_judged, save_label

pytestmark = pytest.mark.django_db


def test_it_holds_every_vote_under_its_round_and_counts_labels_by_rule() -> None:
    cast = make_cast()
    close_batch(cast.campaign, make_judged(cast, ("1", "0"), ("0", "1"), ("1", "1")).pk, by=cast.mei)
    round_ = open_resolution(cast.campaign, by=cast.mei)
    for row in round_.assignments.filter(item__position=1):
        save_label(row, "1")
    close_again(cast.campaign, "resolution", 1, reason="the rest is decided", by=cast.mei)
    item = Item.objects.get(position=2)
    arbitrate(cast.campaign, item.pk, label="0", reason="Plain.", by=cast.mei)
    finalize(cast.campaign)

    content = gather_content(cast.campaign, SplitWish(rule="none"))

    by_item = [
        (vote["position"], vote["round"], vote["round_number"], vote["label"]) for vote in content.votes
    ]
    assert by_item == [
        (1, "main", 1, "1"), (1, "main", 1, "0"), (1, "resolution", 1, "1"), (1, "resolution", 1, "1"),
        (2, "main", 1, "0"), (2, "main", 1, "1"), (3, "main", 1, "1"), (3, "main", 1, "1"),
    ]  # fmt: skip
    assert content.conditions["by_round"] == {"main": 6, "resolution": 2}
    assert content.conditions["labels_by_rule"] == {"arbiter": 1, "ckbp2": 2}
    assert [row["label"] for row in content.items] == [1, 0, 1]
    labels = labels_of(cast.campaign)
    assert (labels.rule, labels.rule_version, labels.stale) == ("ckbp2", "1", 0)
    assert "Labels by rule: arbiter: 1, ckbp2: 2." in " ".join(datasheet(content).split())
