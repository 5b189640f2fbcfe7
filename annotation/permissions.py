"""Who may open what. Denied unless said otherwise.

- Every page asks for a sign-in (LoginRequiredMiddleware); public ones say `@login_not_required`.
- Inside a campaign a person may do what their membership says. Without one, or with another role, the campaign
  does not exist for them: 404, never 403, so that an address tells nothing.
- Superusers are no members. They open /admin/, and to work in a campaign they are added to it like anybody,
  which leaves a trace; otherwise an administrator who also judges would see what experts must not see.
"""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.models import Campaign, Guideline, Membership, User

P = ParamSpec("P")

MANAGER = Membership.Role.MANAGER
EXPERT = Membership.Role.EXPERT
VIEWER = Membership.Role.VIEWER
READING = frozenset({"GET", "HEAD", "OPTIONS"})
ARCHIVED = gettext_noop(
    "This campaign is archived and only read. Take it out of the archive first, in its settings."
)


class PersonRequest(HttpRequest):
    """The request of somebody who signed in (for type checkers: `user` is never anonymous).

    `guideline`: on pages that open once a change is acknowledged, the guidelines in force.
    """

    user: User
    guideline: Guideline | None


def membership_for(user: User, slug: str, *roles: Membership.Role) -> Membership:
    """Somebody's place in a campaign, with the campaign loaded; Http404 unless it is one of these roles."""
    if not roles:
        raise ValueError("Name the roles that may pass; there is no default.")
    member = (
        Membership.objects.select_related("campaign")
        .filter(user=user, campaign__slug=slug, role__in=roles)
        .first()
    )
    if member is None:
        raise Http404
    return member


def campaign_for(user: User, slug: str, *roles: Membership.Role) -> Campaign:
    """The campaign of this address; Http404 unless this person has one of these roles in it."""
    return membership_for(user, slug, *roles).campaign


def members_only(
    *roles: Membership.Role,
    archived: bool = False,
) -> Callable[
    [Callable[Concatenate[PersonRequest, Membership, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, str, P], HttpResponseBase],
]:
    """For a view at `campaigns/<slug:slug>/…`: it gets the membership in place of the slug.

    @require_safe
    @members_only(MANAGER, VIEWER)
    def campaign_items(request: PersonRequest, member: Membership) -> HttpResponse: ...

    An archived campaign is only read: what a request would change is refused, but where the view says `archived`.
    """
    if not roles:
        raise ValueError("Name the roles that may pass; there is no default.")

    def decorate(
        view: Callable[Concatenate[PersonRequest, Membership, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, str, P], HttpResponseBase]:
        @wraps(view)
        def checked(request: HttpRequest, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            person = signed_in(request)
            member = membership_for(person.user, slug, *roles)
            if member.campaign.archived_at and request.method not in READING and not archived:
                return refused(request, _(ARCHIVED))
            return view(person, member, *args, **kwargs)

        return checked  # type: ignore[return-value]  # the resolver passes the slug by name

    return decorate


def signed_in(request: HttpRequest) -> PersonRequest:
    """The same request, known to be a person's; Http404 where the sign-in was somehow passed by."""
    if not isinstance(request.user, User):
        raise Http404
    return request  # type: ignore[return-value]


def may_create_campaign(user: User) -> bool:
    """Who runs a campaign may open another; the first one is opened by an administrator or on the command line."""
    return user.is_superuser or Membership.objects.filter(user=user, role=MANAGER).exists()


def refused(request: HttpRequest, message: str) -> HttpResponse:
    """The page of a refusal, with the way back to where it was asked for."""
    return render(request, "refused.html", {"message": message, "back": _asked_at(request)}, status=409)


def _asked_at(request: HttpRequest) -> str:
    """The page of this site from which the request came, where the browser says so."""
    page = request.headers.get("Referer", "")
    here = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if here and page != request.build_absolute_uri() else ""
