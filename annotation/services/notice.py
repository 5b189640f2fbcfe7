"""The notice of what is recorded: who has read it, and whom to ask about one's data."""

from collections import defaultdict

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Membership, User
from annotation.services.errors import NoticeUnread


def mark_read(user: User) -> None:
    """Remember that this person has read it; the first time counts."""
    now = timezone.now()
    if User.objects.filter(pk=user.pk, notice_read_at__isnull=True).update(notice_read_at=now):
        user.notice_read_at = now


def has_to_read(user: User) -> bool:
    """Whether it is still to be read by somebody of whom something is recorded; no query for who has read it."""
    if user.notice_read_at is not None:
        return False
    return Membership.objects.filter(user=user, role=Membership.Role.EXPERT).exists()


def refuse_unread(user: User) -> None:
    """Raises NoticeUnread where a program works for somebody who does not know yet what is recorded of it."""
    if user.notice_read_at is None:
        raise NoticeUnread(
            _(
                "Programs work for those who know what is recorded. Sign in, read it and confirm it, here: "
                "%(address)s. Nothing was stored."
            )
            % {"address": settings.ASSAY_URL + reverse("recorded")}
        )


def managers_of(user: User) -> dict[str, list[str]]:
    """The title of each campaign somebody takes part in, with the names of those who manage it."""
    managers = (
        Membership.objects.filter(
            campaign__memberships__user=user, role=Membership.Role.MANAGER, user__is_active=True
        )
        .order_by("campaign__title", "id")
        .values_list("campaign__title", "user__username")
    )
    found: dict[str, list[str]] = defaultdict(list)
    for title, name in managers:
        found[title].append(name)
    return dict(found)
