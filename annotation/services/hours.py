"""An expert's hours: what counts, day by day, and how it is corrected.

At the seat the time from paint to answer is measured three ways, which are kept apart: on the wall, while the
page could be seen, while somebody was active. Wall time is what counts, up to a published cap a saved screen;
guidelines, practice and discussion are lines of their own. Nothing here compares one person's pace with another's.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Max, Min, Q, Sum, Value
from django.db.models.functions import Least
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.models import Annotation, Campaign, TimeEntry, User
from annotation.protocol.errors import ProtocolError
from annotation.protocol.pace import Pace, measured_pace
from annotation.services.errors import KeyReused, Refused

# What one saved screen counts for at most, in seconds: a lunch break is not work.
PAID_CAP = {Campaign.Protocol.TRIPLE.value: 120.0, Campaign.Protocol.COMPOUND.value: 300.0}
# The same for one reading or one page of practice.
LINE_CAP = {
    TimeEntry.Kind.GUIDELINE.value: 1800.0,
    TimeEntry.Kind.PRACTICE.value: 300.0,
    TimeEntry.Kind.DISCUSSION.value: 1800.0,
}
CORRECTION_LIMIT = 24 * 3600.0  # a day has no more
REASON_LENGTH = 500

REST_MINUTES = 50  # of activity at the seat, after which it suggests a rest
REST_HINT = gettext_lazy("You have judged for 50 minutes. A short rest keeps judgements steady.")


@dataclass(frozen=True, kw_only=True)
class Hours:
    """Seconds of one day, or of all days. `visible` and `active` are None where no screen's page measured them."""

    day: date | None
    screens: int = 0
    wall: float = 0.0
    visible: float | None = None
    active: float | None = None
    seat: float = 0.0  # wall, every screen up to the cap
    guideline: float = 0.0
    practice: float = 0.0
    discussion: float = 0.0
    correction: float = 0.0

    @property
    def paid(self) -> float:
        return self.seat + self.guideline + self.practice + self.discussion + self.correction


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One expert's hours in one campaign: a line a day, the sum of all, and the corrections with their reasons."""

    cap: float  # seconds that one screen counts for at most
    days: tuple[Hours, ...]
    total: Hours
    corrections: tuple[TimeEntry, ...]


def statement(campaign: Campaign, user: User) -> Statement:
    """Everything that counts, the earliest day first. Two queries, however long somebody has worked."""
    return statements(campaign, [user.pk])[user.pk]


def statements(campaign: Campaign, experts: Collection[int]) -> dict[int, Statement]:
    """The same for several people, by person. Two queries, however many they are."""
    cap = PAID_CAP[campaign.protocol]
    sums: dict[tuple[int, date], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    screens: Counter[tuple[int, date]] = Counter()
    columns = ("assignment__expert", "at", "wall", "visible", "active")
    for expert, at, wall, visible, active in _sheets(campaign, experts).values_list(*columns):
        day = (expert, timezone.localdate(at))
        screens[day] += 1
        sums[day]["seat"] += min(wall, cap)
        for name, seconds in (("wall", wall), ("visible", visible), ("active", active)):
            if seconds is not None:
                sums[day][name] += seconds
    corrections: dict[int, list[TimeEntry]] = defaultdict(list)
    for entry in TimeEntry.objects.filter(campaign=campaign, user__in=experts):
        sums[entry.user_id, entry.day][entry.kind] += entry.seconds
        if entry.kind == TimeEntry.Kind.CORRECTION:
            corrections[entry.user_id].append(entry)
    days: dict[int, list[Hours]] = defaultdict(list)
    for expert, on in sorted(sums):
        days[expert].append(Hours(day=on, screens=screens[expert, on], **sums[expert, on]))
    return {
        expert: Statement(
            cap=cap,
            days=tuple(days[expert]),
            total=_total(days[expert]),
            corrections=tuple(corrections[expert]),
        )
        for expert in experts
    }


def _sheets(campaign: Campaign, experts: Collection[int]) -> Any:
    """The screens saved here, each once: its rows share a client key. Answers from files were not given here."""
    return (
        Annotation.objects.filter(
            assignment__expert__in=experts, assignment__round__campaign=campaign, seconds__isnull=False
        )
        .exclude(source=Annotation.Source.IMPORT)
        .order_by()
        .values("assignment__expert", "client_key")
        .annotate(
            at=Min("created_at"),
            wall=Max("seconds"),
            visible=Max("visible_seconds"),
            active=Max("active_seconds"),
        )
    )


def _total(days: Iterable[Hours]) -> Hours:
    sums: dict[str, float] = defaultdict(float)
    screens = 0
    for day in days:
        screens += day.screens
        for name, seconds in vars(day).items():
            if name not in ("day", "screens") and seconds is not None:
                sums[name] += seconds
    return Hours(day=None, screens=screens, **sums)


class SoFar(NamedTuple):
    """The sum of an expert's statement, and whether any of it is practice."""

    seconds: float
    practised: bool


def time_so_far(campaign: Campaign, *, expert_id: int) -> SoFar:
    """What the statement sums up to, for pages that show nothing else of it: two sums made in the database."""
    cap = Value(PAID_CAP[campaign.protocol])
    seat = (
        _sheets(campaign, [expert_id]).annotate(counted=Least(Max("seconds"), cap)).aggregate(Sum("counted"))
    )
    lines = TimeEntry.objects.filter(campaign=campaign, user=expert_id).aggregate(
        Sum("seconds"), practice=Count("pk", filter=Q(kind=TimeEntry.Kind.PRACTICE))
    )
    seconds = float(seat["counted__sum"] or 0) + float(lines["seconds__sum"] or 0)
    return SoFar(seconds, practised=lines["practice"] > 0)


def paid_seconds(campaign: Campaign, *, expert_id: int) -> float:
    """The sum alone."""
    return time_so_far(campaign, expert_id=expert_id).seconds


def judging_pace(campaign: Campaign) -> Pace:
    """What a judgement takes here, all experts together: each screen of the seat up to the cap. One query."""
    cap = Value(PAID_CAP[campaign.protocol])
    sheets = (
        Annotation.objects.filter(assignment__round__campaign=campaign, seconds__isnull=False)
        .exclude(source=Annotation.Source.IMPORT)
        .order_by()
        .values("assignment__expert", "client_key")
        .annotate(counted=Least(Max("seconds"), cap), rows=Count("pk"))
    )
    found = sheets.aggregate(seconds=Sum("counted"), timed=Sum("rows"))
    return measured_pace(float(found["seconds"] or 0), found["timed"] or 0)


# Adding lines


def record(campaign: Campaign, user: User, *, kind: str, seconds: float, client_key: UUID) -> TimeEntry:
    """A line of today for guidelines, practice or discussion, at most its cap. Sent again, it counts once."""
    if kind not in LINE_CAP:
        raise ProtocolError(
            _("“%(kind)s” is not a kind of time; the kinds are %(kinds)s.")
            % {"kind": kind, "kinds": ", ".join(LINE_CAP)}
        )
    if not 0 <= seconds < float("inf"):
        raise ProtocolError(_("Give the time in seconds, 0 or more."))
    line = TimeEntry(
        campaign=campaign,
        user=user,
        kind=kind,
        seconds=min(seconds, LINE_CAP[kind]),
        day=timezone.localdate(),
        client_key=client_key,
    )
    return _stored(line) or _once(line)


def correct(
    campaign: Campaign, user: User, *, seconds: float, day: date, reason: str, client_key: UUID
) -> TimeEntry:
    """Add time to a day, or take some away, and say why. A correction is corrected by another one."""
    line = TimeEntry(
        campaign=campaign,
        user=user,
        kind=TimeEntry.Kind.CORRECTION,
        seconds=seconds,
        day=day,
        reason=reason.strip(),
        client_key=client_key,
    )
    stored = _stored(line)
    if stored:
        return stored
    _check_correction(line)
    return _once(line)


def _check_correction(line: TimeEntry) -> None:
    if not line.reason or len(line.reason) > REASON_LENGTH:
        raise Refused(_("Give the reason in 1 to 500 characters."))
    if not 0 < abs(line.seconds) <= CORRECTION_LIMIT:
        raise Refused(_("A correction adds or takes away some time, at most 24 hours."))
    first, today = timezone.localdate(line.campaign.created_at), timezone.localdate()
    if not first <= line.day <= today:
        raise Refused(
            _("Choose a day from %(first)s, when this campaign began, to today.")
            % {"first": first.isoformat()}
        )
    counted = next((day.paid for day in statement(line.campaign, line.user).days if day.day == line.day), 0.0)
    if counted + line.seconds < 0:
        raise Refused(
            ngettext(
                "Only %(minutes)d minute counts on that day; no more can be taken away.",
                "Only %(minutes)d minutes count on that day; no more can be taken away.",
                int(counted // 60),
            )
            % {"minutes": counted // 60}
        )


def _stored(line: TimeEntry) -> TimeEntry | None:
    """The line that came under this key before, if it is the same line; the day is when it came first."""
    found = TimeEntry.objects.filter(user=line.user, client_key=line.client_key).first()
    if found and _content(found) != _content(line):
        raise KeyReused(_("This client key was used for another line; use a new key for a new line."))
    return found


def _content(line: TimeEntry) -> tuple[object, ...]:
    day = line.day if line.kind == TimeEntry.Kind.CORRECTION else None
    return line.campaign_id, line.kind, line.seconds, day, line.reason


def _once(line: TimeEntry) -> TimeEntry:
    """Store the line; of two requests at the same moment one stores it and both get it."""
    entry, _made = TimeEntry.objects.get_or_create(
        user=line.user,
        client_key=line.client_key,
        defaults={
            "campaign": line.campaign,
            "kind": line.kind,
            "seconds": line.seconds,
            "day": line.day,
            "reason": line.reason,
        },
    )
    return entry
