"""The random sample of units that a design gave to the experts, as its plan keeps it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, Design, Item, Round
from annotation.protocol.sentences import Sentence, say, say_count


@dataclass(frozen=True)
class DrawnSample:
    """`n` of the `of` units that the campaign held then; a larger sample drawn later by the same seed holds it."""

    n: int
    of: int
    seed: int
    units: frozenset[str]  # keys

    def rows(self, units: Sequence[str] | NDArray[Any]) -> NDArray[np.bool_]:
        """(rows,) true where the row's unit was drawn."""
        return np.array([unit in self.units for unit in units], dtype=np.bool_)

    def warnings(self, campaign: Campaign) -> list[Sentence]:
        """Why the sample is not one of all units, where it is not."""
        now = Item.objects.active().filter(campaign=campaign).values("unit").distinct().count()
        if now == self.of:
            return []
        return [
            say(
                "The sample was drawn from {of} units, and the campaign holds {now} today: draw again with the same "
                "seed, so that the units that came later have their chance.",
                of=self.of,
                now=now,
            )
        ]

    def as_json(self) -> dict[str, int]:
        """`{n, of, seed}`."""
        return {"n": self.n, "of": self.of, "seed": self.seed}


def sample_of(campaign: Campaign) -> DrawnSample | None:
    """The latest sample of the main round, None where units were given out as they came."""
    designs = Design.objects.filter(
        round__campaign=campaign, round__kind=Round.Kind.MAIN, plan__has_key="sample"
    )
    plan = designs.order_by("-pk").values_list("plan", "seed").first()
    if plan is None:
        return None
    sample = plan[0]["sample"]
    return DrawnSample(len(sample["units"]), sample["of"], plan[1], frozenset(sample["units"]))


def beside_the_sample(answered: int) -> Sentence:
    """That answers outside of the sample do not count."""
    return say_count(
        "{n} compound with an expert's answer was not drawn and does not count here.",
        "{n} compounds with an expert's answer were not drawn and do not count here.",
        n=answered,
    )
