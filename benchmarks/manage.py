"""Commands of a benchmark site: filling it."""

import json
import os
import sys
from pathlib import Path

import django
from django.core.management import call_command, execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
    if sys.argv[1] == "fill":
        django.setup()
        call_command("migrate", verbosity=0)
        from benchmarks.fill import fill

        fill(n_items=int(sys.argv[2]), n_experts=int(sys.argv[3]), answered="answered" in sys.argv)
    elif sys.argv[1] == "plan":
        django.setup()
        from benchmarks.plans import scans

        print(json.dumps(scans()))  # noqa: T201
    elif sys.argv[1] == "stats":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before NumPy counts the cores
        django.setup()
        from benchmarks.stats_inside import run

        print(json.dumps(run(sys.argv[2])))  # noqa: T201
    elif sys.argv[1] == "bulk":
        django.setup()
        call_command("migrate", verbosity=0)
        from benchmarks.bulk import import_and_export

        print(json.dumps(import_and_export(Path(sys.argv[2]), Path(sys.argv[3]))))  # noqa: T201
    else:
        execute_from_command_line(sys.argv)
