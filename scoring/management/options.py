"""Options that several commands take."""

from annotation.management.base import Usage, number

TUNE = "tune"


def threshold_of(text: str) -> float | None:
    """The number in `--threshold`; None for dev's highest F1; Usage for anything else."""
    if text == TUNE:
        return None
    try:
        return number(text)
    except ValueError:
        raise Usage(f"--threshold takes a number or {TUNE}, not “{text}”.") from None
