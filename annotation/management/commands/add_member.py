"""Give somebody a role in a campaign."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, changeable_campaign
from annotation.models import Membership
from annotation.services.access import create_invitation
from annotation.services.people import add_person


class Command(AssayCommand):
    """`add_member SLUG NAME --role manager|expert|viewer`"""

    help = "Give somebody a role in a campaign; who has no password yet gets a link to set one."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("name", help="the account's name; one is made where there is none")
        parser.add_argument(
            "--role", required=True, choices=Membership.Role.values, help="what they may do here"
        )

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        member = add_person(campaign, options["name"], options["role"], by=None)
        user = member.user
        links = (
            []
            if user.has_usable_password()
            else [{"person": user.username, "url": create_invitation(user, None, end_older=False)[1]}]
        )
        document = {
            "campaign": campaign.slug,
            "person": user.username,
            "role": member.role,
            "pseudonym": member.pseudonym,
            "invitations": links,
        }
        lines = [f"{user.username} takes part in {campaign.slug} as {member.role} ({member.pseudonym})."]
        lines += [f"{link['person']}: {link['url']}" for link in links]
        return Outcome(document, "\n".join(lines))
