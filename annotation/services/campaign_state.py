"""A campaign's end, which can be undone: closed, nobody judges any more; archived, it is out of the way and only read.

The rounds that a closing closed bear its very moment, so that opening again opens these and no others.
"""

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import AuditEntry, Campaign, Round, User
from annotation.services.errors import Refused
from annotation.services.people import audit
from annotation.services.seen import seen_since
from annotation.services.turns import turn

CLOSED, REOPENED = "campaign closed", "campaign opened again"
ARCHIVED, UNARCHIVED = "campaign archived", "campaign taken out of the archive"
REASON_LENGTH = 500


def close_campaign(campaign: Campaign, *, reason: str, by: User | None) -> Campaign:
    """Nobody judges in any round from now on; the reason is shown to who was judging. Closed already, it stays so."""
    reason = reason.strip()
    if not reason or len(reason) > REASON_LENGTH:
        raise Refused(
            _("Say in 1 to %(limit)d characters why the campaign is closed; its experts read it.")
            % {"limit": REASON_LENGTH}
        )
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        if stored.closed_at is None:
            now = timezone.now()
            rounds = stored.rounds.filter(state=Round.State.OPEN)
            names = [f"{kind} {number}" for kind, number in rounds.values_list("kind", "number")]
            rounds.update(state=Round.State.CLOSED, closed_at=now)
            Campaign.objects.filter(pk=stored.pk).update(closed_at=now)
            audit(stored, by, CLOSED, {"rounds": names, "reason": reason})
    campaign.refresh_from_db(fields=["closed_at"])
    return campaign


def reopen_campaign(campaign: Campaign, *, by: User | None) -> Campaign:
    """Undo the closing: the rounds it closed can be judged again, under the guidelines in force. Open already, it stays
    so. A round in which items are judged again stays closed if its experts may have seen one another's new answers.
    """
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        if stored.archived_at is not None:
            raise Refused(_("This campaign is archived; take it out of the archive first."))
        if stored.closed_at is not None:
            closed = stored.rounds.filter(state=Round.State.CLOSED, closed_at=stored.closed_at)
            again = closed.filter(kind__in=(Round.Kind.RESOLUTION, Round.Kind.REJUDGEMENT))
            over = [round_.pk for round_ in again if seen_since(round_, stored.closed_at)]
            rounds = closed.exclude(pk__in=over)
            names = [f"{kind} {number}" for kind, number in rounds.values_list("kind", "number")]
            newest = stored.guidelines.order_by("-version")[0]
            rounds.update(state=Round.State.OPEN, closed_at=None, guideline=newest)
            Campaign.objects.filter(pk=stored.pk).update(closed_at=None)
            audit(stored, by, REOPENED, {"rounds": names})
    campaign.refresh_from_db(fields=["closed_at"])
    return campaign


def archive_campaign(campaign: Campaign, *, by: User | None) -> Campaign:
    """Out of the list of campaigns, and only read from now on. Only what is closed can be archived."""
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        if stored.closed_at is None:
            raise Refused(_("Close the campaign first; then it can be archived."))
        if stored.archived_at is None:
            Campaign.objects.filter(pk=stored.pk).update(archived_at=timezone.now())
            audit(stored, by, ARCHIVED)
    campaign.refresh_from_db(fields=["archived_at"])
    return campaign


def unarchive_campaign(campaign: Campaign, *, by: User | None) -> Campaign:
    """Back among the others, still closed."""
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        if stored.archived_at is not None:
            Campaign.objects.filter(pk=stored.pk).update(archived_at=None)
            audit(stored, by, UNARCHIVED)
    campaign.refresh_from_db(fields=["archived_at"])
    return campaign


def refuse_closed(campaign: Campaign) -> None:
    """Refuse to give work out in a campaign that is closed."""
    if Campaign.objects.filter(pk=campaign.pk, closed_at__isnull=False).exists():
        raise Refused(_("This campaign is closed; open it again first, in its settings."))


def closing_reason(campaign: Campaign) -> str:
    """Why it was closed, as its experts read it; "" where it is open."""
    if campaign.closed_at is None:
        return ""
    entry = AuditEntry.objects.filter(campaign=campaign, action=CLOSED).first()
    return str(entry.detail["reason"]) if entry else ""
