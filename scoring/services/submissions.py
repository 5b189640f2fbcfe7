"""Submissions: what systems say, checked row by row, measured, and stored whole or not at all.

A submission and its figures are stored in one transaction. The same file sent again, to be read in the same way,
is the same submission. What one person may learn about hidden labels is decided in `boards`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from annotation.formats.errors import RowIssue
from annotation.formats.submissions import SubmittedRow, read_submission
from annotation.formats.tables import read_table
from annotation.models import Campaign, Job, User
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import Refused
from annotation.services.people import audit
from scoring.models import Board, Evaluation, Prediction, Submission, Translation
from scoring.services.files import bytes_of
from scoring.services.kept_sentences import with_sentences
from scoring.services.scores import SPLITS, Wish, needed_places, score_document
from scoring.services.targets import match, target_of

KIND = "score"
NAME_LENGTH = 100
CHUNK = 2000

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A stored submission, what its file held besides, and whether it was there already."""

    submission: Submission
    document: Document
    unknown_columns: Sequence[str] = ()
    warnings: Sequence[RowIssue] = field(default_factory=tuple)
    repeated: bool = False


def submit(
    campaign: Campaign,
    source: Path | bytes,
    *,
    name: str,
    wish: Wish,
    by: User | None,
    board: Board | None = None,
) -> Submitted:
    """Read, check, measure and store; with any error nothing is stored.

    `board` limits somebody from whom the labels are hidden: they have a quota on test, and learn of a failure
    only that there was one. None is a manager, or the command line.
    """
    _check_wish(campaign, wish)
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        wish = replace(wish, split="all")  # contexts have no split
    data = source if isinstance(source, bytes) else bytes_of(source)
    sha256 = hashlib.sha256(data).hexdigest()
    known = _same_before(campaign, wish, sha256, by)
    if board is not None and known is None:
        _check_quota(board, wish, by)
    file = read_submission(
        read_table(data, name=name),
        protocol=campaign.protocol,
        column=wish.column,
        by_position=wish.by_position,
    )
    try:
        target = target_of(campaign, release=wish.release, labels=wish.labels)
    except (Refused, ProtocolError) as error:
        raise _told(campaign, wish, by, board, error) from error
    needed = needed_places(target, campaign, wish)
    matched = match(target, file, needed=needed, by_position=wish.by_position)
    try:
        document = score_document(campaign, target, matched.rows, wish)
    except (Refused, ProtocolError) as error:
        raise _told(campaign, wish, by, board, error) from error
    with transaction.atomic():
        if board is not None and known is None:
            _queue_up(board)
            _check_quota(board, wish, by)
        submission = known or _create(campaign, wish, name=name, sha256=sha256, by=by)
        _store_rows(submission, matched.rows)
        _store_evaluation(submission, document)
    return Submitted(
        submission=submission,
        document=document,
        unknown_columns=file.unknown_columns,
        warnings=(*file.warnings, *matched.warnings),
        repeated=known is not None,
    )


def _check_wish(campaign: Campaign, wish: Wish) -> None:
    if not wish.system.strip():
        raise Refused(_("Name the system."))
    for text in (wish.system, wish.run):
        if len(text) > NAME_LENGTH or not text.isprintable():
            raise Refused(_("A name of a system or run has at most 100 characters, all of them visible."))
    if wish.split not in SPLITS:
        raise Refused(_("There is no such split; there are test, dev and all."))
    if wish.threshold is not None and not isfinite(wish.threshold):
        raise Refused(_("The threshold is a number such as 0.5."))
    if wish.release is not None and campaign.protocol == Campaign.Protocol.COMPOUND:
        raise Refused(_("Translations are scored against the references of the campaign, not of a release."))


def _same_before(campaign: Campaign, wish: Wish, sha256: str, by: User | None) -> Submission | None:
    return (
        Submission.objects.filter(
            campaign=campaign,
            release=wish.release,
            system=wish.system,
            run=wish.run,
            split=wish.split,
            digest=wish.digest(sha256),
            created_by=by,
        )
        .select_related("evaluation", "campaign")
        .first()
    )


def _told(
    campaign: Campaign, wish: Wish, by: User | None, board: Board | None, error: Refused | ProtocolError
) -> Refused | ProtocolError:
    """The reason for managers; for everybody else a sentence that says nothing about labels."""
    if board is None:
        return error
    audit(campaign, by, "submission failed", {"system": wish.system, "reason": error.message})
    return Refused(
        _(
            "This submission could not be scored. Nothing was stored and nothing was taken from your quota; the "
            "managers of the campaign can see why."
        )
    )


# Quota ---------------------------------------------------------------------------------------------------------


def used(campaign: Campaign, by: User | None) -> int:
    """How many of somebody's submissions were measured against hidden labels; dev is free."""
    return Submission.objects.filter(campaign=campaign, created_by=by).exclude(split="dev").count()


def _check_quota(board: Board, wish: Wish, by: User | None) -> None:
    if wish.split == "dev":
        return
    if used(board.campaign, by) >= board.quota:
        raise Refused(
            _("You have used all %(quota)d submissions against test. Dev can be used without limit.")
            % {"quota": board.quota}
        )


def _queue_up(board: Board) -> None:
    """Written first: two submissions at once queue up here, and each counts the other."""
    Board.objects.filter(pk=board.pk).update(quota=F("quota"))


# Storing -------------------------------------------------------------------------------------------------------


def _create(campaign: Campaign, wish: Wish, *, name: str, sha256: str, by: User | None) -> Submission:
    return Submission.objects.create(
        campaign=campaign,
        release=wish.release,
        system=wish.system,
        run=wish.run,
        split=wish.split,
        labels=wish.labels,
        threshold=wish.threshold,
        file_name=name[:255],
        sha256=sha256,
        digest=wish.digest(sha256),
        created_by=by,
    )


def _store_rows(submission: Submission, rows: Mapping[int, SubmittedRow]) -> None:
    """Sent again, the same file may meet other items than before."""
    if submission.campaign.protocol == Campaign.Protocol.COMPOUND:
        submission.translations.all().delete()
        translations = [
            Translation(submission=submission, context_id=pk, text=row.translation or "")
            for pk, row in rows.items()
        ]
        Translation.objects.bulk_create(translations, batch_size=CHUNK)
        return
    submission.predictions.all().delete()
    predictions = [
        Prediction(submission=submission, item_id=pk, score=row.score)
        for pk, row in rows.items()
        if row.score is not None  # the reader lets no empty one in
    ]
    Prediction.objects.bulk_create(predictions, batch_size=CHUNK)


def _store_evaluation(submission: Submission, document: Document) -> Evaluation:
    digest = hashlib.sha256(json.dumps([KIND, submission.pk]).encode()).hexdigest()
    evaluation, _made = Evaluation.objects.update_or_create(
        campaign=submission.campaign,
        digest=digest,
        defaults={
            "kind": KIND,
            "submission": submission,
            "result": with_sentences(document),
            "signature": document["signature"],
        },
    )
    return evaluation


def label_version(document: Document) -> int | None:
    """The version of the final labels a document rests on; None where they were imported, or there are none."""
    labels = document.get("labels") or {}
    version: int | None = labels.get("label_version")
    return version


def version_now(submission: Submission) -> int | None:
    """The version of the labels that it would be measured against today."""
    campaign = submission.campaign
    if submission.release is not None:
        frozen: int | None = submission.release.manifest["labels"]["label_version"]
        return frozen
    if campaign.protocol == Campaign.Protocol.COMPOUND or submission.labels == "imported":
        return None
    return campaign.label_version or None


def measure_again(submission: Submission) -> Document:
    """The figures of stored predictions against the labels there are now; the rows stay as they were sent."""
    wish = Wish(
        system=submission.system,
        run=submission.run,
        split=submission.split,
        threshold=submission.threshold,
        labels=submission.labels,
        release=submission.release,
    )
    target = target_of(submission.campaign, release=submission.release, labels=submission.labels)
    scores = submission.predictions.values_list("item", "score")
    rows = {item: SubmittedRow(0, 0, None, {}, score) for item, score in scores.iterator(CHUNK)}
    return score_document(submission.campaign, target, rows, wish)


def score_work(job: Job, progress: Callable[..., None]) -> Callable[[], Document]:
    """All predictions of a campaign against the labels there are now, as a job."""
    submissions = list(
        Submission.objects.filter(campaign=job.campaign, release__isnull=True).select_related("campaign")
    )
    documents = []
    for done, submission in enumerate(submissions):
        progress(done, len(submissions))
        documents.append(measure_again(submission))
    progress(len(submissions), len(submissions))

    def store() -> Document:
        for submission, document in zip(submissions, documents, strict=True):
            _store_evaluation(submission, document)
        return {"submissions": len(submissions)}

    return store
