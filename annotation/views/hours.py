"""An expert's hours: the statement of what counts, and corrections of it."""

from datetime import date
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.forms.base import OnceForm, PlainInput, Text
from annotation.models import Campaign, Membership, TimeEntry
from annotation.permissions import EXPERT, PersonRequest, members_only
from annotation.services.errors import Refused
from annotation.services.hours import CORRECTION_LIMIT, LINE_CAP, REASON_LENGTH, correct, statement
from annotation.services.sentences import translated

ISO = "%Y-%m-%d"
MINUTES = int(CORRECTION_LIMIT // 60)


class CorrectionForm(OnceForm):
    """Minutes to add to a day, or to take away from it, and why."""

    day = forms.DateField(
        label=gettext_lazy("Day"),
        input_formats=[ISO],  # what a browser's calendar takes and sends, whatever the language
        widget=forms.DateInput(format=ISO, attrs={"type": "date"}),
    )
    minutes = forms.IntegerField(
        label=gettext_lazy("Minutes"),
        min_value=-MINUTES,
        max_value=MINUTES,
        help_text=gettext_lazy("With a minus sign they are taken away."),
    )
    reason = Text(
        label=gettext_lazy("Reason"),
        max_length=REASON_LENGTH,
        help_text=gettext_lazy("Such as “judged on paper for an hour” or “left the page open over lunch”."),
        widget=PlainInput(),
    )

    def __init__(self, data: Any = None, *, campaign: Campaign) -> None:
        today = timezone.localdate()
        super().__init__(data, initial={"day": today})
        first: date = timezone.localdate(campaign.created_at)
        self.fields["day"].widget.attrs |= {"min": first.isoformat(), "max": today.isoformat()}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(EXPERT)
def hours(request: PersonRequest, member: Membership) -> HttpResponse:
    """One's own hours, day by day. Nobody else's are shown to an expert."""
    campaign = member.campaign
    form = CorrectionForm(request.POST if request.method == "POST" else None, campaign=campaign)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            correct(
                campaign,
                request.user,
                seconds=given["minutes"] * 60.0,
                day=given["day"],
                reason=given["reason"],
                client_key=given["client_key"],
            )
        except Refused as refusal:
            form.add_error(None, translated(refusal.message))
        else:
            messages.success(request, _("The correction is part of your hours now."))
            return redirect("hours", campaign.slug)
    found = statement(campaign, request.user)
    context = {
        "campaign": campaign,
        "statement": found,
        "form": form,
        "cap_minutes": int(found.cap // 60),
        "reading_minutes": int(LINE_CAP[TimeEntry.Kind.GUIDELINE] // 60),
        "practice_minutes": int(LINE_CAP[TimeEntry.Kind.PRACTICE] // 60),
    }
    return render(request, "annotation/hours.html", context, status=400 if form.errors else 200)
