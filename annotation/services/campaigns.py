"""Opening a campaign."""

import re
import secrets
from pathlib import Path

from django.db import IntegrityError, transaction

from annotation.models import Campaign, Guideline, Membership, Round, User
from annotation.protocol.base import get_protocol
from annotation.services.errors import Refused
from annotation.services.people import add_member, audit

GUIDELINES = Path(__file__).resolve().parent.parent / "guidelines"
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def create_campaign(
    *,
    slug: str,
    protocol: str,
    title: str = "",
    annotators_per_item: int | None = None,
    seed: int | None = None,
    by: User | None = None,
) -> Campaign:
    """A campaign with its main round and the default guidelines as version 1; `by` becomes its manager."""
    rules = get_protocol(protocol)
    k = rules.default_k if annotators_per_item is None else annotators_per_item
    if not SLUG.fullmatch(slug) or len(slug) > 80:
        raise Refused(
            f"“{slug}” cannot be an address: use small letters, digits and single hyphens, at most 80 characters."
        )
    if k < 1:
        raise Refused(f"At least one expert judges each item; {k} was asked for.")
    try:
        with transaction.atomic():
            campaign = Campaign.objects.create(
                slug=slug,
                title=title.strip() or slug,
                protocol=protocol,
                annotators_per_item=k,
                seed=secrets.randbelow(2**31) if seed is None else seed,
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
            audit(campaign, by, "campaign created", {"protocol": protocol, "k": k, "seed": campaign.seed})
    except IntegrityError:
        raise Refused(f"There is a campaign at “{slug}” already; choose another address.") from None
    return campaign


def _default_guideline(protocol: str, language: str) -> str:
    return (GUIDELINES / f"{protocol}.{language}.md").read_text(encoding="utf-8")


def main_round(campaign: Campaign) -> Round:
    """The round in which every item gets its independent answers."""
    return campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
