"""Reports that need a file from who asks: it is read, measured with, and not kept."""

from dataclasses import replace

from django import forms
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.formats.errors import FormatError
from annotation.models import Membership
from annotation.permissions import MANAGER, VIEWER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page
from scoring.forms import CheckForm, EstimateForm
from scoring.services.measure import Document, Options
from scoring.services.measure import report as measure
from scoring.views.reports import FILES, choice_of, kind_of, report_response

FORMS: dict[str, type[forms.Form]] = {"compound-check": CheckForm, "estimate": EstimateForm}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER, VIEWER)
def check(request: PersonRequest, member: Membership, kind: str) -> HttpResponse:
    """The form, and after it was sent the figures: as a page, or as a file of the format on the button."""
    found = kind_of(member.campaign, kind)
    choice = choice_of(request, member.campaign, kind)
    form = FORMS[kind](request.POST or None, request.FILES or None)
    document: Document | None = None
    if request.method == "POST" and form.is_valid():
        try:
            document = measure(member.campaign, kind, _options(choice.options, form))
        except (Refused, ProtocolError) as refusal:
            form.add_error(None, translated(refusal.message))
        except FormatError as error:
            form.add_error(None, translated(error.sentence))
        else:
            if request.POST.get("as") in FILES:
                return report_response(member.campaign, kind, document, request.POST["as"])
    context = {
        "kind": found,
        "choice": choice,
        "form": form,
        "document": document,
        "body": f"scoring/_{kind.replace('-', '_')}.html",
    }
    status = 200 if request.method != "POST" or document else 400
    return campaign_page(request, member, "scoring/check.html", context, tab="reports", status=status)


def _options(options: Options, form: forms.Form) -> Options:
    data = form.cleaned_data
    judge, lexicon = data.get("judge"), data.get("lexicon")
    return replace(
        options,
        compatible=data["compatible"],
        lexicon=lexicon.read() if lexicon else None,
        judge=judge.read() if judge else None,
        judge_name=judge.name if judge else options.judge_name,
    )
