"""Giving out parts: the plan is shown before anything is stored. And giving one back."""

import re
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Design,
    HandIn,
    Invitation,
    Membership,
    Part,
    User,
)
from annotation.services.access import accept_invitation, create_invitation
from annotation.services.parts import assign_parts, plan_parts
from annotation.services.people import add_member
from annotation.services.verify import verify
from tests.factories import make_user
from tests.material import (
    answer_everything,
    compounds,
    load_rows,
    new_campaign,
    run,
    run_json,
    save,
    sheet,
    triples,
)
from tests.pages import body_of, client_of, hidden, text_of
from tests.shared import shared

pytestmark = pytest.mark.django_db

ASSIGN = "/campaigns/main/assign/"
FOUR = {"names": "a\nb\nc\nd", "design": "cyclic", "seed": "3", "parts": ""}


@pytest.fixture
def mei() -> User:
    return make_user("mei")


def campaign_of(
    mei: User, folder: Path, *, n: int = 8, protocol: str = "triple", k: int | None = None
) -> Campaign:
    campaign = new_campaign(protocol, k=k)
    add_member(campaign, mei, Membership.Role.MANAGER)
    load_rows(campaign, triples(n) if protocol == "triple" else compounds(n), folder)
    return campaign


def test_it_shows_parts_experts_loads_and_pairs_and_stores_nothing(mei: User, tmp_path: Path) -> None:
    campaign_of(mei, tmp_path)

    page = text_of(client_of(mei).post(ASSIGN, FOUR))

    assert "Nothing is stored yet." in page
    assert "Part 1 2 2 1 · · 2" in page
    assert "Part 2 2 2 2 1 · ·" in page
    assert "Items to judge 4 4 4 4" in page
    assert "a – b : 2 a – d : 2 b – c : 2 c – d : 2" in page
    assert not User.objects.filter(username="a").exists()
    assert Part.objects.count() == Assignment.objects.count() == Membership.objects.count() - 1 == 0


def test_the_plan_of_a_second_batch_goes_on_with_the_numbers(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)
    assign_parts(campaign, experts=["ada", "bo"], design="cyclic", seed=1, by=mei)
    more = [row | {"triple_id": f"m{place}", "head": f"more {place}"} for place, row in enumerate(triples(4))]
    load_rows(campaign, more, tmp_path)
    members = [str(pk) for pk in campaign.memberships.filter(role="expert").values_list("pk", flat=True)]

    shown = client_of(mei).post(
        "/campaigns/main/assign/", {"members": members, "names": "", "design": "cyclic", "seed": "1"}
    )

    assert [line.index for line in shown.context["plan"].lines] == [2, 3]
    assert "Part 3 2 2" in text_of(shown)
    assert "Part 1 " not in text_of(shown).split("The plan")[1]


def test_it_warns_of_an_expert_with_nothing_to_judge(mei: User, tmp_path: Path) -> None:
    campaign_of(mei, tmp_path, n=2)
    client = client_of(mei)

    assert "Nothing to judge for c: there are fewer units" in text_of(client.post(ASSIGN, FOUR))
    assert "Nothing to judge for" not in text_of(client.post(ASSIGN, FOUR | {"names": "a\nb"}))


def test_it_says_how_many_parts_stay_empty(mei: User, tmp_path: Path) -> None:
    campaign_of(mei, tmp_path, n=3)
    client = client_of(mei)

    assert "1 of the 4 parts stays empty and is given to nobody" in text_of(client.post(ASSIGN, FOUR))
    assert "is given to nobody" not in text_of(client.post(ASSIGN, FOUR | {"names": "a\nb"}))


def test_it_warns_of_names_without_an_account(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)
    assign_parts(campaign, experts=["zoe", "ada"], design="cyclic", sample=2, seed=1, by=mei)
    make_user("bo")
    client = client_of(mei)

    assert "adaa has no account yet; one will be made." in text_of(
        client.post(ASSIGN, FOUR | {"names": "bo, adaa"})
    )
    assert "adaa, lin have no account yet; one will be made for each." in text_of(
        client.post(ASSIGN, FOUR | {"names": "adaa, bo, lin"})
    )
    assert "no account yet;" not in text_of(client.post(ASSIGN, FOUR | {"names": "ＺＯＥ, bo"}))
    asked = ("assign_parts", "main", "--experts", "zoe,adaa")
    assert "adaa has no account yet; one will be made." in run(*asked, "--preview").out.splitlines()
    assert run_json(*asked, "--preview")["without_account"] == ["adaa"]
    assert "adaa had no account; one was made." in run(*asked).out.splitlines()


def test_nobody_is_said_to_get_an_account_where_nothing_is_given_out(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)
    assign_parts(campaign, experts=["zoe", "ada"], design="cyclic", seed=1, by=mei)

    assert "no account yet;" not in text_of(client_of(mei).post(ASSIGN, FOUR | {"names": "adaa\nbo"}))
    assert run_json("assign_parts", "main", "--experts", "adaa,bo")["without_account"] == []
    assert not User.objects.filter(username="adaa").exists()


def test_who_is_ticked_and_typed_too_is_said_to_be_here_and_not_under_which_pseudonym(
    mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei, tmp_path)
    assign_parts(campaign, experts=["zoe", "ada"], design="cyclic", sample=2, seed=1, by=mei)
    members = [str(pk) for pk in campaign.memberships.filter(role="expert").values_list("pk", flat=True)]

    answer = client_of(mei).post(ASSIGN, FOUR | {"members": members, "names": "Ada, bo"})

    assert answer.status_code == 400
    (said,) = answer.context["form"].non_field_errors()
    assert said == (
        "Ada takes part in this campaign already: tick the experts of this campaign above, and type new names only."
    )


def test_it_stores_exactly_the_plan_that_was_shown_and_invites_who_has_no_password(
    mei: User, tmp_path: Path
) -> None:
    campaign = campaign_of(mei, tmp_path)
    make_user("a", password="seven green rivers")
    client = client_of(mei)
    preview = client.post(ASSIGN, FOUR)
    shown = hidden(preview, "hash")

    done = client.post(ASSIGN, FOUR | {"hash": shown})

    assert Design.objects.get().hash == shown
    assert Assignment.objects.count() == 16
    assert verify(campaign) == []
    page = text_of(done)
    assert "The parts are given out." in page
    assert "b A2" in page
    assert " a A1" not in page  # has a password
    links = re.findall(r'value="(http://[^"]+/invitation/[^"]+)"', body_of(done))
    assert len(links) == 3
    assert accept_invitation(links[0].split("/")[-2], "seven green rivers").username == "b"
    assert "您好" in body_of(done)
    assert "Dear b," in body_of(done)


def test_it_makes_no_second_link_for_who_has_one_that_waits(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)
    assign_parts(campaign, experts=["a", "b", "c", "d"], design="cyclic", seed=3, by=mei)
    create_invitation(User.objects.get(username="a"), mei)
    more = [row | {"triple_id": f"m{i}", "head": f"more {i}"} for i, row in enumerate(triples(4))]
    load_rows(campaign, more, tmp_path)
    client = client_of(mei)
    asked = {
        "members": [
            str(pk) for pk in campaign.memberships.filter(role="expert").values_list("pk", flat=True)
        ],
        "names": "",
        "design": "cyclic",
        "seed": "3",
        "parts": "",
    }
    preview = client.post(ASSIGN, asked)

    done = text_of(client.post(ASSIGN, asked | {"hash": hidden(preview, "hash")}))

    assert "A1 – A2 : 1" in text_of(preview)  # members stand under their pseudonyms
    assert "Has an unused link already" in done
    assert Invitation.objects.filter(user__username="a").count() == 1


def test_it_refuses_a_plan_that_is_not_the_one_shown(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)
    client = client_of(mei)
    shown = hidden(client.post(ASSIGN, FOUR), "hash")
    more = [row | {"triple_id": f"m{i}", "head": f"more {i}"} for i, row in enumerate(triples(4))]
    load_rows(campaign, more, tmp_path)

    response = client.post(ASSIGN, FOUR | {"hash": shown})

    assert response.status_code == 409
    assert "The campaign changed since this plan was shown" in text_of(response)
    assert Assignment.objects.count() == 0
    assert client.post(ASSIGN, FOUR | {"hash": "x"}).status_code == 409


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"names": ""}, "Say who judges"),
        ({"names": "Lin\nlin\na\nb"}, "one person"),
        ({"names": "wei\nwei\na\nb"}, "“wei”"),
        ({"parts": "3"}, "parts"),
        ({"names": "solo"}, "expert"),
        ({"seed": "-1"}, "greater than or equal to 0"),
        ({"design": "single"}, "single"),
    ],
)
def test_it_says_what_does_not_fit(mei: User, tmp_path: Path, changes: dict[str, str], said: str) -> None:
    """c18 and its kin: one person twice, in whatever spelling; numbers that do not go together."""
    campaign_of(mei, tmp_path)

    response = client_of(mei).post(ASSIGN, FOUR | changes)

    assert response.status_code == 400
    assert said in text_of(response)
    assert Part.objects.count() == 0


def test_it_keeps_compounds_whole(mei: User, tmp_path: Path) -> None:
    """c19: seven compounds in three parts."""
    campaign = new_campaign("compound")
    add_member(campaign, mei, Membership.Role.MANAGER)
    path = shared("cases/c19_seven_compounds.csv")
    (tmp_path / "c19.csv").write_bytes(path.read_bytes())
    from tests.material import load

    load(campaign, tmp_path / "c19.csv", system="base")
    asked = {"names": "a\nb\nc", "design": "single", "seed": "1", "parts": "3"}

    page = text_of(client_of(mei).post(ASSIGN, asked))

    assert "Part 1 3 15" in page
    assert "Part 2 2 10" in page
    assert page == text_of(client_of(mei).post(ASSIGN, asked))


def test_it_offers_late_items_to_the_experts_of_their_units(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path, n=2, protocol="compound", k=1)
    assign_parts(campaign, experts=["ada"], design="single", seed=1, by=mei)
    other = [row | {"translation": f"别的 {i} 。"} for i, row in enumerate(compounds(2))]
    load_rows(campaign, other, tmp_path, system="large")
    client = client_of(mei)
    asked = {
        "members": str(campaign.memberships.get(role="expert").pk),
        "names": "",
        "design": "single",
        "seed": "1",
        "parts": "",
    }

    assert "10 items came later into units that have their experts." in text_of(client.get(ASSIGN))
    preview = client.post(ASSIGN, asked)
    assert "only the late items are given out" in text_of(preview)
    client.post(ASSIGN, asked | {"hash": hidden(preview, "hash")})

    assert Assignment.objects.filter(expert__username="ada").count() == 20
    assert "Every unit has been given to experts." in text_of(client.get(ASSIGN))


def test_it_shows_instances_and_what_judging_once_saves(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path, n=4, protocol="compound", k=1)
    rows = compounds(4)
    rows[0]["translation"] = "别的。"
    load_rows(campaign, rows, tmp_path, system="large", run="7")

    page = text_of(client_of(mei).get(ASSIGN))

    assert "2 runs × 20 = 40 instances, 21 distinct." in page
    assert "that saves 19 judgements, 3 min of work. Too few judgements were timed here so far" in page
    assert "large 7 20 20" in page
    assert "Judged once" not in text_of(client_of(mei).get("/campaigns/main/rounds/"))


def test_a_share_of_the_old_is_offered_beside_late_items(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path, n=10, protocol="compound", k=1)
    assign_parts(campaign, experts=["ada"], design="single", seed=1, by=mei)
    client = client_of(mei)
    assert "Share that comes again" not in text_of(client.get(ASSIGN))
    answer_everything(campaign, "1")
    other = [row | {"translation": f"别的 {i} 。"} for i, row in enumerate(compounds(10))]
    load_rows(campaign, other, tmp_path, system="large")
    asked = {
        "members": str(campaign.memberships.get(role="expert").pk),
        "names": "", "design": "single", "seed": "1", "parts": "", "again": "20",
    }  # fmt: skip

    assert "Share that comes again, in %" in text_of(client.get(ASSIGN))
    assert client.post(ASSIGN, asked | {"again": "101"}).status_code == 400
    preview = client.post(ASSIGN, asked)
    assert "Of 10 screens that they judged before, 2 come again among them with 10 items" in text_of(preview)
    assert "asked for: 20 % of what each expert judged, rounded to whole screens." in text_of(preview)
    assert "A1 50 10" in text_of(preview)
    assert not Assignment.objects.filter(answered_at=None).exists()
    assert client.post(ASSIGN, asked | {"again": "40", "hash": hidden(preview, "hash")}).status_code == 409
    client.post(ASSIGN, asked | {"hash": hidden(preview, "hash")})

    assert Assignment.objects.filter(answered_at=None).count() == 60
    assert verify(campaign) == []


def test_its_queries_are_as_many_whatever_waits(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path, n=4, protocol="compound", k=1)
    client = client_of(mei)
    client.get(ASSIGN)
    with CaptureQueriesContext(connection) as few:
        client.get(ASSIGN)
    load_rows(campaign, compounds(30), tmp_path, system="large")
    with CaptureQueriesContext(connection) as many:
        client.get(ASSIGN)
    assert len(many) <= len(few) + 1  # all systems together are counted apart


def test_without_items_nothing_is_said_to_be_given_out(mei: User) -> None:
    add_member(new_campaign(), mei, Membership.Role.MANAGER)

    page = text_of(client_of(mei).get(ASSIGN))

    assert "There are no items yet." in page
    assert "Every unit has been given to experts." not in page


def test_it_plans_as_the_command_does(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path)

    shown = hidden(client_of(mei).post(ASSIGN, FOUR), "hash")

    assert shown == plan_parts(campaign, experts=["a", "b", "c", "d"], design="cyclic", seed=3).hash


# Giving a part back


def handed_in(mei: User, folder: Path) -> tuple[Campaign, Membership]:
    campaign = campaign_of(mei, folder, n=2)
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    answer_everything(campaign)
    ada = campaign.memberships.get(user__username="ada")
    HandIn.objects.create(part=Part.objects.get(index=0), expert=ada.user)
    return campaign, ada


def test_it_gives_a_part_back_so_that_its_expert_may_change_answers(mei: User, tmp_path: Path) -> None:
    campaign, ada = handed_in(mei, tmp_path)
    client = client_of(mei)
    page = text_of(client.get("/campaigns/main/parts/0/"))
    assert "not yet" in page
    assert "A part that is given back may be changed" in page
    assert "given back" not in text_of(client.get("/campaigns/main/parts/1/"))  # which nobody handed in

    response = client.post(f"/campaigns/main/parts/0/give-back/{ada.pk}/", follow=True)

    assert "Part 1 is open again for A1." in text_of(response)
    assert HandIn.objects.count() == 0
    row = Assignment.objects.filter(part__index=0, expert=ada.user).first()
    assert row is not None
    assert save(sheet([row], "0"), ada.user_id)[0].revision == 2
    entry = AuditEntry.objects.get(campaign=campaign, action="part given back")
    assert entry.actor == mei
    assert entry.detail.pop("handed_in")  # what was there before
    assert entry.detail == {"part": 0, "pseudonym": "A1"}


def test_a_part_of_compounds_says_how_many_screens_each_expert_sees(mei: User, tmp_path: Path) -> None:
    campaign = campaign_of(mei, tmp_path, n=2, protocol="compound", k=1)
    other = [row | {"translation": f"别的 {i} 。"} for i, row in enumerate(compounds(2))]
    load_rows(campaign, other, tmp_path, system="large")
    assign_parts(campaign, experts=["ada"], design="single", seed=1, by=mei)

    page = text_of(client_of(mei).get("/campaigns/main/parts/0/"))

    ada = User.objects.get(username="ada")
    assert "Part 1 2 compounds" in page
    assert "A1 4 0 / 20" in page  # two translations of a sentence never stand on one screen
    assert client_of(ada).get("/campaigns/main/parts/0/hand-in/").context["review"].total == 4


def test_it_gives_back_only_what_was_handed_in_and_only_here(mei: User, tmp_path: Path) -> None:
    _campaign, ada = handed_in(mei, tmp_path)
    stranger = add_member(new_campaign(slug="other"), make_user("otto"), Membership.Role.EXPERT)
    client = client_of(mei)

    assert client.post(f"/campaigns/main/parts/1/give-back/{ada.pk}/").status_code == 409
    assert client.post(f"/campaigns/main/parts/0/give-back/{stranger.pk}/").status_code == 404
    assert HandIn.objects.count() == 1
