"""Who takes part: accounts, roles in a campaign, and the record of what was done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.formats.cells import excerpt
from annotation.models import Assignment, AuditEntry, Campaign, Invitation, Membership, Token, User
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_name, hidden_character
from annotation.services.errors import Refused
from annotation.services.open_repeats import withdraw_open_repeats
from annotation.services.turns import turn

LETTERS = {Membership.Role.EXPERT: "A", Membership.Role.MANAGER: "M", Membership.Role.VIEWER: "V"}
NAME_LENGTH = 150
PERSON_REMOVED = "person removed"  # the audit entry
SEPARATORS = ",;，；、"  # between names, where several are typed into one field


def audit(
    campaign: Campaign | None, by: User | None, action: str, detail: Mapping[str, object] | None = None
) -> AuditEntry:
    """Write down who did what. `by` is None on the command line. Never put a password, token or answer here."""
    return AuditEntry.objects.create(campaign=campaign, actor=by, action=action, detail=dict(detail or {}))


def find_or_create_experts(names: Sequence[str], by: User | None) -> list[User]:
    """The accounts of these names, in their order; who has none gets one, without a password.

    Names are compared whatever their case and width. Nobody is created where one name is refused.
    """
    _check_names(names)
    with transaction.atomic():
        return [_find_or_create(name.strip(), by) for name in names]


def without_account(names: Sequence[str]) -> list[str]:
    """Those of the names for which `find_or_create_experts` would make an account. One query."""
    known = User.objects.filter(username_folded__in=[fold_name(name) for name in names])
    folded = set(known.values_list("username_folded", flat=True))
    return [name for name in names if fold_name(name) not in folded]


def check_experts(campaign: Campaign, names: Sequence[str]) -> None:
    """Refuse what giving work to these people would refuse: closed accounts, other roles, names that are none."""
    _check_names(names)
    users = User.objects.filter(username_folded__in=[fold_name(name) for name in names])
    for user in users:
        if not user.is_active:
            raise Refused(why_closed(user))
    for member in Membership.objects.filter(campaign=campaign, user__in=users).select_related("user"):
        same_role(member, Membership.Role.EXPERT)


def _check_names(names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        check_name(name)
        folded = fold_name(name)
        if folded in seen:
            raise Refused(
                _("“%(first)s” and “%(second)s” are one person; name everybody once.")
                % {"first": seen[folded], "second": name}
            )
        seen[folded] = name


CLOSED = "account closed"  # the audit entry


def why_closed(user: User) -> str:
    """That an account is closed; and what opens it, where nobody closed it but its name came with judgements."""
    closed = AuditEntry.objects.filter(action=CLOSED, detail__person=user.username)
    if user.erased_at is not None or user.has_usable_password() or closed.exists():
        return _("The account of “%(name)s” is closed.") % {"name": user.username}
    return _(
        "The account of “%(name)s” is closed: the name came with judgements made elsewhere, and nobody ever signed in "
        "with it. If this is a person who is to judge here, press “Open again” beside the name on the page “People” "
        "of the campaign with these judgements, and invite them; otherwise choose another name."
    ) % {"name": user.username}


def check_name(name: str) -> None:
    """The one rule for names, wherever they come from: pages, commands, files.

    A name can be seen, and can be told from its neighbours in a list; who was called otherwise before stays so.
    """
    folded = fold_name(name)
    if not folded:
        raise Refused(say("A name is empty; give every person a name."))
    if max(len(name.strip()), len(folded)) > NAME_LENGTH:
        raise Refused(
            say("The name “{name}…” is longer than {limit} characters.", name=name[:40], limit=NAME_LENGTH)
        )
    hidden = hidden_character(name.strip())
    if hidden:
        raise Refused(
            say(
                "The name “{name}” holds U+{code}, which cannot be seen; leave it out.",
                name=excerpt(name.strip()),
                code=f"{ord(hidden):04X}",
            )
        )
    separator = next((character for character in name if character in SEPARATORS), None)
    if separator and not User.objects.filter(username_folded=folded).exists():
        raise Refused(
            say(
                "The name “{name}” holds “{separator}”, which stands between names; leave it out.",
                name=name.strip(),
                separator=separator,
            )
        )


def _find_or_create(name: str, by: User | None) -> User:
    try:
        user = User.objects.get_by_natural_key(name)
    except User.DoesNotExist:
        try:
            with transaction.atomic():
                user = User.objects.create_user(name)
        except IntegrityError:  # somebody else created the same person at this moment
            return User.objects.get_by_natural_key(name)
        audit(None, by, "person created", {"person": user.username})
    if not user.is_active:
        raise Refused(why_closed(user))
    return user


def add_member(
    campaign: Campaign, user: User, role: Membership.Role | str, by: User | None = None
) -> Membership:
    """Give somebody their role in a campaign and a pseudonym (A1, A2 … experts; M1 … managers; V1 … viewers).

    Repeated, it gives the membership that is there; another role is refused, for a person has one per campaign.
    """
    role = Membership.Role(role)
    if not user.is_active:
        raise Refused(why_closed(user))
    for _attempt in range(20):  # two at once may draw the same pseudonym: the constraint lets one of them in
        found = campaign.memberships.filter(user=user).first()
        if found is not None:
            return same_role(found, role)
        try:
            with turn(campaign):
                member = Membership.objects.create(
                    campaign=campaign, user=user, role=role, pseudonym=_next_pseudonym(campaign, role)
                )
                audit(
                    campaign,
                    by,
                    "person added",
                    {"pseudonym": member.pseudonym, "role": member.role, "person": user.username},
                )
        except IntegrityError:
            continue
        return member
    raise Refused(_("Many people are being added at this moment; try again."))


def add_person(campaign: Campaign, name: str, role: Membership.Role | str, by: User | None) -> Membership:
    """The same for a name: who has no account yet gets one, unless the role is refused."""
    with transaction.atomic():
        (user,) = find_or_create_experts([name], by)
        return add_member(campaign, user, role, by=by)


def same_role(member: Membership, role: Membership.Role) -> Membership:
    """The membership; refused where its role is another one."""
    if member.role != role:
        raise Refused(
            _("“%(name)s” takes part as %(role)s already; one person has one role in a campaign.")
            % {"name": member.user.username, "role": member.get_role_display()}
        )
    return member


def _next_pseudonym(campaign: Campaign, role: Membership.Role) -> str:
    letter = LETTERS[role]
    names = campaign.memberships.filter(role=role).values_list("pseudonym", flat=True)
    numbers = [int(name[1:]) for name in names if name.startswith(letter) and name[1:].isdecimal()]
    return f"{letter}{max(numbers, default=0) + 1}"


def remove_member(member: Membership, by: User | None) -> None:
    """Take somebody out of a campaign. Who was ever given an item stays: their judgements stand under their name."""
    campaign, user = member.campaign, member.user
    with turn(campaign):
        if not campaign.memberships.filter(pk=member.pk).exists():
            return  # somebody else has done it
        if Assignment.objects.filter(round__campaign=campaign, expert=user).exists():
            raise Refused(
                _(
                    "%(pseudonym)s was given items in this campaign, so the record needs them. "
                    "Move their open units to somebody else, or close the account."
                )
                % {"pseudonym": member.pseudonym}
            )
        if member.role == Membership.Role.MANAGER and not _other_managers(member).exists():
            raise Refused(_("A campaign needs a manager; add another one first."))
        audit(
            campaign,
            by,
            PERSON_REMOVED,
            {"pseudonym": member.pseudonym, "role": member.role, "person": user.username},
        )
        member.delete()


def _other_managers(member: Membership) -> QuerySet[Membership]:
    return Membership.objects.filter(
        campaign=member.campaign, role=Membership.Role.MANAGER, user__is_active=True
    ).exclude(pk=member.pk)


def may_administer(by: User | None, user: User) -> bool:
    """Whether `by` may close this account or open it anew with an invitation.

    An invitation is a key to the account. So one manager may hand it out only where no other campaign's work
    hangs on it, and never for somebody who may open the admin. The command line (None) may do everything.
    """
    if by is None or by.is_superuser:
        return True
    if user.is_staff or user.is_superuser:
        return False
    managed = Membership.objects.filter(user=by, role=Membership.Role.MANAGER).values("campaign")
    theirs = Membership.objects.filter(user=user)
    return theirs.exists() and not theirs.exclude(campaign__in=managed).exists()


def deactivate(user: User, by: User | None) -> None:
    """Close an account: nobody signs in with it any more, its tokens and invitations end, its work stays.

    Hidden repeats that were still to come are withdrawn.
    """
    if by is not None and by.pk == user.pk:
        raise Refused(_("Nobody closes their own account; ask another manager."))
    if not may_administer(by, user):
        raise Refused(_("Only who manages all campaigns of this person may do this."))
    now = timezone.now()
    with transaction.atomic():
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            return
        Token.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now)
        Invitation.objects.filter(user=user, used_at__isnull=True, expires_at__gt=now).update(expires_at=now)
        audit(None, by, CLOSED, {"person": user.username})
        end_repeats(user, by)
    user.is_active = False


def end_repeats(user: User, by: User | None) -> None:
    """Withdraw the hidden repeats that somebody who leaves still had to judge, in all their campaigns."""
    for member in Membership.objects.filter(user=user).select_related("campaign").order_by("campaign"):
        with turn(member.campaign):
            units = withdraw_open_repeats(member.campaign, user.pk)
            if units:
                audit(
                    member.campaign, by, "repeats taken out", {"pseudonym": member.pseudonym, "units": units}
                )


@dataclass(frozen=True, kw_only=True)
class MyCampaign:
    """One person's place in a campaign, and how many items they were given and have judged in all its rounds."""

    member: Membership
    given: int
    answered: int


def campaigns_of(user: User) -> list[MyCampaign]:
    """The campaigns somebody takes part in, the newest first."""
    members = Membership.objects.filter(user=user).select_related("campaign")
    counts = {
        row["round__campaign"]: row
        for row in Assignment.objects.filter(expert=user, withdrawn_at__isnull=True)
        .order_by()
        .values("round__campaign")
        .annotate(given=Count("id"), answered=Count("answered_at"))
    }
    none = {"given": 0, "answered": 0}
    return [
        MyCampaign(
            member=member,
            given=counts.get(member.campaign_id, none)["given"],
            answered=counts.get(member.campaign_id, none)["answered"],
        )
        for member in members.order_by("-campaign__created_at", "-campaign_id")
    ]
