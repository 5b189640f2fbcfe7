"""Who may see the board of a campaign and send something in.

- Managers always; nothing is hidden from them.
- Viewers see it, and submit once a manager lets them.
- Experts never: to them it does not exist, since how well a system does says something about others' labels.
- Somebody who is no member only where a manager opened the board to every account.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpRequest, HttpResponseBase

from annotation.models import Campaign, Membership, User
from annotation.permissions import EXPERT, MANAGER, PersonRequest, signed_in
from scoring.models import Board

P = ParamSpec("P")

CLOSED = Board.Audience.CLOSED


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """Somebody before a campaign's board."""

    user: User
    campaign: Campaign
    member: Membership | None
    board: Board

    @property
    def manages(self) -> bool:
        return self.member is not None and self.member.role == MANAGER

    @property
    def may_submit(self) -> bool:
        opened = self.manages or self.board.audience != CLOSED
        return opened and self.campaign.archived_at is None


def submitter_for(user: User, slug: str) -> Submitter:
    """This person before the board of this campaign; Http404 where it is not for them."""
    campaign = Campaign.objects.filter(slug=slug).first()
    if campaign is None:
        raise Http404
    member = Membership.objects.select_related("campaign").filter(user=user, campaign=campaign).first()
    board = Board.objects.filter(campaign=campaign).first() or Board(campaign=campaign)
    outside = member is None and board.audience != Board.Audience.ACCOUNTS
    if outside or (member is not None and member.role == EXPERT):
        raise Http404
    return Submitter(user=user, campaign=campaign, member=member, board=board)


def may_send_in(member: Membership) -> bool:
    """Whether a manager or viewer may send to the campaign's benchmarks: viewers where its board lets them submit."""
    if member.campaign.archived_at is not None:
        return False
    opened = Board.objects.filter(campaign=member.campaign).exclude(audience=CLOSED)
    return member.role == MANAGER or opened.exists()


def submitters_only(
    view: Callable[Concatenate[PersonRequest, Submitter, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, str, P], HttpResponseBase]:
    """For a view at `campaigns/<slug:slug>/…`: it gets who stands before the board in place of the slug."""

    @wraps(view)
    def checked(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        person = signed_in(request)
        return view(person, submitter_for(person.user, slug), *args, **kwargs)

    return checked  # type: ignore[return-value]  # the resolver passes the slug by name
