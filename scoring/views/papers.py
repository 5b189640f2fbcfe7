"""Why a figure here differs from the one printed: by kind of report, for who knows the papers.

Every figure was worked out from the files the papers released; `docs/papers.md` holds the same texts.
"""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Campaign

Texts = tuple[str | Promise, ...]

COGNITION, CKBP = _("CoGnition"), _("CKBP v2")

AGGREGATE: Texts = (
    _(
        "The aggregate error rate counts a compound as wrong as soon as one of its contexts is. A published scoring "
        "recipe computes “not correct in any context” and calls that aggregate; here it is a figure of its own, all "
        "contexts wrong. On the released noun phrases the two are 54.03 % (389 of 720) and 2.78 % (20 of 720)."
    ),
    _(
        "The same recipe's instance rate reuses a flag of the compound. Here an instance is one context: 791 of 3,600 "
        "noun phrases (21.97 %) and 801 of 3,600 verb phrases (22.25 %) are wrong."
    ),
    _(
        "The workbook of the noun phrases writes its verdicts partly as text and partly as numbers; read as numbers "
        "alone, 94.69 % would be errors."
    ),
)
SEEDS: Texts = (
    _(
        "One run is no system: over six training seeds of one model the instance error rate ran from 25.0 to 31.9 % "
        "and the aggregate error rate from 58.1 to 66.5 %. Compare means over runs, with their spread."
    ),
)
CHECK: Texts = (
    _(
        "The paper prints a precision of 94.80 and a recall of 87.05 for the automatic evaluator. Both are about "
        "finding errors. On the released files the compatible mode gives 99.71 and 87.61 for noun phrases, 92.92 and "
        "93.38 for verb phrases."
    ),
    _(
        "Only the compatible mode does as the published evaluator does: “liked” never fails there, of two lines for "
        "“building” the later one counts, and forms are regular expressions."
    ),
)
TEXTS: Texts = (
    _(
        "Rows whose source is not the test set's are left out and counted: 3,599 of 3,600 noun phrases (BLEU 61.73) "
        "and 3,592 verb phrases (61.14) remain."
    ),
    _(
        "A system that writes ASCII punctuation where the references are full-width loses points by that alone: the "
        "noun phrases would fall from 61.73 to 54.92, the verb phrases from 61.14 to 52.70."
    ),
)
CONTRAST: Texts = (
    _(
        "The printed 90.55 % is no share of equal answers. It is the contrast coefficient, after the experts had "
        "settled conflicts: only 1 against 0 counts as a difference, corrected for chance. Figures of agreement here "
        "are those before any discussion; after a session that settles every such conflict the coefficient is 1 by "
        "construction."
    ),
    _(
        "The two released columns do not tell 0.5 from 0. With the 218 halves that the final labels betray the "
        "coefficient is 0.9109, an upper figure, since every unknown half lowers it towards 0.9055; on the columns as "
        "they are it is 0.7822, which is also Cohen's κ of “scored 1”. The share of items without a contrast is "
        "97.12 %."
    ),
)
CEILING: Texts = (
    _(
        "The printed human row is that of all 5,006 items, not of test: each slot is scored against the final labels "
        "and the two slots are averaged. The paper averages figures that were rounded already, so a mean may differ "
        "from it by up to 0.01."
    ),
    _(
        "The released columns take 0.5 for 0, as this report does. The row is a ceiling by construction: the same "
        "scores define the labels."
    ),
)
MODELS: Texts = (
    _(
        "The printed OOD of GPT3 (AUC 59.17, F1 28.57) is the class all_head alone. Both out-of-domain classes "
        "together give 57.87 and 26.67. So OOD is not one quantity down the printed table; here it is always both "
        "classes, and each class stands beside it."
    ),
    _(
        "Models are scored on test (4,048 triples), people on all 5,006: the human row is no row of the same table "
        "unless it is measured on the same items."
    ),
)
COMPOSITION: Texts = (
    _(
        "% unseen compares with the nodes of a training set. Where none is given, the page leaves it out and files "
        "leave it blank; that is not zero."
    ),
    _("One triple stands in dev and in test, and xReason has five triples: read the number with every row."),
)
WORDS: Texts = (
    _(
        "The paper lists 83 words, 42 that point to plausible and 41 to not plausible. They come from comparing z with "
        "the corrected level itself; the quantile was never taken. The test as described, two-sided at 1 % with "
        "Bonferroni over 3,852 words, leaves one word: “happy”. The 83 stand under “as published”."
    ),
)
SPLIT: Texts = (
    _(
        "The released split takes a fifth, rounded down, of every cell of class, relation and label: 958 dev and 4,048 "
        "test, as all 115 cells show. That is the rule “ckbp-released”. The default comes to exactly a fifth of all, "
        "1,001 of 5,006, because rounding down starves dev where cells are small."
    ),
    _(
        "The released split has one triple on both sides, and 157 test items whose head is in dev. The default keeps "
        "identical triples together; whatever the rule, a release reports what its sides share."
    ),
)

PAPERS: Mapping[str, tuple[str | Promise, Texts]] = {
    "error-rates": (COGNITION, AGGREGATE + SEEDS),
    "comparison": (COGNITION, SEEDS),
    "compound-check": (COGNITION, CHECK),
    "estimate": (COGNITION, CHECK),
    "bleu": (COGNITION, TEXTS),
    "texts": (COGNITION, TEXTS),
    "agreement": (CKBP, CONTRAST),
    "statistics": (CKBP, COMPOSITION),
    "human": (CKBP, CEILING),
    "artifacts": (CKBP, WORDS),
    "predictions": (CKBP, MODELS + CEILING),
    "releases": (CKBP, SPLIT),
}


def papers_on(kind: str, protocol: str) -> tuple[str | Promise, Texts] | None:
    """Which paper, and why figures of this kind differ from those it prints; None where nothing is known."""
    if kind == "comparison" and protocol == Campaign.Protocol.TRIPLE:
        kind = "predictions"
    return PAPERS.get(kind)
