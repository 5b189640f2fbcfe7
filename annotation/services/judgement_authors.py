"""Who gave the judgements of a file: accounts that are there, and closed ones for those who have none."""

from collections.abc import Iterable, Mapping

from annotation.formats.errors import RowIssue
from annotation.models import Campaign, Membership, User
from annotation.protocol.sentences import say
from annotation.protocol.text import fold_name
from annotation.services.people import add_member, check_name, same_role


def find_authors(campaign: Campaign, names: Iterable[str]) -> dict[str, User]:
    """The authors of these names, by folded name; who has no account yet is one that is not stored. Writes nothing.

    Who takes part as something else than an expert is refused, whether their account is open or closed.
    """
    members = campaign.memberships.select_related("user")
    authors: dict[str, User] = {}
    for name in names:
        folded = fold_name(name)
        if folded in authors:
            continue
        check_name(name)
        user = User.objects.filter(username_folded=folded).first()
        if user is None:
            user = User(username=name.strip(), is_active=False)
        else:
            for member in members.filter(user=user):
                same_role(member, Membership.Role.EXPERT)
        authors[folded] = user
    return authors


def joining(campaign: Campaign, authors: Iterable[User]) -> list[RowIssue]:
    """A warning for each account in use whose owner the judgements would make an expert of the campaign."""
    members = set(campaign.memberships.values_list("user", flat=True))
    return [
        RowIssue(
            None,
            None,
            say(
                "“{name}” is an existing account and will be an expert of this campaign; the judgements count as "
                "that person's.",
                name=user.username,
            ),
        )
        for user in authors
        if user.pk and user.is_active and user.pk not in members
    ]


def admit_authors(campaign: Campaign, authors: Mapping[str, User], *, by: User | None) -> dict[str, User]:
    """Every author as an expert of the campaign; who has no account gets one that is closed, and stays closed."""
    admitted: dict[str, User] = {}
    for name, author in authors.items():
        user = author if author.pk else User.objects.create_user(author.username, is_active=False)
        admitted[name] = user
        if user.is_active:
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
        elif not campaign.memberships.filter(user=user).exists():
            user.is_active = True  # for the moment of joining only: a closed account is refused
            add_member(campaign, user, Membership.Role.EXPERT, by=by)
    return admitted
