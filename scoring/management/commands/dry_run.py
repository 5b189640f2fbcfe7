"""Open a dry run, or look at its plan."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, Usage, changeable_campaign, counted, number
from annotation.models import User
from annotation.protocol.text import fold_name
from annotation.services.access import create_invitation
from annotation.services.dry_runs import Bound, DryRunPlan, Source, open_dry_run, plan_dry_run
from scoring.services.gates import COEFFICIENTS, gate


class Command(AssayCommand):
    """`dry_run SLUG --experts a,b,c,d`"""

    help = "Let several experts judge the same units before the main round; --preview shows the plan only."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--experts", required=True, help="names, separated by commas")
        parser.add_argument("--n", type=int, help="units; default: 60 triples or 24 compounds")
        parser.add_argument("--seed", type=int, help="default: the campaign's")
        parser.add_argument(
            "--exposed",
            action="store_true",
            help="the units stay in the campaign and out of agreement, instead of being set aside",
        )
        parser.add_argument("--set-aside", action="store_true", help="they are set aside (the default)")
        parser.add_argument("--gate", choices=COEFFICIENTS, help="the figure that must reach --threshold")
        parser.add_argument("--threshold", type=number, help="what --gate must reach")
        parser.add_argument(
            "--bound",
            choices=[str(bound) for bound in Bound],
            default=Bound.VALUE,
            help="what of the figure must reach it: its value, or the lower end of its interval",
        )
        parser.add_argument("--preview", action="store_true", help="show what it would hold, store nothing")

    def run(self, **options: Any) -> Outcome:
        if (options["gate"] is None) != (options["threshold"] is None):
            raise Usage("A gate needs both: --gate and --threshold.")
        if options["exposed"] and options["set_aside"]:
            raise Usage("The units are either set aside or exposed; say one of the two.")
        campaign = changeable_campaign(options["slug"], stores=not options["preview"])
        asked = {
            "experts": [name.strip() for name in options["experts"].split(",")],
            "n": options["n"],
            "seed": options["seed"],
            "source": Source.EXPOSED if options["exposed"] else Source.SET_ASIDE,
            "gate": gate(options["gate"], options["threshold"], options["bound"])
            if options["gate"]
            else None,
        }
        planned = plan_dry_run(campaign, **asked)
        if options["preview"]:
            return Outcome(planned.as_json(), f"{describe(planned)}\nNothing was stored.")
        round_ = open_dry_run(campaign, **asked, by=None, confirmed_hash=planned.hash)
        invitations = _invitations(planned)
        links = "".join(f"\n{one['expert']}: {one['url']}" for one in invitations)
        document = planned.as_json() | {"number": round_.number, "invitations": invitations}
        return Outcome(document, f"Dry run {round_.number} is open.\n{describe(planned)}{links}")


def describe(planned: DryRunPlan) -> str:
    """The plan for people."""
    size = f"{counted(planned.n_units, 'unit')}, {counted(len(planned.items), 'item')}"
    lines = [f"{size}, seed {planned.seed}, judged by {', '.join(planned.experts)}"]
    lines += [f"{one.name}: {one.drawn} of {one.available}" for one in planned.sample.strata]
    aside = planned.source == Source.SET_ASIDE
    lines.append("They are set aside." if aside else "They stay in the campaign, and out of agreement.")
    if planned.gate:
        low = "the lower end of its interval" if planned.gate.bound == Bound.LOWER else "its value"
        lines.append(f"Gate: {planned.gate.coefficient}, {low} must reach {planned.gate.threshold:g}")
    return "\n".join(lines)


def _invitations(planned: DryRunPlan) -> list[dict[str, str]]:
    """A link for everybody who has no password yet; links that were sent before go on working."""
    people = User.objects.filter(username_folded__in=[fold_name(name) for name in planned.experts])
    return [
        {"expert": user.username, "url": create_invitation(user, None, end_older=False)[1]}
        for user in people.order_by("pk")
        if not user.has_usable_password()
    ]
