"""Character BLEU and chrF of texts from a file: a test set that is none of the campaign's.

CoGnition's contrast is between a random test set, which holds no compounds, and the set of compounds.
"""

from typing import Any

from annotation.formats.text_pairs import TextPairs, read_aligned, read_text_pairs
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.services.files import NamedFile
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.paired_texts import score_with_interval

Document = dict[str, Any]


def plain_bleu(
    *,
    texts: NamedFile | None,
    hypotheses: NamedFile | None,
    references: NamedFile | None,
    column: str | None = None,
) -> Document:
    """The scores of a table of translations and references, or of two line-aligned texts, and which files they were.

    Raises Refused where it is not one or the other, FormatError where the files cannot be used.
    """
    files = [file for file in (texts, hypotheses, references) if file is not None]
    pairs = _pairs(texts, hypotheses, references, column)
    bleu = score_with_interval(corpus_bleu(pairs.translations, pairs.references, names=pairs.names))
    chrf = corpus_chrf(pairs.translations, pairs.references, names=pairs.names)
    return {
        **bleu,
        "warnings": [*pairs.warnings, *bleu["warnings"]],
        "chrf": score_with_interval(chrf),
        "files": [file.as_json() for file in files],
    }


def _pairs(
    texts: NamedFile | None, hypotheses: NamedFile | None, references: NamedFile | None, column: str | None
) -> TextPairs:
    if texts is not None and hypotheses is None and references is None:
        return read_text_pairs(texts.data, name=texts.name, column=column)
    if texts is None and hypotheses is not None and references is not None:
        return read_aligned(hypotheses.data, references.data, names=(hypotheses.name, references.name))
    raise Refused(
        say(
            "BLEU of other texts needs a table with the columns translation and reference, or two texts line by line: "
            "the translations and the references."
        ),
        options=("texts", "hypotheses", "references"),
    )
