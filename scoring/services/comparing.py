"""Several systems or runs on the same compounds: their figures, their differences, and where two of them part.

A run stands under a title, "system / run"; two runs are named by their titles.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

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
from scoring.stats.bleu import corpus_bleu, corpus_chrf
from scoring.stats.error_rates import WRONG, Instances
from scoring.stats.paired_texts import compare_texts
from scoring.stats.significance import compare_systems
from scoring.stats.systems import JudgedSystem, SystemTable, differing, heat_map, system_table

Document = dict[str, Any]
Run = tuple[str, str]

ONE_SYSTEM = say("There is one system in this campaign, so there is nothing to compare it with.")


def title_of(run: Run) -> str:
    """What a run is called where several stand side by side."""
    return " / ".join(name for name in run if name)


def comparison(
    campaign: Campaign,
    *,
    labels: str | None = None,
    pair: tuple[str | None, str | None] = (None, None),
    texts: bool = True,
    seed: int,
    resamples: int,
) -> Document:
    """Everything that compares a campaign's systems; `texts` takes BLEU and chrF of the pair as well.

    Six queries, and four more for the texts, however many systems there are.
    """
    found_labels = labels_of(campaign, labels)
    gathered = all_instances_of(campaign, found_labels)
    if not gathered:
        raise Refused(say("This campaign has no translations yet; import items first."))
    runs = list(gathered)
    systems = _systems({run: instances for run, (instances, _items) in gathered.items()})
    found = compare_systems(systems, labels=found_labels.signature, seed=seed, resamples=resamples)
    table = system_table(systems)
    titles = [title_of(run) for run in runs]
    places = _places(runs, titles, pair)
    items = [
        dict(zip(instances.context.tolist(), behind, strict=True)) for instances, behind in gathered.values()
    ]
    return {
        "campaign": campaign.slug,
        "runs": titles,
        **found.as_json(),
        **({"one_system": ONE_SYSTEM} if len(systems) == 1 else {}),
        "heat_map": heat_map(table).as_json(),
        "differing": _differing(campaign, table, titles, places, items) if places else None,
        "texts": _texts(campaign, [runs[place] for place in places], seed, resamples)
        if texts and places
        else None,
        "labels": found_labels.as_json(),
    }


def _systems(runs: Mapping[Run, Instances]) -> list[JudgedSystem]:
    by_name: dict[str, list[Instances]] = {}
    for (system, _run), instances in runs.items():
        by_name.setdefault(system, []).append(instances)
    return [JudgedSystem(name=name, runs=tuple(of_system)) for name, of_system in by_name.items()]


def _places(
    runs: Sequence[Run], titles: Sequence[str], pair: tuple[str | None, str | None]
) -> tuple[int, ...]:
    """The two runs asked for; by default the first of the first two systems, else the first two runs."""
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
    a = 0 if pair[0] is None else titles.index(pair[0])
    if pair[1] is not None:
        return a, titles.index(pair[1])
    others = [place for place in range(len(runs)) if place != a]
    return a, next((place for place in others if runs[place][0] != runs[a][0]), others[0])


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


def _texts(campaign: Campaign, pair: Sequence[Run], seed: int, resamples: int) -> Document:
    """Character BLEU and chrF of two runs on the sentences both translated, compounds drawn as wholes."""
    systems = {system.name: system for system in System.objects.filter(campaign=campaign)}
    both = [translations_of(SystemRun(systems[name], run)) for name, run in pair]
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
        _in_order(one, [places[context] for context in shared])
        for one, places in zip(both, rows, strict=True)
    ]
    titles = [title_of(run) for run in pair]
    return {
        score.__name__.removeprefix("corpus_"): compare_texts(
            [(title, score(texts, references)) for title, texts in zip(titles, hypotheses, strict=True)],
            clusters=clusters,
            seed=seed,
            resamples=resamples,
        ).as_json()
        for score in (corpus_bleu, corpus_chrf)
    }


def _in_order(texts: Translations, rows: Sequence[int]) -> list[str]:
    return [texts.hypotheses[row] for row in rows]
