"""Files that are no tables and no texts: every reader says what they seem to be, and none reads them."""

import random
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from annotation.formats.adapters.base import Asked
from annotation.formats.adapters.packages import Given, given
from annotation.formats.adapters.registry import SHAPES
from annotation.formats.cognition import read_lines
from annotation.formats.decoding import detect_encoding
from annotation.formats.errors import FormatError
from annotation.formats.lexicon import read_entries
from annotation.formats.nodes import read_nodes
from annotation.formats.tables import read_table
from annotation.formats.text_pairs import read_aligned
from annotation.protocol.wording import default_wording
from tests.annotation.formats.files import workbook


def archive(**files: str) -> bytes:
    """A zip archive; two underscores in a name stand for a slash, one for a dot."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        for name, text in files.items():
            target.writestr(name.replace("__", "/").replace("_", "."), text)
    return made.getvalue()


def office(**files: str) -> bytes:
    made = BytesIO(archive(**files))
    with zipfile.ZipFile(made, "a") as target:
        target.writestr("[Content_Types].xml", "<Types/>")
    return made.getvalue()


PDF = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n"
WORD = office(word__document_xml="<document/>")
SLIDES = office(ppt__presentation_xml="<presentation/>")
SHEET = archive(mimetype="application/vnd.oasis.opendocument.spreadsheet", content_xml="<x/>")
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
PROGRAM = b"\x7fELF\x02\x01\x01" + b"\0" * 90
NOISE = random.Random(1).randbytes(600)
KINDS = [
    (PDF, "a PDF"),
    (b"\xef\xbb\xbf\r\n" + PDF, "a PDF"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "an image"),
    (b"\x1f\x8b\x08\0\0\0\0\0", "a packed archive"),
    (b"<?xml version='1.0'?>\n<svg></svg>\n", "an XML file"),
    ("\ufeff<html><body>x</body></html>".encode("utf-16-le"), "a web page"),
    (WORD, "a text document"),
    (SLIDES, "a presentation"),
    (SHEET, "a spreadsheet of another program"),
    (OLD + "WordDocument".encode("utf-16-le"), "a text document"),
    (PROGRAM, "binary data"),
    (NOISE, "binary data"),
]


@pytest.mark.parametrize("name", ["x.pdf", "items.csv", "items"])
@pytest.mark.parametrize(("data", "kind"), KINDS)
def test_a_table_says_what_the_file_seems_to_be_and_what_is_read(data: bytes, kind: str, name: str) -> None:
    with pytest.raises(FormatError) as refusal:
        read_table(data, name=name)
    assert str(refusal.value) == (
        f"The file seems to be {kind}, which is not read as a table. Send CSV, TSV, JSONL or XLSX."
    )


@pytest.mark.parametrize(("data", "kind"), [*KINDS, (archive(a_txt="a"), "a packed archive")])
def test_a_text_says_what_the_file_seems_to_be(data: bytes, kind: str) -> None:
    said = f"The file seems to be {kind}, but a text file in UTF-8 is needed here."
    with pytest.raises(FormatError, match=said):
        detect_encoding(data)
    with pytest.raises(FormatError, match=f"hyp: {said}"):
        read_aligned(data, b"a\n", names=("hyp", "ref"))


@pytest.mark.parametrize(
    ("data", "kind"), [(OLD, r"an old Excel workbook \(.xls\)"), (workbook(["a"], [1]), "a workbook")]
)
def test_workbooks_are_no_texts(data: bytes, kind: str) -> None:
    with pytest.raises(FormatError, match=f"seems to be {kind}.* but a text file in UTF-8 is needed"):
        detect_encoding(data)


UTF32 = "head,relation\na,b\n".encode("utf-32")


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(("data", "said"), [*KINDS, (UTF32, "is in UTF-32")])
def test_a_shape_of_another_program_says_what_the_file_seems_to_be(
    data: bytes, said: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    protocol = SHAPES[name].protocols[0]
    asked = Asked(protocol=protocol, wording=default_wording(protocol), annotator="ada")
    with pytest.raises(FormatError, match=said):
        SHAPES[name].read(given([path]), asked)


def test_of_several_files_without_a_table_the_one_that_cannot_be_read_is_named() -> None:
    asked = Asked(protocol="triple", wording=default_wording("triple"), annotator="ada")
    files = {"human1.csv": b"label1\n1\n", "table.pdf": PDF}
    with pytest.raises(FormatError, match=r"^table\.pdf: The file seems to be a PDF"):
        SHAPES["ckbp"].read(Given(name="x", files=files), asked)


def test_documents_beside_a_table_are_left_aside() -> None:
    asked = Asked(protocol="triple", wording=default_wording("triple"), annotator="ada")
    files = {"about.docx": WORD, "t.csv": b"head,relation,tail\nPersonX eats,xWant,to rest\n"}
    items = SHAPES["ckbp"].read(Given(name="x", files=files), asked).items
    assert items is not None
    assert [str(warning) for warning in items.warnings] == ["“about.docx” was not read."]


def test_nodes_say_both_of_what_they_are_read_from() -> None:
    with pytest.raises(
        FormatError, match=r"a PDF\. Send a text file with a node on each line, or triples as CSV"
    ):
        read_nodes(PDF, name="nodes.txt")
    with pytest.raises(FormatError, match="a text document, which is not read as a table"):
        read_nodes(WORD, name="nodes.docx")


def test_a_lexicon_is_told_from_other_files() -> None:
    with pytest.raises(FormatError, match="The file seems to be a PDF"):
        read_entries(PDF)


READERS: list[Callable[[bytes, str], object]] = [
    lambda data, name: read_table(data, name=name),
    lambda data, name: read_nodes(data, name=name),
    lambda data, name: read_aligned(data, data, names=(name, "ref")),
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("ending", "kind"), [(".pdf", "a PDF"), (".DOCX", "a text document"), (".zip", "a packed archive")]
)
def test_a_text_under_the_name_of_another_kind_is_not_guessed_at(
    read: Callable[[bytes, str], object], ending: str, kind: str
) -> None:
    with pytest.raises(FormatError) as refusal:
        read(b"hello, I am a file\nof text\n", f"x{ending}")
    assert (
        f"The file's name ends in {ending.lower()}, as that of {kind}, which is not read. Where it is a table or a "
        "text, let its name say so: .csv, .tsv, .jsonl, .xlsx or .txt."
    ) in str(refusal.value)


@pytest.mark.parametrize("name", ["t", "t.2024", "NP.en", "t.dat", "t.csv.bak"])
def test_names_that_are_of_no_kind_do_not_matter(name: str) -> None:
    assert list(read_table(b"a,b\n1,2\n", name=name).rows)


def test_a_table_may_end_with_the_mark_of_parquet() -> None:
    table = read_table(b"head,tail\nwe park,at PAR1", name="t.csv")
    assert [row.cells for row in table.rows] == [("we park", "at PAR1")]


BEGINNINGS = [
    "PAR1 is how Parquet begins.",
    "7z集合",
    "<html> begins a web page.",
    "<!DOCTYPE html> stands before it.",
    "<?xml version='1.0'?> begins another file.",
    "%PDF- is a mark.",
    "%PDF-1.7 is a version.",
    "GIF89a is an old format.",
    "{\\rtf is how RTF begins.",
    "{\\rtf1\\ansi is how RTF begins.",
    "BZh91AY&SY is bzip2.",
]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("sentence", BEGINNINGS)
def test_a_sentence_may_begin_as_files_of_other_kinds_do(sentence: str, codec: str) -> None:
    lines = [sentence, *["他在商店里把他喜欢的狗放下了。"] * 3]
    data = "\n".join([*lines, ""]).encode(codec)

    assert read_aligned(data, data, names=("hyp", "ref")).translations == lines
    assert read_nodes(data, name="nodes.txt") == set(lines)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PAR1\x15\x04\x15", "a Parquet file"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF"),
        (b"GIF89a\x10\0\x10\0\xf0", "an image"),
        (b"<!DOCTYPE html>\n<html lang='en'>\n<head>\n", "a web page"),
        (b"<html>" + b"\n<p>long</p>" * 9000 + b"</html>\n", "a web page"),
        (b'<?xml version="1.0"?>\n<!-- -->\n<tmx>' + b"<tu/>\n" * 9000 + b"</tmx>\n", "an XML file"),
        (b"{\\rtf1\\ansi{\\fonttbl\\f0 Times;}\\f0 Hello", "a text document"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "a packed archive"),
        ("\ufeff<html><body>x</body></html>".encode("utf-16-le"), "a web page"),
        ("\ufeff\r\n<html>\n<p>long</p></html>\n".encode("utf-16-be"), "a web page"),
        ("<html>\n<p>long</p></html>\n".encode("utf-16-le"), "a web page"),
        ("<HTML>\n<p>long</p></HTML>\n".encode("utf-16-be"), "a web page"),
    ],
)
def test_where_more_than_the_beginning_speaks_for_another_kind_it_is_said(data: bytes, kind: str) -> None:
    with pytest.raises(FormatError, match=f"seems to be {kind}, but a text"):
        detect_encoding(data)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["一个人\n一只狗\n一一\n", "一,二\n" * 50, "他在商店里，1\n喜欢一只狗。\n" * 9]
)
def test_chinese_in_utf16_without_a_mark_is_no_binary_data(text: str, codec: str) -> None:
    with pytest.raises(FormatError, match="UTF-16 without a byte-order mark"):
        detect_encoding(text.encode(codec))


def test_a_text_with_a_few_marks_of_no_text_stays_a_text() -> None:
    assert detect_encoding(b"a,b\n1\0,2\n").name == "utf-8"
    with pytest.raises(FormatError, match="not valid UTF-8: byte 0xE9"):
        detect_encoding("a,b\ncafé,\x01\n".encode("latin-1") + b"a" * 100)
    with pytest.raises(FormatError, match="UTF-16 without a byte-order mark"):
        detect_encoding("a,b\n1,的\n".encode("utf-16-le"))


def test_lines_of_a_text_are_not_read_from_another_kind(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("x") / "NP.en"
    path.write_bytes(PDF)
    with pytest.raises(FormatError, match=r"^NP\.en: The file seems to be a PDF"):
        read_lines(path)
