"""A text put right on the page: who is asked again, and what becomes of the answers to the old one."""

import pytest
from django.utils import timezone

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    HandIn,
    Item,
    Output,
    PartUnit,
    Round,
    System,
)
from annotation.services.errors import NotYours, Refused
from annotation.services.fix_text import answered_by, fix_text
from annotation.services.import_compare import text_digest
from annotation.services.verify import verify
from tests.factories import (
    Cast,
    make_annotation,
    make_assignment,
    make_cast,
    make_compound,
    make_part,
    make_triple,
)

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
    assert answered_by(old) == 1

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


def test_a_closed_batch_or_round_keeps_its_texts() -> None:
    cast = make_cast()
    item = judged(cast, make_triple(cast.campaign, 1))
    design = cast.campaign.rounds.get().designs.get()
    design.closed_at = timezone.now()
    design.save()
    with pytest.raises(Refused, match="closed batch"):
        fix_text(cast.campaign, item.pk, texts={"head": "x", "tail": "y"}, by=cast.mei)
    cast.campaign.rounds.update(state=Round.State.CLOSED)
    with pytest.raises(Refused, match="round is closed"):
        fix_text(cast.campaign, item.pk, texts={"head": "x", "tail": "y"}, by=cast.mei)

    assert Item.objects.filter(campaign=cast.campaign).count() == 1
    assert cast.campaign.import_batches.count() == 1


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
