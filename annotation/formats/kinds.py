"""What a file is that is neither a table nor a text: told by how it begins, or by the end of its name."""

import re
import zipfile
from io import BytesIO
from pathlib import PurePath

from annotation.formats.errors import FormatError
from annotation.protocol.sentences import Sentence, say

WORKBOOK_CONTENTS = "[Content_Types].xml"  # stands in every workbook, and tells it from other archives
OLD_OFFICE = b"\xd0\xcf\x11\xe0"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")

_PDF, _IMAGE, _ARCHIVE = say("a PDF"), say("an image"), say("a packed archive")
_WEB_PAGE, _TEXT_DOCUMENT, _SLIDES = say("a web page"), say("a text document"), say("a presentation")
_PARQUET, _RECORDING, _XML = say("a Parquet file"), say("sound or video"), say("an XML file")
_OTHER_SHEET = say("a spreadsheet of another program")
BINARY = say("binary data")

PARQUET_MARK = b"PAR1"
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1f]")
# How files begin that are sent instead of a table or a text, in lower case; and what stands at their beginning or end
# besides, since a sentence may begin so too.
_BEGINNINGS = (
    (_PDF, (b"%pdf-",), re.compile(rb"%pdf-[0-9].*?(?:[0-9] obj\b|%%eof|[\0-\x08\x0e-\x1f])", re.DOTALL)),
    (_IMAGE, (b"gif87a", b"gif89a", b"\x89png\r\n\x1a", b"ii*\0", b"mm\0*"), _NO_TEXT),
    (_IMAGE, (b"\xff\xd8\xff",), None),
    (_ARCHIVE, (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"rar!\x1a", b"\xfd7zxz", b"bzh91ay&sy"), _NO_TEXT),
    (_WEB_PAGE, (b"<!doctype html", b"<html"), re.compile(rb"</html>|<(?:head|body)[\s>]")),
    (_XML, (b"<?xml",), re.compile(rb"<\?xml\s[^>]*\?>\s*<[a-z_!?].*>\s*\Z", re.DOTALL)),
    (
        _TEXT_DOCUMENT,
        (b"{\\rtf",),
        re.compile(rb"\{\\rtf[0-9]*\\.*?(?:\\fonttbl|\\par\b|\}[\s\0]*\Z)", re.DOTALL),
    ),
)
_LONGEST_BEGINNING = 16
_SAMPLE = 4000  # bytes of the beginning and of the end
_BLANKS = b"\xef\xbb\xbf \t\r\n"  # may stand before the beginning
# How text in UTF-16 begins: with its mark, or with the sign that begins a web page.
_UTF16 = (
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_OLD_TEXT_DOCUMENT = "WordDocument".encode("utf-16-le")
# What archives hold that are documents of an office program: a folder, or the kind of an OpenDocument.
_FOLDERS = ((_TEXT_DOCUMENT, "word/"), (_SLIDES, "ppt/"))
_OPEN_DOCUMENTS = ((_OTHER_SHEET, b"spreadsheet"), (_SLIDES, b"presentation"), (_TEXT_DOCUMENT, b"text"))
_OPEN_DOCUMENT, _LONGEST_KIND = b"application/vnd.oasis.opendocument.", 80
_ENDINGS = {
    _PDF: (".pdf",),
    _IMAGE: (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".svg", ".heic"),
    _ARCHIVE: (".zip", ".gz", ".tgz", ".7z", ".rar", ".tar", ".bz2", ".xz"),
    _WEB_PAGE: (".html", ".htm"),
    _TEXT_DOCUMENT: (".doc", ".docx", ".odt", ".rtf"),
    _SLIDES: (".ppt", ".pptx", ".odp"),
    _OTHER_SHEET: (".ods",),
    _PARQUET: (".parquet",),
    _RECORDING: (".mp3", ".mp4", ".wav", ".mov", ".avi"),
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings}


class NoText(FormatError):
    """The file is no text, whatever its name is; `kind` is what it seems to be."""

    def __init__(self, kind: Sentence) -> None:
        super().__init__(
            say("The file seems to be {kind}, but a text file in UTF-8 is needed here.", kind=kind)
        )
        self.kind = kind


class NoTable(FormatError):
    """The file is no table; `kind` is what it seems to be."""

    def __init__(self, kind: Sentence) -> None:
        message = say(
            "The file seems to be {kind}, which is not read as a table. Send CSV, TSV, JSONL or XLSX.",
            kind=kind,
        )
        if kind is _PARQUET:
            message = say(
                "This is a Parquet file; those are written here, not read. Send CSV, TSV, JSONL or XLSX."
            )
        super().__init__(message)
        self.kind = kind


def kind_of(data: bytes) -> Sentence | None:
    """What the bytes seem to be that are no table, by how they begin; None where they may be one.

    >>> str(kind_of(b"%PDF-1.7")), kind_of(b"a,b")
    ('a PDF', None)
    """
    return _kind_of(data, certain=False)


def certain_kind_of(data: bytes) -> Sentence | None:
    """What the bytes seem to be that are no text; None where they may be one, whose first sentence may begin as files
    of other kinds do.

    >>> str(certain_kind_of(b"<html><body>")), certain_kind_of(b"<html> begins a page.")
    ('a web page', None)
    """
    return _kind_of(data, certain=True)


def _kind_of(data: bytes, *, certain: bool) -> Sentence | None:
    if data.startswith(ZIP):
        return _kind_of_archive(data)
    if data.startswith(OLD_OFFICE):
        return old_document(data) or say("an old Excel workbook (.xls) or one with a password")
    begins, ends = data.startswith(PARQUET_MARK), data.endswith(PARQUET_MARK)
    if (begins and not certain) or ((begins or ends) and _NO_TEXT.search(data)):
        return _PARQUET
    sample = _sample(data)
    start = sample[:_LONGEST_BEGINNING]
    for kind, marks, more in _BEGINNINGS:
        if start.startswith(marks) and (not certain or more is None or more.search(sample)):
            return kind
    return None


def _sample(data: bytes) -> bytes:
    """The beginning of a file and its end, in lower case, from the first thing that can be seen; of UTF-16 as UTF-8."""
    middle = max(_SAMPLE, len(data) - _SAMPLE) // 2 * 2
    parts = [data[:_SAMPLE], data[middle:]]
    codec = next((codec for mark, codec in _UTF16 if data.startswith(mark)), None)
    if codec:
        parts = [part.decode(codec, "ignore").encode() for part in parts]
    return b"".join(parts).lstrip(_BLANKS).lower()


def document_of(data: bytes) -> Sentence | None:
    """What document of an office program the bytes are, and no workbook that is read; None where they are none."""
    if data.startswith(OLD_OFFICE):
        return old_document(data)
    if not data.startswith(ZIP):
        return None
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return document_in(archive)
    except Exception:  # a broken archive fails in any way
        return None


def old_document(data: bytes) -> Sentence | None:
    """What a file of an old office program holds, where that is no workbook for certain."""
    return _TEXT_DOCUMENT if _OLD_TEXT_DOCUMENT in data else None


def document_in(archive: zipfile.ZipFile) -> Sentence | None:
    """What an archive is that is a document of an office program, and no workbook that is read."""
    names = archive.namelist()
    if WORKBOOK_CONTENTS in names:
        return next(
            (kind for kind, folder in _FOLDERS if any(name.startswith(folder) for name in names)), None
        )
    if "mimetype" not in names:
        return None
    with archive.open("mimetype") as member:
        told = member.read(_LONGEST_KIND)
    if not told.startswith(_OPEN_DOCUMENT):
        return None
    rest = told.removeprefix(_OPEN_DOCUMENT)
    return next((kind for kind, word in _OPEN_DOCUMENTS if rest.startswith(word)), None)


def _kind_of_archive(data: bytes) -> Sentence:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            is_workbook = WORKBOOK_CONTENTS in archive.namelist()
            return document_in(archive) or (say("a workbook") if is_workbook else _ARCHIVE)
    except Exception:  # a broken archive fails in any way
        return _ARCHIVE


def refuse_by_name(name: str) -> None:
    """A text whose name is that of another kind of file: a few of its lines would pass for a table."""
    ending = PurePath(name).suffix.lower()
    kind = _BY_ENDING.get(ending)
    if kind is not None:
        raise FormatError(
            say(
                "The file's name ends in {ending}, as that of {kind}, which is not read. Where it is a table or a "
                "text, let its name say so: .csv, .tsv, .jsonl, .xlsx or .txt.",
                ending=ending,
                kind=kind,
            )
        )
