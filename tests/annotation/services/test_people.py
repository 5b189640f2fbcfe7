"""Accounts, roles and pseudonyms."""

import pytest
from django.db import IntegrityError, connection
from django.db.models import ProtectedError
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEntry, Campaign, Invitation, Membership, User
from annotation.services.access import create_invitation, create_token, token_user
from annotation.services.errors import Refused
from annotation.services.people import (
    add_member,
    audit,
    campaigns_of,
    deactivate,
    find_or_create_experts,
    may_administer,
    remove_member,
)
from tests.factories import (
    Cast,
    answer,
    make_assignment,
    make_campaign,
    make_cast,
    make_member,
    make_triple,
    make_user,
)


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


def member_of(campaign: Campaign, user: User) -> Membership:
    return Membership.objects.get(campaign=campaign, user=user)


# Names


def test_it_finds_people_whatever_the_case_and_width_of_their_names(cast: Cast) -> None:
    found = find_or_create_experts(["ＬＩＮ", " Ada "], cast.mei)

    assert found == [cast.lin, cast.ada]
    assert User.objects.count() == 5


def test_it_creates_who_is_missing_without_a_password(cast: Cast) -> None:
    ada, new = find_or_create_experts(["ada", "李娜"], cast.mei)

    assert (ada, new.username) == (cast.ada, "李娜")
    assert not new.has_usable_password()
    assert AuditEntry.objects.get(action="person created").detail == {"person": "李娜"}


def test_somebody_who_has_a_comma_in_their_name_already_goes_on_judging(cast: Cast) -> None:
    old = make_user("Li, Na")
    assert find_or_create_experts(["Li, Na"], cast.mei) == [old]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["new", " "], "A name is empty"),
        (["new", "x" * 151], "longer than 150"),
        (["new", "a\tb"], "cannot be seen"),
        (["new", "e1,e2"], "“e1,e2” holds “,”, which stands between names"),
        (["new", "甲、乙"], "“甲、乙” holds “、”, which stands between names"),
        (["new", "ß" * 100], "longer than 150"),
        (["new", "Ada", "ａｄａ"], "“Ada” and “ａｄａ” are one person"),
    ],
)
def test_it_creates_nobody_where_one_name_is_refused(cast: Cast, names: list[str], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        find_or_create_experts(names, cast.mei)

    assert not User.objects.filter(username="new").exists()


def test_it_says_how_an_account_that_came_with_judgements_is_opened(cast: Cast) -> None:
    User.objects.create_user("released", is_active=False)

    with pytest.raises(Refused) as refused:
        find_or_create_experts(["released"], cast.mei)

    assert refused.value.message.startswith(
        "The account of “released” is closed: the name came with judgements"
    )
    assert "press “Open again” beside the name on the page “People”" in refused.value.message
    deactivate(cast.lin, None)
    with pytest.raises(Refused, match=r"The account of “lin” is closed\.$"):
        find_or_create_experts(["lin"], cast.mei)


def test_it_refuses_somebody_whose_account_is_closed(cast: Cast) -> None:
    User.objects.filter(pk=cast.lin.pk).update(is_active=False)

    with pytest.raises(Refused, match="“lin” is closed"):
        find_or_create_experts(["new", "lin"], cast.mei)

    assert not User.objects.filter(username="new").exists()


def test_it_takes_the_account_that_somebody_else_created_at_the_same_moment(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_user("NORA")
    looked = iter(["too early", "there"])

    def look_up(name: str) -> User:
        if next(looked) == "too early":
            raise User.DoesNotExist
        return made

    monkeypatch.setattr(User.objects, "get_by_natural_key", look_up)

    assert find_or_create_experts(["nora"], cast.mei) == [made]


def test_it_lets_no_two_accounts_differ_by_case_only(cast: Cast) -> None:
    """c48: the database says no, too."""
    with pytest.raises(IntegrityError):
        make_user("ADA")


# Roles


def test_it_numbers_pseudonyms_by_role(cast: Cast) -> None:
    names = [
        add_member(cast.campaign, make_user(f"{role}{number}"), role, by=cast.mei).pseudonym
        for role in ("expert", "manager", "viewer")
        for number in (1, 2)
    ]

    assert names == ["A3", "A4", "M2", "M3", "V2", "V3"]


def test_it_gives_no_pseudonym_twice_while_both_are_there(cast: Cast) -> None:
    remove_member(member_of(cast.campaign, cast.ada), cast.mei)

    assert add_member(cast.campaign, make_user("nora"), "expert").pseudonym == "A3"


def test_it_adds_somebody_once(cast: Cast) -> None:
    first = member_of(cast.campaign, cast.ada)

    assert add_member(cast.campaign, cast.ada, "expert", by=cast.mei) == first
    assert not AuditEntry.objects.filter(action="person added").exists()


def test_it_gives_one_role_per_campaign(cast: Cast) -> None:
    with pytest.raises(Refused, match="takes part as manager already"):
        add_member(cast.campaign, cast.mei, "expert", by=cast.mei)

    assert member_of(cast.campaign, cast.mei).role == "manager"


def test_it_draws_another_pseudonym_when_somebody_took_it_meanwhile(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    nora, drawn = make_user("nora"), iter(["A2", "A3"])
    monkeypatch.setattr("annotation.services.people._next_pseudonym", lambda campaign, role: next(drawn))

    assert add_member(cast.campaign, nora, "expert").pseudonym == "A3"


def test_it_adds_nobody_whose_account_is_closed(cast: Cast) -> None:
    with pytest.raises(Refused, match="closed"):
        add_member(cast.campaign, make_user("nora", is_active=False), "expert")


def test_it_removes_somebody_without_items(cast: Cast) -> None:
    remove_member(member_of(cast.campaign, cast.lin), cast.mei)

    assert not cast.campaign.memberships.filter(user=cast.lin).exists()
    entry = AuditEntry.objects.get(action="person removed")
    assert (entry.campaign, entry.actor, entry.detail["pseudonym"]) == (cast.campaign, cast.mei, "A2")


def test_it_keeps_somebody_who_was_given_items(cast: Cast) -> None:
    answer(make_assignment(make_triple(cast.campaign, 1), cast.ada))

    with pytest.raises(Refused, match="A1 was given items"):
        remove_member(member_of(cast.campaign, cast.ada), cast.mei)

    assert cast.campaign.memberships.filter(user=cast.ada).exists()


def test_it_keeps_the_last_manager(cast: Cast) -> None:
    mei = member_of(cast.campaign, cast.mei)
    with pytest.raises(Refused, match="needs a manager"):
        remove_member(mei, cast.mei)

    add_member(cast.campaign, make_user("nora"), "manager")
    remove_member(mei, cast.mei)

    assert not cast.campaign.memberships.filter(user=cast.mei).exists()


def test_it_never_lets_judgements_go_with_an_account(cast: Cast) -> None:
    make_assignment(make_triple(cast.campaign, 1), cast.ada)

    with pytest.raises(ProtectedError):
        cast.ada.delete()


# Accounts


def test_it_closes_an_account_with_its_tokens_and_links(cast: Cast) -> None:
    _token, raw = create_token(cast.ada, "laptop")
    create_invitation(cast.ada, cast.mei)

    deactivate(cast.ada, cast.mei)

    cast.ada.refresh_from_db()
    assert not cast.ada.is_active
    assert cast.ada.tokens.filter(revoked_at__isnull=True).count() == 0
    assert Invitation.objects.get().expires_at <= AuditEntry.objects.get(action="account closed").at
    User.objects.filter(pk=cast.ada.pk).update(is_active=True)
    assert token_user(raw) is None


def test_it_closes_an_account_once(cast: Cast) -> None:
    deactivate(cast.ada, cast.mei)
    deactivate(cast.ada, cast.mei)

    assert AuditEntry.objects.filter(action="account closed").count() == 1


def test_it_lets_nobody_close_their_own_account(cast: Cast) -> None:
    with pytest.raises(Refused, match="their own"):
        deactivate(cast.mei, cast.mei)


def test_it_lets_no_stranger_close_an_account(cast: Cast) -> None:
    for by in (cast.otto, cast.vera, cast.lin):
        with pytest.raises(Refused):
            deactivate(cast.ada, by)

    cast.ada.refresh_from_db()
    assert cast.ada.is_active


def test_it_says_who_may_administer_whom(cast: Cast) -> None:
    root = User.objects.create_superuser("root")

    assert may_administer(None, root)
    assert may_administer(root, cast.ada)
    assert may_administer(cast.mei, cast.ada)
    assert not may_administer(cast.mei, root)
    assert not may_administer(cast.mei, cast.otto)
    assert not may_administer(cast.ada, cast.lin)


# The record, and one's own campaigns


def test_it_writes_down_who_did_what(cast: Cast) -> None:
    entry = audit(cast.campaign, cast.mei, "guideline changed", {"version": 2})

    assert list(cast.campaign.audit_entries.all()) == [entry]
    assert (entry.actor, entry.detail) == (cast.mei, {"version": 2})


def test_it_counts_somebodys_own_items_only(cast: Cast) -> None:
    for position in (1, 2, 3):
        item = make_triple(cast.campaign, position)
        make_assignment(item, cast.ada)
        answer(make_assignment(item, cast.lin, slot=2))
    answer(cast.ada.assignments.get(position=2))
    make_member(make_campaign("newest"), cast.ada, "expert", "A1")

    newest, main = campaigns_of(cast.ada)

    assert (newest.member.campaign.slug, newest.given, newest.answered) == ("newest", 0, 0)
    assert (main.member.pseudonym, main.given, main.answered) == ("A1", 3, 1)
    assert campaigns_of(make_user("nobody")) == []


def test_it_asks_the_database_twice_for_any_number_of_campaigns(cast: Cast) -> None:
    for number in range(5):
        make_member(make_campaign(f"c{number}"), cast.ada, "expert", "A1")

    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert len(campaigns_of(cast.ada)) == 6

    assert len(queries) == 2
