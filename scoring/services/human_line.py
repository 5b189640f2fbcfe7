"""The experts beside the systems of a board: measured on the same items, against the same labels."""

import numpy as np

from annotation.models import Assignment, Campaign, Round
from annotation.services.errors import Refused
from scoring.models import Release
from scoring.services.boards import HumanLine, board_groups, by_group, exact_document
from scoring.services.gather import labels_of, slot_scores, triples_of
from scoring.services.peeks import is_interim
from scoring.stats.classification import Gold, human_performance


def human_line(campaign: Campaign, *, split: str, release: Release | None, manages: bool) -> HumanLine | None:
    """The human line of a split, or of all items; None where there are no votes, and while answers are open.

    A release was frozen with the votes of its day, and its labels are not those of today: it has no human line.
    What a submitter sees of it is what they see of a system.
    """
    if release is not None or campaign.protocol != Campaign.Protocol.TRIPLE or not _has_votes(campaign):
        return None
    if is_interim(campaign, "human"):
        return None
    try:
        labels = labels_of(campaign)
    except Refused:
        return None
    triples, items = triples_of(campaign, labels)
    rows = np.array([split in ("all", of) for of in triples.split], dtype=np.bool_)
    chosen = np.flatnonzero(rows).tolist()
    scores = slot_scores(campaign, items)[rows]
    gold = Gold(
        label=triples.label[rows],
        item_class=[triples.item_class[row] for row in chosen],
        relation=[triples.relation[row] for row in chosen],
        class_groups=triples.class_groups,
    )
    if np.isnan(scores).any(axis=1).all():
        return None
    found = human_performance(gold, scores, labels=labels.signature, votes="independent").as_json()
    document = exact_document(found, manages=manages)
    return HumanLine(
        figures=by_group([document], "human", groups=board_groups(campaign), manages=manages),
        slots=scores.shape[1],
        n=len(chosen) - found["left_out"],
        left_out=found["left_out"],
    )


def _has_votes(campaign: Campaign) -> bool:
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        answered_at__isnull=False,
    ).exists()
