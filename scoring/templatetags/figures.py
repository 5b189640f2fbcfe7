"""Figures on report pages: rounded for people, a dash with its reason where there is none."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import Sentence
from annotation.services.sentences import translated
from annotation.templatetags.seat import in_language
from scoring import reports
from scoring.views.words import GROUPS, MEASURES, NOISE_MODELS, SPLITS, VALUES

register = template.Library()


@register.filter
def percent(value: float | None) -> str:
    """A percentage with two decimals."""
    return reports.percent(value)


@register.filter
def coefficient(value: float | None) -> str:
    """A coefficient with four decimals and its sign."""
    return reports.coefficient(value)


@register.filter
def percent_interval(bounds: Sequence[float] | None) -> str:
    """An interval of percentages."""
    return reports.interval(bounds, reports.percent)


@register.filter
def coefficient_interval(bounds: Sequence[float] | None) -> str:
    """An interval of a coefficient."""
    return reports.interval(bounds, reports.coefficient)


@register.filter
def reason(sentence: str | None) -> str:
    """Why there is no value, in the language of the page where it is a known sentence."""
    if isinstance(sentence, Sentence):
        return translated(sentence)
    return _(sentence) if sentence else ""


@register.filter
def split_word(split: str) -> str:
    """A split in words."""
    return str(SPLITS.get(split, split))


@register.filter
def group_word(group: str) -> str:
    """A group of triples as a table's head: all is a word, the others are names."""
    return _("all") if group == "all" else group


@register.filter
def spread(found: Any) -> str:
    """A mean over runs and, where there are several, their standard deviation below it."""
    mean, sd = (found["mean"], found["sd"]) if isinstance(found, Mapping) else (found.mean, found.sd)
    if mean is None or sd is None:
        return reports.percent(mean)
    return format_html(
        '{}<br><span class="small muted">± {}</span>', reports.percent(mean), reports.percent(sd)
    )


@register.filter
def group_title(name: str) -> str:
    """What a table goes by."""
    return str(GROUPS.get(name, name))


@register.filter
def value_word(value: str) -> str:
    """A row's head: a name as it is, a word in the language of the page."""
    return str(VALUES.get(value, value))


@register.filter
def p_value(value: float | None) -> str:
    """A p-value with four decimals."""
    return reports.p_shown(value)


@register.filter
def measure_word(name: str) -> str:
    """What is compared."""
    return str(MEASURES.get(name, name))


@register.filter
def heat(value: float | None) -> str:
    """How dark a share of wrong contexts is shown: six steps, as five contexts can be."""
    return "none" if value is None else str(round(value / 20))


@register.filter
def noise_model(name: str) -> str:
    """What experts' differences are taken for."""
    return str(NOISE_MODELS.get(name, name))


@register.filter
def answer_title(code: str, campaign: Campaign) -> str:
    """An answer of the scale in words."""
    return in_language(get_protocol(campaign.protocol).answer(code).words)


@register.simple_tag
def figure(found: Mapping[str, Any]) -> SafeString:
    """A coefficient's value, or a dash that says why to whoever points at it or has it read out."""
    if found["value"] is not None:
        return format_html("{}", reports.coefficient(found["value"]))
    why = reason(found["reason"])
    return format_html(
        '<abbr class="undefined" title="{}">–<span class="visually-hidden"> {}</span></abbr>', why, why
    )


@register.filter
def get(mapping: Mapping[str, Any], key: str) -> Any:
    """What a document holds under a key."""
    return mapping[key]
