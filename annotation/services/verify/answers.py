"""What was answered: as it was saved, by the protocol, and not changed once it was in for good."""

from collections.abc import Iterator

from django.db.models import Count, Exists, F, Max, OuterRef, Q

from annotation.models import Annotation, Arbitration, Assignment, Campaign, Gold, HandIn, Round
from annotation.protocol.base import get_protocol
from annotation.services.arbitration import LABELS
from annotation.services.verify.rows import CHUNK, SLOT, judged, named, standing


def answers_agree(campaign: Campaign) -> Iterator[str]:
    """An assignment stands where its last annotation says; no revision is missing."""
    rows = Assignment.objects.filter(round__campaign=campaign)
    last = Annotation.objects.filter(
        assignment=OuterRef("pk"),
        revision=OuterRef("revision"),
        label=OuterRef("label"),
        cannot_judge=OuterRef("cannot_judge"),
    )
    differ = rows.filter(~Exists(last), revision__gte=1)
    counted = rows.annotate(saved=Count("annotations"), latest=Max("annotations__revision"))
    gaps = counted.filter(~Q(saved=F("revision")) | Q(revision__gte=1) & ~Q(latest=F("revision")))
    found = dict.fromkeys(differ.order_by().values_list("pk", "item__position", "slot").iterator(CHUNK))
    found |= dict.fromkeys(gaps.order_by().values_list("pk", "item__position", "slot").iterator(CHUNK))
    for _pk, position, slot in sorted(found, key=lambda row: (row[1], row[2], row[0])):
        yield f"the answer in slot {slot} of the item at position {position} differs from its last annotation"


def answers_of_the_protocol(campaign: Campaign) -> Iterator[str]:
    """Every label that was saved, known beforehand or decided is one that there is."""
    scores = {answer.score for answer in get_protocol(campaign.protocol).scale}
    for position, slot in named(judged(campaign).exclude(label__in={"", *scores}), *SLOT):
        yield f"an answer in slot {slot} of the item at position {position} is none of the protocol's"
    gold = Gold.objects.filter(item__campaign=campaign).exclude(label__in=scores)
    for (position,) in named(gold, "item__position"):
        yield f"the label known of the item at position {position} is none of the protocol's"
    decided = Arbitration.objects.filter(item__campaign=campaign).exclude(label__in=LABELS)
    for (position,) in named(decided, "item__position"):
        yield f"what an arbiter decided on the item at position {position} is no label"


def nothing_open_in_what_is_handed_in(campaign: Campaign) -> Iterator[str]:
    """Nobody is asked for what they cannot answer any more, repeats included. Earlier versions brought such rows back
    with an item that had been withdrawn.
    """
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    still = standing(campaign).filter(answered_at__isnull=True, part__isnull=False)
    closed = still.filter(part__design__closed_at__isnull=False)
    for kind, position, slot in named(closed, "round__kind", "item__position", "slot"):
        yield (
            f"slot {slot} of the item at position {position} in the {kind} round is open in a closed batch; withdraw "
            "and restore the item"
        )
    inside = still.filter(Exists(handed_in), part__design__closed_at__isnull=True)
    for kind, position, slot in named(inside, "round__kind", "item__position", "slot"):
        yield (
            f"slot {slot} of the item at position {position} in the {kind} round is open in a part that was handed "
            "in; give the part back"
        )


def frozen_stay_frozen(campaign: Campaign) -> Iterator[str]:
    """Nobody can change an answer of a closed batch, and nobody changed one once its batch was closed, its part handed
    in, its row withdrawn or its item opened to discussion. What comes from a file may come later.
    """
    main = Assignment.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN)
    handed_in = HandIn.objects.filter(part=OuterRef("part"), expert=OuterRef("expert"))
    open_still = main.filter(
        ~Exists(handed_in), part__design__closed_at__isnull=False, withdrawn_at__isnull=True
    )
    for position, slot in named(open_still, "item__position", "slot"):
        yield f"the answer in slot {slot} of the item at position {position} is in a closed batch and can be changed"
    saved = judged(campaign).exclude(source=Annotation.Source.IMPORT)
    before = HandIn.objects.filter(
        part=OuterRef("assignment__part"),
        expert=OuterRef("assignment__expert"),
        at__lt=OuterRef("created_at"),
    )
    independent = saved.filter(assignment__round__kind=Round.Kind.MAIN)
    told: set[tuple[int, int]] = set()  # once for each, by the first of these that it came after
    for what, after, rows in (
        (
            "the independent answer",
            "the item was opened to discussion",
            independent.filter(created_at__gt=F("assignment__item__thread__opened_at")),
        ),
        (
            "an answer",
            "its batch was closed",
            saved.filter(created_at__gt=F("assignment__part__design__closed_at")),
        ),
        ("an answer", "its part was handed in", saved.filter(Exists(before))),
        ("an answer", "it was withdrawn", saved.filter(created_at__gt=F("assignment__withdrawn_at"))),
    ):
        for position, slot in named(rows, *SLOT):
            if (position, slot) not in told:
                told.add((position, slot))
                yield f"{what} in slot {slot} of the item at position {position} was saved after {after}"
