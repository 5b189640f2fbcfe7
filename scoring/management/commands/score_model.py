"""Score a release's triples with a model at hand."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import (
    AssayCommand,
    Outcome,
    Usage,
    changeable_campaign,
    counted,
)
from scoring.management.options import TUNE, threshold_of
from scoring.models import Release
from scoring.reports import as_markdown
from scoring.services.checkpoints import Checkpoint, load, look_at
from scoring.services.model_scores import TEMPLATE, Scored, header_of, plan_scores, write_scores
from scoring.services.releases import release_named
from scoring.services.scores import SPLITS, Wish
from scoring.services.submissions import submit
from scoring.stats.classification import DEFAULT_THRESHOLD

BATCH = 32
EVERY = 5.0  # seconds between two lines of progress


class Command(AssayCommand):
    """`score_model SLUG --release NAME --checkpoint FOLDER`"""

    help = (
        "What a model says of a release's triples, as a file of predictions that `score` reads. The model comes from a "
        "local folder and runs on the CPU; killed and started again, it goes on where it stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("--release", required=True, help="the release whose items are scored")
        parser.add_argument(
            "--checkpoint", required=True, metavar="FOLDER", help="as `save_pretrained` wrote it"
        )
        parser.add_argument("-o", "--output", "--out", help="the predictions; default: named after all three")
        parser.add_argument("--split", default="test", choices=SPLITS, help="which of its items (test)")
        parser.add_argument(
            "--batch-size", type=int, default=BATCH, metavar="N", help=f"so many items at a time ({BATCH})"
        )
        parser.add_argument(
            "--label",
            type=int,
            metavar="N",
            help="of a classifier: which of its labels means plausible, from 0",
        )
        parser.add_argument(
            "--template",
            default=TEMPLATE,
            help=f"a triple as a text ({TEMPLATE}); besides there are {{relation}} and {{phrase}}, the published one",
        )
        parser.add_argument("--submit", metavar="SYSTEM[:RUN]", help="and score the file, as `score` does")
        parser.add_argument("--threshold", help=f"with --submit: a number, or {TUNE}: dev's highest F1")

    def run(self, **options: Any) -> Outcome:
        system, run = _submission_names(options)
        campaign = changeable_campaign(options["slug"], stores=bool(system))
        release = release_named(campaign, options["release"])
        checkpoint = look_at(Path(options["checkpoint"]), label=options["label"])
        threshold = options["threshold"]
        wish = Wish(
            system=system,
            run=run,
            split=options["split"],
            threshold=DEFAULT_THRESHOLD if threshold is None else threshold_of(threshold),
            release=release,
        )
        plan = plan_scores(release, checkpoint, template=options["template"], wish=wish)
        path = Path(options["output"] or _default_name(release, checkpoint, options["split"]))
        batch_size = options["batch_size"]
        scored = write_scores(plan, path, load=load, batch_size=batch_size, progress=self._progress())
        document = {"output": str(path), "rows_before": scored.before, **scored.header}
        lines = _summary(scored, path)
        if system:
            submitted = submit(campaign, path, name=path.name, wish=wish, by=None)
            document["score"] = {"submission": submitted.submission.pk, **submitted.document}
            lines += [f"Submission {submitted.submission.pk}.", as_markdown("score", submitted.document)]
            lines += [f"warning: {warning}" for warning in submitted.document["warnings"]]
        return Outcome(document, "\n".join(lines), notes=_notes(checkpoint, scored))

    def _progress(self) -> Callable[[int, int], None]:
        """A line on stderr every few seconds, and one for the last batch; the first call says what was there before."""
        began: float | None = None
        before, told = 0, 0.0

        def tell(done: int, total: int) -> None:
            nonlocal began, before, told
            now = time.monotonic()
            if began is None:
                began, before, told = now, done, now
            elif done == total or now - told >= EVERY:
                told = now
                left = (now - began) / (done - before) * (total - done)
                ahead = f", about {left:,.0f} s to go" if done < total else ""
                self.stderr.write(f"{done:,} of {total:,} scored{ahead}")

        return tell


def _submission_names(options: dict[str, Any]) -> tuple[str, str]:
    """System and run of the submission, both empty without one; Usage for what cannot work together."""
    if options["batch_size"] < 1:
        raise Usage("--batch-size is at least 1.")
    if options["output"] and Path(options["output"]).suffix.lower() != ".csv":
        raise Usage("The file of --output is a table whose name ends in .csv.")
    if options["submit"] is None:
        if options["threshold"] is not None:
            raise Usage("--threshold is for --submit.")
        return "", ""
    system, _colon, run = options["submit"].partition(":")
    if not system.strip():
        raise Usage("--submit takes the name of the system, and of its run after a colon.")
    return system.strip(), run.strip()


def _default_name(release: Release, checkpoint: Checkpoint, split: str) -> str:
    parts = (release.campaign.slug, release.name, split, checkpoint.folder.name)
    return "-".join(re.sub(r"[^\w.]+", "_", part) for part in parts) + ".csv"


def _summary(scored: Scored, path: Path) -> list[str]:
    rows = scored.header["rows"]
    before = f", {scored.before:,} of them before" if scored.before else ""
    return [
        f"{counted(rows, 'triple')} scored{before}. Written to {path}; {header_of(path).name} says how.",
        f"Signature: {scored.header['signature']}",
    ]


def _notes(checkpoint: Checkpoint, scored: Scored) -> list[str]:
    """What a reader of the figures has to know, on stderr."""
    notes = []
    if checkpoint.label is not None:
        name = checkpoint.labels[checkpoint.label]
        notes.append(f"note: label {checkpoint.label} ({name}) is read as plausible; --label names another.")
    if not checkpoint.is_probability:
        notes.append(
            "note: these scores order triples and are no probabilities of being plausible; for F1 take the threshold "
            f"from dev: --threshold {TUNE}."
        )
    if len(scored.header["runs"]) > 1:
        notes.append(
            "note: the file was made with several batch sizes or versions of the libraries; its last digits may differ "
            "from those of one run."
        )
    return notes
