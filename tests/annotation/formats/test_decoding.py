import pytest

from annotation.formats.decoding import detect_encoding, text_lines, text_stream
from annotation.formats.errors import FormatError
from annotation.formats.tables import read_table
from tests.annotation.formats.files import contents

CHINESE = "那个困倦的园丁忘了他的帽子。"
TEXT = f"head,tail\nit rains,{CHINESE}\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le"), "utf-16-le"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("gb18030"), "gb18030"),
        (TEXT.encode("gbk"), "gb18030"),
        (b"head,tail\na,b\n", "utf-8"),
    ],
)
def test_it_tells_the_encoding_and_reads_the_same_text(data: bytes, name: str) -> None:
    encoding = detect_encoding(data)
    assert encoding.name == name
    assert "".join(text_stream(data, encoding, newline="")) == (
        TEXT if len(data) > 20 else "head,tail\na,b\n"
    )
    assert (encoding.warning is not None) == (name == "gb18030")


def test_it_says_in_the_table_that_gb18030_was_inferred() -> None:
    table = read_table(TEXT.encode("gb18030"), name="items.csv")
    assert contents(table) == [("it rains", CHINESE)]
    assert table.encoding == "gb18030"
    assert "GB18030" in table.warnings[0].message


def test_it_names_offset_and_line_of_a_broken_place_in_utf8_that_gb18030_would_swallow() -> None:
    before = ("head,tail\n" + f"it rains,{CHINESE}\n" * 3).encode()
    data = before + b"\xe9\xe9,b\n" + f"it rains,{CHINESE}\n".encode()
    with pytest.raises(FormatError) as caught:
        detect_encoding(data)
    assert caught.value.line == 5
    assert f"offset {len(before)} " in caught.value.message
    assert "0xE9" in caught.value.message
    assert "Save it as UTF-8; Chinese text in GB18030 (GBK) is read too." in caught.value.message


@pytest.mark.parametrize(
    "text", ["caf\u00e9 cr\u00e8me", "it\u2019s PersonX\u2019s turn", "na\u00efve \u201cquoted\u201d"]
)
def test_it_does_not_take_western_text_for_chinese(text: str) -> None:
    with pytest.raises(FormatError, match="not valid UTF-8"):
        detect_encoding(f"head,tail\n{text},x\n".encode("cp1252"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TEXT.encode("utf-16-le"), "UTF-16 without a byte-order mark"),
        (TEXT.encode("utf-16-be"), "UTF-16 without a byte-order mark"),
        (TEXT.encode("utf-32"), "UTF-32"),
        (b"\xff\xfe" + TEXT.encode("utf-16-le")[:-1], "not valid UTF-16-LE"),
        (b"\xff\xfe" + "a,\ud800b\n".encode("utf-16-le", "surrogatepass"), "not valid UTF-16-LE"),
        (b"\xef\xbb\xbfa,b\n\xff\n", "not valid UTF-8: byte 0xFF at offset 7 \\(line 2\\)"),
        (b"a,b\n\x80\x81\xff\n", "not valid UTF-8"),
        (b"a,b\n" + "\u56ed".encode("gb18030") + b"\0\xff\n", "not valid UTF-8"),
    ],
)
def test_it_refuses_what_is_not_text_in_a_known_encoding(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        detect_encoding(data)


def test_it_finds_the_offset_beyond_the_first_chunk() -> None:
    data = "\u56ed".encode() * 400_000 + b"\xff"
    with pytest.raises(FormatError, match="offset 1200000 "):
        detect_encoding(data)


def test_it_strips_every_leading_mark_and_keeps_later_ones() -> None:
    data = "\ufeff\ufeffa\n\ufeffb\n".encode()
    assert list(text_stream(data, detect_encoding(data), newline="")) == ["a\n", "\ufeffb\n"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_it_cuts_line_aligned_text_at_line_ends_only(end: str, last: bool) -> None:
    lines = ["a\u2028b", "", "c\x85\x0bd\u2029", "  e "]
    data = (end.join(lines) + (end if last else "")).encode()
    assert list(text_lines(data, detect_encoding(data))) == lines


def test_it_counts_an_empty_last_line() -> None:
    data = b"a\n\n"
    assert list(text_lines(data, detect_encoding(data))) == ["a", ""]
