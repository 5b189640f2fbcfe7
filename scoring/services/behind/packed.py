"""A list of items as text that a form carries: for figures of a file that is not kept."""

import base64
import binascii
import zlib
from collections.abc import Iterable

from annotation.protocol.sentences import say
from annotation.services.errors import Refused

MOST = 4_000_000  # characters of the unpacked list: some 400,000 items


def packed(items: Iterable[int]) -> str:
    """Items in their order, short enough for a hidden field.

    >>> unpacked(packed([3, 1, 2]))
    [3, 1, 2]
    """
    listed = " ".join(map(str, items)).encode()
    return base64.urlsafe_b64encode(zlib.compress(listed)).decode()


def unpacked(text: str) -> list[int]:
    """The items that `packed` made this of; Refused where it made no such text."""
    try:
        unzip = zlib.decompressobj()
        listed = unzip.decompress(base64.urlsafe_b64decode(text.encode()), MOST)
        if unzip.unconsumed_tail:
            raise ValueError("too long")
        return [int(one) for one in listed.decode("ascii").split()]
    except (ValueError, binascii.Error, zlib.error):
        raise Refused(
            say("This list of items is damaged; open it again from the page of the figure.")
        ) from None
