"""Groups of items for `agreement.by_group` where the group belongs to judgements: guideline version, month.

Agreement needs two judgements, and the two may have been given under different versions or in different months. Such
an item says nothing about either group and stands in one of its own, `MIXED`.
"""

from collections.abc import Hashable, Sequence
from datetime import datetime

MIXED = "mixed"


def shared_groups(
    items: Sequence[Hashable], of_judgement: Sequence[Hashable], judged: Sequence[Hashable]
) -> list[Hashable]:
    """The group of each item: what all its judgements share, else `MIXED`.

    Args:
        items: keys in the order of the ratings (`Ratings.items`).
        of_judgement: group of each judgement; judged: the item of each judgement, of the same length.

    Raises:
        ValueError: columns of unequal length, or an item without a judgement.

    >>> shared_groups(["a", "b"], ["v1", "v1", "v1", "v2"], ["a", "a", "b", "b"])
    ['v1', 'mixed']
    """
    if len(of_judgement) != len(judged):
        raise ValueError("each judgement needs its item and its group")
    found: dict[Hashable, Hashable] = {}
    for item, group in zip(judged, of_judgement, strict=True):
        found[item] = group if found.get(item, group) == group else MIXED
    without = [item for item in items if item not in found]
    if without:
        raise ValueError(f"item {without[0]} has no judgement, so it has no group")
    return [found[item] for item in items]


def months(moments: Sequence[datetime]) -> list[str]:
    """The calendar month of each judgement, in the time zone its moment carries.

    >>> months([datetime(2026, 3, 31), datetime(2026, 4, 1)])
    ['2026-03', '2026-04']
    """
    return [f"{moment:%Y-%m}" for moment in moments]


def thirds(moments: Sequence[datetime]) -> list[str]:
    """Early, middle or late: the third of all judgements, by time, that each belongs to.

    Judgements at one moment stand together, so thirds may differ in size.

    >>> thirds([datetime(2026, 1, day) for day in (1, 9, 5)])
    ['early', 'late', 'middle']
    """
    in_order = sorted(moments)
    n = len(in_order)
    if not n:
        return []
    later, latest = in_order[n // 3], in_order[2 * n // 3]
    return ["early" if one < later else "middle" if one < latest else "late" for one in moments]
