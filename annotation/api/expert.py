"""What the addresses of experts have in common: who asks, and their own screens. 404 for everybody else."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request

from annotation.api.authentication import TokenAuthentication
from annotation.api.parameters import person
from annotation.models import Campaign, User
from annotation.permissions import EXPERT, READING, campaign_for
from annotation.services.errors import NotYours, Refused
from annotation.services.notice import refuse_unread
from annotation.services.screens import screen_at


def expert_in(request: Request, slug: str) -> tuple[User, Campaign]:
    """Who asks, and the campaign in which they are an expert; Http404 where they are none.

    Refused where the request would add something to an archived campaign, which is only read; NoticeUnread where a
    program asks for somebody who has not read what is recorded.
    """
    user = person(request)
    campaign = campaign_for(user, slug, EXPERT)
    refuse_for_who_has_not_read(request)
    if campaign.archived_at and request.method not in READING:
        raise Refused(_("This campaign is archived, so it is only read; ask a manager."))
    return user, campaign


def refuse_for_who_has_not_read(request: Request) -> None:
    """Raises NoticeUnread where a program asks for them. The seat's own pages ask for the notice before they open."""
    if isinstance(request.successful_authenticator, TokenAuthentication):
        refuse_unread(person(request))


def own_screen(request: Request, slug: str, position: int) -> dict[str, Any]:
    """One of the caller's own screens by its place in their order; NotYours where there is none."""
    user, campaign = expert_in(request, slug)
    found = screen_at(campaign, expert_id=user.pk, position=position)
    if found is None:
        raise NotYours("There is no such screen among your work.")
    return found
