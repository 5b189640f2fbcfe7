"""A page for who reloads without a network: a service worker answers with it and does nothing else."""

import json
from contextlib import nullcontext

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import translation
from django.views.decorators.http import require_safe


@login_not_required
@require_safe
def offline_worker(request: HttpRequest) -> HttpResponse:
    """The worker, with the page in the `language` that is asked for or else the reader's; it knows nobody."""
    language = request.GET.get("language", "")
    known = language in dict(settings.LANGUAGES)
    with translation.override(language) if known else nullcontext():
        page = json.dumps(render_to_string("annotation/offline.html"))
    script = render_to_string("annotation/offline_worker.js", {"page": page})
    return HttpResponse(script, content_type="text/javascript; charset=utf-8")
