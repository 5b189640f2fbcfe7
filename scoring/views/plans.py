"""How much to judge, as a page: a goal is chosen, figures are filled in, what it takes stands below."""

from dataclasses import fields

from django import forms
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import Sentence
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from scoring.forms import PLAN_FORMS
from scoring.services.plans import GOALS, OF, Document, Measured, Wish, measured
from scoring.services.plans import plan as make_plan
from scoring.views.reports import FILES, report_response
from scoring.views.words import PLAN_GOALS


@require_safe
@members_only(MANAGER, VIEWER)
def plan(request: PersonRequest, member: Membership) -> HttpResponse:
    """One of three goals; without figures in the address only the form."""
    campaign = member.campaign
    goal = request.GET.get("goal", GOALS[0])
    if goal not in GOALS:
        raise Http404
    known = measured(campaign)
    asked = set(request.GET) - {"goal"}
    form = PLAN_FORMS[goal](request.GET if asked else None, of=OF[campaign.protocol])
    document: Document | None = None
    if asked and form.is_valid():
        document = _planned(member, goal, form, known)
        if document is not None and request.GET.get("as") in FILES:
            return report_response(campaign, "plan", document, request.GET["as"])
    context = {
        "goals": [(name, PLAN_GOALS[name], name == goal) for name in GOALS],
        "goal": goal,
        "form": form,
        "document": document,
        "known": known,
        "query": request.GET.urlencode(),
    }
    status = 200 if document or not asked else 400
    return campaign_page(request, member, "scoring/plan.html", context, tab="reports", status=status)


def _planned(member: Membership, goal: str, form: forms.Form, known: Measured) -> Document | None:
    names = {one.name for one in fields(Wish)}
    given = {
        name: value for name, value in form.cleaned_data.items() if name in names and value not in (None, "")
    }
    try:
        return make_plan(member.campaign, Wish(goal=goal, **given), known)
    except (Refused, ProtocolError) as refusal:
        said = refusal.message
        form.add_error(None, translated(said) if isinstance(said, Sentence) else _(said))
        return None
