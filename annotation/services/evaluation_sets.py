"""Building an evaluation set of triples: files in, a table of items out that says of each where it came from.

What is chosen is the rules' business (`protocol/evaluation_set.py`, `protocol/candidates.py`); here files are read, the
set is described for people, written in the columns that an import reads, and stored in a campaign that is still empty.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from annotation.formats.errors import FormatError, MissingColumns, RowIssue
from annotation.formats.pools import read_candidates, read_pool, read_training
from annotation.formats.rows import FileRows, in_line_order
from annotation.formats.tables import read_table
from annotation.formats.triples import ORIGIN, ORIGIN_LENGTH, read_triples
from annotation.formats.writers import Cell, write_csv
from annotation.models import Campaign, Item, User
from annotation.protocol.candidates import (
    ADVERSARIAL_CLASS,
    KEEPING,
    LIMITED,
    Candidates,
    CandidateWish,
    choose_candidates,
)
from annotation.protocol.chance import canonical
from annotation.protocol.diversity import Progress, silent
from annotation.protocol.evaluation_set import (
    SAMPLED_CLASS,
    PoolTriple,
    Sample,
    SampleWish,
    draw_sample,
    score_bands,
)
from annotation.protocol.sentences import Sentence, say, say_count
from annotation.protocol.slips import SLIPS, slips
from annotation.protocol.text import fold_key
from annotation.protocol.triple import GENERAL_RELATIONS, TRIPLE
from annotation.protocol.wording import Wording, default_wording
from annotation.services.errors import Refused
from annotation.services.imports import Report, store, triple_too_long
from annotation.services.item_files import sha256_of
from annotation.services.people import audit
from annotation.services.sentences import with_sentence
from annotation.services.wording import wording_of

BUILT = "evaluation set built"
EXAMPLES = 20  # of each slip; the rest is counted
SHOWN = 50  # rows that cannot be used, on a page
SAMPLED, CHOSEN = "sample", "candidate"  # why an item is in the set

Document = dict[str, Any]


class UnusableRows(Refused):
    """Files or rows of them cannot be used; `issues` are all of them, with their file, line and column."""

    def __init__(self, issues: Sequence[Mapping[str, Any]], *, options: Sequence[str] = ()) -> None:
        first = issues[0]
        super().__init__(
            say_count(
                "{place}: {message}",
                "{place}: {message} In all {n} places in the files cannot be used.",
                n=len(issues),
                place=_place(first),
                message=first["message"],
            ),
            options=options,
        )
        self.issues = issues

    def shown(self) -> Document:
        """The first of them as they are kept for a page, and how many there are in all."""
        return {"n": len(self.issues), "first": [with_sentence(issue) for issue in self.issues[:SHOWN]]}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file and its name for people."""

    name: str
    path: Path


@dataclass(frozen=True, kw_only=True)
class SetWish:
    """What is to be built: a sample, candidates, or both. `candidate_class` is the class they get, "" for none."""

    seed: int
    sample: SampleWish | None = None
    candidates: CandidateWish | None = None
    candidate_class: str = ADVERSARIAL_CLASS
    score_column: str | None = None

    @property
    def leave_out(self) -> tuple[str, ...]:
        return (self.sample or self.candidates or SampleWish(n=0)).leave_out


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The files that a set is built from."""

    pool: Source | None = None
    candidates: Source | None = None
    training: Sequence[Source] = ()

    def named(self) -> Iterator[tuple[str, Source]]:
        """Each with the part that it plays."""
        if self.pool:
            yield "pool", self.pool
        if self.candidates:
            yield "candidates", self.candidates
        for source in self.training:
            yield "training", source


@dataclass(frozen=True, kw_only=True)
class BuiltSet:
    """A set that nobody has stored: its items as rows of a file, and the document that describes it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    document: Document = field(repr=False)

    def csv(self) -> Iterator[bytes]:
        """The set as a file that an import reads; the same bytes for the same files, wishes and seed."""
        return write_csv(self.columns, self.rows, mark=False)


# Building ----------------------------------------------------------------------------------------------------


def build(
    sources: Sources, wish: SetWish, *, wording: Wording | None = None, progress: Progress = silent
) -> BuiltSet:
    """The set that these files and the seed make.

    Raises UnusableRows where files or rows of them cannot be used, ProtocolError where what is wished for cannot be
    had, Refused where the wish is none that a set can be built by.
    """
    _check(sources, wish)
    read = _read(sources, wish, wording or default_wording(TRIPLE.name))
    sample = draw_sample(read.pool, wish.sample, seed=wish.seed) if wish.sample else None
    candidates = None
    if wish.candidates:
        candidates = choose_candidates(
            read.candidates,
            wish.candidates,
            in_set={one.identity for one in sample.triples} if sample else (),
            training=read.training,
            seed=wish.seed,
            progress=progress,
        )
    return _Building(sources, wish, read, sample, candidates).built()


def _check(sources: Sources, wish: SetWish) -> None:
    if (sources.pool is None) != (wish.sample is None):
        raise Refused(say("A sample needs a pool, and a pool the number of items to draw from it."))
    if (sources.candidates is None) != (wish.candidates is None):
        raise Refused(say("Candidates need a number of how many to choose, and that number a file of them."))
    if sources.training and sources.candidates is None:
        raise Refused(say("Training data only matter for candidates; give a file of these too."))
    if wish.sample is None and wish.candidates is None:
        raise Refused(say("Give a pool to draw from, or candidates to choose from, or both."))
    for issue in triple_too_long(None, triple_id=None, item_class=wish.candidate_class):
        raise Refused(say("The class of the candidates cannot be used: {why}", why=issue.message))


@dataclass(frozen=True)
class _Read:
    pool: Sequence[PoolTriple]
    candidates: Sequence[PoolTriple]
    training: Collection[str]
    files: Sequence[Document]


def _read(sources: Sources, wish: SetWish, wording: Wording) -> _Read:
    known = tuple(dict.fromkeys((*wording.relations, *wish.leave_out)))
    issues: list[Mapping[str, Any]] = []
    files: list[Document] = []
    options: list[str] = []
    found: dict[str, list[FileRows[PoolTriple]]] = {"pool": [], "candidates": [], "training": []}
    for part, source in sources.named():
        try:
            rows = _rows(part, source, known, wish)
        except FormatError as error:
            issues += _of_file(source.name, [error.as_issue()])
            options += error.options if isinstance(error, MissingColumns) else ()
            continue
        issues += _of_file(source.name, rows.errors)
        found[part].append(rows)
        files.append(
            {
                "part": part,
                "name": source.name,
                "sha256": sha256_of(source.path),
                "rows": rows.n_rows,
                "unknown_columns": list(rows.unknown_columns),
            }
        )
    if issues:
        raise UnusableRows(issues, options=options)
    return _Read(
        pool=[row for file in found["pool"] for row in file.rows],
        candidates=[row for file in found["candidates"] for row in file.rows],
        training=frozenset(row.identity for file in found["training"] for row in file.rows),
        files=files,
    )


def _rows(part: str, source: Source, known: Collection[str], wish: SetWish) -> FileRows[PoolTriple]:
    """The rows of a file; what an item cannot hold is an error already here, where its line is known."""
    table = read_table(source.path, name=source.name)
    if part == "training":
        return read_training(table)
    if part == "pool":
        rows = read_pool(table, relations=known)
    else:
        rows = read_candidates(table, relations=known, column=wish.score_column)
    # The class of a candidate is not taken over.
    too_long = [
        issue
        for row in rows.rows
        for issue in triple_too_long(
            row.line, triple_id=row.id, item_class=row.item_class if part == "pool" else None
        )
    ]
    return replace(rows, errors=in_line_order([*rows.errors, *too_long]))


def _of_file(name: str, issues: Iterable[RowIssue]) -> list[Mapping[str, Any]]:
    return [{"file": name, **issue.as_json()} for issue in issues]


def _place(issue: Mapping[str, Any]) -> Sentence:
    names = {"file": issue["file"], "line": issue["line"], "column": issue["column"]}
    if issue["line"] is None:
        return say("{file}", **names)
    if issue["column"] is None:
        return say("{file}, line {line}", **names)
    return say("{file}, line {line}, column “{column}”", **names)


# Describing --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Item:
    """One item of the set: the row it comes from, why it is there, and the class it gets."""

    triple: PoolTriple
    why: str
    file: str
    item_class: str


@dataclass(frozen=True)
class _Building:
    sources: Sources
    wish: SetWish
    read: _Read
    sample: Sample | None
    candidates: Candidates | None

    def built(self) -> BuiltSet:
        items = [*self._sampled(), *self._chosen()]
        self._check_origins(items)
        ids = [one.triple.id for one in items]
        with_ids = all(ids) and len({fold_key(one or "") for one in ids}) == len(ids)
        columns = ("triple_id",) * with_ids + ("head", "relation", "tail", "class", ORIGIN)
        return BuiltSet(
            columns=columns,
            rows=tuple(
                ((one.triple.id,) if with_ids else ())
                + (one.triple.head, one.triple.relation, one.triple.tail, one.item_class, self._origin(one))
                for one in items
            ),
            document=self._document(items, columns),
        )

    def _sampled(self) -> Iterator[_Item]:
        if self.sample and self.sources.pool:
            for triple in self.sample.triples:
                yield _Item(triple, SAMPLED, self.sources.pool.name, triple.item_class or SAMPLED_CLASS)

    def _chosen(self) -> Iterator[_Item]:
        if self.candidates and self.sources.candidates:
            for triple in self.candidates.triples:
                yield _Item(triple, CHOSEN, self.sources.candidates.name, self.wish.candidate_class)

    def _origin(self, item: _Item) -> str:
        """Where the item came from and why it was chosen, as canonical JSON."""
        triple = item.triple
        origin: Document = {"why": item.why, "file": item.file, "line": triple.line, "seed": self.wish.seed}
        origin |= {"id": triple.id} if triple.id else {}
        origin |= {"label": triple.label} if triple.label else {}
        if item.why == CHOSEN and self.candidates and self.wish.candidates:
            origin |= {
                "score": triple.score,
                "filter": self.wish.candidates.filter.kind,
                "self_bleu": round(self.candidates.novelty[triple.identity], 6),
            }
        return canonical(origin).decode()

    def _check_origins(self, items: Sequence[_Item]) -> None:
        too_long = [
            issue
            for one in items
            if (n := len(self._origin(one))) > ORIGIN_LENGTH
            for issue in _of_file(
                one.file,
                [
                    RowIssue(
                        one.triple.line,
                        None,
                        say(
                            "What is kept of where the item comes from, its id and label too, has {n} characters; "
                            "at most {limit} can be stored.",
                            n=f"{n:,}",
                            limit=f"{ORIGIN_LENGTH:,}",
                        ),
                    )
                ],
            )
        ]
        if too_long:
            raise UnusableRows(too_long)

    def _document(self, items: Sequence[_Item], columns: Sequence[str]) -> Document:
        slipped = _slipped(items)
        return {
            "seed": self.wish.seed,
            "n": len(items),
            "files": list(self.read.files),
            "settings": self._settings(),
            "columns": list(columns),
            "sample": self._of_sample(),
            "candidates": self._of_candidates(),
            "by_relation": self._by_relation(),
            "by_class": [
                {"class": name, "n": n}
                for name, n in sorted(Counter(one.item_class for one in items).items())
            ],
            "by_score": self._by_score(),
            "slips": slipped,
            "warnings": [{"message": message} for message in self._warnings(slipped)],
        }

    def _settings(self) -> Document:
        """What was asked for and had an effect."""
        settings: Document = {"leave_out": list(self.wish.leave_out)}
        if self.wish.sample:
            settings |= {"n": self.wish.sample.n, "minimum": self.wish.sample.minimum}
        if self.wish.candidates:
            asked = self.wish.candidates
            settings |= {
                "adversarial_n": asked.n,
                "threshold": asked.threshold,
                "above": asked.above,
                "filter": asked.filter.kind,
                "class": self.wish.candidate_class,
            }
            if asked.filter.kind in KEEPING:
                settings["keep"] = asked.filter.keep
            if asked.filter.kind in LIMITED:
                settings["below"] = asked.filter.below
        return settings

    def _of_sample(self) -> Document | None:
        if self.sample is None:
            return None
        return {
            "n": len(self.sample.triples),
            "rows": self.sample.rows,
            "distinct": sum(one.available for one in self.sample.strata),
            "repeats": self.sample.repeats,
            "contradicting": self.sample.contradicting,
            "left_out": dict(self.sample.left_out),
        }

    def _of_candidates(self) -> Document | None:
        found = self.candidates
        if found is None:
            return None
        return {
            "n": len(found.triples),
            "rows": found.rows,
            "dropped": dict(found.dropped),
            "diversity": {
                "before": found.before.as_json(),
                "after": found.after.as_json(),
                "by_chance": found.by_chance.as_json(),
            },
        }

    def _by_relation(self) -> list[Document]:
        strata = {one.name: one for one in self.sample.strata} if self.sample else {}
        chosen = Counter(one.relation for one in self.candidates.triples) if self.candidates else Counter()
        available = sum(one.available for one in strata.values())
        drawn = sum(one.drawn for one in strata.values())
        return [
            {
                "relation": name,
                "available": strata[name].available if name in strata else 0,
                "available_percent": _percent(strata[name].available if name in strata else 0, available),
                "sampled": strata[name].drawn if name in strata else 0,
                "sampled_percent": _percent(strata[name].drawn if name in strata else 0, drawn),
                "chosen": chosen[name],
            }
            for name in sorted({*strata, *chosen})
        ]

    def _by_score(self) -> list[Document]:
        """Scores of what came to the filter and of what was chosen, in the same bands."""
        if self.candidates is None:
            return []
        came = self.candidates.scores
        low, high = min(came), max(came)
        if self.wish.candidates and 0 <= self.wish.candidates.threshold <= low <= high <= 1:
            low, high = self.wish.candidates.threshold, 1.0  # scores that are probabilities
        chosen = score_bands([one.score or 0.0 for one in self.candidates.triples], low=low, high=high)
        return [
            {"low": band.low, "high": band.high, "available": band.n, "chosen": own.n}
            for band, own in zip(score_bands(came, low=low, high=high), chosen, strict=True)
        ]

    def _warnings(self, slipped: Sequence[Mapping[str, Any]]) -> Iterator[Sentence]:
        yield from self._of_the_sample()
        if self.candidates:
            pool = {one.identity for one in self.read.pool}
            known = sum(one.identity in pool for one in self.candidates.triples)
            if known:
                yield say_count(
                    "{n} of the candidates chosen stands in the pool too, though not in the sample.",
                    "{n} of the candidates chosen stand in the pool too, though not in the sample.",
                    n=known,
                )
        for slip in slipped:
            yield say("{what} Items of the set: {n}.", what=SLIPS[slip["slip"]], n=slip["n"])

    def _of_the_sample(self) -> Iterator[Sentence]:
        if self.sample is None:
            return
        empty = [one.name for one in self.sample.strata if not one.drawn]
        if empty:
            yield say(
                "The sample holds no item of {relations}: ask for at least 1 of each relation if it should.",
                relations=", ".join(empty),
            )
        if self.sample.contradicting:
            yield say_count(
                "{n} row of the pool repeats a triple with another label; the first row counts.",
                "{n} rows of the pool repeat a triple with another label; the first rows count.",
                n=self.sample.contradicting,
            )
        for name, rows in self.sample.left_out.items():
            if not rows and name not in GENERAL_RELATIONS:
                yield say(
                    "“{name}” is left out, but no row of the pool has it: mind its spelling.", name=name
                )


def _slipped(items: Sequence[_Item]) -> list[Document]:
    found: dict[str, list[Document]] = {}
    for item in items:
        triple = item.triple
        for slip in slips(triple.head, triple.tail):
            found.setdefault(slip, []).append(
                {"file": item.file, "line": triple.line, "head": triple.head, "relation": triple.relation,
                 "tail": triple.tail}
            )  # fmt: skip
    return [
        {"slip": slip, "n": len(found[slip]), "first": found[slip][:EXAMPLES]}
        for slip in SLIPS
        if slip in found
    ]


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


# Storing -----------------------------------------------------------------------------------------------------


_HOLDS_ITEMS = say("This campaign holds items already. A set is stored whole, in a campaign that holds none.")


def refuse_items(campaign: Campaign) -> None:
    """Refuse a campaign that a set cannot be stored in: one of compounds, or one that holds items already."""
    if campaign.protocol != Campaign.Protocol.TRIPLE:
        raise Refused(say("Evaluation sets are built of triples; this campaign is one of compounds."))
    if Item.objects.published().filter(campaign=campaign).exists():
        raise Refused(_HOLDS_ITEMS)


def save(
    campaign: Campaign,
    path: Path,
    document: Mapping[str, Any],
    *,
    name: str,
    by: User | None = None,
    progress: Progress = silent,
) -> Report:
    """Store a set that was built, whole, or raise and store nothing; `path` is its file.

    What it was built from is written down.
    """
    refuse_items(campaign)
    rows = read_triples(read_table(path, name=name), wording=wording_of(campaign))
    facts = {
        "n": document["n"],
        "seed": document["seed"],
        "settings": document["settings"],
        "files": [
            {"file": file["name"], "rows": file["rows"], "sha256": file["sha256"]}
            for file in document["files"]
        ],
    }

    def written_down(_conflicts: Sequence[Mapping[str, Any]]) -> None:
        if Item.objects.published().filter(campaign=campaign).count() != len(rows.rows):
            raise Refused(_HOLDS_ITEMS)  # brought in at the same moment
        audit(campaign, by, BUILT, facts)

    report = store(
        campaign, rows, sha256=sha256_of(path), by=by, progress=progress, together_with=written_down
    )
    if report.errors:
        raise UnusableRows(_of_file(name, report.errors))
    if not report.stored:
        raise Refused(_HOLDS_ITEMS)  # it disagrees with what was brought in at the same moment
    return report
