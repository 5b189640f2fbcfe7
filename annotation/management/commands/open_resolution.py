"""Open a resolution, or show what one would hold."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, changeable_campaign
from annotation.models import Campaign, Design, Item
from annotation.services.campaigns import main_round
from annotation.services.errors import Refused
from annotation.services.resolution import open_resolution, plan_resolution


class Command(AssayCommand):
    """`open_resolution SLUG [--preview]`"""

    help = "Ask the experts of every item of closed batches whose scores contrast to judge it again, after discussion."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--preview", action="store_true", help="show what it would hold, store nothing")

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"], stores=not options["preview"])
        planned = plan_resolution(campaign)
        positions = Item.objects.filter(pk__in=planned.items).order_by("position")
        document: dict[str, Any] = {
            "n_items": planned.n_items,
            "positions": list(positions.values_list("position", flat=True)),
            "loads": dict(planned.loads),
            "left_out": {reason: list(found) for reason, found in planned.left_out.items()},
            "hash": planned.hash,
            "round": None,
        }
        why = "" if planned.n_items else _left_out_for_now(campaign)
        loads = ", ".join(f"{name} {n}" for name, n in planned.loads.items())
        if options["preview"]:
            return Outcome(
                document, f"{planned.n_items} items would be judged again ({loads or 'by nobody'}).{why}"
            )
        if why:
            raise Refused(f"No item of a closed batch is to be judged again.{why}")
        document["round"] = open_resolution(campaign, by=None, confirmed=planned.hash).number
        return Outcome(
            document, f"Resolution {document['round']} is open: {planned.n_items} items ({loads})."
        )


def _left_out_for_now(campaign: Campaign) -> str:
    """The batches that a resolution does not look at yet, as a sentence behind others."""
    n = Design.objects.filter(round=main_round(campaign), closed_at__isnull=True).count()
    return f" Batches that are not closed do not count here: {n}." if n else ""
