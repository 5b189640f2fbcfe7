"""Files that somebody names."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say


def bytes_of(path: Path | str) -> bytes:
    """What the file holds; FormatError, which names it as it was given, where it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except IsADirectoryError:
        raise FormatError(say("“{path}” is a folder; name a file in it.", path=path)) from None
    except OSError as error:
        raise FormatError(
            say("The file “{path}” cannot be opened: {strerror}.", path=path, strerror=error.strerror)
        ) from None


@dataclass(frozen=True)
class NamedFile:
    """A file that a report measures with: read, and not kept."""

    name: str
    data: bytes

    @property
    def fingerprint(self) -> str:
        """The file in a document or signature."""
        return hashlib.sha256(self.data).hexdigest()[:12]

    def as_json(self) -> dict[str, str]:
        """`{name, sha256}`."""
        return {"name": self.name, "sha256": self.fingerprint}


def file_at(path: Path | str) -> NamedFile:
    """The file under this path, by its own name; FormatError where it cannot be opened."""
    return NamedFile(Path(path).name, bytes_of(path))
