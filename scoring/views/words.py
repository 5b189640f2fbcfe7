"""What figures are called on the pages, and how to read them; the downloads keep the short English names."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.models import Campaign

Text = str | Promise


@dataclass(frozen=True)
class Kind:
    """A report: what it is called, and what it answers in one sentence."""

    name: str
    title: Text
    answers: Text
    page: str = "report"  # the name of its address


ERROR_RATES = Kind(
    "error-rates",
    _("Error rates"),
    _("How often a system translates compounds wrongly: by context, and by compound."),
)
AGREEMENT = Kind(
    "agreement",
    _("Agreement"),
    _("How far the experts agree, judging on their own: in all, by pair, by part."),
)
BLEU = Kind(
    "bleu",
    _("Character BLEU"),
    _("How close a system's translations are to the references, character by character."),
)
TEXTS = Kind(
    "texts",
    _("BLEU of any test set"),
    _("Character BLEU and chrF of translations in a file, such as a random test set beside the compounds."),
    "check",
)
COMPARISON = Kind(
    "comparison",
    _("Systems compared"),
    _("How systems or runs differ on the same compounds, and on which of them."),
)
PREDICTIONS_COMPARED = Kind(
    "comparison",
    _("Systems compared"),
    _("How systems that sent in predictions differ on the same triples, and on which of them."),
)
COMPOUND_CHECK = Kind(
    "compound-check",
    _("Automatic compound check"),
    _("How well a word list or another judge finds what the experts found: a diagnostic, no substitute."),
    "check",
)
ESTIMATE = Kind(
    "estimate",
    _("Error rate from a sample"),
    _("What an automatic judge says of all compounds, set right by those that experts judged."),
    "check",
)
STATISTICS = Kind(
    "statistics",
    _("Composition (Table 1)"),
    _("How many triples of each kind there are, and how many of them are plausible."),
    "check",
)
HUMAN = Kind(
    "human",
    _("Human performance"),
    _("How well each expert's own scores predict the final labels: the ceiling for systems."),
)
ARTIFACTS = Kind(
    "artifacts", _("Artifacts"), _("Words that give a label away, whatever the rest of the triple says.")
)

METHODS = Kind(
    "methods",
    _("Methods paragraph"),
    _("How judgements, labels and figures came about, as text for a paper, in English and Chinese."),
)

WHAT_IF = Kind(
    "what-if",
    _("What if"),
    _("Which labels would turn under another rule or a label model, and how figures move. Nothing changes."),
    "what_if",
)

KINDS: dict[str, tuple[Kind, ...]] = {
    Campaign.Protocol.COMPOUND: (
        ERROR_RATES,
        COMPARISON,
        AGREEMENT,
        BLEU,
        COMPOUND_CHECK,
        ESTIMATE,
        TEXTS,
        WHAT_IF,
        METHODS,
    ),
    Campaign.Protocol.TRIPLE: (
        AGREEMENT,
        STATISTICS,
        HUMAN,
        PREDICTIONS_COMPARED,
        ARTIFACTS,
        WHAT_IF,
        METHODS,
    ),
}


@dataclass(frozen=True)
class Figure:
    """A coefficient: what it is called, and what it tells."""

    name: str
    title: Text
    tells: Text


COEFFICIENTS = {
    figure.name: figure
    for figure in (
        Figure("raw", _("Raw agreement"), _("the share of equal answers; says nothing about chance")),
        Figure(
            "contrast",
            _("Contrast coefficient (CKBP)"),
            _("only always/often against rarely/never counts as disagreement, corrected for chance"),
        ),
        Figure("cohen", _("Cohen's κ"), _("equal answers beyond chance, for the same two people throughout")),
        Figure("cohen_linear", _("Cohen's κ, linear weights"), _("a distance of one step counts half")),
        Figure(
            "cohen_quadratic", _("Cohen's κ, quadratic weights"), _("a distance of one step counts a quarter")
        ),
        Figure("fleiss", _("Fleiss' κ"), _("equal answers beyond chance, pooled over changing people")),
        Figure(
            "alpha_nominal",
            _("Krippendorff's α, nominal"),
            _("pooled; any difference counts alike; missing answers are allowed"),
        ),
        Figure(
            "alpha_ordinal", _("Krippendorff's α, ordinal"), _("the same, minding the order of the scale")
        ),
        Figure(
            "alpha_interval",
            _("Krippendorff's α, interval"),
            _("the same, minding the distances of the scores"),
        ),
        Figure("gwet_ac1", _("Gwet's AC1"), _("beyond chance; steady where nearly all answers are alike")),
        Figure("gwet_ac2", _("Gwet's AC2"), _("the same with weights for near misses")),
    )
}

# With two answers and no order among them the weighted and ordered figures say the same as the plain ones.
SHOWN: dict[str, tuple[str, ...]] = {
    Campaign.Protocol.COMPOUND: ("raw", "cohen", "fleiss", "alpha_nominal", "gwet_ac1"),
    Campaign.Protocol.TRIPLE: tuple(COEFFICIENTS),
}
SHOWN_BY_GROUP: dict[str, tuple[str, ...]] = {
    Campaign.Protocol.COMPOUND: ("raw", "alpha_nominal", "gwet_ac1"),
    Campaign.Protocol.TRIPLE: ("raw", "contrast", "alpha_nominal", "alpha_ordinal", "gwet_ac1"),
}

GROUPS: dict[str, Text] = {
    "type": _("Type"),
    "pattern": _("Pattern"),
    "words": _("Words"),
    "atoms": _("Atoms"),
    "type_and_words": _("Type and words"),
    "modifier": _("Modifier"),
    "determiner": _("Determiner"),
    "atom": _("Atom"),
    "context_length": _("Words in the sentence"),
    "reference_seen": _("Reference"),
    "session_position": _("Screens into the session"),
    "guideline": _("Guideline version"),
    "month": _("Month"),
    "third": _("Third of the judgements by time"),
    "part": _("Part"),
    "relation": _("Relation"),
    "split": _("Split"),
    "class": _("Class"),
    "group": _("Group"),
}

# Values of a table that are words, not names.
VALUES: dict[str, Text] = {
    "other": _("other"),
    "none": _("none"),
    "seen": _("seen"),
    "hidden": _("not seen"),
    "mixed": _("mixed"),
    "early": _("early"),
    "middle": _("middle"),
    "late": _("late"),
}

MEASURE_TITLES: dict[str, Text] = {
    "auc": "AUC",
    "f1": "F1",
    "precision": _("Precision"),
    "recall": _("Recall"),
    "bleu": "BLEU",
    "chrf": "chrF",
}

MEASURES: dict[str, Text] = {
    "instance": _("Instance error rate"),
    "aggregate": _("Aggregate error rate"),
    "BLEU": _("Character BLEU"),
    "CHRF": "chrF",
    "share": _("Share of plausible triples"),
    **MEASURE_TITLES,
}

MODEL_TITLES: dict[str, Text] = {
    "majority": _("Majority of the answers"),
    "dawid-skene": "Dawid–Skene",
    "mace": "MACE",
}

# Why an item has no label, beside the reasons of the rules.
STATE_WORDS: dict[str, Text] = {"not_computed": _("not computed yet")}

PLAN_GOALS: dict[str, Text] = {
    "precision": _("A figure to ± points"),
    "difference": _("A difference to be found"),
    "spot-check": _("A spot check"),
}

PLAN_FIGURES: dict[str, Text] = {
    "rate": _("Expected error rate"),
    "share": _("Expected share of plausible triples"),
    "auc": _("Expected AUC"),
    "other_auc": _("AUC of the other system"),
    "correlation": _("Correlation of the two systems' results"),
    "design_effect": _("Design effect"),
    "spread": _("Standard deviation of the paired difference, in points"),
    "run_spread": _("The same between two runs of one system, in points"),
    "seed_sd": _("Standard deviation between seeds of one system, in points"),
    "runs": _("Runs of each system"),
    "comparisons": _("Pairs tested together"),
    "population": _("How many there are"),
    "level": _("Level of the interval"),
    "alpha": _("Level α of the two-sided test"),
    "power": _("Chance to find the difference"),
    "experts": _("Experts on each item"),
    "judgements_per_unit": _("Judgements of a unit, per expert"),
    "seconds": _("Seconds a judgement takes"),
}

PLAN_SOURCES: dict[str, Text] = {
    "given": _("given"),
    "measured": _("measured in this campaign"),
    "assumed": _("assumed"),
    "derived": _("derived from the others"),
    "fixed": _("fixed"),
}

LABEL_SOURCES: dict[str, Text] = {
    "final": _("from the final labels"),
    "computed": _("from the answers as they stand, by the label rule"),
    "imported": _("from the labels imported with the items"),
}

NOISE_MODELS: dict[str, Text] = {
    "symmetric": _("as often a false alarm as a miss"),
    "false-alarms": _("false alarms only"),
    "misses": _("misses only"),
}

# What a number of a report counts, as the head of the list of its items.
COUNTED: dict[str, Text] = {
    "instance-n": _("Contexts with a verdict"),
    "instance-errors": _("Wrong contexts"),
    "instance-undecided": _("Contexts without a verdict"),
    "cannot-judge": _("Contexts that could not be judged"),
    "aggregate-n": _("Compounds with five judged contexts"),
    "aggregate-errors": _("Compounds with at least one wrong context"),
    "aggregate-undecided": _("Undecided compounds"),
    "all-wrong": _("Compounds wrong in every context"),
    **{f"wrong-{k}": format_lazy(_("Compounds by number of wrong contexts: {k}"), k=k) for k in range(6)},
    "human_ok_auto_ok": _("Correct to the experts and to the check"),
    "human_bad_auto_ok": _("Wrong to the experts, correct to the check"),
    "human_ok_auto_bad": _("Correct to the experts, wrong to the check"),
    "human_bad_auto_bad": _("Wrong to the experts and to the check"),
    "judged": _("Items with an answer"),
    "common": _("Items that two people or more answered"),
    "equal": _("Items answered alike"),
    "differing": _("Items answered differently"),
    "contrast": _("Items with answers at both ends of the scale"),
    "answer": _("Given answer"),
    "again-n": _("Judged twice by the same person"),
    "again-up": _("Judged higher the second time"),
    "again-down": _("Judged lower the second time"),
    "n": _("What the figure counts"),
    "plausible": _("Plausible triples"),
    "unlabelled": _("Triples without a label"),
    "left-out": _("What is left out of the figure"),
    "kept": _("Labels that stay as they are"),
    "flipped": _("Labels that turn"),
    "gained": _("Items that gain a label"),
    "lost": _("Items that lose their label"),
    "without": _("Items without a label either way"),
    "cell": _("Items of one cell"),
}

UNITS: dict[str, Text] = {
    "contexts": _("Contexts"),
    "compounds": _("Compounds"),
    "triples": _("Triples"),
    "items": _("Items"),
    "answers": _("Answers"),
    "translations": _("Translations"),
}
