"""The project's settings with one view more: the bare one that everything is compared with."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "benchmarks.urls"
ALLOWED_HOSTS = ["127.0.0.1"]
