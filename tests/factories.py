"""The cast and its things: small functions that store what a test needs and nothing else.

The cast: Mei manages, Ada and Lin are experts, Vera only looks on, Otto is a stranger (who manages a campaign of
his own, since a stranger without any rights would prove little).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.test import Client
from django.utils import timezone

from annotation.models import (
    Annotation,
    Assignment,
    Campaign,
    Context,
    Design,
    Example,
    Guideline,
    ImportBatch,
    Item,
    Membership,
    Part,
    PartUnit,
    Precedent,
    Round,
    Unit,
    User,
)
from annotation.services.seat_numbers import assignment_of, number_of

PASSWORD = "seven green rivers"


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Everybody, and the campaign they share."""

    mei: User
    ada: User
    lin: User
    vera: User
    otto: User
    campaign: Campaign


def make_user(name: str, *, password: str | None = None, **fields: Any) -> User:
    """Somebody who has read what is recorded; `notice_read_at=None` for a newcomer."""
    fields.setdefault("notice_read_at", timezone.now())
    return User.objects.create_user(name, password, **fields)


def make_campaign(slug: str = "main", *, protocol: str = "triple", k: int = 2, **fields: Any) -> Campaign:
    """A campaign with guideline 1 and its main round."""
    campaign = Campaign.objects.create(
        slug=slug, title=fields.pop("title", slug.title()), protocol=protocol, annotators_per_item=k, **fields
    )
    guideline = Guideline.objects.create(campaign=campaign, version=1, text_en="Judge.", text_zh="请判断。")
    Round.objects.create(campaign=campaign, kind=Round.Kind.MAIN, k=k, guideline=guideline)
    return campaign


def make_member(campaign: Campaign, user: User, role: str, pseudonym: str) -> Membership:
    return Membership.objects.create(campaign=campaign, user=user, role=role, pseudonym=pseudonym)


def make_cast(*, protocol: str = "triple", k: int = 2) -> Cast:
    """Mei, Ada, Lin, Vera and Otto, and the campaign “main” (of Otto: “other”). Nobody has a password."""
    mei, ada, lin, vera, otto = (make_user(name) for name in ("mei", "ada", "lin", "vera", "otto"))
    campaign = make_campaign(protocol=protocol, k=k)
    make_member(campaign, mei, "manager", "M1")
    make_member(campaign, ada, "expert", "A1")
    make_member(campaign, lin, "expert", "A2")
    make_member(campaign, vera, "viewer", "V1")
    make_member(make_campaign("other", protocol=protocol, k=k), otto, "manager", "M1")
    return Cast(mei=mei, ada=ada, lin=lin, vera=vera, otto=otto, campaign=campaign)


def with_password(user: User, password: str = PASSWORD) -> User:
    user.set_password(password)
    user.save()
    return user


def signed_in(user: User) -> Client:
    """A browser in which this person has signed in."""
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return client


def make_batch(campaign: Campaign) -> ImportBatch:
    """An import that is published, so that its items exist for everybody."""
    now = timezone.now()
    return ImportBatch.objects.create(
        campaign=campaign,
        file_name="items.csv",
        sha256="0" * 64,
        lease_until=now + timedelta(minutes=1),
        published_at=now,
    )


def make_triple(campaign: Campaign, position: int, **fields: Any) -> Item:
    """The triple at this position; its key is `t<position>`."""
    key = f"t{position}"
    batch = fields.pop("batch", None) or make_batch(campaign)
    unit = Unit.objects.create(campaign=campaign, batch=batch, key=key, position=position)
    values: dict[str, Any] = {
        "head": "PersonX finish a marathon",
        "relation": "xWant",
        "tail": f"PersonX rest {position}",
        **fields,
    }
    return Item.objects.create(
        campaign=campaign,
        unit=unit,
        batch=batch,
        position=position,
        key=key,
        key_folded=key,
        given_key=True,
        **values,
    )


def make_compound(campaign: Campaign, position: int, *, contexts: int = 5, **fields: Any) -> list[Item]:
    """The compound at this unit position, one item per context."""
    batch = fields.pop("batch", None) or make_batch(campaign)
    compound = fields.pop("compound", f"lazy dog {position}")
    unit = Unit.objects.create(
        campaign=campaign, batch=batch, key=compound, position=position, compound=compound, **fields
    )
    return [
        make_context_item(unit, number, position=(position - 1) * contexts + number)
        for number in range(1, contexts + 1)
    ]


def make_context_item(unit: Unit, number: int, *, position: int) -> Item:
    """Context `number` of a compound, and one translation of it."""
    key = f"{unit.key}-{number}"
    context = Context.objects.create(
        unit=unit,
        batch=unit.batch,
        key=key,
        key_folded=key,
        given_key=True,
        number=number,
        source=f"{unit.compound} slept ({number}).",
        reference=f"懒狗睡了（{number}）。",
    )
    return Item.objects.create(
        campaign=unit.campaign,
        unit=unit,
        context=context,
        batch=unit.batch,
        position=position,
        key=key,
        key_folded=key,
        given_key=True,
        translation=f"懒狗睡着了（{number}）。",
        digest=f"{number:064d}",
    )


def make_assignment(item: Item, expert: User, *, slot: int = 1, **fields: Any) -> Assignment:
    """The item given to this expert in the campaign's main round, not yet answered."""
    round_ = fields.pop("round", None) or item.campaign.rounds.get(kind=Round.Kind.MAIN)
    values: dict[str, Any] = {
        "position": item.unit.position,
        "row": item.context.number if item.context else 1,
        "queue": item.unit.position,
        **fields,
    }
    return Assignment.objects.create(
        round=round_, unit=item.unit, item=item, expert=expert, slot=slot, **values
    )


def make_part(round_: Round, index: int = 1) -> Part:
    """An empty part; an assignment joins it with `part=…`."""
    design = Design.objects.create(round=round_, name="cyclic", seed=1, hash="0" * 64, plan={})
    return Part.objects.create(round=round_, design=design, index=index)


def answer(assignment: Assignment, label: str = "1") -> Assignment:
    """The assignment as it stands after one answer (without the annotation that a save also writes)."""
    assignment.revision += 1
    assignment.label = label
    assignment.answered_at = timezone.now()
    assignment.save()
    return assignment


def make_judged(cast: Cast, *answers: Sequence[str | None], notes: bool = True) -> Design:
    """A batch of triples, or of compounds of one context, judged by Ada and Lin: a pair of labels for each, "" for a
    cannot judge, None where the answer is still to come. Each answer bears a note that names its slot and position.
    """
    campaign = cast.campaign
    round_ = campaign.rounds.get(kind=Round.Kind.MAIN)
    part = make_part(round_, index=1 + max(round_.parts.values_list("index", flat=True), default=-1))
    taken = (
        campaign.units.values_list("position", flat=True),
        campaign.items.values_list("position", flat=True),
    )
    first = 1 + max([0, *taken[0], *taken[1]])
    for position, labels in enumerate(answers, start=first):
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            (item,) = make_compound(campaign, position, contexts=1)
        else:
            item = make_triple(campaign, position)
        PartUnit.objects.create(round=round_, part=part, unit=item.unit)
        for slot, (expert, label) in enumerate(zip((cast.ada, cast.lin), labels, strict=True), start=1):
            row = make_assignment(item, expert, slot=slot, part=part)
            if label is not None:
                save_label(row, label, note=f"note-{slot}-of-{position}" if notes else "")
    return part.design


def save_label(row: Assignment, label: str, *, note: str = "") -> Assignment:
    """The assignment answered once more, with its annotation; "" is a cannot judge."""
    row.revision += 1
    row.label, row.cannot_judge, row.answered_at = label, "" if label else "other", timezone.now()
    row.save()
    Annotation.objects.create(
        assignment=row,
        revision=row.revision,
        client_key=uuid4(),
        digest="0" * 64,
        label=row.label,
        cannot_judge=row.cannot_judge,
        note=note,
        guideline=row.round.guideline,
        source=Annotation.Source.SEAT,
        created_at=row.answered_at,
    )
    return row


def make_guideline(campaign: Campaign, **fields: Any) -> Guideline:
    """The next version; the open rounds go on under it."""
    version = campaign.guidelines.count() + 1
    values: dict[str, Any] = {
        "text_en": f"Judge, version {version}.",
        "text_zh": f"请判断，第 {version} 版。",
        "change_en": f"New in {version}.",
        "change_zh": f"第 {version} 版的新内容。",
        **fields,
    }
    guideline = Guideline.objects.create(campaign=campaign, version=version, **values)
    campaign.rounds.filter(state=Round.State.OPEN).update(guideline=guideline)
    return guideline


def make_precedent(
    campaign: Campaign, about: str = "relation", key: str = "xWant", **fields: Any
) -> Precedent:
    """A decision about a relation, which names no item."""
    values = {"text_en": "A wish that comes later.", "text_zh": "之后才有的愿望。", **fields}
    return Precedent.objects.create(campaign=campaign, about=about, key=key, **values)


def make_example(campaign: Campaign, author: User, **fields: Any) -> Example:
    """An example of a relation that nobody has scored yet."""
    values = {
        "relation": "xWant",
        "head": "PersonX plant a tree",
        "tail": "PersonX water the tree",
        "label": "1",
        "why_en": "young trees need water",
        "why_zh": "小树需要水",
        **fields,
    }
    return Example.objects.create(campaign=campaign, author=author, **values)


def make_annotation(assignment: Assignment, label: str = "1", **fields: Any) -> Annotation:
    """One saved answer as the seat stores it, with its annotation; `cannot_judge=…` in place of a label."""
    cause = fields.pop("cannot_judge", "")
    assignment.revision += 1
    assignment.label, assignment.cannot_judge = "" if cause else label, cause
    assignment.answered_at = fields.pop("at", None) or timezone.now()
    assignment.save()
    values: dict[str, Any] = {"client_key": uuid4(), "source": Annotation.Source.SEAT, **fields}
    return Annotation.objects.create(
        assignment=assignment,
        revision=assignment.revision,
        label=assignment.label,
        cannot_judge=cause,
        guideline=assignment.round.guideline,
        created_at=assignment.answered_at,
        **values,
    )


def make_report(assignment: Assignment, **fields: Any) -> Annotation:
    """An answer that says that the item could not be judged."""
    return make_annotation(assignment, **{"cannot_judge": "other", "note": "Is this one word?", **fields})


def seat_number(row: Assignment) -> int:
    """The number under which its expert's page and programs know a row."""
    return number_of(row.pk, expert=row.expert_id)


def rows_on(screen: Mapping[str, Any], expert: User) -> list[Assignment]:
    """The rows of a screen that somebody was given, in its order."""
    found = [assignment_of(row["assignment"], expert=expert.pk) for row in screen["rows"]]
    rows = Assignment.objects.in_bulk(found)
    return [rows[pk] for pk in found]


def make_repeat(row: Assignment, *, position: int) -> Assignment:
    """The row's item given to the same expert again, unmarked: in a round of its own, in the same part."""
    main = row.round
    again, _made = Round.objects.get_or_create(
        campaign=main.campaign,
        kind=Round.Kind.REPEAT,
        number=2,
        defaults={"k": main.k, "guideline": main.guideline},
    )
    place = {"round": again, "part": row.part, "position": position, "row": row.row, "queue": position}
    return make_assignment(row.item, row.expert, slot=row.slot, **place)


def make_side_by_side(campaign: Campaign) -> Campaign:
    """Translations of a context are shown beside each other."""
    return make_display(campaign, Campaign.Display.SIDE_BY_SIDE)


def make_display(campaign: Campaign, display: str) -> Campaign:
    """As if chosen, whatever was judged before."""
    campaign.display = display
    campaign.save(update_fields=["display"])
    return campaign


def make_variants(item: Item, n: int) -> list[Item]:
    """So many more translations of this one's context."""
    # Far behind all others: compounds that are made later find their places free.
    last = max(1_000_000, *item.campaign.items.values_list("position", flat=True))
    return [
        Item.objects.create(
            campaign=item.campaign,
            unit=item.unit,
            context=item.context,
            batch=item.batch,
            position=last + more,
            key=f"{item.key}/{more}",
            key_folded=f"{item.key}/{more}",
            given_key=False,
            translation=f"{item.translation}（译文{more + 1}）",
            digest=f"{last + more:064x}",
        )
        for more in range(1, n + 1)
    ]
