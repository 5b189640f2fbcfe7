"""Static files are collected at the first start, and again where one of them has changed."""

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from django.conf import settings
from django.contrib.staticfiles.finders import get_finder
from django.contrib.staticfiles.storage import staticfiles_storage

from config.management.commands.serve import collect_static_files


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A static file, in a site whose data folder is still empty."""
    made = tmp_path / "static" / "app.css"
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "var")
    monkeypatch.setattr(settings, "STATIC_ROOT", settings.DATA_DIR / "static")
    monkeypatch.setattr(settings, "STATICFILES_DIRS", [made.parent])
    monkeypatch.setattr(staticfiles_storage, "location", str(settings.STATIC_ROOT))
    get_finder.cache_clear()  # type: ignore[attr-defined]
    settings.DATA_DIR.mkdir()
    made.parent.mkdir()
    made.write_text("p { margin: 0 }")
    yield made
    get_finder.cache_clear()  # type: ignore[attr-defined]


def test_it_collects_again_only_where_a_file_changed(source: Path) -> None:
    collected = settings.STATIC_ROOT / "app.css"
    collect_static_files()
    collected.unlink()
    collect_static_files()
    assert not collected.exists()

    source.write_text("p { margin: 1rem }")
    collect_static_files()
    assert collected.read_text() == "p { margin: 1rem }"


def test_it_collects_again_what_was_removed(source: Path) -> None:
    collect_static_files()
    rmtree(settings.STATIC_ROOT)
    collect_static_files()
    assert (settings.STATIC_ROOT / "app.css").exists()
