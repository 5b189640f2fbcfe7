"""What managers do to one campaign at the same moment comes one after the other, whichever two things they are."""

from uuid import uuid4

import pytest

from annotation.models import (
    Assignment,
    AuditEntry,
    Campaign,
    Design,
    FinalLabel,
    HandIn,
    Item,
    Membership,
    Round,
    Thread,
)
from annotation.services import questions
from annotation.services.arbitration import arbitrate
from annotation.services.batches import close_batch, reopen_batch
from annotation.services.campaign_state import close_campaign
from annotation.services.discussion import open_thread
from annotation.services.dry_runs import open_dry_run
from annotation.services.fix_text import fix_text
from annotation.services.guidelines import new_version
from annotation.services.hand_ins import give_back
from annotation.services.items import withdraw
from annotation.services.labels import compute, finalize, store
from annotation.services.moves import move_units, planned_moves
from annotation.services.parts import assign_parts
from annotation.services.people import remove_member
from annotation.services.resolution import open_resolution
from annotation.services.verify import verify
from tests.at_once import Act, told, while_in_work
from tests.factories import Cast, make_cast, make_judged, make_member, make_triple, make_user, save_label

pytestmark = pytest.mark.django_db(transaction=True)


def closing(cast: Cast, design: Design) -> Act:
    return told("closed", lambda: close_batch(cast.campaign, design.pk, by=cast.mei, reason="time is up"))


def reopening(cast: Cast, design: Design) -> Act:
    return told("reopened", lambda: reopen_batch(cast.campaign, design.pk, by=cast.mei))


def assigning(cast: Cast, seed: int = 1) -> Act:
    return told(
        "assigned",
        lambda: assign_parts(
            cast.campaign, experts=["ada", "lin"], design="cyclic", seed=seed, parts=2, by=cast.mei
        ),
    )


def moving(cast: Cast, *, n: int | None = None) -> Act:
    """Lin's open units go to cy, who comes for that."""
    cy = cast.campaign.memberships.filter(user__username="cy").first()
    taker = cy or make_member(cast.campaign, make_user("cy"), "expert", "A3")
    giver = cast.campaign.memberships.get(user=cast.lin)
    seen = planned_moves(cast.campaign, giver=giver.pk, takers=[taker.pk], n=n)
    return told(
        "moved",
        lambda: move_units(
            cast.campaign, giver=giver.pk, takers=[taker.pk], n=n, confirmed_hash=seen.hash, by=cast.mei
        ),
    )


def first_item() -> Item:
    return Item.objects.get(position=1)


def test_units_are_moved_while_their_batch_is_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", None), ("1", None))

    assert while_in_work(moving(cast), closing(cast, design)) == ["moved", "closed"]

    # What the taker got was not answered when the batch was closed, so it is asked of nobody.
    assert not Assignment.objects.filter(withdrawn_at=None, answered_at=None).exists()
    assert verify(cast.campaign) == []


def test_a_part_is_given_back_while_its_batch_is_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "1"))
    part = design.parts.get()
    HandIn.objects.create(part=part, expert=cast.lin)
    lin = cast.campaign.memberships.get(user=cast.lin)
    give = told("given", lambda: give_back(cast.campaign, index=part.index, member=lin.pk, by=cast.mei))

    assert while_in_work(give, closing(cast, design)) == ["given", "closed"]

    assert HandIn.objects.filter(part=part).count() == 2
    assert verify(cast.campaign) == []


@pytest.mark.parametrize("act", ["discussion", "decision", "resolution"])
def test_a_batch_stays_closed_where_somebody_just_looked_into_it(act: str) -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "0"))
    close_batch(cast.campaign, design.pk, by=cast.mei)
    item = first_item().pk
    acts: dict[str, Act] = {
        "discussion": lambda: open_thread(cast.campaign, item, by=cast.mei),
        "decision": lambda: arbitrate(cast.campaign, item, label="1", reason="clear", by=cast.mei),
        "resolution": lambda: open_resolution(cast.campaign, by=cast.mei),
    }

    assert while_in_work(told(act, acts[act]), reopening(cast, design)) == [act, "refused"]

    design.refresh_from_db()
    assert design.closed_at is not None
    assert Thread.objects.count() == 1


def test_no_unit_is_given_out_for_two_rounds() -> None:
    cast = make_cast()
    for position in range(1, 7):
        make_triple(cast.campaign, position)
    dry = told("dry run", lambda: open_dry_run(cast.campaign, experts=["ada", "lin"], n=2, by=cast.mei))

    assert while_in_work(assigning(cast), dry) == ["assigned", "refused"]

    places = Assignment.objects.filter(expert=cast.ada).values_list("position", flat=True)
    assert len(places) == len(set(places)) == 6


def test_an_item_is_withdrawn_while_it_is_given_out() -> None:
    cast = make_cast()
    for position in range(1, 5):
        make_triple(cast.campaign, position)
    item = first_item().pk
    take_out = told("withdrawn", lambda: withdraw(cast.campaign, item, reason="broken", by=cast.mei))

    assert while_in_work(assigning(cast), take_out) == ["assigned", "withdrawn"]

    assert not Assignment.objects.filter(item=item, withdrawn_at=None).exists()
    assert verify(cast.campaign) == []


def test_a_text_is_corrected_while_its_batch_is_closed() -> None:
    cast = make_cast()
    design = make_judged(cast, ("1", "1"))
    texts = {"head": "PersonX wins"}
    fix = told("fixed", lambda: fix_text(cast.campaign, first_item().pk, texts=texts, by=cast.mei))

    assert while_in_work(closing(cast, design), fix) == ["closed", "refused"]

    assert first_item().head != "PersonX wins"
    assert HandIn.objects.count() == 2


def test_who_is_given_work_stays_in_the_campaign() -> None:
    cast = make_cast()
    for position in range(1, 5):
        make_triple(cast.campaign, position)
    lin = cast.campaign.memberships.get(user=cast.lin)
    remove = told("removed", lambda: remove_member(lin, cast.mei))

    assert while_in_work(assigning(cast), remove) == ["assigned", "refused"]

    assert cast.campaign.memberships.filter(user=cast.lin).exists()


def test_two_managers_do_not_remove_each_other() -> None:
    cast = make_cast()
    nia = make_user("nia")
    hers = make_member(cast.campaign, nia, "manager", "M2")
    his = cast.campaign.memberships.get(user=cast.mei)

    both = while_in_work(
        told("removed", lambda: remove_member(hers, cast.mei)),
        told("removed", lambda: remove_member(his, nia)),
    )

    assert both == ["removed", "refused"]
    assert cast.campaign.memberships.filter(role=Membership.Role.MANAGER).count() == 1


def test_a_campaign_that_is_closed_stays_closed() -> None:
    cast = make_cast()
    make_judged(cast, ("1", None), ("1", None))
    close = told("closed", lambda: close_campaign(cast.campaign, reason="over", by=cast.mei))

    assert while_in_work(close, moving(cast)) == ["closed", "refused"]

    assert not cast.campaign.rounds.filter(state=Round.State.OPEN).exists()
    assert Campaign.objects.get(pk=cast.campaign.pk).closed_at is not None


def test_of_two_moves_both_are_written_down_or_the_second_is_shown_anew() -> None:
    cast = make_cast()
    make_judged(cast, (None, None), (None, None), (None, None))
    first, second = moving(cast, n=1), moving(cast, n=1)

    assert while_in_work(first, second) == ["moved", "refused"]

    recorded = cast.campaign.rounds.get(kind=Round.Kind.MAIN).settings["moves"]
    assert len(recorded) == AuditEntry.objects.filter(action="units moved").count() == 1


def test_labels_of_older_answers_do_not_replace_newer_ones() -> None:
    cast = make_cast()
    make_judged(cast, ("1", "1"))
    seen_at = Campaign.objects.get(pk=cast.campaign.pk).created_at
    older = compute(cast.campaign, "ckbp2")
    save_label(Assignment.objects.get(expert=cast.lin), "0")

    finalize(cast.campaign)
    store(cast.campaign, "ckbp2", older, seen_at=seen_at)

    assert FinalLabel.objects.get().inputs == ["1", "0"]


def test_an_answer_to_a_question_is_not_lost_to_the_rule_made_of_it() -> None:
    cast = make_cast()
    make_judged(cast, ("1", None))
    row = Assignment.objects.get(expert=cast.lin)
    asked = questions.ask(cast.campaign, cast.lin, screen_id=row.pk, text="Which?", client_key=uuid4())
    texts = {"text_en": "new", "text_zh": "新", "change_en": "a rule", "change_zh": "规则"}
    reply = told(
        "answered", lambda: questions.answer(cast.campaign, pk=asked.pk, text="By sense.", by=cast.mei)
    )
    rule = told(
        "ruled",
        lambda: new_version(cast.campaign, base=1, texts=texts, touches={}, by=cast.mei, question=asked.pk),
    )

    assert while_in_work(reply, rule) == ["answered", "ruled"]

    asked.refresh_from_db()
    assert asked.answer.startswith("By sense.\n")
