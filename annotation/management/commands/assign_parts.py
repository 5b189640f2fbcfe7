"""Give parts to experts."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.formats.errors import FormatError
from annotation.formats.lexicon import read_forms
from annotation.management.base import AssayCommand, Outcome, Usage, changeable_campaign, counted, number
from annotation.models import Campaign
from annotation.protocol.assignment import Plan, PlanPart
from annotation.protocol.carry_over import USUAL_SHARE as USUAL_CHECKED
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.services.access import create_invitation
from annotation.services.campaigns import main_round
from annotation.services.carry_over import CarryPlan, CarryWish
from annotation.services.completion import Completion, plan_completion
from annotation.services.instances import Saving, saving
from annotation.services.later import USUAL_SHARE, plan_later
from annotation.services.later_plans import LaterPlan
from annotation.services.parts import assign_parts, next_index, plan_carrying, plan_parts
from annotation.services.people import find_or_create_experts, without_account


def _shares(text: str) -> list[int]:
    try:
        return [int(share) for share in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"shares are whole numbers with commas between, not {text!r}") from None


class Command(AssayCommand):
    """`assign_parts SLUG --experts a,b,c,d`"""

    help = (
        "Give what is not assigned yet to experts, part by part; --preview shows the plan and stores nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--experts", required=True, help="names, separated by commas")
        parser.add_argument("--parts", type=int, help="how many; default: what the design needs at least")
        parser.add_argument(
            "--design", help="cyclic, pairs, single or quotas; default: single for K = 1, else cyclic"
        )
        parser.add_argument("--seed", type=int, help="default: the campaign's")
        parser.add_argument(
            "--sample", type=int, help="give out so many units only, drawn at random from all by the seed"
        )
        parser.add_argument(
            "--quotas", type=_shares, help="shares of the work in the order of --experts, such as 2,1,1"
        )
        parser.add_argument(
            "--overlap", type=int, help="so many units get a second expert (design single), drawn by the seed"
        )
        parser.add_argument(
            "--again",
            type=number,
            default=USUAL_SHARE,
            metavar="PERCENT",
            help="where items came into units that have their experts: this share of what these judged before comes "
            "again among the new items, unmarked (default: 5)",
        )
        parser.add_argument(
            "--carry-over",
            metavar="LEXICON",
            help="translations that render their compound like another one of the same sentence take its verdict and "
            "are given to nobody; the file holds the renderings of each atom, a line each",
        )
        parser.add_argument(
            "--carry-share",
            type=number,
            metavar="PERCENT",
            help=f"this share of what could be carried over is judged anyway, unmarked (default: {USUAL_CHECKED:g})",
        )
        parser.add_argument("--preview", action="store_true", help="show the plan, store nothing")

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"design": None, "seed": None, "parts": [], "loads": {}, "pairs": [], "hash": None}

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["preview"])
        experts = [name.strip() for name in options["experts"].split(",")]
        design = options["design"] or ("single" if campaign.annotators_per_item == 1 else "cyclic")
        seed = campaign.seed if options["seed"] is None else options["seed"]
        asked = {"experts": experts, "design": design, "seed": seed, "parts": options["parts"]}
        asked |= {name: options[name] for name in ("sample", "quotas", "overlap")}
        wish = _wish(options)
        try:
            carry = (
                None if wish is None else plan_carrying(campaign, wish, seed=seed, sample=options["sample"])
            )
            planned = plan_parts(campaign, **asked, carry=carry)
        except ProtocolError as error:
            raise Usage(error.message) from None
        round_ = main_round(campaign)
        later = plan_later(round_, again=options["again"], seed=seed, carry=carry)
        completion = plan_completion(
            round_, list(planned.loads), planned.loads, sample=planned.sample, carry=carry
        )
        saved = saving(campaign) if campaign.protocol == Campaign.Protocol.COMPOUND else None
        more: dict[str, Any] = {
            "late_items": later.n_items,
            "later": later.as_json(),
            "completion": completion.as_json(),
            "outputs": saved and saved.as_json(),
            **({} if carry is None else {"carry_over": carry.as_json()}),
        }
        makes = completion.n_items or any(planned.loads.values())
        idle = not (makes or later.n_items)
        new = without_account(list(planned.loads)) if makes else []
        more |= {"without_account": new, "warnings": list(_warnings(planned, idle=idle))}
        more |= {"loads": {}} if idle else {}  # nobody becomes a member for nothing
        first = next_index(round_)
        text = "\n".join(
            [
                *describe_saving(saved),
                *_carried(carry),
                describe(planned, later, completion, first=first),
                *_without_account(new, preview=options["preview"]),
            ]
        )
        if options["preview"]:
            return Outcome(_document(planned, first) | more, f"{text}\nNothing was stored.")
        planned = assign_parts(campaign, **asked, again=options["again"], carry_over=wish)
        invitations = _invitations(planned) if makes else []
        links = "".join(f"\n{invitation['expert']}: {invitation['url']}" for invitation in invitations)
        document = _document(planned, first) | more | {"invitations": invitations}
        return Outcome(document, f"{text}{links}")


def _wish(options: dict[str, Any]) -> CarryWish | None:
    """What is to be carried over, where that was asked for."""
    if options["carry_over"] is None:
        if options["carry_share"] is not None:
            raise Usage(
                "A share is judged anyway where verdicts are carried over: name a lexicon with --carry-over."
            )
        return None
    share = USUAL_CHECKED if options["carry_share"] is None else options["carry_share"]
    return CarryWish(forms=read_forms(_bytes_of(options["carry_over"])), percent=share)


def _bytes_of(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FormatError(
            say("The file “{path}” cannot be opened: {strerror}.", path=path, strerror=error.strerror)
        ) from None


def _carried(carry: CarryPlan | None) -> list[str]:
    if carry is None:
        return []
    pace = carry.pace
    rests = (
        f"the mean of {pace.timed:,} judgements here" if pace.timed else "assumed: too few were timed here"
    )
    return [
        f"Carried over: {counted(len(carry.carried), 'item')} from {counted(carry.n_sources, 'other')}: saves "
        f"{carry.saved:,} judgements, {carry.hours:,.1f} hours at {pace.seconds:.1f} seconds a judgement ({rests}).",
        f"Judged anyway, unmarked: {counted(len(carry.checked), 'item')} ({carry.percent:g} %). The rendering of the "
        f"compound was found in {carry.found:,} of {counted(carry.looked_at, 'item')} to be given out.",
        f"Rule: {carry.rule}",
    ]


def describe_saving(saved: Saving | None) -> list[str]:
    """Instances, distinct items and what that saves."""
    if saved is None or not saved.counts.instances:
        return []
    counts, pace = saved.counts, saved.pace
    of = "" if counts.per_run is None else f"{counted(len(counts.runs), 'run')} × {counts.per_run:,} = "
    rests = (
        f"the mean of {pace.timed:,} judgements here" if pace.timed else "assumed: too few were timed here"
    )
    return [
        f"{of}{counts.instances:,} instances, {counts.items:,} distinct: saves {counts.saved:,} judgements, "
        f"{saved.hours:,.1f} hours at {pace.seconds:.1f} seconds a judgement ({rests})."
    ]


def _document(planned: Plan, first: int) -> dict[str, Any]:
    """The plan for programs, without parts where nothing is left for new ones. A part's `index` is its place in the
    plan, from 0; `number` is what people call it.
    """
    document: dict[str, Any] = planned.as_json()
    if not planned.filled:
        return {**document, "parts": [], "pairs": []}
    parts = [
        {**told, "number": _number(part, first)}
        for told, part in zip(document["parts"], planned.parts, strict=True)
    ]
    return {**document, "parts": parts}


_ALL_GIVEN = "Every unit has its experts already."


def _warnings(planned: Plan, *, idle: bool) -> Iterator[str]:
    if idle:
        yield _ALL_GIVEN
    if planned.stays_empty:
        yield planned.stays_empty


def _number(part: PlanPart, first: int) -> int:
    """As the pages have it: parts are numbered from 1, and on from batch to batch; `first` is the next index."""
    return first + part.index + 1


def describe(planned: Plan, later: LaterPlan, completion: Completion, *, first: int) -> str:
    """The plan for people: parts, loads, pairs."""
    also = [*_drawn(planned), *_late(later), *_completed(completion)]
    if not any(planned.loads.values()) and not later.n_items and not completion.n_items:
        also.append(_ALL_GIVEN)
    if not any(planned.loads.values()):
        return "\n".join(also)
    lines = [
        *also,
        f"Design {planned.design}, seed {planned.seed}, hash {planned.hash[:12]}",
    ]
    for part in planned.filled:
        size = f"{counted(len(part.unit_keys), 'unit')}, {counted(part.n_items, 'item')}"
        lines.append(f"part {_number(part, first)}: {size}: {', '.join(part.experts)}")
    lines += [planned.stays_empty] if planned.stays_empty else []
    lines += [f"{expert} judges {counted(n_items, 'item')}" for expert, n_items in planned.loads.items()]
    lines += [f"{pair.a} and {pair.b} share {counted(pair.n_items, 'item')}" for pair in planned.pairs]
    return "\n".join(lines)


def _late(later: LaterPlan) -> list[str]:
    if not later.n_items:
        return []
    loads = ", ".join(
        f"{share.expert.username} {share.n_items} + {share.n_items_again}" for share in later.shares
    )
    return [
        f"Came later into units that have their experts, and go to them: {counted(later.n_items, 'item')}.",
        f"Judged before, and mixed in unmarked: {counted(later.n_again, 'screen')} of {later.judged:,} with "
        f"{counted(later.n_items_again, 'item')}; asked for: {later.again:g} % "
        f"(new + again: {loads}; seed {later.seed}).",
        *_fewer(later),
        *(
            [f"{', '.join(later.absent)} left: experts who were not given these units take these places."]
            if later.absent
            else []
        ),
    ]


def _fewer(later: LaterPlan) -> list[str]:
    if later.n_again >= later.n_asked:
        return []
    return [
        f"These are fewer than the {counted(later.n_asked, 'screen')} of the share: a unit comes again once only, on "
        "one of its screens, and not after it was discussed or judged again."
    ]


def _drawn(planned: Plan) -> list[str]:
    if planned.sample is None:
        return []
    n, waiting = len(planned.sample.unit_keys), sum(len(part.unit_keys) for part in planned.parts)
    given = f" {n - waiting} of them have experts already." if n > waiting else ""
    return [f"Random sample: {n} of {planned.sample.of} units, by the seed {planned.seed}.{given}"]


def _without_account(names: Sequence[str], *, preview: bool) -> list[str]:
    if not names:
        return []
    verb, each = ("has", "") if len(names) == 1 else ("have", " for each")
    said = f"{verb} no account yet; one will be" if preview else "had no account; one was"
    return [f"{', '.join(names)} {said} made{each}."]


def _completed(completion: Completion) -> list[str]:
    if not completion.n_items:
        return []
    loads = ", ".join(f"{name} {n}" for name, n in completion.loads.items() if n)
    return [
        f"{counted(completion.n_items, 'item')} came with judgements of fewer experts than the campaign asks for. "
        f"What is missing is given out in a part of its own ({loads})."
    ]


def _invitations(planned: Plan) -> list[dict[str, str]]:
    """A link for everybody who has no password yet; links that were sent before go on working."""
    return [
        {"expert": user.username, "url": create_invitation(user, None, end_older=False)[1]}
        for user in find_or_create_experts(list(planned.loads), None)
        if not user.has_usable_password()
    ]
