"""Chance and fingerprints: SHA-256 of what they are of, the same on every platform and every Python version.

No generator is used, so a key that is added later changes nothing for any other.
"""

import hashlib
import json


def chance(*of: str | int) -> bytes:
    """32 bytes that nobody chose: equal for equal arguments. Sorted by them, keys stand in an order of chance.

    >>> chance("unit", 1, "lin").hex()[:8]
    'd338d7df'
    """
    return hashlib.sha256(canonical(of)).digest()


def fingerprint(of: object) -> str:
    """The SHA-256 of the canonical JSON, in hexadecimal: equal only for equal values.

    >>> fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical(of)).hexdigest()


def canonical(value: object) -> bytes:
    """JSON with sorted keys and without blanks, in UTF-8.

    >>> canonical({"b": [1], "a": "的"}).decode()
    '{"a":"的","b":[1]}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
