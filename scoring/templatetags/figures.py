"""Figures on report pages: rounded for people, a dash with its reason where there is none."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.protocol.sentences import Sentence
from annotation.services.sentences import translated
from annotation.services.wording import wording_of
from annotation.templatetags.manage import breakable, label_word, reason_word, split_word
from annotation.templatetags.seat import in_language
from scoring import reports
from scoring.views.papers import Texts, papers_on
from scoring.views.words import (
    GROUPS,
    MEASURE_TITLES,
    MEASURES,
    MODEL_TITLES,
    NOISE_MODELS,
    STATE_WORDS,
    VALUES,
)

register = template.Library()


def minus(figures: str) -> str:
    """As they stand on a page: with the sign; a file has the hyphen, which programs read."""
    return figures.replace("-", "−")


@register.filter
def percent(value: float | None) -> str:
    """A percentage with two decimals."""
    return minus(reports.percent(value))


@register.filter
def with_sign(figures: str) -> str:
    """A percentage with its sign, as the language of the page writes it."""
    return _("%(figures)s\u00a0%%") % {"figures": figures}


@register.filter
def in_percent(value: float | None) -> str:
    """A percentage with two decimals and its sign; none where it is not known."""
    return percent(value) if value is None else with_sign(percent(value))


@register.filter
def coefficient(value: float | None) -> str:
    """A coefficient with four decimals and its sign."""
    return minus(reports.coefficient(value))


@register.filter
def percent_interval(bounds: Sequence[float] | None) -> str:
    """An interval of percentages."""
    return _between(reports.interval(bounds or None, reports.percent))


@register.filter
def coefficient_interval(bounds: Sequence[float] | None) -> str:
    """An interval of a coefficient."""
    return _between(reports.interval(bounds, reports.coefficient))


def _between(interval: str) -> str:
    """An interval on a page; beside a minus sign the dash between two bounds would read as one more."""
    return minus(interval.replace(" – ", f" {_('to')} ")) if "-" in interval else interval


@register.filter
def reason(sentence: str | None) -> str:
    """Why there is no value, in the language of the page where it is a known sentence."""
    if isinstance(sentence, Sentence):
        return translated(sentence)
    return _(sentence) if sentence else ""


@register.filter
def reasons(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why values, intervals or p-values of a table are not there; each once."""
    return reports.reasons(found)


@register.filter
def any_reason(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any row of a table says why a figure is not there."""
    return any(row.get("reason") for row in rows)


@register.filter
def warnings(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be kept in mind about the figures of a table; each once."""
    return reports.warnings(found)


@register.filter
def over_runs(counts: Sequence[int] | None) -> str:
    """How many there are in each run of a system."""
    return reports.over_runs(counts)


@register.filter
def spread_reasons(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why a table of systems lacks a standard deviation; each once."""
    return reports.why([one for one in found if one["sd"] is None], "sd_reason")


@register.filter
def rate_reasons(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Why rates of a table of error rates are not there; each once."""
    rates = (row[name] for row in rows.values() for name in ("instance", "aggregate", "all_contexts_wrong"))
    return reports.reasons([rate for rate in rates if rate["percent"] is None])


register.filter(split_word)


@register.filter
def group_word(group: str) -> str:
    """A group of triples as a table's head: all is a word, the others are names."""
    return _("all") if group == "all" else group


@register.filter
def group_words(groups: Sequence[str]) -> str:
    """Several groups in one row."""
    return _(", ").join(group_word(group) for group in groups)


@register.filter
def spread(found: Any) -> str:
    """A mean over runs; below it, where there are several, their standard deviation; below that the interval, where
    the reader may see it."""
    of = found if isinstance(found, Mapping) else {"mean": found.mean, "sd": found.sd, "ci95": found.ci95}
    below = [f"± {reports.percent(of['sd'])}"] if of["mean"] is not None and of["sd"] is not None else []
    below += [reports.interval(of["ci95"], reports.percent)] if of.get("ci95") else []
    lines = format_html_join("", '<br><span class="small muted">{}</span>', ((line,) for line in below))
    return format_html("{}{}", reports.percent(of["mean"]), lines)


@register.filter
def group_title(name: str) -> str:
    """What a table goes by."""
    return str(GROUPS.get(name, name))


@register.filter
def value_word(value: str) -> str:
    """A row's head: a name as it is, a word in the language of the page, a range with its dash."""
    first, _hyphen, last = value.partition("-")
    if first.isdecimal() and last.isdecimal():
        return f"{first}–{last}"
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
    """An answer of the scale, as the campaign calls it."""
    return in_language(wording_of(campaign).answer_words(get_protocol(campaign.protocol).answer(code)))


register.filter(breakable)


@register.filter
def row_word(value: str) -> str:
    """What a row stands for; a pattern may break behind each of its signs."""
    parts = re.split(r"(?<=[+:])(?=\S)", value_word(value))
    return format_html_join(SafeString("<wbr>"), "{}", ((part,) for part in parts))


@register.filter
def state_word(state: str, campaign: Campaign) -> str:
    """A final label in words, or why there is none."""
    if state in ("1", "0"):
        return label_word(state, campaign)
    return str(STATE_WORDS[state]) if state in STATE_WORDS else reason_word(state)


@register.filter
def model_word(name: str) -> str:
    """A label model in words."""
    return str(MODEL_TITLES.get(name, name))


@register.filter
def is_same_rule(document: Mapping[str, Any]) -> bool:
    """Whether a what-if compares labels with the rule that they come from."""
    labels, to = document["labels"], document["to"]
    return not to["model"] and (labels["rule"], labels["version"]) == (to["rule"], to["version"])


@register.filter
def points(value: float | None) -> str:
    """A difference of percentages, with its sign; none has none."""
    if value is None:
        return "–"
    return minus(f"{value:+.2f}") if round(value, 2) else "0.00"


@register.simple_tag
def figure(found: Mapping[str, Any]) -> SafeString:
    """A coefficient's value, or a dash that says why to whoever points at it or has it read out."""
    if found["value"] is not None:
        return format_html("{}", coefficient(found["value"]))
    why = reason(found["reason"])
    return format_html(
        '<abbr class="undefined" title="{}">–<span class="visually-hidden"> {}</span></abbr>', why, why
    )


@register.simple_tag
def share(found: Mapping[str, Any]) -> SafeString:
    """A percentage with its interval below it, or a dash that says why."""
    if found["percent"] is not None:
        return format_html(
            '<strong>{}</strong><br><span class="small muted">{}</span>',
            reports.percent(found["percent"]),
            reports.interval(found["ci95"], reports.percent),
        )
    why = reason(found["reason"])
    return format_html(
        '<abbr class="undefined" title="{}">–<span class="visually-hidden"> {}</span></abbr>', why, why
    )


@register.simple_tag
def measured(row: Mapping[str, Any], name: str) -> SafeString | str:
    """A row's figure of that name and, where it stands in the row, its interval below it."""
    value = reports.percent(row[name])
    bounds = row.get(f"{name}_ci95")
    if bounds is None:
        return value
    return format_html(
        '{}<br><span class="small muted">{}</span>', value, reports.interval(bounds, reports.percent)
    )


@register.simple_tag(takes_context=True)
def behind(context: Context, number: int, of: str, **row: str) -> SafeString | str:
    """A number that opens the list of its items; nought opens nothing. `row` says where it stands.

    While answers are open the list is a manager's to ask for: to others the number opens nothing.
    """
    standing = context.get("standing")
    if not number or (getattr(standing, "open_answers", None) and not context.get("manages")):
        return f"{number:,}"
    options = context["choice"].options
    asked = {name: getattr(options, name) for name in ("system", "run", "labels", "rule", "model")}
    chosen = {**asked, "of": of, **row}
    query = urlencode({name: value for name, value in chosen.items() if value is not None})
    page = reverse("report_items", args=[context["campaign"].slug, context["kind"].name])
    return format_html('<a class="behind" href="{}?{}">{}</a>', page, query, f"{number:,}")


@register.simple_tag
def papers(kind: str, campaign: Campaign) -> tuple[str | Promise, Texts] | None:
    """Which paper, and why figures of this kind differ from those it prints; None where nothing is known."""
    return papers_on(kind, campaign.protocol)


@register.filter
def words(text: str) -> list[str]:
    """The names that a template writes in one string."""
    return text.split()


@register.filter
def measure_title(name: str) -> str:
    """A measure at the head of a column."""
    return str(MEASURE_TITLES.get(name, name))


@register.filter
def part_word(index: str) -> str:
    """A part as people call it: they count from 1."""
    return str(int(index) + 1) if index.isdecimal() else index


@register.filter
def beside(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Two lists of one length, entry by entry."""
    return list(zip(first, second, strict=True))


@register.filter
def get(mapping: Mapping[str, Any], key: str) -> Any:
    """What a document holds under a key."""
    return mapping[key]
