"""What a submission is scored against: the campaign as it stands, or one of its releases; and which row is which.

A place is what one row of a submission is about: a triple, or a context of a compound. Matching names every row
that is missing, unknown or surplus, and gives nothing where there is one.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.formats.cells import is_blank
from annotation.formats.errors import RowIssue
from annotation.formats.key_columns import text_that_differs
from annotation.formats.keys import ItemKey, compound_key, id_key, triple_key
from annotation.formats.rows import FileRows, in_line_order
from annotation.formats.submissions import SubmittedRow
from annotation.models import Campaign, Context, Item
from annotation.protocol.triple import CLASS_GROUPS
from annotation.protocol.wording import read_wording
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from scoring.models import Release
from scoring.services.gather import Labels, labels_of
from scoring.stats.groups import ClassGroups

CHUNK = 5000


class SubmissionError(Refused):
    """Rows of a submission do not fit what it is scored against; each is named in `issues`."""

    def __init__(self, issues: Sequence[RowIssue]) -> None:
        lines = [issue.line for issue in issues]
        n = lines.count(None) + len(set(lines) - {None})  # of one row several things may be wrong
        super().__init__(
            ngettext(
                "A row does not fit, so nothing was stored: %(first)s",
                "%(n)d rows do not fit, so nothing was stored. The first: %(first)s",
                n,
            )
            % {"n": n, "first": translated(str(issues[0]))}
        )
        self.issues = issues


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One item, or one context, in the order of import. `pk` is the item's, for compounds the context's.

    `key` is the id it was imported with, folded, or "" where it was imported without; `texts` name it otherwise, and
    `shown` is what an export writes under its id.
    """

    pk: int
    number: int  # its row where a file goes by position
    key: str
    shown: str
    texts: Mapping[str, str]
    item_class: str = ""
    split: str = ""
    reference: str = ""
    comparable: bool = True  # False where the judged source differs from the test set's: not in BLEU

    @property
    def name(self) -> str:
        return self.text_key.given

    @property
    def text_key(self) -> ItemKey:
        return _text_key(self.texts)


def _text_key(texts: Mapping[str, str], *, numbered: bool = True) -> ItemKey:
    if "compound" in texts:
        number = int(texts["context_no"]) if numbered else None
        return compound_key(texts["compound"], number, occurrence=1)
    return triple_key(texts["head"], texts["relation"], texts["tail"], occurrence=1)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Everything there is to be scored against. `out` are items that are there and do not count: withdrawn, or set
    aside for a dry run; rows for them are accepted and left aside.
    """

    places: Sequence[Place]
    labels: Labels
    out: Sequence[Place] = ()
    release: Release | None = None
    class_groups: ClassGroups = field(default_factory=lambda: CLASS_GROUPS)

    @property
    def splits(self) -> list[str]:
        return sorted({place.split for place in self.places} - {""})

    def of_split(self, *splits: str) -> list[Place]:
        """The places of these splits, in order; `all` is every place."""
        return [place for place in self.places if "all" in splits or place.split in splits]


def target_of(campaign: Campaign, *, release: Release | None = None, labels: str = "") -> Target:
    """The places and labels of the campaign, or of a release, where both were fixed when it was frozen."""
    if release is not None:
        return _released(release)
    found = (
        labels_of(campaign, labels or None) if campaign.protocol == Campaign.Protocol.TRIPLE else _NO_LABELS
    )
    if campaign.protocol == Campaign.Protocol.TRIPLE:
        return Target(
            places=_triples(campaign),
            labels=found,
            out=_triples_of(_out_of(campaign)),
            class_groups=wording_of(campaign).class_groups,
        )
    return Target(places=_contexts(campaign), labels=found)


# Translations are compared with references, not with labels.
_NO_LABELS = Labels({}, frozenset(), "imported", None, None, None)


def _triples(campaign: Campaign) -> list[Place]:
    return _triples_of(Item.objects.active().filter(campaign=campaign))


def _out_of(campaign: Campaign) -> QuerySet[Item]:
    out = (Item.Retired.WITHDRAWN, Item.Retired.SET_ASIDE)
    return Item.objects.published().filter(campaign=campaign, retired_why__in=out)


def _triples_of(items: QuerySet[Item]) -> list[Place]:
    rows = items.order_by("position").values("pk", "position", "item_class", "split", *_NAMES)
    return [
        _triple(row, number=row["position"], item_class=row["item_class"], split=row["split"])
        for row in rows.iterator(CHUNK)
    ]


_NAMES = ("given_key", "key_folded", "key", "head", "relation", "tail")


def _triple(row: Mapping[str, Any], *, number: int, item_class: str, split: str) -> Place:
    return Place(
        pk=row["pk"],
        number=number,
        key=row["key_folded"] if row["given_key"] else "",
        shown=row["key"],
        texts={name: row[name] for name in ("head", "relation", "tail")},
        item_class=item_class,
        split=split,
    )


def _contexts(campaign: Campaign) -> list[Place]:
    contexts = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    rows = contexts.order_by("unit__position", "pk").values(
        "pk", "given_key", "key_folded", "key", "unit__compound", "number", "reference", "source_differs"
    )
    return [
        Place(
            pk=row["pk"],
            number=number,
            key=row["key_folded"] if row["given_key"] else "",
            shown=row["key"],
            texts={"compound": row["unit__compound"], "context_no": str(row["number"])},
            reference=row["reference"],
            comparable=not row["source_differs"],
        )
        for number, row in enumerate(rows.iterator(CHUNK), start=1)
    ]


def _released(release: Release) -> Target:
    """Texts come from the items, which never change; class, split and label as they were frozen."""
    of_item = {name: F(f"item__{name}") for name in _NAMES}
    rows: list[Mapping[str, Any]] = list(
        release.items.order_by("item__position")
        .values("item_class", "split", "label", pk=F("item"), **of_item)
        .iterator(CHUNK)
    )
    frozen = release.manifest["labels"]
    return Target(
        places=[
            _triple(row, number=number, item_class=row["item_class"], split=row["split"])
            for number, row in enumerate(rows, start=1)
        ],
        labels=Labels(
            {row["pk"]: row["label"] for row in rows if row["label"]},
            frozenset(),
            frozen["source"],
            frozen["rule"],
            frozen["version"],
            frozen["label_version"],
        ),
        out=_triples_of(_out_of(release.campaign).exclude(pk__in=release.items.values("item"))),
        release=release,
        class_groups=read_wording(
            release.campaign.protocol, release.manifest.get("wording", {})
        ).class_groups,
    )


# Matching ----------------------------------------------------------------------------------------------------


@dataclass
class _Matching:
    """Rows found for places, and what does not fit."""

    rows: dict[int, SubmittedRow] = field(default_factory=dict)
    issues: list[RowIssue] = field(default_factory=list)
    not_counted: int = 0  # rows for items that are withdrawn or set aside

    def issue(self, row: SubmittedRow, message: str) -> None:
        self.issues.append(RowIssue(row.line, None, message))

    @property
    def warnings(self) -> list[RowIssue]:
        """One that counts the rows that are left aside."""
        if not self.not_counted:
            return []
        message = ngettext(
            "%(n)d row is of an item that was withdrawn or set aside for a dry run; it was not counted.",
            "%(n)d rows are of items that were withdrawn or set aside for a dry run; they were not counted.",
            self.not_counted,
        ) % {"n": self.not_counted}
        return [RowIssue(None, None, message)]


@dataclass(frozen=True)
class Matched:
    """The row of each place, by the place's `pk`, and what is worth knowing about the others."""

    rows: Mapping[int, SubmittedRow]
    warnings: Sequence[RowIssue]


def match(
    target: Target, file: FileRows[SubmittedRow], *, needed: Sequence[Place], by_position: bool = False
) -> Matched:
    """A row for every needed place, or SubmissionError. Rows for other places of the target may be there too.

    By position, row i is the item at position i of the whole campaign (row i of a release); ids and texts that
    the file repeats are checked. Otherwise by id, else by the texts: a key that stands r times takes its r rows
    in order, or one row for all. Rows for what is withdrawn or set aside are counted in a warning.
    """
    matching = _Matching()
    if file.errors:
        without = [] if by_position else _besides_unusable(target, file, needed, matching)
        raise SubmissionError([*in_line_order([*file.errors, *matching.issues]), *without])
    if by_position:
        _match_by_position(target, file, matching)
    else:
        _match_by_key(target, file, {place.pk for place in needed}, matching)
    missing = [place for place in needed if place.pk not in matching.rows]
    if not matching.issues or not by_position:
        matching.issues += _missing_rows(missing, file.rows)
    if matching.issues:
        raise SubmissionError(matching.issues)
    return Matched(matching.rows, matching.warnings)


def _besides_unusable(
    target: Target, file: FileRows[SubmittedRow], needed: Sequence[Place], matching: _Matching
) -> list[RowIssue]:
    """Notes unknown items where rows cannot be used, as far as these say which item they are about; and what has no row
    at all, where all of them do.
    """
    places = _by_key([*target.places, *target.out])
    _note_unknown(places, file.rows, matching)
    told = {row.key.folded for row in file.rows if row.key is not None}
    first: dict[str, SubmittedRow] = {}
    for row in file.unusable:
        if row.key is not None and row.key.folded not in told:
            first.setdefault(row.key.folded, row)
    _note_unknown(places, [*first.values()], matching)
    if file.nameless or any(row.key is None for row in file.unusable):
        return []
    rows = (*file.rows, *file.unusable)
    named = {place.pk for row in rows if row.key is not None for place in places.get(row.key.folded, ())}
    return _missing_rows([place for place in needed if place.pk not in named], rows)


def _missing_rows(missing: Sequence[Place], rows: Sequence[SubmittedRow]) -> list[RowIssue]:
    by_id = any(row.key is not None and not row.key.derived for row in rows)
    return [RowIssue(None, None, _missing(place, by_id=by_id)) for place in missing]


def _missing(place: Place, *, by_id: bool) -> str:
    """That a place has no row, by the name that the file goes by."""
    values = {"name": place.name, "position": place.number, "id": place.shown}
    if by_id and place.key:
        return _("There is no row for “%(id)s” (“%(name)s”, position %(position)d).") % values
    return _("There is no row for “%(name)s” (position %(position)d).") % values


def _match_by_position(target: Target, file: FileRows[SubmittedRow], matching: _Matching) -> None:
    by_number = {place.number: place for place in target.places}
    n_places = len(by_number) + (0 if target.release else len(target.out))
    if file.n_rows != n_places:
        rows = ngettext("The file has %(n)d row", "The file has %(n)d rows", file.n_rows) % {"n": file.n_rows}
        items = ngettext("there is %(n)d item", "there are %(n)d items", n_places) % {"n": n_places}
        message = _(
            "%(rows)s, and %(items)s: rows can only be matched by position where the numbers are equal."
        ) % {"rows": rows, "items": items}
        matching.issues.append(RowIssue(None, None, message))
        return
    for row in file.rows:
        place = by_number.get(row.number)
        if place is None:
            matching.not_counted += 1
            continue
        difference = _difference(row, place)
        if difference:
            matching.issue(row, difference)
        matching.rows[place.pk] = row


def _difference(row: SubmittedRow, place: Place) -> str | None:
    """What the row says of its item that is not so."""
    if row.key and not row.key.derived and place.key and row.key.folded != place.key:
        return _("“%(key)s” is not the id of the item at position %(position)d.") % {
            "key": row.key.given[:120],
            "position": row.number,
        }
    name = text_that_differs(row.texts, place.texts)
    if name is None:
        return None
    return _("The cell “%(column)s” is not that of the item at position %(position)d.") % {
        "column": name,
        "position": row.number,
    }


def _match_by_key(
    target: Target, file: FileRows[SubmittedRow], needed: set[int], matching: _Matching
) -> None:
    places, out = _by_key(target.places), _by_key(target.out)
    _note_unknown(places.keys() | out.keys(), file.rows, matching)
    rows: dict[str, list[SubmittedRow]] = defaultdict(list)
    for row in file.rows:
        if row.key is None:  # the file has an id column that this row leaves out: the reader said so
            continue
        rows[row.key.folded].append(row)
    for key, same in rows.items():
        if key not in places and key not in out:
            continue
        found = places.get(key, [])
        counted = _counted(target, found, out.get(key, []), same)
        matching.not_counted += len(same) - len(counted)
        if found:
            _take(found, counted, needed, matching)


def _counted(
    target: Target, found: Sequence[Place], out: Sequence[Place], same: Sequence[SubmittedRow]
) -> list[SubmittedRow]:
    """The rows of one key without those of items that do not count; a file with all of them has them in order."""
    if not out:
        return list(same)
    if not found:
        return []
    if target.release is not None or len(same) != len(found) + len(out):
        return list(same)
    in_order = sorted([*found, *out], key=lambda place: place.number)
    pks = {place.pk for place in found}
    return [row for row, place in zip(same, in_order, strict=True) if place.pk in pks]


def _note_unknown(places: Collection[str], rows: Sequence[SubmittedRow], matching: _Matching) -> None:
    for row in rows:
        if row.key is not None and row.key.folded not in places:
            matching.issue(row, _("There is no item “%(name)s” here.") % {"name": row.key.given[:120]})


def _by_key(places: Sequence[Place]) -> dict[str, list[Place]]:
    """Places by id, by their texts, and compounds by themselves: their contexts in order."""
    found: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        names = {
            place.key,
            id_key(place.shown).folded,
            place.text_key.folded,
            _text_key(place.texts, numbered=False).folded,
        }
        for key in names - {""}:
            found[key].append(place)
    return found


def _take(found: list[Place], same: list[SubmittedRow], needed: set[int], matching: _Matching) -> None:
    """The r rows of a key that stands r times, in order; one row for all; or a row for each that is asked for."""
    asked = [place for place in found if place.pk in needed]
    is_prediction = same[0].score is not None
    if len(same) == len(found):
        pairs = zip(found, same, strict=True)
    elif len(same) == 1 and is_prediction:
        pairs = zip(found, same * len(found), strict=True)
    elif len(same) == len(asked):
        pairs = zip(asked, same, strict=True)
    else:
        _miscounted(found, same, matching)
        return
    for place, row in pairs:
        if row.key is not None and not row.key.derived:
            _check_texts(row, row.key, place, matching)
        matching.rows[place.pk] = row


def _check_texts(row: SubmittedRow, key: ItemKey, place: Place, matching: _Matching) -> None:
    """Notes the first text beside an id that is not that of the id's item."""
    filled = {name: text for name, text in row.texts.items() if not is_blank(text)}
    name = text_that_differs(filled, place.texts)
    if name is not None:
        message = _("The cell “%(column)s” is not that of the item “%(key)s”.") % {
            "column": name,
            "key": key.given[:120],
        }
        matching.issue(row, message)


def _miscounted(found: list[Place], same: list[SubmittedRow], matching: _Matching) -> None:
    name, places = found[0].name, len(found)
    for number, row in enumerate(same[places:], start=places + 1):
        message = ngettext(
            "“%(name)s” stands there once, and this is row %(number)d for it; leave this row out.",
            "“%(name)s” stands there %(n)d times, and this is row %(number)d for it; leave this row out.",
            places,
        ) % {"name": name, "n": places, "number": number}
        matching.issue(row, message)
    if len(same) < places:
        message = _(
            "“%(name)s” stands there %(n)d times and has %(rows)d rows; give it %(n)d, or one for all."
        ) % {
            "name": name,
            "n": places,
            "rows": len(same),
        }
        matching.issue(same[-1], message)
    for place, row in zip(found, same, strict=False):  # so that what is surplus is not called missing as well
        matching.rows[place.pk] = row
