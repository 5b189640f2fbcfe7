"""Check that what must hold does hold."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, get_campaign
from annotation.services.verify import unfinished_imports, verify


class Command(AssayCommand):
    """`verify SLUG`"""

    help = (
        "Check exactly k experts per item, whole units, answers, labels; exit 1 where something is violated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")

    def run(self, **options: Any) -> Outcome:
        campaign = get_campaign(options["slug"])
        violations = verify(campaign)
        document = {"ok": not violations, "violations": [asdict(violation) for violation in violations]}
        lines = [f"{violation.rule}: {violation.where}" for violation in violations]
        notes = [
            f"note: the import of {name} was never finished; nobody sees its rows, and the next import "
            "removes them."
            for name in unfinished_imports(campaign)
        ]
        if violations:  # then the notes come with the violations, which go to stderr too
            return Outcome(document, "\n".join([*lines, *notes]), ok=False)
        return Outcome(document, "Everything that must hold does hold.", notes=notes)
