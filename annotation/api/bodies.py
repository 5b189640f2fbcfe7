"""What programs and the seat send, as typed structures; anything else is named by its place in the body."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from django.http import HttpRequest
from msgspec import Meta, Struct

from annotation.formats.cells import excerpt
from annotation.protocol.errors import ProtocolError
from annotation.services.seat_numbers import assignment_of
from annotation.services.sheets import Answer, Sheet, Timing

# Nothing is let in that a column of PostgreSQL cannot hold.
Id = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=1e7)]
MOST_ROWS = 1000  # of a screen: a compound side by side holds every distinct translation of all its contexts
Word = Annotated[str, Meta(max_length=40, pattern=r"^[^\x00]*$")]


class AnswerBody(Struct, forbid_unknown_fields=True):
    """One row's answer: a label in any accepted spelling, or the cause why it cannot be judged.

    `assignment` is the number under which the caller was given the row.
    """

    assignment: Id
    revision: Annotated[int, Meta(ge=0, le=1_000_000)]
    label: str | int | float | bool | None = None
    cannot_judge: Word | None = None
    problem: Word | None = None
    detail: Word | None = None
    reasons: Annotated[list[Word], Meta(max_length=10)] = []
    atoms: Annotated[list[Count], Meta(max_length=20)] = []
    note: str | None = None
    flag: bool = False

    def answer(self, expert: int) -> Answer:
        """The answer of this expert as the service takes it."""
        return Answer(
            assignment=assignment_of(self.assignment, expert=expert),
            revision=self.revision,
            label=_label(self.label),
            cannot_judge=self.cannot_judge or "",
            problem=self.problem or "",
            detail=self.detail or "",
            reasons=tuple(self.reasons),
            atoms=tuple(self.atoms),
            note=self.note or "",
            unsure=self.flag,
        )


def _label(given: str | float | bool | None) -> str:
    if isinstance(given, bool):
        return str(given).lower()
    return "" if given is None else str(given)


class ConditionsBody(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What stood before the expert when they answered; what is not said is taken from the request and the campaign.

    `rest`: how many rows of a compound were answered by “rest correct”, the key `a` or its button. `display`: whether
    one translation of each context stood on the screen, or all of a context side by side.
    """

    language: Literal["en", "zh-hans"] | None = None
    reference: Literal["hidden", "on_demand", "shown"] | None = None
    highlight: Literal["source", "translation"] | None = None
    rest: Annotated[int, Meta(ge=0, le=MOST_ROWS)] | None = None
    display: Literal["alone", "side_by_side"] | None = None


class SheetBody(Struct, forbid_unknown_fields=True):
    """The answers to one screen. `guideline` is the id of the version they were given under; left out, or one that
    their author has not acknowledged, it is the last one they know.
    """

    client_key: UUID
    answers: Annotated[list[AnswerBody], Meta(min_length=1, max_length=MOST_ROWS)]
    seconds: Seconds | None = None
    visible_seconds: Seconds | None = None
    active_seconds: Seconds | None = None
    session: Annotated[str, Meta(max_length=36, pattern=r"^[^\x00]*$")] | None = None
    session_position: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    reference_seen: bool | None = None
    guideline: Id | None = None
    conditions: ConditionsBody | None = None
    after: Count | None = None
    count: Annotated[int, Meta(ge=0, le=200)] = 1

    def sheet(self, unit: int, *, expert: int) -> Sheet:
        """The sheet of this expert as the service takes it."""
        return Sheet(
            screen=assignment_of(unit, expert=expert),
            client_key=self.client_key,
            answers=tuple(answer.answer(expert) for answer in self.answers),
            timing=Timing(
                seconds=self.seconds,
                visible_seconds=self.visible_seconds,
                active_seconds=self.active_seconds,
                session=self.session or "",
                session_position=self.session_position,
            ),
            reference_seen=self.reference_seen,
            guideline=self.guideline,
            conditions=msgspec.to_builtins(self.conditions) if self.conditions else {},
        )


class UnitSheetBody(SheetBody, kw_only=True):
    """The answers to one screen among those of others; `unit` is the screen's id."""

    unit: Id


class SheetsBody(Struct, forbid_unknown_fields=True):
    """The answers to several screens, in the order in which they were given."""

    sheets: Annotated[list[UnitSheetBody], Meta(min_length=1, max_length=20)]


class LaterBody(Struct, forbid_unknown_fields=True):
    """The rows of the screen to put at the end of one's part."""

    assignments: Annotated[list[Id], Meta(min_length=1, max_length=MOST_ROWS)]


B = TypeVar("B", bound=Struct)

_MESSAGE = 300  # characters of what is wrong, which may quote a name of any length
_NULL = {"type": "null"}


def read_body(request: HttpRequest, kind: type[B]) -> B:
    """The request's JSON body; a ProtocolError says where it is not what it should be, or holds an unknown member, or
    one twice.
    """
    try:
        body = msgspec.json.decode(request.body, type=kind)
        refuse_twice(request.body.decode())
        return body
    except msgspec.ValidationError as error:
        raise ProtocolError(f"The body is not as it should be: {excerpt(str(error), _MESSAGE)}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, json.JSONDecodeError):
        raise ProtocolError("The body is not JSON in UTF-8.") from None
    except RecursionError:
        raise ProtocolError("The body is nested too deeply.") from None


def refuse_twice(text: str) -> None:
    """Raise a ProtocolError with the place of the first object that names a member twice: programs differ in which of
    the two they take.
    """
    uneven: list[int] = []  # nothing else is kept of the objects, however many there are

    def note(members: list[tuple[str, Any]]) -> None:
        if len(dict(members)) < len(members):
            uneven.append(len(members))

    _decoder(note).decode(text)
    if not uneven:
        return
    steps, name = _named_twice(_decoder(_Members).decode(text)) or ([], "")
    place = excerpt("$" + "".join(reversed(steps)))
    raise ProtocolError(
        f"The body is not as it should be: Object names the member “{excerpt(name)}” twice - at `{place}`."
    )


class _Members(tuple[tuple[str, Any], ...]):
    """An object with its members as they were given."""

    __slots__ = ()


def _decoder(pairs: Callable[[list[tuple[str, Any]]], Any]) -> json.JSONDecoder:
    """A reader that keeps numbers as they are written, since they have been checked already."""
    return json.JSONDecoder(object_pairs_hook=pairs, parse_int=str, parse_float=str)


def _named_twice(found: Any) -> tuple[list[str], str] | None:
    """The way to the first object that names a member twice, from within, and the member's name."""
    members: Iterable[tuple[str | int, Any]] = ()
    if isinstance(found, _Members):
        members = found
        twice = [name for name, n in Counter(name for name, _ in found).items() if n > 1]
        if twice:
            return [], twice[0]
    elif isinstance(found, list):
        members = enumerate(found)
    for name, value in members:
        below = _named_twice(value)
        if below is not None:
            below[0].append(f"[{name}]" if isinstance(name, int) else f".{name}")
            return below
    return None


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """The structure as a JSON schema without references, for the interface's description."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="{name}")
    inlined: dict[str, Any] = _inlined(schema, components)
    return inlined


def _inlined(schema: Any, components: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(part, components) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(components[schema["$ref"]], components)
    if _NULL in schema.get("anyOf", ()):  # OpenAPI 3.0 has no type of null
        kinds = [part for part in schema["anyOf"] if part != _NULL]
        rest = {name: part for name, part in schema.items() if name != "anyOf"}
        one = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        return _inlined(rest | one | {"nullable": True}, components)
    # Nor has it a list of nothing.
    return {
        name: _inlined(part, components) for name, part in schema.items() if (name, part) != ("required", [])
    }
