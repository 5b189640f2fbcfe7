"""Ratings out of the database as columns of numbers, against the same rows read one by one."""

from datetime import UTC, datetime

import numpy as np
import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotation, Assignment, Campaign, Guideline, Item, Membership, Round
from annotation.protocol.base import get_protocol
from scoring.services import answers, columns
from scoring.services.columns import looked_up
from scoring.services.gather import ratings_of
from scoring.stats.agreement import Ratings, ratings_from_long
from tests.factories import (
    make_campaign,
    make_compound,
    make_member,
    make_part,
    make_triple,
    make_user,
)

pytestmark = pytest.mark.django_db

MARCH, APRIL = datetime(2026, 3, 31, 23, 59, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)


def judged_campaign(protocol: str, *, seed: int, experts: int = 4) -> Campaign:
    """Twelve items with answers, blanks, withdrawals, parts and none, months and versions, stored in any order."""
    rng = np.random.default_rng(seed)
    campaign = make_campaign(protocol=protocol)
    round_ = campaign.rounds.get()
    Round.objects.update(created_at=MARCH)
    people = [make_user(f"e{number}") for number in range(experts)]
    for number, person in enumerate(people):
        make_member(campaign, person, Membership.Role.EXPERT, f"A{number + 1}")
    versions = [
        round_.guideline,
        Guideline.objects.create(campaign=campaign, version=2, text_en="n", text_zh="新"),
    ]
    parts = [None, make_part(round_, 0), make_part(round_, 10)]
    if protocol == "triple":
        items = [
            make_triple(campaign, place, relation=str(rng.choice(["xWant", "oReact"])))
            for place in range(12, 0, -1)
        ]
    else:
        types = ["NP", "", "VP"]
        items = [
            item
            for place in (3, 2, 1)
            for item in make_compound(campaign, place, type=types[place - 1], contexts=4)
        ]
    labels = [*get_protocol(protocol).labels, ""]
    rows = []
    for place, item in enumerate(items):
        for slot in (1, 2):
            label = str(rng.choice(labels))
            answered = rng.random() < 0.9
            rows.append(
                Assignment(
                    round=round_, unit=item.unit, item=item, expert=people[(place + slot) % experts], slot=slot,
                    part=parts[place % 3], position=place, queue=place, row=1, revision=int(answered),
                    label=label if answered else "", cannot_judge="" if label or not answered else "unclear",
                    answered_at=(MARCH, APRIL)[place // 6] if answered else None,
                    withdrawn_at=APRIL if rng.random() < 0.1 else None,
                )
            )  # fmt: skip
    Assignment.objects.bulk_create(rows[k] for k in rng.permutation(len(rows)))
    Annotation.objects.bulk_create(
        Annotation(
            assignment=row, revision=1, client_key=f"{row.pk:032d}", digest="0" * 64, label=row.label,
            cannot_judge=row.cannot_judge, guideline=versions[row.position % 5 == 0], source="api", created_at=MARCH,
        )
        for row in Assignment.objects.filter(revision=1)
    )  # fmt: skip
    Item.objects.filter(pk=items[0].pk).update(retired_at=APRIL, retired_why="withdrawn")
    return campaign


def rows_of(campaign: Campaign, part: int | None) -> QuerySet[Assignment]:
    rows = Assignment.objects.filter(
        round__campaign=campaign,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
    )
    rows = rows if part is None else rows.filter(part=part)
    return rows.order_by("item__position", "slot").select_related("item", "unit", "part")


def read_one_by_one(campaign: Campaign, part: int | None) -> tuple[Ratings, dict[str, list[str]]]:
    protocol = get_protocol(campaign.protocol)
    rows = list(rows_of(campaign, part))
    ratings = ratings_from_long(
        [row.item.position for row in rows],
        [f"{row.expert_id:09d}" for row in rows],
        [row.label for row in rows],
        categories=protocol.labels,
        scale=protocol.scale_values,
        slots=[row.slot for row in rows],
        clusters=[row.unit_id for row in rows] if campaign.protocol == "compound" else None,
    )
    groups: dict[str, list[str]] = {name: [] for name in ("part", "group", "guideline", "month")}
    for item in ratings.items:
        own = [row for row in rows if row.item.position == item]
        labelled = [row for row in own if row.label]
        months = {f"{row.answered_at:%Y-%m}" for row in labelled}
        versions = {str(row.annotations.get().guideline.version) for row in labelled}
        groups["part"].append("imported" if own[0].part is None else str(own[0].part.index))
        groups["group"].append(own[0].item.relation or own[0].unit.type)
        groups["month"].append("" if not months else months.pop() if len(months) == 1 else "mixed")
        groups["guideline"].append("" if not versions else versions.pop() if len(versions) == 1 else "mixed")
    return ratings, groups


@pytest.mark.parametrize("protocol", ["triple", "compound"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("indexed", [True, False])
def test_it_reads_what_stands_there_row_by_row(
    protocol: str, seed: int, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_WORTH_READING_ALL", 1000 if indexed else 0)  # of SQLite
    campaign = judged_campaign(protocol, seed=seed)
    names = dict(Membership.objects.values_list("user", "pseudonym"))
    for part in (None, campaign.rounds.get().parts.get(index=10).pk):
        found, groups = ratings_of(campaign, names=names, part=part)
        plain, plain_groups = read_one_by_one(campaign, part)
        assert found.raters == tuple(names[int(account)] for account in plain.raters)
        assert found.table.tolist() == plain.table.tolist()
        assert found.slots is not None
        assert plain.slots is not None
        assert found.slots.tolist() == plain.slots.tolist()
        assert list(found.items) == list(plain.items)
        if protocol == "compound":
            assert found.clusters is not None
            assert plain.clusters is not None
            assert (np.diff(found.clusters) != 0).tolist() == (np.diff(plain.clusters) != 0).tolist()
        plain_groups["type" if protocol == "compound" else "relation"] = plain_groups.pop("group")
        for name, values in plain_groups.items():
            if name in groups:
                assert [groups[name].names[number] for number in groups[name].numbers] == values, name
            else:
                assert len(set(values) - {"", "mixed"}) < 2
    assert set(ratings_of(campaign, names=names)[1]) >= {"part", "guideline", "month"}


def test_it_takes_as_many_queries_for_many_items_as_for_few() -> None:
    counts = []
    for n in (2, 40):
        campaign = make_campaign(f"of-{n}")
        expert = make_user(f"one-of-{n}")
        for place in range(1, n + 1):
            row = Assignment(
                round=campaign.rounds.get(), expert=expert, slot=1, position=place, queue=place, revision=1, label="1",
                answered_at=APRIL, item=(item := make_triple(campaign, place)), unit=item.unit,
            )  # fmt: skip
            row.save()
        with CaptureQueriesContext(connection) as queries:
            ratings_of(campaign, names={expert.pk: "A1"})
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_it_names_the_item_whose_answer_is_not_on_the_scale() -> None:
    campaign = judged_campaign("triple", seed=1)
    answered = Assignment.objects.filter(item__position=5, revision=1)
    answered.update(label="2", cannot_judge="", withdrawn_at=None)
    with pytest.raises(ValueError, match="Item 5"):
        ratings_of(campaign, names=dict(Membership.objects.values_list("user", "pseudonym")))


def test_the_last_round_of_a_kind_counts() -> None:
    campaign = make_campaign()
    ada = make_user("ada")
    item = make_triple(campaign, 1)
    first = campaign.rounds.get()
    second = Round.objects.create(
        campaign=campaign, kind=first.kind, number=2, k=1, guideline=first.guideline
    )
    for position, (round_, label) in enumerate(((second, "0"), (first, "1")), start=1):
        Assignment.objects.create(
            round=round_, unit=item.unit, item=item, expert=ada, slot=1, position=position, queue=position,
            revision=1, label=label, answered_at=APRIL,
        )  # fmt: skip
    ratings, _groups = ratings_of(campaign, names={ada.pk: "A1"})
    assert ratings.table.tolist() == [[0]]


def test_a_column_that_holds_nothing_in_a_row_is_refused() -> None:
    judged_campaign("triple", seed=1)
    with pytest.raises(ValueError, match="holds nothing"):
        columns.columns(Assignment.objects.all(), "pk", "part")


@pytest.mark.parametrize("close", [2**24, 0])
def test_numbers_are_looked_up_by_table_or_by_search(close: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_CLOSE", close)
    known, values = np.array([7, 3, 900]), np.array([1, 2, 3])
    assert looked_up(np.array([900, 3, 4, 1, 901, 7]), known, values).tolist() == [3, 2, -1, -1, -1, 1]
    assert looked_up(np.array([1]), known[:0], values[:0]).tolist() == [-1]
