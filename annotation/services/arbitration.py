"""An arbiter decides the label of one item, in place of what the rule makes of the votes, which stay as they are."""

from collections.abc import Mapping

from django.db import IntegrityError
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Arbitration, Assignment, Campaign, Item, Round, Thread, User
from annotation.services.discussion import checked_text, open_threads
from annotation.services.errors import NotYours, Refused
from annotation.services.frozen import openable_items, still_to_come
from annotation.services.people import audit
from annotation.services.turns import turn

LABELS = ("1", "0")


def arbitrate(campaign: Campaign, item: int, *, label: str, reason: str, by: User) -> Arbitration:
    """Decide an item of a closed batch. Where its answers are all in, that opens it to discussion, so that its experts
    can read why. The final labels follow with the next run of the rule.

    Raises NotYours; ProtocolError without a reason; Refused for what is no label, while answers are still to come, and
    where a decision is in force.
    """
    if label not in LABELS:
        raise Refused(_("Choose the label that is decided."))
    reason = checked_text(reason)
    try:
        with turn(campaign):
            found = _one_of(Item.objects.active(), campaign, item)
            if not _judged(found) or Item.objects.filter(still_to_come(), pk=item).exists():
                raise Refused(
                    _(
                        "Nothing is decided on this item yet: its batch is open, or somebody is still to judge it."
                    )
                )
            if in_force(item) is not None:
                raise Refused(_("A decision on this item is in force; take it back before you decide anew."))
            made = Arbitration.objects.create(item=found, label=label, reason=reason, by=by)
            if not Thread.objects.filter(item=found).exists() and _complete(campaign, item):
                open_threads(campaign, [item], by=by)
            audit(campaign, by, "label decided by an arbiter", _called(found, made))
    except IntegrityError:
        raise Refused(
            _("Somebody else decided on this item meanwhile; look at their decision first.")
        ) from None
    return made


def take_back(campaign: Campaign, item: int, *, by: User) -> Item:
    """From now on the rule decides again, on a withdrawn item once it is restored. Taken back already, nothing
    changes. Raises NotYours.
    """
    with turn(campaign):
        found = _one_of(Item.objects.published(), campaign, item)  # one that was withdrawn since, too
        decision = in_force(item)
        if decision is not None:
            Arbitration.objects.filter(pk=decision.pk).update(taken_back_at=timezone.now())
            audit(campaign, by, "arbiter's decision taken back", _called(found, decision))
    return found


def in_force(item: int) -> Arbitration | None:
    """The decision that stands."""
    return Arbitration.objects.filter(item=item, taken_back_at__isnull=True).first()


def _judged(item: Item) -> bool:
    """Whether it was given to experts in the main round at all."""
    return Assignment.objects.filter(item=item, round__kind=Round.Kind.MAIN).exists()


def _complete(campaign: Campaign, item: int) -> bool:
    return openable_items(campaign).filter(pk=item).exists()


def _one_of(items: QuerySet[Item], campaign: Campaign, pk: int) -> Item:
    found = items.filter(campaign=campaign, pk=pk).first()
    if found is None:
        raise NotYours(_("There is no such item in this campaign."))
    return found


def _called(item: Item, decision: Arbitration) -> Mapping[str, object]:
    return {"item": item.pk, "position": item.position, "decision": decision.pk}
