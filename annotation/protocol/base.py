"""The protocols by name."""

from collections.abc import Mapping
from types import MappingProxyType

from annotation.protocol.compound import COMPOUND
from annotation.protocol.definition import Answer, Choice, Column, Protocol, Words
from annotation.protocol.errors import ProtocolError
from annotation.protocol.sentences import say
from annotation.protocol.triple import TRIPLE

__all__ = ["PROTOCOLS", "Answer", "Choice", "Column", "Protocol", "Words", "get_protocol"]

PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({COMPOUND.name: COMPOUND, TRIPLE.name: TRIPLE})


def get_protocol(name: str) -> Protocol:
    """The protocol of that name; an unknown name is a ProtocolError that lists the known ones.

    >>> get_protocol("triple").labels
    ('0', '0.5', '1')
    """
    try:
        return PROTOCOLS[name]
    except KeyError:
        known = " and ".join(PROTOCOLS)
        raise ProtocolError(
            say("There is no protocol “{name}”; the protocols are {known}.", name=name, known=known)
        ) from None
