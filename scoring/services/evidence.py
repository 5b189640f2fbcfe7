"""Evidence about how experts worked, from the answers of the main round; people under their pseudonyms."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db.models import F

from annotation.models import Annotation, Campaign, Membership, Round
from scoring.stats.evidence import FIRST_LABEL, ExpertAnswers, evidence

KIND = "evidence"  # of a peek
VERSION = "3"
CHUNK = 5000

Document = dict[str, Any]
Row = tuple[Any, ...]

_COLUMNS = (
    "assignment__expert", "assignment__item", "assignment__unit", "assignment__position", "label", "client_key",
    "active_seconds", "session_position", "source", "conditions__rest",
)  # fmt: skip


def evidence_report(campaign: Campaign) -> Document:
    """One document a campaign: by expert, in the order they joined. Two queries."""
    rows = _rows(campaign)
    labels: dict[int, dict[int, str]] = defaultdict(dict)
    for expert, item, _unit, _place, label, *_rest in rows:
        if label:
            labels[item][expert] = label
    by_expert: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        by_expert[row[0]].append(row)
    members = Membership.objects.filter(campaign=campaign, user__in=by_expert).order_by("id")
    return {
        "campaign": campaign.slug,
        "experts": [
            {
                "expert": pseudonym,
                **evidence(_answers(by_expert[user], labels), seed=campaign.seed).as_json(),
            }
            for user, pseudonym in members.values_list("user", "pseudonym")
        ],
        "signature": f"evidence|ver:{VERSION}|round:main|seed:{campaign.seed}|n:{len(rows)}",
    }


def _rows(campaign: Campaign) -> Sequence[Row]:
    """The answers that count, in the order in which they were given."""
    found = (
        Annotation.objects.filter(
            assignment__round__campaign=campaign,
            assignment__round__kind=Round.Kind.MAIN,
            assignment__withdrawn_at__isnull=True,
            assignment__item__retired_at__isnull=True,
            revision=F("assignment__revision"),
        )
        .order_by("created_at", "pk")
        .values_list(*_COLUMNS)
    )
    return list(found.iterator(CHUNK))


def _screen(row: Row) -> int:
    """A number for the screen: its place in the expert's order, or below 0 the unit where judgements were imported,
    which stood on no screen here.
    """
    _expert, _item, unit, place, *_more, source, _rest = row
    return -int(unit) if source == Annotation.Source.IMPORT else int(place)


def _answers(rows: Sequence[Row], labels: Mapping[int, Mapping[int, str]]) -> ExpertAnswers:
    others, differing = [], []
    seconds: dict[Any, float] = {}
    screen_of: dict[Any, int] = {}
    first_only: dict[int, bool] = {}
    by_rest: set[int] = set()
    screens = [_screen(row) for row in rows]
    for screen, row in zip(screens, rows, strict=True):
        expert, item, _unit, _place, label, sheet, active, *_more, rest = row
        theirs = [one for user, one in labels[item].items() if user != expert] if label else []
        others.append(len(theirs))
        differing.append(sum(one != label for one in theirs))
        screen_of[sheet] = screen
        first_only[screen] = first_only.get(screen, True) and label == FIRST_LABEL
        if rest:
            by_rest.add(screen)
        if active is not None:
            seconds[sheet] = max(active, seconds.get(sheet, 0.0))
    return ExpertAnswers(
        label=[row[4] for row in rows],
        screen=np.array(screens, dtype=np.int64),
        position=np.array([row[7] or 0 for row in rows], dtype=np.int64),
        others=np.array(others, dtype=np.int64),
        differing=np.array(differing, dtype=np.int64),
        timed=np.array([row[8] != Annotation.Source.IMPORT for row in rows], dtype=bool),
        seconds=np.array(list(seconds.values()), dtype=np.float64),
        seconds_all_first=np.array(
            [value for sheet, value in seconds.items() if first_only[screen_of[sheet]]], dtype=np.float64
        ),
        rest=np.array([-1 if row[9] is None else row[9] for row in rows], dtype=np.int64),
        seconds_rest=np.array(
            [value for sheet, value in seconds.items() if screen_of[sheet] in by_rest], dtype=np.float64
        ),
    )
