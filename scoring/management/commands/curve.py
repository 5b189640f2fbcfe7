"""Print or draw a curve of a submission's scores."""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, Usage, get_campaign, write_output
from annotation.models import Campaign
from annotation.services.errors import Refused
from scoring.figures import FORMS, draw
from scoring.models import Submission
from scoring.records import as_csv
from scoring.services.pictures import CURVES, curve_of


class Command(AssayCommand):
    """`curve SLUG SUBMISSION --kind precision-recall|reliability`"""

    help = (
        "The precision–recall or reliability curve of predictions that `score` stored: points, or a figure."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("submission", type=int, help="its number, as `score` prints it")
        parser.add_argument("--kind", required=True, choices=CURVES, help="what is drawn")
        parser.add_argument(
            "--format", choices=["csv", "json", *FORMS], default="csv", help="default: csv; a figure needs -o"
        )
        parser.add_argument("-o", "--output", help="the file to write; default: stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options | {"json": options["json"] or options["format"] == "json"})

    def run(self, **options: Any) -> Outcome:
        form = "json" if options["json"] else options["format"]
        if form in FORMS and not options["output"]:
            raise Usage("A figure needs a file to go to: name it with -o.")
        data = curve_of(_submission(get_campaign(options["slug"]), options["submission"]), options["kind"])
        if form in FORMS:
            content = draw(options["kind"], data, form)
        elif form == "json":
            content = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2).encode()
        else:
            content = as_csv(options["kind"], data).encode()
        if not options["output"]:
            return Outcome(dict(data), content.decode())
        write_output(options["output"], [content])
        return Outcome({"output": options["output"]}, f"Written to {options['output']}.")


def _submission(campaign: Campaign, number: int) -> Submission:
    found = Submission.objects.filter(campaign=campaign)
    sent = found.filter(pk=number).select_related("campaign", "release").first()
    if sent is None:
        known = ", ".join(map(str, found.order_by("pk").values_list("pk", flat=True)[:20])) or "none yet"
        raise Refused(f"There is no submission {number} in this campaign; there are: {known}.")
    return sent
