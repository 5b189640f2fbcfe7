"""Several systems or runs on the same compounds: their figures, their differences, and where two of them part.

A run stands under a title, "system / run"; two runs are named by their titles, which are those of all runs told apart,
whichever of them are compared.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypedDict

from annotation.models import Campaign, Item, System
from annotation.protocol.sentences import say
from annotation.services.errors import Refused
from scoring.services.gather import (
    SystemRun,
    Translations,
    all_instances_of,
    labels_of,
    translations_of,
)
from scoring.services.judging import Circumstances, ItemOf, Unlike, judging, unlike
from scoring.services.runs import Run, runs_of, titles_of
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.error_rates import WRONG, Instances
from scoring.stats.paired_texts import compare_texts
from scoring.stats.significance import Difference, compare_systems, pair_differences
from scoring.stats.systems import JudgedSystem, SystemTable, differing, heat_map, system_table

Document = dict[str, Any]
Pair = tuple[str | None, str | None]  # two runs by their titles, where they are named

ONE_SYSTEM = say("There is one system here, so there is nothing to compare it with.")
NOTHING_THERE = say("This campaign has no translations yet; import items first.")
OVER_SYSTEMS = say(
    "p after Holm is held over the pairs of systems, figure by figure, as in the differences of all."
)
OVER_ROWS = say("p after Holm is held over all rows of this table.")
CHOSEN_TWICE = say("This is one run, chosen twice; choose two.")


def one_system(n_runs: int) -> str:
    """Why no two systems are compared: there is one, with one run or several."""
    if n_runs == 1:
        return ONE_SYSTEM
    return say(
        "There is one system here, so no two systems are compared; its {n} runs can be, two at a time.",
        n=n_runs,
    )


def comparison(
    campaign: Campaign,
    *,
    labels: str | None = None,
    among: Sequence[str] = (),
    pair: Pair = (None, None),
    texts: bool = True,
    seed: int,
    resamples: int,
) -> Document:
    """Everything that compares a campaign's systems, or those of these names; `texts` takes BLEU and chrF of the pair
    as well.

    As many queries however many systems there are; four more for the texts, and a few where two systems were judged in
    different batches.
    """
    found_labels = labels_of(campaign, labels)
    there = all_instances_of(campaign, found_labels)
    if not there:
        raise Refused(NOTHING_THERE)
    names = list(dict.fromkeys(system for system, _run in there))
    check_among(among, names)
    gathered = {run: found for run, found in there.items() if not among or run[0] in among}
    runs, instances = list(gathered), [found for found, _items in gathered.values()]
    systems = _systems(runs, instances)
    drawing: Drawing = {"seed": seed, "resamples": resamples}
    found = compare_systems(systems, labels=found_labels.signature, **drawing)
    table = system_table(systems)
    titles = _titles_among(list(there), runs)
    places = chosen_pair(runs, titles, pair)
    items = [dict(zip(found.context.tolist(), behind, strict=True)) for found, behind in gathered.values()]
    return {
        "campaign": campaign.slug,
        "of": names,
        "runs": titles,
        **found.as_json(),
        **({"one_system": one_system(len(runs))} if len(systems) == 1 else {}),
        "judging": judging(
            campaign,
            _unlike(campaign, runs, titles, places, items),
            carried=found_labels.carried,
            **drawing,
        ),
        **_carried(titles, instances),
        "heat_map": heat_map(table).as_json(),
        "pair": _pair(runs, titles, instances, places, found.differences, drawing) if places else None,
        "differing": _differing(campaign, table, titles, places, items) if places else None,
        "texts": _texts(campaign, runs, titles, places, seed, resamples) if texts and places else None,
        "labels": found_labels.as_json(),
    }


def check_comparison(campaign: Campaign, *, among: Sequence[str], pair: Pair) -> None:
    """Refused where nothing is there to be compared, or nothing by these names; one query."""
    runs = runs_of(campaign)
    if not runs:
        raise Refused(NOTHING_THERE)
    check_among(among, list(dict.fromkeys(system for system, _run in runs)))
    chosen = [run for run in runs if not among or run[0] in among]
    chosen_pair(chosen, _titles_among(runs, chosen), pair)


def _titles_among(there: Sequence[Run], chosen: Sequence[Run]) -> list[str]:
    """The titles of the chosen among all runs there are."""
    titles = dict(zip(there, titles_of(there), strict=True))
    return [titles[run] for run in chosen]


def heat_map_of(campaign: Campaign, *, labels: str | None, among: Sequence[str]) -> Document:
    """Which contexts each system gets wrong, compound by compound, without anything that is drawn at random."""
    there = all_instances_of(campaign, labels_of(campaign, labels))
    if not there:
        raise Refused(NOTHING_THERE)
    check_among(among, list(dict.fromkeys(system for system, _run in there)))
    gathered = {run: found for run, (found, _items) in there.items() if not among or run[0] in among}
    return heat_map(system_table(_systems(list(gathered), list(gathered.values())))).as_json()


def _carried(titles: Sequence[str], instances: Sequence[Instances]) -> Document:
    """Of each run, how many of its verdicts are carried over; nothing where none is."""
    carried = {title: one.carried_verdicts for title, one in zip(titles, instances, strict=True)}
    found = {title: int(verdicts.sum()) for title, verdicts in carried.items() if verdicts is not None}
    return {"carried": found} if found else {}


class Drawing(TypedDict):
    """Of the bootstrap."""

    seed: int
    resamples: int


def _systems(runs: Sequence[Run], instances: Sequence[Instances]) -> list[JudgedSystem]:
    by_name: dict[str, list[Instances]] = {}
    for (system, _run), of_run in zip(runs, instances, strict=True):
        by_name.setdefault(system, []).append(of_run)
    return [JudgedSystem(name=name, runs=tuple(of_system)) for name, of_system in by_name.items()]


def check_among(names: Sequence[str], there: Sequence[str]) -> None:
    """Refused where a system is named that is not there."""
    unknown = [name for name in names if name not in there]
    if unknown:
        raise Refused(
            say("There is no system “{name}”; there are: {names}.", name=unknown[0], names=", ".join(there))
        )


def chosen_pair(runs: Sequence[Run], titles: Sequence[str], pair: Pair) -> tuple[int, ...]:
    """The two runs asked for, by their places; none where there is one run.

    What is not asked for is the first run there is, and the first one of another system, or else of the same.
    """
    if len(runs) < 2:
        return ()
    unknown = [name for name in pair if name is not None and name not in titles]
    if unknown:
        raise Refused(
            say(
                "There is no system or run “{name}”; there are: {names}.",
                name=unknown[0],
                names=", ".join(titles),
            )
        )
    a, b = (None if name is None else titles.index(name) for name in pair)
    if a is None:
        a = _beside(runs, 0) if b == 0 else 0
    return a, _beside(runs, a) if b is None else b


def _beside(runs: Sequence[Run], place: int) -> int:
    others = [other for other in range(len(runs)) if other != place]
    return next((other for other in others if runs[other][0] != runs[place][0]), others[0])


def _pair(
    runs: Sequence[Run],
    titles: Sequence[str],
    instances: Sequence[Instances],
    places: tuple[int, ...],
    of_systems: Sequence[Difference],
    drawing: Drawing,
) -> Document:
    """The differences of two runs; none where one run was chosen twice. The only runs of two systems are these
    systems: their comparison stands among those of the systems and has one adjusted p.
    """
    a, b = (titles[place] for place in places)
    if a == b:
        return {"a": a, "b": b, "differences": [], "reason": CHOSEN_TWICE}
    names = [runs[place][0] for place in places]
    if names[0] != names[1] and all([name for name, _run in runs].count(name) == 1 for name in names):
        found = [
            one.named(a, b, turned=one.a != names[0]) for one in of_systems if {one.a, one.b} == set(names)
        ]
        return {"a": a, "b": b, "differences": [one.as_json() for one in found], "holm": OVER_SYSTEMS}
    one, other = (
        JudgedSystem(name=name, runs=(instances[place],)) for name, place in zip((a, b), places, strict=True)
    )
    found = pair_differences(one, other, **drawing)
    return {"a": a, "b": b, "differences": [one.as_json() for one in found], "holm": OVER_ROWS}


def _unlike(
    campaign: Campaign,
    runs: Sequence[Run],
    titles: Sequence[str],
    places: tuple[int, ...],
    items: Sequence[ItemOf],
) -> list[Unlike]:
    """Systems that were not judged alike, and the two runs where they are no systems of their own."""
    found = Circumstances.of(campaign)
    systems: dict[str, list[ItemOf]] = {}
    for (system, _run), of_run in zip(runs, items, strict=True):
        systems.setdefault(system, []).append(of_run)
    of_runs = {titles[place]: [items[place]] for place in places}
    are_systems = all(len(systems[runs[place][0]]) == 1 for place in places)
    return unlike(found, systems) + ([] if are_systems else unlike(found, of_runs))


def _differing(
    campaign: Campaign,
    table: SystemTable,
    titles: Sequence[str],
    places: tuple[int, ...],
    items: Sequence[Mapping[int, int]],
) -> Document:
    """Where one is right and the other wrong, in the order of the compounds; an item by its number in the campaign."""
    a, b = places
    parted = differing(table, a, b)
    where = {
        pk: (position, number)
        for pk, position, number in Item.objects.active()
        .filter(campaign=campaign)
        .values_list("pk", "position", "context__number")
    }
    wrong_in_a = dict(zip(table.context, (table.verdict[:, a] == WRONG).tolist(), strict=True))
    return {
        "a": titles[a],
        "b": titles[b],
        "instances": [
            {
                "compound": unit,
                "context_no": where[items[a][context]][1],
                "wrong": titles[a] if wrong_in_a[context] else titles[b],
                "item_a": where[items[a][context]][0],
                "item_b": where[items[b][context]][0],
            }
            for unit, context in parted
        ],
    }


def texts_behind(campaign: Campaign, positions: Collection[int]) -> dict[int, tuple[str, str]]:
    """Source and translation of items by their numbers; one query."""
    rows = Item.objects.active().filter(campaign=campaign, position__in=positions)
    return {
        position: (source, translation)
        for position, source, translation in rows.values_list("position", "context__source", "translation")
    }


def _texts(
    campaign: Campaign,
    runs: Sequence[Run],
    titles: Sequence[str],
    places: tuple[int, ...],
    seed: int,
    resamples: int,
) -> Document:
    """Character BLEU and chrF of two runs on the sentences both translated, compounds drawn as wholes."""
    systems = {system.name: system for system in System.objects.filter(campaign=campaign)}
    both = [translations_of(SystemRun(systems[name], run)) for name, run in (runs[place] for place in places)]
    rows = [dict(zip(one.contexts, range(len(one.contexts)), strict=True)) for one in both]
    first = both[0]
    shared = [
        context
        for context, row in rows[0].items()
        if context in rows[1] and first.keep[row] and first.references[row]
    ]
    if not shared:
        return {"reason": say("the two have no sentence with a reference in common")}
    of_first = [rows[0][context] for context in shared]
    references = [first.references[row] for row in of_first]
    clusters = [first.units[row] for row in of_first]
    hypotheses = [
        _in_order(one, [rows_of[context] for context in shared])
        for one, rows_of in zip(both, rows, strict=True)
    ]
    return {
        score.__name__.removeprefix("corpus_"): compare_texts(
            [
                (titles[place], score(texts, references))
                for place, texts in zip(places, hypotheses, strict=True)
            ],
            clusters=clusters,
            seed=seed,
            resamples=resamples,
        ).as_json()
        for score in (corpus_bleu, corpus_chrf)
    }


def _in_order(texts: Translations, rows: Sequence[int]) -> list[str]:
    return [texts.hypotheses[row] for row in rows]
