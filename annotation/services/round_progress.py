"""All rounds of a campaign at a glance: how far each is, who is waited for, and by when. Nothing of any answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Min, Q
from django.urls import reverse
from django.utils import timezone

from annotation.models import JUDGED_UNDER, Annotation, Assignment, Campaign, Membership, Round, User
from annotation.services.errors import NotYours
from annotation.services.people import audit
from annotation.services.rounds import described, round_of


@dataclass(frozen=True, kw_only=True)
class ExpertShare:
    """How far one expert is in a round, in items."""

    member: Membership
    given: int
    answered: int

    @property
    def left(self) -> int:
        return self.given - self.answered

    @property
    def complete(self) -> bool:
        return not self.left


@dataclass(frozen=True, kw_only=True)
class RoundLine:
    """A round and its experts. `began_at`: when work was first given out in it; None where none was. `versions` of the
    guidelines, where they were asked for: of a round that is closed those its answers were given under, of an open one
    the version in force. `batches_closed`: it was given out in batches, and all of them are closed.
    """

    round: Round
    shares: tuple[ExpertShare, ...]
    began_at: datetime | None
    today: date
    versions: tuple[int, ...] = ()
    batches_closed: bool = False

    @property
    def is_open(self) -> bool:
        return self.round.state == Round.State.OPEN

    @property
    def given(self) -> int:
        return sum(share.given for share in self.shares)

    @property
    def answered(self) -> int:
        return sum(share.answered for share in self.shares)

    @property
    def waiting(self) -> list[ExpertShare]:
        """Who has items left in a round that is open."""
        return [share for share in self.shares if share.left] if self.is_open else []

    @property
    def all_judged(self) -> bool:
        """Whether it is open, work was given out in it, and nobody has any left."""
        return self.is_open and bool(self.given) and not self.waiting

    @property
    def late(self) -> bool:
        """Whether the day it was due has passed and somebody is waited for."""
        return bool(self.round.due_on and self.round.due_on < self.today and self.waiting)

    @property
    def day(self) -> int | None:
        """The how-manyeth day of work this is, from 1."""
        return None if self.began_at is None else (self.today - timezone.localdate(self.began_at)).days + 1

    @property
    def work_link(self) -> str:
        """Where its experts go on; for a message to them."""
        return settings.ASSAY_URL + reverse("work", args=[self.round.campaign.slug])


def main_of(lines: Iterable[RoundLine]) -> Round:
    """The main round among all rounds of a campaign."""
    return next(line.round for line in lines if line.round.kind == Round.Kind.MAIN)


def round_lines(
    campaign: Campaign, *, versions: bool = False, members: Iterable[Membership] | None = None
) -> tuple[RoundLine, ...]:
    """Every round in the order in which they were made; three queries, and one over all answers for the versions.

    `members`: everybody in the campaign, where they are known already, with their accounts.
    """
    rounds = list(
        campaign.rounds.select_related("guideline")
        .annotate(
            began_at=Min("designs__created_at"),
            open_batches=Count("designs", filter=Q(designs__closed_at__isnull=True)),
        )
        .order_by("id")
    )
    if members is None:
        members = campaign.memberships.select_related("user").order_by("id")
    by_account = {member.user_id: member for member in members}
    counted = (
        Assignment.objects.filter(round__in=rounds, withdrawn_at__isnull=True)
        .order_by()
        .values_list("round", "expert")
        .annotate(given=Count("pk"), answered=Count("answered_at"))
    )
    shares: dict[int, list[ExpertShare]] = {}
    for round_, expert, given, answered in counted:
        share = ExpertShare(member=by_account[expert], given=given, answered=answered)
        shares.setdefault(round_, []).append(share)
    for found in rounds:
        found.campaign = campaign
    today = timezone.localdate()
    under = _judged_under(campaign) if versions else {}
    return tuple(
        RoundLine(
            round=found,
            shares=_in_order(shares.get(found.pk, ())),
            began_at=found.began_at,
            today=today,
            versions=under.get(found.pk) or (found.guideline.version,),
            batches_closed=found.began_at is not None and not found.open_batches,
        )
        for found in rounds
    )


def _judged_under(campaign: Campaign) -> dict[int, tuple[int, ...]]:
    """By closed round, the versions that its current answers were given under; none where it has none."""
    current = Annotation.objects.filter(
        assignment__round__campaign=campaign,
        assignment__round__state=Round.State.CLOSED,
        assignment__withdrawn_at__isnull=True,
        revision=F("assignment__revision"),
    )
    found: dict[int, list[int]] = {}
    told = current.order_by().values_list("assignment__round", JUDGED_UNDER).distinct()
    for round_, version in told:
        found.setdefault(round_, []).append(version)
    return {
        round_: tuple(sorted(one for one in versions if one is not None))
        for round_, versions in found.items()
    }


def _in_order(shares: Sequence[ExpertShare]) -> tuple[ExpertShare, ...]:
    return tuple(sorted(shares, key=lambda share: share.member.pk))


def line_of(campaign: Campaign, kind: str, number: int) -> RoundLine:
    """One of them; raises NotYours where there is no such round."""
    for line in round_lines(campaign, versions=True):
        if (line.round.kind, line.round.number) == (kind, number):
            return line
    raise NotYours("There is no such round in this campaign.")


def set_due_date(campaign: Campaign, kind: str, number: int, *, due_on: date | None, by: User) -> Round:
    """By when a round should be done; None for no day. Raises NotYours where there is no such round."""
    round_ = round_of(campaign, kind, number)
    if round_ is None:
        raise NotYours("There is no such round in this campaign.")
    with transaction.atomic():
        before = Round.objects.select_for_update().get(pk=round_.pk).due_on
        if before != due_on:
            Round.objects.filter(pk=round_.pk).update(due_on=due_on)
            change = {"before": before and f"{before:%Y-%m-%d}", "after": due_on and f"{due_on:%Y-%m-%d}"}
            audit(campaign, by, "round due date set", {**described(round_), **change})
    round_.due_on = due_on
    return round_
