"""What people type into the pages of submissions and releases, checked before a service sees it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import TABLES, DayField, Text, UploadedTable
from annotation.forms.people import ExpertsForm
from annotation.models import Campaign
from annotation.protocol.splits import RULES
from annotation.services.dry_runs import REASON_LENGTH, Bound, Source
from annotation.services.gold import NOTE_LENGTH
from annotation.services.spot_checks import REASON_LENGTH as DECISION_LENGTH
from annotation.services.spot_checks import Decision, Error
from scoring.models import Board, Release
from scoring.services.release_content import KEEP, NONE
from scoring.services.scores import Wish

PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class DryRunForm(ExpertsForm):
    """Who judges how many units in a dry run, what becomes of these, and what agreement it must reach."""

    n = forms.IntegerField(
        label=_("Units"),
        min_value=1,
        max_value=100_000,
        help_text=_(
            "Drawn at random, at least one of each relation or pattern. Usual are 60 triples or 24 compounds."
        ),
    )
    source = forms.ChoiceField(
        label=_("What becomes of these units"),
        choices=[
            (Source.SET_ASIDE, _("set aside: they are no part of what the campaign evaluates")),
            (
                Source.EXPOSED,
                _("they stay and are judged again in the main round, but count in no agreement"),
            ),
        ],
        widget=forms.RadioSelect,
    )
    threshold = forms.FloatField(
        label=_("Gate: the agreement to reach"),
        min_value=-1,
        max_value=1,
        required=False,
        help_text=_("Such as 0.6. Left empty: no gate, the main round may begin once the dry run is closed."),
    )
    coefficient = forms.ChoiceField(label=_("Gate: by which figure"), choices=())
    bound = forms.ChoiceField(
        label=_("Gate: what has to reach it"),
        choices=[
            (Bound.VALUE, _("the figure itself")),
            (Bound.LOWER, _("the lower end of its 95 % interval: stricter, the more so with few units")),
        ],
        widget=forms.RadioSelect,
    )
    due_on = DayField(label=_("Due on"), required=False)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which units are drawn. The same seed draws the same ones."),
    )

    def __init__(self, *args: Any, figures: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        coefficient = self.fields["coefficient"]
        assert isinstance(coefficient, forms.ChoiceField)
        coefficient.choices = list(figures.items())


class OverrideForm(forms.Form):
    """Why a campaign goes on although its dry run did not pass."""

    reason = Text(
        label=_("Why you go on"),
        max_length=REASON_LENGTH,
        help_text=_("It is kept with the dry run and written down."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class SubmissionForm(forms.Form):
    """One file of predictions or translations, and how it is to be read and measured."""

    file = UploadedTable(
        label=_("File"),
        help_text=_(
            "CSV, TSV, JSONL or XLSX. Each row names its item by id or by its texts, as in the file of items above."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.tab,.txt,.jsonl,.ndjson,.json,.xlsx,.xlsm"}),
    )
    system = forms.CharField(label=_("System"), max_length=100, widget=forms.TextInput(attrs=PLAIN))
    run = forms.CharField(
        label=_("Run"),
        max_length=100,
        required=False,
        help_text=_("Such as a training seed. Runs of one system are shown as mean and spread."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    release = forms.ModelChoiceField(
        label=_("Against"),
        queryset=Release.objects.none(),
        required=False,
        empty_label=_("the campaign today"),
    )
    split = forms.ChoiceField(label=_("Split"), choices=[("test", _("test")), ("dev", _("dev"))])
    threshold = forms.FloatField(
        label=_("Threshold"),
        required=False,
        initial=0.5,
        help_text=_("A score at or above it calls a triple plausible."),
    )
    tune = forms.BooleanField(
        label=_("Choose the threshold on dev instead: the one with the highest F1"), required=False
    )
    column = forms.CharField(
        label=_("Column of the predictions"),
        max_length=100,
        required=False,
        help_text=_("Where it is not called prediction."),
        widget=forms.TextInput(attrs=PLAIN),
    )
    by_position = forms.BooleanField(
        label=_("Row 1 is the first item, row 2 the second, and so on"), required=False
    )

    def __init__(self, *args: Any, campaign: Campaign, manages: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            for name in ("release", "split", "threshold", "tune"):
                del self.fields[name]
            self.fields["column"].label = _("Column of the translations")
            self.fields["column"].help_text = _("Where it is not called translation.")
            return
        release, split = self.fields["release"], self.fields["split"]
        assert isinstance(release, forms.ModelChoiceField)
        assert isinstance(split, forms.ChoiceField)
        release.queryset = campaign.releases.all()
        if manages:
            split.choices = [("test", _("test")), ("dev", _("dev")), ("all", _("all items"))]

    def wish(self) -> Wish:
        """What the service is asked for."""
        data = self.cleaned_data
        threshold = data.get("threshold")
        return Wish(
            system=data["system"],
            run=data["run"],
            split=data.get("split") or "all",
            threshold=None if data.get("tune") else 0.5 if threshold is None else threshold,
            column=data["column"] or None,
            by_position=data["by_position"],
            release=data.get("release"),
        )


class BoardForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """Who may submit, and how often."""

    class Meta:
        model = Board
        fields = ("audience", "quota")
        widgets = {"audience": forms.RadioSelect}
        help_texts = {
            "audience": _(
                "Viewers of a campaign can read its labels in the reports and exports. From accounts that are no "
                "members the labels stay hidden; give them the address of this page."
            ),
            "quota": _("Dev can be used without limit."),
        }


class ReleaseForm(forms.Form):
    """A name, and how the items are split."""

    name = forms.RegexField(
        label=_("Name"),
        regex=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z",
        max_length=40,
        help_text=_("Such as v1 or 2.0. The file does not hold it, so that equal states give equal files."),
        error_messages={"invalid": _("Use letters without accents, digits, dots, dashes and underscores.")},
        widget=forms.TextInput(attrs=PLAIN),
    )
    split = forms.ChoiceField(label=_("Split"), widget=forms.RadioSelect)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=0,
        help_text=_("Which items fall into dev."),
    )
    by_head = forms.BooleanField(
        label=_("Triples of one head stay on one side"),
        required=False,
        help_text=_("Then nothing of a test item's head can be learnt from dev."),
    )

    def __init__(self, *args: Any, campaign: Campaign, has_splits: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        split = self.fields["split"]
        assert isinstance(split, forms.ChoiceField)
        split.choices = _split_choices(campaign, has_splits=has_splits)
        split.initial = split.choices[0][0]
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            del self.fields["by_head"]


SPLIT_WORDS = {
    KEEP: _("as the items were imported"),
    "default": _("a fifth for dev, spread evenly over class, relation and label"),
    "ckbp-released": _("as in the released CKBP v2: a fifth of every cell, rounded down"),
    NONE: _("not split"),
}


def _split_choices(campaign: Campaign, *, has_splits: bool) -> Sequence[tuple[str, Any]]:
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return [
            (NONE, SPLIT_WORDS[NONE]),
            ("default", _("a fifth of the compounds for dev, as whole compounds")),
        ]
    rules = [KEEP, *RULES, NONE] if has_splits else [*RULES, NONE]
    return [(rule, SPLIT_WORDS[rule]) for rule in rules]


class EstimateForm(forms.Form):
    """An automatic judge: its verdicts in a file, or the word list of the compound check."""

    judge = UploadedTable(
        label=_("A judge's verdicts"),
        required=False,
        help_text=_(
            "CSV, TSV, JSONL or XLSX with item_id (or compound and context_no) and label, 1 for correct and 0 for "
            "wrong, of every item. It is read and not kept."
        ),
    )
    lexicon = UploadedTable(
        label=_("Or the word list of the compound check"),
        required=False,
        help_text=_("A line for each atom: the atom, a tab, its translations apart by “/”."),
    )
    compatible = forms.BooleanField(label=_("The published check with its quirks"), required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and bool(data.get("judge")) == bool(data.get("lexicon")):
            raise forms.ValidationError(_("Choose one file: a judge's verdicts or a word list."))
        return data


class CheckForm(EstimateForm):
    """The same, the word list first."""

    field_order = ("lexicon", "compatible", "judge")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lexicon"].label = _("Word list")
        self.fields["lexicon"].help_text = _(
            "A line for each atom: the atom, a tab, its translations apart by “/”. It is read and not kept."
        )
        self.fields["judge"].label = _("Or another judge's verdicts")


class TextsForm(forms.Form):
    """A test set that is none of the campaign's: one table, or two texts line by line."""

    texts = UploadedTable(
        label=_("Translations and references"),
        required=False,
        help_text=_(
            "CSV, TSV, JSONL or XLSX with the columns translation and reference. It is read and not kept."
        ),
    )
    hypotheses = UploadedTable(
        label=_("Or a text of the translations"),
        required=False,
        help_text=_("One translation a line; an empty line is an empty translation."),
    )
    references = UploadedTable(
        label=_("and a text of the references"),
        required=False,
        help_text=_("The reference of each translation on the same line."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        sent = tuple(bool(data.get(name)) for name in ("texts", "hypotheses", "references"))
        if not self.errors and sent not in ((True, False, False), (False, True, True)):
            raise forms.ValidationError(
                _("Choose one table, or a text of translations and one of references.")
            )
        return data


class TrainingForm(forms.Form):
    """The nodes of a training set, for what a table of triples says of them."""

    training = UploadedTable(
        label=_("Nodes of a training set"),
        help_text=_(
            "A text with one node a line, or triples (CSV, TSV, JSONL or XLSX with the columns head and tail). It is "
            "read and not kept."
        ),
    )
    derive_classes = forms.BooleanField(
        label=_("Derive ID and OOD from these nodes, beside the classes that are stored"), required=False
    )


class PlanForm(forms.Form):
    """What every plan may be given; an empty field takes what the campaign has shown so far."""

    seconds = forms.FloatField(
        label=_("Seconds a judgement takes"), required=False, min_value=0, max_value=86_400
    )
    experts = forms.IntegerField(label=_("Experts on each item"), required=False, min_value=1, max_value=99)

    def __init__(self, data: Any = None, *, of: Sequence[str], **more: Any) -> None:
        super().__init__(data, **more)
        if "of" in self.fields:
            self.fields["of"] = forms.ChoiceField(
                label=_("Figure"), choices=[(name, PLANNED[name]) for name in of]
            )
        if "auc" in self.fields and "auc" not in of:
            del self.fields["auc"]
            self.fields["rate"].help_text = _("Empty: what was found so far, else 50.")


PLANNED = {
    "aggregate": _("Aggregate error rate"),
    "instance": _("Instance error rate"),
    "share": _("Share of triples"),
    "auc": _("AUC"),
}


class PrecisionForm(PlanForm):
    """A figure to ± so many points."""

    field_order = ("of", "width", "rate", "auc", "population")
    of = forms.CharField()
    width = forms.FloatField(label=_("± points"), initial=3, min_value=0.1, max_value=49)
    rate = forms.FloatField(
        label=_("Expected rate in %"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("For an AUC: the share of plausible triples. Empty: what was found so far, else 50."),
    )
    auc = forms.FloatField(
        label=_("Expected AUC"), required=False, min_value=50, max_value=99.9, help_text=_("Empty: 75.")
    )
    population = forms.IntegerField(
        label=_("How many there are"),
        required=False,
        min_value=1,
        help_text=_("Where the figure is about these and no others."),
    )


class DifferenceForm(PlanForm):
    """A difference between two systems to be found."""

    field_order = (
        "of",
        "difference",
        "rate",
        "auc",
        "correlation",
        "spread",
        "seed_sd",
        "runs",
        "comparisons",
    )
    of = forms.CharField()
    difference = forms.FloatField(label=_("Difference in points"), initial=3, min_value=0.1, max_value=100)
    rate = forms.FloatField(
        label=_("Expected rate in %"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("For an AUC: the share of plausible triples. Empty: what was found so far, else 50."),
    )
    auc = forms.FloatField(
        label=_("Expected AUC of the better system"),
        required=False,
        min_value=50,
        max_value=99.9,
        help_text=_("Empty: 75."),
    )
    correlation = forms.FloatField(
        label=_("Correlation of the two systems' results"),
        required=False,
        min_value=0,
        max_value=0.99,
        help_text=_("From 0 to below 1: how far what is hard for one is hard for the other. Empty: 0.5."),
    )
    spread = forms.FloatField(
        label=_("Standard deviation of the paired difference, in points"),
        required=False,
        min_value=0.1,
        max_value=200,
        help_text=_(
            "Empty: what was found so far; else, or where a rate, AUC or correlation is given, as follows from these."
        ),
    )
    seed_sd = forms.FloatField(
        label=_("Standard deviation between runs of one system, in points"),
        required=False,
        min_value=0,
        max_value=100,
        help_text=_("Empty: what was found so far, else 0. With 0 these runs are compared and no others."),
    )
    runs = forms.IntegerField(label=_("Runs of each system"), initial=1, min_value=1, max_value=1000)
    comparisons = forms.IntegerField(label=_("Pairs tested together"), initial=1, min_value=1, max_value=1000)


class SpotCheckForm(PlanForm):
    """A part to be accepted or turned down by a sample."""

    field_order = ("acceptable", "rejectable", "alpha", "beta", "lot")
    acceptable = forms.FloatField(
        label=_("Acceptable error rate in %"), initial=5, min_value=0, max_value=100
    )
    rejectable = forms.FloatField(
        label=_("Rejectable error rate in %"), initial=15, min_value=0, max_value=100
    )
    alpha = forms.FloatField(
        label=_("Risk α to turn down a good part"), initial=0.05, min_value=0.001, max_value=0.999
    )
    beta = forms.FloatField(
        label=_("Risk β to pass a bad part"), initial=0.1, min_value=0.001, max_value=0.999
    )
    lot = forms.IntegerField(
        label=_("Units of the part"), required=False, min_value=1, help_text=_("Empty: a large part.")
    )


PLAN_FORMS: dict[str, type[PlanForm]] = {
    "precision": PrecisionForm,
    "difference": DifferenceForm,
    "spot-check": SpotCheckForm,
}


class NewSpotCheckForm(forms.Form):
    """Who checks which parts, what an error is, and how many units: by four numbers, or by hand."""

    checker = forms.ChoiceField(
        label=_("Checker"),
        choices=(),
        help_text=_("An expert of this campaign who was given none of the units drawn, in any round."),
    )
    parts = forms.MultipleChoiceField(
        label=_("Parts to check"), choices=(), widget=forms.CheckboxSelectMultiple
    )
    error = forms.ChoiceField(
        label=_("What counts as an error"),
        choices=[
            (Error.CONTRAST, _("a contrast with the checker: a whole point apart, or the opposite verdict")),
            (Error.LABEL, _("another label, with the checker's answer in the expert's place")),
        ],
        widget=forms.RadioSelect,
    )
    acceptable = forms.FloatField(label=_("Acceptable error rate in %"), min_value=0, max_value=100)
    rejectable = forms.FloatField(label=_("Rejectable error rate in %"), min_value=0, max_value=100)
    alpha = forms.FloatField(label=_("Risk α to turn down a good part"), min_value=0.001, max_value=0.999)
    beta = forms.FloatField(label=_("Risk β to pass a bad part"), min_value=0.001, max_value=0.999)
    n = forms.IntegerField(
        label=_("Units, by hand"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=_("Left empty: as many as the four numbers above ask for. A compound is one unit."),
    )
    due_on = DayField(label=_("Due on"), required=False)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        help_text=_("Which units are drawn. The same seed draws the same units."),
    )

    def __init__(
        self,
        *args: Any,
        checkers: Sequence[tuple[str, str]],
        ready: Sequence[tuple[str, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.ready = ready
        for name, choices in (("checker", checkers), ("parts", ready)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = list(choices)


DECISIONS = (
    (Decision.ACCEPT, _("accept the work as it is")),
    (Decision.REWORK, _("give the parts chosen below back to their experts")),
    (Decision.STOPPED, _("stop the check without a result")),
)


class SpotCheckDecisionForm(forms.Form):
    """How a spot check ends, and why."""

    decision = forms.ChoiceField(
        label=_("Decision"),
        choices=DECISIONS,
        widget=forms.RadioSelect,
    )
    rework = forms.MultipleChoiceField(
        label=_("Parts to give back"), choices=(), required=False, widget=forms.CheckboxSelectMultiple
    )
    reason = Text(
        label=_("Reason"),
        max_length=DECISION_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Kept with the check and in the record."),
    )

    def __init__(self, *args: Any, choices: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parts = list(choices)
        self._offer(self.parts)

    def leave_out(self, frozen: Collection[int]) -> None:
        """Do not offer to give back these parts, by index, nor to give any back where these are all."""
        kept = [(value, word) for value, word in self.parts if int(value.rpartition(":")[2]) not in frozen]
        self._offer(kept)
        if not kept:
            decision = self.fields["decision"]
            assert isinstance(decision, forms.ChoiceField)
            decision.choices = [(value, word) for value, word in DECISIONS if value != Decision.REWORK]

    def only_stop(self) -> None:
        """Offer nothing else: the check is not finished."""
        self._offer([])
        decision = self.fields["decision"]
        assert isinstance(decision, forms.ChoiceField)
        decision.choices = [(value, word) for value, word in DECISIONS if value == Decision.STOPPED]
        decision.initial = Decision.STOPPED

    def _offer(self, parts: list[tuple[str, str]]) -> None:
        field = self.fields.get("rework")
        if isinstance(field, forms.ChoiceField):
            field.choices = parts
        if not parts:
            self.fields.pop("rework", None)


class GoldForm(forms.Form):
    """An item whose label is known."""

    position = forms.IntegerField(
        label=_("Position of the item"),
        min_value=1,
        max_value=2**31 - 1,
        help_text=_("As the page of items shows it."),
    )
    label = forms.ChoiceField(label=_("Its label"), choices=())
    note = Text(
        label=_("Where that is known from"),
        required=False,
        max_length=NOTE_LENGTH,
        widget=forms.Textarea(attrs={"rows": 2}),
    )

    def __init__(self, *args: Any, labels: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["label"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(labels)


class GoldFileForm(forms.Form):
    """A table of such items."""

    file = UploadedTable(
        label=_("Table"),
        help_text=_("Columns item_id or triple_id (or head, relation, tail), label, and note if you like."),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
