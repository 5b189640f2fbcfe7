"""Every report by its kind: the campaign's rows in, one JSON document out, as the contract words it.

A document holds its signature and the labels it rests on; nothing in it is rounded.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, Round
from annotation.protocol.compound import analyse
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from scoring.services.gather import (
    choose_run,
    instances_of,
    labels_of,
    ratings_of,
    translations_of,
    triples_of,
)
from scoring.stats.agreement import agreement, by_group
from scoring.stats.artifacts import artifacts
from scoring.stats.bleu import corpus_bleu
from scoring.stats.classification import Gold, human_performance
from scoring.stats.composition import composition
from scoring.stats.compound_check import compound_check, read_lexicon
from scoring.stats.error_rates import Instances, error_rates

SEED = 0
Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a report may be asked for; each kind uses what concerns it."""

    system: str | None = None
    run: str | None = None
    round: str = Round.Kind.MAIN
    labels: str | None = None  # imported or final
    rule: str = "described"  # of the artifacts
    compatible: bool = False
    lexicon: bytes | None = None
    real_names: bool = False  # people under their account's names: for managers who ask
    part: int | None = None
    resamples: int = 1000
    seed: int = SEED


def error_rates_report(campaign: Campaign, options: Options) -> Document:
    """How often compounds are translated wrongly, by instance and by compound."""
    _only(campaign, Campaign.Protocol.COMPOUND, "error rates")
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    instances, _items = instances_of(chosen, labels)
    rates = error_rates(instances, labels=labels.signature, seed=options.seed, resamples=options.resamples)
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **rates.as_json(),
        "labels": labels.as_json(),
    }


def agreement_report(campaign: Campaign, options: Options) -> Document:
    """How far the experts' independent answers agree, pooled, by pair of people, by part and relation or type."""
    if options.round not in Round.Kind.values:
        raise Refused(
            say(
                "There is no round “{round}”; the rounds are {rounds}.",
                round=options.round,
                rounds=", ".join(Round.Kind.values),
            )
        )
    names = names_of(campaign, real=options.real_names).by_user
    ratings, groups = ratings_of(campaign, names=names, round_kind=options.round, part=options.part)
    report = agreement(ratings, seed=options.seed, resamples=options.resamples)
    by = {
        name: {
            str(value): found.as_json()
            for value, found in sorted(
                by_group(ratings, values, seed=options.seed, resamples=options.resamples).items(),
                key=lambda group: _in_counting_order(str(group[0])),
            )
        }
        for name, values in groups.items()
    }
    return {
        "campaign": campaign.slug,
        "round": options.round,
        **report.as_json(),
        "by": by,
        "after_resolution": {"value": None, "reason": "there was no resolution"},
    }


def _in_counting_order(value: str) -> tuple[int, str]:
    """Parts by their number, 2 before 10; names after them."""
    return (int(value), "") if value.isdecimal() else (sys.maxsize, value)


def statistics_report(campaign: Campaign, options: Options) -> Document:
    """Table 1: how many triples of each kind, and how many of them are plausible."""
    _only(campaign, Campaign.Protocol.TRIPLE, "statistics")
    labels = labels_of(campaign, options.labels)
    triples, _items = triples_of(campaign, labels)
    table = composition(triples, labels=labels.signature)
    return {"campaign": campaign.slug, **table.as_json(), "labels": labels.as_json()}


def human_report(campaign: Campaign, options: Options) -> Document:
    """How well each expert's own scores predict the final labels, averaged over the two slots."""
    _only(campaign, Campaign.Protocol.TRIPLE, "human performance")
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    gold = Gold(label=triples.label, item_class=triples.item_class, relation=triples.relation)
    slots = _slot_scores(campaign, items)
    result = human_performance(gold, slots, labels=labels.signature, votes="independent")
    return {
        "campaign": campaign.slug,
        "system": "human",
        "run": None,
        "split": "all",
        "votes": "independent",
        **result.as_json(),
        "labels": labels.as_json(),
    }


def _slot_scores(campaign: Campaign, items: list[int]) -> NDArray[np.float64]:
    place = {item: row for row, item in enumerate(items)}
    scores = np.full((len(items), campaign.annotators_per_item), np.nan)
    main = campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
    answers = main.assignments.filter(withdrawn_at__isnull=True).exclude(label="")
    for item, slot, label in answers.values_list("item", "slot", "label").iterator(5000):
        if item in place and slot <= scores.shape[1]:
            scores[place[item], slot - 1] = float(label)
    return scores


def artifacts_report(campaign: Campaign, options: Options) -> Document:
    """Words that betray the label."""
    _only(campaign, Campaign.Protocol.TRIPLE, "artifacts")
    labels = labels_of(campaign, options.labels)
    triples, _items = triples_of(campaign, labels)
    result = artifacts(triples, rule=options.rule, labels=labels.signature)
    return {"campaign": campaign.slug, **result.as_json(), "labels": labels.as_json()}


def bleu_report(campaign: Campaign, options: Options) -> Document:
    """Character BLEU of a system against the references."""
    _only(campaign, Campaign.Protocol.COMPOUND, "BLEU")
    chosen = choose_run(campaign, options.system, options.run)
    texts = translations_of(chosen)
    if not any(texts.references):
        raise Refused(say("The items of this campaign have no references, so there is no BLEU."))
    keep = [kept and bool(reference) for kept, reference in zip(texts.keep, texts.references, strict=True)]
    result = corpus_bleu(texts.hypotheses, texts.references, keep=keep, names=texts.names)
    return {"campaign": campaign.slug, "system": chosen.system.name, "run": chosen.run, **result.as_json()}


def compound_check_report(campaign: Campaign, options: Options) -> Document:
    """What an automatic check finds, and how well it finds what the experts found. A diagnostic, no substitute."""
    _only(campaign, Campaign.Protocol.COMPOUND, "the compound check")
    if options.lexicon is None:
        raise Refused(
            say("The compound check needs a lexicon of translations: name the file with --lexicon.")
        )
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    instances, items = instances_of(chosen, labels)
    texts = translations_of(chosen)
    by_item = {item: row for row, item in enumerate(texts.items)}
    there = np.array(
        [item in by_item for item in items], dtype=np.bool_
    )  # a missing output is nothing to check
    rows = [by_item[item] for item in items if item in by_item]
    result = compound_check(
        _only_rows(instances, there),
        analyses=[analyse(texts.compounds[row]) for row in rows],
        translations=[texts.hypotheses[row] for row in rows],
        lexicon=read_lexicon(options.lexicon, compatible=options.compatible),
        labels=labels.signature,
        seed=options.seed,
    )
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **result.as_json(),
        "labels": labels.as_json(),
    }


def _only_rows(instances: Instances, there: NDArray[np.bool_]) -> Instances:
    return Instances(
        unit=instances.unit[there],
        context=instances.context[there],
        verdict=instances.verdict[there],
        cannot_judge=instances.cannot_judge[there],
    )


def _only(campaign: Campaign, protocol: str, what: str) -> None:
    if campaign.protocol != protocol:
        raise Refused(
            say(
                "There is no report of {what} for a campaign of {protocol}s.",
                what=what,
                protocol=campaign.protocol,
            )
        )


REPORTS: Mapping[str, Callable[[Campaign, Options], Document]] = {
    "error-rates": error_rates_report,
    "agreement": agreement_report,
    "statistics": statistics_report,
    "human": human_report,
    "artifacts": artifacts_report,
    "bleu": bleu_report,
    "compound-check": compound_check_report,
}


def report(campaign: Campaign, kind: str, options: Options) -> Document:
    """The report of that kind, checked to be plain JSON: no NaN, no infinity."""
    document = REPORTS[kind](campaign, options)
    json.dumps(document, allow_nan=False)
    return document
