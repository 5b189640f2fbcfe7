"""Whether a campaign was released. Releases are scoring's: it says here, once at its start, how to find out."""

from collections.abc import Callable

from annotation.models import Campaign

_known: list[Callable[[Campaign], bool]] = []


def register(has_release: Callable[[Campaign], bool]) -> None:
    """Ask this of a campaign from now on (other apps do so in AppConfig.ready)."""
    _known.append(has_release)


def is_released(campaign: Campaign) -> bool:
    """Whether something of it was frozen; one query."""
    return any(has_release(campaign) for has_release in _known)
