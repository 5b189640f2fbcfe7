"""Replacing a campaign's wording: looked at first, refused where something in use would vanish, then stored."""

import json
from collections.abc import Sequence
from hashlib import sha256

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from annotation.models import Annotation, Campaign, Item, Part, User
from annotation.protocol.wording import (
    Change,
    Wording,
    WordingError,
    changed_relations,
    changes,
    own_part,
    read_wording,
    unclear_answers,
)
from annotation.services.errors import Refused
from annotation.services.guidelines import store_version
from annotation.services.people import audit
from annotation.services.rounds import latest_guideline
from annotation.services.turns import turn
from annotation.services.wording import wording_of

LISTED = 20  # changed places in the record of what managers did
CHANGED = gettext_lazy("The wording of this campaign is another one: %(places)s.")


def digest_of(wording: Wording) -> str:
    """Tells two wordings apart, so that who changes one is told of a change made meanwhile."""
    return sha256(json.dumps(wording.as_json(), sort_keys=True).encode()).hexdigest()


def preview(campaign: Campaign, document: object) -> tuple[Wording, list[Change]]:
    """The wording that a document describes, and what it would change here; nothing is stored.

    Raises WordingError for what is wrong with the document, Refused where something in use would vanish.
    """
    wording = read_wording(campaign.protocol, document)
    unclear = unclear_answers(wording)
    if unclear:
        raise WordingError(unclear)
    _refuse_vanishing(campaign, wording)
    return wording, changes(wording_of(campaign), wording)


def change_wording(
    campaign: Campaign, document: object, *, base: str, judge_again: bool = False, by: User
) -> list[Change]:
    """Put this wording in the place of the one whose digest is `base`.

    Once parts are given out, experts are told as of any change of the guidelines: the same texts become a new version,
    so that an answer says under which wording it was given. With `judge_again` that version touches the relations that
    are new or say something else.
    """
    with turn(campaign):
        stored = Campaign.objects.get(pk=campaign.pk)
        before = wording_of(stored)
        wording, changed = preview(stored, document)
        if not changed:
            return []
        if digest_of(before) != base:
            raise Refused(
                _(
                    "Somebody else changed the wording meanwhile. Download it again and put your changes into it."
                )
            )
        Campaign.objects.filter(pk=campaign.pk).update(wording=own_part(wording))
        places = [change.place for change in changed]
        audit(campaign, by, "wording changed", {"places": places[:LISTED], "n": len(places)})
        if Part.objects.filter(round__campaign=campaign).exists():
            relations = changed_relations(before, wording) if judge_again else []
            _tell(campaign, places, relations=relations, by=by)
    campaign.refresh_from_db(fields=["wording"])
    return changed


def _tell(campaign: Campaign, places: Sequence[str], *, relations: Sequence[str], by: User) -> None:
    latest = latest_guideline(campaign)
    about = list(dict.fromkeys(".".join(place.split(".")[:2]) for place in places))
    named = ", ".join(about[:LISTED]) + (" …" if len(about) > LISTED else "")
    said = {}
    for language, field in (("en", "change_en"), ("zh-hans", "change_zh")):
        with override(language):
            said[field] = str(CHANGED) % {"places": named}
    store_version(
        campaign,
        texts={"text_en": latest.text_en, "text_zh": latest.text_zh, **said},
        touches={"relations": list(relations)} if relations else {},
        by=by,
    )


def _refuse_vanishing(campaign: Campaign, wording: Wording) -> None:
    """What items or answers name already has to stay."""
    items = Item.objects.filter(campaign=campaign).exclude(relation="").order_by()
    relations = set(items.values_list("relation", flat=True).distinct()) - set(wording.relations)
    if relations and campaign.protocol == Campaign.Protocol.TRIPLE:
        raise Refused(
            _("Items have these relations, so they have to stay: %(names)s.")
            % {"names": ", ".join(sorted(relations))}
        )
    reasons = used_reasons(campaign) - {reason.code for reason in wording.reasons}
    if reasons:
        raise Refused(
            _("Answers name these reasons, so they have to stay: %(names)s.")
            % {"names": ", ".join(sorted(reasons))}
        )


def used_reasons(campaign: Campaign) -> set[str]:
    """The reasons that any answer names."""
    given = Annotation.objects.filter(assignment__round__campaign=campaign).exclude(reasons=[]).order_by()
    return {reason for reasons in given.values_list("reasons", flat=True).distinct() for reason in reasons}
