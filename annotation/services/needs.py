"""What needs a manager: one list of kinds, for the campaign's own page and for that on which they are dealt with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotation.models import Campaign
from annotation.services.attention import files_with_conflicts, report_counts
from annotation.services.counts import counts
from annotation.services.labels import stale_labels
from annotation.services.overview import Overview, job_counts, without_k_experts
from annotation.services.questions import waiting_for_answer
from annotation.services.round_progress import RoundLine, main_of, round_lines
from annotation.services.surplus import kept_aside


class Kind(StrEnum):
    """In the order in which they stand on the pages."""

    CANNOT_JUDGE = "cannot_judge"
    PROBLEMS = "problems"
    RETURNED = "returned"
    QUESTIONS = "questions"
    SURPLUS = "surplus"
    CONFLICTS = "conflicts"
    JOBS = "jobs"
    LATE = "late"
    STALE = "stale"
    EXPERTS = "experts"  # items without their full number of them


@dataclass(frozen=True, kw_only=True)
class Need:
    """So many things of a kind; of rounds that are late each by itself, with its `line`."""

    kind: Kind
    n: int
    line: RoundLine | None = None


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the campaign's page knows already, and the other one counts for this list."""

    rounds: Sequence[RoundLine]
    jobs_failed: int
    stale: int
    not_exactly_k: int

    @classmethod
    def of(cls, overview: Overview) -> "Standing":
        return cls(
            rounds=overview.rounds,
            jobs_failed=overview.jobs.failed,
            stale=overview.labels.stale,
            not_exactly_k=overview.not_exactly_k,
        )

    @classmethod
    def counted(cls, campaign: Campaign) -> "Standing":
        """Six queries."""
        rounds = round_lines(campaign)
        return cls(
            rounds=rounds,
            jobs_failed=job_counts(campaign).failed,
            stale=stale_labels(campaign),
            not_exactly_k=without_k_experts(campaign, main_of(rounds)),
        )


# What viewers are told of it: not what people ask and are asked.
SEEN = frozenset({Kind.CANNOT_JUDGE, Kind.PROBLEMS, Kind.JOBS, Kind.STALE, Kind.EXPERTS})


def needs(campaign: Campaign, standing: Standing, *, manages: bool = True) -> list[Need]:
    """All there is for a manager to do something about, or what a viewer is told of it. Two queries."""
    return [need for need in _every(campaign, standing) if need.n and (manages or need.kind in SEEN)]


def _every(campaign: Campaign, standing: Standing) -> Iterator[Need]:
    reports = report_counts(campaign)
    yield Need(kind=Kind.CANNOT_JUDGE, n=reports.cannot_judge)
    yield Need(kind=Kind.PROBLEMS, n=reports.problems)
    yield Need(kind=Kind.RETURNED, n=reports.returned)
    found = counts(questions=waiting_for_answer(campaign), surplus=kept_aside(campaign))
    yield Need(kind=Kind.QUESTIONS, n=found["questions"])
    yield Need(kind=Kind.SURPLUS, n=found["surplus"])
    yield Need(kind=Kind.CONFLICTS, n=len(files_with_conflicts(campaign)))
    yield Need(kind=Kind.JOBS, n=standing.jobs_failed)
    for line in standing.rounds:
        if line.late:
            yield Need(kind=Kind.LATE, n=len(line.waiting), line=line)
    yield Need(kind=Kind.STALE, n=standing.stale)
    yield Need(kind=Kind.EXPERTS, n=standing.not_exactly_k)
