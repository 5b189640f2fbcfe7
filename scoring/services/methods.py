"""A paragraph for a paper: how a campaign's judgements, labels and figures came about, in English and in Chinese.

Every sentence is a fact of the campaign or says that something is not recorded; nothing is supposed. Figures made of
answers are left out while answers are open, so that the paragraph itself is no peek.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from django.db.models import Count, F, Q
from django.utils.translation import override

from annotation.models import (
    JUDGED_UNDER,
    Annotation,
    Assignment,
    Campaign,
    Design,
    FinalLabel,
    Item,
    Output,
    Part,
    Round,
)
from annotation.protocol.base import get_protocol
from annotation.protocol.labels import ARBITER
from annotation.protocol.sentences import Sentence, listed, say, say_count
from annotation.services.moves import moved_of
from annotation.services.peeks import Peek, open_answers, peeks_of
from annotation.services.sentences import translated
from scoring.models import Evaluation
from scoring.services.carried_methods import carried_sentences
from scoring.services.dry_run_methods import dry_run_sentences
from scoring.services.gather import Labels
from scoring.services.gold_methods import gold_sentences
from scoring.services.later_methods import later_sentences
from scoring.services.later_round_methods import later_round_sentences
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.error_rates import ErrorRates
from scoring.stats.intervals import SMALL_SAMPLE
from scoring.stats.proportions import Share

Document = dict[str, Any]
Sentences = list[Sentence]

CHINESE = "zh-hans"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "sacrebleu")
SIGNATURES = 5  # of submissions: the latest

COEFFICIENTS = {
    "raw": say("raw agreement"),
    "contrast": say("contrast coefficient (1 − Do/De, only 1 against 0 disagreeing)"),
    "cohen": say("Cohen's kappa"),
    "cohen_linear": say("Cohen's kappa with linear weights"),
    "cohen_quadratic": say("Cohen's kappa with quadratic weights"),
    "fleiss": say("Fleiss' kappa"),
    "alpha_nominal": say("Krippendorff's alpha (nominal)"),
    "alpha_ordinal": say("Krippendorff's alpha (ordinal)"),
    "alpha_interval": say("Krippendorff's alpha (interval)"),
    "gwet_ac1": say("Gwet's AC1"),
    "gwet_ac2": say("Gwet's AC2 with quadratic weights"),
}
# With two answers and no order among them the others say the same.
OF_TWO_ANSWERS = ("raw", "cohen", "fleiss", "alpha_nominal", "gwet_ac1")
REFERENCES = {
    "hidden": say("The reference translation was hidden."),
    "on_demand": say("The reference translation was shown on demand."),
    "shown": say("The reference translation was always shown."),
}
REASONS = {
    "off": say("Reasons for a wrong answer were not asked for."),
    "optional": say("Reasons for a wrong answer could be given."),
    "required": say("Reasons for a wrong answer had to be given."),
}
ORDERS = {
    "shuffled": say("Triples came fully shuffled."),
    "runs": say("Triples came in runs of about 20 of one relation."),
}
ENTRANCES = {
    "seat": say("on the judging page"),
    "form": say("on the judging page without scripts"),
    "api": say("by program"),
    "import": say("imported from elsewhere"),
}
DISPLAYS = {"alone": say("one unit at a time")}
COMPOUND_DISPLAYS = {
    "alone": say("one translation of each context on a screen"),
    "side_by_side": say("all translations of a context side by side"),
}
DESIGNS = {
    "cyclic": say("cyclic"),
    "pairs": say("pairs"),
    "quotas": say("quotas"),
    "single": say("single"),
}
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
        *_material(campaign, compound),
        *dry_run_sentences(campaign, COEFFICIENTS),
        *_judging(campaign),
        *_design(campaign),
        *_conditions(campaign, compound),
        *later_round_sentences(campaign),
        *later_sentences(campaign, figures=not still, seed=seed, resamples=resamples),
        *gold_sentences(campaign, figures=not still),
        *_labels(campaign, labels),
        *carried_sentences(campaign, labels, figures=not still, seed=seed, resamples=resamples),
        *(_unfinished(still) if still else []),
        *(_agreement(campaign, agreement) if agreement else []),
        *(_intervals(campaign, seed, resamples) if agreement else []),
        *(_rates(rates, seed, resamples) if rates else []),
        *(_texts(campaign) if compound else _scores(campaign) if submissions else []),
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


# What was judged, by whom, how ---------------------------------------------------------------------------------


def _material(campaign: Campaign, compound: bool) -> Sentences:
    items = Item.objects.active().filter(campaign=campaign)
    if not compound:
        return [say("The material is triples of head, relation and tail: {n}.", n=items.count())]
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    ).aggregate(
        instances=Count("pk"),
        compounds=Count("context__unit", distinct=True),
        systems=Count("system", distinct=True),
    )
    return [
        say(
            "The material is compounds in context: compounds {compounds}, systems {systems}, translations {instances} "
            "({items} of them distinct).",
            items=items.count(),
            **outputs,
        )
    ]


def _current(campaign: Campaign) -> Any:
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        item__retired_at__isnull=True,
    )


def _judging(campaign: Campaign) -> Sentences:
    found = _current(campaign).aggregate(
        given=Count("answered_at"),
        unable=Count("pk", filter=~Q(cannot_judge="")),
        experts=Count("expert", distinct=True, filter=Q(answered_at__isnull=False)),
    )
    if not found["given"]:
        return [say("No judgements are held here.")]
    return [
        say(
            "Experts judge on their own, k = {k} of them each item, on the scale {scale}; experts {experts}, "
            "judgements {given}, of these that the item cannot be judged {unable}.",
            k=campaign.annotators_per_item,
            scale=", ".join(get_protocol(campaign.protocol).labels),
            **found,
        )
    ]


def _design(campaign: Campaign) -> Sentences:
    """How units were dealt, and in which order each expert met them."""
    parts = Part.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).count()
    if not parts:
        return []
    designs = Design.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).order_by("pk")
    told = [
        say(
            "{name} with seed {seed} (hash {hash})",
            name=DESIGNS.get(name, name),
            seed=seed,
            hash=digest[:12],
        )
        for name, seed, digest in designs.values_list("name", "seed", "hash")
    ]
    return [
        say("Items were dealt by the design {designs}; parts: {n}.", n=parts, designs=listed(told)),
        say(
            "Every expert met their items in an order of their own, drawn with seed {seed}.",
            seed=campaign.seed,
        ),
        *_moves(campaign),
    ]


def _moves(campaign: Campaign) -> Sentences:
    """That units changed hands, and that somebody left."""
    moved = moved_of(campaign)
    units = say(
        "Units that were given to another expert after the parts were given out: {n}.", n=f"{moved.units:,}"
    )
    left = say(
        "Experts who left before they had judged all that was given to them, their open units moved to others: {n}.",
        n=len(moved.left),
    )
    return [*([units] if moved.units else []), *([left] if moved.left else [])]


def _conditions(campaign: Campaign, compound: bool) -> Sentences:
    answers = Annotation.objects.filter(
        assignment__in=_current(campaign), revision=F("assignment__revision")
    ).order_by()
    entrances = _counts(answers, "source")
    if not entrances:
        return []
    if set(entrances) == {Annotation.Source.IMPORT}:
        return [
            say(
                "Under which conditions they were given elsewhere is not recorded, nor whether anybody looked at "
                "interim figures there."
            ),
        ]
    versions = _counts(answers.annotate(judged_under=JUDGED_UNDER), "judged_under")
    under = [
        say("not recorded: {n}", n=f"{n:,}")
        if version == "None"
        else say("version {version}: {n}", version=version, n=f"{n:,}")
        for version, n in versions.items()
    ]
    where = [say("{where}: {n}", where=ENTRANCES[name], n=f"{n:,}") for name, n in entrances.items()]
    display = _counts(answers.exclude(source=Annotation.Source.IMPORT), "conditions__display")
    displays = COMPOUND_DISPLAYS if compound else DISPLAYS
    return [
        say("Judgements by version of the guidelines: {counts}.", counts=listed(under)),
        say("Where they were given: {counts}.", counts=listed(where)),
        say(
            "Display mode: {counts}.", counts=_told(display, words={**displays, "None": say("not recorded")})
        ),
        *(_where_contexts_stood(display) if compound else []),
        *(_compound_settings(campaign, answers) if compound else _triple_settings(campaign)),
    ]


def _where_contexts_stood(display: Mapping[str, int]) -> Sentences:
    """By the displays that there were."""
    one_by_one = say(
        "Side by side, the contexts of a compound came one after another and were saved together."
    )
    if set(display) == {"side_by_side"}:
        return [one_by_one]
    together = say("The contexts of a compound stood on one screen.")
    return [together, one_by_one] if "side_by_side" in display else [together]


def _compound_settings(campaign: Campaign, answers: Any) -> Sentences:
    return [
        REFERENCES[campaign.reference],
        *_seen(_counts(answers, "reference_seen")),
        REASONS[campaign.reasons],
    ]


def _seen(counts: Mapping[str, int]) -> Sentences:
    """With how many answers the reference was seen, with how many not, and of how many that is not known."""
    seen, hidden, unknown = (counts.get(value, 0) for value in ("True", "False", "None"))
    told = []
    if seen and hidden:
        told.append(say("It was seen with {seen} answers and not with {hidden}.", seen=seen, hidden=hidden))
    elif seen:
        told.append(say_count("It was seen with {n} answer.", "It was seen with {n} answers.", n=seen))
    elif hidden:
        told.append(
            say_count("It was not seen with {n} answer.", "It was not seen with {n} answers.", n=hidden)
        )
    if unknown:
        told.append(
            say_count(
                "Of {n} answer it is not recorded whether it was seen.",
                "Of {n} answers it is not recorded whether it was seen.",
                n=unknown,
            )
        )
    return told


def _triple_settings(campaign: Campaign) -> Sentences:
    asked = say("Why a triple is not plausible was asked for.")
    return [
        ORDERS[campaign.order],
        asked if campaign.zero_detail else say("Why a triple is not plausible was not asked."),
    ]


def _counts(rows: Any, name: str) -> dict[str, int]:
    found = rows.values_list(name).annotate(n=Count("pk")).values_list(name, "n")
    return dict(sorted((str(value), n) for value, n in found))


def _told(counts: Mapping[str, int], *, words: Mapping[str, Sentence] | None = None) -> Sentence:
    said = words or {}
    return listed([say("{name}: {n}", name=said.get(name, name), n=f"{n:,}") for name, n in counts.items()])


def _labels(campaign: Campaign, labels: Labels) -> Sentences:
    labelled = len(labels.by_item)
    if labels.source == "imported":
        if not labelled:
            return [say("There are no labels yet.")]
        return [
            say(
                "The labels of {n} items were imported with them; by which rule they were made is not recorded.",
                n=labelled,
            )
        ]
    if labels.source == "computed":
        return [
            say(
                "No final labels were computed; error rates rest on the rule {rule} (version {version}) over the "
                "answers as they stand.",
                rule=labels.rule,
                version=labels.rule_version,
            )
        ]
    without = FinalLabel.objects.filter(item__campaign=campaign).exclude(reason="")
    reasons = _counts(without.order_by(), "reason")
    by_arbiter = FinalLabel.objects.filter(
        item__campaign=campaign, item__retired_at__isnull=True, rule=ARBITER.name
    ).exclude(label="")
    decided = by_arbiter.count()
    told = say(
        "{n} final labels follow from the judgements by the rule {rule} (version {version}); this is version "
        "{label_version} of the labels.",
        n=labelled - decided - len(labels.carried),
        rule=labels.rule,
        version=labels.rule_version,
        label_version=labels.label_version,
    )
    return [
        told,
        *([say("An arbiter decided the labels of items: {n}.", n=decided)] if decided else []),
        *([say("Items without a label, by reason: {counts}.", counts=_told(reasons))] if reasons else []),
    ]


def _unfinished(still: int) -> Sentences:
    return [
        say(
            "This describes a campaign at work: open answers {n}; figures made of answers are left out.",
            n=still,
        )
    ]


# Figures -------------------------------------------------------------------------------------------------------


def _agreement(campaign: Campaign, document: Mapping[str, Any]) -> Sentences:
    """Every coefficient with value, interval and n; what is undefined with the reason."""
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    names = OF_TWO_ANSWERS if compound else tuple(COEFFICIENTS)
    found = {name: document["coefficients"][name] for name in names}
    known = [_coefficient(name, one) for name, one in found.items() if one["value"] is not None]
    unknown = [
        say("{name} ({reason})", name=COEFFICIENTS[name], reason=one["reason"])
        for name, one in found.items()
        if one["value"] is None
    ]
    means = [
        say(
            "{name} {value} over {n} of {of} pairs",
            name=COEFFICIENTS[name],
            value=f"{mean['value']:.4f}",
            n=mean["n_pairs"],
            of=mean["of_pairs"],
        )
        for name, mean in document["mean_over_pairs"].items()
        if name in names and mean["value"] is not None
    ]
    return [
        say("Agreement is that of the independent answers to {n} items.", n=document["n_items"]),
        *([say("Coefficients: {figures}.", figures=listed(known))] if known else []),
        *([say("Plain means over pairs of experts: {figures}.", figures=listed(means))] if means else []),
        *([say("Undefined: {figures}.", figures=listed(unknown))] if unknown else []),
        say("Signature of the agreement: {signature}.", signature=document["signature"]),
    ]


def _coefficient(name: str, found: Mapping[str, Any]) -> Sentence:
    values = {"name": COEFFICIENTS[name], "value": f"{found['value']:.4f}", "n": found["n"]}
    if found["ci95"] is None:
        return say("{name} {value} (n = {n})", **values)
    low, high = found["ci95"]
    return say("{name} {value} [{low}, {high}] (n = {n})", low=f"{low:.4f}", high=f"{high:.4f}", **values)


def _intervals(campaign: Campaign, seed: int, resamples: int) -> Sentences:
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    return [
        say(
            "Brackets hold 95 % intervals from {resamples} resamples of {units} with seed {seed}: a percentile "
            "bootstrap from {limit} of them on, below that random weights (Dirichlet) with a small prior.",
            resamples=resamples,
            units=say("compounds") if compound else say("items"),
            seed=seed,
            limit=SMALL_SAMPLE,
        )
    ]


def _rates(rates: Mapping[str, ErrorRates], seed: int, resamples: int) -> Sentences:
    told = [_rates_of(name or "–", found) for name, found in rates.items()]
    return [
        say(
            "The instance error rate is the share of wrong among judged translations, with a 95 % interval from a "
            "bootstrap over compounds ({resamples} resamples, seed {seed}).",
            resamples=resamples,
            seed=seed,
        ),
        say(
            "The aggregate error rate is the share of compounds with at least one wrong context among those with "
            "exactly five, all judged, with Wilson's 95 % interval; both intervals are exact (Clopper and Pearson) "
            "where nothing or everything is wrong."
        ),
        say("Error rates: {figures}.", figures=listed(told)),
        say("Signature of the first: {signature}.", signature=next(iter(rates.values())).signature),
    ]


def _rates_of(system: str, found: ErrorRates) -> Sentence:
    rates = {
        "instance": _share(found.overall.instance),
        "aggregate": _share(found.overall.aggregate.decided),
    }
    if found.overall.carried is None:
        return say("{system}: instance {instance}, aggregate {aggregate}", system=system, **rates)
    return say(
        "{system}: instance {instance}, aggregate {aggregate}, verdicts carried over {carried}",
        system=system,
        carried=f"{found.overall.carried:,}",
        **rates,
    )


def _share(found: Share) -> Sentence:
    if found.share is None or found.interval is None:
        return say("undefined")
    low, high = found.interval
    return say(
        "{percent} % [{low}, {high}] (n = {n})",
        percent=f"{100 * found.share:.2f}",
        low=f"{100 * low:.2f}",
        high=f"{100 * high:.2f}",
        n=found.n,
    )


def _texts(campaign: Campaign) -> Sentences:
    """The signatures do not depend on the texts; nothing where there are no references."""
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
    if not outputs.exclude(context__reference="").exists():
        return []
    one = ["狗笑了。"]
    return [
        say(
            "BLEU is taken on characters after removing spaces and subword joiners (signature {bleu}), chrF likewise "
            "(signature {chrf}).",
            bleu=corpus_bleu(one, one).signature,
            chrf=corpus_chrf(one, one).signature,
        )
    ]


def _scores(campaign: Campaign) -> Sentences:
    """How submissions are scored, with the signatures of the latest."""
    found = Evaluation.objects.filter(campaign=campaign, submission__isnull=False).order_by("-submission")
    signatures = list(dict.fromkeys(found.values_list("signature", flat=True)[:SIGNATURES]))
    if not signatures:
        return []
    return [
        say(
            "Systems are scored by the area under the ROC curve (AUC, ties counted half) and by F1, precision and "
            "recall of the plausible class; a score at or above the threshold is plausible, and the threshold is 0.5, "
            "another one given, or that of the highest F1 on dev; runs stand as mean and standard deviation (n − 1)."
        ),
        say("Signatures of the latest submissions: {signatures}.", signatures=", ".join(signatures)),
    ]


# Peeks and versions --------------------------------------------------------------------------------------------


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
