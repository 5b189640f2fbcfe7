"""Give parts to experts."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, Usage, get_campaign
from annotation.protocol.assignment import Plan
from annotation.protocol.errors import ProtocolError
from annotation.services.access import create_invitation
from annotation.services.campaigns import main_round
from annotation.services.parts import assign_parts, late_items, plan_parts
from annotation.services.people import find_or_create_experts


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
            "--design", help="cyclic, pairs or single; default: single for K = 1, else cyclic"
        )
        parser.add_argument("--seed", type=int, help="default: the campaign's")
        parser.add_argument("--preview", action="store_true")

    def run(self, **options: Any) -> Outcome:
        campaign = get_campaign(options["slug"])
        experts = [name.strip() for name in options["experts"].split(",")]
        design = options["design"] or ("single" if campaign.annotators_per_item == 1 else "cyclic")
        seed = campaign.seed if options["seed"] is None else options["seed"]
        asked = {"experts": experts, "design": design, "seed": seed, "parts": options["parts"]}
        try:
            planned = plan_parts(campaign, **asked)
        except ProtocolError as error:
            raise Usage(error.message) from None
        late = late_items(main_round(campaign)).count()
        if options["preview"]:
            document = planned.as_json() | {"late_items": late}
            return Outcome(document, f"{describe(planned, late)}\nNothing was stored.")
        planned = assign_parts(campaign, **asked)
        invitations = _invitations(planned)
        links = "".join(f"\n{invitation['expert']}: {invitation['url']}" for invitation in invitations)
        document = planned.as_json() | {"late_items": late, "invitations": invitations}
        return Outcome(document, f"{describe(planned, late)}{links}")


def describe(planned: Plan, late: int) -> str:
    """The plan for people: parts, loads, pairs."""
    later = [f"{late} items came later into units that have their experts: they go to the same experts."]
    if not any(planned.loads.values()):
        return "\n".join(["Every unit has its experts already.", *(later if late else [])])
    lines = [
        *(later if late else []),
        f"Design {planned.design}, seed {planned.seed}, hash {planned.hash[:12]}",
    ]
    for part in planned.parts:
        size = f"{len(part.unit_keys)} units, {part.n_items} items"
        lines.append(f"part {part.index}: {size}: {', '.join(part.experts)}")
    lines += [f"{expert} judges {n_items} items" for expert, n_items in planned.loads.items()]
    lines += [f"{pair.a} and {pair.b} share {pair.n_items} items" for pair in planned.pairs]
    return "\n".join(lines)


def _invitations(planned: Plan) -> list[dict[str, str]]:
    """A link for everybody who has no password yet; links that were sent before go on working."""
    if not any(planned.loads.values()):
        return []
    return [
        {"expert": user.username, "url": create_invitation(user, None, end_older=False)[1]}
        for user in find_or_create_experts(list(planned.loads), None)
        if not user.has_usable_password()
    ]
