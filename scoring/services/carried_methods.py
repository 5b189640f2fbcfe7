"""What the methods paragraph says of verdicts that are carried over: the rule, how many, and with which error."""

from collections.abc import Sequence
from typing import Any

from annotation.models import Campaign
from annotation.protocol.sentences import Sentence, listed, say
from scoring.services.carried import carried_error
from scoring.services.gather import Labels

Document = dict[str, Any]


def carried_sentences(
    campaign: Campaign, labels: Labels, *, figures: bool, seed: int, resamples: int
) -> Sequence[Sentence]:
    """Nothing where no label is carried over. `figures`: whether what is made of answers may be told."""
    if not labels.carried:
        return []
    found = carried_error(campaign, carried=labels.carried, seed=seed, resamples=resamples)
    told = say(
        "Translations that render their compound, found by a lexicon of renderings, exactly like another one of the "
        "same sentence were not judged but took its label: labels {labels}, sources {sources}, rule {rules}; error "
        "rates count these labels, agreement and figures about experts do not.",
        labels=f"{found['labels']:,}",
        sources=f"{found['sources']:,}",
        rules=listed(found["rules"]) if found["rules"] else "–",
    )
    return [told, *([*_error(found["pooled"], found["signature"]), *_beside(found)] if figures else [])]


def _beside(found: Document) -> list[Sentence]:
    if "on_one_screen" not in found:
        return []
    return [
        say(
            "Verdicts that were given with the source on the same screen ({n}) are left out here, since nobody gave "
            "them apart from it.",
            n=f"{found['on_one_screen']:,}",
        )
    ]


def _error(pooled: Document, signature: str) -> list[Sentence]:
    differs = pooled["differs"]
    if differs["percent"] is None:
        return [
            say(
                "Of those that could have been carried over and were judged anyway none has all its verdicts, given "
                "apart from its source, yet."
            )
        ]
    return [
        say(
            "A random share that could have been carried over was judged anyway, unmarked: of {n} such verdicts "
            "{differs} differ from the same expert's verdict on the source.",
            n=f"{differs['n']:,}",
            differs=_percent(differs["percent"], differs["ci95"]),
        ),
        _excess(pooled),
        say("Signature of this error: {signature}.", signature=signature),
    ]


def _excess(pooled: Document) -> Sentence:
    repeats = pooled["repeats"]
    if pooled["excess"] is None:
        return say(
            "How much of that is the experts' own wavering is not known, since these experts were given nothing again."
        )
    return say(
        "The same experts differ from themselves on {repeats} of {n} hidden repeats, so the error of carrying over is "
        "{excess} points {interval}.",
        repeats=_percent(repeats["percent"], repeats["ci95"]),
        n=f"{repeats['n']:,}",
        excess=f"{pooled['excess']:+.2f}",
        interval=_bounds(pooled["ci95"]),
    )


def _percent(value: float, ci95: Sequence[float]) -> str:
    return f"{value:.2f} % {_bounds(ci95)}"


def _bounds(ci95: Sequence[float]) -> str:
    return f"[{ci95[0]:.2f}, {ci95[1]:.2f}]"
