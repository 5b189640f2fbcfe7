"""Reading an item file for a campaign: the reader that fits its protocol."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.formats.compounds import read_compounds
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from annotation.formats.triples import read_triples
from annotation.models import Campaign
from annotation.services.wording import wording_of


@dataclass(frozen=True)
class ItemFile:
    """A file that was read, and the fingerprint of its bytes."""

    rows: FileRows[Any]
    sha256: str


def read_item_file(
    campaign: Campaign,
    path: Path,
    *,
    name: str | None = None,
    system: str | None = None,
    run: str | None = None,
) -> ItemFile:
    """The rows of a file and everything that is wrong with them; FormatError where it cannot be read at all."""
    table = read_table(path, name=name or path.name)
    compound = campaign.protocol == Campaign.Protocol.COMPOUND
    rows = (
        read_compounds(table, system=system, run=run)
        if compound
        else read_triples(table, wording=wording_of(campaign))
    )
    return ItemFile(rows, sha256_of(path))


def sha256_of(path: Path) -> str:
    """The fingerprint of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
