"""What people type into pages, checked before a service sees it."""

import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.template.defaultfilters import filesizeformat
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.formats.adapters.registry import shapes_for
from annotation.models import Campaign, Membership, User
from annotation.protocol.candidates import FILTERS, KEEPING, LIMITED, THRESHOLD
from annotation.protocol.diversity import SOFT_LIMIT
from annotation.protocol.triple import GENERAL_RELATIONS
from annotation.services.access import TOKEN_NAME_LENGTH
from annotation.services.campaigns import MAX_EXPERTS, SLUG, TITLE_LENGTH
from annotation.services.items import REASON_LENGTH
from annotation.services.later import USUAL_SHARE
from annotation.services.people import SEPARATORS
from annotation.services.returns import RULING_LENGTH
from annotation.services.uploads import LIMIT

# What a browser offers where a table is asked for.
SHAPE_FILES = ".json,.jsonl,.ndjson,.zip,.csv,.tsv,.txt,.xlsx"
TABLES = ".csv,.tsv,.tab,.txt,.jsonl,.ndjson,.json,.xlsx,.xlsm"


class PlainInput(forms.TextInput):
    """A line of text for which the browser proposes nothing."""

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"autocomplete": "off"} | (attrs or {}))


class Text(forms.CharField):
    """A text with a limit in code points. The browser counts by limit.js: its own maxlength counts UTF-16 units."""

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """The limit for the script, in place of maxlength."""
        attrs = super().widget_attrs(widget)
        return {"data-limit" if name == "maxlength" else name: value for name, value in attrs.items()}

    def to_python(self, value: Any) -> str:
        """Browsers send a line break as two characters, of which the person typed one."""
        return super().to_python(value.replace("\r\n", "\n") if isinstance(value, str) else value) or ""


class OnceForm(forms.Form):
    """A form that may be sent twice and counts once: it bears a key from the moment it is shown."""

    client_key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={"client_key": uuid.uuid4(), **(initial or {})})

    def clean(self) -> dict[str, Any]:
        """A hidden field cannot show its own error."""
        if "client_key" not in self.cleaned_data:
            raise forms.ValidationError(_("This form is incomplete; open the page again."))
        return self.cleaned_data


# Accounts


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": _("Name and password do not match. Mind capital letters in the password."),
        "inactive": _("This account is closed."),
    }

    def clean(self) -> dict[str, Any]:
        """Every spelling of a name counts as that person's attempt, or changing its case would never lock."""
        name = self.cleaned_data.get("username")
        if name:
            with suppress(User.DoesNotExist):
                self.cleaned_data["username"] = User.objects.get_by_natural_key(name).username
        return super().clean()


class TokenForm(forms.Form):
    """The name of a new personal key."""

    name = Text(
        label=_("Name of the token"),
        max_length=TOKEN_NAME_LENGTH,
        help_text=_("What it is for, such as “laptop script”."),
        widget=PlainInput(),
    )


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A first password, or a new one for who forgot theirs: typed twice."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        plain_password_words(self)


class ChangePasswordForm(PasswordChangeForm):
    """A new password for who knows the old one."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        plain_password_words(self)
        self.fields["old_password"].label = _("Your password now")


def plain_password_words(form: forms.Form) -> None:
    """The framework's list of password rules, in one sentence."""
    form.fields["new_password1"].label = _("New password")
    form.fields["new_password1"].help_text = _(
        "At least 10 characters. Three or four unrelated words do well."
    )
    form.fields["new_password2"].label = _("The same again")
    form.fields["new_password2"].help_text = ""


# Campaigns

RESERVED_SLUGS = ("new",)  # addresses that mean something else


def display_field(*, required: bool) -> forms.ChoiceField:
    """How the translations of a compound are shown."""
    return forms.ChoiceField(
        label=_("Display of translations"),
        choices=[
            (
                Campaign.Display.ALONE,
                _("alone: one translation of each sentence on a screen; the others come up far apart"),
            ),
            (
                Campaign.Display.SIDE_BY_SIDE,
                _("side by side: one sentence at a time, all its different translations below it"),
            ),
        ],
        required=required,
        initial=Campaign.Display.ALONE,
        help_text=_(
            "For compounds that several systems or runs translated. Alone is the published way; side by side is "
            "quicker, and translations colour each other. Stored with every answer; fixed with the first answer of the "
            "main round."
        ),
        widget=forms.RadioSelect,
    )


class CampaignForm(forms.Form):
    """A new campaign."""

    title = forms.CharField(
        label=_("Title"),
        max_length=TITLE_LENGTH,
        help_text=_("What experts see, such as “CKBP v2, Chinese”."),
        widget=PlainInput(),
    )
    slug = forms.RegexField(
        label=_("Address"),
        regex=rf"\A{SLUG.pattern}\Z",
        max_length=80,
        help_text=_("Stands in links and commands: letters, digits and single hyphens, such as ckbp-zh."),
        error_messages={
            "invalid": _("Use letters, digits and single hyphens or underscores, such as ckbp-zh.")
        },
        widget=PlainInput({"spellcheck": "false"}),
    )
    protocol = forms.ChoiceField(
        label=_("What is judged"),
        choices=[
            (Campaign.Protocol.COMPOUND, _("Compounds: is each of five translations correct?")),
            (Campaign.Protocol.TRIPLE, _("Triples: does the sentence usually hold?")),
        ],
        widget=forms.RadioSelect,
    )
    annotators_per_item = forms.IntegerField(
        label=_("Experts per item"),
        min_value=1,
        max_value=MAX_EXPERTS,
        required=False,
        help_text=_(
            "How many experts judge each item on their own. Left empty: 1 for compounds, 2 for triples."
        ),
    )
    display = display_field(required=False)

    def clean_display(self) -> str:
        """Triples have no choice: what the field says for compounds does not concern them."""
        compound = self.cleaned_data.get("protocol") == Campaign.Protocol.COMPOUND
        return (
            str(self.cleaned_data["display"])
            if compound and self.cleaned_data["display"]
            else Campaign.Display.ALONE
        )

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("This address is taken by a page of the site; choose another one."))
        return slug


# Files


class UploadedTable(forms.FileField):
    """A file of bearable size."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        file = super().clean(data, initial)
        if file is not None and file.size > LIMIT:
            raise forms.ValidationError(
                _(
                    "This file has %(size)s; at most %(limit)s are taken at once. Split it, or use the command line."
                ),
                params={"size": filesizeformat(file.size), "limit": filesizeformat(LIMIT)},
            )
        return file


class SystemFields(forms.Form):
    """Whose translations the file holds, where it does not say."""

    system = forms.CharField(
        label=_("System"),
        max_length=100,
        required=False,
        help_text=_("For rows that do not name their system."),
        widget=PlainInput(),
    )
    run = forms.CharField(
        label=_("Run"),
        max_length=100,
        required=False,
        help_text=_("For rows that do not name their run, such as a seed."),
        widget=PlainInput(),
    )


class ItemFileForm(SystemFields):
    """One file of items."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("CSV, TSV, JSONL or XLSX; UTF-8, UTF-16 with a mark, or GB18030."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )

    field_order = ["file", "system", "run"]

    def __init__(self, *args: Any, protocol: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if protocol != Campaign.Protocol.COMPOUND:
            del self.fields["system"], self.fields["run"]


class CognitionForm(SystemFields):
    """The four files of a CoGnition test set."""

    sources = UploadedTable(
        label=_("Sources"), help_text=_("One sentence a line, such as NP.en. Its name is in the items' keys.")
    )
    compounds = UploadedTable(label=_("Compounds"), help_text=_("One compound a line, such as NP.compound."))
    references = UploadedTable(
        label=_("References"), help_text=_("One reference translation a line, such as NP.zh.")
    )
    translations = UploadedTable(
        label=_("Translations"),
        help_text=_("A workbook with src, hyp and human eval, or a text file with one translation a line."),
    )
    annotator = forms.CharField(
        label=_("Whose verdicts the workbook holds"),
        max_length=150,
        required=False,
        help_text=_("Left empty: the account “released”, with which nobody can sign in."),
        widget=PlainInput(),
    )

    field_order = ["sources", "compounds", "references", "translations", "system", "run", "annotator"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["system"].required = True
        self.fields["system"].help_text = _("The system that made the translations.")


class JudgementFileForm(forms.Form):
    """A file of judgements that were made elsewhere."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("With item_id or triple_id (or the texts of the items), annotator and label."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    annotator = forms.CharField(
        label=_("Expert"),
        max_length=150,
        required=False,
        help_text=_(
            "Who judged, where the file has no column annotator. Left empty: the account “released”."
        ),
        widget=PlainInput(),
    )
    column = forms.CharField(
        label=_("Column of the labels"),
        max_length=100,
        required=False,
        help_text=_("Where it is not called label."),
        widget=PlainInput(),
    )
    by_position = forms.BooleanField(
        label=_("Row 1 is the first item, row 2 the second, and so on"),
        required=False,
    )
    repeats = forms.BooleanField(
        label=_("Repeats: the same experts judged the same items a second time"),
        required=False,
        help_text=_(
            "They do not count for labels; the agreement report compares each expert with themselves."
        ),
    )


class ShapeFileForm(SystemFields):
    """A file that another program wrote: items, judgements, or both."""

    file = UploadedTable(
        label=_("File"),
        help_text=_("One file, or a zip archive where the shape is several."),
        widget=forms.FileInput(attrs={"accept": SHAPE_FILES}),
    )
    shape = forms.ChoiceField(label=_("Shape of the file"), required=False)
    annotator = forms.CharField(
        label=_("Expert"),
        max_length=150,
        required=False,
        help_text=_("Who judged, where the file does not say. Left empty: the account “released”."),
        widget=PlainInput(),
    )
    column = forms.CharField(
        label=_("Column of the labels"),
        max_length=100,
        required=False,
        help_text=_(
            "Where the file holds several choices for each item, the name of the one that is the label."
        ),
        widget=PlainInput(),
    )

    field_order = ["file", "shape", "annotator", "column", "system", "run"]

    def __init__(self, *args: Any, protocol: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["shape"]
        assert isinstance(field, forms.ChoiceField)
        titles = [(adapter.name, adapter.title) for adapter in shapes_for(protocol)]
        field.choices = [("", _("recognise it")), *titles]
        if protocol != Campaign.Protocol.COMPOUND:
            del self.fields["system"], self.fields["run"]


class ConfirmImportForm(forms.Form):
    """Storing what a preview showed."""

    seen = forms.RegexField(regex=r"\A[0-9a-f]{64}\Z")
    on_conflict = forms.ChoiceField(choices=[("refuse", ""), ("keep", ""), ("replace", "")], required=False)


FILTER_WORDS = [
    ("self-bleu", _("self-BLEU: the most novel stay")),
    ("soft-uniqueness", _("soft uniqueness: each stays that is unlike those before it")),
    ("g-daug", _("new words: each next one adds the most of them")),
    ("none", _("none")),
]


class EvaluationSetForm(forms.Form):
    """What an evaluation set is built from, and how. Each half needs its file and its number."""

    pool = UploadedTable(
        label=_("Annotated pool"),
        required=False,
        help_text=_("With head, relation and tail; class, label and triple_id where it has them."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    n = forms.IntegerField(
        label=_("Items to draw from it"),
        min_value=1,
        required=False,
        help_text=_("Each relation gets its share, such as 2498 of CKBP v1."),
    )
    minimum = forms.IntegerField(
        label=_("At least, of each relation"), min_value=0, max_value=1000, required=False, initial=0
    )
    leave_out = forms.CharField(
        label=_("Relations to leave out"),
        required=False,
        max_length=2000,
        initial=", ".join(GENERAL_RELATIONS),
        help_text=_("Separated by commas. They are left out of the candidates too."),
        widget=PlainInput({"spellcheck": "false"}),
    )
    candidates = UploadedTable(
        label=_("Candidates with scores"),
        required=False,
        help_text=_("The same columns, and score: how plausible a model finds each."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    adversarial_n = forms.IntegerField(
        label=_("Candidates to choose"), min_value=1, required=False, help_text=_("They get the class adv.")
    )
    threshold = forms.FloatField(label=_("Score at least"), initial=THRESHOLD)
    training = UploadedTable(
        label=_("Training data"),
        required=False,
        help_text=_("Triples that no candidate may be one of: head, relation and tail."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    filter = forms.ChoiceField(label=_("Diversity filter"), choices=FILTER_WORDS)
    keep = forms.IntegerField(
        label=_("Candidates that pass the filter"),
        min_value=1,
        required=False,
        help_text=_(
            "For self-BLEU and new words. Left empty: by self-BLEU half of those that come to the filter, but at least "
            "as many as are chosen; by new words as many as are chosen."
        ),
    )
    below = forms.FloatField(
        label=_("Limit of soft uniqueness"),
        min_value=0.01,
        max_value=1,
        required=False,
        help_text=format_lazy(
            _("BLEU against those that were kept before must stay below it. Left empty: {limit}."),
            limit=SOFT_LIMIT,
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("The same files, settings and seed make the same set."),
    )

    def clean_leave_out(self) -> list[str]:
        names = re.split(r"[,，、;；\n\r]+", self.cleaned_data["leave_out"])
        return list(dict.fromkeys(name.strip() for name in names if name.strip()))

    def clean(self) -> dict[str, Any]:
        """Each half as a whole, and one of them at least."""
        data = super().clean() or self.cleaned_data
        for file, number in (("pool", "n"), ("candidates", "adversarial_n")):
            if file in data and number in data and bool(data[file]) != bool(data[number]):
                missing = number if data[file] else file
                self.add_error(
                    missing, _("A file and the number of its items go together: give both or neither.")
                )
        if not self.errors and not data["pool"] and not data["candidates"]:
            raise forms.ValidationError(_("Give a pool to draw from, or candidates to choose from, or both."))
        if not self.errors and data["training"] and not data["candidates"]:
            self.add_error(
                "training", _("Training data only matter for candidates; give a file of these too.")
            )
        self._refuse_without_effect(data)
        return data

    def _refuse_without_effect(self, data: Mapping[str, Any]) -> None:
        """Who changes what changes nothing meant something else."""
        if data.get("minimum") and not data.get("pool"):
            self.add_error("minimum", _("This only matters for a pool; give one, or leave this empty."))
        if "candidates" in data and not data["candidates"]:
            changed = {
                "threshold": data.get("threshold") not in (None, THRESHOLD),
                "filter": data.get("filter") not in (None, FILTERS[0]),
                "keep": data.get("keep") is not None,
                "below": data.get("below") is not None,
            }
            for name, is_changed in changed.items():
                if is_changed:
                    self.add_error(
                        name, _("This only matters for candidates; give some, or leave it as it was.")
                    )
            return
        for name, filters in (("keep", KEEPING), ("below", LIMITED)):
            if data.get(name) is not None and data.get("filter") and data["filter"] not in filters:
                self.add_error(name, _("The filter chosen does not use this; leave it empty."))


# Items


class ItemFilterForm(forms.Form):
    """Which items to show."""

    q = forms.CharField(
        label=_("Text"), max_length=200, required=False, widget=forms.TextInput(attrs={"type": "search"})
    )
    group = forms.ChoiceField(label=_("Type"), required=False)
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("all")),
            ("problem", _("cannot judge or a problem")),
            ("labelled", _("with a final label")),
            ("undecided", _("undecided")),
            ("stale", _("to be updated")),
            ("tie", _("no label: tie")),
            ("cannot_judge", _("no label: cannot judge")),
            ("incomplete", _("no label: answers missing")),
            ("withdrawn", _("withdrawn")),
            ("set_aside", _("set aside for a dry run")),
        ],
    )
    first = forms.IntegerField(label=_("From position"), min_value=1, max_value=2**31, required=False)
    last = forms.IntegerField(label=_("to"), min_value=1, max_value=2**31, required=False)
    after = forms.IntegerField(min_value=0, max_value=2**31, required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, groups: Sequence[str], protocol: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["group"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("all")), *((group, group) for group in groups)]
        if protocol == Campaign.Protocol.TRIPLE:
            field.label = _("Relation")


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(label=_("Reason"), max_length=REASON_LENGTH)


# Parts and people

DESIGNS = [
    ("cyclic", _("cyclic: neighbours in the list share parts")),
    ("pairs", _("pairs: one part for every two experts")),
    ("single", _("single: one expert per item")),
    ("quotas", _("quotas: each their own share of the work")),
]
DESIGN_K = {"pairs": 2, "single": 1}  # the only number of experts per item that a design is for


class DayField(forms.DateField):
    """A day, as the browser's own calendar writes it."""

    def __init__(self, **kwargs: Any) -> None:
        day = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
        super().__init__(widget=day, input_formats=["%Y-%m-%d"], **kwargs)


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
            "One name a line, or separated by commas. Who has no account yet gets one, and a link to set a password."
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
        data["experts"] = chosen + typed
        return data


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

    def __init__(self, *args: Any, k: int, late: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not late:
            del self.fields["again"]
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

    def clean_quotas(self) -> list[int] | None:
        """Whole numbers, with commas or blanks between."""
        shares = [share for share in re.split(rf"[\s{SEPARATORS}]+", self.cleaned_data["quotas"]) if share]
        if not all(share.isdecimal() and len(share) < 10 for share in shares):
            raise forms.ValidationError(_("Shares are whole numbers with commas between, such as 2, 1, 1."))
        return [int(share) for share in shares] or None


class DueDateForm(forms.Form):
    """By when a round should be done; empty for no day."""

    due_on = DayField(label=_("Due on"), required=False)


class ConfirmWordForm(forms.Form):
    """A word typed to say that one means what cannot be undone."""

    word = forms.CharField(
        label=_("To confirm, type the name shown above"),
        max_length=150,
        widget=PlainInput({"spellcheck": "false"}),
    )


class RulingForm(forms.Form):
    """A manager's ruling with which an answer goes back to its expert."""

    ruling = Text(max_length=RULING_LENGTH)


class PersonForm(forms.Form):
    """Somebody who joins a campaign."""

    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        help_text=_("The name they sign in with. Who has no account yet gets one."),
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
