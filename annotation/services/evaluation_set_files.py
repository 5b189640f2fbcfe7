"""Evaluation sets from uploaded files: built and looked at first, then stored as they were shown.

The set that was built is kept with the files it was built from, so that what is stored is what the page showed, byte
for byte, whatever became of the program in between.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Campaign, ImportBatch, Job, User
from annotation.protocol.candidates import CandidateWish, Filter
from annotation.protocol.diversity import SOFT_LIMIT, Progress, silent
from annotation.protocol.evaluation_set import SampleWish
from annotation.protocol.sentences import say
from annotation.services import uploads
from annotation.services.errors import Refused
from annotation.services.evaluation_sets import SetWish, Source, Sources, UnusableRows, build, save
from annotation.services.import_files import give_up_earlier_attempt
from annotation.services.sentences import with_sentence
from annotation.services.uploads import Upload
from annotation.services.wording import wording_of

UPLOAD = "evaluation_set"  # the kind of the upload
KIND = "build_set"  # the job
IN_REQUEST = 300_000  # bytes of all files together; of more the worker builds a set
SET = "set"
SENT = ("pool", "candidates", "training")


class BeingStored(Refused):
    """This very set is being stored at this moment, asked for a second time."""


def wish_of(options: Mapping[str, Any]) -> SetWish:
    """What the form asks for; both parts leave out the same relations."""
    leave_out = tuple(options["leave_out"])
    sample = candidates = None
    if options.get("n"):
        sample = SampleWish(n=options["n"], minimum=options.get("minimum") or 0, leave_out=leave_out)
    if options.get("adversarial_n"):
        candidates = CandidateWish(
            n=options["adversarial_n"],
            threshold=options["threshold"],
            filter=Filter(
                kind=options["filter"], keep=options.get("keep"), below=options.get("below") or SOFT_LIMIT
            ),
            leave_out=leave_out,
        )
    return SetWish(seed=options["seed"], sample=sample, candidates=candidates)


def build_upload(campaign: Campaign, upload: Upload, *, progress: Progress = silent) -> Upload:
    """Build the set, and write down what it is made of. Repeated, it makes the same."""
    sources = {
        name: Source(name=upload.files[name].name, path=upload.path(name))
        for name in SENT
        if name in upload.files
    }
    found = build(
        Sources(
            pool=sources.get("pool"),
            candidates=sources.get("candidates"),
            training=[sources["training"]] if "training" in sources else [],
        ),
        wish_of(upload.options),
        wording=wording_of(campaign),
        progress=progress,
    )
    file = SimpleUploadedFile(f"{campaign.slug}-set.csv", b"".join(found.csv()))
    warnings = [with_sentence(warning) for warning in found.document["warnings"]]
    return uploads.note(uploads.add(upload, SET, file), preview=found.document | {"warnings": warnings})


def save_upload(
    campaign: Campaign, upload: Upload, *, by: User | None, progress: Progress = silent
) -> Upload:
    """Store the set that was shown, or raise and store nothing. Stored already, it only writes the result down."""
    if upload.result is not None:
        return upload
    if upload.preview is None:
        raise Refused(say("The set is not built yet."))
    if not is_stored(campaign, upload):
        try:
            name = upload.files[SET].name
            save(campaign, upload.path(SET), upload.preview, name=name, by=by, progress=progress)
        except Refused:
            # Asked for twice at once, the set stands in its own way: what counts is what became of it.
            if not is_stored(campaign, upload):
                refuse_while_stored(campaign, upload)
                raise
    return uploads.finish(upload, upload.preview)


def is_stored(campaign: Campaign, upload: Upload) -> bool:
    """Whether the items of this set are in the campaign, even if nobody came to write that down."""
    return upload.result is not None or _batches(campaign, upload).filter(published_at__isnull=False).exists()


def refuse_while_stored(campaign: Campaign, upload: Upload) -> None:
    """Refuse while an import of this set is under way and alive."""
    if _batches(campaign, upload).filter(published_at__isnull=True, lease_until__gt=timezone.now()).exists():
        raise BeingStored(say("The set is being stored at this moment. Reload the page to see it done."))


def _batches(campaign: Campaign, upload: Upload) -> QuerySet[ImportBatch]:
    """The imports of the set that was built, those under way too."""
    if SET not in upload.files:
        return ImportBatch.objects.none()
    return ImportBatch.objects.filter(campaign=campaign, sha256=upload.files[SET].sha256)


def work(job: Job, progress: Callable[..., None]) -> Callable[[], dict[str, Any]]:
    """The same by the worker: a set that is long to build, or long to store."""
    upload = uploads.find(job.campaign, job.arguments["upload"], kinds=(UPLOAD,))
    progress(0, 100)
    if job.arguments["step"] == "save":
        if job.attempt > 1:
            give_up_earlier_attempt(job)
        done = save_upload(job.campaign, upload, by=job.created_by, progress=progress)
    else:
        try:
            done = build_upload(job.campaign, upload, progress=progress)
        except UnusableRows as error:
            uploads.note(upload, faults=error.shown())
            raise
    n = (done.preview or {}).get("n", 0)
    return lambda: {"items": n}
