"""Check that what must hold does hold."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, get_campaign
from annotation.services.verify import verify


class Command(AssayCommand):
    """`verify SLUG`"""

    help = (
        "Check exactly k experts per item, whole units, answers, labels; exit 1 where something is violated."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug")

    def run(self, **options: Any) -> Outcome:
        violations = verify(get_campaign(options["slug"]))
        document = {"ok": not violations, "violations": [asdict(violation) for violation in violations]}
        lines = [f"{violation.rule}: {violation.where}" for violation in violations]
        return Outcome(
            document, "\n".join(lines) or "Everything that must hold does hold.", ok=not violations
        )
