"""Pages as their readers see them."""

import html
import re

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from annotation.models import User


def client_of(user: User, *, language: str = "en") -> Client:
    """A browser in which this person is signed in."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    client.cookies["django_language"] = language
    return client


def text_of(response: HttpResponseBase) -> str:
    """The words of a page, without its tags, blanks run together."""
    return words_of(body_of(response))


def words_of(body: str) -> str:
    """The same for a page as it was sent."""
    body = re.sub(r"<script.*?</script>", " ", body, flags=re.DOTALL)
    body = re.sub(r'<span class="keep">([^<]*)</span>|<wbr>', r"\1", body)  # how lines break, no blank
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body))).strip()


def body_of(response: HttpResponseBase) -> str:
    """The page as it was sent."""
    assert isinstance(response, HttpResponse)
    return response.content.decode()


def hidden(response: HttpResponseBase, name: str) -> str:
    """The value of a form's hidden field or button."""
    found = re.search(rf'name="{name}" value="([^"]*)"', body_of(response))
    assert found, f"there is no field {name}"
    return html.unescape(found.group(1))
