"""Every report by its kind: the campaign's rows in, one JSON document out, as the contract words it.

A document holds its signature and the labels it rests on; nothing in it is rounded.
"""

import json
import sys
from collections.abc import Callable, Mapping

import numpy as np

from annotation.formats.nodes import read_nodes
from annotation.models import Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from annotation.services.dry_runs import last_dry_run
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from annotation.services.spot_checks import still_to_check
from scoring.services.after_resolution import after_resolution
from scoring.services.answers import exposed_items
from scoring.services.checked import compound_check_report, estimate_report
from scoring.services.comparing import comparison
from scoring.services.comparing_predictions import Wanted, compared_predictions
from scoring.services.conditions import conditions_of, more_breakdowns, without_conditions
from scoring.services.doubles import doubles_of, repeats_of
from scoring.services.gather import (
    SystemRun,
    all_instances_of,
    choose_run,
    instances_of,
    labels_of,
    ratings_of,
    slot_scores,
    translations_of,
    triples_of,
)
from scoring.services.gold import gold_report
from scoring.services.methods import methods
from scoring.services.options import Document, Drawing, Options, only_for
from scoring.services.peeks import open_answers
from scoring.services.plain_texts import plain_bleu
from scoring.services.runs import titles_of
from scoring.services.spot_checks import report_of
from scoring.services.what_if import what_if_report
from scoring.stats.agreement import agreement, by_group
from scoring.stats.artifacts import DESCRIBED, artifacts
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.classification import Gold, human_performance
from scoring.stats.composition import composition
from scoring.stats.consistency import Repeats, self_consistency
from scoring.stats.error_rates import ErrorRates, Instances, error_rates
from scoring.stats.node_classes import derived_classes
from scoring.stats.noise import Model, noise_corrected
from scoring.stats.paired_texts import score_with_interval


def error_rates_report(campaign: Campaign, options: Options) -> Document:
    """How often compounds are translated wrongly, by instance and by compound."""
    only_for(campaign, Campaign.Protocol.COMPOUND, "error rates")
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    instances, items = instances_of(chosen, labels)
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    rates = error_rates(instances, labels=labels.signature, **drawing)
    conditions = conditions_of(campaign, instances, items)
    more = more_breakdowns(instances, conditions, **drawing)
    without = without_conditions(instances, conditions, **drawing)
    document = rates.as_json()
    document["by"] |= {
        name: {value: row.as_json() for value, row in rows.items()} for name, rows in more.items()
    }
    document["without"] |= {name: row.as_json() for name, row in without.items()}
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **document,
        **_without_noise(chosen, drawing),
        "labels": labels.as_json(),
    }


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
    ratings, groups = ratings_of(
        campaign, names=names, round_kind=options.round, number=options.number, part=options.part
    )
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
    after: Document = {"value": None, "reason": say("there was no resolution")}
    if options.round == Round.Kind.MAIN:
        after = after_resolution(campaign, ratings, names)
    repeats = (
        repeats_of(campaign, names) if options.round == Round.Kind.MAIN and options.part is None else None
    )
    return {
        "campaign": campaign.slug,
        "round": options.round,
        "number": _number(campaign, options),
        "exposed": exposed_items(campaign) if options.round == Round.Kind.MAIN else 0,
        **report.as_json(),
        "by": by,
        "after_resolution": after,
        **({} if repeats is None else {"self_consistency": _consistency(campaign, repeats, options)}),
    }


def _number(campaign: Campaign, options: Options) -> int | None:
    """Which round the figures are of; None where they are of all rounds of their kind."""
    last = last_dry_run(campaign) if options.round == Round.Kind.DRY_RUN else None
    return options.number or (last.number if last else None)


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
    """Parts by their number, 2 before 10; thirds of the time as they come; names after them."""
    if value in THIRDS:
        return THIRDS.index(value), ""
    return (int(value), "") if value.isdecimal() else (sys.maxsize, value)


NO_REFERENCES = say(
    "The items of this campaign have no references, so there is no BLEU. They can still be brought in: import the same "
    "items once more, with a column “reference”."
)
THIRDS = ("early", "middle", "late")


def statistics_report(campaign: Campaign, options: Options) -> Document:
    """Table 1: how many triples of each kind, and how many of them are plausible."""
    only_for(campaign, Campaign.Protocol.TRIPLE, "statistics")
    labels = labels_of(campaign, options.labels)
    triples, _items = triples_of(campaign, labels)
    nodes = _training_nodes(options)
    table = composition(triples, labels=labels.signature, training_nodes=nodes)
    document = {"campaign": campaign.slug, **table.as_json(), "labels": labels.as_json()}
    if options.training is not None and nodes is not None:
        document["training"] = {**options.training.as_json(), "nodes": len(nodes)}
        if options.derive_classes:
            document["derived"] = derived_classes(triples, nodes, labels=labels.signature).as_json()
    return document


def _training_nodes(options: Options) -> frozenset[str] | None:
    if options.training is not None:
        return read_nodes(options.training.data, name=options.training.name)
    if options.derive_classes:
        raise Refused(
            say("Classes are derived from the nodes of a training set: name its file."), options=("training",)
        )
    return None


def human_report(campaign: Campaign, options: Options) -> Document:
    """How well each expert's own scores predict the final labels, averaged over the two slots."""
    only_for(campaign, Campaign.Protocol.TRIPLE, "human performance")
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    gold = Gold(
        label=triples.label,
        item_class=triples.item_class,
        relation=triples.relation,
        class_groups=triples.class_groups,
    )
    slots = slot_scores(campaign, items)
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


def artifacts_report(campaign: Campaign, options: Options) -> Document:
    """Words that betray the label."""
    only_for(campaign, Campaign.Protocol.TRIPLE, "artifacts")
    labels = labels_of(campaign, options.labels)
    triples, _items = triples_of(campaign, labels)
    result = artifacts(triples, rule=options.rule or DESCRIBED, labels=labels.signature)
    return {"campaign": campaign.slug, **result.as_json(), "labels": labels.as_json()}


def bleu_report(campaign: Campaign, options: Options) -> Document:
    """Character BLEU of a system against the references, and chrF beside it."""
    only_for(campaign, Campaign.Protocol.COMPOUND, "BLEU")
    if options.test_set or options.hypotheses or options.references:
        found = plain_bleu(
            texts=options.test_set,
            hypotheses=options.hypotheses,
            references=options.references,
            column=options.column,
        )
        return {"campaign": campaign.slug, "system": options.system, "run": options.run, **found}
    chosen = choose_run(campaign, options.system, options.run)
    texts = translations_of(chosen)
    if not any(texts.references):
        raise Refused(NO_REFERENCES)
    keep = [kept and bool(reference) for kept, reference in zip(texts.keep, texts.references, strict=True)]
    result = corpus_bleu(texts.hypotheses, texts.references, keep=keep, names=texts.names)
    beside = corpus_chrf(texts.hypotheses, texts.references, keep=keep, names=texts.names)
    units = [unit for unit, kept in zip(texts.units, keep, strict=True) if kept]
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        **score_with_interval(result, clusters=units, **drawing),
        "chrf": score_with_interval(beside, clusters=units, **drawing),
    }


def comparison_report(campaign: Campaign, options: Options) -> Document:
    """Systems on the same compounds or triples: figures over runs, paired differences, and where two of them part."""
    if campaign.protocol == Campaign.Protocol.TRIPLE:
        return compared_predictions(
            campaign, wanted_predictions(options), seed=options.seed, resamples=options.resamples
        )
    return comparison(
        campaign,
        labels=options.labels,
        among=options.among,
        pair=(options.a, options.b),
        texts=options.texts,
        seed=options.seed,
        resamples=options.resamples,
    )


def wanted_predictions(options: Options) -> Wanted:
    """Which submissions are to be compared."""
    return Wanted(
        release=options.release,
        split=options.split,
        labels=options.labels,
        among=options.among,
        pair=(options.a, options.b),
    )


def methods_report(campaign: Campaign, options: Options, *, submissions: bool = True) -> Document:
    """A paragraph for a paper; without figures made of answers while some are open.

    Without `submissions` it is the same whatever was sent in, as a release needs it.
    """
    labels = labels_of(campaign, options.labels)
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    agreed: Document | None = None
    rates: dict[str, ErrorRates] = {}
    if not open_answers(campaign):
        ratings, _groups = ratings_of(campaign, names=names_of(campaign, real=False).by_user)
        agreed = agreement(ratings, **drawing).as_json() if len(ratings.raters) > 1 else None
        if campaign.protocol == Campaign.Protocol.COMPOUND and labels.by_item:
            there = all_instances_of(campaign, labels)
            rates = {
                title: error_rates(_without_tables(instances), labels=labels.signature, **drawing)
                for title, (instances, _items) in zip(titles_of(list(there)), there.values(), strict=True)
            }
    return methods(campaign, labels=labels, agreement=agreed, rates=rates, submissions=submissions, **drawing)


def _without_tables(instances: Instances) -> Instances:
    return instances.only(np.ones(instances.unit.size, dtype=np.bool_))


def spot_check_report(campaign: Campaign, options: Options) -> Document:
    """What a spot check found, once everything is checked: the last one, or that of the number asked for."""
    checks = campaign.rounds.filter(kind=Round.Kind.SPOT_CHECK).order_by("number")
    round_ = (checks if options.number is None else checks.filter(number=options.number)).last()
    if round_ is None:
        raise Refused(say("There is no such spot check in this campaign."))
    if round_.state == Round.State.OPEN and (still := still_to_check(round_)):
        raise Refused(say("The check is not finished: items still to be judged {n}.", n=still))
    if round_.state != Round.State.OPEN and not (round_.outcome or {}).get("report"):
        raise Refused(say("This spot check was stopped before anything was found."))
    return report_of(round_)


def gold_items_report(campaign: Campaign, _options: Options) -> Document:
    """How often each expert's answer to a gold item is its known label."""
    return gold_report(campaign)


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
    "methods": methods_report,
    "what-if": what_if_report,
    "spot-check": spot_check_report,
    "gold": gold_items_report,
}
# They tell which items are gold or were checked, and whose answers were found wrong.
MANAGERS_ONLY = frozenset({"spot-check", "gold"})


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
