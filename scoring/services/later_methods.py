"""What the methods paragraph says of systems that came later: their batches, and the shift between these."""

from collections import Counter
from collections.abc import Sequence

from annotation.models import Campaign, Output
from annotation.protocol.sentences import Sentence, listed, say
from annotation.services.later_batches import judged_later
from scoring.services.judging import batches_shift
from scoring.stats.shift import BatchShift

CHUNK = 5000


def later_sentences(campaign: Campaign, *, figures: bool, seed: int, resamples: int) -> Sequence[Sentence]:
    """Nothing where no item came late. `figures`: whether what is made of answers may be told."""
    came = judged_later(campaign)
    if not came:
        return []
    systems = [say("{name}: {n}", name=name or "–", n=f"{n:,}") for name, n in _by_system(campaign, came)]
    return [
        say(
            "Items that came in after their compounds had been given out were judged later by the experts of these "
            "compounds: items {items}, later batches {batches}, translations by system {systems}.",
            items=f"{len(came):,}",
            batches=len(set(came.values())),
            systems=listed(systems) if systems else "–",
        ),
        *(_shift(campaign, seed=seed, resamples=resamples) if figures else []),
    ]


def _by_system(campaign: Campaign, came: dict[int, int]) -> list[tuple[str, int]]:
    """Of each system its translations that were judged later, in the order of import."""
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    )
    rows = outputs.order_by("system").values_list("system__name", "item").iterator(CHUNK)
    return list(Counter(name for name, item in rows if item in came).items())


def _shift(campaign: Campaign, *, seed: int, resamples: int) -> list[Sentence]:
    found = batches_shift(campaign, seed=seed, resamples=resamples)
    if found is None or found.pooled.difference is None:
        return [say("Nothing was judged in both batches, so a shift between them is not known.")]
    return [
        say(
            "On what the same experts judged in both batches, the rate of wrong moved by {shift} (later minus before); "
            "it is reported beside comparisons and not taken off them.",
            shift=_points(found.pooled),
        ),
        say("Signature of the shift: {signature}.", signature=found.signature),
    ]


def _points(found: BatchShift) -> Sentence:
    assert found.difference is not None  # of what was judged at all
    assert found.interval is not None
    low, high = found.interval
    return say(
        "{points} points [{low}, {high}] (items {n}, compounds {units})",
        points=f"{100 * found.difference:+.2f}",
        low=f"{100 * low:.2f}",
        high=f"{100 * high:.2f}",
        n=f"{found.n:,}",
        units=f"{found.units:,}",
    )
