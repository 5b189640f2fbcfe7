"""Putting a broken text right, on the page: the corrected text is a new item, and its experts are asked for it.

The same as when a file brings another text under a known key (`import_replace`): answers stay with the text they were
given to, and whoever has answered is asked once more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Gold, ImportBatch, Item, Round, User
from annotation.models.item import in_play
from annotation.services.errors import NotYours, Refused
from annotation.services.import_replace import asked_again, in_open_round, replace_item
from annotation.services.people import audit
from annotation.services.turns import turn

FIXED = "text corrected"
TEXT_LENGTH = 5000
FIELDS = {
    Campaign.Protocol.COMPOUND.value: ("source", "translation"),
    Campaign.Protocol.TRIPLE.value: ("head", "tail"),
}


def texts_of(campaign: Campaign, pk: int) -> tuple[Item, dict[str, str]]:
    """An item with the texts that can be corrected; NotYours where there is none."""
    found = Item.objects.published().filter(in_play(), campaign=campaign, pk=pk)
    item = found.select_related("unit", "context").first()
    if item is None:
        raise NotYours(_("There is no such item in this campaign."))
    return item, _texts(item)


def _texts(item: Item) -> dict[str, str]:
    if item.context is not None:
        return {"source": item.context.source, "translation": item.translation}
    return {"head": item.head, "tail": item.tail}


@dataclass(frozen=True, kw_only=True)
class Consequences:
    """What a correction means for who was given the item: answers that are asked for again, those that are open and go
    on with the new text, and answers of closed rounds, which stay the last word there.
    """

    again: int
    open: int
    closed: int
    gold: bool = False  # what is known of the item beforehand is known of the corrected text from then on

    @property
    def asked(self) -> bool:
        """Whether anybody judges the corrected text."""
        return bool(self.again or self.open)


def consequences(item: Item) -> Consequences:
    """Counted as `import_replace` would do it now; two queries."""
    standing = Assignment.objects.filter(item=item, withdrawn_at__isnull=True).exclude(
        round__kind=Round.Kind.REPEAT
    )
    return Consequences(
        **standing.aggregate(
            again=Count("pk", filter=asked_again()),
            open=Count("pk", filter=in_open_round() & Q(answered_at__isnull=True)),
            closed=Count("pk", filter=~in_open_round() & Q(answered_at__isnull=False)),
        ),
        gold=Gold.objects.filter(item=item).exists(),
    )


def fix_text(campaign: Campaign, pk: int, *, texts: Mapping[str, str], by: User) -> Item:
    """Store the corrected texts; returns the new item.

    Raises NotYours; Refused where nothing differs, a text is empty, or the item's answers are frozen. In rounds that
    are closed nobody is asked; `consequences` says so beforehand.
    """
    with turn(campaign):
        item, stored = texts_of(campaign, pk)
        changed = _changed(stored, texts)
        batch = _batch(campaign, changed, by)
        new = replace_item(batch, item, changed)
        ImportBatch.objects.filter(pk=batch.pk).update(report={"items": batch.items.count(), "corrected": 1})
        audit(
            campaign,
            by,
            FIXED,
            {"position": item.position, "key": item.key}
            | {name: [stored[name], text] for name, text in changed.items()},
        )
    return new


def _changed(stored: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    changed = {name: texts[name] for name in stored if name in texts and texts[name] != stored[name]}
    if not changed:
        raise Refused(_("Nothing differs from the text as it is."))
    for text in changed.values():
        if not text.strip() or "\0" in text or len(text) > TEXT_LENGTH:
            raise Refused(_("Write each text in 1 to %(limit)d characters.") % {"limit": TEXT_LENGTH})
    return changed


def _batch(campaign: Campaign, changed: Mapping[str, str], by: User) -> ImportBatch:
    """What the new item came from: it was typed on the page."""
    now = timezone.now()
    digest = hashlib.sha256("\n".join(changed.values()).encode()).hexdigest()
    return ImportBatch.objects.create(
        campaign=campaign,
        file_name="",
        sha256=digest,
        created_by=by,
        lease_until=now,
        published_at=now,
    )
