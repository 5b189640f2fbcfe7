"""Bringing in judgements that were made elsewhere: each becomes an answer of the main round, or of the
round of repeats.

A judgement fills its author's open assignment if there is one, else the slot its row names, else a free slot of
the item. Nothing is ever overwritten: a later revision is added to those before, another label under the same
revision is a conflict.

Everything is compared first, and nothing is stored where anything stands against it. Then the answers are written
in chunks, each in a short transaction that compares again; cut off in between, the same file adds the rest.
"""

from collections.abc import Iterable

from annotation.formats.errors import RowIssue
from annotation.formats.judgements import JudgementRow
from annotation.formats.rows import FileRows
from annotation.models import Annotation, Assignment, Campaign, Round, User
from annotation.protocol.sentences import say
from annotation.services.answers import NOTE_LIMIT
from annotation.services.import_store import Progress
from annotation.services.judgement_authors import admit_authors, find_authors, joining
from annotation.services.judgement_compare import plan_steps
from annotation.services.judgement_items import match_items
from annotation.services.judgement_repeats import as_repeats, repeat_round, standing_of, stored
from annotation.services.judgement_report import JudgementReport
from annotation.services.judgement_store import write_judgements
from annotation.services.people import audit
from annotation.services.planner import renew_counts
from annotation.services.turns import turn

RELEASED = "released"  # the account of judgements whose author a file does not name


def import_judgements(
    campaign: Campaign,
    file: FileRows[JudgementRow],
    *,
    by_position: bool = False,
    repeats: bool = False,
    by: User | None = None,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> JudgementReport:
    """Store the file's judgements, all or none; with `dry_run` only find out what would be stored.

    `repeats`: each is its author's second judgement of an item, and stands in a round of its own. `progress` is called
    outside any transaction.
    """
    report = JudgementReport(file)
    if file.errors and by_position:
        return report
    judged = match_items(campaign, file, by_position=by_position, report=report)
    if file.errors or report.errors:
        return report
    report.errors += note_too_long(file.rows)
    if report.errors:
        return report
    round_ = repeat_round(campaign) if repeats else campaign.rounds.get(kind=Round.Kind.MAIN, number=1)
    authors = find_authors(campaign, dict.fromkeys(one.rows[0].annotator for one in judged))
    known = {name: user.pk for name, user in authors.items() if user.pk}
    report.annotators = [user.username for user in authors.values()]
    report.warnings += joining(campaign, authors.values())
    if repeats:
        judged = as_repeats(campaign, judged, known, report)
    steps = plan_steps(standing_of(round_, judged, known), judged, report)
    if dry_run or not report.ok:
        report.added = len(steps) if report.ok else 0
        return report
    if steps:
        with turn(campaign):
            people = admit_authors(campaign, authors, by=by)
            round_ = stored(round_)
            told = {"file": file.name, "added": len(steps), **({"round": round_.kind} if repeats else {})}
            audit(campaign, by, "judgements imported", told)
        report.added = write_judgements(round_, [step.judged for step in steps], people, progress)
        renew_counts(Assignment, Annotation)
    return report


def note_too_long(rows: Iterable[JudgementRow]) -> list[RowIssue]:
    """An error for each note that nobody could have written here, and with which an answer could not be changed."""
    return [
        RowIssue(
            row.line,
            "note",
            say(
                "The note has {n} characters; at most {limit} are stored with an answer. Shorten it.",
                n=f"{len(row.note):,}",
                limit=NOTE_LIMIT,
            ),
        )
        for row in rows
        if row.note is not None and len(row.note) > NOTE_LIMIT
    ]
