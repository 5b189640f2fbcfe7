from collections.abc import Sequence
from pathlib import Path

import pytest

from annotation.formats.cognition import CognitionFiles, read_cognition, read_lines
from annotation.formats.errors import FormatError
from tests.annotation.formats.files import workbook
from tests.shared import shared

COMPOUNDS = ["the dog"] * 5 + ["a cat"] * 5
SOURCES = [f"{i} saw {compound} ." for i, compound in enumerate(COMPOUNDS, 1)]
REFERENCES = [f"参考{i}" for i in range(1, 11)]
OUTPUTS = [f"译 文 {i}" for i in range(1, 11)]
HEADER = ["src", "hyp", "human eval"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "NP.en", SOURCES)
    write(tmp_path / "NP.compound", COMPOUNDS)
    write(tmp_path / "NP.zh", REFERENCES)
    write(tmp_path / "NP.out", OUTPUTS)
    return tmp_path


def write(path: Path, lines: Sequence[str], end: str = "\n") -> None:
    path.write_bytes("".join(line + end for line in lines).encode())


def read(folder: Path, translations: str = "NP.out") -> CognitionFiles:
    return read_cognition(
        sources=folder / "NP.en",
        compounds=folder / "NP.compound",
        references=folder / "NP.zh",
        translations=folder / translations,
        system="base",
        run="1",
    )


def judged(folder: Path, rows: list[list[object]], header: Sequence[object] = HEADER) -> CognitionFiles:
    (folder / "NP-git.xlsx").write_bytes(workbook(header, *rows))
    return read(folder, "NP-git.xlsx")


def places(found: CognitionFiles, kind: str = "warnings") -> list[tuple[int | None, str | None]]:
    return [(issue.line, issue.column) for issue in getattr(found, kind)]


def test_it_reads_line_by_line_and_keys_by_stem_and_line(folder: Path) -> None:
    found = read(folder)
    assert (found.stem, found.n_lines, found.errors, found.warnings) == ("NP", 10, (), ())
    assert [row.key.given for row in found.rows][::9] == ["NP-0001", "NP-0010"]
    row = found.rows[6]
    assert (row.line, row.item_id, row.unit_key, row.context_no, row.type) == (7, "NP-0007", "a cat", 2, "NP")
    assert (row.source, row.reference, row.translation) == ("7 saw a cat .", "参考7", "译 文 7")
    assert (row.system, row.run, set(found.labels)) == ("base", "1", {None})


def test_it_reads_verdicts_typed_as_text_or_number(folder: Path) -> None:
    verdicts: list[object] = [1, "1", 0, "0", "1.0", 1.0, True, "０", "correct", "错误"]
    found = judged(folder, [list(row) for row in zip(SOURCES, OUTPUTS, verdicts, strict=True)])
    assert found.labels == ("1", "1", "0", "0", "1", "1", "1", "0", "1", "0")
    assert (found.errors, found.warnings) == ((), ())


def test_it_keeps_the_judged_source_and_marks_it(folder: Path) -> None:
    sources = [*SOURCES[:2], "3 watched the dog .", *SOURCES[3:]]
    found = judged(folder, [[source, output, 1] for source, output in zip(sources, OUTPUTS, strict=True)])
    assert [(d.line, d.key, d.judged, d.test_set) for d in found.differing] == [
        (3, "NP-0003", "3 watched the dog .", "3 saw the dog .")
    ]
    assert (found.rows[2].source, found.rows[2].reference) == ("3 watched the dog .", "参考3")
    assert [row.line for row in found.rows if row.source_differs] == [3]
    assert places(found) == [(3, "source")]


def test_it_reports_verdicts_that_are_none_with_their_sheet_row(folder: Path) -> None:
    verdicts: list[object] = [1, "perhaps", 2, None, *[1] * 6]
    found = judged(folder, [list(row) for row in zip(SOURCES, OUTPUTS, verdicts, strict=True)])
    assert places(found, "errors") == [(3, "human eval"), (4, "human eval")]
    assert places(found) == [(None, "human eval")]
    assert found.labels.count(None) == 1
    assert "NP-git.xlsx" in found.errors[0].message


def test_it_needs_only_the_translations_and_lists_other_columns(folder: Path) -> None:
    found = judged(folder, [[output, "x"] for output in OUTPUTS], header=["HYP", "remark"])
    assert [row.source for row in found.rows] == SOURCES
    assert (found.columns, found.unknown_columns) == ({"HYP": "hyp"}, ("remark",))
    assert "there is no column “human eval”" in found.warnings[0].message
    with pytest.raises(FormatError, match=r"NP-git.xlsx: The file lacks the column hyp"):
        judged(folder, [["x", 1]], header=["src", "human eval"])


@pytest.mark.parametrize("name", ["NP.compound", "NP.zh", "NP.out"])
def test_it_gives_all_counts_where_they_differ(folder: Path, name: str) -> None:
    write(folder / name, ["x"] * 9)
    with pytest.raises(FormatError, match=rf"NP.en has 10, .*{name} has 9"):
        read(folder)


def test_it_counts_empty_lines_as_empty_translations(folder: Path) -> None:
    write(folder / "NP.out", [*OUTPUTS[:9], ""])
    found = read(folder)
    assert (found.rows[9].translation, places(found)) == ("", [(10, "translation")])


def test_it_reports_empty_lines_elsewhere(folder: Path) -> None:
    write(folder / "NP.en", ["", *SOURCES[1:]])
    write(folder / "NP.zh", [*REFERENCES[:9], " \u3000"])
    found = read(folder)
    assert places(found, "errors") == [(1, "source"), (10, "reference")]
    assert "NP.zh" in found.errors[1].message


def test_it_warns_of_runs_of_other_than_five_lines_and_of_a_compound_that_comes_again(folder: Path) -> None:
    compounds = ["the dog"] * 4 + ["a cat"] * 5 + ["the dog"]
    write(folder / "NP.compound", compounds)
    write(folder / "NP.en", [f"{i} saw {compound} ." for i, compound in enumerate(compounds)])
    found = read(folder)
    assert places(found) == [(1, "compound"), (10, "compound"), (10, "compound")]
    assert [row.unit_key for row in found.rows][::3] == ["the dog", "the dog", "a cat", "the dog (2)"]
    assert [row.context_no for row in found.rows] == [1, 2, 3, 4, 1, 2, 3, 4, 5, 1]


def test_it_warns_of_a_compound_that_its_source_does_not_hold(folder: Path) -> None:
    write(folder / "NP.en", [*SOURCES[:4], "nothing here", *SOURCES[5:]])
    assert places(read(folder)) == [(5, "compound")]


def test_it_keys_equal_sources_by_their_line(folder: Path) -> None:
    write(folder / "NP.en", [SOURCES[0]] * 5 + SOURCES[5:])
    found = read(folder)
    assert len({row.key.folded for row in found.rows}) == 10


def test_it_keeps_unicode_line_separators_within_a_line(folder: Path) -> None:
    write(folder / "NP.out", [f"a\u2028b\x85c\x0b{i}" for i in range(10)], end="\r\n")
    assert read(folder).rows[3].translation == "a\u2028b\x85c\x0b3"


def test_it_names_the_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "NP.zh").write_bytes(b"ok\n\xff\xff\n")
    with pytest.raises(FormatError, match=r"NP.zh: The file is not valid UTF-8.*line 2"):
        read(folder)
    (folder / "NP.zh").unlink()
    with pytest.raises(FormatError, match=r"NP.zh.*cannot be opened"):
        read(folder)


def test_it_refuses_zero_characters_and_empty_files(folder: Path) -> None:
    (folder / "zero").write_bytes(b"a\nb\0\n")
    with pytest.raises(FormatError, match="U\\+0000"):
        read_lines(folder / "zero")
    for name in ("NP.en", "NP.compound", "NP.zh", "NP.out"):
        write(folder / name, [])
    with pytest.raises(FormatError, match="no lines"):
        read(folder)


def test_it_says_where_a_workbook_stands_in_the_place_of_a_text(folder: Path) -> None:
    (folder / "NP.en").write_bytes(workbook(["src"], ["one"]))
    with pytest.raises(FormatError, match=r"^NP.en: The file seems to be a workbook, but a text file"):
        read(folder)


def test_it_refuses_files_that_do_not_belong_together(folder: Path) -> None:
    write(folder / "NP.en", [f"{i} slept ." for i in range(1, 7)] + SOURCES[6:])
    with pytest.raises(FormatError) as refused:
        read(folder)
    assert "seem to be mixed up: on 6 of 10 lines, the source in NP.en does not hold" in str(refused.value)
    assert "The first: 1 (“the dog” / “1 slept .”), 2 (" in str(refused.value)


def test_it_refuses_a_workbook_of_other_sentences(folder: Path) -> None:
    rows: list[list[object]] = [[f"{source} really", "译文", "1"] for source in SOURCES[:6]]
    rows += [[source, "译文", "1"] for source in SOURCES[6:]]
    with pytest.raises(
        FormatError, match=r"on 6 of 10 lines, the source in NP-git.xlsx is not that in NP.en"
    ):
        judged(folder, rows)


@pytest.mark.parametrize("stem", ["NP", "VP"])
def test_it_refuses_none_of_the_released_files_unless_they_are_mixed_up(stem: str) -> None:
    def released(sources: str) -> CognitionFiles:
        kept = shared("data/cognition/NP.en").parent
        return read_cognition(
            sources=kept / f"{sources}.en",
            compounds=kept / f"{stem}.compound",
            references=kept / f"{stem}.zh",
            translations=kept / f"{stem}-git.xlsx",
        )

    assert released(stem).errors == ()
    with pytest.raises(FormatError, match="mixed up"):
        released({"NP": "VP", "VP": "NP"}[stem])
