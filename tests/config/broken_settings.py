"""Settings under which no page can be shown."""

from config.settings import *  # noqa: F403

ROOT_URLCONF = "tests.config"  # a module without addresses
