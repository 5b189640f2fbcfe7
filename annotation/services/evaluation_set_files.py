"""Evaluation sets from uploaded files: built and looked at first, then stored as they were shown.

The set that was built is kept with the files it was built from, so that what is stored is what the page showed, byte
for byte, whatever became of the program in between.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import Campaign, ImportBatch, Job, User
from annotation.protocol.candidates import CandidateWish, Filter
from annotation.protocol.diversity import Progress, silent
from annotation.protocol.evaluation_set import SampleWish
from annotation.protocol.sentences import say
from annotation.services import uploads
from annotation.services.errors import Refused
from annotation.services.evaluation_sets import SetWish, Source, Sources, build, save
from annotation.services.import_files import give_up_earlier_attempt
from annotation.services.sentences import with_sentence
from annotation.services.uploads import Upload
from annotation.services.wording import wording_of

UPLOAD = "evaluation_set"  # the kind of the upload
KIND = "build_set"  # the job
IN_REQUEST = 300_000  # bytes of all files together; of more the worker builds a set
SET = "set"
SENT = ("pool", "candidates", "training")


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
            filter=Filter(kind=options["filter"], keep=options.get("keep"), below=options["below"]),
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
    kept = upload.files[SET]
    batches = ImportBatch.objects.filter(campaign=campaign, sha256=kept.sha256, published_at__isnull=False)
    if not batches.exists():
        save(campaign, upload.path(SET), upload.preview, name=kept.name, by=by, progress=progress)
    return uploads.finish(upload, upload.preview)


def work(job: Job, progress: Callable[..., None]) -> Callable[[], dict[str, Any]]:
    """The same by the worker: a set that is long to build, or long to store."""
    upload = uploads.find(job.campaign, job.arguments["upload"], kinds=(UPLOAD,))
    progress(0, 100)
    if job.arguments["step"] == "save":
        if job.attempt > 1:
            give_up_earlier_attempt(job)
        done = save_upload(job.campaign, upload, by=job.created_by, progress=progress)
    else:
        done = build_upload(job.campaign, upload, progress=progress)
    n = (done.preview or {}).get("n", 0)
    return lambda: {"items": n}
