"""What the methods paragraph says of items whose label was known beforehand."""

from collections.abc import Sequence

from annotation.models import Campaign
from annotation.protocol.sentences import Sentence, say
from scoring.services.gold import gold_report


def gold_sentences(campaign: Campaign, *, figures: bool) -> Sequence[Sentence]:
    """How many there are and that they count like all others; with `figures` how often their label was given.

    Without `figures`, while answers are open, nothing that is made of answers.
    """
    report = gold_report(campaign)
    if not report["n_gold"]:
        return []
    told = say(
        "Items whose label was known beforehand: {n}. Experts were not told which; in agreement, labels and figures "
        "they count like all others.",
        n=report["n_gold"],
    )
    judged, right, unable = (
        sum(one[name] for one in report["experts"]) for name in ("n", "right", "cannot_judge")
    )
    if not figures or not judged + unable:
        return [told]
    return [
        told,
        say(
            "Of {given} answers to them, {right} were the known label ({percent} %); {unable} said that the item "
            "cannot be judged, and are not among those.",
            given=judged,
            right=right,
            percent=f"{100 * right / judged:.2f}" if judged else "–",
            unable=unable,
        ),
    ]
