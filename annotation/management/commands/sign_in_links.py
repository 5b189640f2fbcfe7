"""New sign-in links for the people of the bundled sample."""

from typing import Any

from annotation.management.base import AssayCommand, Outcome
from annotation.management.commands.load_sample import links_outcome
from annotation.services.sample import sign_in_links


class Command(AssayCommand):
    """`sign_in_links`"""

    help = "Print new links with which the sample's people set their passwords; older unused links end."

    def run(self, **options: Any) -> Outcome:
        return links_outcome(sign_in_links())
