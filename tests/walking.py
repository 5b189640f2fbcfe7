"""Simulated experts at work over HTTP, and a watch over every answer they get.

An expert's opinion of an item is a function of their name and the item's text, so that a test can say beforehand where
they will differ. The watch knows what must not reach whom, and fails at the first answer that holds it.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import uuid4

from django.test import Client

from tests.browsing import Browser, Page

Opinion = Callable[[str, str], str]  # expert and text → label

# What may stand in a screen and in its rows, in JSON and in the data of a page.
SCREEN = {"id", "protocol", "position", "queue", "part", "postponed", "rows", "compound", "atoms"}
ROW = {"assignment", "revision", "answer"}
TRIPLE_ROW = ROW | {"head", "relation", "tail"}
COMPOUND_ROW = ROW | {"source", "span", "translation", "raw", "reference"}
ANSWER = {"label", "cannot_judge", "problem", "detail", "reasons", "atoms", "note", "flag"}
# Members that no JSON for an expert has, at whatever depth.
NEVER = re.compile(
    r"class|item_class|split|score|scores|system|run|gold|repeat|repeats|slot|expert|experts|annotator|pseudonym|"
    r"round|kind|imported_label|final_label|labels|exposed|retired|key|unit|item|sample|stratum|thread",
)
# Nor do tags bear such a mark.
MARKED = re.compile(
    r"<[^>]*\b(?:gold|repeats?|exposed|imported|item_class|spot_check)\b[^>]*>", re.IGNORECASE
)
FIXED = {"words", "urls", "reasons"}  # of a page's data: the same for everybody
OWN_DATA = "/account/data/file/"
OF_OWN_DATA = {"pseudonym", "round", "kind"}  # one's own, of one's own answers, and of one's hours
BESIDE = ("history", "guidelines", "practice", "hours", "my-questions", "examples")
OUTSIDE = (OWN_DATA, "/", "/account/", "/account/data/")
LOOKED_INTO = 2  # threads at a time: there are many, and all are made alike
# What a row's fields in a form go by; 0 is that of the empty row which the script copies.
ROW_FIELD = re.compile(r'name="(?:label|cause|reasons|atoms|flag|note|problem|revision)-([1-9]\d*)"')
# More rows than any campaign here stores: no number of a row at the seat is as small as a primary key.
STORED = 10**6
# When a form was made, signed: a signature may spell anything, a pseudonym too.
SIGNED = re.compile(r'(<input type="hidden" name="painted" value="[\d.]+):[\w-]{43}(?=")')
JSON_IN_PAGE = re.compile(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', re.DOTALL)


class Leak(AssertionError):
    """An expert got something that was not for them."""


@dataclass
class Watch:
    """Looks at everything that experts receive, as it arrives.

    `secret`: what nobody may see. `names`: by expert the words by which they are known, seen by themselves alone.
    `notes`: by expert what they typed, seen by others only where `open_to` says so.
    """

    secret: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)
    notes: dict[str, set[str]] = field(default_factory=dict)
    open_to: dict[str, set[str]] = field(default_factory=dict)
    own: dict[tuple[str, int], str | None] = field(default_factory=dict)  # the last label sent, by assignment
    stage: str = ""
    seen: Counter[str] = field(default_factory=Counter)  # answers looked at, by stage

    def receiver(self, expert: str) -> Callable[[str, int, str, str], None]:
        """What an expert's browser calls with every answer."""

        def received(address: str, status: int, kind: str, body: str) -> None:
            assert status < 500, f"{status} at {address}"
            self.seen[self.stage] += 1
            for problem in self.problems(expert, kind, body, own_data=address.startswith(OWN_DATA)):
                raise Leak(f"{expert} at {address} ({self.stage}): {problem}")

        return received

    def problems(self, expert: str, kind: str, body: str, *, own_data: bool = False) -> Iterator[str]:
        """What is wrong with one answer. `own_data`: it is what is kept about this expert, as they may ask for it."""
        for word in self.secret - self.open_to.get(expert, set()):
            if word in body:
                yield f"holds “{word}”"
        unsigned = SIGNED.sub(r"\1", body)
        for other, words in self.names.items():
            strange = words - self.names.get(expert, set())
            if other != expert and strange:
                anybody = "|".join(map(re.escape, sorted(strange)))
                for word in re.findall(rf"(?<![A-Za-z0-9])(?:{anybody})(?![A-Za-z0-9])", unsigned):
                    yield f"names {other} (“{word}”)"
        for other, notes in self.notes.items():
            typed = notes - self.open_to.get(expert, set()) if other != expert else set()
            if found := [note for note in typed if note in body]:
                yield f"holds what {other} typed: {found[:3]}"
        if "html" in kind:
            yield from _bare(ROW_FIELD.findall(body))
            yield from (f"marks something: {marked[0][:200]}" for marked in MARKED.finditer(body))
        documents = [body] if "json" in kind else JSON_IN_PAGE.findall(body)
        for document in documents:
            yield from self._odd(expert, json.loads(document), may=OF_OWN_DATA if own_data else set())

    def _odd(self, expert: str, found: Any, *, may: Set[str]) -> Iterator[str]:
        """Members that should not be there, and answers that this expert did not give."""
        if isinstance(found, list):
            for one in found:
                yield from self._odd(expert, one, may=may)
        if not isinstance(found, dict):
            return
        if "assignment" in found and "answer" in found:
            yield from self._odd_row(expert, found)
        if "rows" in found and not set(found) <= SCREEN:
            yield f"a screen has {sorted(set(found) - SCREEN)}"
        yield from _bare(_row_numbers(found))
        for name, value in found.items():
            if (NEVER.fullmatch(name) and name not in may) or value == "repeat":
                yield f"has a member “{name}”: {str(value)[:80]}"
            if name not in FIXED:
                yield from self._odd(expert, value, may=may)

    def _odd_row(self, expert: str, row: Mapping[str, Any]) -> Iterator[str]:
        if not (set(row) <= TRIPLE_ROW or set(row) <= COMPOUND_ROW):
            yield f"a row has {sorted(set(row) - TRIPLE_ROW - COMPOUND_ROW)}"
        answer = row["answer"]
        if answer is None:
            return
        if set(answer) - ANSWER:
            yield f"an answer has {sorted(set(answer) - ANSWER)}"
        given = self.own.get((expert, row["assignment"]))
        if given is None or answer["label"] != given:
            yield f"shows the answer {answer['label']}, where {expert} had answered {given}"


def _row_numbers(found: Mapping[str, Any]) -> list[Any]:
    """By what a JSON object names rows: a screen, a row of it, where its words begin."""
    screen = found["id"] if "rows" in found else None
    return [number for number in (screen, found.get("assignment"), *found.get("starts", ())) if number]


def _bare(numbers: Iterable[int | str]) -> Iterator[str]:
    for number in numbers:
        if int(number) < STORED:
            yield f"names a row by {number}, as the database does"


# What tells some screens from others


def told_apart(shown: Sequence[Mapping[str, Any]], marked: Set[int], *, reach: int = 3) -> dict[str, float]:
    """By which fields somebody could tell the marked screens from the rest, and how well: 0.5 is by chance.

    `shown` are screens in the order in which they came, `marked` says which of them. A screen is compared with those
    that came close before and after it, since everything else changes over a campaign: for each number that it bears,
    how often a marked one stands higher among its neighbours than another does (Mann and Whitney). A field that not
    all screens have, or have in another order, tells at once.
    """
    fields = [dict(_numbers(screen)) for screen in shown]
    found = {name: 1.0 for one in fields for name in fields[0].keys() ^ one.keys()}
    if any(_order(screen) != _order(shown[0]) for screen in shown):
        found["order"] = 1.0
    for name in fields[0].keys() - found.keys():
        values = [one[name] for one in fields]
        heights = [_height(values, place, reach) for place in range(len(values))]
        others = [height for place, height in enumerate(heights) if place not in marked]
        pairs = [
            (heights[place] > other) + (heights[place] == other) / 2 for place in marked for other in others
        ]
        found[name] = sum(pairs) / len(pairs)
    return found


def _numbers(found: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a screen but those of one's own answer, with how many there are in its lists."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name != "answer":
                yield from _numbers(value, f"{path}.{name}".lstrip("."))
    elif isinstance(found, list):
        yield f"{path}[]", len(found)
        for place, value in enumerate(found):
            yield from _numbers(value, f"{path}[{place}]")
    elif isinstance(found, bool | int | float):
        yield path, float(found)


def _order(found: Any) -> Any:
    """The names in a screen, in their order."""
    if isinstance(found, dict):
        return [(name, _order(value)) for name, value in found.items() if name != "answer"]
    return [_order(value) for value in found] if isinstance(found, list) else None


def _height(values: Sequence[float], place: int, reach: int) -> float:
    """The share of its neighbours above which a value stands."""
    near = [*values[max(0, place - reach) : place], *values[place + 1 : place + 1 + reach]]
    return sum((values[place] > other) + (values[place] == other) / 2 for other in near) / len(near)


def share(seed: int, *words: object) -> float:
    """A number between 0 and 1, the same for the same words."""
    return Random("\n".join(map(str, (seed, *words)))).random()


KEYS = {"1": "often", "0.5": "sometimes", "0": "rarely"}  # of a triple's labels, as a screen names them


@dataclass
class Expert:
    """One expert in front of a browser. `said` is what they answered: by what they were about, text → label."""

    name: str
    browser: Browser
    watch: Watch
    slug: str
    opinion: Opinion
    headers: dict[str, str] = field(default_factory=dict)  # with a personal key, in place of the sign-in
    said: dict[str, dict[str, str]] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)  # what came once more within one stage
    shown: dict[str, list[Any]] = field(default_factory=dict)  # the screens, by what they were about
    note_of: Callable[[str, str], str] = lambda _expert, _text: ""

    @property
    def here(self) -> str:
        return f"/api/v1/campaigns/{self.slug}"

    def call(self, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The interface for programs."""
        client = Client() if self.headers else self.browser.client
        address = f"{self.here}/{path}"
        if body is None:
            answer = client.get(address, headers=self.headers)
        else:
            answer = client.post(
                address, json.dumps(body), content_type="application/json", headers=self.headers
            )
        text = answer.content.decode()
        self.watch.receiver(self.name)(address, answer.status_code, "application/json", text)
        assert answer.status_code == status, f"{answer.status_code} at {address}: {text[:500]}"
        return json.loads(text)

    def judge(self, about: str, sitting: str, *, most: int | None = None) -> list[str]:
        """Answer what comes next, at most so many screens; the texts in the order in which they came."""
        judged: list[str] = []
        while most is None or len(judged) < most:
            wanted = 100 if most is None else min(100, most - len(judged))
            units = self.call(f"next/?count={wanted}")["units"]
            if not units:
                break
            self.shown.setdefault(about, []).extend(units)
            for screen in units:
                judged.append(self._answer(screen, about, sitting, place=len(judged) + 1))
        return judged

    def _answer(self, screen: Mapping[str, Any], about: str, sitting: str, *, place: int) -> str:
        rows, texts = [], []
        for row in screen["rows"]:
            text = row.get("tail") or row["raw"]
            label = self._label(text, about)
            note = self.note_of(self.name, text)
            rows.append(
                {
                    "assignment": row["assignment"],
                    "revision": row["revision"],
                    "label": label,
                    "note": note or None,
                }
            )
            if note:
                self.watch.notes.setdefault(self.name, set()).add(note)
            self.watch.own[self.name, row["assignment"]] = (
                KEYS[label] if "tail" in row else {"1": "correct", "0": "wrong"}[label]
            )
            texts.append(text)
        body = {
            "client_key": str(uuid4()),
            "answers": rows,
            "seconds": 4.0,
            "session": f"{self.name}-{sitting}",
            "session_position": place,
            "count": 1,
            "after": screen["queue"],
        }
        self.call(f"units/{screen['id']}/answers/", body)
        return str(texts[0])

    def _label(self, text: str, about: str) -> str:
        said = self.said.setdefault(about, {})
        if text in said:  # it came again, unmarked
            self.again[text] = said[text]
            return said[text]
        said[text] = self.opinion(self.name, text)
        return said[text]

    def look_around(self, *, everywhere: bool = True) -> dict[str, Page]:
        """What an expert can open in this campaign, and what programs may ask; or what changes as one works."""
        here = f"/campaigns/{self.slug}"
        names = ("work", "judge", "settled", *(BESIDE if everywhere else ()))
        pages = {name: self.browser.get(f"{here}/{name}/") for name in names}
        pages["discussion"] = self.browser.get(f"{here}/discussion/", show="all")
        for place in OUTSIDE if everywhere else ():
            pages[place] = self.browser.get(place)
        parts = self.call("next/?count=10")["progress"]["parts"]
        for part in parts if everywhere else parts[-1:]:
            pages[f"part {part['index']}"] = self.browser.get(f"{here}/parts/{part['index']}/hand-in/")
        for screen in self.call("recent/?count=20")["units"][:1]:
            self.call(f"screens/{screen['position']}/")
            if everywhere:
                self.call(f"screens/{screen['position']}/words/")
                self.browser.get(f"{here}/judge/", position=screen["position"])
        threads = sorted(set(re.findall(r"/discussion/(\d+)/", pages["discussion"].body)))
        for thread in threads[:LOOKED_INTO]:
            pages[f"thread {thread}"] = self.browser.get(f"{here}/discussion/{thread}/")
        return pages

    def find(self, words: str) -> Page:
        """Search among one's own answers."""
        return self.browser.get(f"/campaigns/{self.slug}/history/", q=words)

    def is_kept_out(self, paths: Iterable[str]) -> None:
        """Pages of managers, and what programs of theirs may ask, do not exist for an expert."""
        for path in paths:
            answer = self.browser.client.get(path)
            assert answer.status_code == 404, f"{answer.status_code} at {path}"
            said = answer.content.decode().replace(path, "")  # the page's forms lead back to where one was
            self.watch.receiver(self.name)(path, 404, answer.headers.get("Content-Type", ""), said)
