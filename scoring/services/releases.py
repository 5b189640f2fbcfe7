"""Releases: a campaign frozen into one file that never changes again.

The file is stored under its own checksum, so two releases of one state share it, and a changed file is no release
any more. What is needed to score against a release stands in the database beside it.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Campaign, Job, User
from annotation.protocol.splits import RULES
from annotation.services.errors import Refused
from annotation.services.people import audit
from annotation.services.readings import RELEASE, record_reading
from scoring.models import Release, ReleaseItem
from scoring.services.release_content import KEEP, NONE, Content, SplitWish, gather_content
from scoring.services.release_files import pack, write_folder

KIND = "release"  # the job
SPLIT_RULES = (KEEP, *RULES, NONE)
CHUNK = 2000
STEPS = 3  # gathering, writing, packing
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

Document = dict[str, Any]


def release_named(campaign: Campaign, name: str) -> Release:
    """That release of the campaign; Refused where there is none, with the names there are."""
    found = Release.objects.filter(campaign=campaign, name=name).select_related("campaign").first()
    if found is None:
        known = ", ".join(campaign.releases.values_list("name", flat=True)) or "none yet"
        raise Refused(f"There is no release “{name}” of this campaign; there are: {known}.")
    return found


def freeze(campaign: Campaign, name: str, *, wish: SplitWish, by: User | None) -> Release:
    """Freeze the campaign under a name. The name again with an unchanged campaign gives the same release."""
    _check(name, wish)
    content, manifest, archive = _build(campaign, wish)
    with transaction.atomic():
        return _store(campaign, name, content, manifest, archive, by=by)


def release_work(job: Job, progress: Callable[..., None]) -> Callable[[], Document]:
    """The same as a job: the file is made first, and the release stored together with the job's end."""
    arguments = job.arguments
    wish = SplitWish(rule=arguments["split"], seed=arguments["seed"], by_head=arguments["by_head"])
    _check(arguments["name"], wish)
    progress(0, STEPS)
    content, manifest, archive = _build(job.campaign, wish, lambda done: progress(done, STEPS))

    def store() -> Document:
        release = _store(job.campaign, arguments["name"], content, manifest, archive, by=job.created_by)
        return {"release": release.name, "sha256": release.sha256}

    return store


def check_new(campaign: Campaign, name: str) -> None:
    """Refused where there is a release of this name already."""
    if Release.objects.filter(campaign=campaign, name=name).exists():
        raise _taken(name)


def _taken(name: str) -> Refused:
    return Refused(
        _("There is a release “%(name)s” already, and it never changes; choose another name.")
        % {"name": name}
    )


def _check(name: str, wish: SplitWish) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(
            _(
                "The name of a release has 1 to 40 letters without accents, digits, dots, dashes and underscores."
            )
        )
    if wish.rule is not None and wish.rule not in SPLIT_RULES:
        raise Refused(
            _("There is no such rule for splits; there are: %(rules)s.") % {"rules": ", ".join(SPLIT_RULES)}
        )


def _build(
    campaign: Campaign, wish: SplitWish, step: Callable[[int], None] = lambda done: None
) -> tuple[Content, Document, Path]:
    """The content, its manifest, and the archive under its checksum."""
    content = gather_content(campaign, wish)
    step(1)
    root = _folder()
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        folder = Path(scratch) / "content"
        manifest = write_folder(content, folder)
        step(2)
        draft = Path(scratch) / "release.zip"
        pack(folder, draft, root=campaign.slug)
        archive = root / f"{_sha256(draft)}.zip"
        if not archive.exists():
            draft.chmod(0o444)
            _sync(draft)
            draft.replace(archive)
    step(STEPS)
    return content, manifest, archive


def _store(
    campaign: Campaign, name: str, content: Content, manifest: Document, archive: Path, *, by: User | None
) -> Release:
    sha256 = archive.stem
    there = Release.objects.filter(campaign=campaign, name=name).first()
    if there is not None:
        if there.sha256 == sha256:
            return there
        raise _taken(name)
    release = Release.objects.create(
        campaign=campaign,
        name=name,
        sha256=sha256,
        size=archive.stat().st_size,
        manifest=manifest,
        created_by=by,
    )
    ReleaseItem.objects.bulk_create(
        (
            ReleaseItem(release=release, item_id=pk, item_class=item_class, split=split, label=label)
            for pk, item_class, split, label in content.frozen
        ),
        batch_size=CHUNK,
    )
    audit(campaign, by, "release frozen", {"name": name, "sha256": sha256})
    record_reading(campaign, RELEASE, by=by)
    return release


def same_state(release: Release) -> list[str]:
    """The campaign's other releases that hold the same bytes, the first first."""
    same = release.campaign.releases.filter(sha256=release.sha256).exclude(pk=release.pk)
    return list(same.order_by("pk").values_list("name", flat=True))


def archive_of(release: Release) -> Path:
    """The release's file; Refused where it is gone or is not what was frozen."""
    path = _folder() / f"{release.sha256}.zip"
    if not path.exists() or _sha256(path) != release.sha256:
        raise Refused(
            _(
                "The file of this release is not there as it was frozen. Restore it from a backup of the data folder; "
                "its checksum is %(sha256)s."
            )
            % {"sha256": release.sha256}
        )
    return path


def _folder() -> Path:
    return Path(settings.MEDIA_ROOT) / "releases"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
