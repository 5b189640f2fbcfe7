"""How people and programs come in: invitations and personal tokens.

The secret itself goes out once, in the return value, and is never stored: the tables hold its sha256, and a
lookup compares hashes, so its time tells nothing about the secret.
"""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Invitation, Token, User
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit, may_administer

INVITATION_DAYS = 14
TOKEN_PREFIX = "assay_"  # lets a secret scanner recognise a token that was committed somewhere
TOKEN_NAME_LENGTH = 100


def hash_secret(raw: str) -> str:
    """What is stored of a secret. Plain sha256 is enough: the secrets are 256 random bits, not passwords."""
    return hashlib.sha256(raw.encode()).hexdigest()


def create_invitation(
    user: User, by: User | None, days: int = INVITATION_DAYS, *, end_older: bool = True
) -> tuple[Invitation, str]:
    """A link with which somebody sets their password, once; their older unused links end, unless told otherwise.

    For a person without a password, and for one who forgot it. `by` is None on the command line.
    """
    if not user.is_active:
        raise Refused(_("This account is closed."))
    if not may_administer(by, user):
        raise Refused(
            _("Only who manages all campaigns of this person, or an administrator, may invite them.")
        )
    raw = secrets.token_urlsafe(32)
    now = timezone.now()
    with transaction.atomic():
        if end_older:
            _end_invitations(user)
        invitation = Invitation.objects.create(
            user=user,
            token_hash=hash_secret(raw),
            created_by=by,
            expires_at=now + timedelta(days=days),
        )
        audit(None, by, "invitation created", {"person": user.username, "days": days})
    return invitation, settings.ASSAY_URL + reverse("invitation", args=[raw])


def _end_invitations(user: User) -> None:
    now = timezone.now()
    open_invitations_of(user).update(expires_at=now)


def open_invitations_of(user: User) -> QuerySet[Invitation]:
    """Their links that can still be taken up."""
    return Invitation.objects.filter(
        user=user, used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=timezone.now()
    )


def revoke_invitations(user: User, by: User | None) -> int:
    """End somebody's unused links; who follows one is told so. Returns how many there were."""
    if not may_administer(by, user):
        raise Refused(_("Only who manages all campaigns of this person may do this."))
    with transaction.atomic():
        ended = open_invitations_of(user).update(revoked_at=timezone.now())
        if ended:
            audit(None, by, "invitation revoked", {"person": user.username})
    return ended


def find_invitation(raw: str) -> Invitation | None:
    """The invitation of a link, whether or not it can still be taken up."""
    return Invitation.objects.select_related("user").filter(token_hash=hash_secret(raw)).first()


def is_open(invitation: Invitation) -> bool:
    """Whether it can still be taken up: unused, not expired, not replaced by a newer one nor revoked, the account
    open.
    """
    waits = invitation.used_at is None and invitation.revoked_at is None
    return waits and invitation.expires_at > timezone.now() and invitation.user.is_active


def accept_invitation(raw: str, password: str) -> User:
    """Set the password and use the link up. Of two who do so at once, exactly one succeeds."""
    encoded = make_password(password)  # slow by design, so outside the transaction
    now = timezone.now()
    with transaction.atomic():
        taken = Invitation.objects.filter(
            token_hash=hash_secret(raw),
            used_at__isnull=True,
            revoked_at__isnull=True,
            expires_at__gt=now,
            user__in=User.objects.filter(is_active=True),
        ).update(used_at=now)
        if taken != 1:
            raise NotYours(_("This link cannot be used any more."))
        user = User.objects.get(invitations__token_hash=hash_secret(raw))
        User.objects.filter(pk=user.pk).update(password=encoded)
        _end_invitations(user)
        audit(None, user, "invitation accepted", {"person": user.username})
    user.password = encoded
    return user


def create_token(user: User, name: str) -> tuple[Token, str]:
    """A personal key for programs. The second value is the key itself; nobody can show it again."""
    name = name.strip()
    if not name or len(name) > TOKEN_NAME_LENGTH:
        raise Refused(_("Give the token a name of 1 to 100 characters, such as the program it is for."))
    raw = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        token = Token.objects.create(user=user, name=name, token_hash=hash_secret(raw))
        audit(None, user, "token created", {"name": name})
    return token, raw


def revoke_token(user: User, pk: int) -> Token:
    """End one of somebody's own tokens; it stays in the list, and repeating this changes nothing."""
    token = Token.objects.filter(user=user, pk=pk).first()
    if token is None:
        raise NotYours(_("There is no such token among yours."))
    now = timezone.now()
    with transaction.atomic():
        if Token.objects.filter(pk=pk, revoked_at__isnull=True).update(revoked_at=now):
            token.revoked_at = now
            audit(None, user, "token revoked", {"name": token.name})
    return token


def token_user(raw: str) -> User | None:
    """Whose token this is; None where it is unknown or revoked or the account is closed. One query, no write."""
    if not raw.startswith(TOKEN_PREFIX):
        return None
    return User.objects.filter(
        is_active=True, tokens__token_hash=hash_secret(raw), tokens__revoked_at__isnull=True
    ).first()
