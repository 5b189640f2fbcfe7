"""The subsets of triples that every table of CKBP shows, in the paper's order."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from annotation.protocol.triple import CLASS_GROUPS, GENERAL_RELATIONS, RELATION_NAMES

Mask = NDArray[np.bool_]
ClassGroups = Mapping[str, tuple[str, ...]]  # the classes that each of ID, OOD and Adv holds


def masks(values: Sequence[str], order: Iterable[str]) -> dict[str, Mask]:
    """For each value that occurs, the rows that hold it; `order` first, then what else occurs, sorted.

    Arguments: one value a row, "" where none is known (such rows stand in no mask). Result: masks, shape
    (rows,).

    >>> {value: mask.tolist() for value, mask in masks(["b", "a", "", "b"], ["b"]).items()}
    {'b': [True, False, False, True], 'a': [False, True, False, False]}
    """
    rows = np.array(values, dtype=object)
    occurring = set(values) - {""}
    named = [value for value in order if value in occurring]
    return {value: rows == value for value in [*named, *sorted(occurring - set(named))]}


def relations(values: Sequence[str]) -> dict[str, Mask]:
    """Masks by relation, in the order of the paper's tables; names are case-sensitive."""
    return masks(values, [*RELATION_NAMES, *GENERAL_RELATIONS])


def classes(values: Sequence[str], groups: ClassGroups = CLASS_GROUPS) -> dict[str, Mask]:
    """Masks by class: those of the groups in their order (test_set, cs_head, all_head, adv), then others that occur."""
    return masks(values, [name for members in groups.values() for name in members])


def class_groups(values: Sequence[str], groups: ClassGroups = CLASS_GROUPS) -> dict[str, Mask]:
    """Masks of ID (in-domain), OOD (both out-of-domain classes) and Adv (adversarial), where they occur.

    A campaign may have other classes in the `groups`.

    >>> {group: mask.tolist() for group, mask in class_groups(["cs_head", "adv", "all_head"]).items()}
    {'OOD': [True, False, True], 'Adv': [False, True, False]}
    """
    found = {group: np.isin(values, members) for group, members in groups.items()}
    return {group: mask for group, mask in found.items() if mask.any()}


def table_groups(values: Sequence[str], groups: ClassGroups = CLASS_GROUPS) -> dict[str, Mask]:
    """Masks of the columns of a table of systems: all, then ID, OOD and Adv, then the two out-of-domain classes
    apart, since a published OOD column may hold one of them alone; what does not occur is left out but all.

    >>> list(table_groups(["cs_head", "adv"]))
    ['all', 'OOD', 'Adv', 'cs_head']
    """
    apart = {name: mask for name, mask in classes(values, groups).items() if name in groups["OOD"]}
    return {"all": np.ones(len(values), dtype=np.bool_), **class_groups(values, groups), **apart}
