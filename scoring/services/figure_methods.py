"""What the methods paragraph says of the figures: agreement, error rates, scores, with intervals and signatures."""

from collections.abc import Mapping
from typing import Any

from annotation.models import Campaign, Output
from annotation.protocol.sentences import Sentence, listed, say
from scoring.models import Evaluation
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.error_rates import ErrorRates
from scoring.stats.intervals import SMALL_SAMPLE
from scoring.stats.proportions import Share

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


def agreement_sentences(campaign: Campaign, document: Mapping[str, Any]) -> list[Sentence]:
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


def interval_sentences(campaign: Campaign, seed: int, resamples: int) -> list[Sentence]:
    """What the brackets behind coefficients hold."""
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


def rate_sentences(rates: Mapping[str, ErrorRates], seed: int, resamples: int) -> list[Sentence]:
    """What the two error rates are, and what they are of each system."""
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


def text_sentences(campaign: Campaign) -> list[Sentence]:
    """How texts are compared with references, if there are any; the signatures do not depend on the texts."""
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


def score_sentences(campaign: Campaign) -> list[Sentence]:
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
