"""Draws of hidden repeats as they stand: how much was given to whom, how much is judged; and one taken out."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Campaign, Membership, Round, User
from annotation.services.errors import NotYours
from annotation.services.people import audit
from annotation.services.rounds import FIRST_DRAWN, described
from annotation.services.turns import turn


@dataclass(frozen=True, kw_only=True)
class DrawLine:
    """One expert's repeats in a draw, in units: those that are still to come and those judged."""

    member: Membership
    given: int
    answered: int


@dataclass(frozen=True, kw_only=True)
class Draw:
    """A draw as it stands."""

    round: Round
    lines: tuple[DrawLine, ...]

    @property
    def given(self) -> int:
        return sum(line.given for line in self.lines)

    @property
    def answered(self) -> int:
        return sum(line.answered for line in self.lines)


def draws_of(campaign: Campaign) -> list[Draw]:
    """Every draw, the latest first. Three queries."""
    members = {member.user_id: member for member in campaign.memberships.all()}
    rows = (
        Assignment.objects.filter(round__in=drawn_rounds(campaign), withdrawn_at__isnull=True)
        .order_by()
        .values("round", "expert")
        .annotate(
            given=Count("unit", distinct=True),
            open=Count("unit", filter=Q(answered_at__isnull=True), distinct=True),
        )
    )
    lines: dict[int, list[DrawLine]] = defaultdict(list)
    for row in rows:
        if row["expert"] in members:
            lines[row["round"]].append(
                DrawLine(
                    member=members[row["expert"]], given=row["given"], answered=row["given"] - row["open"]
                )
            )
    return [
        Draw(round=round_, lines=tuple(sorted(lines[round_.pk], key=lambda line: line.member.pk)))
        for round_ in drawn_rounds(campaign).order_by("-number")
    ]


def drawn_rounds(campaign: Campaign) -> QuerySet[Round]:
    """Rounds of repeats that were drawn here, not imported."""
    return campaign.rounds.filter(kind=Round.Kind.REPEAT, number__gte=FIRST_DRAWN)


def last_draw(campaign: Campaign) -> int:
    """The number of the last draw there was, 0 without one."""
    return drawn_rounds(campaign).aggregate(last=Max("number"))["last"] or 0


def take_out(campaign: Campaign, number: int, *, by: User | None) -> int:
    """Withdraw the repeats of a draw that are not judged yet; returns how many units. What was judged stays."""
    round_ = drawn_rounds(campaign).filter(number=number).first()
    if round_ is None:
        raise NotYours(_("There is no such draw in this campaign."))
    with turn(campaign):
        rows = round_.assignments.filter(answered_at__isnull=True, withdrawn_at__isnull=True)
        units = rows.values("expert", "unit").distinct().count()
        if units:
            rows.update(withdrawn_at=timezone.now())
            audit(campaign, by, "repeats taken out", {**described(round_), "units": units})
    return units
