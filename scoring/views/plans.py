"""How much to judge, as a page: a goal is chosen, figures are filled in, what it takes stands below."""

from dataclasses import dataclass, fields

from django import forms
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from scoring.forms.plans import PLAN_FORMS
from scoring.services.measured import Measured, measured, measured_and_noted
from scoring.services.plans import GOALS, MEASURED, OF, Document, Wish
from scoring.services.plans import plan as make_plan
from scoring.templatetags.figures import with_sign
from scoring.views.reports import FILES, report_response
from scoring.views.words import LABEL_SOURCES, MEASURES, PLAN_FIGURES, PLAN_GOALS, PLAN_SOURCES, Text


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def plan(request: PersonRequest, member: Membership) -> HttpResponse:
    """One of three goals; without figures in the address only the form.

    While answers are open, reading takes nothing from them; POST does, and is written down.
    """
    campaign, asked_for = member.campaign, request.POST if request.method == "POST" else request.GET
    goal = asked_for.get("goal", GOALS[0])
    if goal not in GOALS:
        raise Http404
    peeking = request.method == "POST"
    known = measured_and_noted(campaign, by=request.user) if peeking else measured(campaign)
    asked = set(asked_for) - {"goal", "csrfmiddlewaretoken"}
    form = PLAN_FORMS[goal](asked_for if asked else None, of=OF[campaign.protocol])
    document: Document | None = None
    if asked and form.is_valid():
        document = _planned(member, goal, form, known)
        if document is not None and asked_for.get("as") in FILES:
            return report_response(campaign, "plan", document, asked_for["as"])
    context = {
        "goals": [(name, PLAN_GOALS[name], name == goal) for name in GOALS],
        "goal": goal,
        "form": form,
        "document": document,
        "rests_on": rests_on(document, known) if document else [],
        "known": known,
        "labels": LABEL_SOURCES.get(known.labels or "", ""),
        "spreads": spreads_of(known),
        "query": request.GET.urlencode(),
        "peeking": peeking,
        "again": [(name, asked_for[name]) for name in asked | {"goal"} if name in asked_for],
    }
    status = 200 if document or not asked else 400
    return campaign_page(request, member, "scoring/plan.html", context, tab="reports", status=status)


@dataclass(frozen=True)
class Ground:
    """One figure that a plan rests on, in words, and where it came from: `labels`, if it was measured on them."""

    title: Text
    value: str
    source: str
    word: Text
    labels: Text


ON_LABELS = frozenset({"rate", "share"})
IN_PERCENT = frozenset({"rate", "share", "auc", "other_auc", "level"})
IN_POINTS = frozenset({"spread", "run_spread"})  # as shares; the spread between seeds is in points already


def rests_on(document: Document, known: Measured) -> list[Ground]:
    """Everything the plan rests on, in the order of the document; nothing for a spot check."""
    return [
        Ground(
            PLAN_FIGURES.get(name, name),
            _shown(name, value),
            document["sources"][name],
            PLAN_SOURCES[document["sources"][name]],
            LABEL_SOURCES.get(known.labels or "", "")
            if name in ON_LABELS and document["sources"][name] == MEASURED
            else "",
        )
        for name, value in document.get("assumed", {}).items()
    ]


def _shown(name: str, value: float) -> str:
    if name in IN_PERCENT:
        return with_sign(f"{100 * value:.4g}")
    return f"{100 * value if name in IN_POINTS else value:.4g}"


def spreads_of(known: Measured) -> list[tuple[Text, Text, float]]:
    """What was measured between systems and runs: its name, of which figure, and so many points."""
    found = {"spread": known.spread, "run_spread": known.run_spread, "seed_sd": known.seed_sd}
    return [
        (PLAN_FIGURES[name], MEASURES.get(of, of), value)
        for name, by_figure in found.items()
        for of, value in by_figure.items()
        if value is not None
    ]


def _planned(member: Membership, goal: str, form: forms.Form, known: Measured) -> Document | None:
    names = {one.name for one in fields(Wish)}
    given = {
        name: value for name, value in form.cleaned_data.items() if name in names and value not in (None, "")
    }
    try:
        return make_plan(member.campaign, Wish(goal=goal, **given), known)
    except (Refused, ProtocolError) as refusal:
        form.add_error(None, translated(refusal.message))
        return None
