"""Opening a campaign."""

import re
import secrets
import unicodedata
from pathlib import Path

from django.db import IntegrityError, transaction

from annotation.models import Campaign, Guideline, Membership, Round, User
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import say
from annotation.services.errors import OutOfRange, Refused
from annotation.services.people import add_member, audit

GUIDELINES = Path(__file__).resolve().parent.parent / "guidelines"
RESERVED = frozenset({"new"})  # pages of their own
SLUG = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")
TITLE_LENGTH = 200
MAX_SEED = 2**31 - 1
MAX_EXPERTS = 100  # per item


def create_campaign(
    *,
    slug: str,
    protocol: str,
    title: str = "",
    annotators_per_item: int | None = None,
    seed: int | None = None,
    display: str = Campaign.Display.ALONE,
    by: User | None = None,
) -> Campaign:
    """A campaign with its main round and the default guidelines as version 1; `by` becomes its manager.

    `display` is how the translations of a compound are shown (`Campaign.Display`).
    """
    k = get_protocol(protocol).default_k if annotators_per_item is None else annotators_per_item
    _check_new(slug=slug, protocol=protocol, title=title, k=k, seed=seed or 0, display=display)
    try:
        with transaction.atomic():
            campaign = Campaign.objects.create(
                slug=slug,
                title=title.strip() or slug,
                protocol=protocol,
                annotators_per_item=k,
                seed=secrets.randbelow(MAX_SEED) if seed is None else seed,
                display=display,
                created_by=by,
            )
            guideline = Guideline.objects.create(
                campaign=campaign,
                version=1,
                text_en=_default_guideline(protocol, "en"),
                text_zh=_default_guideline(protocol, "zh"),
            )
            Round.objects.create(campaign=campaign, kind=Round.Kind.MAIN, k=k, guideline=guideline)
            if by is not None:
                add_member(campaign, by, Membership.Role.MANAGER, by=by)
            opened = {"protocol": protocol, "k": k, "seed": campaign.seed, "display": display}
            audit(campaign, by, "campaign created", opened)
    except IntegrityError:
        raise Refused(
            say("There is a campaign at “{slug}” already; choose another address.", slug=slug)
        ) from None
    return campaign


def _check_new(*, slug: str, protocol: str, title: str, k: int, seed: int, display: str) -> None:
    if not SLUG.fullmatch(slug) or len(slug) > 80 or slug in RESERVED:
        raise Refused(
            say(
                "“{slug}” cannot be an address: use letters, digits, and single hyphens or underscores "
                "between them, at most 80 characters.",
                slug=slug[:80],
            )
        )
    check_title(title)
    if not 1 <= k <= MAX_EXPERTS:
        raise OutOfRange(
            say("Each item is judged by 1 to {limit} experts; {k} were asked for.", limit=MAX_EXPERTS, k=k)
        )
    check_seed(seed)
    if display not in Campaign.Display.values:
        known = ", ".join(Campaign.Display.values)
        raise Refused(say("“{display}” is no display; there are {known}.", display=display, known=known))
    if display != Campaign.Display.ALONE and protocol != Campaign.Protocol.COMPOUND:
        raise Refused(
            say("Only the translations of compounds can be shown side by side; triples stand alone.")
        )


def check_title(title: str) -> None:
    """Refuse a title that does not stand on one line, or that turns the direction of what stands beside it."""
    if len(title) > TITLE_LENGTH:
        raise Refused(
            say("A title has at most {limit} characters; this one has {n}.", limit=TITLE_LENGTH, n=len(title))
        )
    hidden = next((c for c in title.strip() if unicodedata.bidirectional(c) in _TURNS or _controls(c)), None)
    if hidden:
        raise Refused(
            say("The title holds U+{code}, which cannot be seen; leave it out.", code=f"{ord(hidden):04X}")
        )


# What overrides, embeds or isolates a direction of writing; and the marks that only steer one.
_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def _controls(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") or character in "\u200e\u200f\u061c"


def check_seed(seed: int) -> None:
    """Refuse a seed that cannot be stored beside what was drawn with it."""
    if not 0 <= seed <= MAX_SEED:
        raise OutOfRange(
            say(
                "A seed is a whole number from 0 to {limit}; {seed} was given.",
                limit=f"{MAX_SEED:,}",
                seed=seed,
            )
        )


def _default_guideline(protocol: str, language: str) -> str:
    return (GUIDELINES / f"{protocol}.{language}.md").read_text(encoding="utf-8")


def main_round(campaign: Campaign) -> Round:
    """The round in which every item gets its independent answers."""
    return campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
