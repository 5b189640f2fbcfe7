"""Every report by its kind: the campaign's rows in, one JSON document out, as the contract words it.

A document holds its signature and the labels it rests on; nothing in it is rounded.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.compound import analyse
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from scoring.services.circumstances import circumstances
from scoring.services.comparing import comparison
from scoring.services.conditions import conditions_of, more_breakdowns
from scoring.services.doubles import doubles_of, repeats_of
from scoring.services.gather import (
    Labels,
    SystemRun,
    Translations,
    choose_run,
    instances_of,
    labels_of,
    ratings_of,
    translations_of,
    triples_of,
)
from scoring.services.judge_files import fingerprint, verdicts_of
from scoring.stats.agreement import agreement, by_group
from scoring.stats.artifacts import artifacts
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.classification import Gold, human_performance
from scoring.stats.composition import composition
from scoring.stats.compound_check import CompoundCheck, compound_check, read_lexicon
from scoring.stats.consistency import Repeats, self_consistency
from scoring.stats.difference_estimate import difference_estimate
from scoring.stats.error_rates import Instances, error_rates
from scoring.stats.noise import Model, noise_corrected

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
    a: str | None = None  # of the comparison: two runs by their titles
    b: str | None = None
    judge: bytes | None = None  # of the estimate: a file of 1 and 0
    judge_name: str = "judge.csv"
    column: str | None = None  # of that file
    texts: bool = True  # BLEU and chrF in the comparison as well: slow
    resamples: int = 1000
    seed: int = SEED


def error_rates_report(campaign: Campaign, options: Options) -> Document:
    """How often compounds are translated wrongly, by instance and by compound."""
    _only(campaign, Campaign.Protocol.COMPOUND, "error rates")
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    instances, items = instances_of(chosen, labels)
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    rates = error_rates(instances, labels=labels.signature, **drawing)
    more = more_breakdowns(
        instances, conditions_of(campaign, instances, items), labels=labels.signature, **drawing
    )
    document = rates.as_json()
    document["by"] |= {
        name: {value: row.as_json() for value, row in rows.items()} for name, rows in more.items()
    }
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **document,
        **_without_noise(chosen, drawing),
        "labels": labels.as_json(),
    }


class Drawing(TypedDict):
    """Of the bootstrap."""

    seed: int
    resamples: int


def _without_noise(chosen: SystemRun, drawing: Drawing) -> Document:
    """The aggregate rate corrected for the experts' noise, by the usual model and, beside it, by the others."""
    found = doubles_of(chosen)
    if found is None:
        reason = say("no instance was judged twice, so the experts' noise is not known")
        return {"noise_corrected": None, "noise_corrected_reason": reason}
    judgements, source = found
    by_model = {
        model: noise_corrected(judgements, labels="answers", model=model, source=source, **drawing).as_json()
        for model in NOISE_MODELS
    }
    kept = ("aggregate", "instance", "false_alarm_percent", "miss_percent", "reason")
    others = {model: {name: made[name] for name in kept if name in made} for model, made in by_model.items()}
    return {"noise_corrected": by_model["symmetric"] | {"by_model": others}}


NOISE_MODELS: tuple[Model, ...] = ("symmetric", "false-alarms", "misses")


def agreement_report(campaign: Campaign, options: Options) -> Document:
    """How far the experts' independent answers agree, pooled, by pair of people, by part and relation or type."""
    names = names_of(campaign, real=options.real_names).by_user
    ratings, groups = ratings_of(campaign, names=names, round_kind=options.round, part=options.part)
    groups |= circumstances(campaign, ratings.items, round_kind=options.round, part=options.part)
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
    repeats = (
        repeats_of(campaign, names) if options.round == Round.Kind.MAIN and options.part is None else None
    )
    return {
        "campaign": campaign.slug,
        "round": options.round,
        **report.as_json(),
        "by": by,
        "after_resolution": {"value": None, "reason": "there was no resolution"},
        **({} if repeats is None else {"self_consistency": _consistency(campaign, repeats, options)}),
    }


def _consistency(campaign: Campaign, repeats: Repeats, options: Options) -> Document:
    protocol = get_protocol(campaign.protocol)
    return self_consistency(
        repeats,
        categories=protocol.labels,
        scale=protocol.scale_values,
        seed=options.seed,
        resamples=options.resamples,
    ).as_json()


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
    """Character BLEU of a system against the references, and chrF beside it."""
    _only(campaign, Campaign.Protocol.COMPOUND, "BLEU")
    chosen = choose_run(campaign, options.system, options.run)
    texts = translations_of(chosen)
    if not any(texts.references):
        raise Refused(say("The items of this campaign have no references, so there is no BLEU."))
    keep = [kept and bool(reference) for kept, reference in zip(texts.keep, texts.references, strict=True)]
    result = corpus_bleu(texts.hypotheses, texts.references, keep=keep, names=texts.names)
    beside = corpus_chrf(texts.hypotheses, texts.references, keep=keep, names=texts.names)
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **result.as_json(),
        "chrf": beside.as_json(),
    }


def comparison_report(campaign: Campaign, options: Options) -> Document:
    """Systems on the same compounds: figures over runs, paired differences, and where two of them part."""
    _only(campaign, Campaign.Protocol.COMPOUND, "the comparison of systems")
    return comparison(
        campaign,
        labels=options.labels,
        pair=(options.a, options.b),
        texts=options.texts,
        seed=options.seed,
        resamples=options.resamples,
    )


def compound_check_report(campaign: Campaign, options: Options) -> Document:
    """What an automatic check finds, and how well it finds what the experts found. A diagnostic, no substitute."""
    _only(campaign, Campaign.Protocol.COMPOUND, "the compound check")
    if options.lexicon is None:
        raise Refused(
            say("The compound check needs a lexicon of translations: name the file with --lexicon.")
        )
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    result = _checked(_there(chosen, labels), options.lexicon, labels, options)
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **result.as_json(),
        "labels": labels.as_json(),
    }


@dataclass(frozen=True)
class _There:
    """The instances that a run has an output for, and its texts; a missing output is nothing to check."""

    instances: Instances
    rows: list[int]
    texts: Translations


def _there(chosen: SystemRun, labels: Labels) -> _There:
    instances, items = instances_of(chosen, labels)
    texts = translations_of(chosen)
    by_item = {item: row for row, item in enumerate(texts.items)}
    there = np.array([item in by_item for item in items], dtype=np.bool_)
    return _There(_only_rows(instances, there), [by_item[item] for item in items if item in by_item], texts)


def _checked(there: _There, lexicon: bytes, labels: Labels, options: Options) -> CompoundCheck:
    return compound_check(
        there.instances,
        analyses=[analyse(there.texts.compounds[row]) for row in there.rows],
        translations=[there.texts.hypotheses[row] for row in there.rows],
        lexicon=read_lexicon(lexicon, compatible=options.compatible),
        labels=labels.signature,
        seed=options.seed,
    )


def estimate_report(campaign: Campaign, options: Options) -> Document:
    """Error rates from an automatic judge of everything and the compounds that experts judged at random."""
    _only(campaign, Campaign.Protocol.COMPOUND, "the difference estimate")
    if (options.judge is None) == (options.lexicon is None):
        raise Refused(
            say(
                "The estimate needs one automatic judge: a file of 1 and 0 (--judge), or a lexicon for the compound "
                "check (--lexicon)."
            )
        )
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    there = _there(chosen, labels)
    if options.judge is not None:
        judge = f"file-{fingerprint(options.judge)}"
        automatic = verdicts_of(
            chosen,
            there.instances.context.tolist(),
            options.judge,
            name=options.judge_name,
            column=options.column,
        )
    else:
        assert options.lexicon is not None
        judge = "compound-check" + ("-compatible" if options.compatible else "")
        automatic = _checked(there, options.lexicon, labels, options).verdict
    result = difference_estimate(there.instances, automatic, labels=labels.signature, judge=judge)
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        "judge": judge,
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
    "comparison": comparison_report,
    "compound-check": compound_check_report,
    "estimate": estimate_report,
}


def _check_round(campaign: Campaign, kind: str) -> None:
    """A round that was never opened has no figures, not even empty ones."""
    kinds = campaign.rounds.order_by("pk").values_list("kind", flat=True)
    if kind not in kinds:
        raise Refused(
            say(
                "There is no round “{round}” in this campaign; its rounds: {rounds}.",
                round=kind,
                rounds=", ".join(dict.fromkeys(kinds)),
            )
        )


def report(campaign: Campaign, kind: str, options: Options) -> Document:
    """The report of that kind, checked to be plain JSON: no NaN, no infinity."""
    _check_round(campaign, options.round)
    document = REPORTS[kind](campaign, options)
    json.dumps(document, allow_nan=False)
    return document
