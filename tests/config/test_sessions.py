"""Sessions: what a cookie holds is looked at once a minute, and nobody changes it for another request."""

import time

import pytest
from django.core import signing

from config.sessions import SessionStore


def cookie(**data: object) -> str:
    store = SessionStore()
    store.update(data)
    store.save()
    assert store.session_key is not None
    return store.session_key


def test_it_reads_what_was_stored_and_checks_it_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    given = cookie(person="1", more={"a": [1]})
    assert SessionStore(given)["more"] == {"a": [1]}
    monkeypatch.setattr(signing, "loads", lambda *args, **options: pytest.fail("checked again"))
    first = SessionStore(given)
    first["more"]["a"].append(2)
    assert SessionStore(given)["more"] == {"a": [1]}


def test_a_cookie_that_was_changed_or_is_too_old_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    given = cookie(person="1")
    for bad in (given[:-1] + ("a" if given[-1] != "a" else "b"), "nonsense"):
        store = SessionStore(bad)
        assert list(store.keys()) == []
        assert store.modified
    assert list(SessionStore(given).keys()) == ["person"]
    later = time.time() + SessionStore().get_session_cookie_age() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert list(SessionStore(given).keys()) == []
