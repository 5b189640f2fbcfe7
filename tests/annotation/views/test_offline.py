"""The page of the service worker, which says in the reader's language that there is no network."""

import pytest
from django.test import Client


@pytest.mark.parametrize(
    ("query", "accepted", "said"),
    [
        ("", "en", "No network"),
        ("", "zh-hans", "\\u6ca1\\u6709\\u7f51\\u7edc"),
        ("?language=zh-hans", "en", "\\u6ca1\\u6709\\u7f51\\u7edc"),
        ("?language=en", "zh-hans", "No network"),
        ("?language=de", "en", "No network"),
        ("?language=../x", "zh-hans", "\\u6ca1\\u6709\\u7f51\\u7edc"),
    ],
)
def test_the_page_is_in_the_language_that_is_asked_for(query: str, accepted: str, said: str) -> None:
    answer = Client().get(f"/offline.js{query}", headers={"Accept-Language": accepted})
    assert answer.status_code == 200
    assert said in answer.content.decode()
