"""Small campaigns with real imports, parts and answers, and commands as a shell would see them."""

import csv
import io
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import call_command

from annotation.formats.judgements import read_judgements
from annotation.formats.tables import read_table
from annotation.formats.writers import write_table
from annotation.models import Annotation, Assignment, Campaign, Item
from annotation.services.answers import save_answers
from annotation.services.campaigns import create_campaign
from annotation.services.exports import NUMERIC, names_of, table, take
from annotation.services.imports import OnConflict, Report, preview, store
from annotation.services.item_files import read_item_file
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgements import import_judgements
from annotation.services.parts import assign_parts
from annotation.services.sheets import Answer, Saved, Sheet

Rows = Sequence[Mapping[str, object]]

TEN_RELATIONS = (
    "xWant", "xNeed", "xIntent", "xEffect", "xReact", "xAttr", "oWant", "oEffect", "oReact", "HinderedBy",
)  # fmt: skip


def new_campaign(protocol: str = "triple", *, slug: str = "main", k: int | None = None) -> Campaign:
    return create_campaign(slug=slug, protocol=protocol, annotators_per_item=k, seed=7)


def triples(n: int, **more: object) -> list[dict[str, object]]:
    """Rows t1 … tn."""
    return [
        {
            "triple_id": f"t{i}",
            "head": f"PersonX writes letter {i}",
            "relation": TEN_RELATIONS[i % len(TEN_RELATIONS)],
            "tail": f"PersonX seals it {i}",
            **more,
        }
        for i in range(1, n + 1)
    ]


def compounds(n: int, *, contexts: int = 5, **more: object) -> list[dict[str, object]]:
    """Rows of n noun phrases, each in `contexts` sentences."""
    return [
        {
            "item_id": f"c{unit}-{number}",
            "compound": f"the sleepy gardener {unit}",
            "type": "NP",
            "context_no": number,
            "source": f"today the sleepy gardener {unit} waved , time {number} .",
            "translation": f"今天 困倦 的 园丁 {unit} 挥手 {number} 。",
            "reference": f"今天困倦的园丁{unit}挥了手{number}。",
            **more,
        }
        for unit in range(1, n + 1)
        for number in range(1, contexts + 1)
    ]


def as_csv(rows: Rows) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def write_csv(path: Path, rows: Rows) -> Path:
    path.write_text(as_csv(rows), encoding="utf-8", newline="")
    return path


def load(
    campaign: Campaign,
    path: Path,
    *,
    system: str | None = None,
    run: str | None = None,
    on_conflict: OnConflict = "refuse",
    dry_run: bool = False,
) -> Report:
    """A file of items, read and stored."""
    file = read_item_file(campaign, path, system=system, run=run)
    if dry_run:
        return preview(campaign, file.rows, on_conflict=on_conflict)
    return store(campaign, file.rows, sha256=file.sha256, on_conflict=on_conflict)


def triple_campaign(
    folder: Path, n: int, *, experts: Sequence[str] = (), slug: str = "main", **more: object
) -> Campaign:
    """A campaign of n triples, two experts each; given out where experts are named, and not judged yet."""
    made = new_campaign(slug=slug)
    load_rows(made, triples(n, **more), folder)
    if experts:
        assign_parts(made, experts=experts, design="cyclic", seed=1)
    return made


def load_rows(campaign: Campaign, rows: Rows, folder: Path, **options: Any) -> Report:
    return load(campaign, write_csv(folder / "items.csv", rows), **options)


def in_order(campaign: Campaign) -> list[tuple[Any, ...]]:
    """Everything an item says, in import order; texts of compounds with their contexts."""
    fields: tuple[str, ...]
    if campaign.protocol == "triple":
        fields = ("position", "key", "head", "relation", "tail", "item_class", "split", "imported_label")
    else:
        fields = (
            "position", "key", "translation", "unit__compound", "unit__type", "unit__pattern", "unit__position",
            "context__number", "context__source", "context__reference",
        )  # fmt: skip
    return list(Item.objects.active().filter(campaign=campaign).order_by("position").values_list(*fields))


def judge_rows(
    campaign: Campaign,
    rows: Rows,
    *,
    annotator: str | None = None,
    by_position: bool = False,
    column: str | None = None,
) -> JudgementReport:
    """A table of judgements, read and stored."""
    file = read_judgements(
        read_table(as_csv(rows).encode(), name="judgements.csv"),
        protocol=campaign.protocol,
        annotator=annotator,
        column=column,
        by_position=by_position,
    )
    return import_judgements(campaign, file, by_position=by_position)


def sheet(
    rows: Iterable[Assignment], label: str = "1", *, key: uuid.UUID | None = None, **fields: Any
) -> Sheet:
    """Answers to assignments of one screen, at the revision they stand at."""
    found = list(rows)
    return Sheet(
        screen=found[0].pk,
        client_key=key or uuid.uuid4(),
        answers=tuple(
            Answer(assignment=row.pk, revision=row.revision, label=label, **fields) for row in found
        ),
    )


def save(given: Sheet, expert: int, *, slug: str = "main") -> list[Saved]:
    return save_answers(given, slug=slug, expert_id=expert, source=Annotation.Source.API).saved


def slots_given() -> list[tuple[str, int, str]]:
    """(item, slot, expert) of every assignment."""
    rows = Assignment.objects.order_by("item__position", "slot")
    return list(rows.values_list("item__key", "slot", "expert__username"))


def screens_of_work(campaign: Campaign) -> Iterator[list[Assignment]]:
    """Every screen of everybody, as it was given out."""
    screens: dict[tuple[int, int], list[Assignment]] = {}
    for row in Assignment.objects.filter(round__campaign=campaign).order_by("expert", "position", "row"):
        screens.setdefault((row.expert_id, row.position), []).append(row)
    yield from screens.values()


def answer_everything(
    campaign: Campaign, label: str | Callable[[Assignment], str] = "1", *, cause: str = ""
) -> None:
    """Everybody answers all they were given; a label "" means that they cannot judge, for `cause`."""
    for rows in screens_of_work(campaign):
        answers = tuple(
            _answer(row, label if isinstance(label, str) else label(row), cause=cause) for row in rows
        )
        given = Sheet(screen=rows[0].pk, client_key=uuid.uuid4(), answers=answers)
        save(given, rows[0].expert_id, slug=campaign.slug)


def answer_open(campaign: Campaign, label: str = "1") -> None:
    """Everybody whose account is open answers what is still open on their screens, and nothing else."""
    for rows in screens_of_work(campaign):
        is_open = [row for row in rows if row.part_id and row.withdrawn_at is None and not row.answered_at]
        if is_open and rows[0].expert.is_active:
            save(sheet(is_open, label), rows[0].expert_id, slug=campaign.slug)


def _answer(row: Assignment, label: str, *, cause: str) -> Answer:
    return Answer(assignment=row.pk, revision=row.revision, label=label, cannot_judge="" if label else cause)


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout, read as strictly as JSON is."""
        return json.loads(self.out, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def run(name: str, *arguments: object) -> Ran:
    """A command as the shell would see it."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(name, *(str(argument) for argument in arguments), stdout=out, stderr=err)
    except SystemExit as end:
        code = int(end.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def run_json(name: str, *arguments: object) -> Any:
    """The document of a command that must succeed."""
    ran = run(name, *arguments, "--json")
    assert ran.code == 0, ran.err
    return ran.document


def exported(campaign: Campaign, what: str, form: str) -> bytes:
    """A file as the export command writes it."""
    chosen = table(campaign, what, names=names_of(campaign, real=True))
    cells = ([row[name] for name in chosen.columns] for row in take(chosen).rows)
    return b"".join(write_table(form, chosen.columns, cells, numeric=NUMERIC))
