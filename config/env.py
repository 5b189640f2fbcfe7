"""Reading the environment; a bad value fails loudly, at start, with the name of the variable."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import dj_database_url
from django.core.exceptions import ImproperlyConfigured


def env_str(name: str, default: str = "") -> str:
    """The variable, or the default where it is unset or empty (compose files pass empty strings)."""
    return os.environ.get(name, "") or default


def env_bool(name: str, *, default: bool = False) -> bool:
    """A yes-or-no variable; anything but the usual spellings is refused."""
    value = env_str(name, "yes" if default else "no").lower()
    if value in ("1", "true", "yes", "on"):
        return True
    if value in ("0", "false", "no", "off"):
        return False
    raise ImproperlyConfigured(f"{name} must be yes or no, not {value!r}.")


def env_int(name: str, default: int, *, low: int = 1, high: int | None = None) -> int:
    """A whole number of at least `low` and at most `high`."""
    value = env_str(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if number < low:
        raise ImproperlyConfigured(f"{name} must be at least {low}, not {number}.")
    if high is not None and number > high:
        raise ImproperlyConfigured(f"{name} must be at most {high}, not {number}.")
    return number


def env_url(name: str, default: str) -> SplitResult:
    """The address of a site, in its parts."""
    value = env_str(name, default).rstrip("/")
    try:
        url = urlsplit(value)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ImproperlyConfigured(f"{name} must be like https://assay.example.org, not {value!r}.")
    return url


def env_database(name: str, default: str, **settings: Any) -> Any:
    """The database at this address, as Django wants it. The address, which may hold a password, is not told."""
    try:
        return dj_database_url.parse(env_str(name, default), **settings)
    except ValueError:  # of which those of dj_database_url are kinds
        raise ImproperlyConfigured(
            f"{name} must be like postgres://user:password@host/name or sqlite:///relative.db."
        ) from None


def env_folder(name: str, default: str) -> Path:
    """A folder, made where there is none."""
    path = Path(env_str(name, default)).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} must be a folder that can be made, not {str(path)!r} ({error.strerror})."
        ) from None
    return path


def env_zone(name: str, default: str) -> str:
    """A time zone that the machine knows."""
    value = env_str(name, default)
    try:
        ZoneInfo(value)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise ImproperlyConfigured(f"{name} must be a time zone like Asia/Shanghai, not {value!r}.") from None
    return value


def env_list(name: str) -> list[str]:
    """A comma-separated list; blanks are dropped."""
    return [part.strip() for part in env_str(name).split(",") if part.strip()]


def secret_key(data_dir: Path, *, make: str) -> str:
    """SECRET_KEY, or the one kept in the data folder: made once, readable by its owner only.

    Two processes may start at once: the file is written whole under a name of its own and then linked, so
    that exactly one of them wins and both read the same key.
    """
    given = env_str("SECRET_KEY")
    if given:
        return given
    path = data_dir / "secret_key"
    if not path.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        draft = data_dir / f".secret_key.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: its key is the key
        finally:
            draft.unlink()
    return path.read_text().strip()
