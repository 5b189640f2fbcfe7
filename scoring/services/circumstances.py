"""What agreement is also told apart by: the guideline version and the month the answers were given in.

Most campaigns have one of each; then nothing is read. An item whose answers fall into two groups stands as mixed.
"""

from collections.abc import Hashable, Sequence

from django.db.models import F, Max, Min, QuerySet
from django.utils import timezone

from annotation.models import Annotation, Assignment, Campaign, Guideline, Round
from scoring.stats.agreement_groups import months, shared_groups

CHUNK = 5000


def circumstances(
    campaign: Campaign, items: Sequence[Hashable], *, round_kind: str, part: int | None
) -> dict[str, list[str]]:
    """By name the group of each item (its number in the campaign); only what has more than one group."""
    answers = Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=round_kind,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
        item__retired_at__isnull=True,
    ).exclude(label="")
    if part is not None:
        answers = answers.filter(part=part)
    found = {"guideline": _versions(campaign, answers), "month": _months(campaign, answers, round_kind)}
    of_items: dict[str, list[str]] = {}
    for name, rows in found.items():
        if len({group for _item, group in rows}) > 1:
            judged = [item for item, _group in rows]
            of_items[name] = _known(items, judged, [group for _item, group in rows])
    return of_items


def _known(items: Sequence[Hashable], judged: Sequence[int], groups: Sequence[str]) -> list[str]:
    """An item that nobody could judge belongs nowhere."""
    with_group = set(judged)
    shared = iter(shared_groups([item for item in items if item in with_group], groups, judged))
    return [str(next(shared)) if item in with_group else "" for item in items]


def _versions(campaign: Campaign, answers: QuerySet[Assignment]) -> list[tuple[int, str]]:
    if Guideline.objects.filter(campaign=campaign).count() < 2:
        return []
    rows = Annotation.objects.filter(assignment__in=answers, revision=F("assignment__revision"))
    pairs = rows.values_list("assignment__item__position", "guideline__version").iterator(CHUNK)
    return [(item, str(version)) for item, version in pairs]


def _months(campaign: Campaign, answers: QuerySet[Assignment], round_kind: str) -> list[tuple[int, str]]:
    """A round that began this month has answers of one month only; else the first and the last answer tell."""
    begun = Round.objects.filter(campaign=campaign, kind=round_kind).aggregate(first=Min("created_at"))[
        "first"
    ]
    if begun is None or f"{begun:%Y-%m}" == f"{timezone.now():%Y-%m}":
        return []
    ends = answers.aggregate(first=Min("answered_at"), last=Max("answered_at"))
    if ends["first"] is None or f"{ends['first']:%Y-%m}" == f"{ends['last']:%Y-%m}":
        return []
    rows = list(answers.values_list("item__position", "answered_at").iterator(CHUNK))
    of_rows = months([moment for _item, moment in rows if moment is not None])
    return [(item, month) for (item, _moment), month in zip(rows, of_rows, strict=True)]
