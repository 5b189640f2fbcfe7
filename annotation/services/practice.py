"""Practice units: five per protocol, with the answer to every row and why. Nothing about them is stored.

A campaign with relations of its own practises on those of the five whose relation it has.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.protocol.definition import Choice, Words
from annotation.protocol.errors import ProtocolError
from annotation.protocol.location import locate
from annotation.protocol.triple import TRIPLE, ZERO_DETAILS
from annotation.services.campaigns import GUIDELINES
from annotation.services.wording import wording_of

_ZERO = TRIPLE.answer("0").key
_DETAILS = frozenset(detail.code for detail in ZERO_DETAILS)


@dataclass(frozen=True, kw_only=True)
class PracticeRow:
    """One row with its explained answer: a context of a compound, or the triple itself."""

    answer: str  # a key of the scale, or a triple's detail, which stands for the lowest answer
    why: Words
    source: str = ""
    span: tuple[int, int] | None = None  # where the compound stands in the source
    translation: str = ""
    head: str = ""
    relation: str = ""
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class PracticeUnit:
    """One screen of practice; `why` says what a compound's five contexts teach together."""

    number: int
    compound: str
    rows: tuple[PracticeRow, ...]
    why: Words | None


@dataclass(frozen=True)
class Mark:
    """A row as it was answered. A triple may be right for another reason than the one given: not `exact`."""

    row: PracticeRow
    given: Words
    answer: Words  # what the guidelines lead to; of a triple's lowest answer, which kind of it
    right: bool
    exact: bool


def units_for(campaign: Campaign) -> tuple[PracticeUnit, ...]:
    """The units of a campaign's protocol, without those of relations it does not have."""
    units = practice_units(campaign.protocol)
    relations = wording_of(campaign).relations
    known = [
        unit for unit in units if all(not row.relation or row.relation in relations for row in unit.rows)
    ]
    if len(known) == len(units):
        return units
    return tuple(replace(unit, number=number) for number, unit in enumerate(known, start=1))


@cache
def practice_units(protocol: str) -> tuple[PracticeUnit, ...]:
    """The units of a protocol in their order. Items stay as they are; explanations are in both languages."""
    get_protocol(protocol)
    stored = json.loads((GUIDELINES / "practice.json").read_text(encoding="utf-8"))[protocol]
    make = _compound if protocol == Campaign.Protocol.COMPOUND else _triple
    return tuple(make(number, given) for number, given in enumerate(stored, start=1))


def _compound(number: int, given: dict[str, Any]) -> PracticeUnit:
    rows = tuple(
        PracticeRow(
            answer=context["answer"],
            why=Words(**context["why"]),
            source=context["source"],
            span=locate(given["compound"], context["source"]),
            translation=context["translation"],
        )
        for context in given["contexts"]
    )
    return PracticeUnit(number=number, compound=given["compound"], rows=rows, why=Words(**given["why"]))


def _triple(number: int, given: dict[str, Any]) -> PracticeUnit:
    row = PracticeRow(
        answer=given["answer"],
        why=Words(**given["why"]),
        head=given["head"],
        relation=given["relation"],
        tail=given["tail"],
    )
    return PracticeUnit(number=number, compound="", rows=(row,), why=None)


def choices(campaign: Campaign) -> tuple[Choice, ...]:
    """What can be answered, in the order of the keys, as the campaign's judging page has it."""
    wording = wording_of(campaign)
    upwards = [
        Choice(answer.key, wording.answer_words(answer)) for answer in get_protocol(campaign.protocol).scale
    ]
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        return tuple(upwards)
    return (*upwards[:0:-1], *(wording.details if campaign.zero_detail else upwards[:1]))


def mark(unit: PracticeUnit, given: Sequence[str], *, campaign: Campaign) -> tuple[Mark, ...]:
    """Each row with what was answered to it; a ProtocolError where a row has none of the choices."""
    known = {choice.code: choice.words for choice in choices(campaign)}
    if len(given) != len(unit.rows) or not known.keys() >= set(given):
        raise ProtocolError("Every row needs one of the answers.")
    words = _words(campaign)
    return tuple(
        Mark(
            row,
            known[answer],
            words[row.answer],
            right=_key(answer) == _key(row.answer),
            exact=answer == row.answer or not campaign.zero_detail,
        )
        for row, answer in zip(unit.rows, given, strict=True)
    )


def _words(campaign: Campaign) -> dict[str, Words]:
    """Every answer and detail as the campaign calls it."""
    wording = wording_of(campaign)
    scale = get_protocol(campaign.protocol).scale
    return {
        **{answer.key: wording.answer_words(answer) for answer in scale},
        **{detail.code: detail.words for detail in wording.details},
    }


def _key(code: str) -> str:
    """The answer of the scale that a detail stands for."""
    return _ZERO if code in _DETAILS else code
