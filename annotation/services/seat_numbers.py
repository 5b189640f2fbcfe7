"""The numbers by which an expert's page and programs know the rows of their screens.

A primary key says when a row was stored, and so tells a hidden repeat from the rows around it, which were stored long
before. So nothing that an expert gets holds one: whatever goes out bears a number of the row, and whatever comes in is
turned back before anything else is done with it. Numbers are primary keys under a permutation that only the server
knows: a Feistel network of four rounds (Luby and Rackoff 1988) over 52 bits, whose key comes from SECRET_KEY and the
expert. They are whole numbers from 1 that a browser holds exactly, the same in every request and process, and need no
query. Every number is some row's, so that one made up, or another's, is looked up like any other, and not found.

The key is SECRET_KEY's because it must be known to nobody: a campaign's seed is small, and published with its plan.
"""

from functools import lru_cache
from hashlib import blake2s
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

BITS = 26  # of each half
HALF = 1 << BITS
ROUNDS = 4
LARGEST = HALF * HALF


def number_of(assignment: int, *, expert: int) -> int:
    """The number under which this expert knows an assignment."""
    return _number(assignment, expert, settings.SECRET_KEY)


def assignment_of(number: int, *, expert: int) -> int:
    """The assignment that this expert knows under a number. Beyond all numbers it is left as it is: no row has it."""
    return _assignment(number, expert, settings.SECRET_KEY) if 1 <= number <= LARGEST else number


# A row's number comes up several times in a request, and again in the next.
@lru_cache(maxsize=4096)
def _number(assignment: int, expert: int, secret: str) -> int:
    left, right = divmod(assignment, HALF)
    for keyed in _rounds(expert, secret):
        left, right = right, left ^ _scrambled(right, keyed)
    return left * HALF + right + 1


@lru_cache(maxsize=4096)
def _assignment(number: int, expert: int, secret: str) -> int:
    left, right = divmod(number - 1, HALF)
    for keyed in reversed(_rounds(expert, secret)):
        left, right = right ^ _scrambled(left, keyed), left
    return left * HALF + right


@lru_cache(maxsize=1024)
def _rounds(expert: int, secret: str) -> tuple[Any, ...]:
    """A hash for each round that has taken in its key: copying it is cheaper than keying it anew."""
    key = salted_hmac("annotation.seat_numbers", str(expert), secret=secret, algorithm="sha256").digest()
    return tuple(blake2s(key=key, digest_size=4, salt=bytes([place])) for place in range(ROUNDS))


def _scrambled(half: int, keyed: Any) -> int:
    hashed = keyed.copy()
    hashed.update(half.to_bytes(4, "big"))
    return int.from_bytes(hashed.digest(), "big") & (HALF - 1)
