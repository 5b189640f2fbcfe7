"""One's own data: what is kept, taken along, and erased."""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.formats.writers import content_disposition
from annotation.forms.base import ConfirmWordForm
from annotation.permissions import signed_in
from annotation.services.erasure import erase, what_stays
from annotation.services.errors import Refused
from annotation.services.personal_data import personal_data
from annotation.services.sentences import translated


def data_file(document: Mapping[str, Any], *, name: str) -> HttpResponse:
    """A person's data as a file."""
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    response = HttpResponse(text, content_type="application/json; charset=utf-8")
    response.headers["Content-Disposition"] = content_disposition(f"{name}-data.json")
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def own_data(request: HttpRequest) -> HttpResponse:
    """What is kept about oneself; a POST erases it, after a word of confirmation, and signs out."""
    user = signed_in(request).user
    form = ConfirmWordForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            erase(user, typed=form.cleaned_data["word"], expected=user.username, by=user)
        except Refused as refusal:
            form.add_error("word", translated(refusal.message))
        else:
            logout(request)
            messages.success(request, _("Your name and address are erased. Thank you for your work."))
            return redirect("sign_in")
    context = {"form": form, "stays": what_stays(user)}
    return render(request, "annotation/own_data.html", context, status=400 if form.errors else 200)


@require_safe
def own_data_file(request: HttpRequest) -> HttpResponse:
    """The same as a file."""
    return data_file(personal_data(signed_in(request).user), name="my")
