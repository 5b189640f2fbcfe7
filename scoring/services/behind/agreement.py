"""Behind the numbers of the agreement: items by how their experts' answers compare."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.services.exports import names_of
from scoring.services.behind.number import (
    Behind,
    Number,
    no_such_number,
    no_such_row,
    no_such_table,
    nobody_called,
)
from scoring.services.doubles import repeats_of
from scoring.services.gather import ratings_of
from scoring.services.options import Options
from scoring.stats.agreement_groups import Groups
from scoring.stats.agreement_table import MISSING, Ratings, one_column_per_person
from scoring.stats.consistency import Repeats
from scoring.stats.groups import Mask

ANSWER = "answer"  # a table of its own: how often each was given
AGAIN = ("again-n", "again-up", "again-down")


def _common(labels: Ratings) -> Mask:
    found: Mask = (labels.table != MISSING).sum(axis=1) >= 2
    return found


def _differing(labels: Ratings) -> Mask:
    found: Mask = (labels.counts() > 0).sum(axis=1) >= 2
    return found


def _contrast(labels: Ratings) -> Mask:
    """One at one end of the scale, another at the other."""
    counts = labels.counts()
    found: Mask = (counts[:, 0] > 0) & (counts[:, -1] > 0)
    return found


OF_ITEMS: Mapping[str, Callable[[Ratings], Mask]] = {
    "judged": lambda labels: (labels.table != MISSING).any(axis=1),
    "common": _common,
    "equal": lambda labels: _common(labels) & ~_differing(labels),
    "differing": _differing,
    "contrast": _contrast,
}


def behind_agreement(campaign: Campaign, options: Options, number: Number) -> Behind:
    """Items of the round, of a pair of people, or of a row of a table; or answers of one category."""
    names = names_of(campaign, real=options.real_names).by_user
    if number.of in AGAIN:
        return _again(repeats_of(campaign, names), number, get_protocol(campaign.protocol).labels)
    if number.of not in (*OF_ITEMS, ANSWER):
        no_such_number(number.of, (*OF_ITEMS, ANSWER, *AGAIN))
    ratings, groups = ratings_of(campaign, names=names, round_kind=options.round, number=options.number)
    people, _excluded = one_column_per_person(ratings)
    rows = np.ones(len(people.items), dtype=np.bool_)
    n: int | None = None
    if number.of == ANSWER:
        given = people.counts()[:, _place(number, people.categories)]
        rows, n = given > 0, int(given.sum())
    elif number.by:
        rows = _group(number, groups)
    if number.a or number.b:
        columns = [_place_of(name, people.raters) for name in (number.a, number.b)]
        rows = rows & (people.table[:, columns] != MISSING).all(axis=1)
        people = _columns(people, columns)
    if number.of in OF_ITEMS:
        rows = rows & OF_ITEMS[number.of](people)
    return _chosen(people, rows, n)


def _columns(people: Ratings, columns: list[int]) -> Ratings:
    return Ratings(
        raters=tuple(people.raters[column] for column in columns),
        table=people.table[:, columns],
        categories=people.categories,
        scale=people.scale,
        items=people.items,
    )


def _place(number: Number, categories: Sequence[str]) -> int:
    if number.value not in categories:
        no_such_row(number)
    return categories.index(number.value)


def _place_of(name: str, raters: Sequence[str]) -> int:
    if name not in raters:
        nobody_called(name, raters)
    return raters.index(name)


def _group(number: Number, groups: Mapping[str, Groups]) -> Mask:
    if number.by not in groups:
        no_such_table(number.by, groups)
    found = groups[number.by]
    places = [place for place, name in enumerate(found.names) if str(name) == number.value]
    rows: Mask = np.isin(found.numbers, places)
    if not rows.any():
        no_such_row(number)
    return rows


def _chosen(people: Ratings, rows: Mask, n: int | None) -> Behind:
    found = np.flatnonzero(rows)
    keys = np.asarray(people.items)[found].tolist()

    def said(place: int) -> list[tuple[str, str]]:
        given = people.table[found[place]].tolist()
        return [
            (rater, people.categories[label])
            for rater, label in zip(people.raters, given, strict=True)
            if label != MISSING
        ]

    return Behind(
        items=keys,
        n=len(keys) if n is None else n,
        unit="items" if n is None else "answers",
        key="position",
        said=said,
    )


def _again(repeats: Repeats | None, number: Number, labels: Sequence[str]) -> Behind:
    """What people judged twice, and what moved on the scale; of each item what was said first and what again."""
    if repeats is None:
        no_such_number(number.of, OF_ITEMS)
    both = (repeats.first != MISSING) & (repeats.again != MISSING)
    rows = {
        "again-n": both,
        "again-up": both & (repeats.again > repeats.first),
        "again-down": both & (repeats.again < repeats.first),
    }[number.of]
    if number.a:
        rows = rows & np.array([person == number.a for person in repeats.person], dtype=np.bool_)
    of_item: dict[int, list[int]] = {}
    for row in np.flatnonzero(rows).tolist():
        of_item.setdefault(int(str(repeats.item[row])), []).append(row)
    items, n = list(of_item), int(rows.sum())

    def said(place: int) -> list[tuple[str, str]]:
        return [
            (repeats.person[row], labels[given[row]])
            for row in of_item[items[place]]
            for given in (repeats.first, repeats.again)
        ]

    return Behind(items=items, n=n, unit="items" if n == len(items) else "answers", said=said)
