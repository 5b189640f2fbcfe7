"""Load the bundled sample: two campaigns, a manager, four experts."""

from typing import Any

from annotation.management.base import AssayCommand, Outcome
from annotation.services.sample import load_sample


class Command(AssayCommand):
    """`load_sample`"""

    help = "Load the bundled compounds and triples with a manager and four experts; prints their sign-in links."

    def run(self, **options: Any) -> Outcome:
        links = load_sample()
        lines = [f"{link.name} ({link.role}): {link.url}" for link in links]
        document = {"invitations": [{"name": link.name, "role": link.role, "url": link.url} for link in links]}
        return Outcome(document, "\n".join(lines))
