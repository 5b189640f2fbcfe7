"""The guidelines by version: stored, read and acknowledged by those who judge, and what a change touches.

A version is never changed. Storing one moves the open rounds to it; a page that is open goes on under the version it
shows, and its answers say so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import (
    Acknowledgement,
    Campaign,
    Guideline,
    Item,
    Membership,
    Question,
    Round,
    Thread,
    User,
)
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.services.errors import NotYours, Refused
from annotation.services.people import audit
from annotation.services.rejudgement import plan_rejudgement
from annotation.services.rounds import latest_guideline
from annotation.services.seat import guideline_shown
from annotation.services.touches import touched, with_atoms
from annotation.services.turns import turn

LENGTH = 100_000  # code points of a text of the guidelines
CHANGE_LENGTH = 4_000
TEXTS = ("text_en", "text_zh", "change_en", "change_zh")


class Outdated(Refused):
    """Somebody else stored a version meanwhile; `latest` is theirs."""

    def __init__(self, latest: Guideline) -> None:
        super().__init__(
            say(
                "Somebody else has stored version {version} meanwhile. Your text is kept below; look at what they "
                "changed, put it into yours, and save again.",
                version=latest.version,
            )
        )
        self.latest = latest


# Writing


def new_version(
    campaign: Campaign,
    *,
    base: int,
    texts: Mapping[str, str],
    touches: Mapping[str, Any],
    by: User,
    question: int | None = None,
    thread: int | None = None,
) -> Guideline:
    """The next version, written on top of version `base`; the open rounds go on under it.

    A question it comes from is answered, or its answer gets a line; a thread is tied to it. Raises Outdated where
    another version was stored meanwhile, Refused or ProtocolError for texts that cannot be stored. Sent twice, it is
    stored once.
    """
    checked = _checked(texts)
    with turn(campaign):
        latest = latest_guideline(campaign)
        if latest.version != base:
            if _is_this(latest, checked, touches, by=by):
                return latest
            raise Outdated(latest)
        if (latest.text_en, latest.text_zh) == (checked["text_en"], checked["text_zh"]):
            raise Refused(_("Both texts are those of version %(n)d; nothing was changed.") % {"n": base})
        stored = store_version(campaign, texts=checked, touches=touches, by=by)
        if question is not None:
            _answer(campaign, question, stored, by=by)
        if thread is not None:
            of_campaign = Thread.objects.filter(item__in=campaign.items.all())
            tied = of_campaign.filter(pk=thread).update(guideline=stored)
            if not tied:
                raise NotYours(_("There is no such discussion in this campaign."))
    return stored


def store_version(
    campaign: Campaign, *, texts: Mapping[str, str], touches: Mapping[str, Any], by: User
) -> Guideline:
    """Store the texts as the next version and move the open rounds to it; inside the caller's transaction."""
    stored = Guideline.objects.create(
        campaign=campaign,
        version=latest_guideline(campaign).version + 1,
        created_by=by,
        touches=dict(touches),
        **texts,
    )
    Round.objects.filter(campaign=campaign, state=Round.State.OPEN).update(guideline=stored)
    audit(campaign, by, "guidelines changed", {"version": stored.version, "touches": dict(touches)})
    return stored


def _checked(texts: Mapping[str, str]) -> dict[str, str]:
    checked = {name: texts[name].replace("\r\n", "\n").strip() for name in TEXTS}
    for name, text in checked.items():
        limit = CHANGE_LENGTH if name.startswith("change") else LENGTH
        if not text:
            raise ProtocolError(
                _("Write the guidelines, and what is new in them, in both languages: one text is empty.")
            )
        if len(text) > limit:
            raise ProtocolError(_("Write 1 to %(limit)d characters.") % {"limit": limit})
        if "\0" in text:
            raise ProtocolError(_("The text holds U+0000, which cannot be stored."))
    return checked


def _is_this(latest: Guideline, texts: Mapping[str, str], touches: Mapping[str, Any], *, by: User) -> bool:
    return (
        latest.created_by_id == by.pk
        and latest.touches == touches
        and all(getattr(latest, name) == text for name, text in texts.items())
    )


def _answer(campaign: Campaign, pk: int, stored: Guideline, *, by: User) -> None:
    """The one who asked is told that there is a rule now."""
    question = Question.objects.filter(campaign=campaign, pk=pk).first()
    if question is None:
        raise NotYours(_("There is no such question in this campaign."))
    line = _("This is a rule now: see version %(n)d of the guidelines.") % {"n": stored.version}
    Question.objects.filter(pk=pk).update(
        answer=f"{question.answer}\n{line}".strip(),
        answered_by=by,
        answered_at=timezone.now(),
        read_at=None,
    )


# Reading and acknowledging


@dataclass(frozen=True)
class Pending:
    """What somebody has not acknowledged yet: the version in force, and the one they know.

    `changes` are the versions in between, what each says is new in it.
    """

    version: Guideline
    known: Guideline
    changes: tuple[Guideline, ...]


def pending(member: Membership, *, shown: Guideline | None) -> Pending | None:
    """The change an expert has still to acknowledge, where `shown` is in force. No query where there is none.

    Who joined under a version began with it: for them it is no change. The first version is none for anybody.
    """
    if shown is None or not is_news(member, shown):
        return None
    if Acknowledgement.objects.filter(guideline=shown, user=member.user_id).exists():
        return None
    earlier = list(Guideline.objects.filter(campaign=member.campaign_id, version__lte=shown.version))
    read = set(
        Acknowledgement.objects.filter(
            guideline__campaign=member.campaign_id, user=member.user_id
        ).values_list("guideline", flat=True)
    )
    known = [one for one in earlier if one.pk in read or not is_news(member, one)][-1]
    changes = [one for one in earlier if one.version > known.version]
    return Pending(version=shown, known=known, changes=tuple(changes))


def known_guideline(member: Membership, *, shown: Guideline | None) -> Guideline | None:
    """The version an expert's answers stand under unless they say another: the last one they know."""
    waiting = pending(member, shown=shown)
    return waiting.known if waiting else shown


def is_news(member: Membership, guideline: Guideline) -> bool:
    """Whether this version came after the person did."""
    return guideline.version > 1 and guideline.created_at > member.joined_at


def acknowledge(member: Membership, *, version: int) -> None:
    """Remember that this person has read a version, and with it those before. Said twice, it is said once.

    Raises NotYours for a version that is not in force here.
    """
    shown = guideline_shown(member.campaign)
    found = Guideline.objects.filter(campaign=member.campaign_id, version=version).first()
    if found is None or shown is None or found.version > shown.version:
        raise NotYours(_("There is no such version of the guidelines."))
    Acknowledgement.objects.get_or_create(guideline=found, user_id=member.user_id)


# For managers


@dataclass(frozen=True)
class VersionLine:
    """A version; how many of the experts to whom it was news have acknowledged it; how many items it touches."""

    guideline: Guideline
    acknowledged: int
    asked: int
    touched: int


@dataclass(frozen=True)
class GuidelineState:
    """Where a campaign stands with its guidelines: of the latest version, and the items to be judged again."""

    version: int
    acknowledged: int
    asked: int
    rejudge: int


def version_lines(campaign: Campaign) -> list[VersionLine]:
    """Every version, the latest first. Three queries."""
    found = list(campaign.guidelines.order_by("-version"))
    counts = _acknowledged(campaign, found)
    touching = {f"version_{one.version}": one.touches for one in found if one.touches}
    numbers = with_atoms(Item.objects.active().filter(campaign=campaign)).aggregate(
        **{name: Count("pk", filter=touched(touches)) for name, touches in touching.items()}
    )
    return [
        VersionLine(one, *counts[one.pk], touched=numbers.get(f"version_{one.version}", 0)) for one in found
    ]


def guideline_state(campaign: Campaign) -> GuidelineState:
    """The latest version, who has acknowledged it, and how many items a re-judgement opened now would hold.

    Two queries, two more where a version touches items, and five more where some are to be judged again.
    """
    versions = list(campaign.guidelines.order_by("version"))
    latest = versions[-1]
    if latest.version == 1:  # news to nobody, and nothing was judged under an older one
        return GuidelineState(version=1, acknowledged=0, asked=0, rejudge=0)
    acknowledged, asked = _acknowledged(campaign, [latest])[latest.pk]
    return GuidelineState(
        version=latest.version,
        acknowledged=acknowledged,
        asked=asked,
        rejudge=plan_rejudgement(campaign, [one for one in versions if one.touches]).n_items,
    )


def _acknowledged(campaign: Campaign, guidelines: Sequence[Guideline]) -> dict[int, tuple[int, int]]:
    """By version, how many experts acknowledged it or a later one, of how many to whom it is news."""
    read = Acknowledgement.objects.filter(guideline__campaign=campaign, user=OuterRef("user"))
    experts = list(
        campaign.memberships.filter(role=Membership.Role.EXPERT, user__is_active=True).annotate(
            last_read=Subquery(read.order_by("-guideline__version").values("guideline__version")[:1])
        )
    )
    found = {}
    for guideline in guidelines:
        asked = [member for member in experts if is_news(member, guideline)]
        done = sum((member.last_read or 0) >= guideline.version for member in asked)
        found[guideline.pk] = (done, len(asked))
    return found
