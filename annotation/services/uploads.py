"""Files that were sent from a page, kept until they are stored or given up.

Each upload is a folder with a random name: its files, and `upload.json`, which says what they are, who sent
them, what the check found and what became of them. Folders that nobody finished are removed after a day.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Campaign, User
from annotation.services.errors import NotYours, Refused

LIMIT = 32 * 1024 * 1024  # bytes of one file
KEPT = timedelta(days=1)
NOTE = "upload.json"
NAME_BYTES = 200  # of a file's name on disk; systems allow 255


@dataclass(frozen=True, kw_only=True)
class KeptFile:
    """One file as it was sent: its name for people, its name here, its fingerprint."""

    name: str
    stored: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Upload:
    """What was sent together. `preview` is what the check found, `result` what was stored in the end.

    `faults` are rows for which nothing could be made of the files, found where nobody waited for it.
    """

    token: str
    campaign: int
    by: int
    kind: str  # items, cognition, judgements, shape, evaluation_set or compound_set
    files: Mapping[str, KeptFile]
    options: Mapping[str, Any] = field(default_factory=dict)
    created_at: str
    preview: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    faults: Mapping[str, Any] | None = None

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.created_at)

    @property
    def file_names(self) -> str:
        return ", ".join(kept.name for kept in self.files.values())

    def path(self, name: str) -> Path:
        """Where one of the files is; Refused where it is gone or is not what was sent."""
        kept = self.files[name]
        path = _folder(self.token) / kept.stored
        try:
            same = _sha256(path) == kept.sha256
        except OSError:
            same = False
        if not same:
            raise Refused(_("The uploaded file is not there any more. Upload it again."))
        return path


def keep(
    campaign: Campaign, kind: str, files: Mapping[str, UploadedFile], *, options: Mapping[str, Any], by: User
) -> Upload:
    """Write the files of an upload down, under a random name."""
    remove_left_behind()
    token = str(uuid4())
    folder = _folder(token)
    folder.mkdir(parents=True, mode=0o700)
    try:
        kept = {name: _write(folder, name, file) for name, file in files.items()}
        upload = Upload(
            token=token,
            campaign=campaign.pk,
            by=by.pk,
            kind=kind,
            files=kept,
            options=dict(options),
            created_at=timezone.now().isoformat(),
        )
        note(upload)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return upload


def find(campaign: Campaign, token: UUID | str, *, kinds: Collection[str] = ()) -> Upload:
    """An upload of this campaign, of one of these kinds where some are named; NotYours where there is none."""
    try:
        document = json.loads((_folder(str(token)) / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NotYours(_("There is no such upload; it may have been removed after a day.")) from None
    if document["campaign"] != campaign.pk or (kinds and document["kind"] not in kinds):
        raise NotYours(_("There is no such upload; it may have been removed after a day."))
    files = {name: KeptFile(**kept) for name, kept in document.pop("files").items()}
    return Upload(**document, files=files)


def note(upload: Upload, **changes: Any) -> Upload:
    """Write down what is known of an upload, in one step: a reader sees the old note or the new one."""
    changed = replace(upload, **changes)
    folder = _folder(changed.token)
    draft = folder / f"{NOTE}.part"
    draft.write_text(json.dumps(asdict(changed), allow_nan=False), encoding="utf-8")
    draft.replace(folder / NOTE)
    return changed


def add(upload: Upload, field_name: str, file: UploadedFile) -> Upload:
    """Keep one more file with an upload: what was made of the others. It replaces one of that name."""
    folder = _folder(upload.token)
    shutil.rmtree(folder / field_name, ignore_errors=True)
    return note(upload, files={**upload.files, field_name: _write(folder, field_name, file)})


def finish(upload: Upload, result: Mapping[str, Any]) -> Upload:
    """Write the result down and let the files go."""
    done = note(upload, result=dict(result))
    for kept in done.files.values():
        (_folder(done.token) / kept.stored).unlink(missing_ok=True)
    return done


def unfinished(campaign: Campaign) -> list[Upload]:
    """What was sent for this campaign and neither stored nor given up, the latest first."""
    found = []
    for folder in _folders():
        try:
            upload = find(campaign, folder.name)
        except (NotYours, ValueError):  # another campaign's, or no upload at all
            continue
        if upload.result is None:
            found.append(upload)
    return sorted(found, key=lambda upload: upload.created_at, reverse=True)


def discard(upload: Upload) -> None:
    """Forget an upload and its files."""
    shutil.rmtree(_folder(upload.token), ignore_errors=True)


def remove_left_behind() -> None:
    """Remove the folders that are older than a day."""
    oldest = (timezone.now() - KEPT).timestamp()
    for folder in _folders():
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def forget_uploads(campaigns: Collection[int]) -> None:
    """Remove everything that was sent for these campaigns, stored or not: it may name somebody."""
    for folder in _folders():
        with suppress(OSError, ValueError):
            if json.loads((folder / NOTE).read_text(encoding="utf-8"))["campaign"] in campaigns:
                shutil.rmtree(folder, ignore_errors=True)


def _folders() -> Iterable[Path]:
    root = _root()
    return [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []


def _root() -> Path:
    return Path(settings.MEDIA_ROOT) / "uploads"


def _folder(token: str) -> Path:
    return _root() / str(UUID(token))  # a UUID names no other folder


def _write(folder: Path, field_name: str, file: UploadedFile) -> KeptFile:
    """Each file stands in a folder of its own, under its own name: keys are made of the name."""
    name = file.name or field_name
    stored = f"{field_name}/{_safe_name(name)}"
    path = folder / stored
    path.parent.mkdir()
    size = 0
    digest = hashlib.sha256()
    with path.open("wb") as target:
        for chunk in file.chunks():
            size += len(chunk)
            digest.update(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    return KeptFile(name=name, stored=stored, sha256=digest.hexdigest(), size=size)


def _safe_name(name: str) -> str:
    """A name that stays in its folder and that every file system takes, with its extension."""
    visible = "".join(c if c.isprintable() and c not in "/\\:" else "_" for c in name)
    pure = PurePath(visible)
    suffix = pure.suffix[:20]
    stem = (pure.stem or "file").encode()[: NAME_BYTES - len(suffix.encode())].decode(errors="ignore")
    return f"{stem}{suffix}".lstrip(".") or "file"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
