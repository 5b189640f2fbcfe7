"""Open a campaign."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, account_of, unmanaged
from annotation.models import Campaign, Membership
from annotation.services.campaigns import create_campaign
from annotation.services.people import add_member


class Command(AssayCommand):
    """`create_campaign SLUG --protocol compound|triple`"""

    help = "Open a campaign: its main round and the default guidelines."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "slug", help="its address: letters, digits, and single hyphens or underscores between them"
        )
        parser.add_argument(
            "--protocol", required=True, choices=Campaign.Protocol.values, help="what is judged"
        )
        parser.add_argument("--title", default="", help="what people read; default: the address")
        parser.add_argument("--annotators-per-item", type=int, help="default: 1 for compound, 2 for triple")
        parser.add_argument(
            "--manager", action="append", default=[], help="an existing account that manages it"
        )
        parser.add_argument("--seed", type=int, help="default: drawn")
        parser.add_argument(
            "--display",
            default=Campaign.Display.ALONE.value,
            choices=Campaign.Display.values,
            help="of compounds: one translation of a context on a screen (default), or all of them side by side",
        )

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        names = ("protocol", "title", "annotators_per_item", "seed", "display")
        return {"campaign": options.get("slug")} | {name: options.get(name) for name in names}

    def run(self, **options: Any) -> Outcome:
        managers = [account_of(name) for name in options["manager"]]
        campaign = create_campaign(
            slug=options["slug"],
            protocol=options["protocol"],
            title=options["title"],
            annotators_per_item=options["annotators_per_item"],
            seed=options["seed"],
            display=options["display"],
        )
        for manager in managers:
            add_member(campaign, manager, Membership.Role.MANAGER)
        document = {
            "campaign": campaign.slug,
            "protocol": campaign.protocol,
            "title": campaign.title,
            "annotators_per_item": campaign.annotators_per_item,
            "seed": campaign.seed,
            "display": options["display"],
        }
        k = campaign.annotators_per_item
        summary = (
            f"Campaign {campaign.slug}: {campaign.protocol}, {k} expert{'' if k == 1 else 's'} per item."
        )
        return Outcome(document, "\n".join([summary, *_next_steps(campaign, managed=bool(managers))]))


def _next_steps(campaign: Campaign, *, managed: bool) -> list[str]:
    items = (
        "import_items"
        if campaign.protocol == Campaign.Protocol.TRIPLE
        else "import_items (or import_cognition)"
    )
    steps = [f"Next: {items} {campaign.slug} FILE, then assign_parts {campaign.slug} --experts NAME,NAME"]
    if not managed:
        steps.append(unmanaged(campaign.slug))
    return steps
