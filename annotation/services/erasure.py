"""Erasing a person: name, address, password and every key go; the work stays under the pseudonym. It cannot be undone.

What goes: the name (the account is called “erased-<number>” from then on), the email, the password, tokens,
invitations, the log of sign-ins, the reasons of their hour corrections, and the name wherever a record of the site has
it (who did what, plans of who judges what). What stays: judgements, notes, questions, comments, hours and guideline
acknowledgements, since labels, decisions and pay rest on them. Texts that people wrote are not searched for names: a
name can be an everyday word, and answers are never rewritten.
"""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from axes.models import AccessAttempt, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    AuditEntry,
    Campaign,
    Comment,
    Design,
    Invitation,
    Membership,
    Question,
    Round,
    TimeEntry,
    Token,
    User,
)
from annotation.protocol.text import fold_name
from annotation.services.errors import Refused
from annotation.services.named_records import with_names
from annotation.services.people import audit, end_repeats, may_administer
from annotation.services.turns import turn
from annotation.services.uploads import forget_uploads

ERASED = "person erased"
NO_REASON = "–"


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """What would stay of a person: how much, for who is asked whether they mean it."""

    answers: int
    questions: int
    comments: int
    campaigns: int


def what_stays(user: User) -> Erasure:
    """Four small queries."""
    return Erasure(
        answers=user.assignments.filter(answered_at__isnull=False).count(),
        questions=Question.objects.filter(asked_by=user).count(),
        comments=Comment.objects.filter(author=user).count(),
        campaigns=Membership.objects.filter(user=user).count(),
    )


def erase(user: User, *, typed: str, expected: str, by: User | None) -> str:
    """Erase this person for good; returns what the account is called now. Erased already, it stays so.

    `typed` has to be `expected`, which the page shows: the pseudonym to managers, the name to oneself. Raises Refused
    for another word, for who may not, and for the last manager of a campaign.
    """
    if fold_name(typed) != fold_name(expected):
        raise Refused(_("Type “%(word)s” to confirm; nothing was erased.") % {"word": expected})
    myself = by is not None and by.pk == user.pk
    if not (myself or may_administer(by, user)):
        raise Refused(_("Only who manages all campaigns of this person may do this."))
    with transaction.atomic(), ExitStack() as turns:
        stored = User.objects.select_for_update().get(pk=user.pk)
        if stored.erased_at is not None:
            return stored.username
        campaigns = list(Campaign.objects.filter(memberships__user=stored).order_by("pk"))
        for campaign in campaigns:
            turns.enter_context(turn(campaign))
        _refuse_last_manager(stored)
        old, new = stored.username_folded, _neutral_name(stored)
        name = stored.username
        now = timezone.now()
        User.objects.filter(pk=stored.pk).update(
            username=new,
            username_folded=fold_name(new),
            email="",
            password=make_password(None),
            is_active=False,
            is_staff=False,
            is_superuser=False,
            last_login=None,
            erased_at=now,
        )
        end_repeats(stored, None if myself else by)
        Token.objects.filter(user=stored).delete()
        Invitation.objects.filter(user=stored).delete()
        TimeEntry.objects.filter(user=stored).exclude(reason="").update(reason=NO_REASON)
        _rename_in_records(stored, old, new)
        forget_uploads([campaign.pk for campaign in campaigns])
        for attempts in (AccessAttempt, AccessLog):
            attempts.objects.filter(username__iexact=name).delete()
        accounts = ContentType.objects.filter(model="user")
        of_account = LogEntry.objects.filter(content_type__in=accounts, object_id=str(stored.pk))
        of_account.update(object_repr=new)
        for member in Membership.objects.filter(user=stored).select_related("campaign"):
            audit(member.campaign, None if myself else by, ERASED, {"pseudonym": member.pseudonym})
    user.refresh_from_db()
    return new


def _refuse_last_manager(user: User) -> None:
    mine = Membership.objects.filter(user=user, role=Membership.Role.MANAGER)
    others = Membership.objects.filter(role=Membership.Role.MANAGER, user__is_active=True).exclude(user=user)
    alone = mine.exclude(campaign__in=others.values("campaign")).select_related("campaign").first()
    if alone is not None:
        raise Refused(
            _("“%(campaign)s” would be left without a manager; add another one first.")
            % {"campaign": alone.campaign.title}
        )


def _neutral_name(user: User) -> str:
    """A name that tells nothing; with more of a number where somebody happens to be called so."""
    name, more = f"erased-{user.pk}", 1
    while User.objects.filter(username_folded=fold_name(name)).exclude(pk=user.pk).exists():
        more += 1
        name = f"erased-{user.pk}-{more}"
    return name


def _rename_in_records(user: User, old: str, new: str) -> None:
    """In what managers did and in the plans of who judges what. A plan keeps its hash, which names nobody."""
    campaigns = Membership.objects.filter(user=user).values("campaign")
    as_a_word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")

    def renamed(record: Any) -> Any:
        named = with_names(record, lambda name: new if fold_name(name) == old else name)
        if isinstance(named, dict):  # a file, or a token, may be called after them
            held = {key for key in ("file", "name") if as_a_word.search(fold_name(str(named.get(key, ""))))}
            named |= dict.fromkeys(held, NO_REASON)
        return named

    for entry in AuditEntry.objects.filter(Q(campaign__in=campaigns) | Q(campaign__isnull=True)).iterator():
        detail = renamed(entry.detail)
        if detail != entry.detail:
            AuditEntry.objects.filter(pk=entry.pk).update(detail=detail)
    for design in Design.objects.filter(round__campaign__in=campaigns):
        plan = renamed(design.plan)
        if plan != design.plan:
            Design.objects.filter(pk=design.pk).update(plan=plan)
    for round_ in Round.objects.filter(campaign__in=campaigns):
        settings, outcome = renamed(round_.settings), renamed(round_.outcome)
        if (settings, outcome) != (round_.settings, round_.outcome):
            Round.objects.filter(pk=round_.pk).update(settings=settings, outcome=outcome)
