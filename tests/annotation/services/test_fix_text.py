"""A text put right on the page: who is asked again, and what becomes of the answers to the old one."""

import pytest
from django.utils import timezone

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    HandIn,
    ImportBatch,
    Item,
    Output,
    PartUnit,
    Round,
    System,
)
from annotation.services.batches import close_batch, reopen_batch
from annotation.services.errors import NotYours, Refused
from annotation.services.fix_text import Consequences, consequences, fix_text
from annotation.services.gold import gold_of, mark
from annotation.services.import_compare import text_digest
from annotation.services.items import restore, withdraw
from annotation.services.verify import verify
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_compound,
    make_judged,
    make_part,
    make_triple,
    signed_in,
)
from tests.pages import text_of

pytestmark = pytest.mark.django_db


def judged(cast: Cast, item: Item, row: int = 1) -> Item:
    """Given to Ada, who answered, and to Lin, who did not."""
    part = cast.campaign.rounds.get().parts.first() or make_part(cast.campaign.rounds.get())
    PartUnit.objects.get_or_create(round=part.round, part=part, unit=item.unit)
    make_annotation(make_assignment(item, cast.ada, part=part, row=row))
    make_assignment(item, cast.lin, slot=2, part=part, row=row)
    HandIn.objects.get_or_create(part=part, expert=cast.ada)
    return item


def open_for(cast: Cast, item: Item) -> set[str]:
    rows = Assignment.objects.filter(item=item, withdrawn_at__isnull=True, answered_at__isnull=True)
    return set(rows.values_list("expert__username", flat=True))


def test_both_experts_are_asked_for_the_corrected_triple() -> None:
    cast = make_cast()
    old = judged(cast, make_triple(cast.campaign, 1))
    assert consequences(old) == Consequences(again=1, open=1, closed=0)

    new = fix_text(cast.campaign, old.pk, texts={"head": "PersonX wins", "tail": old.tail}, by=cast.mei)

    assert (new.head, new.position, new.key) == ("PersonX wins", old.position, old.key)
    assert open_for(cast, new) == {"ada", "lin"}
    assert Annotation.objects.get().assignment.item == old  # the answer stays with its text
    assert not HandIn.objects.exists()
    entry = AuditEntry.objects.get(action="text corrected")
    assert entry.detail["head"] == [old.head, "PersonX wins"]
    assert verify(cast.campaign) == []


def test_a_corrected_translation_takes_its_outputs_along() -> None:
    cast = make_cast(protocol="compound")
    first, second, *_rest = make_compound(cast.campaign, 1)
    system = System.objects.create(campaign=cast.campaign, name="base")
    for item in (first, second):
        assert item.context is not None
        Output.objects.create(
            system=system, context=item.context, item=item, batch=item.batch, translation=item.translation
        )
    judged(cast, first)

    new = fix_text(
        cast.campaign,
        first.pk,
        texts={"translation": "懒狗睡了。"},
        by=cast.mei,
    )

    assert Output.objects.get(context=first.context).item == new
    assert Output.objects.get(context=first.context).translation == "懒狗睡了。"
    assert Output.objects.get(context=second.context).item == second


def test_a_corrected_source_is_another_one_for_all_its_translations() -> None:
    cast = make_cast(protocol="compound")
    first = make_compound(cast.campaign, 1, compound="lazy dog")[0]
    assert first.context is not None
    beside = Item.objects.create(
        campaign=cast.campaign, unit=first.unit, context=first.context, batch=first.batch, position=90,
        key="k", key_folded="k", given_key=True, translation="另一个", digest="f" * 64,
    )  # fmt: skip
    judged(cast, first)
    judged(cast, beside, row=6)

    new = fix_text(cast.campaign, first.pk, texts={"source": "The lazy dog slept."}, by=cast.mei)

    new.context.refresh_from_db()  # type: ignore[union-attr]
    assert (new.context.source, new.context.start) == ("The lazy dog slept.", 4)  # type: ignore[union-attr]
    follower = Item.objects.active().get(position=90)
    assert follower.pk != beside.pk
    assert open_for(cast, follower) == {"ada", "lin"}


def test_a_withdrawn_translation_gets_the_corrected_source_too() -> None:
    cast = make_cast(protocol="compound")
    first = make_compound(cast.campaign, 1, compound="lazy dog")[0]
    beside = Item.objects.create(
        campaign=cast.campaign, unit=first.unit, context=first.context, batch=first.batch, position=90,
        key="k", key_folded="k", given_key=True, translation="另一个", digest="f" * 64,
    )  # fmt: skip
    judged(cast, first)
    judged(cast, beside, row=6)
    withdraw(cast.campaign, beside.pk, reason="unclear", by=cast.mei)

    fix_text(cast.campaign, first.pk, texts={"source": "The lazy dog slept."}, by=cast.mei)

    stands = Item.objects.exclude(retired_why="replaced").get(position=90)
    assert (stands.retired_why, open_for(cast, stands)) == ("withdrawn", set())
    restore(cast.campaign, stands.pk, by=cast.mei)
    assert not stands.assignments.exists()  # the answers are to the old sentence
    with pytest.raises(Refused, match="cannot be brought back beside it"):
        restore(cast.campaign, beside.pk, by=cast.mei)


def test_a_text_of_an_import_under_way_is_another_items_text() -> None:
    cast = make_cast(protocol="compound")
    first = make_compound(cast.campaign, 1)[0]
    coming = ImportBatch.objects.create(
        campaign=cast.campaign, file_name="late.csv", lease_until=timezone.now()
    )
    Item.objects.create(
        campaign=cast.campaign, unit=first.unit, context=first.context, batch=coming, position=90,
        key="k", key_folded="k", given_key=True, translation="懒狗睡了。", digest=text_digest("懒狗睡了。"),
    )  # fmt: skip
    with pytest.raises(Refused, match="holds that very translation"):
        fix_text(cast.campaign, first.pk, texts={"translation": "懒狗睡了。"}, by=cast.mei)


def test_a_closed_batch_or_round_keeps_its_texts() -> None:
    cast = make_cast()
    item = judged(cast, make_triple(cast.campaign, 1))
    design = cast.campaign.rounds.get().designs.get()
    design.closed_at = timezone.now()
    design.save()
    with pytest.raises(Refused, match="closed batch"):
        fix_text(cast.campaign, item.pk, texts={"head": "x", "tail": "y"}, by=cast.mei)
    cast.campaign.rounds.update(state=Round.State.CLOSED)
    with pytest.raises(Refused, match="main round is closed"):
        fix_text(cast.campaign, item.pk, texts={"head": "x", "tail": "y"}, by=cast.mei)

    assert Item.objects.filter(campaign=cast.campaign).count() == 1
    assert cast.campaign.import_batches.count() == 1


def test_a_batch_closed_without_any_answer_keeps_its_texts_too() -> None:
    cast = make_cast()
    design = make_judged(cast, (None, None), ("1", "1"))
    close_batch(cast.campaign, design.pk, by=cast.mei, reason="late")
    item = Item.objects.get(campaign=cast.campaign, position=1)
    with pytest.raises(Refused, match="closed batch"):
        fix_text(cast.campaign, item.pk, texts={"tail": "y"}, by=cast.mei)
    reopen_batch(cast.campaign, design.pk, by=cast.mei)
    new = fix_text(cast.campaign, item.pk, texts={"tail": "y"}, by=cast.mei)
    assert open_for(cast, new) == {"ada", "lin"}
    assert verify(cast.campaign) == []


def test_a_gold_mark_goes_over_to_the_corrected_text() -> None:
    cast = make_cast()
    make_judged(cast, ("1", "1"))
    mark(cast.campaign, 1, label="1", note="from the book", by=cast.mei)
    item = Item.objects.get(campaign=cast.campaign, position=1)
    assert "gold" in text_of(signed_in(cast.mei).get(f"/campaigns/main/items/{item.pk}/fix/"))
    new = fix_text(cast.campaign, item.pk, texts={"tail": "y"}, by=cast.mei)
    assert [(gold.item_id, gold.note) for gold in gold_of(cast.campaign)] == [(new.pk, "from the book")]
    assert verify(cast.campaign) == []


def test_it_refuses_what_is_no_correction() -> None:
    cast = make_cast()
    item = make_triple(cast.campaign, 1)
    with pytest.raises(Refused, match="Nothing differs"):
        fix_text(cast.campaign, item.pk, texts={"head": item.head, "tail": item.tail}, by=cast.mei)
    with pytest.raises(Refused, match="characters"):
        fix_text(cast.campaign, item.pk, texts={"head": " ", "tail": item.tail}, by=cast.mei)
    with pytest.raises(NotYours):
        fix_text(Campaign.objects.get(slug="other"), item.pk, texts={"head": "x"}, by=cast.otto)


def test_a_text_that_stands_there_already_is_refused() -> None:
    cast = make_cast(protocol="compound")
    first = make_compound(cast.campaign, 1)[0]
    Item.objects.create(
        campaign=cast.campaign, unit=first.unit, context=first.context, batch=first.batch, position=90,
        key="k", key_folded="k", given_key=True, translation="另一个", digest=text_digest("另一个"),
    )  # fmt: skip
    with pytest.raises(Refused, match="that very translation"):
        fix_text(cast.campaign, first.pk, texts={"translation": "另一个"}, by=cast.mei)


class TestClosedDryRun:
    """Nobody can answer in a round that is closed, so nothing is opened there that would wait for ever."""

    def dry_run(self, cast: Cast, item: Item) -> Round:
        """Ada judged it in a dry run that was closed without Lin."""
        round_ = Round.objects.create(
            campaign=cast.campaign,
            kind=Round.Kind.DRY_RUN,
            number=1,
            k=2,
            guideline=cast.campaign.guidelines.get(),
        )
        part = make_part(round_, index=10_000)
        PartUnit.objects.create(round=round_, part=part, unit=item.unit)
        make_annotation(make_assignment(item, cast.ada, round=round_, part=part))
        make_assignment(item, cast.lin, slot=2, round=round_, part=part)
        HandIn.objects.create(part=part, expert=cast.ada)
        Round.objects.filter(pk=round_.pk).update(state=Round.State.CLOSED, closed_at=timezone.now())
        return round_

    def test_nobody_is_asked_for_what_only_a_closed_dry_run_held(self) -> None:
        cast = make_cast()
        old = make_triple(cast.campaign, 1, retired_at=timezone.now(), retired_why=Item.Retired.SET_ASIDE)
        round_ = self.dry_run(cast, old)
        follows = consequences(old)
        assert (follows, follows.asked) == (Consequences(again=0, open=0, closed=1), False)

        new = fix_text(cast.campaign, old.pk, texts={"head": "PersonX wins", "tail": old.tail}, by=cast.mei)

        assert not Assignment.objects.filter(withdrawn_at__isnull=True).exists()
        assert not Assignment.objects.filter(item=new).exists()
        assert HandIn.objects.filter(part__round=round_, expert=cast.ada).exists()
        assert Annotation.objects.get().assignment.item == old
        assert verify(cast.campaign) == []

    def test_an_exposed_item_is_asked_for_in_the_main_round_alone(self) -> None:
        cast = make_cast()
        old = make_triple(cast.campaign, 1, exposed_at=timezone.now())
        round_ = self.dry_run(cast, old)
        main = cast.campaign.rounds.get(kind=Round.Kind.MAIN)
        part = make_part(main)
        PartUnit.objects.create(round=main, part=part, unit=old.unit)
        make_annotation(make_assignment(old, cast.ada, part=part, position=11, queue=11))
        make_assignment(old, cast.lin, slot=2, part=part, position=11, queue=11)
        assert consequences(old) == Consequences(again=1, open=1, closed=1)

        new = fix_text(cast.campaign, old.pk, texts={"head": "PersonX wins", "tail": old.tail}, by=cast.mei)

        assert open_for(cast, new) == {"ada", "lin"}
        assert not Assignment.objects.filter(item=new, round=round_).exists()
        assert verify(cast.campaign) == []

    def test_the_page_says_that_nobody_is_asked(self) -> None:
        cast = make_cast()
        old = make_triple(cast.campaign, 1, retired_at=timezone.now(), retired_why=Item.Retired.SET_ASIDE)
        self.dry_run(cast, old)
        client, address = signed_in(cast.mei), f"/campaigns/main/items/{old.pk}/fix/"
        page = text_of(client.get(address))
        assert "Nobody is asked for it: no round that holds this item is open." in page
        assert "1 answer was given in a round that is closed" in page
        done = client.post(address, {"head": "PersonX wins", "tail": old.tail}, follow=True)
        assert "The corrected text is stored. Nobody is asked for it." in text_of(done)
