"""How the database goes about saving an answer: the tables it looks at, and by which index."""

from django.db import connection

from annotation.services import answers_sql

# What grows with a campaign: on PostgreSQL by name, on SQLite, which leaves names out, by the statements' aliases.
LARGE = {
    "annotation_assignment": "aos",
    "annotation_annotation": "n",
    "annotation_unit": "u",
    "annotation_item": "i",
    "annotation_context": "x",
}


def scans() -> list[str]:
    """Every look at a large table, as the database words it: `Index Scan using assignment_open on … o`."""
    return _postgresql() if connection.vendor == "postgresql" else _sqlite()


def _postgresql() -> list[str]:
    answers_sql.prepare()
    lines: list[str] = []
    with connection.cursor() as cursor:
        for name, (types, _statement) in answers_sql.PREPARED.items():
            # The plan is the same whatever the values, so none are needed.
            values = ", ".join(["NULL"] * (types.count(",") + 1))
            cursor.execute(f"EXPLAIN (COSTS OFF) EXECUTE {name} ({values})")
            lines += [row[0].strip(" ->") for row in cursor.fetchall()]
    return [line for line in lines if "Scan" in line and any(f" on {table} " in line for table in LARGE)]


def _sqlite() -> list[str]:
    statements = (
        answers_sql.READ.format(
            slug="?",
            expert="?",
            ids="IN (?)",
            screen="?",
            listed="group_concat(open_round.id)",
            known="group_concat(acknowledged.id || ':' || acknowledged.version)",
            own_wording="json_remove(c.wording, '$.relations', '$.class_groups')",
        ),
        answers_sql.SET.replace("%s", "?"),
        answers_sql.NEXT_SQLITE.format(round="?", expert="?", after="?", count="?", but=""),
    )
    lines: list[str] = []
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}".replace("?", "NULL"))
            lines += [row[3] for row in cursor.fetchall()]
    aliases = set("".join(LARGE.values()))
    return [line for line in lines if line.split()[1] in aliases or "GROUP BY" in line]
