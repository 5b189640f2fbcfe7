"""Filling a site: a campaign of triples, its experts, and everything assigned to them.

By SQL, which takes a minute for a million items; the statements are the same on both databases.
"""

from datetime import timedelta

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.utils import timezone

from annotation.models import ImportBatch, Membership, Part, User
from annotation.models.round import Design
from annotation.services.campaigns import create_campaign, main_round
from annotation.services.people import add_member
from benchmarks.bare import create_table
from benchmarks.site import PASSWORD, SLUG

# Rows that come up one after the other stand apart in the table, as in an order that was drawn. A prime, so that
# every place is taken once.
STRIDE = 7919

UNITS = """
INSERT INTO annotation_unit (campaign_id, batch_id, key, position, compound, type, pattern, atoms, words)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {n_items})
SELECT {campaign}, {batch}, 't' || n, n, '', '', '', '[]', 0 FROM numbers
"""
ITEMS = """
INSERT INTO annotation_item (campaign_id, unit_id, batch_id, position, key, key_folded, given_key, translation,
    digest, head, relation, tail, item_class, split, imported_label, retired_why,
    origin)
SELECT campaign_id, id, batch_id, position, key, key, true, '', '', 'PersonX finish marathon number ' || position,
    'xWant', 'PersonX rest PersonX leg', '', '', '', '', '{{}}'
FROM annotation_unit WHERE campaign_id = {campaign}
"""
PART_UNITS = """
INSERT INTO annotation_partunit (round_id, part_id, unit_id)
SELECT {round}, {part} + position % {n_experts}, id FROM annotation_unit WHERE campaign_id = {campaign}
"""
# Cyclic: an item of part p is judged by expert p in slot 1 and by expert p − 1 in slot 2. So of every E items an
# expert has two.
ASSIGNMENTS = """
INSERT INTO annotation_assignment (round_id, part_id, unit_id, item_id, expert_id, slot, position, "row", queue,
    revision, label, cannot_judge, answered_at)
SELECT {round}, {part} + o.part, o.unit_id, o.id, {expert} + (o.part + 1 - o.slot + {n_experts}) % {n_experts},
    o.slot, o.place, 1, o.place, {answer}
FROM (
    SELECT i.unit_id, i.id, s.slot, i.position % {n_experts} AS part,
        CAST((i.position / {n_experts}) * 2 + s.slot - 1 AS bigint) * {stride} % {rows} + 1 AS place
    FROM annotation_item i CROSS JOIN (SELECT 1 AS slot UNION ALL SELECT 2) s
    WHERE i.campaign_id = {campaign}
) o
"""
OPEN = "0, '', '', NULL"
# Two of three items often or sometimes, one not; of every seven second experts one says something else.
ANSWERED = """
1, CASE (o.id + CASE WHEN o.slot = 2 AND o.id % 7 = 0 THEN 1 ELSE 0 END) % 3
    WHEN 0 THEN '1' WHEN 1 THEN '0.5' ELSE '0' END, '', CURRENT_TIMESTAMP
"""


def fill(*, n_items: int, n_experts: int, answered: bool = False) -> None:
    """About `n_items` triples (the same number for each expert), two experts each, dealt in a circle."""
    create_table()
    campaign = create_campaign(slug=SLUG, protocol="triple", seed=1)
    experts = [User.objects.create_user(f"expert{number}") for number in range(n_experts)]
    User.objects.update(password=make_password(PASSWORD))
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
    parts = [Part.objects.create(round=round_, design=design, index=index) for index in range(n_experts)]
    each = n_items // n_experts
    _run(
        [UNITS, ITEMS, PART_UNITS, ASSIGNMENTS],
        n_items=each * n_experts,
        n_experts=n_experts,
        rows=2 * (each + 1),  # positions start at 1, so the first and the last circle are not whole
        stride=STRIDE,
        campaign=campaign.pk,
        batch=batch.pk,
        round=round_.pk,
        part=parts[0].pk,
        expert=experts[0].pk,
        answer=ANSWERED if answered else OPEN,
    )


def _run(statements: list[str], **values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SET LOCAL session_replication_role = replica"
            )  # foreign keys are right as they stand
        for statement in statements:
            cursor.execute(statement.format(**values))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # As autovacuum does within a minute; it leaves tables alone that are empty.
            cursor.execute(
                "ANALYZE annotation_unit, annotation_item, annotation_partunit, annotation_assignment"
            )
