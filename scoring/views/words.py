"""What figures are called on the pages, and how to read them; the downloads keep the short English names."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

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
COMPARISON = Kind(
    "comparison",
    _("Systems compared"),
    _("How systems or runs differ on the same compounds, and on which of them."),
)
COMPOUND_CHECK = Kind(
    "compound-check",
    _("Automatic compound check"),
    _("How well a check by word list finds what the experts found: a diagnostic, no substitute."),
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
)
HUMAN = Kind(
    "human",
    _("Human performance"),
    _("How well each expert's own scores predict the final labels: the ceiling for systems."),
)
ARTIFACTS = Kind(
    "artifacts", _("Artifacts"), _("Words that give a label away, whatever the rest of the triple says.")
)

KINDS: dict[str, tuple[Kind, ...]] = {
    Campaign.Protocol.COMPOUND: (ERROR_RATES, COMPARISON, AGREEMENT, BLEU, COMPOUND_CHECK, ESTIMATE),
    Campaign.Protocol.TRIPLE: (AGREEMENT, STATISTICS, HUMAN, ARTIFACTS),
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
}

MEASURES: dict[str, Text] = {
    "instance": _("Instance error rate"),
    "aggregate": _("Aggregate error rate"),
    "BLEU": _("Character BLEU"),
    "CHRF": "chrF",
    "share": _("Share of plausible triples"),
}

PLAN_GOALS: dict[str, Text] = {
    "precision": _("A figure to ± points"),
    "difference": _("A difference to be found"),
    "spot-check": _("A spot check"),
}

NOISE_MODELS: dict[str, Text] = {
    "symmetric": _("as often a false alarm as a miss"),
    "false-alarms": _("false alarms only"),
    "misses": _("misses only"),
}

SPLITS: dict[str, Text] = {
    "test": _("test"),
    "dev": _("dev"),
    "train": _("train"),
    "all": _("all items"),
    "other": _("other"),
}

# Sentences that come with a figure that has no value, as the statistics word them.
REASONS = (
    gettext_noop("no items"),
    gettext_noop("only one rater"),
    gettext_noop("no common items"),
    gettext_noop("only one category was used, so nothing can be said beyond chance"),
    gettext_noop("an end of the scale was not used, so no contrast is to be expected by chance"),
    gettext_noop("not all common items were judged by the same two people; see the pairs"),
    gettext_noop("the items differ in how many judgements they have"),
    gettext_noop("more than two people, and not recorded who was first and who second expert of an item"),
    gettext_noop("nobody used this category on a common item"),
    gettext_noop("the coefficient is undefined for every pair"),
    gettext_noop("no value, so no interval"),
    gettext_noop("no interval was asked for"),
    gettext_noop("a single item or cluster says nothing about the spread"),
    gettext_noop("too many pairs to resample together; the pairs have intervals of their own"),
    gettext_noop("no compound here has exactly five contexts, all of them judged"),
    gettext_noop("no instance is judged"),
    gettext_noop("no triple here has a label"),
    gettext_noop("no triples"),
    gettext_noop("no triple here has a label and a score from every expert"),
    gettext_noop("no row with a reference to score against"),
    gettext_noop("needs words, and labelled triples of both kinds"),
    gettext_noop("no compound here has exactly five judged contexts"),
    gettext_noop("experts differ more often than this model allows: their verdicts are close to a toss"),
    gettext_noop(
        "the noise cannot be estimated in too many resamples: more instances judged twice are needed"
    ),
    gettext_noop("no resample differs from another"),
    gettext_noop("no instance is called wrong"),
    gettext_noop("experts call no instance wrong"),
    gettext_noop("more than ten million units would be needed: ask for less"),
    gettext_noop("a difference and a spread are above 0, runs and comparisons at least 1"),
    gettext_noop("half an interval is between 0 and 50 points long"),
    gettext_noop("a rate to plan for lies between 0 and 1"),
    gettext_noop("an AUC to plan for lies between 0.5 and 1"),
    gettext_noop("no triple here is plausible, so there is no recall"),
    gettext_noop("scores outside 0 to 1 are no probabilities"),
    gettext_noop("no run has this figure"),
    gettext_noop("one run says nothing about the spread over runs"),
    gettext_noop("no compound was judged for both systems"),
    gettext_noop("no resample differs from another: nothing to tell the two apart"),
    gettext_noop("every sentence scores alike, or there is one only: nothing to resample"),
    gettext_noop(
        "Differences are paired. Intervals and p-values are conditional on these runs, experts and atoms; "
        "the spread over runs stands beside them."
    ),
)
