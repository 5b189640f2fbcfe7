"""The project's own commands (serve, worker) live here."""

from django.apps import AppConfig

from config.celery import app as celery_app  # noqa: F401  every process publishes to our broker


class ProjectConfig(AppConfig):
    name = "config"
