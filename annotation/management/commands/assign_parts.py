"""Give parts to experts."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, Usage, changeable_campaign, counted
from annotation.protocol.assignment import Plan
from annotation.protocol.errors import ProtocolError
from annotation.services.access import create_invitation
from annotation.services.campaigns import main_round
from annotation.services.completion import Completion, plan_completion
from annotation.services.parts import assign_parts, late_items, plan_parts
from annotation.services.people import find_or_create_experts


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
        parser.add_argument("slug")
        parser.add_argument("--experts", required=True, help="names, separated by commas")
        parser.add_argument("--parts", type=int)
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
        parser.add_argument("--preview", action="store_true")

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["preview"])
        experts = [name.strip() for name in options["experts"].split(",")]
        design = options["design"] or ("single" if campaign.annotators_per_item == 1 else "cyclic")
        seed = campaign.seed if options["seed"] is None else options["seed"]
        asked = {"experts": experts, "design": design, "seed": seed, "parts": options["parts"]}
        asked |= {name: options[name] for name in ("sample", "quotas", "overlap")}
        try:
            planned = plan_parts(campaign, **asked)
        except ProtocolError as error:
            raise Usage(error.message) from None
        round_ = main_round(campaign)
        late = late_items(round_).count()
        completion = plan_completion(round_, list(planned.loads), planned.loads, sample=planned.sample)
        more = {"late_items": late, "completion": completion.as_json()}
        text = describe(planned, late, completion)
        if options["preview"]:
            return Outcome(planned.as_json() | more, f"{text}\nNothing was stored.")
        planned = assign_parts(campaign, **asked)
        invitations = _invitations(planned) if any(planned.loads.values()) or completion.n_items else []
        links = "".join(f"\n{invitation['expert']}: {invitation['url']}" for invitation in invitations)
        document = planned.as_json() | more | {"invitations": invitations}
        return Outcome(document, f"{text}{links}")


def describe(planned: Plan, late: int, completion: Completion) -> str:
    """The plan for people: parts, loads, pairs."""
    later = [f"Came later into units that have their experts, and go to them: {counted(late, 'item')}."]
    also = [*_drawn(planned), *(later if late else []), *_completed(completion)]
    if not any(planned.loads.values()) and not late and not completion.n_items:
        also.append("Every unit has its experts already.")
    if not any(planned.loads.values()):
        return "\n".join(also)
    lines = [
        *also,
        f"Design {planned.design}, seed {planned.seed}, hash {planned.hash[:12]}",
    ]
    for part in planned.parts:
        size = f"{counted(len(part.unit_keys), 'unit')}, {counted(part.n_items, 'item')}"
        lines.append(f"part {part.index + 1}: {size}: {', '.join(part.experts)}")
    lines += [f"{expert} judges {counted(n_items, 'item')}" for expert, n_items in planned.loads.items()]
    lines += [f"{pair.a} and {pair.b} share {counted(pair.n_items, 'item')}" for pair in planned.pairs]
    return "\n".join(lines)


def _drawn(planned: Plan) -> list[str]:
    if planned.sample is None:
        return []
    n, waiting = len(planned.sample.unit_keys), sum(len(part.unit_keys) for part in planned.parts)
    given = f" {n - waiting} of them have experts already." if n > waiting else ""
    return [f"Random sample: {n} of {planned.sample.of} units, by the seed {planned.seed}.{given}"]


def _completed(completion: Completion) -> list[str]:
    if not completion.n_items:
        return []
    loads = ", ".join(f"{name} {n}" for name, n in completion.loads.items() if n)
    return [
        f"Judged elsewhere by too few, and completed in a part of their own: "
        f"{counted(completion.n_items, 'item')} ({loads})."
    ]


def _invitations(planned: Plan) -> list[dict[str, str]]:
    """A link for everybody who has no password yet; links that were sent before go on working."""
    return [
        {"expert": user.username, "url": create_invitation(user, None, end_older=False)[1]}
        for user in find_or_create_experts(list(planned.loads), None)
        if not user.has_usable_password()
    ]
