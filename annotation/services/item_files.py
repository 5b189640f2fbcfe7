"""Reading an item file for a campaign: the reader that fits its protocol."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.formats.cells import fold_header
from annotation.formats.compounds import read_compounds
from annotation.formats.errors import FormatError, MissingColumns
from annotation.formats.rows import FileRows
from annotation.formats.tables import read_table
from annotation.formats.triples import read_triples
from annotation.models import Campaign
from annotation.protocol.sentences import Sentence, say
from annotation.protocol.triple import TRIPLE
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
    name = name or path.name
    try:
        table = read_table(path, name=name)
        if campaign.protocol == Campaign.Protocol.COMPOUND:
            rows: FileRows[Any] = read_compounds(table, system=system, run=run)
        else:
            rows = read_triples(table, wording=wording_of(campaign))
    except FormatError as error:
        header = error.header if isinstance(error, MissingColumns) else ()
        hint = _another_kind(campaign.protocol, header, name)
        if hint is None:
            raise
        message = say("{message} {hint}", message=error.message, hint=hint)
        if isinstance(error, MissingColumns):
            raise MissingColumns(message, header=header, options=error.options) from None
        raise FormatError(message, line=error.line, column=error.column) from None
    return ItemFile(rows, sha256_of(path))


_OF_COGNITION = say(
    "This looks like a file of a CoGnition test set, which comes as four files together: send them under “A CoGnition "
    "test set: four files”, or with the command import_cognition."
)
_OF_COMPOUNDS = say("These are the columns of compounds; this campaign judges triples.")
_OF_TRIPLES = say("These are the columns of triples; this campaign judges compounds.")
_COGNITION_COLUMNS = {"src", "hyp"}
_COGNITION_ENDINGS = (".en", ".zh", ".compound")


def _another_kind(protocol: str, header: Sequence[str], name: str) -> Sentence | None:
    """What else a file seems to be that is no file of the campaign's items."""
    there = set(map(fold_header, header))
    cognition = there >= _COGNITION_COLUMNS or name.casefold().endswith(_COGNITION_ENDINGS)
    if protocol == Campaign.Protocol.COMPOUND:
        if cognition:
            return _OF_COGNITION
        return _OF_TRIPLES if there >= set(TRIPLE.needed_columns) else None
    return _OF_COMPOUNDS if cognition or there >= {"compound", "source"} else None


def sha256_of(path: Path) -> str:
    """The fingerprint of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
