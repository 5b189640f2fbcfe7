"""Opening a spot check, and ending it."""

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms.base import DayField, Text
from annotation.models import Campaign
from annotation.services.spot_checks import REASON_LENGTH as DECISION_LENGTH
from annotation.services.spot_checks import Decision, Error
from scoring.forms.shares import ShareField

ERRORS = {
    Campaign.Protocol.COMPOUND: _("a contrast with the checker: the opposite verdict"),
    Campaign.Protocol.TRIPLE: _("a contrast with the checker: a whole point apart"),
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
        choices=(),
        widget=forms.RadioSelect,
    )
    acceptable = forms.FloatField(label=_("Acceptable error rate in %"), min_value=0, max_value=100)
    rejectable = forms.FloatField(label=_("Rejectable error rate in %"), min_value=0, max_value=100)
    alpha = ShareField(label=_("Risk α to turn down a good part"), min_value=0.001, max_value=0.999)
    beta = ShareField(label=_("Risk β to pass a bad part"), min_value=0.001, max_value=0.999)
    n = forms.IntegerField(
        label=_("Units, by hand"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=_("Left empty: as many as the four numbers above ask for."),
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
        protocol: str,
        checkers: Sequence[tuple[str, str]],
        ready: Sequence[tuple[str, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.ready = ready
        errors = (
            (Error.CONTRAST, ERRORS[Campaign.Protocol(protocol)]),
            (Error.LABEL, _("another label, with the checker's answer in the expert's place")),
        )
        for name, choices in (("checker", checkers), ("parts", ready), ("error", errors)):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = list(choices)
        if protocol == Campaign.Protocol.COMPOUND:
            self.fields["n"].help_text = _(
                "Left empty: as many as the four numbers above ask for. A compound is one unit."
            )


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
