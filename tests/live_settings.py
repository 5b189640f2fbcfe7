"""The project's settings and the app of slow jobs, for processes that tests start."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as PROJECT_APPS

INSTALLED_APPS = [*PROJECT_APPS, "tests.jobs_app"]
