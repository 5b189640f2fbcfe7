"""Django's SQLite backend; the queue of writers is added here."""

from django.db.backends.sqlite3.base import DatabaseWrapper

__all__ = ["DatabaseWrapper"]
