"""A campaign whose board can be sent to, and its people."""

from pathlib import Path

from annotation.models import Campaign, Membership
from annotation.services.people import add_member
from tests.factories import make_user
from tests.material import load_rows, new_campaign, triples


def board_campaign(folder: Path) -> Campaign:
    """Fifty triples with imported labels; forty of them are test. Mei manages, Vera looks on, Ada judges; Otto is
    no member."""
    made = new_campaign()
    rows = triples(50, **{"class": "adv"})
    for place, row in enumerate(rows):
        row |= {"split": "test" if place < 40 else "dev", "label": str(place % 2)}
    load_rows(made, rows, folder)
    for name, role in (("mei", "manager"), ("vera", "viewer"), ("ada", "expert")):
        add_member(made, make_user(name), Membership.Role(role))
    make_user("otto")
    return made
