"""Coming in and going out, one's own account, the language and the colours of the pages."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.i18n import set_language as django_set_language

from annotation.forms.accounts import ChangePasswordForm, NewPasswordForm, SignInForm, TokenForm
from annotation.models import Invitation
from annotation.permissions import may_create_campaign, signed_in
from annotation.services.access import (
    accept_invitation,
    create_token,
    find_invitation,
    is_open,
    revoke_token,
)
from annotation.services.errors import NotYours
from annotation.services.notice import has_to_read
from annotation.services.people import campaigns_of
from annotation.views.refusals import plain_refusals

page = require_http_methods(["GET", "HEAD", "POST"])

THEMES = ("light", "dark")
THEME_COOKIE = "assay_theme"
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where everybody starts: their campaigns, and what they can do in each."""
    user = signed_in(request).user
    found = campaigns_of(user)
    context = {
        "campaigns": [mine for mine in found if mine.member.campaign.archived_at is None],
        "archived": [mine for mine in found if mine.member.campaign.archived_at is not None],
        "may_create": may_create_campaign(user),
    }
    return render(request, "annotation/home.html", context)


# In and out. Wrong passwords are counted, and the door locked, by django-axes.

sign_in = page(
    LoginView.as_view(
        template_name="annotation/sign_in.html",
        authentication_form=SignInForm,
        redirect_authenticated_user=True,
    )
)
sign_out = require_POST(LogoutView.as_view())


@login_not_required
@sensitive_post_parameters()
@page
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """A personal link: its person sets a password with it and is signed in. Opening it changes nothing."""
    found = find_invitation(token)
    if found is None or not is_open(found):
        return _dead_link(request, found)
    form = NewPasswordForm(found.user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = accept_invitation(token, form.cleaned_data["new_password1"])
        except NotYours:  # the same link was taken up elsewhere since it was looked up
            return _dead_link(request, found)
        login(request, user, backend=MODEL_BACKEND)
        messages.success(request, _("Your password is set. Welcome."))
        return redirect("home")
    response = render(request, "annotation/invitation.html", {"form": form, "person": found.user})
    return _keep_address_private(response)


def _dead_link(request: HttpRequest, found: Invitation | None) -> HttpResponse:
    """One page for every link that does not work; only somebody who held a real one learns that it was real."""
    status = 404 if found is None else 410
    context = {"revoked": found is not None and found.revoked_at is not None}
    return _keep_address_private(render(request, "annotation/invitation_over.html", context, status=status))


def _keep_address_private(response: HttpResponse) -> HttpResponse:
    """The address is a key, so no request tells it. (`no-referrer` would void the form's Origin header.)"""
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


@login_not_required
@require_safe
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin has no sign-in of its own: there is one door, and who passed it and comes here may not go on."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


# One's own account


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Name, password, and the keys of one's programs."""
    return _account_page(request, TokenForm())


@require_POST
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a personal key. The answer to this request is the only place that ever shows it.

    A program may judge in its person's name, so an expert has read what is recorded before, as they do before the
    first unit.
    """
    if has_to_read(signed_in(request).user):
        return redirect(f"{reverse('recorded')}?{urlencode({'next': reverse('account')})}")
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _account_page(request, form)
    token, raw = create_token(signed_in(request).user, form.cleaned_data["name"])
    return _account_page(request, TokenForm(), new_token=token, raw_token=raw)


def _account_page(request: HttpRequest, form: TokenForm, **context: object) -> HttpResponse:
    user = signed_in(request).user
    tokens = user.tokens.order_by(F("revoked_at").desc(nulls_first=True), "-created_at")
    return render(
        request,
        "annotation/account.html",
        {
            "form": form,
            "tokens": tokens,
            "here": reverse("account"),
            "has_to_read": has_to_read(user),
            **context,
        },
    )


@require_POST
@plain_refusals
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """End one of one's own keys."""
    token = revoke_token(signed_in(request).user, pk)
    messages.success(request, _("The token “%(name)s” is revoked.") % {"name": token.name})
    return redirect("account")


@sensitive_post_parameters()
@page
def password_change(request: HttpRequest) -> HttpResponse:
    """A new password; every other sign-in of this person ends with the old one."""
    form = ChangePasswordForm(signed_in(request).user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        update_session_auth_hash(request, form.save())
        messages.success(request, _("Your password is changed; other browsers are signed out."))
        return redirect("account")
    return render(request, "annotation/password_change.html", {"form": form})


# How pages look to this browser; kept in cookies, so that it works before signing in


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponseBase:
    """English or Chinese, from now on."""
    return django_set_language(request)


@login_not_required
@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or (anything else) as the device says."""
    response = redirect(safe_page(request, request.POST.get("next", "")))
    theme = request.POST.get("theme")
    if theme in THEMES:
        response.set_cookie(THEME_COOKIE, theme, **_cookie_options())
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


def _cookie_options() -> dict[str, Any]:
    return {
        "max_age": settings.LANGUAGE_COOKIE_AGE,
        "samesite": "Lax",
        "secure": settings.SESSION_COOKIE_SECURE,
        "httponly": True,
    }


def safe_page(request: HttpRequest, target: str) -> str:
    """Where somebody wants to go on, if that is a page of ours; else the first page."""
    ours = target.startswith("/") and url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if ours else reverse("home")
