"""What stands between two sentences on a page."""

from django import template
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def gap() -> str:
    """A blank; none in Chinese, whose full stops bring their own."""
    return "" if (get_language() or "").startswith("zh") else " "
