"""The PostgreSQL backend: a connection that lives is not asked, one that was cut is replaced."""

from typing import Any

import psycopg2
import pytest
from django.db import connection as default
from django.db import connections

connection: Any = default  # of whichever backend

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the backend is PostgreSQL's"),
]


def test_a_connection_that_lives_is_used_without_a_question(django_assert_num_queries: Any) -> None:
    connection.ensure_connection()
    raw = connection.connection
    connection.health_check_done = False
    connection.health_check_enabled = True
    with django_assert_num_queries(1), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert connection.connection is raw
    assert connection.is_usable()


def test_a_connection_that_the_server_cut_is_replaced_before_it_is_used() -> None:
    connection.ensure_connection()
    known = connection.connection
    other = connections["default"].get_new_connection(connection.get_connection_params())
    other.autocommit = True
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [known.info.backend_pid])
    other.close()
    connection.health_check_done = False
    connection.health_check_enabled = True
    with connection.cursor() as cursor:
        cursor.execute("SELECT 17")
        assert cursor.fetchone() == (17,)
    assert connection.connection is not known


def test_after_an_error_the_server_is_asked() -> None:
    connection.ensure_connection()
    raw = connection.connection
    raw.close()
    connection.errors_occurred = True
    assert not connection.is_usable()
    assert isinstance(raw, psycopg2.extensions.connection)
    connection.close()


def test_no_statement_is_compiled() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)
