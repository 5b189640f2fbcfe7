"""Indexes that another one makes needless: every saved answer had to write them.

The unique constraints of the two tables begin with the same columns, and nobody looks annotations up by their
guideline. Only the indexes are dropped; the tables, however long, are neither copied nor checked anew.
"""

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NEEDLESS = [("Assignment", "round"), ("Annotation", "assignment"), ("Annotation", "guideline")]


def drop(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    quote = editor.connection.ops.quote_name
    for model_name, field_name in NEEDLESS:
        model = apps.get_model("annotation", model_name)
        column = model._meta.get_field(field_name).column
        with editor.connection.cursor() as cursor:
            known = editor.connection.introspection.get_constraints(cursor, model._meta.db_table)
        for name, constraint in known.items():
            if constraint["index"] and not constraint["unique"] and constraint["columns"] == [column]:
                editor.execute(f"DROP INDEX {quote(name)}")


def add(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    for model_name, field_name in NEEDLESS:
        model = apps.get_model("annotation", model_name)
        editor.execute(editor._create_index_sql(model, fields=[model._meta.get_field(field_name)]))  # type: ignore[attr-defined]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_questions")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop, add)],
            state_operations=[
                migrations.AlterField(
                    model_name="assignment",
                    name="round",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="annotation.round",
                    ),
                ),
                migrations.AlterField(
                    model_name="annotation",
                    name="assignment",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="annotations",
                        to="annotation.assignment",
                    ),
                ),
                migrations.AlterField(
                    model_name="annotation",
                    name="guideline",
                    field=models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.guideline",
                    ),
                ),
            ],
        )
    ]
