"""The CoGnition layout: sources, compounds, references and translations, line by line.

Line i of the text files belongs to data row i of the translations, which are a workbook or table with the columns
`src`, `hyp` and `human eval`, or a text file with one translation a line. An item's key is the stem of the sources'
name and i ("NP-0001"), never its text, which can occur twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from annotation.formats.cells import excerpt, is_blank
from annotation.formats.columns import Record, as_in_header, given_text, match_columns, records
from annotation.formats.compound_units import CompoundRow, contradictions
from annotation.formats.compounds import TYPES, stands_in
from annotation.formats.decoding import detect_encoding, text_lines
from annotation.formats.errors import FormatError, RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.keys import id_key, unit_key
from annotation.formats.kinds import refuse_by_name
from annotation.formats.rows import FileRows, in_line_order
from annotation.formats.tables import read_table
from annotation.protocol.compound import COMPOUND
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_key
from annotation.protocol.wording import Wording, default_wording

_TABLE_EXTENSIONS = (".xlsx", ".xlsm", ".xls", ".csv", ".tsv", ".jsonl")


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """A row whose source, as it was judged, is not the test set's line."""

    line: int
    key: str
    judged: str
    test_set: str


@dataclass(frozen=True, slots=True)
class CognitionFiles:
    """What the four files say together.

    `rows` are compound items as from any other file: `line` is the line of the text files, `item_id` the key,
    `context_no` the place within the compound's lines. `labels` stands beside them: "1" or "0", None where the
    row was not judged; all None where the translations hold no verdicts. `differing` rows keep the judged source
    and are marked `source_differs`: the reference translates another line. `columns` and `unknown_columns` are
    those of the translations, where these are a table.
    """

    stem: str
    n_lines: int
    rows: tuple[CompoundRow, ...]
    labels: tuple[str | None, ...]
    differing: tuple[SourceDifference, ...]
    errors: tuple[RowIssue, ...]
    warnings: tuple[RowIssue, ...]
    columns: dict[str, str] = field(default_factory=dict)
    unknown_columns: tuple[str, ...] = ()

    def as_file(self) -> FileRows[CompoundRow]:
        """The items as those of one file."""
        return FileRows(
            name=self.stem,
            format="cognition",
            encoding=None,
            sheet=None,
            columns=self.columns,
            unknown_columns=self.unknown_columns,
            n_rows=self.n_lines,
            rows=self.rows,
            errors=self.errors,
            warnings=self.warnings,
        )


def read_cognition(
    *,
    sources: Path,
    compounds: Path,
    references: Path,
    translations: Path,
    system: str | None = None,
    run: str | None = None,
    wording: Wording | None = None,
) -> CognitionFiles:
    """Reads the four files; a FormatError where one cannot be read, their numbers of lines differ, or most
    lines do not belong together.

    A unit is one run of lines with the same compound; a run of other than five lines is a warning, and a
    compound that comes again after other lines is another unit. Bad lines are collected in `errors`. Verdicts may be
    given in the words of a campaign's own `wording` as well.
    """
    findings = _Findings()
    texts = [read_lines(path) for path in (sources, compounds, references)]
    outputs = _outputs(translations, wording or default_wording(COMPOUND.name), findings)
    _check_lengths(
        {path.name: len(lines) for path, lines in zip((sources, compounds, references), texts, strict=True)}
        | {translations.name: len(outputs)}
    )
    _refuse_mixed_up(texts[0], texts[1], outputs, names=(sources.name, compounds.name, translations.name))
    places = list(_places(texts[1], compounds.name, findings))
    reader = _LineReader(sources.stem, (sources.name, compounds.name, references.name), system, run, findings)
    for line, (text, place, output) in enumerate(
        zip(zip(*texts, strict=True), places, outputs, strict=True), 1
    ):
        if output is not None:
            reader.read(line, text, place, output)
    findings.warnings.extend(contradictions(reader.rows))
    names = {canonical: given for given, canonical in findings.columns.items()}
    return CognitionFiles(
        stem=sources.stem,
        n_lines=len(outputs),
        rows=tuple(reader.rows),
        labels=tuple(reader.labels),
        differing=tuple(reader.differing),
        errors=in_line_order(as_in_header(findings.errors, names)),
        warnings=in_line_order(as_in_header(findings.warnings, names)),
        columns=findings.columns,
        unknown_columns=findings.unknown_columns,
    )


def read_lines(path: Path) -> list[str]:
    """The lines of a text file without their ends, empty ones included. Only LF and CRLF end a line (a lone CR
    where the file has no LF), so that U+2028 and its like stay in the text.
    """
    try:
        data = path.read_bytes()
        lines = list(text_lines(data, detect_encoding(data)))
        refuse_by_name(path.name)
    except IsADirectoryError:
        raise FormatError(say("“{path}” is a folder; name a file in it.", path=path.name)) from None
    except OSError as error:
        raise FormatError(
            say("The file “{name}” cannot be opened: {strerror}.", name=path.name, strerror=error.strerror)
        ) from None
    except FormatError as error:
        raise FormatError(
            say("{name}: {message}", name=path.name, message=error.message), line=error.line
        ) from None
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise FormatError(
                say("{name}: the line holds U+0000, which cannot be stored.", name=path.name), line=number
            )
    return lines


def verdicts(
    files: CognitionFiles, *, annotator: str, left_out: frozenset[int] = frozenset()
) -> FileRows[JudgementRow]:
    """The verdicts as judgements by one person, without those of the lines that are left out."""
    judged = tuple(
        JudgementRow(
            line=row.line,
            number=number,
            key=row.key,
            texts={},
            annotator=annotator,
            label=label,
            seconds=None,
            note=None,
            revision=None,
            system=row.system,
            run=row.run or "",
        )
        for number, (row, label) in enumerate(zip(files.rows, files.labels, strict=True), start=1)
        if label is not None and row.line not in left_out
    )
    file: FileRows[Any] = files.as_file()
    return replace(file, rows=judged, n_rows=len(judged), errors=(), warnings=())


@dataclass
class _Findings:
    errors: list[RowIssue] = field(default_factory=list)
    warnings: list[RowIssue] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    unknown_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Output:
    """A system's translation of one line; `source` and `label` where the file states them."""

    translation: str
    source: str | None = None
    label: str | None = None


def _outputs(path: Path, wording: Wording, findings: _Findings) -> list[_Output | None]:
    """One output a line, None where the row cannot be used."""
    if path.suffix.lower() not in _TABLE_EXTENSIONS:
        return [_Output(line) for line in read_lines(path)]
    try:
        table = read_table(path, name=path.name)
        matched = match_columns(table.header, known=("src", "hyp", "human eval"), needed=("hyp",))
        outputs = [_output(record, path.name, wording, findings) for record in records(table, matched)]
    except FormatError as error:
        raise FormatError(
            say("{name}: {message}", name=path.name, message=error.message), line=error.line
        ) from None
    findings.warnings.extend(table.warnings)
    findings.columns, findings.unknown_columns = matched.given, matched.unknown
    if "human eval" not in matched:
        message = say(
            "{name}: there is no column “human eval”, so no verdicts are brought in with the translations.",
            name=path.name,
        )
        findings.warnings.append(RowIssue(None, None, message))
    n_judged = sum(output.label is not None for output in outputs if output)
    if 0 < n_judged < len(outputs):
        message = say(
            "{name}: only {n_judged} of {n_outputs} rows hold a verdict in “human eval”.",
            name=path.name,
            n_judged=n_judged,
            n_outputs=len(outputs),
        )
        findings.warnings.append(RowIssue(None, "human eval", message))
    return outputs


def _output(record: Record, name: str, wording: Wording, findings: _Findings) -> _Output | None:
    problems = [
        RowIssue(found.line, found.column, say("{name}: {message}", name=name, message=found.message))
        for found in record.problems
    ]
    verdict, label = given_text(record, "human eval"), None
    if verdict is not None:
        try:
            label = wording.parse_label(verdict, in_file=True)
        except ProtocolError as error:
            message = say("{name}: {message}", name=name, message=error.message)
            problems.append(RowIssue(record.line, "human eval", message))
    findings.errors.extend(problems)
    if problems:
        return None
    return _Output(record.cells.get("hyp", ""), given_text(record, "src"), label)


def _check_lengths(lengths: dict[str, int]) -> None:
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise FormatError(
            say(
                "The files do not have the same number of lines: {counts}. Line i must belong to line i.",
                counts=counts,
            )
        )
    if not all(lengths.values()):
        raise FormatError(say("The files hold no lines."))


_NAMED = 3  # lines that are quoted where files are mixed up


def _refuse_mixed_up(
    sources: Sequence[str],
    compounds: Sequence[str],
    outputs: Sequence[_Output | None],
    *,
    names: tuple[str, str, str],
) -> None:
    """Refuse files of which most lines do not belong together: a slip or two are warnings, this is another file."""
    lines = range(len(sources))
    without = [i for i in lines if not stands_in(compounds[i], sources[i])]
    if 2 * len(without) > len(sources):
        raise FormatError(
            say(
                "The files seem to be mixed up: on {n} of {of} lines, the source in {sources} does not hold the "
                "compound in {compounds}. The first: {lines}",
                n=f"{len(without):,}",
                of=f"{len(sources):,}",
                sources=names[0],
                compounds=names[1],
                lines=_first_lines(without, compounds, sources),
            )
        )
    stated = {i: output.source for i, output in enumerate(outputs) if output and output.source}
    other = [i for i, source in stated.items() if fold_key(source) != fold_key(sources[i])]
    if 2 * len(other) > len(stated):
        raise FormatError(
            say(
                "The files seem to be mixed up: on {n} of {of} lines, the source in {translations} is not that in "
                "{sources}. The first: {lines}",
                n=f"{len(other):,}",
                of=f"{len(stated):,}",
                translations=names[2],
                sources=names[0],
                lines=_first_lines(other, stated, sources),
            )
        )


def _first_lines(
    numbers: Sequence[int], left: Sequence[str] | Mapping[int, str], right: Sequence[str]
) -> str:
    shown = [f"{i + 1} (“{excerpt(left[i], 40)}” / “{excerpt(right[i], 40)}”)" for i in numbers[:_NAMED]]
    return ", ".join(shown) + (" …" if len(numbers) > _NAMED else ".")


def _places(compounds: list[str], name: str, findings: _Findings) -> Iterator[tuple[str, int]]:
    """For each line the key of its unit, a run of lines with one compound, and its place in it from 1."""
    first_lines: dict[str, list[int]] = {}
    line = 1
    for key, run in groupby(compounds, key=unit_key):
        length = len(list(run))
        earlier = first_lines.setdefault(key, [])
        earlier.append(line)
        if length != COMPOUND.contexts_per_unit:
            message = say_count(
                "{name}: “{key}” stands on {n} line alone instead of five.",
                "{name}: “{key}” stands on {n} lines in a row instead of five.",
                n=length,
                name=name,
                key=excerpt(key),
            )
            findings.warnings.append(RowIssue(line, "compound", message))
        if len(earlier) > 1:
            message = say(
                "{name}: “{key}” stands on line {line} already; these lines are a unit apart.",
                name=name,
                key=excerpt(key),
                line=earlier[0],
            )
            findings.warnings.append(RowIssue(line, "compound", message))
        unit = key if len(earlier) == 1 else f"{key} ({len(earlier)})"
        yield from ((unit, place) for place in range(1, length + 1))
        line += length


@dataclass
class _LineReader:
    """Makes items of lines. `names` are the files' names: sources, compounds, references."""

    stem: str
    names: tuple[str, str, str]
    system: str | None
    run: str | None
    findings: _Findings
    rows: list[CompoundRow] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    differing: list[SourceDifference] = field(default_factory=list)

    def read(self, line: int, texts: Sequence[str], place: tuple[str, int], output: _Output) -> None:
        test_set, compound, reference = texts
        key = id_key(f"{self.stem}-{line:04d}")
        source = output.source or test_set
        differs = fold_key(source) != fold_key(test_set)
        if not self._is_complete(line, test_set, compound, reference):
            return
        if differs:
            self.differing.append(SourceDifference(line, key.given, source, test_set))
            message = say(
                "{name}: the source that was judged differs from this line; its reference is not shown.",
                name=self.names[0],
            )
            self._warn(line, "source", message)
        if is_blank(output.translation):
            self._warn(
                line, "translation", say("The translation is empty; it is kept as the system's empty output.")
            )
        if not stands_in(compound, source):
            self._warn(
                line,
                "compound",
                say("The compound “{compound}” was not found in its source.", compound=excerpt(compound)),
            )
        self.labels.append(output.label)
        self.rows.append(
            CompoundRow(
                line=line,
                key=key,
                unit_key=place[0],
                item_id=key.given,
                compound=compound,
                type=self.stem if self.stem in TYPES else None,
                pattern=None,
                context_no=place[1],
                source=source,
                translation=output.translation,
                reference=reference,
                system=self.system,
                run=self.run,
                source_differs=differs,
            )
        )

    def _is_complete(self, line: int, source: str, compound: str, reference: str | None) -> bool:
        """Whether no text that belongs to the line is empty; `reference` is None where none is used."""
        complete = True
        for name, column, text in zip(
            self.names, ("source", "compound", "reference"), (source, compound, reference), strict=True
        ):
            if text is not None and is_blank(text):
                complete = False
                self.findings.errors.append(
                    RowIssue(line, column, say("{name}: the line is empty.", name=name))
                )
        return complete

    def _warn(self, line: int, column: str, message: str) -> None:
        self.findings.warnings.append(RowIssue(line, column, message))
