"""Downstream benchmarks, and what is submitted to them."""

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import TABLES, PlainInput, UploadedTable
from scoring.models import Benchmark


class BenchmarkForm(forms.Form):
    """A file of questions with what is right, and how it is scored."""

    name = forms.CharField(label=_("Name"), max_length=100, widget=PlainInput())
    kind = forms.ChoiceField(
        label=_("What models give"),
        choices=Benchmark.Kind.choices,
        initial=Benchmark.Kind.GENERATION,
        widget=forms.RadioSelect,
    )
    file = UploadedTable(
        label=_("File"),
        help_text=_(
            "CSV, TSV, JSONL or XLSX. For generations head, relation and reference, several rows of one pair, or a "
            "JSON list in references; for choices question_id and gold, with options (a JSON list) and skill if there "
            "are any."
        ),
        widget=forms.FileInput(attrs={"accept": TABLES}),
    )
    hypotheses = forms.ChoiceField(
        label=_("Of generations: which hypotheses are scored"),
        choices=Benchmark.Hypotheses.choices,
        initial=Benchmark.Hypotheses.FIRST,
        help_text=_("Published tables score the first."),
        widget=forms.RadioSelect,
    )
    cased = forms.BooleanField(
        label=_("Of generations: upper and lower case differ"),
        required=False,
        help_text=_("Published tables lower-case everything."),
    )


class BenchmarkSubmissionForm(forms.Form):
    """One file of what a model says."""

    file = UploadedTable(label=_("File"), widget=forms.FileInput(attrs={"accept": TABLES}))
    system = forms.CharField(label=_("System"), max_length=100, widget=PlainInput())
    run = forms.CharField(
        label=_("Run"),
        max_length=100,
        required=False,
        help_text=_("Such as a training seed. Runs of one system are shown as mean and spread."),
        widget=PlainInput(),
    )
    human = forms.BooleanField(
        label=_("These are people's answers"),
        required=False,
        help_text=_("They stand in a row of their own and are compared with no system."),
    )

    def __init__(self, *args: object, kind: str, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.fields["file"].help_text = (
            _("CSV, TSV, JSONL or XLSX with head, relation and hypothesis, or a JSON list in hypotheses.")
            if kind == Benchmark.Kind.GENERATION
            else _("CSV, TSV, JSONL or XLSX with question_id and choice.")
        )
