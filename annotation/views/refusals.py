"""When a service says no: the one place that turns its exceptions into pages."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpRequest, HttpResponseBase

from annotation.formats.errors import FormatError
from annotation.permissions import refused
from annotation.protocol.errors import ProtocolError
from annotation.services.errors import NotYours, Refused
from annotation.services.sentences import translated

P = ParamSpec("P")


def plain_refusals(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A refusal becomes a page with its sentence (409); what is not this person's does not exist (404).

    The last resort. A view that has a form catches `Refused` itself and shows the sentence beside what was typed:
    `form.add_error(None, refusal.message)`.
    """

    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotYours:
            raise Http404 from None
        except (Refused, ProtocolError, FormatError) as refusal:
            return refused(request, translated(refusal.message))

    return answered
