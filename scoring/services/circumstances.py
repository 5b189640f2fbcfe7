"""What agreement is also told apart by: the guideline version, and the month the answers were given in, or their
third of the time where that is one month.

Most campaigns have one of each; then nothing is read. An item whose answers fall into two groups stands as mixed.
"""

import numpy as np
from django.db.models import F
from django.db.models.functions import Coalesce

from annotation.models import JUDGED_UNDER, Annotation, Campaign, Guideline
from scoring.services.answers import DAY, Answers
from scoring.services.columns import Numbers, columns
from scoring.stats.agreement_groups import Groups, groups_of_numbers, month_name, shared_groups, thirds
from scoring.stats.agreement_table import MISSING

MONTHS_BEFORE_1970 = 1970 * 12
NOT_RECORDED = "not recorded"  # the group of imported labels


def circumstances(
    campaign: Campaign, answers: Answers, *, round_kind: str, part: int | None
) -> dict[str, Groups]:
    """By name the group of each item; only what has more than one group.

    An item that nobody could judge belongs nowhere.
    """
    given = {"guideline": _versions(campaign, answers, round_kind, part), **_times(answers)}
    return {
        name: shared_groups(of_judgement, items, n_items=len(answers.items))
        for name, (of_judgement, items) in given.items()
        if len(of_judgement.names) > 1
    }


def _versions(
    campaign: Campaign, answers: Answers, round_kind: str, part: int | None
) -> tuple[Groups, Numbers]:
    """The guideline version of each label, and the row of its item.

    What an imported label was given under is not recorded.
    """
    if Guideline.objects.filter(campaign=campaign).count() < 2:
        return _NOTHING
    rows = Annotation.objects.filter(
        assignment__round__campaign=campaign,
        assignment__round__kind=round_kind,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    ).exclude(assignment__label="")
    if part is not None:
        rows = rows.filter(assignment__part=part)
    rows = rows.annotate(version=Coalesce(JUDGED_UNDER, 0))
    item, version = columns(rows, "assignment__item", "version")
    place = answers.items.rows_of(item)
    there = place != MISSING
    return groups_of_numbers(version[there], _version_name), place[there]


def _version_name(number: int) -> str:
    return str(number) if number else NOT_RECORDED


def _times(answers: Answers) -> dict[str, tuple[Groups, Numbers]]:
    """The month of each label and the row of its item; of one month the third of its time, if it is a day or more."""
    if answers.moment is None:
        return {}
    judged = answers.label != MISSING
    moment, item = answers.moment[judged], answers.item[judged]
    month = moment.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) + MONTHS_BEFORE_1970
    months = groups_of_numbers(month, month_name)
    if len(months.names) > 1:
        return {"month": (months, item)}
    lasted = np.ptp(moment) if len(moment) else 0
    return {"third": (thirds(moment), item)} if lasted >= DAY.total_seconds() else {}


_NOTHING = Groups(np.empty(0, dtype=np.int64), ()), np.empty(0, dtype=np.int64)
