"""The app that measures them."""

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        # The registry stands beside models, which may be imported only now.
        from annotation.services import jobs  # noqa: PLC0415

        jobs.register("agreement", "scoring.agreement")
