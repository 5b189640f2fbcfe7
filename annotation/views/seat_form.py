"""The judging page as a form: what its fields mean."""

import re
import time
import uuid
from collections.abc import Container, Mapping
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Campaign
from annotation.protocol.base import get_protocol
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import KeyReused, Refused, Stale
from annotation.services.seat_numbers import assignment_of
from annotation.services.sheets import Answer, Sheet, Timing
from annotation.views.seat_page import is_side_by_side, lines_of

_PAINTED = signing.Signer(salt="seat.painted")


class Blank(Exception):
    """Some rows have no answer yet; what had one is stored."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def stamp(painted: float | None = None) -> dict[str, str]:
    """What every form carries: the name under which its answers are stored once, and when it was made."""
    at = time.time() if painted is None else painted
    return {"client_key": str(uuid.uuid4()), "painted": _PAINTED.sign(f"{at:.3f}")}


def stamp_again(form: "SheetForm", error: Exception) -> dict[str, str]:
    """The same for a form that comes back because of this. Its time goes on from when it was first made, unless
    something was stored meanwhile, with the time until then.
    """
    return stamp(None if isinstance(error, Stale | KeyReused) else form.painted_at())


class SheetForm:
    """The posted fields of one of an expert's screens, each named after its row: `label-17`, `revision-17` …"""

    def __init__(self, data: QueryDict, screen: dict[str, Any], campaign: Campaign, *, expert: int) -> None:
        self.data, self.screen, self.expert = data, screen, expert
        self.protocol = get_protocol(campaign.protocol)
        self.asks_why = campaign.reasons == Campaign.Reasons.REQUIRED
        self.given = {row["assignment"]: self._given(row["assignment"]) for row in screen["rows"]}

    def sheet(self) -> Sheet | None:
        """The rows whose answer is new or differs from the one stored; None where there is none."""
        changed = {
            row["assignment"]: given
            for row in self.screen["rows"]
            if (given := self.given[row["assignment"]]) and given != row["answer"]
        }
        if not changed:
            return None
        self._refuse_without_why(changed)
        answers = [self._answer(number, given) for number, given in changed.items()]
        return Sheet(
            screen=assignment_of(self.screen["id"], expert=self.expert),
            client_key=self._client_key(),
            answers=tuple(answers),
            timing=Timing(seconds=self._seconds()),
            reference_seen=self._reference_seen(),
            guideline=self._guideline(),
            conditions=self._conditions(),
        )

    def refuse_blanks(self) -> None:
        """Once the others are stored."""
        rows = self.screen["rows"]
        blank = sum(1 for row in rows if not self.given[row["assignment"]] and not row["answer"])
        if not blank:
            return
        if blank < len(rows):
            said = ngettext(
                "One row of this unit has no answer yet. What you answered is stored.",
                "%(n)s rows of this unit have no answer yet. What you answered is stored.",
                blank,
            )
        else:
            said = ngettext(
                "One row of this unit has no answer yet.",
                "%(n)s rows of this unit have no answer yet.",
                blank,
            )
        raise Blank(said % {"n": blank})

    def filled_in(self) -> dict[str, Any]:
        """The screen with the choices as they were sent, so that an error loses none of them."""
        rows = [
            {**row, "answer": self.given[row["assignment"]] or row["answer"]} for row in self.screen["rows"]
        ]
        return {**self.screen, "rows": rows}

    def _given(self, number: int) -> dict[str, Any] | None:
        """One row's fields in the shape in which screens hold answers."""
        label, _colon, detail = self.data.get(f"label-{number}", "").partition(":")
        if not label:
            return None
        cannot_judge = label == "cannot_judge"
        wrong = label == "wrong"
        return {
            "label": None if cannot_judge else label,
            "cannot_judge": (self.data.get(f"cause-{number}") or "?") if cannot_judge else None,
            "problem": self.data.get(f"problem-{number}") or None,
            "detail": detail or None,
            "reasons": self.data.getlist(f"reasons-{number}") if wrong else [],
            "atoms": self._atoms(number) if wrong else [],
            "note": self.data.get(f"note-{number}", "").replace("\r\n", "\n"),
            "flag": f"flag-{number}" in self.data,
        }

    def _atoms(self, number: int) -> list[int]:
        return [
            int(atom) for atom in self.data.getlist(f"atoms-{number}") if re.fullmatch("[0-9]{1,3}", atom)
        ]

    def _refuse_without_why(self, changed: Mapping[int, Mapping[str, Any]]) -> None:
        """A cause is always asked for, a reason where the campaign says so; the rows that lack one are named."""
        causeless = {number for number, given in changed.items() if given["cannot_judge"] == "?"}
        if causeless:
            said = ngettext(
                "Say why row %(rows)s cannot be judged: choose a cause beside it.",
                "Say why rows %(rows)s cannot be judged: choose a cause beside each.",
                len(causeless),
            )
            raise ProtocolError(said % {"rows": self._named(causeless)})
        bare = {
            number
            for number, given in changed.items()
            if self.asks_why and given["label"] == "wrong" and not given["reasons"]
        }
        if bare:
            said = ngettext(
                "Say why row %(rows)s is wrong: choose at least one reason beside it.",
                "Say why rows %(rows)s are wrong: choose at least one reason beside each.",
                len(bare),
            )
            raise ProtocolError(said % {"rows": self._named(bare)})

    def _named(self, numbers: Container[int]) -> str:
        """These rows as the page counts them."""
        named = _("%(row)s (sentence %(n)s)") if is_side_by_side(self.screen) else "%(row)s"
        lines = [line for line in lines_of(self.screen) if line.row["assignment"] in numbers]
        return _(", ").join(named % {"row": line.number, "n": line.row.get("context")} for line in lines)

    def _answer(self, number: int, given: Mapping[str, Any]) -> Answer:
        return Answer(
            assignment=assignment_of(number, expert=self.expert),
            revision=self._revision(number),
            label=self.protocol.parse_label(given["label"]) if given["label"] else "",
            cannot_judge=given["cannot_judge"] or "",
            problem=given["problem"] or "",
            detail=given["detail"] or "",
            reasons=tuple(given["reasons"]),
            atoms=tuple(given["atoms"]),
            note=given["note"],
            unsure=given["flag"],
        )

    def _revision(self, number: int) -> int:
        raw = self.data.get(f"revision-{number}", "")
        if not re.fullmatch("[0-9]{1,7}", raw):
            raise Refused(_("This form is incomplete; open the page again."))
        return int(raw)

    def _client_key(self) -> uuid.UUID:
        try:
            return uuid.UUID(self.data.get("client_key", ""))
        except ValueError:
            raise Refused(_("This form is incomplete; open the page again.")) from None

    def _seconds(self) -> float | None:
        """From the moment the page was made."""
        painted = self.painted_at()
        return None if painted is None else round(max(0.0, time.time() - painted), 3)

    def painted_at(self) -> float | None:
        """When the page was made; a time that was tampered with is no time."""
        try:
            return float(_PAINTED.unsign(self.data.get("painted", "")))
        except (signing.BadSignature, ValueError):
            return None

    def _guideline(self) -> int | None:
        """The version that was in force when the page was made."""
        raw = self.data.get("guideline", "")
        return int(raw) if re.fullmatch("[1-9][0-9]{0,17}", raw) else None

    def _conditions(self) -> dict[str, Any]:
        """The language the page was made in, which another tab may have changed since; it highlights no translation,
        and nothing on it answers several rows at once.
        """
        language = self.data.get("page_language", "")
        compound = self.screen["protocol"] == Campaign.Protocol.COMPOUND
        shown: dict[str, Any] = {"highlight": "source", "rest": 0} if compound else {}
        return {**shown, "language": language} if language in dict(settings.LANGUAGES) else shown

    def _reference_seen(self) -> bool | None:
        """Always shown, or not there; a reference folded away may have been opened or not."""
        seen = self.data.get("reference_seen", "")
        return {"yes": True, "no": False}.get(seen)
