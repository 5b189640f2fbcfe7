"""Every shape that is read and written, and which one some files have."""

from annotation.formats.adapters.base import Adapter
from annotation.formats.adapters.ckbp import Ckbp
from annotation.formats.adapters.cognition import Cognition
from annotation.formats.adapters.crowdkit import CrowdKit
from annotation.formats.adapters.doccano import Doccano
from annotation.formats.adapters.hugging_face import HuggingFace
from annotation.formats.adapters.label_studio import LabelStudio
from annotation.formats.adapters.nltk import Nltk
from annotation.formats.adapters.packages import Given
from annotation.formats.errors import FormatError
from annotation.protocol.sentences import say

SHAPES: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (LabelStudio(), Doccano(), CrowdKit(), Nltk(), Ckbp(), Cognition(), HuggingFace())
}


def shape_of(found: Given, protocol: str) -> Adapter | None:
    """The shape that the files certainly have; None where they could be of several, or of none."""
    known = [adapter for adapter in shapes_for(protocol) if adapter.knows(found)]
    return known[0] if len(known) == 1 else None


def shapes_for(protocol: str) -> list[Adapter]:
    """The shapes that can hold items or judgements of a protocol."""
    return [adapter for adapter in SHAPES.values() if protocol in adapter.protocols]


def shape(name: str, protocol: str) -> Adapter:
    """The shape of that name; FormatError where there is none, or it holds nothing of the protocol."""
    adapter = SHAPES.get(name)
    if adapter is None:
        raise FormatError(
            say("There is no shape “{name}”; there are: {names}.", name=name, names=", ".join(SHAPES))
        )
    if protocol not in adapter.protocols:
        if protocol == "compound":
            raise FormatError(
                say("{title} holds triples; this campaign is one of compounds.", title=adapter.title)
            )
        raise FormatError(
            say("{title} holds compounds; this campaign is one of triples.", title=adapter.title)
        )
    return adapter
