"""What PostgreSQL knows of its tables after a bulk write.

Its plans go by counts that its own daemon renews only every minute or so. A report that is asked for right after
an import would be planned for empty tables, and could take hours for what takes milliseconds.
"""

from django.db import connection, models


def renew_counts(*tables: type[models.Model]) -> None:
    """Let the planner look at these tables now; some tenths of a second, whatever their size.

    SQLite plans by the indexes alone and needs no counts.
    """
    if connection.vendor != "postgresql":
        return
    names = ", ".join(connection.ops.quote_name(table._meta.db_table) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {names}")
