"""What parts are called: those of the main round by their number, those of other rounds by the round.

Hidden repeats stand in parts of the main round, and go by these.
"""

from django.utils.translation import gettext as _

from annotation.models import Round


def part_name(kind: str, number: int, index: int, *, place: int = 1, of: int = 1) -> str:
    """What people call a part. `place` counts an expert's parts `of` the same round, named where there are several."""
    if kind in (Round.Kind.MAIN, Round.Kind.REPEAT):
        return _("Part %(part)d") % {"part": index + 1}
    name = _ROUNDS[Round.Kind(kind)]() % {"number": number}
    return name if of == 1 else _("%(round)s, part %(part)d") % {"round": name, "part": place}


_ROUNDS = {
    Round.Kind.DRY_RUN: lambda: _("Dry run %(number)d"),
    Round.Kind.RESOLUTION: lambda: _("Resolution %(number)d"),
    Round.Kind.REJUDGEMENT: lambda: _("Second look %(number)d"),
    Round.Kind.SPOT_CHECK: lambda: _("Spot check %(number)d"),
}
