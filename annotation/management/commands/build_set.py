"""Build an evaluation set of triples."""

import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from annotation.management.base import (
    AssayCommand,
    Outcome,
    Usage,
    account_of,
    changeable_campaign,
    counted,
    number,
    unmanaged,
    unusable,
    write_output,
)
from annotation.models import Campaign, Membership, User
from annotation.protocol.candidates import (
    ADVERSARIAL_CLASS,
    DROPPED,
    FILTERS,
    KEEPING,
    LIMITED,
    THRESHOLD,
    CandidateWish,
    Filter,
)
from annotation.protocol.diversity import SOFT_LIMIT
from annotation.protocol.evaluation_set import SampleWish
from annotation.protocol.triple import GENERAL_RELATIONS
from annotation.services.campaigns import check_seed, create_campaign
from annotation.services.evaluation_sets import BuiltSet, SetWish, Source, Sources, UnusableRows, build, save
from annotation.services.people import add_member
from annotation.services.wording import wording_of

EVERY = 1.0  # seconds between two lines of progress
_FLAGS = {"candidate_class": "--class"}


class Command(AssayCommand):
    """`build_set --pool FILE --n N --adversarial FILE --adversarial-n M --seed S -o OUT.csv`"""

    help = (
        "Build an evaluation set: a sample of an annotated pool that keeps the proportions of its relations, and "
        "candidates that a model scored, filtered for diversity. The file is one that import_items reads."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--pool", help="head, relation, tail; class, label and triple_id where it has them"
        )
        parser.add_argument("--n", type=int, help="how many triples of the pool")
        parser.add_argument("--minimum", type=int, help="at least so many of each relation (0)")
        parser.add_argument(
            "--leave-out",
            nargs="*",
            default=list(GENERAL_RELATIONS),
            metavar="RELATION",
            help="relations that are left out (the three “general …”); without a name: none",
        )
        parser.add_argument("--adversarial", help="candidates: the same columns and score")
        parser.add_argument("--adversarial-n", type=int, help="how many candidates")
        parser.add_argument("--column", help="the column of the scores, where it is not called score")
        at_least = parser.add_mutually_exclusive_group()
        at_least.add_argument("--threshold", type=number, help=f"score at least this ({THRESHOLD})")
        at_least.add_argument("--above", type=number, help="score higher than this, in place of --threshold")
        parser.add_argument("--filter", choices=FILTERS, help=f"({FILTERS[0]})")
        parser.add_argument(
            "--keep",
            type=int,
            help="how many pass the filter (self-bleu: half of those that come to it, at least --adversarial-n; "
            "g-daug: --adversarial-n)",
        )
        parser.add_argument(
            "--below",
            type=number,
            help=f"soft-uniqueness: BLEU below this ({SOFT_LIMIT})",
        )
        parser.add_argument(
            "--class",
            dest="candidate_class",
            help=f"of the candidates chosen ({ADVERSARIAL_CLASS}); “” for none",
        )
        parser.add_argument(
            "--training",
            nargs="+",
            default=[],
            metavar="FILE",
            help="triples that no candidate may be one of",
        )
        parser.add_argument("--seed", type=int, required=True, help="of everything that is drawn")
        parser.add_argument("-o", "--output", help="the set as CSV")
        parser.add_argument(
            "--campaign", metavar="SLUG", help="store it in this campaign, which holds no items"
        )
        parser.add_argument("--create", action="store_true", help="open that campaign first")
        parser.add_argument("--title", default="", help="with --create")
        parser.add_argument(
            "--manager",
            action="append",
            default=[],
            help="with --create: an existing account that manages it",
        )

    def run(self, **options: Any) -> Outcome:
        _refuse_without_effect(options)
        wish, sources = _wish(options), _sources(options)
        check_seed(options["seed"])
        if options["create"] and not options["campaign"]:
            raise Usage("--create opens the campaign that --campaign names.")
        managers = [account_of(name) for name in options["manager"]]
        there = options["campaign"] and not options["create"]
        campaign = changeable_campaign(options["campaign"]) if there else None
        try:
            wording = wording_of(campaign) if campaign else None
            found = build(sources, wish, wording=wording, progress=self._progress())
        except UnusableRows as error:
            hint = "Another column can be named with --column." if error.options else ""
            return unusable(error.issues, hint=hint)
        document = found.document | {"output": options["output"], "campaign": options["campaign"]}
        if options["campaign"]:
            self._store(found, campaign, options, managers)
        elif options["output"]:
            write_output(options["output"], found.csv())
        return Outcome(document, "\n".join([*describe(found), *_what_became(options)]))

    def _store(
        self, found: BuiltSet, campaign: Campaign | None, options: dict[str, Any], managers: Sequence[User]
    ) -> None:
        """Opening the campaign, storing the set and writing its file: all of it or nothing."""
        name = Path(options["output"]).name if options["output"] else f"{options['campaign']}-set.csv"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "set.csv"
            write_output(str(path), found.csv())
            with transaction.atomic():
                if campaign is None:
                    campaign = create_campaign(
                        slug=options["campaign"],
                        protocol=Campaign.Protocol.TRIPLE,
                        title=options["title"],
                        seed=options["seed"],
                    )
                    for manager in managers:
                        add_member(campaign, manager, Membership.Role.MANAGER)
                save(campaign, path, found.document, name=name)
                if options["output"]:
                    write_output(options["output"], found.csv())

    def _progress(self) -> Any:
        """A line on stderr each second, for work that takes longer than that."""
        last = time.monotonic()

        def tell(done: int, _hundred: int) -> None:
            nonlocal last
            if time.monotonic() - last >= EVERY:
                last = time.monotonic()
                self.stderr.write(f"{done} %")

        return tell


def _refuse_without_effect(options: dict[str, Any]) -> None:
    """Options that change nothing beside these others: whoever gives them means something else."""
    given = {name for name, value in options.items() if value is not None and value != []}
    if "minimum" in given and "pool" not in given:
        raise Usage("--minimum is for the sample of a --pool, and there is none.")
    if "adversarial" not in given:
        for name in ("column", "threshold", "above", "filter", "keep", "below", "candidate_class"):
            if name in given:
                raise Usage(
                    f"{_FLAGS.get(name, f'--{name}')} is for candidates, and there is no --adversarial."
                )
    kind = options["filter"] or FILTERS[0]
    for name, filters in (("keep", KEEPING), ("below", LIMITED)):
        if name in given and kind not in filters:
            raise Usage(
                f"--{name} is for --filter {' and '.join(sorted(filters, reverse=True))}, not for {kind}."
            )
    if options["title"] and not options["create"]:
        raise Usage("--title is for --create.")
    if options["manager"] and not options["create"]:
        raise Usage("--manager is for --create.")


def _wish(options: dict[str, Any]) -> SetWish:
    leave_out = tuple(dict.fromkeys(options["leave_out"]))
    sample = candidates = None
    if options["n"] is not None:
        sample = SampleWish(n=options["n"], minimum=options["minimum"] or 0, leave_out=leave_out)
    if options["adversarial_n"] is not None:
        above = options["above"] is not None
        threshold = THRESHOLD if options["threshold"] is None else options["threshold"]
        candidates = CandidateWish(
            n=options["adversarial_n"],
            threshold=options["above"] if above else threshold,
            above=above,
            filter=Filter(
                kind=options["filter"] or FILTERS[0],
                keep=options["keep"],
                below=SOFT_LIMIT if options["below"] is None else options["below"],
            ),
            leave_out=leave_out,
        )
    return SetWish(
        seed=options["seed"],
        sample=sample,
        candidates=candidates,
        candidate_class=ADVERSARIAL_CLASS
        if options["candidate_class"] is None
        else options["candidate_class"],
        score_column=options["column"],
    )


def _sources(options: dict[str, Any]) -> Sources:
    def source(path: str) -> Source:
        return Source(name=os.path.basename(path), path=Path(path))

    return Sources(
        pool=source(options["pool"]) if options["pool"] else None,
        candidates=source(options["adversarial"]) if options["adversarial"] else None,
        training=[source(path) for path in options["training"]],
    )


def describe(found: BuiltSet) -> list[str]:
    """The set for people: what it is made of, what was left out, what is worth a look."""
    document = found.document
    lines = [f"{counted(document['n'], 'item')}, seed {document['seed']}."]
    lines += _sample_lines(document["sample"]) + _candidate_lines(document["candidates"])
    lines += ["", f"{'relation':<16}{'in the pool':>14}{'%':>8}{'sampled':>10}{'%':>8}{'candidates':>12}"]
    lines += [
        f"{row['relation']:<16}{row['available']:>14,}{_figure(row['available_percent']):>8}{row['sampled']:>10,}"
        f"{_figure(row['sampled_percent']):>8}{row['chosen']:>12,}"
        for row in document["by_relation"]
    ]
    lines += [
        "",
        "class: " + ", ".join(f"{row['class'] or '–'} {row['n']:,}" for row in document["by_class"]),
    ]
    if document["by_score"]:
        bands = (f"{row['low']:g}–{row['high']:g} {row['chosen']:,} of {row['available']:,}"
                 for row in document["by_score"] if row["available"])  # fmt: skip
        lines.append("score: " + ", ".join(bands))
    lines += [
        f"{file['name']}: columns not used: {', '.join(file['unknown_columns'])}"
        for file in document["files"]
        if file["unknown_columns"]
    ]
    return lines + [f"warning: {warning['message']}" for warning in document["warnings"]]


def _sample_lines(sample: dict[str, Any] | None) -> list[str]:
    if sample is None:
        return []
    out = ", ".join(f"{name} {n:,}" for name, n in sample["left_out"].items() if n) or "none"
    return [
        f"Sample: {sample['n']:,} of {sample['distinct']:,} distinct triples in {counted(sample['rows'], 'row')}.",
        f"Left out by relation: {out}. Rows that repeat a triple: {sample['repeats']:,}.",
    ]


def _candidate_lines(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    dropped = _listed(f"{DROPPED[why]} {n:,}" for why, n in found["dropped"].items() if n)
    lines = [f"Candidates: {found['n']:,} of {counted(found['rows'], 'row')}. Not chosen: {dropped}."]
    named = {"before": "before the filter", "after": "after it", "by_chance": "as many drawn by chance"}
    return lines + [
        f"Diversity {words}: mean self-BLEU {found['diversity'][name]['self_bleu']:.4f}, "
        f"{100 * found['diversity'][name]['distinct_pairs']:.1f} % of word pairs distinct, "
        f"{counted(found['diversity'][name]['n'], 'triple')}."
        for name, words in named.items()
    ]


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(parts) or "none"


def _figure(percent: float | None) -> str:
    return "" if percent is None else f"{percent:.2f}"


def _what_became(options: dict[str, Any]) -> list[str]:
    lines = []
    if options["output"]:
        lines.append(f"Written to {options['output']}.")
    if options["campaign"]:
        slug = options["campaign"]
        lines.append(f"Stored in the campaign {slug}. Next: assign_parts {slug} --experts NAME,NAME")
        if options["create"] and not options["manager"]:
            lines.append(unmanaged(slug))
    return ["", *(lines or ["Nothing was written: with -o FILE or --campaign SLUG it is."])]
