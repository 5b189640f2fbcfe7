"""A campaign at a glance: how far it is, who is waited for, what needs its manager.

Cost: a fixed number of queries with aggregates, whatever the number of items, answers and people. Nothing here
tells how anybody answered or how far experts agree: that stays closed while they judge.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, Value, When

from annotation.models import (
    Annotation,
    Assignment,
    Campaign,
    FinalLabel,
    HandIn,
    Item,
    Job,
    Membership,
    PartUnit,
    Round,
)
from annotation.models.item import in_play
from annotation.protocol.labels import CARRIED
from annotation.protocol.text import fold_name
from annotation.services.carried import carried_items
from annotation.services.dry_runs import OPENS_MAIN, Decision, decision_of
from annotation.services.invitations import is_invited
from annotation.services.labels import stale_of
from annotation.services.moves import moved_items
from annotation.services.peeks import LABELLING
from annotation.services.released import released_labels
from annotation.services.round_progress import ExpertShare, RoundLine, main_of, round_lines
from annotation.services.verify.experts import exactly_k_in_main

# Where a campaign stands, in this order; the first that is not done is what to do now.
STAGES = (
    "import", "dry_run", "assign", "invite", "judge", "spot_check", "resolution", "finalize", "report",
)  # fmt: skip
# The stages as steps of the whole process, and the kinds of rounds that make a step.
STEPS = {
    "items": ("import",),
    "dry_run": ("dry_run",),
    "main": ("assign", "invite", "judge"),
    "spot_check": ("spot_check",),
    "resolution": ("resolution",),
    "labels": ("finalize",),
    "release": ("report",),
}
STEP_ROUNDS: Mapping[str, tuple[Round.Kind, ...]] = {
    "dry_run": (Round.Kind.DRY_RUN,),
    "main": (Round.Kind.MAIN,),
    "spot_check": (Round.Kind.SPOT_CHECK,),
    "resolution": (Round.Kind.RESOLUTION, Round.Kind.REJUDGEMENT),
}


@dataclass(frozen=True, kw_only=True)
class PartShare:
    """One expert's share of one part; `index` is None for judgements that were imported without one."""

    index: int | None
    given: int
    answered: int
    handed_in_at: datetime | None

    @property
    def to_hand_in(self) -> bool:
        return self.index is not None and self.handed_in_at is None

    @property
    def complete(self) -> bool:
        return self.answered == self.given


@dataclass(frozen=True, kw_only=True)
class ExpertLine:
    """How far one expert is in the main round. `planned` is what the confirmed designs gave them, None where there was
    none; `given_by_design` what is there of it, items withdrawn or replaced since included.

    What they marked and reported, and when they answered last, is of all rounds, hidden repeats too.
    """

    member: Membership
    parts: tuple[PartShare, ...]
    planned: int | None
    given_by_design: int
    cannot_judge: int
    problems: int
    unsure: int
    last_at: datetime | None
    invited: bool  # a link to set a password waits to be used
    # The rounds, this one or others, of which they handed in all they have.
    handed_in: frozenset[int] = frozenset()

    @property
    def given(self) -> int:
        return sum(part.given for part in self.parts)

    @property
    def answered(self) -> int:
        return sum(part.answered for part in self.parts)

    @property
    def as_planned(self) -> bool:
        return self.planned is None or self.planned == self.given_by_design

    @property
    def at_work(self) -> bool:
        """Whether something is still expected of them: an answer, or a part to be handed in."""
        return any(part.to_hand_in for part in self.parts)

    @property
    def only_to_hand_in(self) -> bool:
        """Everything given to them is judged; a part of it still has to be handed in."""
        return self.at_work and self.answered == self.given

    @property
    def without_password(self) -> bool:
        """Never signed in so far: no password was set yet."""
        user = self.member.user
        return user.is_active and not user.has_usable_password()

    @property
    def uninvited(self) -> bool:
        """There is something to judge, and neither a password nor a link to set one."""
        return self.answered < self.given and self.without_password and not self.invited


@dataclass(frozen=True, kw_only=True)
class ItemCounts:
    """Items that count, those withdrawn or set aside for a dry run, and those that can be given to experts yet: nothing
    that came into a unit of a closed batch, no verdict that is carried over.
    """

    active: int
    withdrawn: int
    unassigned: int
    set_aside: int = 0


@dataclass(frozen=True, kw_only=True)
class LabelCounts:
    """Final labels: how many of each, how many items without and why, how many outcomes rest on old answers.

    Why an item has no label is told where it still holds: of `stale` ones `outdated` have none, for a reason that was
    true before, and `to_carry` have none because they take the verdict on another only since. `carried` has, by
    reason, how many of those without a label take it from another.
    """

    by_label: Mapping[str, int] = field(default_factory=dict)
    without: Mapping[str, int] = field(default_factory=dict)
    stale: int = 0
    outdated: int = 0
    to_carry: int = 0
    carried: Mapping[str, int] = field(default_factory=dict)

    @property
    def older(self) -> int:
        """Outcomes that rest on other answers than those that are there now."""
        return self.stale - self.to_carry

    @property
    def reasons(self) -> list[tuple[str, int, int]]:
        """Why items have no label, how many each, and how many of them because another has none."""
        return [(reason, n, self.carried.get(reason, 0)) for reason, n in self.without.items()]

    @property
    def final(self) -> int:
        return sum(self.by_label.values())

    @property
    def final_or_split(self) -> int:
        """Items whose answers are in, told as one while it is not told how often they agree."""
        return self.final + self.without.get("tie", 0)

    @property
    def computed(self) -> int:
        """Items on which the rule was run, whatever it came to."""
        return self.final + sum(self.without.values()) + self.outdated + self.to_carry


@dataclass(frozen=True, kw_only=True)
class JobCounts:
    """Jobs that failed and were not run again since, and those that wait or run."""

    failed: int
    waiting: int
    running: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the process. Its `state` is what the database says of it, wherever the others stand:

    - now: the first that is not done;
    - open: somebody is at work in it as well;
    - unsettled: held and closed, while items contrast that nothing has settled;
    - done: what it is about is there, and nothing of it waits;
    - overridden: a dry run that did not pass its gate, gone on from with a reason;
    - none: left out, since no such round was held and the process is beyond it;
    - later.

    `line` is the last round of the step, where there is one.
    """

    name: str
    state: str
    line: RoundLine | None = None


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Everything the campaign's page shows."""

    round: Round
    rounds: tuple[RoundLine, ...]
    items: ItemCounts
    experts: tuple[ExpertLine, ...]
    labels: LabelCounts
    jobs: JobCounts
    not_exactly_k: int
    label_version: int
    released_labels: int | None = None  # their version in the last release, 0 where they were imported

    @property
    def given(self) -> int:
        return sum(expert.given for expert in self.experts)

    @property
    def answered(self) -> int:
        return sum(expert.answered for expert in self.experts)

    @property
    def at_work(self) -> list[ExpertLine]:
        return [expert for expert in self.experts if expert.at_work]

    @property
    def answering(self) -> list[ExpertLine]:
        return [expert for expert in self.experts if expert.answered < expert.given]

    @property
    def only_to_hand_in(self) -> list[ExpertLine]:
        return [expert for expert in self.experts if expert.only_to_hand_in]

    @property
    def uninvited(self) -> list[ExpertLine]:
        return [expert for expert in self.experts if expert.uninvited]

    @property
    def rows(self) -> list[tuple[ExpertLine, list[tuple[RoundLine, ExpertShare, bool]]]]:
        """Every expert with their shares of rounds beside the main one, and whether these are handed in; hidden
        repeats are nobody's to know of.
        """
        beside = [line for line in self.rounds if line.round.kind not in (Round.Kind.MAIN, Round.Kind.REPEAT)]
        return [
            (expert, [(line, share, line.round.pk in expert.handed_in) for line in beside for share in line.shares
                      if share.member.pk == expert.member.pk])
            for expert in self.experts
        ]  # fmt: skip

    @property
    def uncomputed(self) -> int:
        """Items on which the label rule was not run yet: new since, or restored."""
        return self.items.active - self.labels.computed

    @property
    def imported(self) -> bool:
        """Whether judgements were imported that stand in no part."""
        return any(part.index is None for expert in self.experts for part in expert.parts)

    @property
    def computable(self) -> bool:
        """Whether there is anything that the label rule could be run on, or run on again."""
        return bool(self.answered or self.labels.computed)

    @property
    def as_planned(self) -> bool:
        return all(expert.as_planned for expert in self.experts)

    @property
    def judging(self) -> bool:
        """Whether independent answers are still being given, so that nothing may be told of them."""
        return self.answered < self.given or bool(self.at_work)

    @property
    def released(self) -> bool:
        """Whether the labels as they are now were released."""
        return self.released_labels == self.label_version

    @property
    def released_before(self) -> bool:
        """Whether a release holds other labels than these."""
        return self.released_labels is not None and not self.released

    @property
    def labels_hidden(self) -> bool:
        """Whether which labels there are is not told yet: answers that they rest on are still to come."""
        resting = [line for line in self.rounds if line.round.kind in LABELLING]
        return any(line.answered and line.waiting for line in resting)

    @property
    def splits_hidden(self) -> bool:
        """Whether it is not told yet on how many items the answers are split, where they can be."""
        return self.labels_hidden and self.round.k > 1

    @property
    def stage(self) -> str:
        """What is to be done now, one of `STAGES`."""
        waiting = self._waiting
        return next((stage for stage in STAGES if waiting.get(stage)), "report")

    @property
    def of_experts(self) -> bool:
        """Whether nothing is to be done now that only managers can do: experts judge, or reports can be read."""
        if self.stage == "dry_run":
            line = self.dry_run
            return line is not None and bool(line.waiting) and not self.dry_run_uninvited
        return self.stage in ("judge", "spot_check", "resolution", "report")

    @property
    def _waiting(self) -> dict[str, bool]:
        """By stage: whether something of it is still to be done."""
        return {
            "import": not self.items.active and not self.items.set_aside,
            "dry_run": self.dry_run is not None and decision_of(self.dry_run.round) not in OPENS_MAIN,
            "assign": bool(self.items.unassigned),
            "invite": bool(self.uninvited),
            "judge": self.judging,
            "spot_check": bool(self.open_rounds("spot_check")),
            "resolution": bool(self.open_rounds("resolution")),
            "finalize": bool(self.uncomputed or self.labels.stale),
            "report": not self.released,
        }

    def open_rounds(self, step: str) -> list[RoundLine]:
        """The rounds of a step in which somebody may still judge."""
        return [line for line in self.rounds if line.round.kind in STEP_ROUNDS[step] and line.is_open]

    @property
    def dry_run(self) -> RoundLine | None:
        """The last that was not taken back."""
        held = [line for line in self.rounds if line.round.kind == Round.Kind.DRY_RUN]
        return next((line for line in reversed(held) if decision_of(line.round) != Decision.TAKEN_BACK), None)

    @property
    def dry_run_uninvited(self) -> list[ExpertLine]:
        """Who is waited for in the dry run and has neither a password nor a link to set one."""
        waiting = {share.member.pk for share in self.dry_run.waiting} if self.dry_run else set()
        return [line for line in self.experts if line.member.pk in waiting and line.without_password
                and not line.invited]  # fmt: skip

    @property
    def current_rounds(self) -> list[RoundLine]:
        """The open rounds that the present stage is about."""
        return self.open_rounds(self.stage) if self.stage in STEP_ROUNDS else []

    @property
    def beside(self) -> list[RoundLine]:
        """Other rounds in which somebody is waited for. Hidden repeats are part of the main round to everybody."""
        step = next(name for name, stages in STEPS.items() if self.stage in stages)
        told = {*STEP_ROUNDS.get(step, ()), Round.Kind.REPEAT}
        return [line for line in self.rounds if line.waiting and line.round.kind not in told]

    @property
    def steps(self) -> list[Step]:
        """The whole process in its order."""
        waiting = self._waiting
        open_steps = [name for name, stages in STEPS.items() if any(waiting[stage] for stage in stages)]
        now = open_steps[0] if open_steps else None
        beyond = list(STEPS).index(now) if now else len(STEPS)
        return [
            self._step(name, waits=name in open_steps, now=name == now, passed=place < beyond)
            for place, name in enumerate(STEPS)
        ]

    def steps_with(self, *, contrasts: int) -> list[Step]:
        """The same, where so many items contrast that nothing settled: no resolution is done then, nor passed over."""
        return [
            replace(step, state="unsettled")
            if contrasts and step.name == "resolution" and step.state in ("done", "none")
            else step
            for step in self.steps
        ]

    def _step(self, name: str, *, waits: bool, now: bool, passed: bool) -> Step:
        if name == "dry_run":
            line = self.dry_run
        else:
            held = [line for line in self.rounds if line.round.kind in STEP_ROUNDS.get(name, ())]
            line = held[-1] if held else None
        there = {
            "items": bool(self.items.active or self.items.set_aside),
            "main": bool(self.given),
            # Labels that answers still on their way will change are not the final ones.
            "labels": passed and bool(self.items.active),
            "release": self.released,
        }.get(name, line is not None)
        if now:
            state = "now"
        elif waits and name in STEP_ROUNDS and line is not None and line.waiting:
            state = "open"
        elif there and not waits:
            dry_run = line.round if name == "dry_run" and line is not None else None
            overridden = dry_run is not None and decision_of(dry_run) == Decision.OVERRIDDEN
            state = "overridden" if overridden else "done"
        else:
            state = "none" if passed and name in STEP_ROUNDS else "later"
        return Step(name=name, state=state, line=line)


def overview(campaign: Campaign) -> Overview:
    """The campaign as it stands now."""
    people = _people(campaign)
    rounds = round_lines(campaign, members=people.members)
    round_ = main_of(rounds)
    return Overview(
        round=round_,
        rounds=rounds,
        items=_items(round_),
        experts=tuple(expert_lines(round_, people)),
        labels=_labels(campaign),
        jobs=job_counts(campaign),
        not_exactly_k=without_k_experts(campaign, round_),
        label_version=campaign.label_version,
        released_labels=released_labels(campaign),
    )


def without_k_experts(campaign: Campaign, main: Round) -> int:
    """How many items given out have another number of experts than the campaign's."""
    return sum(1 for _where in exactly_k_in_main(campaign, main))


def _items(round_: Round) -> ItemCounts:
    given = Assignment.objects.filter(round=round_, item=OuterRef("pk"), withdrawn_at__isnull=True)
    closed = PartUnit.objects.filter(
        round=round_, unit=OuterRef("unit"), part__design__closed_at__isnull=False
    )
    counts = (
        Item.objects.published()
        .filter(campaign=round_.campaign_id)
        .aggregate(
            active=Count("pk", filter=Q(retired_at__isnull=True)),
            withdrawn=Count("pk", filter=Q(retired_why=Item.Retired.WITHDRAWN)),
            set_aside=Count("pk", filter=Q(retired_why=Item.Retired.SET_ASIDE)),
            unassigned=Count(
                "pk",
                filter=Q(retired_at__isnull=True)
                & ~Exists(given)
                & ~Exists(closed)
                & ~Q(pk__in=carried_items()),
            ),
        )
    )
    return ItemCounts(**counts)


@dataclass(frozen=True, kw_only=True)
class _People:
    """Everybody in a campaign in the order in which they joined, and the accounts for which a link waits."""

    members: Sequence[Membership]
    invited: frozenset[int]


def _people(campaign: Campaign) -> _People:
    """One query."""
    found = list(campaign.memberships.select_related("user").annotate(link_waits=is_invited()).order_by("id"))
    return _People(members=found, invited=frozenset(member.user_id for member in found if member.link_waits))


def expert_lines(round_: Round, people: _People | None = None) -> list[ExpertLine]:
    """Every expert of the campaign, in the order they joined; six queries."""
    people = people or _people(round_.campaign)
    members = [member for member in people.members if member.role == Membership.Role.EXPERT]
    rows = _rows(round_.campaign)
    shares = _shares(rows, _hand_ins(round_.campaign))
    remarks = _remarks(round_.campaign)
    planned, given_by_design, moved = _planned(round_), _given_by_design(round_), moved_items(round_)
    none = {"problems": 0, "unsure": 0}
    return [
        ExpertLine(
            member=member,
            parts=tuple(shares.get((round_.pk, member.user_id), ())),
            planned=_with_moves(planned.get(member.user.username_folded), moved.get(member.pk)),
            given_by_design=given_by_design.get(member.user_id, 0),
            cannot_judge=sum(row["cannot"] for row in rows if row["expert"] == member.user_id),
            problems=remarks.get(member.user_id, none)["problems"],
            unsure=remarks.get(member.user_id, none)["unsure"],
            last_at=max(
                (row["last"] for row in rows if row["expert"] == member.user_id and row["last"]), default=None
            ),
            invited=member.user_id in people.invited,
            handed_in=frozenset(
                found
                for (found, expert), parts in shares.items()
                if expert == member.user_id and all(part.handed_in_at for part in parts)
            ),
        )
        for member in members
    ]


def _rows(campaign: Campaign) -> list[dict[str, Any]]:
    """By round, part and expert: what was given and answered, counted from the rows that count."""
    given = Assignment.objects.filter(in_play("item__"), round__campaign=campaign, withdrawn_at__isnull=True)
    return list(
        given.order_by("part__index")
        .values("round", "expert", "part", "part__index")
        .annotate(
            given=Count("id"),
            answered=Count("answered_at"),
            cannot=Count("id", filter=~Q(cannot_judge="")),
            last=Max("answered_at"),
        )
    )


def _shares(
    rows: Sequence[Mapping[str, Any]], handed_in: Mapping[tuple[int, int], datetime]
) -> dict[tuple[int, int], list[PartShare]]:
    """By round and expert: their parts of it."""
    shares: dict[tuple[int, int], list[PartShare]] = {}
    for row in rows:
        share = PartShare(
            index=row["part__index"],
            given=row["given"],
            answered=row["answered"],
            handed_in_at=handed_in.get((row["part"], row["expert"])),
        )
        shares.setdefault((row["round"], row["expert"]), []).append(share)
    return shares


def _hand_ins(campaign: Campaign) -> dict[tuple[int, int], datetime]:
    """By part and expert, in all rounds."""
    found = HandIn.objects.filter(part__round__campaign=campaign)
    return {(part, expert): at for part, expert, at in found.values_list("part", "expert", "at")}


def _remarks(campaign: Campaign) -> dict[int, dict[str, Any]]:
    """By expert: how many current answers are marked unsure, how many report a problem, in all rounds."""
    rows = (
        Annotation.objects.filter(
            in_play("assignment__item__"),
            assignment__round__campaign=campaign,
            assignment__withdrawn_at__isnull=True,
            revision=F("assignment__revision"),
        )
        .filter(Q(unsure=True) | ~Q(problem=""))
        .order_by()
        .values("assignment__expert")
        .annotate(problems=Count("id", filter=~Q(problem="")), unsure=Count("id", filter=Q(unsure=True)))
    )
    return {row["assignment__expert"]: row for row in rows}


def _planned(round_: Round) -> dict[str, int]:
    """By folded name: how many items the confirmed designs gave to each expert."""
    loads: dict[str, int] = {}
    for plan in round_.designs.values_list("plan", flat=True):
        for name, n_items in plan.get("loads", {}).items():
            loads[fold_name(name)] = loads.get(fold_name(name), 0) + n_items
    return loads


def _with_moves(planned: int | None, moved: int | None) -> int | None:
    """What the designs gave and what moves changed of it; None for who is in neither."""
    return planned if moved is None else (planned or 0) + moved


def _given_by_design(round_: Round) -> dict[int, int]:
    """By expert: the places in their parts that were filled when the parts were given. A withdrawn item had one, and
    one whose text was replaced since, with its successor; translations that came later had none.
    """
    there = Q(item__batch__published_at__lte=F("part__design__created_at"))
    replaced = Item.objects.filter(campaign=round_.campaign_id, retired_why=Item.Retired.REPLACED)
    rows = (
        Assignment.objects.filter(
            there | Q(item__position__in=replaced.values("position")),
            Q(withdrawn_at__isnull=True) | Q(withdrawn_at=F("item__retired_at")),
            round=round_,
            part__isnull=False,
        )
        .order_by()
        .values_list("expert")
        .annotate(n=Count("item__position", distinct=True))
    )
    return dict(rows)


def _labels(campaign: Campaign) -> LabelCounts:
    """One query."""
    is_stale = Case(When(pk__in=stale_of(campaign).values("pk"), then=Value(True)), default=Value(False))
    rows = (
        FinalLabel.objects.filter(item__campaign=campaign, item__retired_at__isnull=True)
        .annotate(is_stale=is_stale, takes=Q(item__in=carried_items()), took=Q(rule=CARRIED.name))
        .order_by()
        .values_list("label", "reason", "is_stale", "takes", "took")
        .annotate(n=Count("id"))
    )
    by_label, without, carried = Counter[str](), Counter[str](), Counter[str]()
    stale, to_carry = Counter[bool](), 0
    for label, reason, is_old, takes, took, n in rows:
        if label:
            by_label[label] += n
        elif not is_old:
            without[reason] += n
            carried[reason] += n if took else 0
        elif takes and not took:
            to_carry += n
        if is_old:
            stale[bool(label)] += n
    return LabelCounts(
        by_label=dict(sorted(by_label.items(), reverse=True)),
        without=dict(sorted(without.items())),
        stale=stale.total(),
        outdated=stale[False] - to_carry,
        to_carry=to_carry,
        carried=dict(+carried),
    )


def job_counts(campaign: Campaign) -> JobCounts:
    """One query. A job that failed and was asked for again since is no longer counted."""
    again = Job.objects.filter(
        campaign=OuterRef("campaign"), kind=OuterRef("kind"), digest=OuterRef("digest"), pk__gt=OuterRef("pk")
    )
    counts = Job.objects.filter(campaign=campaign).aggregate(
        failed=Count("pk", filter=Q(state=Job.State.FAILED) & ~Exists(again)),
        waiting=Count("pk", filter=Q(state=Job.State.PENDING)),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
    )
    return JobCounts(**counts)
