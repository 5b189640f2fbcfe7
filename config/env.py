"""Reading the environment; a bad value fails loudly, at start, with the name of the variable."""

import os
from pathlib import Path

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


def env_int(name: str, default: int, *, low: int = 1) -> int:
    """A whole number of at least `low`."""
    value = env_str(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if number < low:
        raise ImproperlyConfigured(f"{name} must be at least {low}, not {number}.")
    return number


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
