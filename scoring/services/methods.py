"""A paragraph for a paper: how a campaign's judgements, labels and figures came about, in English and in Chinese.

Every sentence is a fact of the campaign or says that something is not recorded; nothing is supposed. Figures made of
answers are left out while answers are open, so that the paragraph itself is no peek.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from django.utils.translation import override

from annotation.models import Campaign
from annotation.protocol.sentences import Sentence, listed, say
from annotation.services.peeks import Peek, open_answers, peeks_of
from annotation.services.sentences import translated
from scoring.services.carried_methods import carried_sentences
from scoring.services.dry_run_methods import dry_run_sentences
from scoring.services.figure_methods import (
    COEFFICIENTS,
    agreement_sentences,
    interval_sentences,
    rate_sentences,
    score_sentences,
    text_sentences,
)
from scoring.services.gather import Labels
from scoring.services.gold_methods import gold_sentences
from scoring.services.judging_methods import (
    condition_sentences,
    design_sentences,
    judging_sentences,
    label_sentences,
    material_sentences,
)
from scoring.services.later_methods import later_sentences
from scoring.services.later_round_methods import later_round_sentences
from scoring.stats.error_rates import ErrorRates

Document = dict[str, Any]
Sentences = list[Sentence]
CHINESE = "zh-hans"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "sacrebleu")
KINDS = {
    "agreement": say("agreement"),
    "error-rates": say("error rates"),
    "comparison": say("comparison of systems"),
    "human": say("human performance"),
    "compound-check": say("automatic check against the experts"),
    "estimate": say("estimate of error rates"),
    "what-if": say("labels under another rule or model"),
    "plan": say("planning from rates so far"),
    "evidence": say("how experts worked"),
    "gold": say("answers to items whose label is known"),
    "annotations": say("the judgements themselves"),
    "labels": say("the final labels"),
    "release": say("a release of the judgements"),
}


def methods(
    campaign: Campaign,
    *,
    labels: Labels,
    agreement: Mapping[str, Any] | None,
    rates: Mapping[str, ErrorRates],
    seed: int,
    resamples: int,
    submissions: bool = True,
) -> Document:
    """The paragraph and what it states.

    `agreement` is the document of that name and `rates` the error rates by run, None and empty where there are none
    or where answers are open; `seed` and `resamples` are those of all intervals. Without `submissions` it does not
    depend on what others send in.
    """
    peeks, still = peeks_of(campaign), open_answers(campaign)
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    sentences = [
        *material_sentences(campaign, compound),
        *dry_run_sentences(campaign, COEFFICIENTS),
        *judging_sentences(campaign),
        *design_sentences(campaign),
        *condition_sentences(campaign, compound),
        *later_round_sentences(campaign),
        *later_sentences(campaign, figures=not still, seed=seed, resamples=resamples),
        *gold_sentences(campaign, figures=not still),
        *label_sentences(campaign, labels),
        *carried_sentences(campaign, labels, figures=not still, seed=seed, resamples=resamples),
        *(_unfinished(still) if still else []),
        *(agreement_sentences(campaign, agreement) if agreement else []),
        *(interval_sentences(campaign, seed, resamples) if agreement else []),
        *(rate_sentences(rates, seed, resamples) if rates else []),
        *(text_sentences(campaign) if compound else score_sentences(campaign) if submissions else []),
        *_peeks(peeks),
        *_versions(),
    ]
    return {
        "campaign": campaign.slug,
        "open_answers": still,
        "peeks": [_peek_json(peek) for peek in peeks],
        "sentences": {"en": [str(one) for one in sentences], CHINESE: in_chinese(sentences)},
        "text": {"en": " ".join(sentences), CHINESE: "".join(in_chinese(sentences))},
        "labels": labels.as_json(),
        "signature": f"methods|ver:1|sentences:{len(sentences)}|peeks:{len(peeks)}|labels:{labels.signature}",
    }


def in_chinese(sentences: Iterable[Sentence]) -> list[str]:
    """The same sentences by the catalogue."""
    with override(CHINESE):
        return [translated(one) for one in sentences]


def _unfinished(still: int) -> Sentences:
    return [
        say(
            "This describes a campaign at work: open answers {n}; figures made of answers are left out.",
            n=still,
        )
    ]


def _peeks(peeks: Sequence[Peek]) -> Sentences:
    if not peeks:
        return [say("No interim figures of the answers were computed here while blind answers were open.")]
    told = [
        say(
            "{date} {kind} (open answers: {n})",
            date=f"{peek.at:%Y-%m-%d}",
            kind=KINDS.get(peek.kind, peek.kind),
            n=peek.open_answers,
        )
        for peek in peeks
    ]
    return [
        say(
            "Looks at interim figures or answers while blind answers were open: {n}, namely {looks}.",
            n=len(peeks),
            looks=listed(told),
        )
    ]


def _peek_json(peek: Peek) -> Document:
    return {
        "date": f"{peek.at:%Y-%m-%d}",
        "kind": peek.kind,
        "open_answers": peek.open_answers,
    }


def _versions() -> Sentences:
    libraries = [f"{name} {version(name)}" for name in LIBRARIES]
    python = ".".join(str(part) for part in sys.version_info[:3])
    return [
        say(
            "Computed with Assay on Python {python} with {libraries}; the version of each statistic stands in its "
            "signature.",
            python=python,
            libraries=", ".join(libraries),
        )
    ]
