"""Taking the new text where a file disagrees with what is stored: judgements stay with the text they were given to.

What describes an item (type, pattern, reference, class, split, imported label) is changed in place. What was
judged (source, translation, head, relation, tail) is replaced: the old item keeps its answers and retires, a new
one takes its place, and whoever was to judge the old one in a round that is open is asked for the new one. In a round
that is closed nobody could answer, so nobody is asked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from annotation.formats.compound_units import CompoundRow
from annotation.formats.triples import TripleRow
from annotation.models import Assignment, Context, Gold, HandIn, ImportBatch, Item, Output, Round, Unit
from annotation.protocol.compound import locate
from annotation.protocol.sentences import Sentence, say
from annotation.services.batches import refuse_frozen
from annotation.services.campaign_state import refuse_closed
from annotation.services.errors import Refused
from annotation.services.import_compare import Conflict, text_digest
from annotation.services.layout import after_part

_IDENTITY = {"compound", "context_no"}
_DESCRIPTIVE = {"class": "item_class", "split": "split", "label": "imported_label"}


def replace_texts(batch: ImportBatch, conflicts: Sequence[Conflict]) -> int:
    """Apply the file's texts; returns how many rows changed. Runs inside the caller's transaction."""
    if another := of_another_item(conflicts):
        raise Refused(another)
    by_row: dict[int, list[Conflict]] = defaultdict(list)
    for conflict in conflicts:
        by_row[conflict.line].append(conflict)
    for found in by_row.values():
        row, fields = found[0].row, {conflict.field for conflict in found}
        if isinstance(row, CompoundRow):
            _replace_compound(batch, row, fields)
        else:
            _replace_triple(batch, row, fields)
    return len(by_row)


def of_another_item(conflicts: Sequence[Conflict]) -> Sentence | None:
    """Why these rows cannot be taken where one of them is about another item than the one under its key."""
    fixed = next((conflict for conflict in conflicts if conflict.field in _IDENTITY), None)
    if fixed is None:
        return None
    return say(
        "Line {line}: the id “{key}” stands for another {field} already. That is another "
        "item: give it an id of its own.",
        line=fixed.line,
        key=fixed.key,
        field=fixed.field.replace("_", " "),
    )


def _replace_compound(batch: ImportBatch, row: CompoundRow, fields: set[str]) -> None:
    context = Context.objects.get(unit__campaign=batch.campaign, key_folded=row.key.folded)
    _describe(Unit, context.unit_id, row, fields & {"type", "pattern"})
    _describe(Context, context.pk, row, fields & {"reference", "source_differs"})
    if "source" in fields and context.source != row.source:  # another row of the file may have changed it
        _replace_source(batch, context, row)
    if "translation" in fields:
        output = Output.objects.select_related("item").get(
            context=context, system__name=row.system or "", run=row.run or ""
        )
        _replace_output(batch, output, row.translation)


def _describe(model: type[Unit] | type[Context], pk: int, row: CompoundRow, fields: set[str]) -> None:
    if fields:
        model._default_manager.filter(pk=pk).update(**{name: getattr(row, name) for name in fields})


def _replace_source(batch: ImportBatch, context: Context, row: CompoundRow) -> None:
    """Every translation of this source is another item now."""
    from_row = _span(row)
    Context.objects.filter(pk=context.pk).update(
        source=row.source, start=from_row[0], end=from_row[1], source_differs=bool(row.source_differs)
    )
    _follow_the_source(batch, Item.objects.published().filter(context=context))


def _follow_the_source(batch: ImportBatch, items: QuerySet[Item]) -> None:
    """These translations have another source now. So have those that were withdrawn: they stay so, and whoever restores
    one gets it without the answers to the old sentence.
    """
    for item in items.exclude(retired_why=Item.Retired.REPLACED):
        before = {"retired_at": item.retired_at, "retired_why": item.retired_why}
        new = _successor(batch, item, translation=item.translation, digest=item.digest)
        if before["retired_why"] == Item.Retired.WITHDRAWN:
            Item.objects.filter(pk=new.pk).update(**before)
        Output.objects.filter(item=item).update(item=new)


def _span(row: CompoundRow) -> tuple[int | None, int | None]:
    return locate(row.compound, row.source) or (None, None)


def _replace_output(batch: ImportBatch, output: Output, translation: str) -> None:
    digest = text_digest(translation)
    old = output.item
    same = _holding(output.context_id, digest)
    if same is None:
        shared = Output.objects.filter(item=old).exclude(pk=output.pk).exists()
        if shared:
            same = _new_item(batch, old, translation=translation, digest=digest)
        else:
            same = _successor(batch, old, translation=translation, digest=digest)
    Output.objects.filter(pk=output.pk).update(item=same, translation=translation)
    if old.retired_why != Item.Retired.REPLACED and not Output.objects.filter(item=old).exists():
        _give_way(old)


def _holding(context: int, digest: str) -> Item | None:
    """The item of this text, withdrawn or not: a context has one of each text."""
    stored = Item.objects.exclude(retired_why=Item.Retired.REPLACED)
    return stored.filter(context=context, digest=digest).first()


def _give_way(item: Item) -> None:
    """Take out an item whose text no system produces any more; what it has become is judged as another one."""
    _refuse_closed_main(item, stays_as_answered(item.position))
    _refuse_frozen(item)
    _retire(item)
    Gold.objects.filter(item=item).delete()  # the text that it is now has a mark of its own, or none
    Assignment.objects.filter(item=item, withdrawn_at__isnull=True).update(withdrawn_at=item.retired_at)


def hang_on_what_stands(batch: ImportBatch) -> int:
    """Hang outputs whose item was replaced while the import was written on the item that holds their text now, or on a
    new one; returns how many items that makes. Runs inside the caller's transaction, in the campaign's turn.
    """
    strays = Output.objects.filter(batch=batch, item__retired_why=Item.Retired.REPLACED)
    made = 0
    for output in strays.select_related("item").order_by("pk"):
        item = _holding(output.context_id, output.item.digest)
        if item is None:
            item, made = _new_item(batch, output.item), made + 1
        Output.objects.filter(pk=output.pk).update(item=item)
    return made


def _replace_triple(batch: ImportBatch, row: TripleRow, fields: set[str]) -> None:
    stored = Item.objects.published().exclude(retired_why=Item.Retired.REPLACED)
    item = stored.get(campaign=batch.campaign, key_folded=row.key.folded)
    changes: dict[str, Any] = {
        _DESCRIPTIVE[name]: getattr(row, "item_class" if name == "class" else name)
        for name in fields & _DESCRIPTIVE.keys()
    }
    if changes:
        Item.objects.filter(pk=item.pk).update(**changes)
        item.refresh_from_db()
    if fields - _DESCRIPTIVE.keys():
        _successor(batch, item, head=row.head, relation=row.relation, tail=row.tail)


def _retire(item: Item) -> None:
    Item.objects.filter(pk=item.pk).update(retired_at=timezone.now(), retired_why=Item.Retired.REPLACED)
    item.refresh_from_db(fields=["retired_at", "retired_why"])


def _successor(batch: ImportBatch, item: Item, **texts: str) -> Item:
    """A new item in the old one's place, for the same experts; the old one keeps its answers and retires.

    A withdrawn item's new text counts again.
    """
    _refuse_closed_main(item, no_new_answers(item.position))
    _refuse_frozen(item)
    aside = {"retired_at": item.retired_at, "retired_why": item.retired_why}
    _retire(item)
    new = _copy(batch, item, position=item.position, **texts)
    # As with a label from a file, which is copied: what is known of an item is known of its corrected text.
    Gold.objects.filter(item=item).update(item=new)
    if aside["retired_why"] == Item.Retired.SET_ASIDE:  # a corrected text is as little in the evaluation set
        Item.objects.filter(pk=new.pk).update(**aside)
    _ask_again(item, new)
    return new


def stays_as_answered(position: int) -> Sentence:
    """Why an item whose text nobody produces any more cannot go."""
    return say(
        "The main round is closed, so the answers to the item at position {position} stay as they are. Open it "
        "first, or leave this row out.",
        position=position,
    )


def no_new_answers(position: int) -> Sentence:
    """Why an item can have no new text once the main round is closed."""
    return say(
        "The main round is closed, so nobody could judge the new text of the item at position {position}. Open "
        "it first, or leave this row out.",
        position=position,
    )


def stays_as_judged(position: int) -> Sentence:
    """Why an item of a closed batch, or one that is discussed, keeps its text."""
    return say(
        "The item at position {position} is in a closed batch, or open to discussion: its text stays as it was "
        "judged. Leave this row out, or open the batch again first.",
        position=position,
    )


def _refuse_frozen(item: Item) -> None:
    refuse_frozen([item.pk], stays_as_judged(item.position))


def given_in_closed_main() -> QuerySet[Assignment]:
    """What was given out in a main round that is closed, and stands or went with its item."""
    stood = Q(withdrawn_at__isnull=True) | Q(withdrawn_at=F("item__retired_at"))
    closed = Q(round__kind=Round.Kind.MAIN, round__state=Round.State.CLOSED)
    return Assignment.objects.filter(stood, closed, part__isnull=False)


def _refuse_closed_main(item: Item, why: str) -> None:
    """Without its answers in the main round a text would never be complete again, nor once it is restored."""
    if given_in_closed_main().filter(item=item).exists():
        refuse_closed(item.campaign)
        raise Refused(why)


def _new_item(batch: ImportBatch, item: Item, **texts: str) -> Item:
    """A new item beside the old one, which other systems still produce; it waits to be assigned."""
    last = Item.objects.filter(campaign=batch.campaign).aggregate(last=Max("position"))["last"]
    return _copy(batch, item, position=last + 1, **texts)


def _copy(batch: ImportBatch, item: Item, *, position: int, **texts: str) -> Item:
    kept = {
        name: getattr(item, name)
        for name in (
            "campaign", "unit", "context", "key", "key_folded", "given_key", "translation", "digest", "head",
            "relation", "tail", "item_class", "split", "imported_label", "origin", "exposed_at",
        )
    }  # fmt: skip
    return Item.objects.create(**(kept | texts), batch=batch, position=position)


def _ask_again(old: Item, new: Item) -> None:
    """Where a round is open, the new text comes up where the old one would have, and who has answered the old one is
    asked for the new one as well.

    The rows are locked first: an answer to the old text that is being saved at this moment is stored with it, or comes
    too late and is kept aside like one from a page that was loaded before. None counts for a text its expert never saw.
    """
    current = Assignment.objects.filter(item=old, withdrawn_at__isnull=True)
    list(current.select_for_update().order_by("pk"))
    # Another text is no repeat of this one.
    repeats = Round.objects.filter(campaign=old.campaign_id, kind=Round.Kind.REPEAT)
    current.filter(round__in=repeats).update(withdrawn_at=old.retired_at)
    for row in current.filter(in_open_round(), answered_at__isnull=True):
        _in_its_place(row, new, old.retired_at)
    for answered in current.filter(asked_again()):
        assert answered.part is not None  # see `asked_again`
        place = after_part(answered.part, answered.expert)
        Assignment.objects.create(
            round=answered.round,
            part=answered.part,
            unit=answered.unit,
            item=new,
            expert=answered.expert,
            slot=answered.slot,
            position=place.position,
            queue=place.queue,
        )
        HandIn.objects.filter(
            part=answered.part, expert=answered.expert
        ).delete()  # there is work in it again
    current.update(withdrawn_at=old.retired_at)


def _in_its_place(row: Assignment, new: Item, now: datetime | None) -> None:
    """A row for the new text where this one stands; this one goes behind its screen, withdrawn."""
    on_screen = Assignment.objects.filter(round=row.round_id, expert=row.expert_id, position=row.position)
    behind = on_screen.aggregate(last=Max("row"))["last"] + 1
    Assignment.objects.filter(pk=row.pk).update(row=behind, withdrawn_at=now)
    kept = {
        name: getattr(row, name)
        for name in (
            "round", "part", "unit", "expert", "slot", "position", "row", "queue", "postponed_at",
        )
    }  # fmt: skip
    Assignment.objects.create(item=new, **kept)


def in_open_round() -> Q:
    """Of assignments: whether their round still takes answers."""
    return Q(round__state=Round.State.OPEN)


def asked_again() -> Q:
    """Of assignments that stand: those whose expert has answered the old text and is asked for the new one."""
    return (
        in_open_round() & Q(answered_at__isnull=False, part__isnull=False) & ~Q(round__kind=Round.Kind.REPEAT)
    )


def replace_item(batch: ImportBatch, item: Item, texts: Mapping[str, str]) -> Item:
    """Put corrected texts (`head`, `tail`; `source`, `translation`) in one item's place; returns the new item.

    A corrected source is another one for all translations of it. Runs inside the caller's transaction.
    """
    context = item.context
    if context is None:
        return _successor(batch, item, **texts)
    translation = texts.get("translation", item.translation)
    digest = text_digest(translation)
    rival = _holding(context.pk, digest)  # that of an import under way as well
    if rival is not None and rival != item:
        raise Refused(
            say("Another item of this sentence holds that very translation; withdraw this one instead.")
        )
    if "source" in texts:
        start, end = locate(item.unit.compound, texts["source"]) or (None, None)
        Context.objects.filter(pk=context.pk).update(source=texts["source"], start=start, end=end)
        _follow_the_source(batch, Item.objects.published().filter(context=context).exclude(pk=item.pk))
    new = _successor(batch, item, translation=translation, digest=digest)
    outputs = Output.objects.filter(item=item)
    if "translation" in texts:
        outputs.update(translation=translation)
    outputs.update(item=new)
    return new
