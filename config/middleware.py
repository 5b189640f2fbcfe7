"""A rule that holds for every page: it is private."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_vary_headers

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def private_responses(get_response: GetResponse) -> GetResponse:
    """Nothing a person sees is kept by their browser or a proxy: Back after signing out shows no item."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if not request.path.startswith(settings.STATIC_URL):
            response.headers["Cache-Control"] = "no-store"
            patch_vary_headers(response, ["Cookie"])
        return response

    return middleware
