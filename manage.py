#!/usr/bin/env python
"""The command line: `python manage.py help`."""

import os
import signal
import sys

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command that was asked for. A setting that cannot be used ends it with one sentence and 2; a reader that
    has gone, such as `head`, as it ends other programs.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        settings.INSTALLED_APPS  # noqa: B018 (reads the environment)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the last flush complains again
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
