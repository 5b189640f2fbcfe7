"""Behind the numbers of reports on triples."""

from collections.abc import Mapping, Sequence

import numpy as np

from annotation.models import Campaign
from scoring.services.behind.number import (
    Behind,
    Number,
    no_such_number,
    no_such_row,
    no_such_table,
    rows_holding,
)
from scoring.services.gather import Labels, labels_of, slot_scores, triples_of
from scoring.services.options import Options
from scoring.stats.composition import PLAUSIBLE, UNLABELLED, LabelledTriples
from scoring.stats.groups import Mask, class_groups, classes, masks, relations

OF_LABELS = ("n", "plausible", "unlabelled")


def behind_statistics(campaign: Campaign, options: Options, number: Number) -> Behind:
    """The labelled triples of a row of Table 1, the plausible ones among them, or those without a label."""
    if number.of not in OF_LABELS:
        no_such_number(number.of, OF_LABELS)
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    rows = {
        "n": triples.label != UNLABELLED,
        "plausible": triples.label == PLAUSIBLE,
        "unlabelled": triples.label == UNLABELLED,
    }[number.of]
    return _chosen(triples, items, labels, rows & _row(triples, number, _tables(triples)))


def behind_human(campaign: Campaign, options: Options, number: Number) -> Behind:
    """The triples of a group that hold a label and a score in every slot, or those left out."""
    if number.of not in ("n", "left-out"):
        no_such_number(number.of, ("n", "left-out"))
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    scores = slot_scores(campaign, items)
    used = (triples.label != UNLABELLED) & ~np.isnan(scores).any(axis=1)
    tables = _tables(triples)
    groups = tables["group"] | tables["class"] | tables["relation"]
    rows = (used if number.of == "n" else ~used) & _row(triples, number, {"group": groups})
    return _chosen(triples, items, labels, rows)


def behind_artifacts(campaign: Campaign, options: Options, number: Number) -> Behind:
    """The labelled triples whose head or tail holds a word, with its case."""
    if number.of != "n":
        no_such_number(number.of, ("n",))
    labels = labels_of(campaign, options.labels)
    triples, items = triples_of(campaign, labels)
    rows = triples.label != UNLABELLED
    if number.by:
        if number.by != "word":
            no_such_table(number.by, ("word",))
        texts = zip(triples.head, triples.tail, strict=True)
        rows = rows & rows_holding(number, [f"{head} {tail}".split() for head, tail in texts])
    return _chosen(triples, items, labels, rows)


def _tables(triples: LabelledTriples) -> dict[str, dict[str, Mask]]:
    splits = ["test" if split == "tst" else split for split in triples.split]
    return {
        "split": masks(splits, ()),
        "group": class_groups(triples.item_class, triples.class_groups),
        "class": classes(triples.item_class, triples.class_groups),
        "relation": relations(triples.relation),
    }


def _row(triples: LabelledTriples, number: Number, tables: Mapping[str, Mapping[str, Mask]]) -> Mask:
    if number.by in ("", "all") or number.value == "all":
        return np.ones(triples.label.size, dtype=np.bool_)
    if number.by not in tables:
        no_such_table(number.by, tables)
    if number.value not in tables[number.by]:
        no_such_row(number)
    return tables[number.by][number.value]


def _chosen(triples: LabelledTriples, items: Sequence[int], source: Labels, rows: Mask) -> Behind:
    found = np.flatnonzero(rows).tolist()
    labels = triples.label[found].tolist()

    def said(place: int) -> list[tuple[str, str]]:
        return [] if labels[place] == UNLABELLED else [("", str(labels[place]))]

    return Behind(
        items=[items[row] for row in found],
        n=len(found),
        unit="triples",
        said=said,
        imported=source.source == "imported",
    )
