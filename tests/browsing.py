"""A browser without scripts: it fetches pages and sends their forms as they stand, with what a person fills in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client

from tests.pages import words_of

Fields = list[tuple[str, str]]
Received = Callable[[str, int, str, str], None]  # address, status, content type, body


@dataclass
class Button:
    """What sends a form, and the name and value that go with it."""

    text: str
    name: str
    value: str
    action: str | None
    disabled: bool


@dataclass
class Form:
    """A form as it stands: what would be sent, which names it has, and what may be chosen under them."""

    action: str
    method: str
    fields: Fields = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    offered: dict[str, set[str]] = field(default_factory=dict)
    buttons: list[Button] = field(default_factory=list)

    def filled(self, values: Mapping[str, Any]) -> dict[str, list[Any]]:
        """What the browser sends once a person has filled in `values`; a list ticks several boxes."""
        sent: dict[str, list[Any]] = {}
        for name, value in self.fields:
            sent.setdefault(name, []).append(value)
        for name, given in values.items():
            assert name in self.names, f"the form has no field {name}, only {sorted(self.names)}"
            chosen = list(given) if isinstance(given, list | tuple) else [given]
            for value in chosen:
                offered = self.offered.get(name)
                assert offered is None or str(value) in offered, f"{value} is no choice of {name}: {offered}"
            sent[name] = chosen
        return sent


class _Reader(HTMLParser):
    """The forms of a page, in their order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: tuple[str, bool, list[tuple[str, bool]]] | None = None  # name, several, options
        self._said: list[str] | None = None  # the text of a button or textarea that is open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(given.get("action", ""), given.get("method", "get").lower())
            self.forms.append(self._form)
        if self._form is None:
            return
        match tag:
            case "input":
                self._input(self._form, given)
            case "select":
                self._select = given["name"], "multiple" in given, []
            case "option" if self._select:
                self._select[2].append((given.get("value", ""), "selected" in given))
            case "textarea":
                self._textarea, self._said = given.get("name", ""), []
            case "button":
                self._said = []
                pressed = Button(
                    "",
                    given.get("name", ""),
                    given.get("value", ""),
                    given.get("formaction"),
                    "disabled" in given,
                )
                self._form.buttons.append(pressed)

    def _input(self, form: Form, given: Mapping[str, str]) -> None:
        name, kind = given.get("name", ""), given.get("type", "text")
        if not name or "disabled" in given:
            return
        form.names.add(name)
        if kind in ("checkbox", "radio"):
            form.offered.setdefault(name, set()).add(given.get("value", "on"))
            if "checked" in given:
                form.fields.append((name, given.get("value", "on")))
        elif kind not in ("file", "submit", "button"):
            form.fields.append((name, given.get("value", "")))

    def handle_data(self, data: str) -> None:
        if self._said is not None:
            self._said.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._form is None:
            return
        match tag:
            case "form":
                self._form = None
            case "select" if self._select:
                self._end_select(self._form, *self._select)
                self._select = None
            case "textarea" if self._said is not None:
                text, self._said = "".join(self._said), None
                if self._textarea:
                    self._form.names.add(self._textarea)
                    self._form.fields.append((self._textarea, text.removeprefix("\n")))
            case "button" if self._said is not None:
                text, self._said = " ".join("".join(self._said).split()), None
                self._form.buttons[-1].text = text

    @staticmethod
    def _end_select(form: Form, name: str, several: bool, options: Sequence[tuple[str, bool]]) -> None:
        form.names.add(name)
        form.offered[name] = {value for value, _chosen in options}
        chosen = [value for value, selected in options if selected]
        if not several and options:
            chosen = chosen[-1:] or [options[0][0]]
        form.fields += [(name, value) for value in chosen]


@dataclass(frozen=True)
class Page:
    """A page at its address, as it was received."""

    address: str
    status: int
    body: str

    @property
    def forms(self) -> list[Form]:
        reader = _Reader()
        reader.feed(self.body)
        return reader.forms

    @property
    def text(self) -> str:
        """Its words, blanks run together."""
        return words_of(self.body)


def text_sent(response: HttpResponseBase) -> str:
    """What was sent, streamed or at once; what is no text counts as its bytes one by one."""
    content = response.getvalue() if isinstance(response, StreamingHttpResponse) else response.content  # type: ignore[attr-defined]
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        return bytes(content).decode("latin-1")


class Browser:
    """Somebody's browser. `received` is told of every answer it gets."""

    def __init__(self, client: Client, received: Received = lambda *_answer: None) -> None:
        self.client = client
        self.received = received

    def get(self, address: str, *, status: int = 200, **query: Any) -> Page:
        """The page there, redirections followed; fails on any other status."""
        return self._taken(self.client.get(address, query), status)

    def press(
        self, page: Page, button: str, *, action: str = "", having: str = "", status: int = 200, **values: Any
    ) -> Page:
        """Fill in the form with this button, whose address ends with `action` and which has a field `having`, and
        press it.
        """
        found = [
            (form, one)
            for form in page.forms
            for one in form.buttons
            if one.text == button
            and (one.action or form.action or page.address).endswith(action)
            and (not having or having in form.names)
        ]
        assert len(found) == 1, f"{len(found)} buttons “{button}” on {page.address}: {page.text[:2000]}"
        form, pressed = found[0]
        assert not pressed.disabled, f"“{button}” on {page.address} cannot be pressed"
        assert form.method == "post"
        sent = form.filled(values)
        if pressed.name:
            sent[pressed.name] = [pressed.value]
        address = urljoin(page.address, (pressed.action or form.action).partition("#")[0])
        return self._taken(self.client.post(address, sent), status)

    def _taken(self, response: Any, status: int) -> Page:
        """The answer, and what it redirects to."""
        for _hop in range(5):
            asked = response.request
            address = asked["PATH_INFO"] + (f"?{asked['QUERY_STRING']}" if asked["QUERY_STRING"] else "")
            body = text_sent(response)
            self.received(address, response.status_code, response.headers.get("Content-Type", ""), body)
            if response.status_code not in (301, 302, 303):
                break
            response = self.client.get(urljoin(address, response.headers["Location"]))
        page = Page(address, response.status_code, body)
        assert page.status == status, f"{page.status} at {page.address}: {page.text[:2000]}"
        return page
