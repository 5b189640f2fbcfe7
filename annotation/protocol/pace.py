"""When somebody will be done, from how much they did on the days on which they worked; and what judging takes.

The pace is the median of the last active days, which one long or one interrupted day does not move. How often they
work is the share of active days in the same stretch of time, up to today. Nothing here compares people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from statistics import median

from annotation.protocol.sentences import Sentence, say, say_count

WINDOW = 10  # active days
FEWEST = 3
SILENCE = 14  # days without an answer, after which nothing is expected
FURTHEST = 3650  # days
ASSUMED_SECONDS = 10.0  # a judgement, where too few were timed to say
FEWEST_TIMED = 50  # judgements


@dataclass(frozen=True, kw_only=True)
class Finish:
    """The expected day. `day` is None where it is unknown, `reason` then says why; nothing left: both are None.

    `per_day`: the median of the last `active_days` days of work.
    """

    left: int
    day: date | None = None
    reason: Sentence | None = None
    per_day: float | None = None
    active_days: int = 0


def expected_finish(per_day: Mapping[date, int], *, left: int, today: date) -> Finish:
    """When `left` answers will be given, from the answers of earlier days.

    Today counts only if it is a day of work already; a day that has just begun says nothing.

    >>> week = {date(2026, 3, day): n for day, n in ((2, 100), (3, 120), (5, 20), (6, 110))}
    >>> found = expected_finish(week, left=315, today=date(2026, 3, 6))
    >>> found.per_day, found.day  # 3 days of 105; 4 of 5 days were worked on, so 4 days
    (105.0, datetime.date(2026, 3, 10))
    >>> expected_finish({}, left=5, today=date(2026, 3, 6)).reason
    'There are fewer than 3 days of work to go by.'
    """
    active = sorted(day for day, n in per_day.items() if n > 0 and day <= today)[-WINDOW:]
    if not left:
        return Finish(left=0, active_days=len(active))
    if len(active) < FEWEST:
        return Finish(
            left=left,
            reason=say("There are fewer than {n} days of work to go by.", n=FEWEST),
            active_days=len(active),
        )
    pace = float(median(per_day[day] for day in active))
    silent = (today - active[-1]).days
    if silent > SILENCE:
        reason = say_count("No answer for {n} day.", "No answer for {n} days.", n=silent)
        return Finish(left=left, reason=reason, per_day=pace, active_days=len(active))
    stretch = (today - active[0]).days + (1 if active[-1] == today else 0)
    days = ceil(ceil(left / pace) * max(1.0, stretch / len(active)))
    if days > FURTHEST:
        reason = say("At this pace it would take more than ten years.")
        return Finish(left=left, reason=reason, per_day=pace, active_days=len(active))
    return Finish(left=left, day=today + timedelta(days=days), per_day=pace, active_days=len(active))


@dataclass(frozen=True, kw_only=True)
class Pace:
    """What a judgement takes. `timed`: on how many it rests, 0 where it is assumed."""

    seconds: float
    timed: int = 0

    def hours(self, judgements: int) -> float:
        """Of so many judgements.

        >>> Pace(seconds=9).hours(10_800)
        27.0
        """
        return judgements * self.seconds / 3600

    def as_json(self) -> dict[str, float | int | bool]:
        """`{seconds, timed, assumed}`."""
        return {"seconds": self.seconds, "timed": self.timed, "assumed": not self.timed}


def measured_pace(seconds: float, timed: int) -> Pace:
    """The mean over `timed` judgements that took so many seconds together; the assumed one where they are too few.

    A mean, since hours are a sum; screens are cut at what counts as work before, so that no break stretches it.

    >>> measured_pace(540, 60).seconds, measured_pace(90, 10)
    (9.0, Pace(seconds=10.0, timed=0))
    """
    return (
        Pace(seconds=seconds / timed, timed=timed) if timed >= FEWEST_TIMED else Pace(seconds=ASSUMED_SECONDS)
    )
