"""The least a saving view can do: one select, one insert, a short answer. Same server, same middleware."""

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

TABLE = "benchmark_bare"


@login_not_required
@csrf_exempt
def bare(request: HttpRequest) -> JsonResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, revision FROM annotation_assignment ORDER BY id LIMIT 1")
        row = cursor.fetchone()
        cursor.execute(f"INSERT INTO {TABLE} (body) VALUES (%s)", [request.body.decode()])
    return JsonResponse({"row": row})


def create_table() -> None:
    """A table of its own, as narrow as an annotation is wide."""
    key = "bigserial PRIMARY KEY" if connection.vendor == "postgresql" else "integer PRIMARY KEY"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (id {key}, body text)")
