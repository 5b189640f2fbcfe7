"""The compose file and the image, as far as they can be checked without Docker: what they run is run here."""

import re
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from config.management.commands.serve import Command as Serve
from tests.config.site import WITHIN, Site
from tests.conftest import ROOT, StartManage, eventually

COMPOSE = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def manage_arguments(command: list[str]) -> list[str]:
    assert command[:2] == ["python", "manage.py"]
    return command[2:]


def test_it_has_four_services_each_with_a_health_check() -> None:
    assert set(SERVICES) == {"web", "worker", "postgres", "redis"}
    assert all(service["healthcheck"]["test"][0] == "CMD" for service in SERVICES.values())


@pytest.mark.parametrize("name", ["SECRET_KEY", "POSTGRES_PASSWORD"])
def test_it_does_not_start_without_its_secrets(name: str) -> None:
    uses = re.findall(rf"\$\{{{name}\b([^}}]*)\}}", COMPOSE)
    assert uses
    assert all(use.startswith(":?set ") for use in uses)


def test_it_is_reached_from_this_machine_only() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize("service", ["web", "worker"])
def test_it_runs_commands_that_exist(service: str) -> None:
    name, *options = manage_arguments(SERVICES[service]["command"])
    load_command_class("config", name).create_parser("manage.py", name).parse_args(options)


def test_its_image_runs_what_the_web_service_runs() -> None:
    assert f"CMD {str(SERVICES['web']['command']).replace(chr(39), chr(34))}" in DOCKERFILE.splitlines()
    assert Serve().create_parser("manage.py", "serve").parse_args(["--web-only"]).web_only


def test_its_image_installs_the_lock_and_is_not_root() -> None:
    assert "pip install --require-hashes -r requirements.lock" in DOCKERFILE
    assert "\nUSER assay\n" in DOCKERFILE


def test_its_image_holds_the_folders_that_the_site_needs() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert kept == {
        *("annotation", "config", "scoring", "locale", "static", "templates"),
        *("manage.py", "requirements.lock"),
    }


def test_its_web_and_worker_work_together(
    live_database_url: str, start_manage: StartManage, used_site: Site
) -> None:
    """The very commands of the file, and the worker's health check, on the database that these tests run on."""
    check = manage_arguments(SERVICES["worker"]["healthcheck"]["test"][1:])
    used_site.up(*manage_arguments(SERVICES["web"]["command"])[1:], DATABASE_URL=live_database_url)
    assert used_site.status() == 200
    checked = start_manage(*check, DATABASE_URL=live_database_url)
    assert checked.process.wait(timeout=WITHIN) == 1
    assert "No worker" in checked.log.read_text()
    start_manage(*manage_arguments(SERVICES["worker"]["command"]), DATABASE_URL=live_database_url)
    assert eventually(
        lambda: start_manage(*check, DATABASE_URL=live_database_url).process.wait(timeout=WITHIN) == 0,
        within=WITHIN,
    )
