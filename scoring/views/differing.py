"""The triples that two submitted runs call differently, fifty a page, with their labels: nothing for submitters."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from annotation.models import Campaign, Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals
from scoring.services import comparing_predictions
from scoring.services.measure import wanted_predictions
from scoring.views.reports import choice_of
from scoring.views.words import PREDICTIONS_COMPARED

AT_ONCE = 50
SIDES = ("a", "b")


@require_safe
@plain_refusals
@members_only(MANAGER, VIEWER)
def differing_triples(request: PersonRequest, member: Membership) -> HttpResponse:
    """Where one of two runs is right and the other wrong: all of it, in one group, or where one of them is wrong."""
    campaign = member.campaign
    if campaign.protocol != Campaign.Protocol.TRIPLE:
        raise Http404
    choice = choice_of(request, campaign, PREDICTIONS_COMPARED.name)
    group, wrong = request.GET.get("group", "all"), request.GET.get("wrong", "")
    found = comparing_predictions.differing_triples(campaign, wanted_predictions(choice.options), group=group)
    if wrong not in ("", *SIDES):
        raise Http404
    triples = [
        {**text, **triple, "said": str(triple["label"])}
        for triple, text in zip(found["triples"], found["texts"], strict=True)
    ]
    of_side = {side: [one for one in triples if one["wrong"] == found[side]] for side in SIDES}
    here = {"group": group, "wrong": wrong}
    context: dict[str, Any] = {
        "kind": PREDICTIONS_COMPARED,
        "found": found,
        "group": group,
        "wrong": wrong,
        "n_wrong": {side: len(triples) for side, triples in of_side.items()},
        "page": Paginator(of_side.get(wrong, triples), AT_ONCE).get_page(request.GET.get("page")),
        "compared": choice.query,
        "choice": {"query": f"{choice.query}&{urlencode(here)}"},
    }
    return campaign_page(request, member, "scoring/differing_triples.html", context, tab="reports")
