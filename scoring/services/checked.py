"""An automatic judge beside the experts: what it finds in one run, how well, and what can be estimated from it.

Experts who saw the check's forms highlighted in the translation were handed its verdict: their answers take no part
in how well it does, nor in an estimate that corrects it. They count in error rates as ever. Nor do verdicts that are
carried over say anything of the check: nobody judged these translations.
"""

from dataclasses import dataclass, replace

import numpy as np
from django.db.models import F
from numpy.typing import NDArray

from annotation.models import Annotation, Campaign, Round
from annotation.protocol.compound import analyse
from annotation.protocol.sentences import Sentence, say
from annotation.services.errors import Refused
from scoring.services.drawn import DrawnSample, beside_the_sample, sample_of
from scoring.services.gather import (
    Labels,
    SystemRun,
    Translations,
    choose_run,
    instances_of,
    labels_of,
    translations_of,
)
from scoring.services.judge_files import fingerprint, verdicts_of
from scoring.services.options import Document, Options, only_for
from scoring.stats.compound_check import CompoundCheck, compound_check, judge_check, read_lexicon
from scoring.stats.difference_estimate import difference_estimate
from scoring.stats.error_rates import UNDECIDED, Instances


def compound_check_report(campaign: Campaign, options: Options) -> Document:
    """What an automatic check finds, and how well it finds what the experts found. A diagnostic, no substitute."""
    return check_document(checked_run(campaign, options))


def check_document(run: "CheckedRun") -> Document:
    """The same of a run that was checked already."""
    return {
        "campaign": run.chosen.system.campaign.slug,
        "system": run.chosen.system.name,
        "run": run.chosen.run,
        "judge": run.judge,
        **run.result.as_json(),
        "prompted": run.there.prompted,
        "warnings": [*run.result.warnings, *run.there.warnings],
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
    only_for(campaign, Campaign.Protocol.COMPOUND, "the compound check")
    if (options.judge is None) == (options.lexicon is None):
        raise Refused(
            say("The check needs one automatic judge: a lexicon of translations, or a file of 1 and 0."),
            options=("lexicon", "judge"),
        )
    every = labels_of(campaign, options.labels)
    labels = every.judged
    chosen = choose_run(campaign, options.system, options.run)
    there, judge = _there(campaign, chosen, labels), _judge_name(options)
    carried = len(every.carried & {there.texts.items[row] for row in there.rows})
    there = replace(there, carried=carried)
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
    """The instances that a run has an output for, and its texts; a missing output is nothing to check.

    `prompted` counts the instances whose verdict was left out because the forms were highlighted before its judges,
    `carried` those left out because their verdict was given to another translation.
    """

    instances: Instances
    rows: list[int]
    texts: Translations
    prompted: int
    carried: int = 0

    @property
    def warnings(self) -> list[Sentence]:
        told = [
            say("{n} verdicts are carried over from other translations and left out here.", n=self.carried)
        ]
        return [*self._of_prompted(), *(told if self.carried else [])]

    def _of_prompted(self) -> list[Sentence]:
        if not self.prompted:
            return []
        return [
            say(
                "{n} instances were judged with the check's forms highlighted in the translation: their verdicts say "
                "nothing of the check and are left out here.",
                n=self.prompted,
            )
        ]


def _there(campaign: Campaign, chosen: SystemRun, labels: Labels) -> _There:
    instances, items = instances_of(chosen, labels)
    texts = translations_of(chosen)
    by_item = {item: row for row, item in enumerate(texts.items)}
    there = np.array([item in by_item for item in items], dtype=np.bool_)
    prompted = _prompted(campaign)
    seen = np.array([item in prompted for item in items], dtype=np.bool_) & (instances.verdict != UNDECIDED)
    unprompted = replace(instances, verdict=np.where(seen, UNDECIDED, instances.verdict).astype(np.int8))
    rows = [by_item[item] for item in items if item in by_item]
    return _There(unprompted.only(there), rows, texts, int((seen & there).sum()))


def _prompted(campaign: Campaign) -> set[int]:
    """Items that somebody judged while the forms were highlighted in the translation; one query."""
    shown = Annotation.objects.filter(
        assignment__round__campaign=campaign,
        assignment__round__kind=Round.Kind.MAIN,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
        conditions__highlight="translation",
    )
    return set(shown.values_list("assignment__item", flat=True))


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
    only_for(campaign, Campaign.Protocol.COMPOUND, "the difference estimate")
    if (options.judge is None) == (options.lexicon is None):
        raise Refused(
            say(
                "The estimate needs one automatic judge: a file of 1 and 0, or a lexicon for the compound check."
            ),
            options=("judge", "lexicon"),
        )
    labels = labels_of(campaign, options.labels)
    chosen = choose_run(campaign, options.system, options.run)
    there, judge = _there(campaign, chosen, labels), _judge_name(options)
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
        "prompted": there.prompted,
        "warnings": [*_of_sample(campaign, sample, there.instances), *there.warnings],
        "labels": labels.as_json(),
    }


def _of_sample(campaign: Campaign, sample: DrawnSample | None, instances: Instances) -> list[Sentence]:
    """What is to be known of the sample: units that came later, answers outside of it."""
    if sample is None:
        return []
    beside = ~sample.rows(instances.unit) & (instances.verdict != UNDECIDED)
    answered = len(set(instances.unit[beside].tolist()))
    return [*sample.warnings(campaign), *([beside_the_sample(answered)] if answered else [])]
