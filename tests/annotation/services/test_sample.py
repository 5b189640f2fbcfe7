"""The bundled sample: clean, complete, and ready to be judged."""

from collections import Counter

import pytest

from annotation.models import Assignment, Campaign, Item, Output, Unit, User
from annotation.protocol.triple import RELATIONS
from annotation.services.access import is_open
from annotation.services.errors import Refused
from annotation.services.sample import load_sample, sign_in_links
from annotation.services.screens import next_screens
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import run, run_json

pytestmark = pytest.mark.django_db


def test_it_loads_two_campaigns_that_are_ready_to_be_judged() -> None:
    document = run_json("load_sample")
    assert [(link["name"], link["role"]) for link in document["invitations"]] == [
        ("mei", "manager"), ("ada", "expert"), ("bo", "expert"), ("chen", "expert"), ("dan", "expert"),
    ]  # fmt: skip
    assert len({link["url"] for link in document["invitations"]}) == 5
    for campaign in Campaign.objects.all():
        assert verify(campaign) == []
        for person in User.objects.exclude(username="mei"):
            assert next_screens(campaign, expert_id=person.pk)
        assert (
            Assignment.objects.filter(round__campaign=campaign).count()
            == 2 * Item.objects.filter(campaign=campaign).count()
        )


def test_it_covers_all_patterns_relations_and_classes() -> None:
    load_sample()
    units = Unit.objects.filter(campaign__protocol="compound")
    assert units.count() >= 24
    assert set(units.values_list("type", flat=True)) == {"NP", "VP", "PP"}
    assert len(set(units.values_list("pattern", flat=True))) == 12
    assert set(Counter(units.values_list("key", "contexts__key").values_list("key", flat=True)).values()) == {
        5
    }
    assert len(set(Output.objects.values_list("system", "run"))) == 2
    triples = Item.objects.filter(campaign__protocol="triple")
    assert triples.count() >= 90
    specific = {name for name in RELATIONS if not name.startswith("general")}
    assert set(triples.values_list("relation", flat=True)) >= specific
    assert len(specific) == 15
    assert set(triples.values_list("item_class", flat=True)) == {"test_set", "cs_head", "all_head", "adv"}


def test_it_loads_into_an_empty_site_only() -> None:
    make_user("mei")
    with pytest.raises(Refused, match="There is data here already"):
        load_sample()
    assert run("load_sample", "--json").code == 1
    assert not Campaign.objects.exists()


def test_it_makes_new_links_that_end_the_old_ones() -> None:
    first = load_sample()
    again = sign_in_links()
    assert [link.name for link in again] == [link.name for link in first]
    assert not {link.url for link in again} & {link.url for link in first}
    for person in User.objects.all():
        assert [is_open(invitation) for invitation in person.invitations.order_by("-pk")] == [True, False]
