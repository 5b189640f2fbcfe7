"""A campaign's own wording: download what holds, send back a changed file, look at the difference, confirm."""

import json
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.protocol.wording import WordingError
from annotation.services import wording_change as service
from annotation.services.errors import Refused
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.views.campaign_page import campaign_page
from annotation.views.refusals import plain_refusals

LARGEST = 512 * 1024  # bytes
PROBLEMS = 20  # shown of one file


class WordingForm(forms.Form):
    """A file of wording."""

    file = forms.FileField(
        label=gettext_lazy("Changed file"),
        help_text=gettext_lazy("JSON in UTF-8, at most 512 KB, as it was downloaded here."),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
    )

    def clean_file(self) -> Any:
        """The document in the file."""
        content = self.cleaned_data["file"].read(LARGEST + 1)
        if len(content) > LARGEST:
            raise forms.ValidationError(_("This file is larger than 512 KB."))
        try:
            return _document(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise forms.ValidationError(_("This file is not JSON in UTF-8.")) from None


def _document(text: str) -> Any:
    """Keys that stand twice are refused: the last would win unseen."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        place = f"{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise forms.ValidationError(
            _("This is not JSON that can be read (%(place)s)."), params={"place": place[:80]}
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(_("“%(name)s” stands twice") % {"name": twice[:40]})
    return found


def _no_number(name: str) -> Any:
    raise ValueError(name)


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def wording(request: PersonRequest, member: Membership) -> HttpResponse:
    """The wording that holds; a file that was sent is compared with it, and nothing is stored."""
    campaign = member.campaign
    sent = request.method == "POST"
    form = WordingForm(request.POST if sent else None, request.FILES if sent else None)
    context: dict[str, Any] = {"form": form, "wording": wording_of(campaign), "own": bool(campaign.wording)}
    if sent and form.is_valid():
        document = form.cleaned_data["file"]
        try:
            _wording, changes = service.preview(campaign, document)
        except WordingError as wrong:
            context["problems"] = [translated(problem) for problem in wrong.problems[:PROBLEMS]]
            context["more"] = max(0, len(wrong.problems) - PROBLEMS)
        except (Refused, ProtocolError) as refusal:
            context["problems"] = [translated(refusal.message)]
        else:
            context |= {
                "changes": changes,
                "document": json.dumps(document, ensure_ascii=False),
                "base": service.digest_of(wording_of(campaign)),
            }
    wrong_file = bool(form.errors or context.get("problems"))
    return campaign_page(
        request,
        member,
        "annotation/wording.html",
        context,
        tab="guidelines",
        status=400 if wrong_file else 200,
    )


@require_safe
@members_only(MANAGER)
def wording_file(request: PersonRequest, member: Membership) -> HttpResponse:
    """All of the present wording, the protocol's own texts too, to be changed and sent back."""
    campaign = member.campaign
    content = json.dumps(wording_of(campaign).as_json(), ensure_ascii=False, indent=2) + "\n"
    headers = {"Content-Disposition": f'attachment; filename="{campaign.slug}-wording.json"'}
    return HttpResponse(content, content_type="application/json; charset=utf-8", headers=headers)


@require_POST
@plain_refusals
@members_only(MANAGER)
def wording_confirm(request: PersonRequest, member: Membership) -> HttpResponse:
    """Store what was shown."""
    campaign = member.campaign
    try:
        document = _document(request.POST.get("document", ""))
    except forms.ValidationError as wrong:
        raise Refused(wrong.messages[0]) from None
    changes = service.change_wording(
        campaign,
        document,
        base=request.POST.get("base", ""),
        judge_again="judge_again" in request.POST,
        by=request.user,
    )
    messages.success(
        request, _("The new wording holds from now on.") if changes else _("Nothing was changed.")
    )
    return redirect("wording", campaign.slug)
