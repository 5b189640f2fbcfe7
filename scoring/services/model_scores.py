"""What a model says of a release's triples, as a file that `score` reads.

Rows are added batch by batch, in the release's order, so that a run that was killed goes on where it stopped. A small
file beside them, the header, says what they were made of; rows of another model, release or template are never added.
"""

import csv
import fcntl
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from string import Formatter
from typing import Any, BinaryIO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from annotation.formats.keys import id_key
from annotation.models import Campaign
from annotation.protocol.wording import Wording, read_wording
from annotation.services.errors import Refused
from scoring.models import Release
from scoring.services.checkpoints import Checkpoint, Scorer, Text
from scoring.services.scores import Wish, needed_places
from scoring.services.targets import Place, Target, target_of

FORM = "assay-model-scores/1"
TEMPLATE = "{head}, {connector} {tail}"
RELATION_PLACES = ("relation", "connector", "phrase")
PLACES = ("head", *RELATION_PLACES, "tail")
HEADER_SUFFIX = ".header.json"
IDS, TEXTS = ("triple_id",), ("head", "relation", "tail")
LINE_END = b"\r\n"

# What rows of one file have in common; the sentence names what differs.
_SAME = {
    "checkpoint": gettext_noop("the checkpoint"),
    "score": gettext_noop("how its output is read"),
    "template": gettext_noop("the template"),
    "release": gettext_noop("the release"),
    "split": gettext_noop("the split"),
    "triples": gettext_noop("the triples"),
}
_SCORE, _TORN = re.compile(rb"[0-9.e-]+\r\n"), re.compile(rb"[0-9.e-]*\r?")

Document = dict[str, Any]


# Triples as texts ----------------------------------------------------------------------------------------------


def check_template(template: str) -> str:
    """The template as it is; Refused where no text of a triple can be made with it."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        parts = [("", "", "", None)]
    names = [name for _text, name, _spec, _conversion in parts if name is not None]
    plain = not any(spec or conversion for _text, _name, spec, conversion in parts)
    once = template.count("{tail}") == names.count("tail") == 1
    if plain and once and "head" in names and set(names) <= set(PLACES) and set(names) & set(RELATION_PLACES):
        return template
    raise Refused(
        _(
            "A template has {head}, one of {relation}, {connector} and {phrase}, and {tail} once, such as "
            "“%(default)s”."
        )
        % {"default": TEMPLATE},
        options=["template"],
    )


def verbalise(template: str, wording: Wording, *, head: str, relation: str, tail: str) -> Text:
    """A triple in the words of its campaign, blanks made one; PersonX and the others stay as they are.

    `connector` is what stands between head and tail when people judge, `phrase` what the papers print.
    """
    meant = wording.relation(relation)
    if "{phrase}" in template and not meant.published_phrase:
        raise Refused(
            _("The relation “%(relation)s” has no published phrase; take {connector} in the template.")
            % {"relation": relation},
            options=["template"],
        )
    texts = {
        "head": head,
        "relation": relation,
        "connector": meant.connector.en,
        "phrase": meant.published_phrase,
        "tail": tail,
    }
    plain = {name: " ".join(text.split()) for name, text in texts.items()}
    before, place, after = template.partition("{tail}")
    return Text(before.format_map(plain), (place + after).format_map(plain))


# What is to be scored --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The rows that the file will hold, and what they are made of."""

    release: Release
    checkpoint: Checkpoint
    template: str
    split: str
    columns: Sequence[str]
    keys: Sequence[Sequence[str]]
    texts: Sequence[Text]

    @property
    def identity(self) -> Mapping[str, str]:
        """What has to be the same for rows to stand in one file."""
        return {
            "checkpoint": self.checkpoint.fingerprint,
            "score": self.checkpoint.reading,
            "template": self.template,
            "release": self.release.sha256,
            "split": self.split,
            "triples": self._digest(),
        }

    @property
    def signature(self) -> str:
        return "|".join(
            (
                f"model:{self.checkpoint.architecture}",
                f"checkpoint:{self.checkpoint.fingerprint[:12]}",
                f"score:{self.checkpoint.reading}",
                f"template:{self.template}",
                f"release:{self.release.sha256[:12]}",
                f"split:{self.split}",
                f"n:{len(self.texts)}",
            )
        )

    def header(self) -> Document:
        return {
            "form": FORM,
            "campaign": self.release.campaign.slug,
            "release_name": self.release.name,
            "folder": self.checkpoint.folder.name,
            "architecture": self.checkpoint.architecture,
            "rows": len(self.texts),
            **self.identity,
            "signature": self.signature,
        }

    def _digest(self) -> str:
        rows = [[*key, text.before, text.rest] for key, text in zip(self.keys, self.texts, strict=True)]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def plan_scores(release: Release, checkpoint: Checkpoint, *, template: str, wish: Wish) -> Plan:
    """The triples of the release that `wish` needs, in its order and in the words that were frozen with it."""
    campaign = release.campaign
    if campaign.protocol != Campaign.Protocol.TRIPLE:
        raise Refused(_("A model scores triples, and this campaign is one of compounds."))
    check_template(template)
    wording = read_wording(campaign.protocol, release.manifest.get("wording", {}))
    target = target_of(campaign, release=release)
    places = needed_places(target, campaign, wish)
    columns = IDS if _ids_tell_apart(target) else TEXTS
    return Plan(
        release=release,
        checkpoint=checkpoint,
        template=template,
        split=_split_name(wish),
        columns=columns,
        keys=[_key(place, columns) for place in places],
        texts=[verbalise(template, wording, **place.texts) for place in places],
    )


def _split_name(wish: Wish) -> str:
    """A threshold that is tuned needs the scores of dev as well."""
    return "test and dev" if wish.threshold is None and wish.split == "test" else wish.split


def _ids_tell_apart(target: Target) -> bool:
    """Texts that stand in for an id are cut where they are long, and could then be those of another triple."""
    return len({id_key(place.shown).folded for place in target.places}) == len(target.places)


def _key(place: Place, columns: Sequence[str]) -> list[str]:
    return [place.shown] if columns == IDS else [place.texts[name] for name in columns]


# The file ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A whole file: what its header says, and how many of its rows were there before."""

    header: Document
    before: int


def write_scores(
    plan: Plan,
    path: Path,
    *,
    load: Callable[[Checkpoint], Scorer],
    batch_size: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Scored:
    """Score what the file does not hold yet, batch by batch. A file that is whole asks for no model."""
    before = _rows_there(plan, path)
    if before < len(plan.texts):
        scorer = load(plan.checkpoint)
        _refuse_too_long(plan, scorer)
        with _locked(path) as file:
            before = _begin(plan, path, file, batch_size=batch_size, versions=scorer.versions)
            progress(before, len(plan.texts))
            for start in range(before, len(plan.texts), batch_size):
                rows = slice(start, start + batch_size)
                file.write(_rows(plan.keys[rows], scorer.score(plan.texts[rows])))
                file.flush()
                progress(min(start + batch_size, len(plan.texts)), len(plan.texts))
    return Scored(header=_read_header(path), before=before)


def header_of(path: Path) -> Path:
    """The file beside the scores that says what they were made of."""
    return path.with_name(path.name + HEADER_SUFFIX)


def _rows_there(plan: Plan, path: Path) -> int:
    """How many whole rows the file holds; Refused where it is another's, or can be none."""
    if not path.parent.is_dir():
        raise Refused(_("There is no folder “%(folder)s”.") % {"folder": path.parent})
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise _unwritable(path, error) from None
    return max(0, len(_known_ends(plan, path, data)) - 1)


def _begin(plan: Plan, path: Path, file: BinaryIO, *, batch_size: int, versions: Mapping[str, str]) -> int:
    """Mend the file and its header, and say how many rows stay.

    Rows of half a batch are computed again: a batch gives the same figures only with the same texts in it, and so a
    file that was made in several runs is the one that a single run makes, byte for byte.
    """
    file.seek(0)
    ends = _known_ends(plan, path, file.read())
    rows = max(0, len(ends) - 1)
    if rows < len(plan.texts):
        rows -= rows % batch_size
    file.truncate(ends[rows] if ends else 0)
    _write_header(plan, path, first=rows, run={"batch_size": batch_size, **versions})
    if not ends:
        file.write(_line([*plan.columns, "prediction"]))
    return rows


def _known_ends(plan: Plan, path: Path, data: bytes) -> list[int]:
    if not data:
        return []
    _check_header(plan, path)
    return _ends(plan, path, data.rstrip(b"\0"))  # a power cut may leave zeros


def _ends(plan: Plan, path: Path, data: bytes) -> list[int]:
    """Where the head ends, and each whole row after it.

    What the file ends with may be torn: the beginning of what would have come next. Anything else is Refused.
    """
    ends: list[int] = []
    start = head = _line([*plan.columns, "prediction"])
    if data.startswith(head):
        ends, start = [len(head)], b""
        for key in plan.keys:
            start = _line([*key, ""])[: -len(LINE_END)]
            score = _SCORE.match(data, ends[-1] + len(start)) if data.startswith(start, ends[-1]) else None
            if score is None:
                break
            ends.append(score.end())
    rest = data[ends[-1] if ends else 0 :]
    torn = start.startswith(rest) or (rest.startswith(start) and _TORN.fullmatch(rest, len(start)))
    if rest and (not torn or len(ends) > len(plan.keys)):
        raise Refused(
            _(
                "Line %(line)d of “%(file)s” is none of the rows that belong there. Name another file, or remove this "
                "one to begin anew."
            )
            % {"line": data[: len(data) - len(rest)].count(b"\n") + 1, "file": path},
            options=["output"],
        )
    return ends


def _check_header(plan: Plan, path: Path) -> None:
    header, wanted = _read_header(path), plan.identity
    if header.get("form") != FORM:
        raise Refused(
            _(
                "“%(file)s” is there already, and no “%(header)s” beside it says what it holds. Name another file."
            )
            % {"file": path, "header": header_of(path).name},
            options=["output"],
        )
    differing = [_(words) for name, words in _SAME.items() if header.get(name) != wanted[name]]
    if differing:
        raise Refused(
            _(
                "“%(file)s” was begun otherwise; what differs: %(what)s. Name another file, or remove this one to "
                "begin anew."
            )
            % {"file": path, "what": ", ".join(differing)},
            options=["output"],
        )


def _read_header(path: Path) -> Document:
    """What stands beside the scores; empty where that is no header."""
    try:
        found = json.loads(header_of(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_header(plan: Plan, path: Path, *, first: int, run: Document) -> None:
    """Say what the rows from `first` on are computed with; a run like the one before it is no new one."""
    runs = [known for known in _read_header(path).get("runs", []) if known["from_row"] < first]
    if not runs or {**runs[-1], **run} != runs[-1]:
        runs.append({"from_row": first, **run})
    beside = header_of(path)
    draft = beside.with_name(f".{beside.name}.part")
    text = json.dumps(plan.header() | {"runs": runs}, ensure_ascii=False, indent=2)
    try:
        draft.write_text(f"{text}\n", encoding="utf-8")
        draft.replace(beside)
    except OSError as error:
        raise _unwritable(beside, error) from None


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file, to be added to by nobody else meanwhile."""
    try:
        file = path.open("a+b")
    except OSError as error:
        raise _unwritable(path, error) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                _("Another run is adding to “%(file)s”; wait for its end, or name another file.")
                % {"file": path},
                options=["output"],
            ) from None
        yield file


def _unwritable(path: Path, error: OSError) -> Refused:
    return Refused(
        _("The file “%(file)s” cannot be written: %(reason)s.") % {"file": path, "reason": error.strerror}
    )


# Rows ------------------------------------------------------------------------------------------------------------


def _rows(keys: Sequence[Sequence[str]], scores: Sequence[float]) -> bytes:
    """One line a key, scores with all their digits."""
    for key, score in zip(keys, scores, strict=True):
        if not isfinite(score):
            raise Refused(
                _(
                    "The model gives no number for “%(name)s”; its weights are damaged, or it cannot read the text."
                )
                % {"name": " | ".join(key)}
            )
    return b"".join(_line([*key, repr(score)]) for key, score in zip(keys, scores, strict=True))


def _line(cells: Sequence[str]) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue().encode()


def _refuse_too_long(plan: Plan, scorer: Scorer) -> None:
    """Cut short, a triple would lose its tail, and its score would be that of another."""
    found, limit = scorer.too_long(plan.texts)
    if found:
        raise Refused(
            ngettext(
                "A triple is longer than the %(limit)d tokens that this model takes, “%(first)s”. Nothing was scored.",
                "%(n)d triples are longer than the %(limit)d tokens that this model takes, “%(first)s” first. Nothing "
                "was scored.",
                len(found),
            )
            % {"n": len(found), "limit": limit, "first": " | ".join(plan.keys[found[0]])}
        )
