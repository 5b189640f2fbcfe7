"""Evidence on the page: shares and times in one line."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.translation import gettext as _

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.services.wording import wording_of
from annotation.templatetags.seat import in_language
from scoring import reports
from scoring.templatetags.figures import reason

register = template.Library()


@register.filter
def share_line(share: Mapping[str, Any]) -> str:
    """A share of so many, with its interval, or why there is none."""
    if share["percent"] is None:
        return reason(share.get("reason"))
    return _("%(percent)s %% of %(n)s (95 %% interval %(interval)s)") % {
        "percent": reports.percent(share["percent"]),
        "n": f"{share['n']:,}",
        "interval": reports.interval(share["ci95"], reports.percent),
    }


@register.filter
def middle(times: Mapping[str, Any]) -> str:
    """A median with its quartiles, in seconds, or why there is none."""
    if times["median"] is None:
        return reason(times.get("reason"))
    low, high = times["quartiles"]
    return _("median %(median).1f s, quartiles %(low).1f to %(high).1f s, of %(n)s") % {
        "median": times["median"],
        "low": low,
        "high": high,
        "n": f"{times['n']:,}",
    }


@register.filter
def range_word(screens: str) -> str:
    """The first and the last screen of a range, with the dash that stands between numbers."""
    return screens.replace("-", "–")


@register.filter
def given_label(label: str, campaign: Campaign) -> str:
    """An answer in the campaign's words."""
    wording = wording_of(campaign)
    return in_language(wording.answer_words(get_protocol(campaign.protocol).answer(label)))
