"""Say how much must be judged for a goal."""

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, get_campaign, number, write_output
from scoring.management.commands.report import TEXTS
from scoring.services.measured import measured, measured_and_noted
from scoring.services.plans import GOALS, Wish, plan

# What each goal goes by: the group's title, and its options as (name, type, what it means).
OPTIONS: dict[str, tuple[tuple[str, Callable[[str], Any], str], ...]] = {
    "precision and difference": (
        ("of", str, "compounds: aggregate (default) or instance error rate; triples: share (default) or auc"),
        (
            "rate",
            number,
            "expected error rate, of triples the share of plausible ones, in per cent; default: what the campaign "
            "shows so far, else 50",
        ),
        ("auc", number, "expected AUC in per cent, with --of auc; default: 75"),
    ),
    "precision: a figure to ± so many points": (
        ("width", number, "points on either side of the figure; default: 3"),
        (
            "population",
            int,
            "compounds or triples there are, where the figure is about these only; default: one of endlessly many",
        ),
    ),
    "difference: between two systems, to be found": (
        ("difference", number, "points between the two; default: 3"),
        (
            "spread",
            number,
            "standard deviation over units of the paired difference, in points; default: as measured, else derived",
        ),
        (
            "correlation",
            number,
            "of two systems' results on a unit, 0 to 1, where the spread is derived; default: 0.5",
        ),
        ("runs", int, "runs of each system; default: 1"),
        ("run-spread", number, "as the spread, between two runs of one system; default: as measured, else 0"),
        (
            "seed-sd",
            number,
            "standard deviation between seeds of one system, in points; default: as measured, else 0",
        ),
        ("comparisons", int, "pairs of systems tested together; default: 1"),
    ),
    "spot-check: how many units of a part a checker judges": (
        ("acceptable", number, "error rate of a good part, in per cent; default: 5"),
        ("rejectable", number, "error rate of a bad part, in per cent; default: 15"),
        ("alpha", number, "risk to turn down a good part, 0 to 1; default: 0.05"),
        ("beta", number, "risk to pass a bad part, 0 to 1; default: 0.1"),
        ("lot", int, "units of the part to be checked; default: a very large part"),
    ),
    "cost, for every goal": (
        ("experts", int, "experts on each item; default: as in the campaign"),
        ("seconds", number, "seconds a judgement takes; default: the measured pace, else no hours are given"),
    ),
}


class Command(AssayCommand):
    """`plan SLUG --goal GOAL`"""

    help = "Say how many compounds or triples, and hours, a goal takes; or how many to spot-check."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign, whose figures so far are the defaults")
        parser.add_argument(
            "--goal",
            required=True,
            choices=GOALS,
            help="precision: a figure to ± so many points; difference: two systems told apart; spot-check: how many "
            "units of a part to check",
        )
        for title, options in OPTIONS.items():
            group = parser.add_argument_group(title)
            for name, kind, told in options:
                group.add_argument(f"--{name}", type=kind, help=told)
        parser.add_argument(
            "--format",
            choices=["json", *TEXTS],
            help="md: Markdown, for people (default); latex and csv: its table; json: the whole document",
        )
        parser.add_argument("-o", "--output", help="write it to this file instead of to stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options | {"json": options["json"] or options["format"] == "json"})

    def run(self, **options: Any) -> Outcome:
        given = {one.name: options[one.name] for one in fields(Wish) if options[one.name] is not None}
        campaign = get_campaign(options["slug"])
        # A spot check rests on no figure of the answers.
        found = (
            measured(campaign) if options["goal"] == "spot-check" else measured_and_noted(campaign, by=None)
        )
        document = plan(campaign, Wish(**given), found)
        if options["json"]:
            text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
        else:
            text = TEXTS[options["format"] or "md"]("plan", document)
        if options["output"]:
            write_output(options["output"], [text.encode()])
            return Outcome({"output": options["output"]}, f"Written to {options['output']}.")
        return Outcome(document, text)
