"""What the methods paragraph says of the judging: material, design, conditions, and the labels made of the answers."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F, Q

from annotation.models import (
    JUDGED_UNDER,
    Annotation,
    Assignment,
    Campaign,
    Design,
    FinalLabel,
    Item,
    Output,
    Part,
    Round,
)
from annotation.protocol.base import get_protocol
from annotation.protocol.labels import ARBITER
from annotation.protocol.sentences import Sentence, listed, say, say_count
from annotation.services.moves import moved_of
from scoring.services.gather import Labels

REFERENCES = {
    "hidden": say("The reference translation was hidden."),
    "on_demand": say("The reference translation was shown on demand."),
    "shown": say("The reference translation was always shown."),
}
REASONS = {
    "off": say("Reasons for a wrong answer were not asked for."),
    "optional": say("Reasons for a wrong answer could be given."),
    "required": say("Reasons for a wrong answer had to be given."),
}
ORDERS = {
    "shuffled": say("Triples came fully shuffled."),
    "runs": say("Triples came in runs of about 20 of one relation."),
}
ENTRANCES = {
    "seat": say("on the judging page"),
    "form": say("on the judging page without scripts"),
    "api": say("by program"),
    "import": say("imported from elsewhere"),
}
DISPLAYS = {"alone": say("one unit at a time")}
COMPOUND_DISPLAYS = {
    "alone": say("one translation of each context on a screen"),
    "side_by_side": say("all translations of a context side by side"),
}
DESIGNS = {
    "cyclic": say("cyclic"),
    "pairs": say("pairs"),
    "quotas": say("quotas"),
    "single": say("single"),
}


def material_sentences(campaign: Campaign, compound: bool) -> list[Sentence]:
    """What there is to judge."""
    items = Item.objects.active().filter(campaign=campaign)
    if not compound:
        return [say("The material is triples of head, relation and tail: {n}.", n=items.count())]
    outputs = Output.objects.filter(
        system__campaign=campaign, batch__published_at__isnull=False, item__retired_at__isnull=True
    ).aggregate(
        instances=Count("pk"),
        compounds=Count("context__unit", distinct=True),
        systems=Count("system", distinct=True),
    )
    return [
        say(
            "The material is compounds in context: compounds {compounds}, systems {systems}, translations {instances} "
            "({items} of them distinct).",
            items=items.count(),
            **outputs,
        )
    ]


def judging_sentences(campaign: Campaign) -> list[Sentence]:
    """How many judgements of how many experts there are, and on which scale."""
    found = _current(campaign).aggregate(
        given=Count("answered_at"),
        unable=Count("pk", filter=~Q(cannot_judge="")),
        experts=Count("expert", distinct=True, filter=Q(answered_at__isnull=False)),
    )
    if not found["given"]:
        return [say("No judgements are held here.")]
    return [
        say(
            "Experts judge on their own, k = {k} of them each item, on the scale {scale}; experts {experts}, "
            "judgements {given}, of these that the item cannot be judged {unable}.",
            k=campaign.annotators_per_item,
            scale=", ".join(get_protocol(campaign.protocol).labels),
            **found,
        )
    ]


def design_sentences(campaign: Campaign) -> list[Sentence]:
    """How units were dealt, and in which order each expert met them."""
    parts = Part.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).count()
    if not parts:
        return []
    designs = Design.objects.filter(round__campaign=campaign, round__kind=Round.Kind.MAIN).order_by("pk")
    told = [
        say(
            "{name} with seed {seed} (hash {hash})",
            name=DESIGNS.get(name, name),
            seed=seed,
            hash=digest[:12],
        )
        for name, seed, digest in designs.values_list("name", "seed", "hash")
    ]
    return [
        say("Items were dealt by the design {designs}; parts: {n}.", n=parts, designs=listed(told)),
        say(
            "Every expert met their items in an order of their own, drawn with seed {seed}.",
            seed=campaign.seed,
        ),
        *_moves(campaign),
    ]


def _moves(campaign: Campaign) -> list[Sentence]:
    """That units changed hands, and that somebody left."""
    moved = moved_of(campaign)
    units = say(
        "Units that were given to another expert after the parts were given out: {n}.", n=f"{moved.units:,}"
    )
    left = say(
        "Experts who left before they had judged all that was given to them, their open units moved to others: {n}.",
        n=len(moved.left),
    )
    return [*([units] if moved.units else []), *([left] if moved.left else [])]


def condition_sentences(campaign: Campaign, compound: bool) -> list[Sentence]:
    """Under which guidelines, where, and how displayed judgements were given."""
    answers = Annotation.objects.filter(
        assignment__in=_current(campaign), revision=F("assignment__revision")
    ).order_by()
    entrances = _counts(answers, "source")
    if not entrances:
        return []
    if set(entrances) == {Annotation.Source.IMPORT}:
        return [
            say(
                "Under which conditions they were given elsewhere is not recorded, nor whether anybody looked at "
                "interim figures there."
            ),
        ]
    versions = _counts(answers.annotate(judged_under=JUDGED_UNDER), "judged_under")
    under = [
        say("not recorded: {n}", n=f"{n:,}")
        if version == "None"
        else say("version {version}: {n}", version=version, n=f"{n:,}")
        for version, n in versions.items()
    ]
    where = [say("{where}: {n}", where=ENTRANCES[name], n=f"{n:,}") for name, n in entrances.items()]
    display = _counts(answers.exclude(source=Annotation.Source.IMPORT), "conditions__display")
    displays = COMPOUND_DISPLAYS if compound else DISPLAYS
    return [
        say("Judgements by version of the guidelines: {counts}.", counts=listed(under)),
        say("Where they were given: {counts}.", counts=listed(where)),
        say(
            "Display mode: {counts}.", counts=_told(display, words={**displays, "None": say("not recorded")})
        ),
        *(_where_contexts_stood(display) if compound else []),
        *(_compound_settings(campaign, answers) if compound else _triple_settings(campaign)),
    ]


def _where_contexts_stood(display: Mapping[str, int]) -> list[Sentence]:
    """By the displays that there were."""
    one_by_one = say(
        "Side by side, the contexts of a compound came one after another and were saved together."
    )
    if set(display) == {"side_by_side"}:
        return [one_by_one]
    together = say("The contexts of a compound stood on one screen.")
    return [together, one_by_one] if "side_by_side" in display else [together]


def _compound_settings(campaign: Campaign, answers: Any) -> list[Sentence]:
    return [
        REFERENCES[campaign.reference],
        *_seen(_counts(answers, "reference_seen")),
        REASONS[campaign.reasons],
    ]


def _seen(counts: Mapping[str, int]) -> list[Sentence]:
    """With how many answers the reference was seen, with how many not, and of how many that is not known."""
    seen, hidden, unknown = (counts.get(value, 0) for value in ("True", "False", "None"))
    told = []
    if seen and hidden:
        told.append(say("It was seen with {seen} answers and not with {hidden}.", seen=seen, hidden=hidden))
    elif seen:
        told.append(say_count("It was seen with {n} answer.", "It was seen with {n} answers.", n=seen))
    elif hidden:
        told.append(
            say_count("It was not seen with {n} answer.", "It was not seen with {n} answers.", n=hidden)
        )
    if unknown:
        told.append(
            say_count(
                "Of {n} answer it is not recorded whether it was seen.",
                "Of {n} answers it is not recorded whether it was seen.",
                n=unknown,
            )
        )
    return told


def _triple_settings(campaign: Campaign) -> list[Sentence]:
    asked = say("Why a triple is not plausible was asked for.")
    return [
        ORDERS[campaign.order],
        asked if campaign.zero_detail else say("Why a triple is not plausible was not asked."),
    ]


def _current(campaign: Campaign) -> Any:
    return Assignment.objects.filter(
        round__campaign=campaign,
        round__kind=Round.Kind.MAIN,
        withdrawn_at__isnull=True,
        item__retired_at__isnull=True,
    )


def label_sentences(campaign: Campaign, labels: Labels) -> list[Sentence]:
    """Where the labels are from, and what a run of the rule left without one."""
    labelled = len(labels.by_item)
    if labels.source == "imported":
        if not labelled:
            return [say("There are no labels yet.")]
        return [
            say(
                "The labels of {n} items were imported with them; by which rule they were made is not recorded.",
                n=labelled,
            )
        ]
    if labels.source == "computed":
        return [
            say(
                "No final labels were computed; error rates rest on the rule {rule} (version {version}) over the "
                "answers as they stand.",
                rule=labels.rule,
                version=labels.rule_version,
            )
        ]
    without = FinalLabel.objects.filter(item__campaign=campaign).exclude(reason="")
    reasons = _counts(without.order_by(), "reason")
    by_arbiter = FinalLabel.objects.filter(
        item__campaign=campaign, item__retired_at__isnull=True, rule=ARBITER.name
    ).exclude(label="")
    decided = by_arbiter.count()
    told = say(
        "{n} final labels follow from the judgements by the rule {rule} (version {version}); this is version "
        "{label_version} of the labels.",
        n=labelled - decided - len(labels.carried),
        rule=labels.rule,
        version=labels.rule_version,
        label_version=labels.label_version,
    )
    return [
        told,
        *([say("An arbiter decided the labels of items: {n}.", n=decided)] if decided else []),
        *([say("Items without a label, by reason: {counts}.", counts=_told(reasons))] if reasons else []),
    ]


def _counts(rows: Any, name: str) -> dict[str, int]:
    found = rows.values_list(name).annotate(n=Count("pk")).values_list(name, "n")
    return dict(sorted((str(value), n) for value, n in found))


def _told(counts: Mapping[str, int], *, words: Mapping[str, Sentence] | None = None) -> Sentence:
    said = words or {}
    return listed([say("{name}: {n}", name=said.get(name, name), n=f"{n:,}") for name, n in counts.items()])
