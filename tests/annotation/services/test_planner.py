"""A bulk write tells PostgreSQL's planner what it wrote."""

from pathlib import Path

import pytest
from django.db import connection

from annotation.models import Assignment, Item
from annotation.services.parts import assign_parts
from tests.material import load_rows, new_campaign, triples

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite keeps no counts that a plan would go by."
    ),
]


def counted(model: type[Item | Assignment]) -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = %s", [model._meta.db_table])
        return float(cursor.fetchone()[0])


def test_it_counts_items_at_an_import_and_assignments_when_they_are_given_out(tmp_path: Path) -> None:
    campaign = new_campaign()
    load_rows(campaign, triples(300), tmp_path)
    assert counted(Item) >= 300

    assign_parts(campaign, experts=["ada", "lin"], design="pairs", seed=1)
    assert counted(Assignment) >= 600
