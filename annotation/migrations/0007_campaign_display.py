from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0006_item_origin'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='display',
            field=models.CharField(
                choices=[
                    ('alone', 'one translation of a sentence on a screen'),
                    ('side_by_side', 'all translations of a sentence side by side'),
                ],
                default='alone',
                max_length=20,
                verbose_name='display of translations',
            ),
        ),
    ]
