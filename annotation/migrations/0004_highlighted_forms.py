"""What a campaign highlights in translations. No answer is touched."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_fewer_indexes")]

    operations = [
        migrations.AddField(
            model_name="campaign", name="highlighted_forms", field=models.JSONField(default=dict)
        ),
    ]
