"""Who gave the judgements of a file: accounts that are there, and closed ones for those who have none."""

from collections.abc import Iterable, Mapping

from annotation.models import Campaign, Membership, User
from annotation.services.judgement_items import ItemJudgements
from annotation.services.people import add_member, check_name, same_role


def find_authors(campaign: Campaign, judged: Iterable[ItemJudgements]) -> dict[str, User]:
    """The authors by folded name; who has no account yet is one that is not stored. Writes nothing.

    Who takes part as something else than an expert is refused, whether their account is open or closed.
    """
    members = campaign.memberships.select_related("user")
    authors: dict[str, User] = {}
    for one in judged:
        if one.annotator in authors:
            continue
        check_name(one.rows[0].annotator)
        user = User.objects.filter(username_folded=one.annotator).first()
        if user is None:
            user = User(username=one.rows[0].annotator.strip(), is_active=False)
        else:
            for member in members.filter(user=user):
                same_role(member, Membership.Role.EXPERT)
        authors[one.annotator] = user
    return authors


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
