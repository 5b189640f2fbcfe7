"""The app that measures them."""

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        # The registries stand beside models, which may be imported only now.
        from annotation.services import jobs, released  # noqa: PLC0415
        from scoring.services.released import labels_frozen_last  # noqa: PLC0415

        # The whole round, and the part: each part's agreement is a job of its own.
        jobs.register(
            "agreement", "scoring.agreement", after_hand_in=lambda part: [{}, {"part": part}], figures=True
        )
        jobs.register("score", "scoring.score")
        jobs.register("release", "scoring.release")
        jobs.register("measure", "scoring.measure")
        jobs.register("downstream", "scoring.downstream")
        released.register(labels_frozen_last)
