"""The statements that save an answer look everything up by an index, in a small campaign and in a large one."""

import pytest
from django.db import connection

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
    plan = scans()
    for index in INDEXES[connection.vendor]:
        assert any(index in line for line in plan), (index, plan)
    for line in plan:
        assert "Seq Scan" not in line, plan
        assert not line.startswith("SCAN"), plan
        assert "TEMP B-TREE" not in line, plan
