"""The statements that save an answer look everything up by an index, in a small campaign and in a large one."""

from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign
from annotation.services import answers_sql
from annotation.services.campaigns import main_round
from annotation.services.planner import renew_counts
from benchmarks.fill import fill
from benchmarks.plans import scans

INDEXES = {
    "postgresql": {
        "annotation_assignment_pkey",  # the sheet's rows, and the screen they stand on
        "assignment_open",  # what comes next
        "assignment_place_once",
        "annotation_unit_pkey",
        "annotation_item_pkey",
    },
    "sqlite": {"INTEGER PRIMARY KEY", "INDEX assignment_open"},
}


@pytest.mark.parametrize("n_items", [2_500, 50_000])  # two assignments each
@pytest.mark.django_db
def test_every_large_table_is_read_by_an_index(n_items: int) -> None:
    fill(n_items=n_items, n_experts=8)
    given = Assignment.objects.order_by("pk")[:2000]
    guideline = main_round(Campaign.objects.get()).guideline
    Annotation.objects.bulk_create(
        Annotation(
            assignment=row,
            revision=1,
            client_key=uuid4(),
            label="1",
            guideline=guideline,
            created_at=timezone.now(),
        )
        for row in given
    )
    renew_counts(Annotation)
    plan = scans()
    for index in INDEXES[connection.vendor]:
        assert any(index in line for line in plan), (index, plan)
    for line in plan:
        if " on annotation_context " in line:
            continue  # triples have none: an empty table is rightly read as it is
        assert "Seq Scan" not in line, plan
        assert not line.startswith("SCAN"), plan
        assert "TEMP B-TREE" not in line, plan


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL alone keeps a plan")
@pytest.mark.django_db
def test_a_plan_made_while_there_was_no_answer_reads_no_index_whole() -> None:
    """It is kept until the server counts the table again, and meanwhile thousands of answers may come in."""
    answers_sql.prepare()
    values = ", ".join(["NULL"] * (answers_sql.PREPARED["assay_judge"][0].count(",") + 1))
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
        cursor.execute(f"EXPLAIN (COSTS OFF) EXECUTE assay_judge ({values})")
        plan = [row[0] for row in cursor.fetchall()]
    looks = [
        number for number, line in enumerate(plan) if "Scan" in line and " on annotation_annotation" in line
    ]
    assert len(looks) == 2, plan  # for a client key used before, and for what was answered before
    for number in looks:
        assert "Index Cond:" in plan[number + 1], plan
        assert "assignment_id" in plan[number + 1], plan
