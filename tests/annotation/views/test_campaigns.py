"""Opening a campaign, and the page that says where it stands."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django import forms
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.forms.campaigns import CampaignForm
from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Design,
    HandIn,
    Job,
    Membership,
    Round,
    User,
    Worker,
)
from annotation.services.access import create_invitation
from annotation.services.batches import close_batch, reopen_batch
from annotation.services.campaign_state import archive_campaign, close_campaign
from annotation.services.items import restore, withdraw
from annotation.services.labels import finalize
from annotation.services.parts import assign_parts
from annotation.services.people import add_member
from tests.factories import Cast, answer, make_assignment, make_cast, make_guideline, make_triple, make_user
from tests.material import answer_everything, compounds, load_rows, new_campaign, save, sheet, triples
from tests.pages import body_of, client_of, text_of

pytestmark = pytest.mark.django_db

OVERVIEW = "annotation.services.overview"
HOME = "/campaigns/main/"


@pytest.fixture
def mei() -> User:
    return make_user("mei", password="seven green rivers")


def a_campaign(mei: User, folder: Path, *, n: int = 6, protocol: str = "triple", k: int = 2) -> Campaign:
    """Mei's campaign with n units, given to Ada and Lin, who have passwords."""
    campaign = new_campaign(protocol, k=k)
    add_member(campaign, mei, "manager")
    load_rows(campaign, triples(n) if protocol == "triple" else compounds(n), folder)
    for name in ("ada", "lin"):
        make_user(name, password="seven green rivers")
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    return campaign


def hand_in_everything(campaign: Campaign) -> None:
    for part, expert in set(
        Assignment.objects.filter(round__campaign=campaign).values_list("part", "expert")
    ):
        HandIn.objects.create(part_id=part, expert_id=expert)


# Opening one


def test_it_opens_a_campaign_for_who_manages_one_and_makes_them_its_manager() -> None:
    cast = make_cast()

    response = client_of(cast.otto).post(
        "/campaigns/new/",
        {"title": "Zweite", "slug": "second", "protocol": "compound", "annotators_per_item": "2"},
        follow=True,
    )

    assert response.redirect_chain == [("/campaigns/second/", 302)]
    campaign = Campaign.objects.get(slug="second")
    assert (campaign.title, campaign.annotators_per_item) == ("Zweite", 2)
    assert Membership.objects.get(campaign=campaign).user == cast.otto


def test_it_takes_the_protocols_number_of_experts_where_none_is_typed() -> None:
    cast = make_cast()

    client_of(cast.mei).post("/campaigns/new/", {"title": "T", "slug": "t-2", "protocol": "triple"})

    assert Campaign.objects.get(slug="t-2").annotators_per_item == 2


@pytest.mark.parametrize(
    ("slug", "said"),
    [
        ("main", "There is a campaign at “main” already"),
        ("new", "This address is taken by a page of the site"),
        ("a b", "Use letters, digits, and single hyphens or underscores between them"),
        ("a--b", "Use letters, digits, and single hyphens or underscores between them"),
        ("", "This field is required"),
    ],
)
def test_it_says_beside_the_address_why_it_cannot_be_had(slug: str, said: str) -> None:
    cast = make_cast()

    response = client_of(cast.mei).post(
        "/campaigns/new/", {"title": "Again", "slug": slug, "protocol": "triple"}
    )

    assert response.status_code == 400
    assert said in text_of(response)
    assert 'value="Again"' in body_of(response)
    assert Campaign.objects.count() == 2


# Where it stands


def test_it_says_at_each_stage_what_to_do_next(
    mei: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = new_campaign()
    add_member(campaign, mei, "manager")
    client = client_of(mei)

    def next_step() -> str:
        return text_of(client.get(HOME)).partition(" Next ")[2][:90]

    assert next_step().startswith("Bring in the items: there are none yet.")
    load_rows(campaign, triples(4), tmp_path)
    assert next_step().startswith("Give 4 items to experts")
    assign_parts(campaign, experts=["ada", "lin"], design="cyclic", seed=1, by=mei)
    assert next_step().startswith("Invite A1, A2: there is work waiting")
    for user in User.objects.filter(username__in=["ada", "lin"]):
        create_invitation(user, mei)
    assert next_step().startswith("The experts judge: 0 of 8 judgements are there. Waiting for A1, A2.")
    answer_everything(campaign)
    assert next_step().startswith("Everything is judged. Waiting for A1, A2 to hand in their parts.")
    hand_in_everything(campaign)
    assert next_step().startswith("Compute the final labels: all answers are there.")
    finalize(campaign)
    assert next_step().startswith(
        "The final labels are there. Before you use them: Batch 1 is judged and handed"
    )
    with monkeypatch.context() as released:
        released.setattr(f"{OVERVIEW}.released_labels", lambda campaign: campaign.label_version)
        assert next_step().startswith(
            "The final labels are there. They were released, and a release stays as it is. Before"
        )
    batch = close_batch(campaign, Design.objects.get().pk, by=mei)
    assert next_step().startswith("The final labels are there. Look at the reports.")
    with monkeypatch.context() as released:
        released.setattr(f"{OVERVIEW}.released_labels", lambda campaign: campaign.label_version)
        assert next_step().startswith("The final labels are there. They were released. Look at the reports.")
        released.setattr(f"{OVERVIEW}.released_labels", lambda campaign: 7)
        now = f"these are version {Campaign.objects.get().label_version}, and not released yet."
        assert f"A release holds version 7 of the labels; {now}" in text_of(client.get(HOME))
        released.setattr(f"{OVERVIEW}.released_labels", lambda campaign: 0)
        assert "A release holds labels that were imported; these are not released" in text_of(
            client.get(HOME)
        )
    reopen_batch(campaign, batch.pk, by=mei)
    HandIn.objects.all().delete()
    ada = Assignment.objects.filter(expert__username="ada").first()
    assert ada is not None
    save(sheet([ada], "0"), ada.expert_id)
    hand_in_everything(campaign)
    assert next_step().startswith("Compute the final labels again: 1 item was answered since.")


def test_a_campaign_that_is_over_says_so_and_what_can_still_be_done(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    client = client_of(mei)
    close_campaign(campaign, reason="The money is gone.", by=mei)

    def next_step() -> str:
        return text_of(client.get(HOME)).partition(" Next ")[2]

    today = f"{timezone.now():%Y-%m-%d}"
    assert next_step().startswith(
        f"This campaign is closed since {today}. Why: The money is gone. Nobody judges"
    )
    archive_campaign(campaign, by=mei)
    assert next_step().startswith(
        f"This campaign was closed on {today} and is archived since {today}. Why: The money is gone. It is only read"
    )


def test_labels_are_not_offered_to_be_computed_before_there_is_an_answer(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    client = client_of(mei)
    assert "Compute final labels" not in text_of(client.get(HOME))
    answer_everything(campaign)
    assert "Compute final labels" in text_of(client.get(HOME))


def test_labels_that_came_while_the_page_was_made_have_no_version_yet(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    answer_everything(campaign)
    finalize(campaign)
    client = client_of(mei)
    assert "labels version 1" in text_of(client.get(HOME))
    Campaign.objects.update(rule="", label_version=0)  # as it was read before the labels were
    page = text_of(client.get(HOME))
    assert ("Rule –" in page, "labels version" in page) == (True, False)


def test_what_contrasts_is_named_with_the_way_to_settle_it(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    answer_everything(campaign, lambda row: "1" if row.slot == 1 or row.item.position > 2 else "0")
    hand_in_everything(campaign)
    finalize(campaign)
    close_batch(campaign, Design.objects.get().pk, by=mei)
    page = client_of(mei).get(HOME)
    assert "Before you use them: The answers to 2 items contrast" in text_of(page)
    assert "/campaigns/main/rounds/resolution/" in body_of(page)
    assert "Spot check (none held) Resolution (not all settled)" in " ".join(text_of(page).split())


def test_it_costs_the_same_number_of_queries_whatever_the_campaigns_size(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path, n=4)
    client = client_of(mei)

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(HOME).status_code == 200
        return len(captured)

    answer_everything(campaign)
    finalize(campaign)
    small = queries()
    more = [row | {"triple_id": f"m{i}", "head": f"more {i}"} for i, row in enumerate(triples(60))]
    load_rows(campaign, more, tmp_path)
    assign_parts(
        campaign, experts=["ada", "lin", "bo", "chen", "dan", "eva"], design="cyclic", seed=1, by=mei
    )
    answer_everything(campaign, "0")
    finalize(campaign)

    assert queries() == small
    assert small <= 22


def test_it_counts_an_item_as_done_for_each_expert_on_their_own(mei: User, tmp_path: Path) -> None:
    """c15: A finishes all 10; B still sees 10 open, and the page shows 10 of 20 judgements."""
    a_campaign(mei, tmp_path, n=10)
    for row in Assignment.objects.filter(expert__username="ada"):
        save(sheet([row]), row.expert_id)

    page = text_of(client_of(mei).get(HOME))

    assert "The experts judge: 10 of 20 judgements are there. Waiting for A2." in page
    assert "Judged, but not handed in yet: A1." in page
    assert "A1 10 / 10" in page
    assert "A2 0 / 10" in page


def test_it_counts_open_items_only_and_every_revision_once(mei: User, tmp_path: Path) -> None:
    """c20: ten items, two experts; one revised three times, one undone and redone, one withdrawn after two."""
    campaign = a_campaign(mei, tmp_path, n=10)
    answer_everything(campaign)
    first, second, third = Assignment.objects.filter(expert__username="ada").order_by("position")[:3]
    for label in ("0", "0.5", "1"):
        first.refresh_from_db()
        save(sheet([first], label), first.expert_id)
    save(sheet([second], "0"), second.expert_id)
    second.refresh_from_db()
    save(sheet([second], "1"), second.expert_id)
    withdraw(campaign, third.item_id, reason="not a sentence", by=mei)

    page = text_of(client_of(mei).get(HOME))

    assert "18 / 18" in page
    assert "9 items · 1 withdrawn" in page
    assert "A1 9 / 9" in page
    assert "planned:" not in page
    assert "as planned" in page
    assert "exactly 2 per item" in page


def test_it_shows_pseudonyms_until_a_manager_asks_for_names_which_is_written_down(
    mei: User, tmp_path: Path
) -> None:
    campaign = a_campaign(mei, tmp_path)
    client = client_of(mei)

    hidden, shown = text_of(client.get(HOME)), text_of(client.post(HOME + "names/"))

    assert "ada" not in hidden
    assert "A1 ada" in shown
    entry = AuditEntry.objects.get(campaign=campaign, action="names shown")
    assert (entry.actor, entry.detail) == (mei, {"page": "campaign"})
    assert "ada" not in text_of(client.get(HOME))


def test_it_gives_viewers_the_same_page_without_anything_to_press(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    vera = make_user("vera")
    add_member(campaign, vera, "viewer")
    client = client_of(vera)

    response = client.get(HOME)

    forms = re.findall(r'<form[^>]*action="([^"]+)"', body_of(response))
    assert set(forms) <= {"/language/", "/sign-out/", "/theme/"}
    assert "The experts judge" in text_of(response)
    assert "with names" not in text_of(response)
    assert client.post(HOME + "names/").status_code == 404


def test_it_tells_nothing_about_agreement_or_single_answers_while_experts_judge(
    mei: User, tmp_path: Path
) -> None:
    campaign = a_campaign(mei, tmp_path)
    answer_everything(campaign, lambda row: "1" if row.expert.username == "ada" else "0")
    finalize(campaign)

    page = text_of(client_of(mei).get(HOME))

    assert "κ" not in page
    assert "Raw agreement" not in page


@pytest.mark.parametrize(("k", "all_judged", "said"), [(2, False, True), (2, True, False), (1, False, False)])
def test_it_says_that_agreement_is_hidden_only_where_there_is_some_and_somebody_judges(
    k: int, all_judged: bool, said: bool, mei: User, tmp_path: Path
) -> None:
    campaign = a_campaign(mei, tmp_path)
    answer_everything(campaign)
    Campaign.objects.update(annotators_per_item=k)
    if not all_judged:
        Assignment.objects.filter(pk=Assignment.objects.earliest("pk").pk).update(
            revision=0, label="", answered_at=None
        )
    finalize(campaign)

    page = text_of(client_of(mei).get(HOME))

    assert ("How far the experts agree stays hidden here while they judge." in page) == said


def test_it_counts_labels_and_what_has_none_by_reason(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path, n=2, protocol="compound")
    units = list(campaign.units.order_by("position"))

    def verdict(row: Assignment) -> str:
        if row.unit_id == units[0].pk:
            return "1"
        return {1: "1" if row.slot == 1 else "0", 2: ""}.get(row.item.context.number, "0")  # type: ignore[union-attr]

    answer_everything(campaign, verdict, cause="source_broken")
    finalize(campaign)

    page = text_of(client_of(mei).get(HOME))

    assert "Final 8 · correct 5 · wrong 3" in page
    assert "No label 1 an expert could not judge it" in page
    assert "No label 1 the answers are split" in page
    assert "2 cannot judge" in page

    taken = Assignment.objects.filter(label="0")[0]
    Assignment.objects.filter(pk=taken.pk).update(revision=0, label="", answered_at=None)
    page = text_of(client_of(mei).get(HOME))
    assert (
        "Final or split 9 Which labels they are, and on how many the answers are split, is not shown" in page
    )
    assert "No label 1 the answers are split" not in page
    assert "wrong" not in page


def test_who_only_has_to_hand_in_is_waited_for_and_not_invited(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    User.objects.filter(username__in=["ada", "lin"]).update(password="!")
    assert "Next Invite A1" in text_of(client_of(mei).get(HOME))

    answer_everything(campaign, lambda row: "1")

    assert "Next Everything is judged. Waiting for A1, A2 to hand in their parts." in text_of(
        client_of(mei).get(HOME)
    )


def test_it_asks_to_compute_the_label_of_an_item_that_was_restored(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path, n=3)
    answer_everything(campaign)
    hand_in_everything(campaign)
    item = campaign.items.get(position=2)
    withdraw(campaign, item.pk, reason="odd", by=mei)
    finalize(campaign)
    client = client_of(mei)
    assert "The final labels are there." in text_of(client.get(HOME))

    restore(campaign, item.pk, by=mei)

    page = text_of(client.get(HOME))
    assert "Compute the final labels: all answers are there." in page
    assert "Not computed 1" in page


def test_it_says_what_a_spreadsheet_makes_of_csv(mei: User, tmp_path: Path) -> None:
    a_campaign(mei, tmp_path)
    page = text_of(client_of(mei).get("/campaigns/main/"))
    assert "a spreadsheet may read a cell that begins with = as a formula. XLSX holds it as text." in page


def test_it_lists_failed_jobs_until_they_were_run_again(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    failed = Job.objects.create(campaign=campaign, kind="finalize", digest="d", state=Job.State.FAILED)
    Job.objects.create(campaign=campaign, kind="finalize", digest="other", state=Job.State.FAILED)
    client = client_of(mei)

    assert "2 jobs failed" in text_of(client.get(HOME))
    Job.objects.create(campaign=campaign, kind="finalize", digest=failed.digest, state=Job.State.DONE)
    assert "1 job failed" in text_of(client.get(HOME))


def test_it_says_that_jobs_wait_where_no_worker_runs(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    Job.objects.create(campaign=campaign, kind="finalize", digest="d")
    client = client_of(mei)

    assert "1 job waits, and no worker is running" in text_of(client.get(HOME))
    Worker.objects.create(name="here:1", beat_at=timezone.now() + timedelta(seconds=5))
    assert "no worker is running" not in text_of(client.get(HOME))


def test_it_says_where_an_item_lacks_an_expert(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    row = Assignment.objects.filter(round__campaign=campaign).first()
    assert row is not None
    Assignment.objects.filter(pk=row.pk).update(withdrawn_at=timezone.now())
    client = client_of(mei)

    assert "1 item without its full number of experts" in text_of(client.get(HOME))
    checks = text_of(client.get(HOME + "verify/"))
    assert f"item at position {row.item.position} has 1 experts in the main round, not 2" in checks
    assert "No unit is torn between two parts · holds".replace(" · ", " ✓ ") in checks


def test_where_a_violation_may_come_from_is_told_only_of_one_that_is_there(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    client = client_of(mei)
    assert "Earlier versions" not in text_of(client.get(HOME + "verify/"))
    older = campaign.guidelines.get()
    make_guideline(campaign)
    Round.objects.update(guideline=older)
    assert "Earlier versions left a round that was opened again under the older one." in text_of(
        client.get(HOME + "verify/")
    )


def test_it_is_wholly_chinese_where_that_is_chosen(mei: User, tmp_path: Path) -> None:
    a_campaign(mei, tmp_path)

    page = text_of(client_of(mei, language="zh-hans").get(HOME))

    assert "标注专家" in page
    assert "最终标签" in page
    assert not re.search(r"\b(Next|Experts|Export|Judging)\b", page)


def test_it_shows_a_part_with_its_experts(mei: User, tmp_path: Path) -> None:
    campaign = a_campaign(mei, tmp_path)
    hand_in_everything(campaign)

    shown = client_of(mei).get(HOME + "parts/0/")
    page = text_of(shown)

    assert f'href="{HOME}assign/" aria-current="page"' in body_of(shown)
    assert "Part 1 3 triples" in page
    assert "A1 0 / 3" in page
    assert client_of(mei).get(HOME + "parts/9/").status_code == 404


def test_it_counts_judgements_that_were_imported_without_a_part() -> None:
    cast: Cast = make_cast(k=1)
    answer(make_assignment(make_triple(cast.campaign, 1), cast.ada))

    page = text_of(client_of(cast.mei).get(HOME))

    assert "1 / 1 imported" in page


def test_the_hint_says_of_an_address_what_its_error_says() -> None:
    field = CampaignForm().fields["slug"]
    assert isinstance(field, forms.RegexField)
    rule = "letters, digits, and single hyphens or underscores between them"
    assert rule in field.help_text
    assert rule in field.error_messages["invalid"]
