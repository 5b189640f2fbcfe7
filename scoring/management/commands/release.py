"""Freeze a campaign into a release."""

import shutil
import zipfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.management.base import AssayCommand, Outcome, changeable_campaign
from annotation.services.errors import Refused
from scoring.models import Release
from scoring.services.release_content import SplitWish
from scoring.services.releases import SPLIT_RULES, archive_of, freeze, same_state


class Command(AssayCommand):
    """`release SLUG NAME`"""

    help = (
        "Freeze items, labels, votes under pseudonyms, split, guidelines and design into one unchanging file."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", help="the campaign's address")
        parser.add_argument("name", help="what the release is called, such as v1; never used twice")
        parser.add_argument(
            "--split",
            choices=SPLIT_RULES,
            help="default: keep the items' own split; without one the rule default for triples, none for compounds",
        )
        parser.add_argument("--seed", type=int, default=0, help="of the split")
        parser.add_argument("--by-head", action="store_true", help="triples of one head stay on one side")
        parser.add_argument("-o", "--output", help="also write it here: a .zip file, or else a new folder")

    def run(self, **options: Any) -> Outcome:
        campaign = changeable_campaign(options["slug"])
        wish = SplitWish(rule=options["split"], seed=options["seed"], by_head=options["by_head"])
        release = freeze(campaign, options["name"], wish=wish, by=None)
        if options["output"]:
            _copy(release, Path(options["output"]))
        document = {
            "release": release.name,
            "sha256": release.sha256,
            "size": release.size,
            "output": options["output"],
            "same_as": same_state(release),
            **release.manifest,
        }
        return Outcome(document, _summary(release, options["output"]))


def _copy(release: Release, target: Path) -> None:
    archive = archive_of(release)
    try:
        if target.suffix == ".zip":
            shutil.copyfile(archive, target)
            return
        if target.exists():
            raise Refused(f"“{target}” is there already; name a folder that is not.")
        with zipfile.ZipFile(archive) as source:
            root = f"{release.campaign.slug}/"
            for name in source.namelist():
                path = target / name.removeprefix(root)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(source.read(name))
    except OSError as error:
        raise Refused(f"“{target}” cannot be written: {error.strerror}.") from None


def _summary(release: Release, output: str | None) -> str:
    manifest = release.manifest
    lines = [
        f"Release {release.name} of {manifest['campaign']}: {manifest['items']} items, {manifest['labelled']} of them "
        f"labelled, {manifest['votes']} votes; sha256 {release.sha256}.",
        *(f"The same state as {name}, byte for byte." for name in same_state(release)[:1]),
        f"Split by {manifest['split']['rule']}: "
        + ", ".join(f"{name} {count}" for name, count in manifest["split"]["items"].items())
        + ".",
    ]
    if manifest["leakage"]:
        found = manifest["leakage"]
        lines.append(
            f"Leakage: triples on both sides: {found['triples_on_both_sides']}; test items whose head is in dev: "
            f"{found['test_units_with_head_in_dev']}."
        )
    lines.append(
        f"It is kept as {archive_of(release)}" + (f", and was written to {output}." if output else ".")
    )
    return "\n".join(lines)
