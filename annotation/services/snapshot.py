"""Reading a campaign as it stood at one moment, however long the reading takes."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[None]:
    """All queries inside see the same state; nobody's save waits for it.

    PostgreSQL: a read-only transaction at REPEATABLE READ. SQLite: a plain BEGIN, which reads one state of the
    write-ahead log (Django's own transactions are IMMEDIATE and would hold up every writer). Inside a
    transaction or a snapshot that is open already, its own view is used.
    """
    if connection.in_atomic_block or _in_snapshot():
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def _in_snapshot() -> bool:
    """On SQLite Django does not know of the BEGIN above; the driver does."""
    return connection.vendor == "sqlite" and bool(getattr(connection.connection, "in_transaction", False))
