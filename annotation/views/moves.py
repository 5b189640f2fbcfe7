"""Moving open units: who gives, who takes, the moves as they would be, and storing them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from annotation.models import Membership
from annotation.permissions import MANAGER, PersonRequest, members_only
from annotation.protocol.errors import ProtocolError
from annotation.protocol.moves import Moves
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.moves import move_units, open_by_expert, planned_moves
from annotation.services.open_repeats import open_repeats_by_expert
from annotation.services.sentences import translated
from annotation.views.campaign_page import campaign_page


class MovesForm(forms.Form):
    """Whose units move, to whom, and how many."""

    giver = forms.TypedChoiceField(label=gettext_lazy("Whose units move"), coerce=int)
    takers = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Who takes them"), coerce=int, widget=forms.CheckboxSelectMultiple
    )
    n = forms.IntegerField(
        label=gettext_lazy("How many units"),
        min_value=1,
        required=False,
        help_text=gettext_lazy(
            "Those that come up last. Left empty: all that were not begun, for who leaves."
        ),
    )

    def __init__(
        self,
        data: Any,
        *,
        members: Sequence[Membership],
        waiting: Mapping[int, int],
        repeats: Mapping[int, int],
    ) -> None:
        super().__init__(data)
        self.waiting = waiting
        giver, takers = self.fields["giver"], self.fields["takers"]
        assert isinstance(giver, forms.ChoiceField)
        assert isinstance(takers, forms.ChoiceField)
        giver.choices = [
            (member.pk, _left(member.pseudonym, waiting.get(member.pk, 0), repeats.get(member.user_id, 0)))
            for member in members
            if waiting.get(member.pk) or repeats.get(member.user_id)
        ]
        only = giver.choices[0][0] if len(giver.choices) == 1 else None  # nobody takes their own units
        takers.choices = [
            (member.pk, member.pseudonym) for member in members if member.user.is_active and member.pk != only
        ]
        if not takers.choices:
            takers.help_text = _("There is nobody else yet. Add an expert on the page “People” first.")

    def clean(self) -> dict[str, Any]:
        """Units need somebody who takes them; repeats alone are withdrawn, and need nobody."""
        given = super().clean() or {}
        giver = given.get("giver")
        if giver and not self.waiting.get(giver) and self.has_error("takers", "required"):
            del self.errors["takers"]
            given["takers"] = []
        return given


def _left(pseudonym: str, n: int, repeats: int) -> str:
    if not n:
        text = ngettext("%(who)s: %(n)d hidden repeat only", "%(who)s: %(n)d hidden repeats only", repeats)
        return text % {"who": pseudonym, "n": repeats}
    text = ngettext("%(who)s: %(n)d unit not begun", "%(who)s: %(n)d units not begun", n)
    return text % {"who": pseudonym, "n": n}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def moves(request: PersonRequest, member: Membership) -> HttpResponse:
    """Choose; look at the moves, which stores nothing; confirm them by their hash."""
    campaign = member.campaign
    members = list(
        campaign.memberships.filter(role=Membership.Role.EXPERT).select_related("user").order_by("id")
    )
    waiting = open_by_expert(main_round(campaign), members)
    repeats = open_repeats_by_expert(campaign)
    form = MovesForm(
        request.POST if request.method == "POST" else None,
        members=members,
        waiting=waiting,
        repeats=repeats,
    )
    context: dict[str, Any] = {"form": form, "waiting": any(waiting.values()) or bool(repeats)}
    if not form.is_bound:
        return campaign_page(request, member, "annotation/moves.html", context, tab="assign")
    if not form.is_valid():
        return campaign_page(request, member, "annotation/moves.html", context, tab="assign", status=400)
    asked = form.cleaned_data
    confirmed = request.POST.get("hash")
    try:
        if confirmed is not None:
            done = move_units(campaign, **asked, confirmed_hash=confirmed, by=request.user)
            messages.success(request, _moved(done))
            return redirect("campaign", campaign.slug)
        planned = planned_moves(campaign, **asked)
        context |= {"moves": planned, "lines": lines(planned)}
    except (ProtocolError, Refused) as refusal:
        form.add_error(None, translated(refusal.message))
        status = 400 if confirmed is None else 409
        return campaign_page(request, member, "annotation/moves.html", context, tab="assign", status=status)
    return campaign_page(request, member, "annotation/moves.html", context, tab="assign")


@dataclass(frozen=True)
class MovesLine:
    """One of those concerned: units given away (below 0) or taken, and the items they will have."""

    name: str
    change: str
    load: int


def lines(planned: Moves) -> list[MovesLine]:
    """Who gives first, then who takes, in the order they were named."""
    to = Counter(move.to for move in planned.moves)
    changes = {planned.giver: -len(planned.moves), **{taker: to[taker] for taker in planned.takers}}
    return [MovesLine(name, _signed(change), planned.loads[name]) for name, change in changes.items()]


def _signed(change: int) -> str:
    return f"{change:+,d}".replace("-", "−") if change else "0"


def _moved(done: Moves) -> str:
    n = len(done.moves)
    moved = ngettext("%(n)d unit was moved.", "%(n)d units were moved.", n) % {"n": n}
    if not done.repeats:
        return moved
    withdrawn = ngettext(
        "%(n)d hidden repeat was withdrawn.", "%(n)d hidden repeats were withdrawn.", done.repeats
    )
    return " ".join(part for part in (moved if n else "", withdrawn % {"n": done.repeats}) if part)
