"""The guidelines by version: what changed, read and acknowledged by experts, written by managers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.base import PlainInput, Text
from annotation.models import Campaign, Guideline, Item, Membership, Question, Thread
from annotation.permissions import EXPERT, MANAGER, PersonRequest, members_only
from annotation.protocol.difference import Line, difference
from annotation.protocol.errors import ProtocolError
from annotation.services import guidelines as service
from annotation.services.errors import NotYours, Refused
from annotation.services.rounds import latest_guideline
from annotation.services.seat import guideline_shown
from annotation.services.sentences import translated
from annotation.services.subjects import Subjects, subjects_of
from annotation.services.touches import positions_in, touched_items
from annotation.views.accounts import safe_page
from annotation.views.campaign_page import campaign_page

P = ParamSpec("P")
MemberView = Callable[Concatenate[PersonRequest, Membership, P], HttpResponseBase]

TAB = "guidelines"


@dataclass(frozen=True)
class Differences:
    """What changed from one version to another, in the language of the page and in the other one."""

    here: tuple[Line, ...]
    other: tuple[Line, ...]
    here_is_chinese: bool


def differences(before: Guideline, after: Guideline) -> Differences:
    """Both texts compared, the one in the language of the page first."""
    english = difference(before.text_en, after.text_en)
    chinese = difference(before.text_zh, after.text_zh)
    if (get_language() or "").startswith("zh"):
        return Differences(here=chinese, other=english, here_is_chinese=True)
    return Differences(here=english, other=chinese, here_is_chinese=False)


# Experts


def after_change(view: MemberView[P]) -> MemberView[P]:
    """A page that opens once its person has acknowledged the guidelines in force; below `members_only`.

    Only pages wait: what a script or a program asks, and a form that was filled in under the version before, is
    answered. A page finds the guidelines in force as `request.guideline`.
    """

    @wraps(view)
    def checked(
        request: PersonRequest, member: Membership, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        asks_for_page = request.method in ("GET", "HEAD") and request.accepts("text/html")
        request.guideline = guideline_shown(member.campaign) if asks_for_page else None
        if service.pending(member, shown=request.guideline):
            address = reverse("guideline_change", args=[member.campaign.slug])
            return redirect(f"{address}?{urlencode({'next': request.get_full_path()})}")
        return view(request, member, *args, **kwargs)

    return checked


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(EXPERT)
def guideline_change(request: PersonRequest, member: Membership) -> HttpResponse:
    """What is new in the guidelines; posted to, it remembers that this person has read it."""
    campaign = member.campaign
    if request.method == "POST":
        version = request.POST.get("version", "")
        try:
            service.acknowledge(member, version=int(version) if _is_number(version) else 0)
        except NotYours:
            raise Http404 from None
        return redirect(_onward(request, campaign, request.POST.get("next", "")))
    onward = _onward(request, campaign, request.GET.get("next", ""))
    waiting = service.pending(member, shown=guideline_shown(campaign))
    if waiting is None:
        return redirect(onward)
    context = {
        "campaign": campaign,
        "pending": waiting,
        "differences": differences(waiting.known, waiting.version),
        "next": onward,
    }
    return render(request, "annotation/guideline_change.html", context)


def _onward(request: HttpRequest, campaign: Campaign, address: str) -> str:
    return safe_page(request, address) if address else reverse("work", args=[campaign.slug])


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


# Managers


@require_safe
@members_only(MANAGER)
def guideline_versions(request: PersonRequest, member: Membership) -> HttpResponse:
    """Every version, and with `?from=…&to=…` what changed between two of them."""
    lines = service.version_lines(member.campaign)
    by_number = {line.guideline.version: line.guideline for line in lines}
    newest = lines[0].guideline
    after = by_number.get(_number(request, "to"), newest)
    before = by_number.get(_number(request, "from"), by_number.get(after.version - 1))
    context = {
        "lines": lines,
        "newest": newest,
        "before": before,
        "after": after,
        "differences": differences(before, after) if before else None,
    }
    return campaign_page(request, member, "annotation/guideline_versions.html", context, tab=TAB)


def _number(request: HttpRequest, name: str) -> int:
    raw = request.GET.get(name, "")
    return int(raw) if _is_number(raw) else 0


class GuidelineForm(forms.Form):
    """The next version in both languages, and what is new in it."""

    text_en = Text(
        label=gettext_lazy("Guidelines, English"),
        max_length=service.LENGTH,
        help_text=gettext_lazy("Markdown. HTML in it is shown as it is typed."),
        widget=forms.Textarea(attrs={"rows": 18, "lang": "en", "spellcheck": "true"}),
    )
    text_zh = Text(
        label=gettext_lazy("Guidelines, Chinese"),
        max_length=service.LENGTH,
        widget=forms.Textarea(attrs={"rows": 18, "lang": "zh-Hans"}),
    )
    change_en = Text(
        label=gettext_lazy("What is new, English"),
        max_length=service.CHANGE_LENGTH,
        help_text=gettext_lazy("One or two sentences, and why. Experts read them above the difference."),
        widget=forms.Textarea(attrs={"rows": 3, "lang": "en"}),
    )
    change_zh = Text(
        label=gettext_lazy("What is new, Chinese"),
        max_length=service.CHANGE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "zh-Hans"}),
    )


class TouchesForm(forms.Form):
    """Which items a change touches: they can be judged again by it. Left empty, none."""

    relations = forms.MultipleChoiceField(
        label=gettext_lazy("Relations"), required=False, widget=forms.CheckboxSelectMultiple
    )
    patterns = forms.MultipleChoiceField(
        label=gettext_lazy("Patterns"), required=False, widget=forms.CheckboxSelectMultiple
    )
    atoms = forms.CharField(
        label=gettext_lazy("Atoms"),
        required=False,
        max_length=2000,
        help_text=gettext_lazy("With commas between them, such as: the, he liked."),
        widget=PlainInput({"lang": "en"}),
    )
    items = forms.CharField(
        label=gettext_lazy("Positions of single items"),
        required=False,
        max_length=10_000,
        help_text=gettext_lazy("Such as: 3, 7, 12-15."),
        widget=PlainInput(),
    )

    def __init__(self, data: Any = None, *, subjects: Subjects) -> None:
        super().__init__(data)
        self.subjects = subjects
        for name in ("relations", "patterns"):
            names = getattr(subjects, name)
            field = self.fields[name]
            if isinstance(field, forms.MultipleChoiceField):
                field.choices = [(one, one) for one in names]
            if not names:
                del self.fields[name]
        if not subjects.atoms:
            del self.fields["atoms"]

    def clean_atoms(self) -> list[str]:
        """The atoms by name; one that no compound holds is a slip."""
        named = [atom.strip().casefold() for atom in self.cleaned_data["atoms"].replace("，", ",").split(",")]
        found = list(dict.fromkeys(atom for atom in named if atom))
        unknown = [atom for atom in found if atom not in self.subjects.atoms]
        if unknown:
            raise forms.ValidationError(
                _("No compound holds the atom “%(name)s”."), params={"name": unknown[0]}
            )
        return found

    def clean_items(self) -> list[int]:
        """The positions, ranges written out."""
        try:
            return positions_in(self.cleaned_data["items"])
        except Refused as refusal:
            raise forms.ValidationError(translated(refusal.message)) from None

    def touches(self) -> dict[str, Any]:
        """What was named, without what is empty."""
        return {name: value for name, value in self.cleaned_data.items() if value}


@require_http_methods(["GET", "HEAD", "POST"])
@members_only(MANAGER)
def guideline_new(request: PersonRequest, member: Membership) -> HttpResponse:
    """The form for the next version. `?question=…` and `?thread=…` name what it comes from."""
    page = _NewPage(request, member)
    return page.post() if request.method == "POST" else page.shown()


class _NewPage:
    """One request for the form: what it holds, and what became of it."""

    def __init__(self, request: PersonRequest, member: Membership) -> None:
        self.request, self.member, self.campaign = request, member, member.campaign
        self.question = _of_campaign(Question, request, "question", campaign=self.campaign)
        self.thread = _of_campaign(Thread, request, "thread", item__campaign=self.campaign)
        self.latest = latest_guideline(self.campaign)
        sent = request.POST if request.method == "POST" else None
        typed = _texts(self.latest) if sent is None else {name: sent.get(name, "") for name in service.TEXTS}
        self.saving = sent is not None and sent.get("action") != "count"
        self.form = GuidelineForm(sent if self.saving else None, initial=typed)
        self.touching = TouchesForm(sent, subjects=subjects_of(self.campaign))

    def post(self) -> HttpResponse:
        touches_ok = self.touching.is_valid()
        if not self.saving:
            n = touched_items(self.campaign, self.touching.touches()).count() if touches_ok else None
            return self.shown(n=n, base=self._base(), status=200 if touches_ok else 400)
        if not (self.form.is_valid() and touches_ok):
            return self.shown(base=self._base(), status=400)
        try:
            stored = service.new_version(
                self.campaign,
                base=self._base(),
                texts=self.form.cleaned_data,
                touches=self.touching.touches(),
                by=self.request.user,
                question=self.question and self.question.pk,
                thread=self.thread and self.thread.pk,
            )
        except service.Outdated as outdated:
            self.form.add_error(None, translated(outdated.message))
            return self.shown(theirs=outdated.latest, base=self._base(), status=409)
        except (Refused, ProtocolError) as refusal:
            self.form.add_error(None, translated(refusal.message))
            return self.shown(base=self._base(), status=400)
        messages.success(
            self.request,
            _("Version %(n)d is in force. Experts see what is new before their next unit.")
            % {"n": stored.version},
        )
        return redirect("guideline_versions", self.campaign.slug)

    def _base(self) -> int:
        raw = self.request.POST.get("base", "")
        return int(raw) if _is_number(raw) else 0

    def shown(
        self,
        *,
        base: int | None = None,
        theirs: Guideline | None = None,
        n: int | None = None,
        status: int = 200,
    ) -> HttpResponse:
        """The form as it stands; with `theirs`, what somebody else changed meanwhile, on which to save next."""
        mine = self.campaign.guidelines.filter(version=base or 0).first() if theirs else None
        context = {
            "form": self.form,
            "touching": self.touching,
            "n": n,
            "total": Item.objects.active().filter(campaign=self.campaign).count() if n is not None else None,
            "base": theirs.version if theirs else self.latest.version if base is None else base,
            "theirs": theirs,
            "differences": differences(mine, theirs) if mine and theirs else None,
            "question": self.question,
            "thread": self.thread,
        }
        return campaign_page(
            self.request, self.member, "annotation/guideline_new.html", context, tab=TAB, status=status
        )


def _texts(guideline: Guideline) -> dict[str, str]:
    return {"text_en": guideline.text_en, "text_zh": guideline.text_zh}


def _of_campaign(kind: Any, request: HttpRequest, name: str, **where: Any) -> Any:
    """What the address names, if it names one; Http404 where it is not this campaign's."""
    raw = request.GET.get(name, "")
    if not raw:
        return None
    found = kind.objects.filter(pk=int(raw), **where).first() if _is_number(raw) else None
    if found is None:
        raise Http404
    return found
