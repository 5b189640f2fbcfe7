"""Load the bundled sample: two campaigns, a manager, four experts."""

from collections.abc import Sequence
from typing import Any

from annotation.management.base import AssayCommand, Outcome
from annotation.services.sample import Link, load_sample


class Command(AssayCommand):
    """`load_sample`"""

    help = (
        "Load the bundled compounds and triples with a manager and four experts; prints their sign-in links."
    )

    def run(self, **options: Any) -> Outcome:
        return links_outcome(load_sample())


def links_outcome(links: Sequence[Link]) -> Outcome:
    """Names, roles and links, for people and for programs."""
    lines = [f"{link.name} ({link.role}): {link.url}" for link in links]
    return Outcome({"invitations": [vars(link) for link in links]}, "\n".join(lines))
