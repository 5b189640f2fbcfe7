"""Several files given as one: a zip archive, a folder, or files side by side. They are held in memory: no name in an
archive becomes a place on a disk.
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO

from annotation.formats.cells import excerpt
from annotation.formats.errors import FormatError
from annotation.formats.kinds import WORKBOOK_CONTENTS, ZIP, NoText, document_of
from annotation.formats.writers import timeless
from annotation.protocol.sentences import say

MAX_UNPACKED = 256 << 20  # bytes of all files together
MAX_FILES = 2_000
# Text shrinks to a tenth, or a fortieth where it repeats itself; only what was made to fill the memory shrinks more.
MAX_RATIO = 200
_RATIO_FROM = 16 << 20  # bytes unpacked; below, nothing is at stake
_CHUNK = 1 << 16
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_WORKBOOKS = (".xlsx", ".xlsm")


@dataclass(frozen=True, kw_only=True)
class Given:
    """What somebody brings: `name` for people, and the bytes of each file by its path, in the order of these. `packed`:
    they came in an archive or a folder, whose maker named even a single file.
    """

    name: str
    files: Mapping[str, bytes]
    packed: bool = False

    @property
    def only(self) -> tuple[str, bytes]:
        """The one file of a shape that is one file."""
        if len(self.files) != 1:
            raise FormatError(say("This shape is one file; {n} files were given.", n=f"{len(self.files):,}"))
        return next(iter(self.files.items()))


def given(paths: Sequence[Path], *, name: str | None = None) -> Given:
    """The files at these paths; a single folder or zip archive stands for the files in it. `name` is that of a single
    one for people, and its extension helps to tell the format. NoText where it is a document of an office program,
    which is an archive too.
    """
    if len(paths) == 1:
        path, told = paths[0], name or paths[0].name
        if path.is_dir():
            return Given(name=told, files=_of_folder(path), packed=True)
        data = _bytes_of(path)
        kind = document_of(data)
        if kind is not None:
            raise NoText(kind)
        if is_archive(data, name=told):
            return Given(name=told, files=of_archive(data), packed=True)
        return Given(name=told, files={told: data})
    files: dict[str, bytes] = {}
    for path in paths:
        if path.name in files:
            raise FormatError(say("Two of the files are called “{name}”.", name=excerpt(path.name)))
        files[path.name] = _bytes_of(path)
    return Given(name=", ".join(files), files=files)


def is_archive(data: bytes, *, name: str) -> bool:
    """Whether the bytes are a zip archive of files, and no workbook, which is one too. What a damaged one was to be is
    seen by its name and its beginning.
    """
    if not data.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return WORKBOOK_CONTENTS not in archive.namelist()
    except zipfile.BadZipFile:
        return not (name.lower().endswith(_WORKBOOKS) or WORKBOOK_CONTENTS.encode() in data)


def of_archive(data: bytes) -> dict[str, bytes]:
    """The files of an archive by their paths, without a folder that all of them stand in."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            entries = [
                entry
                for entry in archive.infolist()
                if _has_name(entry) and not entry.is_dir() and _counts(entry.filename)
            ]
            _check_packing(entries)
            _check_size(sum(entry.file_size for entry in entries), len(entries), packed=len(data))
            files: dict[str, bytes] = {}
            for entry in entries:
                path = _safe(entry.filename)
                if path in files:
                    raise FormatError(say("The archive holds the file “{path}” twice.", path=excerpt(path)))
                files[path] = _member(archive, entry)
    except FormatError:
        raise
    except zipfile.BadZipFile as error:
        raise FormatError(
            say("The zip archive is damaged, or a part of it is missing. Make it, or send it, again.")
        ) from error
    except MemoryError:
        raise FormatError(too_large()) from None
    except Exception as error:  # a broken archive fails in any way, deep inside the libraries
        raise FormatError(
            say(
                "The archive cannot be read: it is damaged, or has a password. Make it again as a plain zip archive."
            )
        ) from error
    return _without_root(files)


def pack(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """An archive of these files, in chunks: the same bytes for the same files, whenever and wherever it is made."""
    with TemporaryFile() as target:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
            for path, chunks in files:
                with archive.open(timeless(path), "w", force_zip64=True) as member:
                    for chunk in chunks:
                        member.write(chunk)
        yield from _chunks(target)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(_CHUNK):
        yield chunk


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(
            say("The file “{path}” cannot be opened: {strerror}.", path=path, strerror=error.strerror)
        ) from None


def _of_folder(folder: Path) -> dict[str, bytes]:
    root = folder.resolve()
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if not path.is_file() or not _counts(place):
            continue
        if not path.resolve().is_relative_to(root):
            raise FormatError(say("“{path}” leads out of the folder.", path=excerpt(place)))
        found[place] = path
    _check_size(sum(path.stat().st_size for path in found.values()), len(found), packed=None)
    return {place: _bytes_of(path) for place, path in found.items()}


def _counts(path: str) -> bool:
    """Not what systems leave behind in folders and archives."""
    return not any((part.startswith(".") and part != "..") or part == "__MACOSX" for part in path.split("/"))


def _has_name(entry: zipfile.ZipInfo) -> bool:
    if not entry.filename:
        raise FormatError(
            say("The archive holds a file without a name. Make it again as a plain zip archive.")
        )
    return True


def _check_packing(entries: Iterable[zipfile.ZipInfo]) -> None:
    """Other ways of packing ask for as much memory as the archive says, whatever it holds."""
    for entry in entries:
        if entry.compress_type not in _PACKINGS:
            raise FormatError(
                say(
                    "“{path}” is packed in an unusual way. Make the archive again as a plain zip archive (Deflate).",
                    path=excerpt(entry.filename),
                )
            )


def _safe(name: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name:
        raise FormatError(say("“{path}” leads out of the archive.", path=excerpt(name)))
    return path.as_posix()


def _check_size(size: int, n_files: int, *, packed: int | None) -> None:
    if n_files > MAX_FILES:
        raise FormatError(say("There are more than {n} files.", n=f"{MAX_FILES:,}"))
    if size > MAX_UNPACKED or (packed is not None and size > max(_RATIO_FROM, MAX_RATIO * packed)):
        raise FormatError(too_large())
    if not n_files:
        raise FormatError(say("There is no file in it."))


def too_large() -> str:
    """That files hold more than is read, and what to do."""
    return say(
        "The files unpack to more than can be read at once ({limit} MB). Bring them in parts.",
        limit=MAX_UNPACKED >> 20,
    )


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """In pieces: read so, a file ends at the size that it says it has."""
    with archive.open(entry) as stream:
        return b"".join(iter(lambda: stream.read(_CHUNK), b""))


def _without_root(files: Mapping[str, bytes]) -> dict[str, bytes]:
    roots = {path.split("/", 1)[0] for path in files}
    if len(roots) != 1 or any("/" not in path for path in files):
        return dict(sorted(files.items()))
    return dict(sorted((path.split("/", 1)[1], data) for path, data in files.items()))
