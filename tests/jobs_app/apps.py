"""Registers the kind, as apps do."""

from django.apps import AppConfig


class JobsAppConfig(AppConfig):
    name = "tests.jobs_app"

    def ready(self) -> None:
        from annotation.services import jobs

        jobs.register("slow", "tests.slow")
