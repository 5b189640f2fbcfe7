"""Invitation links for who cannot sign in yet."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.models import Campaign, Invitation, Membership, User
from annotation.services.access import create_invitation
from annotation.services.errors import Refused


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A person's new link, shown this once; or why there is none."""

    member: Membership
    url: str | None = None
    until: datetime | None = None
    why_not: str = ""

    @property
    def name(self) -> str:
        return self.member.user.username


def invite(member: Membership, by: User) -> Offer:
    """A new link; an older unused one ends."""
    invitation, url = create_invitation(member.user, by)
    return Offer(member=member, url=url, until=invitation.expires_at)


def invite_new(campaign: Campaign, users: Iterable[User], by: User) -> list[Offer]:
    """A link for each of these members who has no password, and no link that still waits to be used."""
    members = campaign.memberships.filter(user__in=list(users)).select_related("user").order_by("id")
    waiting = open_invitations(members)
    offers = []
    for member in members:
        if not member.user.is_active or member.user.has_usable_password():
            continue
        if member.user_id in waiting:
            offers.append(Offer(member=member, until=waiting[member.user_id]))
            continue
        try:
            offers.append(invite(member, by))
        except Refused as refusal:
            offers.append(Offer(member=member, why_not=refusal.message))
    return offers


def open_invitations(members: Iterable[Membership]) -> dict[int, datetime]:
    """By person: until when their unused link can be taken up."""
    people = [member.user_id for member in members]
    found = _open().filter(user__in=people)
    return dict(found.order_by("expires_at").values_list("user", "expires_at"))


def is_invited(user: str = "user") -> Exists:
    """Whether the person of a row has an unused link that can be taken up."""
    return Exists(_open().filter(user=OuterRef(user)))


def _open() -> QuerySet[Invitation]:
    return Invitation.objects.filter(
        used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=timezone.now()
    )
