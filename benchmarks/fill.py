"""Filling a site: a campaign of triples, its experts, and everything assigned to them."""

from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import Assignment, ImportBatch, Item, Membership, Part, PartUnit, Unit, User
from annotation.models.round import Design
from annotation.services.campaigns import create_campaign, main_round
from annotation.services.people import add_member
from benchmarks.bare import create_table
from benchmarks.site import PASSWORD, SLUG

CHUNK = 10_000


def fill(*, n_items: int, n_experts: int) -> None:
    """`n_items` triples, two experts each, dealt to `n_experts` in a circle."""
    create_table()
    campaign = create_campaign(slug=SLUG, protocol="triple", seed=1)
    password = make_password(PASSWORD)
    experts = [User.objects.create_user(f"expert{number}") for number in range(n_experts)]
    User.objects.update(password=password)
    for expert in experts:
        add_member(campaign, expert, Membership.Role.EXPERT)
    now = timezone.now()
    batch = ImportBatch.objects.create(
        campaign=campaign,
        file_name="bench",
        sha256="0" * 64,
        lease_until=now + timedelta(1),
        published_at=now,
    )
    round_ = main_round(campaign)
    design = Design.objects.create(round=round_, name="cyclic", seed=1, hash="0" * 64, plan={})
    parts = Part.objects.bulk_create(
        Part(round=round_, design=design, index=index) for index in range(n_experts)
    )
    places = [0] * n_experts
    for start in range(0, n_items, CHUNK):
        numbers = range(start, min(start + CHUNK, n_items))
        with transaction.atomic():
            units = Unit.objects.bulk_create(
                Unit(campaign=campaign, batch=batch, key=f"t{number}", position=number + 1)
                for number in numbers
            )
            items = Item.objects.bulk_create(
                Item(
                    campaign=campaign, unit=unit, batch=batch, position=number + 1, key=f"t{number}",
                    key_folded=f"t{number}", given_key=True, head=f"PersonX finish marathon number {number}",
                    relation="xWant", tail="PersonX rest PersonX leg",
                )
                for number, unit in zip(numbers, units, strict=True)
            )  # fmt: skip
            PartUnit.objects.bulk_create(
                PartUnit(round=round_, part=parts[number % n_experts], unit=unit)
                for number, unit in zip(numbers, units, strict=True)
            )
            Assignment.objects.bulk_create(_assignments(numbers, items, experts, parts, places))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def _assignments(
    numbers: range, items: list[Item], experts: list[User], parts: list[Part], places: list[int]
) -> Iterator[Assignment]:
    for number, item in zip(numbers, items, strict=True):
        part = number % len(experts)
        for slot in (1, 2):
            expert = (part - slot + 1) % len(experts)
            places[expert] += 1
            yield Assignment(
                round_id=parts[part].round_id, part=parts[part], unit_id=item.unit_id, item=item,
                expert=experts[expert], slot=slot, position=places[expert], queue=places[expert],
            )  # fmt: skip
