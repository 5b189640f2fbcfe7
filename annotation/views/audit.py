"""What was done in a campaign: looked up, and taken along."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from annotation.formats.writers import CONTENT_TYPES, content_disposition, write_table
from annotation.forms.base import DayField
from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.services.audit_trail import COLUMNS, Wanted, actions_of, export_rows, trail
from annotation.services.people import audit as write_down
from annotation.services.snapshot import snapshot
from annotation.templatetags.audit import action_word
from annotation.views.campaign_page import campaign_page


class AuditFilterForm(forms.Form):
    """Whose actions, which, and of which day."""

    person = forms.TypedChoiceField(label=_("Person"), required=False, coerce=int, empty_value=None)
    action = forms.ChoiceField(label=_("Action"), required=False)
    day = DayField(label=_("Day"), required=False)
    before = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def __init__(self, data: Any, *, member: Membership) -> None:
        super().__init__(data)
        campaign = member.campaign
        people = campaign.memberships.order_by("id").values_list("pk", "pseudonym")
        actions = sorted((action_word(action), action) for action in actions_of(campaign))
        for name, choices in (
            ("person", [(str(pk), pseudonym) for pk, pseudonym in people]),
            ("action", [(action, words) for words, action in actions]),
        ):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", _("all")), *choices]

    def wanted(self) -> Wanted:
        """What was asked for; everything where it cannot be understood."""
        if not self.is_valid():
            return Wanted()
        data = self.cleaned_data
        return Wanted(member=data["person"], action=data["action"], day=data["day"])

    def address(self, **more: object) -> str:
        """The same search, further on."""
        kept = {name: self.data.get(name, "") for name in ("person", "action", "day")}
        return "?" + urlencode({name: value for name, value in {**kept, **more}.items() if value})


@require_safe
@members_only(MANAGER)
def audit(request: PersonRequest, member: Membership) -> HttpResponse:
    """Fifty entries a page, the latest first; people under their pseudonyms."""
    return _audit_page(request, member)


@require_POST
@members_only(MANAGER, archived=True)
def audit_names(request: PersonRequest, member: Membership) -> HttpResponse:
    """The same page with names, this once; asking for them is written down."""
    write_down(member.campaign, request.user, "names shown", {"page": "audit"})
    return _audit_page(request, member, names=True)


def _audit_page(request: PersonRequest, member: Membership, *, names: bool = False) -> HttpResponse:
    form = AuditFilterForm(request.GET, member=member)
    wanted = form.wanted()
    valid = form.is_valid()
    before = form.cleaned_data["before"] if valid else None
    found = trail(member.campaign, wanted, before=before, names=names)
    context = {
        "form": form,
        "trail": found,
        "names": names,
        "filtered": wanted != Wanted(),
        "first_page": form.address() if before else None,
        "next": form.address(before=found.next_before) if found.next_before else None,
        "query": form.address(),
    }
    return campaign_page(
        request, member, "annotation/audit.html", context, tab="audit", status=200 if valid else 400
    )


@require_safe
@members_only(MANAGER)
def audit_export(request: PersonRequest, member: Membership, format: str) -> HttpResponseBase:  # noqa: A002
    """What was asked for as a file, row by row; people under their pseudonyms."""
    wanted = AuditFilterForm(request.GET, member=member).wanted()

    def rows() -> Any:
        with snapshot():
            yield from export_rows(member.campaign, wanted)

    response = StreamingHttpResponse(write_table(format, COLUMNS, rows()), content_type=CONTENT_TYPES[format])
    response.headers["Content-Disposition"] = content_disposition(f"{member.campaign.slug}-audit.{format}")
    return response
