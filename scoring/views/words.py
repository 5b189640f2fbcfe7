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
    Campaign.Protocol.COMPOUND: (ERROR_RATES, AGREEMENT, BLEU),
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
    "part": _("Part"),
    "relation": _("Relation"),
    "split": _("Split"),
    "class": _("Class"),
    "group": _("Group"),
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
)
