"""What items are about, as rules and precedents name it: relations of triples, patterns and atoms of compounds."""

from dataclasses import dataclass

from annotation.models import Campaign, Unit
from annotation.services.wording import wording_of


@dataclass(frozen=True)
class Subjects:
    """Everything a campaign's items can be about, each once, in the order in which people look for it."""

    relations: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    atoms: tuple[str, ...] = ()

    def of(self, about: str) -> tuple[str, ...]:
        """Those of one kind: relation, pattern or atom."""
        return {"relation": self.relations, "pattern": self.patterns, "atom": self.atoms}[about]


def subjects_of(campaign: Campaign) -> Subjects:
    """Of a triple campaign its relations; of a compound campaign what its units hold, in one query."""
    if campaign.protocol == Campaign.Protocol.TRIPLE:
        return Subjects(relations=tuple(wording_of(campaign).relations))
    units = Unit.objects.published().filter(campaign=campaign).order_by().values_list("pattern", "atoms")
    patterns: set[str] = set()
    atoms: set[str] = set()
    for pattern, found in units.iterator(2000):
        patterns.add(pattern)
        atoms.update(atom[1].casefold() for atom in found)
    return Subjects(patterns=tuple(sorted(patterns - {""})), atoms=tuple(sorted(atoms)))
