"""What a spot check found: errors by part and expert, and the rates behind them, with exact intervals.

An error is a judgement that contrasts with the checker's (scores a whole point apart, or opposite verdicts), or one in
whose place the checker's answer would give the item another label: the campaign says which when the check is planned.
A unit counts as an error where one of its experts erred on one of its items, so that units stay what was drawn; an
expert's own rate is over the units they judged. An item that one of the two could not judge tells nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Assignment, Campaign, Round, User
from annotation.protocol.labels import final_label
from annotation.protocol.sentences import Sentence, say
from annotation.services.campaigns import main_round
from annotation.services.labels import rule_for
from annotation.services.spot_checks import Decision, Error, decide, still_to_check
from annotation.services.turns import turn
from scoring.services.kept_sentences import as_measured, with_sentences
from scoring.services.measured import pace_of
from scoring.stats.spot_checks import Checked, acceptance_plan, check_estimate

Document = dict[str, Any]

CONTRAST = 1.0  # points between two scores


def acceptance(*, acceptable: float, rejectable: float, alpha: float, beta: float, lot: int) -> Document:
    """The plan by four numbers (rates in per cent) for a part of so many units: n, c and the two risks."""
    found = acceptance_plan(acceptable / 100, rejectable / 100, alpha=alpha, beta=beta, lot=lot).as_json()
    return {name: value for name, value in found.items() if name != "hours"}


def hours_of(campaign: Campaign, n_items: int) -> float | None:
    """What judging so many items takes at the pace of the campaign; None where none was measured."""
    seconds = pace_of(campaign)
    return None if seconds is None else n_items * seconds / 3600


def finish(
    round_: Round,
    decision: Decision,
    *,
    reason: str,
    rework: Sequence[tuple[str, int]] = (),
    by: User,
) -> Round:
    """Decide, and keep what was found in the state in which it was decided upon."""
    with turn(round_.campaign_id):
        round_.refresh_from_db()
        none = decision == Decision.STOPPED or still_to_check(round_)
        report = None if none else with_sentences(report_of(round_))
        return decide(round_, decision, reason=reason, rework=rework, report=report, by=by)


def report_of(round_: Round) -> Document:
    """What was found: as it was kept where the check is decided, else worked out from the answers. Four queries."""
    if round_.outcome and round_.outcome.get("report"):
        return as_measured(round_.outcome["report"])
    campaign, settings = round_.campaign, round_.settings
    found = _Compared.of(round_)
    strata = [_Stratum.of(stated, found) for stated in settings["strata"]]
    experts = sorted({name for stratum in strata for name in stratum.experts}, key=_by_number)
    overall = check_estimate({stratum.name: stratum.checked(None) for stratum in strata})
    return {
        "campaign": campaign.slug,
        "number": round_.number,
        "checker": settings["checker"],
        "error": settings["error"],
        "seed": settings["seed"],
        "rule": settings["rule"],
        **_plain(overall),
        "strata": [
            {
                "part": stratum.part,
                "experts": list(stratum.experts),
                **_plain(check_estimate({stratum.name: stratum.checked(None)})),
            }
            for stratum in strata
        ],
        "experts": [_of_expert(name, strata) for name in experts],
        "not_comparable": found.not_comparable,
        "errors_found": found.errors(strata),
        "signature": f"spot-check|ver:1|error:{settings['error']}|seed:{settings['seed']}|{_rule(round_)}",
    }


def _rule(round_: Round) -> str:
    if round_.settings["error"] == Error.CONTRAST:
        return f"contrast:{CONTRAST:g}"
    return f"rule:{rule_for(round_.campaign)}"


def _by_number(pseudonym: str) -> tuple[int, str]:
    digits = pseudonym[1:]
    return (int(digits) if digits.isdecimal() else 0, pseudonym)


def _plain(estimate: Any) -> Document:
    """The figures of an estimate without those of its strata."""
    return {name: value for name, value in estimate.as_json().items() if name != "by"}


def _of_expert(name: str, strata: Sequence["_Stratum"]) -> Document:
    mine = [stratum for stratum in strata if name in stratum.experts]
    parts = sorted({stratum.part for stratum in mine})
    return {
        "expert": name,
        **_plain(check_estimate({stratum.name: stratum.checked(name) for stratum in mine})),
        "parts": [
            {
                "part": part,
                **_plain(
                    check_estimate(
                        {stratum.name: stratum.checked(name) for stratum in mine if stratum.part == part}
                    )
                ),
            }
            for part in parts
        ],
    }


# Comparing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judged:
    """One item of a checked unit: the checker's label, and by pseudonym the experts'; "" for cannot judge."""

    unit: str
    position: int
    key: str
    checked: str
    votes: Mapping[str, str]


@dataclass(frozen=True)
class _Compared:
    """All checked items, by unit, and what is an error of whom."""

    by_unit: Mapping[str, Sequence[_Judged]]
    is_error: Callable[[_Judged, str], bool]

    @classmethod
    def of(cls, round_: Round) -> "_Compared":
        campaign = round_.campaign
        checks = list(
            Assignment.objects.filter(round=round_, withdrawn_at__isnull=True, answered_at__isnull=False)
            .order_by("item__position")
            .values_list("item", "unit__key", "item__position", "item__key", "label")
        )
        names = dict(campaign.memberships.values_list("user", "pseudonym"))
        votes: dict[int, dict[str, str]] = defaultdict(dict)
        given = Assignment.objects.filter(
            round=main_round(campaign),
            item__in=Assignment.objects.filter(round=round_).values("item"),
            withdrawn_at__isnull=True,
            answered_at__isnull=False,
        )
        for item, expert, label in given.order_by("item", "slot").values_list("item", "expert", "label"):
            votes[item][names.get(expert, "–")] = label
        by_unit: dict[str, list[_Judged]] = defaultdict(list)
        for item, unit, position, key, label in checks:
            by_unit[unit].append(_Judged(unit, position, key, label, votes[item]))
        return cls(by_unit, _rules(campaign)[round_.settings["error"]])

    def outcome(self, unit: str, expert: str) -> bool | None:
        """Whether the expert erred on the unit; None where nothing of it can be compared."""
        found = [
            self.is_error(judged, expert)
            for judged in self.by_unit.get(unit, ())
            if judged.checked and judged.votes.get(expert)
        ]
        return any(found) if found else None

    @property
    def not_comparable(self) -> int:
        """Judgements that stand beside a “cannot judge”."""
        return sum(
            not (judged.checked and vote)
            for judged_of in self.by_unit.values()
            for judged in judged_of
            for vote in judged.votes.values()
        )

    def errors(self, strata: Iterable["_Stratum"]) -> list[Document]:
        """Every judgement that counts as an error, in the order of import."""
        part_of = {unit: stratum.part for stratum in strata for unit in stratum.units}
        return sorted(
            (
                {
                    "position": judged.position,
                    "key": judged.key,
                    "part": part_of[unit],
                    "expert": expert,
                    "label": vote,
                    "checked": judged.checked,
                }
                for unit, items in self.by_unit.items()
                for judged in items
                for expert, vote in judged.votes.items()
                if judged.checked and vote and self.is_error(judged, expert)
            ),
            key=lambda row: (row["position"], row["expert"]),
        )


def _rules(campaign: Campaign) -> Mapping[str, Callable[[_Judged, str], bool]]:
    rule, k = rule_for(campaign), campaign.annotators_per_item

    def contrast(judged: _Judged, expert: str) -> bool:
        return abs(float(judged.checked) - float(judged.votes[expert])) >= CONTRAST

    def another_label(judged: _Judged, expert: str) -> bool:
        votes = {name: vote or None for name, vote in judged.votes.items()}
        instead = votes | {expert: judged.checked}
        before, after = (final_label(rule, list(given.values()), k=k) for given in (votes, instead))
        return (before.label, before.reason) != (after.label, after.reason)

    return {Error.CONTRAST: contrast, Error.LABEL: another_label}


@dataclass(frozen=True)
class _Stratum:
    """Units of one part with the same experts, as they were drawn, with what came of each."""

    part: int
    experts: tuple[str, ...]
    size: int
    units: tuple[str, ...]
    outcomes: Mapping[tuple[str, str], bool | None]  # by unit and expert

    @classmethod
    def of(cls, stated: Mapping[str, Any], found: _Compared) -> "_Stratum":
        experts, units = tuple(stated["experts"]), tuple(stated["units"])
        outcomes = {(unit, name): found.outcome(unit, name) for unit in units for name in experts}
        return cls(stated["part"], experts, stated["size"], units, outcomes)

    @property
    def name(self) -> Sentence:
        """As a reason names it."""
        return say("part {part} ({experts})", part=self.part + 1, experts=", ".join(self.experts))

    def checked(self, expert: str | None) -> Checked:
        """Its size and what was found in it: of one expert, or of anybody."""
        names = self.experts if expert is None else (expert,)
        results = []
        for unit in self.units:
            of_unit = [self.outcomes[unit, name] for name in names]
            known = [outcome for outcome in of_unit if outcome is not None]
            if known:
                results.append(any(known))
        return Checked(size=self.size, checked=len(results), errors=sum(results))
