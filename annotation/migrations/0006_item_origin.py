from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_process'),
    ]

    operations = [
        migrations.AddField(
            model_name='item',
            name='origin',
            field=models.JSONField(default=dict),
        ),
    ]
