"""Say how much must be judged for a goal."""

import json
from dataclasses import fields
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, get_campaign, number, write_output
from scoring.management.commands.report import TEXTS
from scoring.services.measured import measured, measured_and_noted
from scoring.services.plans import GOALS, Wish, plan

NUMBERS = {
    "width": "points on either side of the figure",
    "rate": "expected, in per cent; default: what the campaign shows so far, else 50",
    "auc": "expected, in per cent; default: 75",
    "difference": "points between two systems",
    "spread": "standard deviation over units of the paired difference, in points; default: as measured, else derived",
    "correlation": "of two systems' results on a unit, 0 to 1, where the spread is derived; default: 0.5",
    "seed_sd": "standard deviation between seeds of one system, in points; default: as measured, else 0",
    "run_spread": "as the spread, between two runs of one system; default: as measured, else 0",
    "seconds": "for a judgement; default: the measured pace",
    "acceptable": "error rate of a good part, in per cent",
    "rejectable": "error rate of a bad part, in per cent",
    "alpha": "risk to turn down a good part, 0 to 1",
    "beta": "risk to pass a bad part, 0 to 1",
}
COUNTS = {
    "runs": "of each system",
    "comparisons": "pairs of systems tested together",
    "population": "units there are, where the figure is about these only",
    "experts": "on each item; default: as in the campaign",
    "lot": "units of the part to be checked",
}


class Command(AssayCommand):
    """`plan SLUG --goal GOAL`"""

    help = "Say how many compounds or triples, and hours, a goal takes; or how many to spot-check."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug")
        parser.add_argument("--goal", required=True, choices=GOALS)
        parser.add_argument("--of", help="aggregate or instance; share or auc")
        for name, told in NUMBERS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=number, help=told)
        for name, told in COUNTS.items():
            parser.add_argument(f"--{name}", type=int, help=told)
        parser.add_argument("--format", choices=["json", *TEXTS], help="default: md, for people")
        parser.add_argument("-o", "--output")

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
