"""Giving out parts, people, due dates, repeats."""

import json
import re
from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.formats.errors import FormatError
from annotation.formats.lexicon import LIMIT, read_forms
from annotation.forms.base import DayField, PlainInput
from annotation.models import Membership
from annotation.protocol.carry_over import USUAL_SHARE as USUAL_CHECKED
from annotation.protocol.text import fold_name
from annotation.services.carry_over import CarryWish
from annotation.services.later import USUAL_SHARE
from annotation.services.people import SEPARATORS
from annotation.services.sentences import translated

DESIGNS = [
    ("cyclic", _("cyclic: neighbours in the list share parts")),
    ("pairs", _("pairs: one part for every two experts")),
    ("single", _("single: one expert per item")),
    ("quotas", _("quotas: each their own share of the work")),
]


DESIGN_K = {"pairs": 2, "single": 1}  # the only number of experts per item that a design is for


class ExpertsForm(forms.Form):
    """Who judges: experts of the campaign, and names of new ones. Cleaned, `experts` are their names."""

    members = forms.MultipleChoiceField(
        label=_("Experts of this campaign"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Leave out who is to check others' work later: a checker must have been given none of what is checked."
        ),
    )
    names = forms.CharField(
        label=_("New experts"),
        required=False,
        max_length=5000,
        help_text=_(
            "One name a line, or separated by commas. Whoever has no account yet gets one, and a link to set a "
            "password."
        ),
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, members: Sequence[Membership], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by_pk = {str(member.pk): member for member in members}
        if members:
            field = self.fields["members"]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = [(pk, member.pseudonym) for pk, member in self.by_pk.items()]
        else:
            del self.fields["members"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        chosen = [self.by_pk[pk].user.username for pk in data.get("members", ())]
        names = re.split(rf"[\n\r{SEPARATORS}]+", data.get("names", ""))
        typed = [name.strip() for name in names if name.strip()]
        if not chosen and not typed:
            raise forms.ValidationError(_("Say who judges: choose experts, or type their names."))
        folded = {fold_name(name) for name in chosen}
        if twice := [name for name in dict.fromkeys(typed) if fold_name(name) in folded]:
            raise forms.ValidationError(_twice(twice))
        data["experts"] = chosen + typed
        return data


def _twice(names: Sequence[str]) -> str:
    """Says of whom is chosen and typed too that they are here, and of nobody which pseudonym is theirs."""
    return ngettext(
        "%(names)s takes part in this campaign already: tick the experts of this campaign above, and type new names "
        "only.",
        "%(names)s take part in this campaign already: tick the experts of this campaign above, and type new names "
        "only.",
        len(names),
    ) % {"names": gettext(", ").join(names)}


class AssignForm(ExpertsForm):
    """Who judges, in how many parts, by which design."""

    design = forms.ChoiceField(label=_("Design"), choices=DESIGNS)
    parts = forms.IntegerField(
        label=_("Number of parts"),
        min_value=1,
        max_value=1000,
        required=False,
        help_text=_("Left empty: one part per expert (pairs: one per pair)."),
    )
    sample = forms.IntegerField(
        label=_("Random sample of units"),
        min_value=1,
        required=False,
        help_text=_(
            "Gives out so many units only, drawn from all; the rest can be given out later. Left empty: all units."
        ),
    )
    quotas = forms.CharField(
        label=_("Shares"),
        required=False,
        max_length=1000,
        help_text=_(
            "For the design quotas: a whole number for each expert, in the order above, such as 2, 1, 1."
        ),
        widget=PlainInput(),
    )
    overlap = forms.IntegerField(
        label=_("Units with a second expert"),
        min_value=1,
        required=False,
        help_text=_(
            "For the design single: so many units, drawn by the seed, tell how far experts agree. The first expert's "
            "verdict counts. Left empty: none."
        ),
    )
    again = forms.FloatField(
        label=_("Share that comes again, in %"),
        min_value=0,
        max_value=100,
        required=False,
        initial=USUAL_SHARE,
        help_text=_(
            "Of what the experts of late items judged before: so much is mixed in among the new, unmarked, and shows "
            "whether they judge as they did. 0: nothing. Left empty: 5."
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which unit falls into which part. The same seed gives the same parts."),
    )

    carry_over = forms.BooleanField(
        label=_("Carry verdicts over"),
        required=False,
        help_text=_(
            "Translations that render their compound exactly like another one of the same sentence take its verdict "
            "and are given to nobody. Whatever the rule cannot tell is judged."
        ),
    )
    carry_lexicon = forms.FileField(
        label=_("Lexicon for carrying over"),
        required=False,
        help_text=_(
            "By it the rule finds the compound in a translation. A line for each atom: the atom, a tab, its Chinese "
            "forms apart by “/”."
        ),
    )
    carry_share = forms.FloatField(
        label=_("Share that is judged anyway, in %"),
        min_value=0.1,
        max_value=100,
        required=False,
        initial=USUAL_CHECKED,
        help_text=_(
            "So much of what could be carried over is drawn by the seed and judged like anything else, unmarked: it "
            "tells how often a verdict that is carried over is another than the expert's own. Left empty: 10."
        ),
    )
    carry_forms = forms.CharField(
        required=False, widget=forms.HiddenInput
    )  # the lexicon of a plan that was shown

    field_order = (
        "members", "names", "design", "parts", "sample", "quotas", "overlap", "again", "seed",
        "carry_over", "carry_lexicon", "carry_share", "carry_forms",
    )  # fmt: skip

    def __init__(self, *args: Any, k: int, late: bool = False, compound: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not late:
            del self.fields["again"]
        if not compound:
            for name in ("carry_over", "carry_lexicon", "carry_share", "carry_forms"):
                del self.fields[name]
        design = self.fields["design"]
        assert isinstance(design, forms.ChoiceField)
        design.choices = [(name, words) for name, words in DESIGNS if DESIGN_K.get(name, k) == k]
        if k != DESIGN_K["single"]:
            del self.fields["overlap"]

    @property
    def share_again(self) -> float:
        """The share of what was judged before that comes again beside late items."""
        given: float | None = self.cleaned_data.get("again")
        return USUAL_SHARE if given is None else given

    @property
    def carry_wish(self) -> CarryWish | None:
        """What is to be carried over, None where that was not asked for."""
        if not self.cleaned_data.get("carry_over"):
            return None
        share: float | None = self.cleaned_data["carry_share"]
        return CarryWish(
            forms=self.cleaned_data["carry_forms"], percent=USUAL_CHECKED if share is None else share
        )

    def clean_carry_forms(self) -> dict[str, list[str]]:
        """The forms of a file that was sent now, else those of the plan that was shown; the page keeps them."""
        if not self.cleaned_data.get("carry_over"):
            return {}
        file, shown = self.cleaned_data.get("carry_lexicon"), self.cleaned_data["carry_forms"]
        if not file and not shown:
            self.add_error(
                "carry_lexicon", _("Bring the lexicon by which the compound is found in a translation.")
            )
            return {}
        try:
            found = read_forms(file.read(LIMIT + 1) if file else _as_lexicon(shown))
        except FormatError as error:
            self.add_error("carry_lexicon", translated(error.sentence))
            return {}
        self.shown_forms = json.dumps(found, ensure_ascii=False)
        sent: Any = self.data
        kept = sent.copy()
        kept["carry_forms"] = self.shown_forms
        self.data = kept
        return found

    def clean_quotas(self) -> list[int] | None:
        """Whole numbers, with commas or blanks between."""
        shares = [share for share in re.split(rf"[\s{SEPARATORS}]+", self.cleaned_data["quotas"]) if share]
        if not all(share.isdecimal() and len(share) < 10 for share in shares):
            raise forms.ValidationError(_("Shares are whole numbers with commas between, such as 2, 1, 1."))
        return [int(share) for share in shares] or None


def _as_lexicon(shown: str) -> bytes:
    """What `shown_forms` gave, as the file it was read from."""
    try:
        found = json.loads(shown)
        lines = [f"{atom}\t{'/'.join(forms) or '/'}" for atom, forms in found.items()]
    except (ValueError, AttributeError, TypeError):
        return b""
    return "\n".join(lines).encode()


class DueDateForm(forms.Form):
    """By when a round should be done; empty for no day."""

    due_on = DayField(label=_("Due on"), required=False)


class PersonForm(forms.Form):
    """Somebody who joins a campaign."""

    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        help_text=_("The name they sign in with. Whoever has no account yet gets one."),
        widget=PlainInput({"spellcheck": "false"}),
    )
    role = forms.ChoiceField(
        label=_("Role"),
        choices=[
            (Membership.Role.EXPERT, _("expert: judges")),
            (Membership.Role.VIEWER, _("viewer: sees progress and reports")),
            (Membership.Role.MANAGER, _("manager: runs the campaign")),
        ],
    )


class RepeatsForm(forms.Form):
    """What share of the judged units comes again."""

    percent = forms.FloatField(
        label=_("Share of what each expert has judged, in %"),
        min_value=0.1,
        max_value=100,
        help_text=_("Usual is 5 %. The repeats come among the units that are still open, unmarked."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which units come again, and where. The same seed draws the same units."),
    )
