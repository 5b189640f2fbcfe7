"""What a report may be asked for, and what it comes back as."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from annotation.models import Campaign, Round
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.services.files import NamedFile

SEED = 0
WITH_NAMES = frozenset({"agreement", "what-if"})  # the reports that tell people apart by name
Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a report may be asked for; each kind uses what concerns it."""

    system: str | None = None
    run: str | None = None
    round: str = Round.Kind.MAIN
    number: int | None = None  # which of several rounds of this kind; of dry runs by default the last
    labels: str | None = None  # imported or final
    rule: str | None = (
        None  # of the artifacts: described (the default) or as-published; of the what-if: a label rule
    )
    model: str | None = None  # of the what-if: a label model in place of a rule
    compatible: bool = False
    lexicon: bytes | None = None
    real_names: bool = False  # people under their account's names: for managers who ask
    part: int | None = None
    a: str | None = None  # of the comparison: two runs by their titles
    b: str | None = None
    among: Sequence[str] = ()  # of the comparison: the systems to compare; none for all
    release: str | None = None  # of the comparison of triples: what was submitted against it
    split: str | None = None
    judge: bytes | None = None  # of the estimate and the compound check: a file of 1 and 0
    judge_name: str = "judge.csv"
    column: str | None = None  # of that file, or of the translations of `test_set`
    texts: bool = True  # BLEU and chrF in the comparison as well: slow
    training: NamedFile | None = None  # of the statistics: the nodes of a training set
    derive_classes: bool = False  # from these nodes
    test_set: NamedFile | None = None  # of BLEU: translations and references that are none of the campaign's
    hypotheses: NamedFile | None = None  # the same as two texts, line by line
    references: NamedFile | None = None
    resamples: int = 1000
    seed: int = SEED


class Drawing(TypedDict):
    """Of the bootstrap."""

    seed: int
    resamples: int


def only_for(campaign: Campaign, protocol: str, what: str) -> None:
    if campaign.protocol != protocol:
        raise Refused(
            say(
                "There is no report of {what} for a campaign of {protocol}s.",
                what=what,
                protocol=campaign.protocol,
            )
        )
