"""Talking about an item once its independent answers are frozen: threads, comments, decisions, what is unread.

A thread is open to the managers and to those who judged the item on their own, and to nobody else. Experts go by
“Expert 1”, “Expert 2” or by their pseudonyms, as the campaign says; managers see both. Answers of a resolution or a
re-judgement are shown once their round is closed: until then each expert judges again without the other's new answer.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Annotation,
    Arbitration,
    Assignment,
    Campaign,
    Comment,
    Item,
    Membership,
    Round,
    Thread,
    ThreadSeen,
    User,
)
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services.effective import AGAIN
from annotation.services.errors import KeyReused, NotYours, Refused
from annotation.services.frozen import frozen_answers, judged_again, openable_items, still_to_come
from annotation.services.people import audit
from annotation.services.turns import turn

LENGTH = 2000  # code points of a comment and of a decision, counted alike in the browser
SHOWS = ("open", "unread", "resolved", "all")
_MENTION = re.compile(r"@([A-Za-z][0-9]{1,4})(?![A-Za-z0-9])")


# Opening -------------------------------------------------------------------------------------------------------


def open_thread(campaign: Campaign, item: int, *, by: User | None) -> Thread:
    """Open one item to discussion, which freezes its answers for good. Opened already, it stays as it is.

    Raises NotYours; Refused while somebody is still to judge it, or may still change their answer.
    """
    with turn(campaign):
        found = Item.objects.published().filter(campaign=campaign, pk=item)
        if not found.exists():
            raise NotYours(_("There is no such item in this campaign."))
        thread = Thread.objects.filter(item=item).first()
        if thread is not None:
            return thread
        if not openable_items(campaign).filter(pk=item).exists():
            raise Refused(
                _(
                    "This item cannot be discussed yet: its batch or dry run is not closed, an answer is missing, or "
                    "somebody is still to judge it."
                )
            )
        (made,) = open_threads(campaign, [item], by=by)
    return made


def open_threads(campaign: Campaign, items: Sequence[int], *, by: User | None) -> list[Thread]:
    """The same for many that may be opened; runs inside the caller's transaction.

    Their numbers, which experts see in addresses, follow a drawn order: that of the file would tell classes apart.
    """
    new = Item.objects.filter(pk__in=items, thread__isnull=True).values_list("key", "pk", "position")
    drawn = sorted(new, key=lambda row: sha256(f"{campaign.seed}\n{row[0]}\n{row[1]}".encode()).digest())
    made = Thread.objects.bulk_create(Thread(item_id=item, opened_by=by) for _key, item, _position in drawn)
    if drawn:
        positions = sorted(position for *_row, position in drawn)
        audit(campaign, by, "items opened to discussion", {"items": len(drawn), "positions": positions[:100]})
    return made


# Who may see it, and what is unread ----------------------------------------------------------------------------


def discussed_of(items: Sequence[int]) -> int:
    """How many of these items are open to discussion. One query, none for no item."""
    return Thread.objects.filter(item__in=items).count() if items else 0


def threads_for(member: Membership) -> QuerySet[Thread]:
    """The threads that this person may open: a manager all, an expert those of items they judged on their own."""
    threads = Thread.objects.filter(item__campaign=member.campaign_id)
    if member.role == Membership.Role.MANAGER:
        return threads
    if member.role != Membership.Role.EXPERT:
        return threads.none()
    return threads.filter(Exists(frozen_answers().filter(item=OuterRef("item"), expert=member.user_id)))


def thread_for(member: Membership, pk: int) -> Thread:
    """One of them, or NotYours."""
    found = (
        threads_for(member).filter(pk=pk).select_related("item__unit", "item__context", "guideline").first()
    )
    if found is None:
        raise NotYours(_("There is no such discussion among yours."))
    return found


def unread_threads(member: Membership) -> int:
    """How many threads hold something that this person has not read. One query."""
    return int(with_news(member).count())


def with_news(member: Membership) -> QuerySet[Thread]:
    """These threads; none where the campaign is closed, and its discussions with it."""
    if member.campaign.closed_at is not None:
        return Thread.objects.none()
    found: QuerySet[Thread] = _with_news(member).filter(news=True)
    return found


def _with_news(member: Membership) -> Any:
    """`news`: others said something since this person last looked. An expert is also told of a thread that they have
    never looked into, unless it is over, of a decision, and of others' new answers, which are there since `again_at`.

    `over`: nothing of the thread is waited for, though no manager resolved it: its item was judged again, or an arbiter
    decided, or the campaign is closed.
    """
    again = _closed_again().filter(item=OuterRef("item")).exclude(expert=member.user_id)
    again = again.order_by("-round__closed_at")
    seen = ThreadSeen.objects.filter(thread=OuterRef("pk"), user=member.user_id).values("seen_at")[:1]
    threads = threads_for(member).annotate(
        seen_at=Subquery(seen),
        since=Coalesce(Subquery(seen), F("opened_at")),
        again_at=Subquery(again.values("round__closed_at")[:1]),
        judged_again=judged_again("item"),
        decided=Exists(Arbitration.objects.filter(item=OuterRef("item"), taken_back_at__isnull=True)),
    )
    closed = member.campaign.closed_at is not None
    over: Any = Q(judged_again=True) | Q(decided=True)
    threads = threads.annotate(
        over=Value(True) if closed else Case(When(over, then=Value(True)), default=Value(False))
    )
    said = Comment.objects.filter(thread=OuterRef("pk"), at__gt=OuterRef("since")).exclude(
        author=member.user_id
    )
    news: Any = Q(Exists(said))
    if member.role == Membership.Role.EXPERT:
        own = Comment.objects.filter(thread=OuterRef("pk"), author=member.user_id)
        unheard: Any = Q(resolved_at__isnull=False) | ~Exists(own)  # who said something has looked
        never_seen: Any = Q(seen_at__isnull=True, over=False) & unheard
        news |= never_seen | Q(resolved_at__gt=F("seen_at")) | Q(again_at__gt=F("seen_at"))
    return threads.annotate(news=Case(When(news, then=Value(True)), default=Value(False)))


def mark_seen(member: Membership, pk: int, *, until: datetime) -> None:
    """This person has read the thread as it stood at that moment. Said twice, or late, it takes nothing back."""
    thread = thread_for(member, pk)
    until = min(until, timezone.now())
    seen, made = ThreadSeen.objects.get_or_create(
        thread=thread, user_id=member.user_id, defaults={"seen_at": until}
    )
    if not made:
        ThreadSeen.objects.filter(pk=seen.pk, seen_at__lt=until).update(seen_at=until)


# Saying and deciding -------------------------------------------------------------------------------------------


def say(member: Membership, pk: int, *, text: str, client_key: UUID) -> Comment:
    """Say something in a thread. Sent again under its key, it is said once.

    Raises NotYours; ProtocolError for a text that is empty or too long; KeyReused; Refused where it is resolved or the
    campaign is closed.
    """
    thread = thread_for(member, pk)
    text = checked_text(text)
    found = Comment.objects.filter(author=member.user_id, client_key=client_key).first()
    if found is not None:
        if (found.thread_id, found.text) != (thread.pk, text):
            raise KeyReused(_("This client key was used for another comment; use a new key for a new one."))
        return found
    refuse_stopped(member.campaign)
    with transaction.atomic():
        open_now = Thread.objects.select_for_update().filter(pk=thread.pk, resolved_at__isnull=True)
        if not open_now.exists():
            raise Refused(_("This discussion is resolved; a manager can open it again."))
        comment, made = Comment.objects.get_or_create(
            author_id=member.user_id, client_key=client_key, defaults={"thread": thread, "text": text}
        )
        if made:
            comment.mentions.set(_mentioned(member, thread, text))
    return comment


def refuse_stopped(campaign: Campaign) -> None:
    """Refuse to go on talking in a campaign that is closed: nobody is asked to read it any more."""
    if Campaign.objects.filter(pk=campaign.pk, closed_at__isnull=False).exists():
        raise Refused(_("This campaign is closed, and its discussions with it: what was said can be read."))


def checked_text(text: str) -> str:
    """The text as it is stored; a ProtocolError where it is empty or too long."""
    text = text.replace("\r\n", "\n").strip()
    if "\0" in text:
        raise ProtocolError(_("The text holds U+0000, which cannot be stored."))
    if not text or len(text) > LENGTH:
        raise ProtocolError(_("Write 1 to %(limit)d characters.") % {"limit": LENGTH})
    return text


def _mentioned(member: Membership, thread: Thread, text: str) -> list[int]:
    called = {name.upper() for name in _MENTION.findall(text)}
    if not called:
        return []
    names = _names(member, thread.item_id)
    return [user for user, person in names.items() if called & set(person.handles)]


def resolve(member: Membership, pk: int, *, decision: str) -> Thread:
    """Close a thread with what was decided. Raises NotYours, ProtocolError, Refused where it is resolved already."""
    thread = thread_for(member, pk)
    decision = checked_text(decision)
    with transaction.atomic():
        resolved = Thread.objects.filter(pk=thread.pk, resolved_at__isnull=True).update(
            decision=decision, resolved_by=member.user_id, resolved_at=timezone.now()
        )
        if not resolved:
            raise Refused(
                _("Somebody else resolved this discussion meanwhile; look at their decision first.")
            )
        audit(member.campaign, member.user, "discussion resolved", _called(thread))
    return thread


def reopen(member: Membership, pk: int) -> Thread:
    """Go on talking; the decision so far stays as a draft of the next. Open already, it stays as it is.

    Raises NotYours; Refused where the campaign is closed.
    """
    thread = thread_for(member, pk)
    refuse_stopped(member.campaign)
    with transaction.atomic():
        if Thread.objects.filter(pk=thread.pk, resolved_at__isnull=False).update(
            resolved_by=None, resolved_at=None
        ):
            audit(member.campaign, member.user, "discussion opened again", _called(thread))
    return thread


def _called(thread: Thread) -> dict[str, object]:
    return {"thread": thread.pk, "position": thread.item.position}


# Looking -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Person:
    """How somebody is called in a thread, and by which names they can be turned to."""

    name: str
    handles: Sequence[str] = ()

    @property
    def turned_to(self) -> str:
        """The name to turn to them by, and whom it means where they are called otherwise."""
        handle = f"@{self.handles[-1]}"
        if self.handles[-1] == self.name.upper():
            return handle
        return _("%(handle)s for %(name)s") % {"handle": handle, "name": self.name}


@dataclass(frozen=True, kw_only=True)
class Said:
    """An independent answer, or one given again, in the round `again_in`, as the thread shows it."""

    person: Person
    own: bool
    answer: Mapping[str, str] | None  # label by name and detail; None for a cannot judge
    cause: str
    reasons: Sequence[str] = ()
    atoms: Sequence[str] = ()
    note: str = ""
    unsure: bool = False
    again_in: Round | None = None


@dataclass(frozen=True, kw_only=True)
class Remark:
    """A comment as the thread shows it."""

    comment: Comment
    person: Person
    own: bool
    mentions: Sequence[Person]
    to_you: bool
    new: bool


@dataclass(frozen=True, kw_only=True)
class ThreadPage:
    """Everything the page of a thread shows. `seen_to`: the moment of the last thing on it; `judged_again` and `over`
    as a line of the list has them.
    """

    thread: Thread
    independent: Sequence[Said]
    again: Sequence[Said]
    remarks: Sequence[Remark]
    decision: Arbitration | None
    can_turn_to: Sequence[str]
    unread: bool
    judged_again: bool
    over: bool
    seen_to: datetime
    position: int | None = None  # the screen on which this expert judges the item again, now
    resolver: str = ""
    item: Item = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", self.thread.item)

    @property
    def decided(self) -> bool:
        return self.decision is not None


def thread_page(member: Membership, pk: int) -> ThreadPage:
    """One thread. Twelve queries, however much was said. Raises NotYours."""
    thread = thread_for(member, pk)
    names = _names(member, thread.item_id)
    row = _with_news(member).filter(pk=pk).values("news", "seen_at", "again_at", "judged_again", "over").get()
    comments = list(thread.comments.prefetch_related("mentions"))
    resolver = names.get(thread.resolved_by_id or 0)
    return ThreadPage(
        thread=thread,
        independent=_said(member, thread.item, frozen_answers(), names),
        again=_said(member, thread.item, _closed_again(), names),
        remarks=[_remark(member, comment, names, row["seen_at"]) for comment in comments],
        decision=Arbitration.objects.filter(item=thread.item_id, taken_back_at__isnull=True).first(),
        can_turn_to=[
            person.turned_to for user, person in names.items() if person.handles and user != member.user_id
        ],
        unread=row["news"],
        judged_again=row["judged_again"],
        over=row["over"],
        seen_to=max(
            [thread.opened_at, *(comment.at for comment in comments)]
            + [moment for moment in (thread.resolved_at, row["again_at"]) if moment]
        ),
        position=_again_at(member, thread),
        resolver=resolver.name if resolver else "",
    )


def _closed_again() -> QuerySet[Assignment]:
    """What was answered in rounds in which items are judged again, once these are over."""
    over = Q(round__kind__in=AGAIN, round__state=Round.State.CLOSED)
    return Assignment.objects.filter(over, withdrawn_at__isnull=True, answered_at__isnull=False)


def answers_to_decide(member: Membership, item: Item) -> tuple[list[Said], list[Said]]:
    """What an item's experts answered on their own and again, for the manager who decides its label; nothing while
    somebody is still to judge it. Six queries, one where there is nothing to be read.
    """
    if Item.objects.filter(still_to_come(), pk=item.pk).exists():
        return [], []
    names = _names(member, item.pk)
    return _said(member, item, frozen_answers(), names), _said(member, item, _closed_again(), names)


def _again_at(member: Membership, thread: Thread) -> int | None:
    if member.role != Membership.Role.EXPERT:
        return None
    mine = Assignment.objects.filter(
        item=thread.item_id,
        expert=member.user_id,
        round__kind=Round.Kind.RESOLUTION,
        round__state=Round.State.OPEN,
        withdrawn_at__isnull=True,
    )
    return mine.values_list("position", flat=True).first()


def _names(member: Membership, item: int) -> dict[int, Person]:
    """By account, everybody who may come up where the item is talked of. Experts by number, in slot order."""
    campaign = member.campaign
    pseudonyms = dict(campaign.memberships.values_list("user", "pseudonym"))
    managers = campaign.memberships.filter(role=Membership.Role.MANAGER).values_list("user", flat=True)
    names = {user: Person(name=pseudonyms[user], handles=(pseudonyms[user].upper(),)) for user in managers}
    judged = frozen_answers().filter(item=item).order_by("round__kind", "slot", "pk")
    experts = dict.fromkeys(judged.values_list("expert", flat=True))
    shown = campaign.names_in_discussion
    for number, user in enumerate(experts, start=1):
        pseudonym, handle = pseudonyms.get(user, "–"), f"E{number}"
        if shown:
            names[user] = Person(name=pseudonym, handles=(handle, pseudonym.upper()))
            continue
        called = _("Expert %(n)d") % {"n": number}
        if member.role == Membership.Role.MANAGER:
            names[user] = Person(name=f"{called} ({pseudonym})", handles=(pseudonym.upper(), handle))
        else:  # a name that is taken for this one must not tell that it is
            names[user] = Person(name=called, handles=(handle,))
    return names


def _said(
    member: Membership, item: Item, rows: QuerySet[Assignment], names: Mapping[int, Person]
) -> list[Said]:
    found = (
        Annotation.objects.filter(
            assignment__in=rows.filter(item=item.pk), revision=F("assignment__revision")
        )
        .select_related("assignment__round")
        .order_by("assignment__round", "assignment__slot")
    )
    protocol = get_protocol(member.campaign.protocol)
    atoms = [str(atom[1]) for atom in item.unit.atoms or []]
    return [
        Said(
            person=names.get(row.assignment.expert_id, Person(name="–")),
            own=row.assignment.expert_id == member.user_id,
            answer={"label": protocol.answer(row.label).key, "detail": row.detail} if row.label else None,
            cause=row.cannot_judge or row.problem,
            reasons=row.reasons,
            atoms=[atoms[atom] for atom in row.atoms if atom < len(atoms)],
            note=row.note,
            unsure=row.unsure,
            again_in=row.assignment.round if row.assignment.round.kind in AGAIN else None,
        )
        for row in found
    ]


def _remark(
    member: Membership, comment: Comment, names: Mapping[int, Person], seen_at: datetime | None
) -> Remark:
    own = comment.author_id == member.user_id
    mentions = list(comment.mentions.all())
    return Remark(
        comment=comment,
        person=names.get(comment.author_id, Person(name="–")),
        own=own,
        mentions=[names[user.pk] for user in mentions if user.pk in names],
        to_you=any(user.pk == member.user_id for user in mentions),
        new=not own and (seen_at is None or comment.at > seen_at),
    )


@dataclass(frozen=True, kw_only=True)
class ThreadLine:
    """A thread in a list. `decided`: an arbiter decided its item; `judged_again`: its experts have; `over`: one of
    both, or the campaign is closed.
    """

    thread: Thread
    comments: int
    news: bool
    to_you: bool
    decided: bool
    judged_again: bool
    over: bool

    @property
    def item(self) -> Item:
        return self.thread.item


# Which threads each list holds.
_LISTS: dict[str, Any] = {
    "open": Q(resolved_at__isnull=True, over=False),
    "unread": Q(news=True),
    "resolved": ~Q(resolved_at__isnull=True, over=False),
    "all": Q(),
}


def _listed(member: Membership) -> Any:
    threads = _with_news(member)
    if member.campaign.closed_at is not None:
        threads = threads.annotate(news=Value(False))  # as `unread_threads` has it
    return threads


def thread_counts(member: Membership) -> dict[str, int]:
    """By list, how many threads it holds. One query."""
    found: dict[str, int] = _listed(member).aggregate(
        **{show: Count("pk", filter=_LISTS[show]) if _LISTS[show] else Count("pk") for show in SHOWS}
    )
    return found


def thread_lines(member: Membership, *, show: str) -> Any:
    """The threads of a list, those with news first, then the open ones; lines of them by `as_lines`."""
    threads = _listed(member).select_related("item__unit", "item__context").filter(_LISTS[show])
    turned = Comment.objects.filter(thread=OuterRef("pk"), mentions=member.user_id, at__gt=OuterRef("since"))
    return threads.annotate(n_comments=Count("comments", distinct=True), to_you=Exists(turned)).order_by(
        "-to_you", "-news", "over", F("resolved_at").asc(nulls_first=True), "pk"
    )


def as_lines(threads: Sequence[Any]) -> list[ThreadLine]:
    """A page of the list."""
    return [
        ThreadLine(
            thread=thread,
            comments=thread.n_comments,
            news=thread.news,
            to_you=thread.to_you and thread.news,
            decided=thread.decided,
            judged_again=thread.judged_again,
            over=thread.over,
        )
        for thread in threads
    ]
