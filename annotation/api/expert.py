"""What the addresses of experts have in common: who asks, and their own screens. 404 for everybody else."""

from typing import Any

from rest_framework.request import Request

from annotation.api.parameters import person
from annotation.models import Campaign, User
from annotation.permissions import EXPERT, campaign_for
from annotation.services.errors import NotYours
from annotation.services.screens import screen_at


def expert_in(request: Request, slug: str) -> tuple[User, Campaign]:
    """Who asks, and the campaign in which they are an expert; Http404 where they are none."""
    user = person(request)
    return user, campaign_for(user, slug, EXPERT)


def own_screen(request: Request, slug: str, position: int) -> dict[str, Any]:
    """One of the caller's own screens by its place in their order; NotYours where there is none."""
    user, campaign = expert_in(request, slug)
    found = screen_at(campaign, expert_id=user.pk, position=position)
    if found is None:
        raise NotYours("There is no such screen among your work.")
    return found
