"""Print a report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, Usage, get_campaign, write_output
from annotation.models import Campaign, Round
from annotation.protocol.labels import RULE_NAMES
from annotation.services.readings import record_names
from scoring.figures import FORMS, draw
from scoring.records import as_csv
from scoring.reports import as_latex, as_markdown
from scoring.services.files import NamedFile, bytes_of, file_at
from scoring.services.measure import REPORTS, report
from scoring.services.options import WITH_NAMES, Options
from scoring.services.peeks import record_peek
from scoring.services.pictures import PICTURES, picture_of
from scoring.services.scores import SPLITS
from scoring.stats.aggregation import MODELS
from scoring.stats.artifacts import RULES as ARTIFACT_RULES

WHAT_IF = "what-if"
RUN = ("system", "run")
JUDGED_BY = ("lexicon", "judge", "column", "compatible")
# What each kind goes by. Another option would be left out in silence.
USES = {
    "error-rates": (*RUN, "labels"),
    "agreement": ("round", "number"),
    "statistics": ("labels", "training", "derive_classes"),
    "human": ("labels",),
    "artifacts": ("labels", "rule"),
    "bleu": (*RUN, "texts", "hypotheses", "references", "column"),
    "comparison": ("labels", "a", "b", "among", "release", "split"),
    "compound-check": (*RUN, "labels", *JUDGED_BY),
    "estimate": (*RUN, "labels", *JUDGED_BY),
    "methods": ("labels",),
    WHAT_IF: ("rule", "model"),
    "spot-check": ("number",),
    "gold": (),
}
_KINDS = (
    "statistics: Table 1, the composition of a set of triples; human: each expert against the labels; methods: a "
    "paragraph for a paper; what-if: other label rules; estimate: error rates from a judged sample; the others are "
    "named after what they measure"
)
# What the contract names of each document; all of it null where nothing came of the report.
KEYS = {
    "error-rates": (
        "campaign", "system", "run", "n_items", "cannot_judge", "instance", "aggregate", "all_contexts_wrong", "by",
        "wrong_contexts_histogram", "labels", "signature",
    ),
    "agreement": ("n_items", "coefficients", "mean_over_pairs", "pairs", "by", "after_resolution", "signature"),
    "statistics": ("rows",),
    "human": ("system", "run", "split", "threshold", "labels", "rows", "signature"),
    "artifacts": ("rule", "vocabulary", "candidates", "z_critical", "words"),
    "bleu": ("system", "run", "n", "left_out", "score", "signature"),
    "compound-check": ("n", "error_precision", "error_recall", "cells", "instance", "aggregate"),
}  # fmt: skip
TEXTS = {"md": as_markdown, "latex": as_latex, "csv": as_csv}


class Command(AssayCommand):
    """`report SLUG --kind KIND`"""

    help = "Measure a campaign: error rates, agreement, composition, BLEU and more."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--kind", required=True, choices=list(REPORTS), help=_KINDS)
        parser.add_argument(
            "--system", help="whose translations or scores; may be left out where there is one"
        )
        parser.add_argument("--run", help="which run of the system, such as a seed")
        parser.add_argument(
            "--round",
            default=Round.Kind.MAIN,
            choices=Round.Kind.values,
            help="of the agreement: whose answers are compared",
        )
        parser.add_argument(
            "--number", type=int, help="which of several rounds of this kind, such as dry run 2"
        )
        parser.add_argument(
            "--labels",
            choices=["imported", "final"],
            help="which labels count; default: the final ones where the campaign was finalised",
        )
        parser.add_argument(
            "--rule",
            choices=[*ARTIFACT_RULES, *RULE_NAMES],
            help=f"of the artifacts: {' or '.join(ARTIFACT_RULES)}; of the what-if: a label rule",
        )
        parser.add_argument("--model", choices=list(MODELS), help="of the what-if: a label model instead")
        parser.add_argument("--compatible", action="store_true", help="the published check with its quirks")
        parser.add_argument("--lexicon", help="the compound check's forms, one atom a line")
        parser.add_argument(
            "--judge",
            help="of the estimate and the compound check: an automatic judge's 1 or 0 for every item",
        )
        parser.add_argument(
            "--column",
            help="of that file, where the verdicts are not called label; of --texts: the translations",
        )
        parser.add_argument("--texts", help="of BLEU: any test set, a table with translation and reference")
        parser.add_argument("--hypotheses", help="the same as two texts: a translation a line")
        parser.add_argument("--references", help="and its reference on the same line")
        parser.add_argument(
            "--training", help="of the statistics: a training set's nodes, one a line, or its triples"
        )
        parser.add_argument(
            "--derive-classes",
            action="store_true",
            help="ID and OOD from these nodes, beside the stored classes",
        )
        parser.add_argument("--a", help="of the comparison: the first of two runs, as “system / run”")
        parser.add_argument("--b", help="the second of them")
        parser.add_argument(
            "--among", action="append", default=[], help="of the comparison: this system; may be repeated"
        )
        parser.add_argument("--release", help="of the comparison: what was submitted against this release")
        parser.add_argument("--split", choices=SPLITS, help="and against this split")
        parser.add_argument("--pseudonyms", action="store_true", help="A1, A2 … instead of names")
        parser.add_argument(
            "--format", choices=["json", *TEXTS, *FORMS], help="default: md, for people; a picture needs -o"
        )
        parser.add_argument("-o", "--output", help="the file to write; default: stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options | {"json": options["json"] or options["format"] == "json"})

    def nothing_done(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(KEYS.get(options.get("kind", ""), ()))

    def run(self, **options: Any) -> Outcome:
        kind = options["kind"]
        _check_used(kind, options)
        _check_rule(kind, options["rule"], options["model"])
        if options["format"] in FORMS:
            _check_picture(kind, options["output"])
        campaign = get_campaign(options["slug"])
        if options["format"] in FORMS:
            return _picture(campaign, kind, options)
        document = report(campaign, kind, _options(options))
        record_peek(campaign, kind, by=None, round_kind=options["round"])
        if kind in WITH_NAMES and not options["pseudonyms"]:
            record_names(campaign, kind, by=None)
        if options["json"]:
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        else:
            text = TEXTS[options["format"] or "md"](kind, document)
        if options["output"]:
            write_output(options["output"], [text.encode()])
            return Outcome({"output": options["output"]}, f"Written to {options['output']}.")
        return Outcome(document, text)


def _check_used(kind: str, options: dict[str, Any]) -> None:
    """Every option that was given must be one that the kind goes by."""
    every = dict.fromkeys(name for names in USES.values() for name in names)
    given = [name for name in every if options[name] and (name, options[name]) != ("round", Round.Kind.MAIN)]
    beside = [f"--{name.replace('_', '-')}" for name in given if name not in USES[kind]]
    if beside:
        raise Usage(f"The report {kind} does not go by {', '.join(beside)}; leave that out.")


def _check_rule(kind: str, rule: str | None, model: str | None) -> None:
    if rule and rule not in (RULE_NAMES if kind == WHAT_IF else ARTIFACT_RULES):
        raise Usage(f"The report {kind} has no rule “{rule}”.")
    if rule and model:
        raise Usage("Name a rule or a label model, not both.")


def _check_picture(kind: str, output: str | None) -> None:
    if kind not in PICTURES:
        raise Usage(f"There is a picture of {' and of '.join(PICTURES)}, none of {kind}.")
    if not output:
        raise Usage("A picture needs a file to go to: name it with -o.")


def _picture(campaign: Campaign, kind: str, options: dict[str, Any]) -> Outcome:
    data = picture_of(campaign, kind, _options(options))
    record_peek(campaign, kind, by=None)
    write_output(options["output"], [draw(kind, data, options["format"])])
    return Outcome({"output": options["output"]}, f"Written to {options['output']}.")


def _options(given: dict[str, Any]) -> Options:
    return Options(
        system=given["system"],
        run=given["run"],
        round=given["round"],
        number=given["number"],
        labels=given["labels"],
        rule=given["rule"],
        model=given["model"],
        compatible=given["compatible"],
        lexicon=None if given["lexicon"] is None else bytes_of(given["lexicon"]),
        judge=None if given["judge"] is None else bytes_of(given["judge"]),
        judge_name=Path(given["judge"] or "judge.csv").name,
        column=given["column"],
        training=_file(given["training"]),
        test_set=_file(given["texts"]),
        hypotheses=_file(given["hypotheses"]),
        references=_file(given["references"]),
        derive_classes=given["derive_classes"],
        a=given["a"],
        b=given["b"],
        among=given["among"],
        release=given["release"],
        split=given["split"],
        real_names=not given["pseudonyms"],
    )


def _file(path: str | None) -> NamedFile | None:
    return None if path is None else file_at(path)
