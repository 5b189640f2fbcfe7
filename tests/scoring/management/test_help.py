"""What the commands say of themselves, for all of them."""

from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest
from django.core.management import load_command_class

import annotation.management.commands
import scoring.management.commands

ROOMS = {"annotation": annotation.management.commands, "scoring": scoring.management.commands}
COMMANDS = [
    (app, path.stem)
    for app, room in ROOMS.items()
    for path in sorted(Path(room.__path__[0]).glob("[a-z]*.py"))
]
EVERY = pytest.mark.parametrize(("app", "name"), COMMANDS)


def arguments(parser: ArgumentParser) -> Iterator[Action]:
    """Those of a command and of what it can be told to do."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for one in action.choices.values():
                yield from arguments(one)
        else:
            yield action


def parser_of(app: str, name: str) -> ArgumentParser:
    return load_command_class(app, name).create_parser("manage.py", name)


@EVERY
def test_it_says_what_each_argument_is(app: str, name: str) -> None:
    silent = [one.dest for one in arguments(parser_of(app, name)) if not one.help or one.help == SUPPRESS]
    django = {"version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color"}
    assert set(silent) <= django | {"skip_checks"}


@EVERY
def test_it_names_choices_in_words(app: str, name: str) -> None:
    in_code = [
        one.dest
        for one in arguments(parser_of(app, name))
        if any(isinstance(choice, Enum) for choice in one.choices or ())
    ]
    assert in_code == []


def test_it_says_that_table_1_is_the_statistics() -> None:
    assert "Table 1" in " ".join(parser_of("scoring", "report").format_help().split())
