"""What the pictures of a campaign are drawn from; each in a fixed number of queries."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.models import Campaign
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.models import Prediction, Submission
from scoring.services.comparing import heat_map_of
from scoring.services.gather import labels_of, triples_of
from scoring.services.measure import report
from scoring.services.options import Options
from scoring.services.runs import title_of
from scoring.services.targets import target_of
from scoring.stats.artifacts import DESCRIBED, word_scatter
from scoring.stats.classification import UNLABELLED
from scoring.stats.curves import precision_recall, reliability

Document = Mapping[str, Any]

PICTURES = ("error-rates", "artifacts", "comparison")  # reports that have one
CURVES = ("precision-recall", "reliability")  # of a submission


def picture_of(campaign: Campaign, kind: str, options: Options) -> Document:
    """The data of a report's picture; Refused where there is nothing to draw."""
    if kind == "error-rates" and campaign.protocol == Campaign.Protocol.COMPOUND:
        return _histogram(report(campaign, kind, options))
    if kind == "comparison" and campaign.protocol == Campaign.Protocol.COMPOUND:
        document = heat_map_of(campaign, labels=options.labels, among=options.among)
        if not document["rows"]:
            raise Refused(say("There is nothing to draw yet."))
        return document
    if kind != "artifacts" or campaign.protocol != Campaign.Protocol.TRIPLE:
        raise Refused(say("There is no picture of this report."))
    triples, _items = triples_of(campaign, labels_of(campaign, options.labels))
    scatter = word_scatter(triples, rule=options.rule or DESCRIBED).as_json()
    if not scatter["points"]:
        raise Refused(say("There is nothing to draw yet."))
    return scatter


def _histogram(document: Document) -> Document:
    """How many compounds have so many wrong contexts."""
    counts = document["wrong_contexts_histogram"]
    if not any(counts):
        raise Refused(say("There is nothing to draw yet."))
    return {"title": title_of((document["system"], document["run"])), "counts": counts}


def curve_of(submission: Submission, name: str) -> Document:
    """A curve of one submission over the items of its split, against the labels there are now.

    Points of a curve tell labels: only managers may see it.
    """
    if submission.campaign.protocol != Campaign.Protocol.TRIPLE:
        raise Refused(say("Translations have no such curve."))
    target = target_of(submission.campaign, release=submission.release, labels=submission.labels)
    scores = dict(Prediction.objects.filter(submission=submission).values_list("item", "score"))
    places = [place for place in target.of_split(submission.split) if place.pk in scores]
    label = np.array(
        [int(target.labels.by_item.get(place.pk, UNLABELLED)) for place in places], dtype=np.int8
    )
    score = np.array([scores[place.pk] for place in places], dtype=np.float64)
    found = (precision_recall if name == "precision-recall" else reliability)(label, score).as_json()
    if found.get("reason"):
        raise Refused(found["reason"])
    return {"title": title_of((submission.system, submission.run)), **found}
