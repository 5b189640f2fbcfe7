"""What a submission is measured as: the document of its figures, nothing in it rounded or hidden."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.formats.submissions import SubmittedRow
from annotation.models import Campaign
from annotation.protocol.compound import analyse
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.models import Release
from scoring.services.targets import Place, Target
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.classification import (
    DEFAULT_THRESHOLD,
    UNLABELLED,
    Gold,
    score_predictions,
    tune_threshold,
)
from scoring.stats.compound_check import compound_check, read_lexicon
from scoring.stats.error_rates import UNDECIDED, Instances
from scoring.stats.paired_texts import score_with_interval

SPLITS = ("test", "dev", "all")

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a submission is called, how its file is to be read, and against what it is to be measured.

    `threshold` None means tuned on dev. `lexicon` is for translations only.
    """

    system: str
    run: str = ""
    split: str = "test"
    threshold: float | None = DEFAULT_THRESHOLD
    column: str | None = None
    by_position: bool = False
    labels: str = ""
    release: Release | None = None
    lexicon: bytes | None = None

    def digest(self, sha256: str) -> str:
        """The same for the same file, read and measured in the same way."""
        lexicon = hashlib.sha256(self.lexicon).hexdigest() if self.lexicon else None
        parts = [sha256, self.column, self.by_position, self.threshold, self.labels, lexicon]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def needed_places(target: Target, campaign: Campaign, wish: Wish) -> list[Place]:
    """The places for which a row must be there."""
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        places = target.of_split("all")
        if not places:
            raise Refused(_("There are no items yet; import items first."))
        return places
    wanted = [wish.split] if wish.threshold is not None else [wish.split, "dev"]
    for split in wanted:
        if not target.of_split(split):
            raise Refused(_no_such_split(split, target.splits))
    return target.of_split(*wanted)


def _no_such_split(split: str, there: Sequence[str]) -> str:
    if not there:
        return _("These items have no split. Score against a release, which makes one, or score all items.")
    return _(
        "No item is in the split %(split)s; there is %(splits)s. Score against a release that has it, or score all "
        "items."
    ) % {"split": split, "splits": ", ".join(there)}


def score_document(
    campaign: Campaign, target: Target, rows: Mapping[int, SubmittedRow], wish: Wish
) -> Document:
    """The figures of matched rows: of predictions by group, of translations against the references."""
    head: Document = {
        "campaign": campaign.slug,
        "release": wish.release.name if wish.release else None,
        "system": wish.system,
        "run": wish.run,
    }
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        document = head | _of_translations(target, rows, wish)
    else:
        document = head | _of_predictions(target, rows, wish)
    where = f"|release:{wish.release.sha256[:12]}" if wish.release else ""
    document["signature"] += f"|split:{document['split']}{where}"
    json.dumps(document, allow_nan=False)
    return document


def _of_predictions(target: Target, rows: Mapping[int, SubmittedRow], wish: Wish) -> Document:
    asked = target.of_split(wish.split)
    places = [place for place in asked if place.pk in rows]
    gold = gold_of(target, places)
    if not (gold.label != UNLABELLED).any():
        raise Refused(
            _("No item of the split %(split)s has a label yet, so there is nothing to score against.")
            % {"split": wish.split}
        )
    threshold = wish.threshold
    if threshold is None:
        dev = [place for place in target.of_split("dev") if place.pk in rows]
        threshold = tune_threshold(gold_of(target, dev).label, _scores(dev, rows))
    found = score_predictions(
        gold,
        _scores(places, rows),
        labels=target.labels.signature,
        threshold=threshold,
        tuned=wish.threshold is None,
    ).as_json()
    if len(places) < len(asked):
        found["warnings"].append(
            say(
                "Items newer than this submission, or with another text now: {n}. They are left out.",
                n=len(asked) - len(places),
            )
        )
    return {
        "split": wish.split,
        "tuned": wish.threshold is None,
        **found,
        "labels": target.labels.as_json(),
    }


def kind_of(document: Mapping[str, Any]) -> str:
    """What tables and rows go by: predictions and translations have others."""
    return "score-translations" if "bleu" in document else "score"


def gold_of(target: Target, places: Sequence[Place]) -> Gold:
    """The labels of these places, with their classes and relations."""
    labels = target.labels.by_item
    return Gold(
        label=np.array([int(labels.get(place.pk, UNLABELLED)) for place in places], dtype=np.int8),
        item_class=[place.item_class for place in places],
        relation=[place.texts["relation"] for place in places],
        class_groups=target.class_groups,
    )


def _scores(places: Sequence[Place], rows: Mapping[int, SubmittedRow]) -> NDArray[np.float64]:
    return np.array([rows[place.pk].score for place in places], dtype=np.float64)


def _of_translations(target: Target, rows: Mapping[int, SubmittedRow], wish: Wish) -> Document:
    places = [place for place in target.places if place.pk in rows]
    texts = [rows[place.pk].translation or "" for place in places]
    references = [place.reference for place in places]
    if not any(references):
        raise Refused(_("The items of this campaign have no references, so translations cannot be scored."))
    keep = [place.comparable and bool(place.reference) for place in places]
    names = [place.name for place in places]
    bleu = corpus_bleu(texts, references, keep=keep, names=names)
    chrf = corpus_chrf(texts, references, keep=keep, names=names)
    compounds = [place.texts["compound"] for place, kept in zip(places, keep, strict=True) if kept]
    return {
        "split": "all",
        "n": bleu.n,
        "left_out": bleu.left_out,
        "bleu": score_with_interval(bleu, clusters=compounds),
        "chrf": score_with_interval(chrf, clusters=compounds),
        "compound_check": _check(places, texts, wish.lexicon),
        "warnings": list(bleu.warnings),
        "signature": bleu.signature,
    }


def _check(places: Sequence[Place], texts: Sequence[str], lexicon: bytes | None) -> Document | None:
    """What the automatic check finds. Nobody judged these translations, so it is compared with nothing."""
    if lexicon is None:
        return None
    compounds = [place.texts["compound"] for place in places]
    instances = Instances(
        unit=np.array(compounds, dtype=object),
        context=np.array([place.pk for place in places], dtype=np.int64),
        verdict=np.full(len(places), UNDECIDED, dtype=np.int8),
        cannot_judge=np.zeros(len(places), dtype=np.bool_),
        facets={},
    )
    return compound_check(
        instances,
        analyses=[analyse(compound) for compound in compounds],
        translations=list(texts),
        lexicon=read_lexicon(lexicon),
        labels="none",
        seed=0,
    ).as_json()
