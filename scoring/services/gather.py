"""From rows to arrays: what the statistics take. Each function costs a fixed number of queries.

People appear here under the names the caller passes: pseudonyms in everything stored or shown, account names
only for managers who ask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.models import Campaign, Context, FinalLabel, Item, Output, Round, System
from annotation.protocol.base import get_protocol
from annotation.protocol.labels import CARRIED, get_rule
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from annotation.services.labels import Outcomes, compute, passed_over, rule_for, stale_labels
from annotation.services.snapshot import snapshot
from annotation.services.wording import wording_of
from scoring.services.answers import answers_of, part_groups
from scoring.services.circumstances import circumstances
from scoring.services.first_answers import first_answers
from scoring.services.runs import title_of
from scoring.stats.agreement_groups import Groups, groups_of_numbers
from scoring.stats.agreement_input import ratings_from_numbers
from scoring.stats.agreement_table import Ratings
from scoring.stats.composition import LabelledTriples
from scoring.stats.error_rates import UNDECIDED, Instances

CHUNK = 5000
OTHER_PATTERN = "other"  # of compounds that have a type and no known pattern


@dataclass(frozen=True)
class Labels:
    """The labels a report rests on, by item, and where they come from."""

    by_item: Mapping[int, str]
    cannot_judge: frozenset[int]
    source: str  # final, computed (by the rule, not stored) or imported
    rule: str | None
    rule_version: str | None
    label_version: int | None
    stale: int = 0
    passed_over: int = 0  # items with answers that the rule has not seen, such as a restored one
    carried: frozenset[int] = frozenset()  # items whose label is that of an alike translation

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "rule": self.rule,
            "version": self.rule_version,
            "label_version": self.label_version,
            "stale": self.stale,
            "passed_over": self.passed_over,
            **({"carried": len(self.carried)} if self.carried else {}),
        }

    @property
    def judged(self) -> "Labels":
        """Those that follow from judging the very item."""
        if not self.carried:
            return self
        kept = {item: label for item, label in self.by_item.items() if item not in self.carried}
        return replace(self, by_item=kept, carried=frozenset())

    @property
    def signature(self) -> str:
        if self.source == "imported":
            return "imported"
        carried = f"+{CARRIED.name}/{CARRIED.version}" if self.carried else ""
        return f"{self.rule}/{self.rule_version}{carried}@{self.source}:{self.label_version}"


def labels_of(campaign: Campaign, source: str | None = None) -> Labels:
    """`final` or `imported` labels; by default the final ones if the campaign was finalised.

    A triple campaign that never was falls back to its imported labels. A compound campaign has none: there the
    rule is run over the answers as they stand, and nothing is stored.
    """
    finalised = campaign.label_version > 0
    if source == "imported" and campaign.protocol == Campaign.Protocol.COMPOUND:
        raise Refused(
            say("Compounds carry no labels of their own; imported verdicts count as experts' answers.")
        )
    if source == "imported" or (
        source is None and not finalised and campaign.protocol == Campaign.Protocol.TRIPLE
    ):
        return _imported(campaign)
    if finalised:
        return _final(campaign)
    if source == "final":
        raise Refused(say("This campaign has no final labels yet; compute them first."))
    return _computed(campaign)


def _imported(campaign: Campaign) -> Labels:
    found = Item.objects.active().filter(campaign=campaign).exclude(imported_label="")
    return Labels(dict(found.values_list("pk", "imported_label")), frozenset(), "imported", None, None, None)


def _final(campaign: Campaign) -> Labels:
    rows = list(
        FinalLabel.objects.filter(item__campaign=campaign).values_list(
            "item", "label", "reason", "rule", "rule_version"
        )
    )
    versions = (version for *_row, rule, version in rows if rule == campaign.rule)  # not an arbiter's
    return Labels(
        {item: label for item, label, *_row in rows if label},
        frozenset(item for item, _label, reason, *_row in rows if reason == "cannot_judge"),
        "final",
        campaign.rule,
        next(versions, get_rule(campaign.rule).version),
        campaign.label_version,
        stale_labels(campaign),
        passed_over(campaign),
        frozenset(item for item, label, _reason, rule, _version in rows if label and rule == CARRIED.name),
    )


def _computed(campaign: Campaign) -> Labels:
    rule = rule_for(campaign)
    return labels_by_rule(compute(campaign, rule), rule)


def labels_by_rule(outcomes: Outcomes, rule: str) -> Labels:
    """What a rule comes to, nothing stored."""
    return Labels(
        {item: found.label for item, (found, _votes) in outcomes.items() if found.label is not None},
        frozenset(item for item, (found, _votes) in outcomes.items() if found.reason == "cannot_judge"),
        "computed",
        rule,
        get_rule(rule).version,
        0,
        carried=frozenset(
            item for item, (found, _votes) in outcomes.items() if found.label and found.rule == CARRIED.name
        ),
    )


@dataclass(frozen=True)
class SystemRun:
    """One run of one system."""

    system: System
    run: str


def choose_run(campaign: Campaign, system: str | None = None, run: str | None = None) -> SystemRun:
    """The system and run asked for; either may be left out where there is only one."""
    pairs = list(
        Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False)
        .order_by("system", "run")
        .values_list("system__name", "run")
        .distinct()
    )
    if not pairs:
        raise Refused(say("This campaign has no translations yet; import items first."))
    found = [pair for pair in pairs if system in (None, pair[0]) and run in (None, pair[1])]
    if len(found) != 1:
        names, which_one = ", ".join(f"“{title_of(pair)}”" for pair in pairs), ("system", "run")
        if found:
            raise Refused(
                say("Several systems or runs fit; name one: {names}.", names=names), options=which_one
            )
        raise Refused(
            say("There is no such system or run; there are: {names}.", names=names), options=which_one
        )
    name, which = found[0]
    return SystemRun(System.objects.get(campaign=campaign, name=name), which)


def instances_of(chosen: SystemRun, labels: Labels) -> tuple[Instances, list[int]]:
    """A system's outputs with their verdicts, and the item behind each row.

    Contexts of its compounds for which it has no output stand here undecided; withdrawn items do not.
    """
    outputs = Output.objects.filter(
        system=chosen.system, run=chosen.run, batch__published_at__isnull=False
    ).values_list("context", "item", "context__unit", "item__retired_at")
    return _instances(list(outputs), _contexts(chosen.system.campaign_id), labels)


def all_instances_of(
    campaign: Campaign, labels: Labels
) -> dict[tuple[str, str], tuple[Instances, list[int]]]:
    """The same for every run of every system, by both their names, in the order of import."""
    outputs = Output.objects.filter(system__campaign=campaign, batch__published_at__isnull=False).values_list(
        "context", "item", "context__unit", "item__retired_at", "system__name", "run"
    )
    of_run: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for row in outputs.order_by("system", "run").iterator(CHUNK):
        of_run.setdefault((row[4], row[5]), []).append(row[:4])
    contexts = _contexts(campaign.pk)
    return {run: _instances(rows, contexts, labels) for run, rows in of_run.items()}


def _contexts(campaign: int) -> list[tuple[Any, ...]]:
    found = Context.objects.filter(unit__campaign=campaign, batch__published_at__isnull=False)
    return list(
        found.order_by("unit__position", "pk").values_list(
            "pk", "unit__key", "unit__type", "unit__pattern", "unit__words", "unit__atoms", "unit"
        )
    )


def _instances(
    outputs: Sequence[tuple[Any, ...]], of_campaign: Sequence[tuple[Any, ...]], labels: Labels
) -> tuple[Instances, list[int]]:
    item_of, units, withdrawn = {}, set(), set()
    for context, item, unit, retired_at in outputs:
        if retired_at:
            withdrawn.add(context)
        else:
            item_of[context] = item
            units.add(unit)
    # Put together here: as one query over rows that came in a moment ago it takes PostgreSQL for ever.
    contexts = [row for row in of_campaign if row[6] in units and row[0] not in withdrawn]
    items = [item_of.get(row[0], 0) for row in contexts]
    return (
        Instances(
            unit=_texts(row[1] for row in contexts),
            context=np.array([row[0] for row in contexts], dtype=np.int64),
            verdict=verdicts(items, labels),
            cannot_judge=np.array([item in labels.cannot_judge for item in items], dtype=np.bool_),
            facets=_facets(contexts),
            carried=_carried(items, labels),
            item=np.array(items, dtype=np.int64),
        ),
        items,
    )


def _carried(items: Sequence[int], labels: Labels) -> NDArray[np.bool_] | None:
    return np.array([item in labels.carried for item in items], dtype=np.bool_) if labels.carried else None


def verdicts(items: Sequence[int], labels: Labels) -> NDArray[np.int8]:
    """(items,) the label of each, -1 for none."""
    found = (labels.by_item.get(item) for item in items)
    return np.array([UNDECIDED if label is None else int(label) for label in found], dtype=np.int8)


def labelled_otherwise(instances: Instances, items: Sequence[int], labels: Labels) -> Instances:
    """The same instances, whose items these are, under other labels, and without their facets."""
    return replace(
        instances,
        verdict=verdicts(items, labels),
        cannot_judge=np.array([item in labels.cannot_judge for item in items], dtype=np.bool_),
        facets={},
        carried=_carried(items, labels),
    )


def _facets(contexts: Sequence[tuple[Any, ...]]) -> dict[str, NDArray[Any]]:
    return {
        "type": _texts(row[2] or None for row in contexts),
        "pattern": _texts(row[3] or (OTHER_PATTERN if row[2] else None) for row in contexts),
        "words": _texts(row[4] for row in contexts),
        "atoms": _texts(len(row[5]) or None for row in contexts),
        "type_and_words": _texts(f"{row[2]}:{row[4]}" if row[2] else None for row in contexts),
        "modifier": _texts(_atom(row[5], "MOD") for row in contexts),
        "determiner": _texts(_atom(row[5], "DET") for row in contexts),
    }


def _atom(atoms: Sequence[Sequence[Any]], kind: str) -> str | None:
    if not atoms:
        return None
    return next((str(atom[1]) for atom in atoms if atom[0] == kind), "none")


def _texts(values: Any) -> NDArray[Any]:
    return np.array(list(values), dtype=object)


def ratings_of(
    campaign: Campaign,
    *,
    names: Mapping[int, str],
    round_kind: str = Round.Kind.MAIN,
    number: int | None = None,
    part: int | None = None,
) -> tuple[Ratings, dict[str, Groups]]:
    """Every answer of a round, and the groups of its items: by part, by relation or type, by circumstances.

    An item's independent answers are those of the main round; they freeze when it is opened to discussion. `number`
    chooses one of several rounds of the kind, see `answers_of`.
    """
    protocol = get_protocol(campaign.protocol)
    compounds = campaign.protocol == Campaign.Protocol.COMPOUND
    with snapshot():
        answers = answers_of(campaign, round_kind=round_kind, number=number, part=part)
        more = circumstances(campaign, answers, round_kind=round_kind, part=part)
    # By account: what people are called must not move the intervals.
    accounts = groups_of_numbers(answers.expert, names.__getitem__)
    ratings = ratings_from_numbers(
        item=answers.item,
        rater=accounts.numbers,
        label=answers.label,
        slot=answers.slot,
        raters=accounts.names,
        categories=protocol.labels,
        scale=protocol.scale_values,
        items=answers.items.position,
        clusters=answers.items.unit if compounds else None,
    )
    return ratings, {
        "part": part_groups(answers),
        "type" if compounds else "relation": answers.items.group,
        **more,
    }


def triples_of(campaign: Campaign, labels: Labels) -> tuple[LabelledTriples, list[int]]:
    """Every active triple with its label, in the order of import, and its item."""
    rows = list(
        Item.objects.active()
        .filter(campaign=campaign)
        .order_by("position")
        .values_list("head", "relation", "tail", "item_class", "split", "pk")
        .iterator(CHUNK)
    )
    return (
        LabelledTriples(
            head=[row[0] for row in rows],
            relation=[row[1] for row in rows],
            tail=[row[2] for row in rows],
            item_class=[row[3] for row in rows],
            split=[row[4] for row in rows],
            label=verdicts([row[5] for row in rows], labels),
            class_groups=wording_of(campaign).class_groups,
        ),
        [row[5] for row in rows],
    )


def slot_scores(campaign: Campaign, items: list[int]) -> NDArray[np.float64]:
    """(items, slots): each item's independent scores, NaN where there is none. Three queries."""
    place = {item: row for row, item in enumerate(items)}
    scores = np.full((len(items), campaign.annotators_per_item), np.nan)
    main = campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
    changed = first_answers(campaign)
    answers = main.assignments.filter(withdrawn_at__isnull=True, answered_at__isnull=False)
    for item, slot, expert, now in answers.values_list("item", "slot", "expert", "label").iterator(CHUNK):
        label = changed[item, expert].label if (item, expert) in changed else now
        if label and item in place and slot <= scores.shape[1]:
            scores[place[item], slot - 1] = float(label)
    return scores


@dataclass(frozen=True)
class Translations:
    """A system's outputs beside their references, row by row."""

    hypotheses: list[str]
    references: list[str]
    keep: list[bool]  # False where the judged source differs from the test set's: not comparable
    names: list[str]
    compounds: list[str]
    types: list[str]
    items: list[int]
    contexts: list[int]
    units: list[int]


def translations_of(chosen: SystemRun) -> Translations:
    """Every output of the run, in the order of import."""
    rows = list(
        Output.objects.filter(
            system=chosen.system, run=chosen.run, batch__published_at__isnull=False, item__retired_at__isnull=True
        )
        .order_by("pk")
        .values_list(
            "translation", "context__reference", "context__source_differs", "context__key",
            "context__unit__compound", "context__unit__type", "item", "context", "context__unit",
        )
        .iterator(CHUNK)
    )  # fmt: skip
    return Translations(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [not row[2] for row in rows],
        [row[3] for row in rows],
        [row[4] for row in rows],
        [row[5] for row in rows],
        [row[6] for row in rows],
        [row[7] for row in rows],
        [row[8] for row in rows],
    )
