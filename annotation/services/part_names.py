"""What parts are called, and which part a screen is shown in.

A part of the main round goes by its number. A part of another round goes by the round. Hidden repeats stand in parts
of their own whose index is the index of the part they are mixed into, so many times `REPEATS` further on: to their
expert they are units of that part like all others.
"""

from django.utils.translation import gettext as _

from annotation.models import Round

REPEATS = 1_000_000


def shown_part(index: int) -> int:
    """The index under which an expert meets a part.

    >>> shown_part(3), shown_part(10_002), shown_part(2 * REPEATS + 3)
    (3, 10002, 3)
    """
    return index % REPEATS


def part_name(kind: str, number: int, index: int, *, place: int = 1, of: int = 1) -> str:
    """What people call a part. `place` counts an expert's parts `of` the same round, named where there are several."""
    if kind in (Round.Kind.MAIN, Round.Kind.REPEAT):
        return _("Part %(part)d") % {"part": shown_part(index) + 1}
    name = _ROUNDS[kind]() % {"number": number}
    return name if of == 1 else _("%(round)s, part %(part)d") % {"round": name, "part": place}


_ROUNDS = {
    Round.Kind.DRY_RUN: lambda: _("Dry run %(number)d"),
    Round.Kind.RESOLUTION: lambda: _("Resolution %(number)d"),
    Round.Kind.REJUDGEMENT: lambda: _("Second look %(number)d"),
    Round.Kind.SPOT_CHECK: lambda: _("Spot check %(number)d"),
}
