"""Signed-cookie sessions whose signature is checked once a minute and not at every request."""

import time
from copy import deepcopy
from functools import lru_cache
from typing import Any

from django.contrib.sessions.backends.signed_cookies import SessionStore as SignedCookies


class SessionStore(SignedCookies):
    """As Django's own; a cookie that was found good is known for the rest of the minute, in this process."""

    def load(self) -> dict[str, Any]:
        found = _opened(self.session_key, int(time.time()) // 60)
        if found is None:
            self.create()
            return {}
        return deepcopy(found)


@lru_cache(maxsize=1000)
def _opened(cookie: str, minute: int) -> dict[str, Any] | None:
    """What the cookie holds; None where it is not one of ours or too old."""
    store = SignedCookies(cookie)
    found = store.load()
    return None if store.modified else found
