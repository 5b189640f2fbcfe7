"""The bundled sample: something to look at in the first minute."""

from dataclasses import dataclass
from pathlib import Path

from annotation.models import Campaign, Membership, User
from annotation.services.access import create_invitation
from annotation.services.campaigns import create_campaign
from annotation.services.errors import Refused
from annotation.services.imports import store
from annotation.services.item_files import read_item_file
from annotation.services.parts import assign_parts

FOLDER = Path(__file__).resolve().parent.parent / "sample"
MANAGER = "mei"
EXPERTS = ("ada", "bo", "chen", "dan")
SEED = 2024
COMPOUNDS, TRIPLES = SLUGS = ("sample-compounds", "sample-triples")


@dataclass(frozen=True)
class Link:
    """Where a person sets their password."""

    name: str
    role: str
    url: str


def load_sample() -> list[Link]:
    """Two campaigns with their parts given out; links for a manager and four experts."""
    if Campaign.objects.exists() or User.objects.exists():
        raise Refused("There is data here already; the sample is for an empty site.")
    manager = User.objects.create_user(MANAGER)
    for slug, title, protocol, k, design in (
        (COMPOUNDS, "Sample: compounds · 组合短语示例", Campaign.Protocol.COMPOUND, 2, "cyclic"),
        (TRIPLES, "Sample: triples · 三元组示例", Campaign.Protocol.TRIPLE, 2, "cyclic"),
    ):
        campaign = create_campaign(
            slug=slug, title=title, protocol=protocol, annotators_per_item=k, seed=SEED, by=manager
        )
        file = read_item_file(campaign, FOLDER / f"{protocol}s.csv")
        report = store(campaign, file.rows, sha256=file.sha256, by=manager)
        assert report.stored  # the sample is ours and is tested to be clean
        assign_parts(campaign, experts=EXPERTS, design=design, seed=SEED, by=manager)
    return sign_in_links()


def sign_in_links() -> list[Link]:
    """New links for the sample's people; older unused ones end."""
    people = User.objects.filter(username__in=(MANAGER, *EXPERTS)).order_by("pk")
    roles = dict(Membership.objects.filter(user__in=people).values_list("user", "role"))
    return [
        Link(user.username, roles.get(user.pk, ""), create_invitation(user, None)[1])
        for user in sorted(people, key=lambda user: (roles.get(user.pk) != Membership.Role.MANAGER, user.pk))
    ]
