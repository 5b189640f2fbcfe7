"""The project's own commands (serve, worker) live here."""

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    name = "config"
