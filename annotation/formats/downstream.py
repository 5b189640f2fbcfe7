"""Files of downstream benchmarks: references and gold answers, and what models generate or choose.

A benchmark's file is read by itself. A model's file is read by itself too and then fitted to the questions of the
benchmark: every row that answers no question, and every question without a row, is named.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from annotation.formats.cells import excerpt, fold_header, is_blank
from annotation.formats.columns import (
    MatchedColumns,
    Record,
    as_in_header,
    given_text,
    match_columns,
    needed_text,
    needed_texts,
)
from annotation.formats.errors import FormatError, MissingColumns, RowIssue
from annotation.formats.keys import unit_key
from annotation.formats.reading import Reading
from annotation.formats.rows import FileRows, Row, Table, in_line_order
from annotation.formats.strict_json import HALF_A_CHARACTER, HALF_PAIR, JsonError, parse
from annotation.protocol.sentences import say, say_count
from annotation.protocol.text import fold_key

GENERATION, CHOICE = "generation", "choice"
KINDS = (GENERATION, CHOICE)
PAIR = ("head", "relation")
NAMED = 20  # missing questions that are named one by one; the rest is counted
_JOINT = "\x1f"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what is right.

    Of generations: a head with its relation (`texts`), which is the `group` too; `gold` are its references in the order
    of the file. Of choices: a question's id, its skill as `group` ("" where none is given), `gold` the right option
    alone, and `options` what there was to choose from, () where the file does not say.
    """

    line: int
    key: str
    name: str
    group: str
    texts: tuple[str, ...]
    gold: tuple[str, ...]
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Response:
    """What a model said to one question: its hypotheses, the likeliest first, or the one option it chose."""

    line: int
    key: str
    name: str
    said: tuple[str, ...]


def pair_key(head: str, relation: str) -> str:
    """A head with its relation as it is compared: NFKC, trimmed, without zero-width characters.

    >>> pair_key("PersonX eats ", "xWant") == pair_key("PersonX eats", "xWant\\u200b")
    True
    """
    return unit_key(_JOINT.join((fold_key(head), fold_key(relation))))


# Benchmarks ---------------------------------------------------------------------------------------------------


def read_benchmark(table: Table, kind: str) -> FileRows[Question]:
    """The questions of a benchmark of either kind."""
    return read_references(table) if kind == GENERATION else read_answers(table)


def read_references(table: Table) -> FileRows[Question]:
    """Heads with their relations and references: a row for each `reference`, or a JSON list of them in `references`.

    Rows of one pair are one question. A reference that stands there twice counts twice, with a warning.
    """
    one = _one_of(table, "reference", "references")
    matched = _match(table, known=(*PAIR, one), needed=(*PAIR, one))
    return _References(matched=matched, column=one).read(_with_lists(table, matched, {"references"}))


def read_answers(table: Table) -> FileRows[Question]:
    """Questions by `question_id` with their `gold` option; `options` (a JSON list) and `skill` where there are any."""
    known = ("question_id", "gold", "options", "skill")
    matched = _match(table, known=known, needed=known[:2])
    return _Answers(matched=matched).read(_with_lists(table, matched, {"options"}))


@dataclass(kw_only=True)
class _References(Reading[Question]):
    """By pair, what was read so far."""

    column: str
    pairs: dict[str, Question] = field(default_factory=dict)
    there: dict[str, Counter[str]] = field(default_factory=dict)  # how often each reference, as compared

    def row(self, record: Record, problems: list[RowIssue]) -> Question | None:
        texts = needed_texts(record, PAIR, problems)
        references = _texts_of(record, self.column, problems, several=self.column == "references")
        if texts is None or problems:
            return None
        head, relation = texts
        return Question(
            record.line, pair_key(head, relation), _pair_name(head, relation), relation, texts, references
        )

    def keep(self, row: Question, record: Record) -> None:
        before = self.pairs.get(row.key)
        there = self.there.setdefault(row.key, Counter())
        for text in row.gold:
            there[fold_key(text)] += 1
            if there[fold_key(text)] == 2:
                message = say(
                    "The reference “{text}” stands with this head and relation already; it counts twice.",
                    text=excerpt(text),
                )
                self.warnings.append(RowIssue(record.line, self.column, message))
        self.pairs[row.key] = replace(before, gold=before.gold + row.gold) if before else row

    def finish(self) -> None:
        self.rows.extend(self.pairs.values())


@dataclass(kw_only=True)
class _Answers(Reading[Question]):
    """By question, the line on which it stood first."""

    lines: dict[str, int] = field(default_factory=dict)

    def row(self, record: Record, problems: list[RowIssue]) -> Question | None:
        given = needed_text(record, "question_id", problems)
        gold = given_text(record, "gold")
        if gold is None:
            message = say("The question has no gold option. Give the right one, or take the question out.")
            problems.append(RowIssue(record.line, "gold", message))
        options = _options(record, problems)
        if given is not None:
            _check_new(self.lines, given, record, problems)
        if gold is not None and options and fold_key(gold) not in map(fold_key, options):
            problems.append(RowIssue(record.line, "gold", _no_such_option(gold, options)))
        if given is None or gold is None or problems:
            return None
        skill = given_text(record, "skill") or ""
        return Question(record.line, unit_key(given), given, skill, (given,), (gold,), options)

    def finish(self) -> None:
        self.warnings.extend(without_options(self.rows))


def without_options(questions: Sequence[Question]) -> list[RowIssue]:
    """That a slip of spelling counts as wrong, which depends on the benchmark alone: what was sent is not looked at,
    or the warning would tell what is right.
    """
    lacking = sum(not question.options for question in questions)
    if not lacking:
        return []
    if lacking == len(questions):
        message = say(
            "The benchmark names no options: a choice that is spelled otherwise than the right one counts as wrong."
        )
    else:
        message = say(
            "The benchmark names no options for some of its questions: there, a choice that is spelled otherwise than "
            "the right one counts as wrong."
        )
    return [RowIssue(None, None, message)]


def _options(record: Record, problems: list[RowIssue]) -> tuple[str, ...]:
    if given_text(record, "options") is None:
        return ()
    options = _texts_of(record, "options", problems, several=True)
    if options and len(set(map(fold_key, options))) < max(len(options), 2):
        message = say("The options must be two or more, all of them different.")
        problems.append(RowIssue(record.line, "options", message))
    return options


def _no_such_option(text: str, options: Sequence[str]) -> str:
    return say(
        "“{text}” is none of the question's options: {options}.",
        text=excerpt(text),
        options=", ".join(f"“{excerpt(option, 60)}”" for option in options),
    )


# Models -------------------------------------------------------------------------------------------------------


def read_responses(table: Table, kind: str) -> FileRows[Response]:
    """What a model said, by either kind of benchmark."""
    return read_generations(table) if kind == GENERATION else read_choices(table)


def read_generations(table: Table) -> FileRows[Response]:
    """Heads with their relations and what was generated: a row for each `hypothesis`, or a JSON list in `hypotheses`.

    Rows of one pair are its hypotheses in the order of the file, the likeliest first.
    """
    one = _one_of(table, "hypothesis", "hypotheses")
    matched = _match(table, known=(*PAIR, one), needed=(*PAIR, one))
    return _Generations(matched=matched, column=one).read(_with_lists(table, matched, {"hypotheses"}))


def read_choices(table: Table) -> FileRows[Response]:
    """Questions by `question_id` with the option chosen, `choice`."""
    names = ("question_id", "choice")
    return _Choices(matched=_match(table, known=names, needed=names)).read(table)


@dataclass(kw_only=True)
class _Generations(Reading[Response]):
    """By pair, what was read so far."""

    column: str
    pairs: dict[str, Response] = field(default_factory=dict)

    def row(self, record: Record, problems: list[RowIssue]) -> Response | None:
        texts = needed_texts(record, PAIR, problems)
        said = _texts_of(record, self.column, problems, several=self.column == "hypotheses")
        return None if texts is None else Response(record.line, pair_key(*texts), _pair_name(*texts), said)

    def keep(self, row: Response, record: Record) -> None:
        before = self.pairs.get(row.key)
        self.pairs[row.key] = replace(before, said=before.said + row.said) if before else row

    def finish(self) -> None:
        self.rows.extend(self.pairs.values())
        several = {len(response.said) for response in self.rows}
        if len(several) > 1:
            message = say(
                "Not every head and relation has as many hypotheses: between {least} and {most}.",
                least=min(several),
                most=max(several),
            )
            self.warnings.append(RowIssue(None, self.column, message))


@dataclass(kw_only=True)
class _Choices(Reading[Response]):
    """By question, the line on which it stood first."""

    lines: dict[str, int] = field(default_factory=dict)

    def row(self, record: Record, problems: list[RowIssue]) -> Response | None:
        given = needed_text(record, "question_id", problems)
        choice = given_text(record, "choice")
        if choice is None:
            message = say("Nothing was chosen. Give one of the question's options.")
            problems.append(RowIssue(record.line, "choice", message))
        if given is not None:
            _check_new(self.lines, given, record, problems)
        said = () if choice is None else (choice,)
        return None if given is None else Response(record.line, unit_key(given), given, said)


# Fitting ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A model's file against a benchmark: `said` by question, complete only where there are no `errors`."""

    said: Mapping[str, tuple[str, ...]]
    errors: tuple[RowIssue, ...]
    warnings: tuple[RowIssue, ...] = ()


def fit(kind: str, file: FileRows[Response], questions: Sequence[Question]) -> Fitted:
    """Which row answers which question; every row and every question that is left over is an error."""
    known = {question.key: question for question in questions}
    errors, warnings = list(file.errors), list(file.warnings)
    warnings += without_options(questions) if kind == CHOICE else []
    found: list[RowIssue] = []
    for row in file.rows:
        question = known.get(row.key)
        if question is None:
            found.append(_unknown(kind, row))
        elif kind == CHOICE:
            found += _check_choice(row, question)
    found += [_unknown(kind, row) for row in file.unusable if row.key not in known]
    names = {canonical: given for given, canonical in file.columns.items()}
    errors += as_in_header(found, names)
    said = {row.key: row.said for row in file.rows if row.key in known}
    there = said.keys() | {row.key for row in file.unusable}
    missing = _missing(kind, [one for one in questions if one.key not in there])
    return Fitted(said=said, errors=(*in_line_order(errors), *missing), warnings=in_line_order(warnings))


def _unknown(kind: str, row: Response) -> RowIssue:
    if kind == GENERATION:
        message = say(
            "The benchmark has no reference for “{pair}”. Name head and relation as it does, or take the row out.",
            pair=excerpt(row.name),
        )
        return RowIssue(row.line, "head", message)
    message = say(
        "The benchmark has no question “{id}”, so there is no gold option for it. Name the question as it does, or "
        "take the row out.",
        id=excerpt(row.name),
    )
    return RowIssue(row.line, "question_id", message)


def _check_choice(row: Response, question: Question) -> list[RowIssue]:
    choice = row.said[0]
    if not question.options or fold_key(choice) in map(fold_key, question.options):
        return []
    return [RowIssue(row.line, "choice", _no_such_option(choice, question.options))]


def _missing(kind: str, questions: Sequence[Question]) -> list[RowIssue]:
    issues = []
    for question in questions[:NAMED]:
        message = (
            say(
                "There is no hypothesis for “{name}”. Every pair of the benchmark needs one.",
                name=excerpt(question.name),
            )
            if kind == GENERATION
            else say(
                "There is no choice for the question “{name}”. Every question needs one.",
                name=excerpt(question.name),
            )
        )
        issues.append(RowIssue(None, None, message))
    if len(questions) > NAMED:
        n = len(questions) - NAMED
        more = say_count("{n} more question has no row.", "{n} more questions have no row.", n=n)
        issues.append(RowIssue(None, None, more))
    return issues


# Columns ------------------------------------------------------------------------------------------------------

_OF_REFERENCES = say("These are the columns of a benchmark of generations, with its references.")
_OF_ANSWERS = say("These are the columns of a benchmark of choices, with its right options.")
_OF_GENERATIONS = say("These are the columns of what a model generates, for a benchmark of generations.")
_OF_CHOICES = say("These are the columns of what a model chooses, for a benchmark of choices.")
_KINDS_BY_COLUMNS = (
    ({*PAIR, "reference"}, _OF_REFERENCES),
    ({*PAIR, "references"}, _OF_REFERENCES),
    ({*PAIR, "hypothesis"}, _OF_GENERATIONS),
    ({*PAIR, "hypotheses"}, _OF_GENERATIONS),
    ({"question_id", "gold"}, _OF_ANSWERS),
    ({"question_id", "choice"}, _OF_CHOICES),
)


def _match(table: Table, *, known: tuple[str, ...], needed: tuple[str, ...]) -> MatchedColumns:
    """The columns matched; where some are missing and those there are make another kind of file, that is said."""
    try:
        return match_columns(table.header, known=known, needed=needed)
    except MissingColumns as error:
        there = set(map(fold_header, table.header))
        hint = next((hint for columns, hint in _KINDS_BY_COLUMNS if columns <= there), None)
        if hint is None:
            raise
        message = say("{message} {hint}", message=error.message, hint=hint)
        raise MissingColumns(message, header=error.header, options=error.options) from None


# Cells --------------------------------------------------------------------------------------------------------


def _one_of(table: Table, one: str, several: str) -> str:
    """Which of two columns the file has; a FormatError where it has both."""
    there = set(map(fold_header, table.header))
    if one in there and several in there:
        raise FormatError(
            say(
                "The file has both {one} and {several}; keep one of the two columns.",
                one=one,
                several=several,
            )
        )
    return several if several in there else one


def _with_lists(table: Table, matched: MatchedColumns, names: Collection[str]) -> Table:
    """The table with lists let through in these columns; everywhere else they stay an error."""
    places = {matched.places[name] for name in names if name in matched}
    return replace(table, rows=_let_through(table.rows, places)) if places else table


def _let_through(rows: Iterator[Row], places: Collection[int]) -> Iterator[Row]:
    for row in rows:
        yield (
            replace(row, nested=tuple(place for place in row.nested if place not in places))
            if row.nested
            else row
        )


def _texts_of(record: Record, name: str, problems: list[RowIssue], *, several: bool) -> tuple[str, ...]:
    """The texts of a cell: the cell itself, or the JSON list it holds; adds a problem where one is empty."""
    text = given_text(record, name)
    if text is None:
        problems.append(RowIssue(record.line, name, _empty(name)))
        return ()
    return _listed(record, name, text, problems) if several else (text,)


def _listed(record: Record, name: str, text: str, problems: list[RowIssue]) -> tuple[str, ...]:
    try:
        found = parse(text)
    except JsonError:
        found = None
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        message = say(
            '“{text}” is no list of texts; write one as in JSON: ["first", "second"].', text=excerpt(text)
        )
        problems.append(RowIssue(record.line, name, message))
        return ()
    if any(map(is_blank, found)):
        problems.append(RowIssue(record.line, name, _empty(name)))
        return ()
    if any("\0" in one for one in found):
        problems.append(RowIssue(record.line, name, say("The text holds U+0000, which cannot be stored.")))
        return ()
    if any(map(HALF_A_CHARACTER.search, found)):
        problems.append(RowIssue(record.line, name, HALF_PAIR))
        return ()
    return tuple(found)


def _empty(name: str) -> str:
    if name in ("hypothesis", "hypotheses"):
        return say(
            "The hypothesis is empty. Give what the model wrote; where it wrote nothing, write a full stop, which "
            "matches no word."
        )
    if name in ("reference", "references"):
        return say("The reference is empty. Supply it, or take the row out.")
    return say("A text is empty.")


def _check_new(lines: dict[str, int], given: str, record: Record, problems: list[RowIssue]) -> None:
    line = lines.setdefault(unit_key(given), record.line)
    if line != record.line:
        message = say(
            "The question “{id}” stands on line {line} already. Keep one of the two rows.",
            id=excerpt(given),
            line=line,
        )
        problems.append(RowIssue(record.line, "question_id", message))


def _pair_name(head: str, relation: str) -> str:
    return f"{head} | {relation}"
