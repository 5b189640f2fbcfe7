"""Hours in words."""

from django import template
from django.utils.translation import gettext as _

from annotation.services.sentences import translated

register = template.Library()


@register.filter
def sentence(message: str | None) -> str:
    """Why something is unknown, in the language of the page."""
    return translated(message) if message else ""


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds to the nearest minute: "1 h 05 min", "−15 min", "under 1 min"; a dash where nothing was measured."""
    if seconds is None:
        return "–"
    if 0 < abs(seconds) < 30:
        return _("under 1 min")
    minutes = round(abs(seconds) / 60)
    sign = "−" if seconds < 0 and minutes else ""
    hours, minutes = divmod(minutes, 60)
    if hours:
        return sign + _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    return sign + _("%(minutes)d min") % {"minutes": minutes}
