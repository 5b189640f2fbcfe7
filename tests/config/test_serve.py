"""One command starts everything, and nothing of it stays behind."""

import os
import signal
import socket

import pytest

from tests.config.site import WITHIN, Site


def test_it_starts_in_an_empty_folder_and_stops_on_ctrl_c(site: Site) -> None:
    first = site.up("--sample")
    assert site.status() == 200
    assert "/invitation/" in first.log.read_text()
    assert "manage.py sign_in_links" not in first.log.read_text()
    assert len(site.processes(command="manage.py worker")) == 1
    os.killpg(first.process.pid, signal.SIGINT)
    assert first.process.wait(timeout=20) == 0
    assert site.all_gone()

    second = site.up("--sample")
    assert "/invitation/" not in second.log.read_text()  # the sample was there already
    assert "manage.py sign_in_links" in second.log.read_text()
    second.process.send_signal(signal.SIGTERM)
    assert second.process.wait(timeout=20) == 0
    assert site.all_gone()


def test_it_leaves_nothing_running_when_it_is_killed(used_site: Site) -> None:
    started = used_site.up()
    assert len(used_site.processes()) >= 4
    started.process.send_signal(signal.SIGKILL)
    started.process.wait()
    assert used_site.all_gone()


@pytest.mark.parametrize(
    ("child", "sentence"),
    [("manage.py worker", "The worker ended by itself"), ("granian", "The web server ended by itself")],
)
def test_it_fails_when_a_child_dies(used_site: Site, child: str, sentence: str) -> None:
    started = used_site.up()
    os.kill(min(used_site.processes(command=child)), signal.SIGKILL)
    assert started.process.wait(timeout=30) == 1
    assert sentence in started.log.read_text()
    assert used_site.all_gone()


def test_it_says_in_plain_words_that_the_port_is_in_use(site: Site) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(site.port)))
        other.listen()
        started = site.start()
        assert started.process.wait(timeout=WITHIN) == 1
    said = started.log.read_text()
    assert f"Cannot listen on 127.0.0.1:{site.port} (Address already in use)" in said
    assert "Traceback" not in said
    assert not (site.folder / "assay.sqlite3").exists()


def test_it_fails_when_the_first_page_does(used_site: Site) -> None:
    started = used_site.start(DJANGO_SETTINGS_MODULE="tests.config.broken_settings")
    assert started.process.wait(timeout=WITHIN) == 1
    assert "The first page fails (HTTP 500)" in started.log.read_text()
    assert used_site.all_gone()
