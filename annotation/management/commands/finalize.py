"""Run the label rule."""

from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, changeable_campaign, counted
from annotation.services.labels import Finalized, finalize


class Command(AssayCommand):
    """`finalize SLUG`"""

    help = "Label what can be labelled by the campaign's rule; may be repeated."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--rule", help="default: the rule used before, or the protocol's own")

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        result = finalize(campaign, rule=options["rule"])
        return Outcome({"campaign": campaign.slug} | result.as_json(), describe(result))


def describe(result: Finalized) -> str:
    """How many got a label, how many not, and why."""
    lines = [
        f"Rule {result.rule} (version {result.rule_version}), labels version {result.label_version}: "
        f"{counted(result.labelled, 'item')} labelled, {sum(result.unlabelled.values())} not, "
        f"{counted(result.changed, 'label')} changed."
    ]
    lines += [f"{count} without a label: {reason}" for reason, count in result.unlabelled.items()]
    return "\n".join(lines)
