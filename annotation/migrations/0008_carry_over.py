"""Verdicts that are carried over to translations that render the compound alike. Nothing that is there is touched."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_campaign_display"),
    ]

    operations = [
        migrations.CreateModel(
            name="CarryOver",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("stretch", models.TextField()),
                ("rule", models.CharField(max_length=200)),
                ("checked", models.BooleanField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "campaign",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="carry_overs",
                        to="annotation.campaign",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="carry_over",
                        to="annotation.item",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="carried_to",
                        to="annotation.item",
                    ),
                ),
            ],
            options={
                "ordering": ["item"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("item", models.F("source")), _negated=True),
                        name="carry_over_from_another_item",
                    )
                ],
            },
        ),
    ]
