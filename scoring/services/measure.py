"""Every report by its kind: the campaign's rows in, one JSON document out, as the contract words it.

A document holds its signature and the labels it rests on; nothing in it is rounded.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from annotation.formats.nodes import read_nodes
from annotation.models import Campaign, Round
from annotation.protocol.base import get_protocol
from annotation.protocol.compound import analyse
from annotation.protocol.sentences import Sentence, say
from annotation.services.errors import Refused
from annotation.services.exports import names_of
from scoring.services.after_resolution import after_resolution
from scoring.services.comparing import comparison, title_of
from scoring.services.comparing_predictions import Wanted, compared_predictions
from scoring.services.conditions import conditions_of, more_breakdowns
from scoring.services.doubles import doubles_of, repeats_of
from scoring.services.drawn import DrawnSample, beside_the_sample, sample_of
from scoring.services.files import NamedFile
from scoring.services.gather import (
    Labels,
    SystemRun,
    Translations,
    all_instances_of,
    choose_run,
    instances_of,
    labels_of,
    ratings_of,
    translations_of,
    triples_of,
)
from scoring.services.judge_files import fingerprint, verdicts_of
from scoring.services.methods import methods
from scoring.services.peeks import open_answers
from scoring.services.plain_texts import plain_bleu
from scoring.stats.agreement import agreement, by_group
from scoring.stats.artifacts import artifacts
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.classification import Gold, human_performance
from scoring.stats.composition import composition
from scoring.stats.compound_check import CompoundCheck, compound_check, judge_check, read_lexicon
from scoring.stats.consistency import Repeats, self_consistency
from scoring.stats.difference_estimate import difference_estimate
from scoring.stats.error_rates import UNDECIDED, ErrorRates, Instances, error_rates
from scoring.stats.node_classes import derived_classes
from scoring.stats.noise import Model, noise_corrected
from scoring.stats.paired_texts import score_with_interval

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


def error_rates_report(campaign: Campaign, options: Options) -> Document:
    """How often compounds are translated wrongly, by instance and by compound."""
    _only(campaign, Campaign.Protocol.COMPOUND, "error rates")
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    instances, items = instances_of(chosen, labels)
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    rates = error_rates(instances, labels=labels.signature, **drawing)
    more = more_breakdowns(instances, conditions_of(campaign, instances, items), **drawing)
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
        **report.as_json(),
        "by": by,
        "after_resolution": after,
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
    """Parts by their number, 2 before 10; thirds of the time as they come; names after them."""
    if value in THIRDS:
        return THIRDS.index(value), ""
    return (int(value), "") if value.isdecimal() else (sys.maxsize, value)


THIRDS = ("early", "middle", "late")


def statistics_report(campaign: Campaign, options: Options) -> Document:
    """Table 1: how many triples of each kind, and how many of them are plausible."""
    _only(campaign, Campaign.Protocol.TRIPLE, "statistics")
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
            say("Classes are derived from the nodes of a training set: name its file (--training).")
        )
    return None


def human_report(campaign: Campaign, options: Options) -> Document:
    """How well each expert's own scores predict the final labels, averaged over the two slots."""
    _only(campaign, Campaign.Protocol.TRIPLE, "human performance")
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    gold = Gold(label=triples.label, item_class=triples.item_class, relation=triples.relation)
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


def slot_scores(campaign: Campaign, items: list[int]) -> NDArray[np.float64]:
    """(items, slots): each item's independent scores, NaN where there is none."""
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
        raise Refused(say("The items of this campaign have no references, so there is no BLEU."))
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


def compound_check_report(campaign: Campaign, options: Options) -> Document:
    """What an automatic check finds, and how well it finds what the experts found. A diagnostic, no substitute."""
    run = checked_run(campaign, options)
    return {
        "campaign": campaign.slug,
        "system": run.chosen.system.name,
        "run": run.chosen.run,
        "judge": run.judge,
        **run.result.as_json(),
        "labels": run.labels.as_json(),
    }


@dataclass(frozen=True)
class CheckedRun:
    """A run with the experts' verdicts and the check's, instance by instance."""

    chosen: SystemRun
    labels: Labels
    there: "_There"
    judge: str
    result: CompoundCheck

    @property
    def items(self) -> list[int]:
        """The item behind each instance."""
        return [self.there.texts.items[row] for row in self.there.rows]


def checked_run(campaign: Campaign, options: Options) -> CheckedRun:
    """The check over one run, by a lexicon or by a file of 1 and 0."""
    _only(campaign, Campaign.Protocol.COMPOUND, "the compound check")
    if (options.judge is None) == (options.lexicon is None):
        raise Refused(
            say(
                "The check needs one automatic judge: a lexicon of translations (--lexicon), or a file of 1 and 0 "
                "(--judge)."
            )
        )
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    there, judge = _there(chosen, labels), _judge_name(options)
    if options.judge is not None:
        verdicts = _verdicts(chosen, there, options.judge, options)
        result = judge_check(
            there.instances, verdicts, judge=judge, labels=labels.signature, seed=options.seed
        )
    else:
        result = _checked(there, labels, options)
    return CheckedRun(chosen, labels, there, judge, result)


def _judge_name(options: Options) -> str:
    """What the automatic judge is called in documents."""
    if options.judge is not None:
        return f"file-{fingerprint(options.judge)}"
    return "compound-check" + ("-compatible" if options.compatible else "")


def _verdicts(chosen: SystemRun, there: "_There", judge: bytes, options: Options) -> NDArray[np.int8]:
    contexts = there.instances.context.tolist()
    return verdicts_of(chosen, contexts, judge, name=options.judge_name, column=options.column)


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
    return _There(instances.only(there), [by_item[item] for item in items if item in by_item], texts)


def _checked(there: _There, labels: Labels, options: Options) -> CompoundCheck:
    assert options.lexicon is not None
    return compound_check(
        there.instances,
        analyses=[analyse(there.texts.compounds[row]) for row in there.rows],
        translations=[there.texts.hypotheses[row] for row in there.rows],
        lexicon=read_lexicon(options.lexicon, compatible=options.compatible),
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
    there, judge = _there(chosen, labels), _judge_name(options)
    if options.judge is not None:
        verdicts = _verdicts(chosen, there, options.judge, options)
    else:
        verdicts = _checked(there, labels, options).verdict
    sample = sample_of(campaign)
    drawn = None if sample is None else sample.rows(there.instances.unit)
    result = difference_estimate(there.instances, verdicts, labels=labels.signature, judge=judge, drawn=drawn)
    return {
        "campaign": campaign.slug,
        "system": chosen.system.name,
        "run": chosen.run,
        "judge": judge,
        **result.as_json(),
        "sample": None if sample is None else sample.as_json(),
        "warnings": _of_sample(campaign, sample, there.instances),
        "labels": labels.as_json(),
    }


def _of_sample(campaign: Campaign, sample: DrawnSample | None, instances: Instances) -> list[Sentence]:
    """What is to be known of the sample: units that came later, answers outside of it."""
    if sample is None:
        return []
    beside = ~sample.rows(instances.unit) & (instances.verdict != UNDECIDED)
    answered = len(set(instances.unit[beside].tolist()))
    return [*sample.warnings(campaign), *([beside_the_sample(answered)] if answered else [])]


def methods_report(campaign: Campaign, options: Options) -> Document:
    """A paragraph for a paper; without figures made of answers while some are open."""
    labels = labels_of(campaign, options.labels)
    drawing: Drawing = {"seed": options.seed, "resamples": options.resamples}
    agreed: Document | None = None
    rates: dict[str, ErrorRates] = {}
    if not open_answers(campaign):
        ratings, _groups = ratings_of(campaign, names=names_of(campaign, real=False).by_user)
        agreed = agreement(ratings, **drawing).as_json() if len(ratings.raters) > 1 else None
        if campaign.protocol == Campaign.Protocol.COMPOUND and labels.by_item:
            rates = {
                title_of(run): error_rates(_without_tables(instances), labels=labels.signature, **drawing)
                for run, (instances, _items) in all_instances_of(campaign, labels).items()
            }
    return methods(campaign, labels=labels, agreement=agreed, rates=rates, **drawing)


def _without_tables(instances: Instances) -> Instances:
    return instances.only(np.ones(instances.unit.size, dtype=np.bool_))


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
    "methods": methods_report,
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
