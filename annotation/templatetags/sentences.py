"""What stands between two sentences on a page, and what is not torn at the end of a line."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def gap() -> str:
    """A blank; none in Chinese, whose full stops bring their own."""
    return "" if (get_language() or "").startswith("zh") else " "


@register.filter
def whole(words: str) -> SafeString:
    """A date or a figure in a text, which stays in one line."""
    return format_html('<span class="keep">{}</span>', words)
