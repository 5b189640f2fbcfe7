"""Gold: items whose label is known beforehand, so that judgements can be held against it.

They are ordinary items of their rounds: judged, counted in agreement, labels and error rates like all others, and
marked nowhere for experts. What the experts' answers to them amount to is worked out in `scoring.services.gold`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Campaign, Gold, Item, User
from annotation.models.item import in_play
from annotation.protocol.sentences import Sentence, say
from annotation.services.errors import NotYours, Refused
from annotation.services.judgement_items import ItemJudgements, match_items
from annotation.services.judgement_report import JudgementReport
from annotation.services.people import audit
from annotation.services.turns import turn
from annotation.services.wording import wording_of

NOTE_LENGTH = 500
NOBODY = "gold"  # stands for the author of a file's labels, who is none of the experts
LISTED = 100  # positions named in the record


@dataclass(frozen=True, kw_only=True)
class GoldMark:
    """An item, the label it is known to have, and where that is known from."""

    item: int
    label: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """What became of some marks."""

    added: int
    changed: int
    unchanged: int

    def as_json(self) -> dict[str, int]:
        return {"added": self.added, "changed": self.changed, "unchanged": self.unchanged}


def mark(campaign: Campaign, position: int, *, label: str, note: str, by: User | None) -> Marked:
    """Mark the item at this position; marked already, it gets the new label.

    Raises NotYours, ProtocolError for what is no answer of this campaign, Refused for a note that is too long.
    """
    item = Item.objects.published().filter(in_play(), campaign=campaign, position=position).first()
    if item is None:
        raise NotYours(_("There is no item at position %(position)d.") % {"position": position})
    code = wording_of(campaign).parse_label(label)
    return _store(campaign, [GoldMark(item=item.pk, label=code, note=_checked(note))], by=by)


def mark_file(
    campaign: Campaign, file: FileRows[JudgementRow], *, by: User | None
) -> tuple[JudgementReport, Marked | None]:
    """Mark the items of a table of labels, all or none; without `Marked` the report says what stands against it."""
    report = JudgementReport(file)
    found = match_items(campaign, file, by_position=False, report=report, set_aside=True)
    marks = _marks(found, report)
    if not report.ok:
        return report, None
    return report, _store(campaign, marks, by=by)


def unmark_file(
    campaign: Campaign, file: FileRows[JudgementRow], *, by: User | None
) -> tuple[JudgementReport, int | None]:
    """Take the marks off the items of a table, whatever label it gives them, all or none; returns how many had one.
    Without a number the report says what stands against it.
    """
    report = JudgementReport(file)
    found = match_items(campaign, file, by_position=False, report=report, set_aside=True)
    if not report.ok:
        return report, None
    with transaction.atomic():
        golds = Gold.objects.filter(item__campaign=campaign, item__in={one.item for one in found})
        items = list(golds.values_list("item", flat=True))
        if items:
            golds.filter(item__in=items).delete()
            audit(campaign, by, "gold unmarked", _positions(items))
    return report, len(items)


def _marks(found: Sequence[ItemJudgements], report: JudgementReport) -> list[GoldMark]:
    """One label an item; everything else is reported with its line."""
    marks: dict[int, GoldMark] = {}
    for one in found:
        row = one.rows[-1]
        if not row.label:
            message = say("A gold item needs a label; “cannot judge” is none.")
        elif one.item in marks or len(one.rows) > 1:
            message = say("This item has another row already; give each item one label.")
        elif len(row.note or "") > NOTE_LENGTH:
            message = _too_long()
        else:
            marks[one.item] = GoldMark(item=one.item, label=row.label, note=row.note or "")
            continue
        report.errors.append(RowIssue(row.line, "label", message))
    report.errors.sort(key=lambda issue: issue.line or 0)
    return list(marks.values())


def _checked(note: str) -> str:
    if len(note) > NOTE_LENGTH:
        raise Refused(_too_long())
    return note.strip()


def _too_long() -> Sentence:
    return say("A note on a gold item holds at most {limit} characters.", limit=NOTE_LENGTH)


def _store(campaign: Campaign, marks: Sequence[GoldMark], *, by: User | None) -> Marked:
    with turn(campaign):
        known = {gold.item_id: gold for gold in Gold.objects.filter(item__campaign=campaign)}
        new = [one for one in marks if one.item not in known]
        changed = [
            one
            for one in marks
            if one.item in known and (known[one.item].label, known[one.item].note) != (one.label, one.note)
        ]
        Gold.objects.bulk_create(
            [Gold(item_id=one.item, label=one.label, note=one.note, by=by) for one in new], batch_size=500
        )
        for one in changed:
            known[one.item].label, known[one.item].note, known[one.item].by = one.label, one.note, by
        Gold.objects.bulk_update(
            [known[one.item] for one in changed], ["label", "note", "by"], batch_size=200
        )
        if new or changed:
            items = [one.item for one in (*new, *changed)]
            audit(
                campaign, by, "gold marked", {"added": len(new), "changed": len(changed), **_positions(items)}
            )
    return Marked(added=len(new), changed=len(changed), unchanged=len(marks) - len(new) - len(changed))


def unmark(campaign: Campaign, pk: int, *, by: User | None) -> Item:
    """Take a mark off an item; its answers stay. Raises NotYours."""
    gold = Gold.objects.select_related("item").filter(item__campaign=campaign, item=pk).first()
    if gold is None:
        raise NotYours(_("There is no such gold item in this campaign."))
    with transaction.atomic():
        gone, _by_model = Gold.objects.filter(pk=gold.pk).delete()
        if gone:
            audit(campaign, by, "gold unmarked", _positions([gold.item_id]))
    return gold.item


def _positions(items: Sequence[int]) -> Mapping[str, Any]:
    """Where they stand, for the record; never their labels."""
    found = Item.objects.filter(pk__in=items).order_by("position").values_list("position", flat=True)
    return {"positions": list(found[:LISTED])}


def gold_of(campaign: Campaign, *, after: int = 0, limit: int = 50) -> list[Gold]:
    """Marked items in the order of import, from a position on. One query."""
    found = Gold.objects.filter(item__campaign=campaign, item__position__gt=after)
    return list(found.select_related("item__unit", "item__context").order_by("item__position")[:limit])


def gold_among(items: Collection[int]) -> set[int]:
    """Which of these items are marked; one query, none for none. For managers only."""
    return set(Gold.objects.filter(item__in=items).values_list("item", flat=True)) if items else set()


def gold_count(campaign: Campaign) -> int:
    return Gold.objects.filter(item__campaign=campaign).count()
