"""What a campaign needs for its whole process: rounds, batches, discussion, guidelines by version. No answer is touched."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0004_highlighted_forms'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='archived_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='campaign',
            name='closed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='campaign',
            name='names_in_discussion',
            field=models.BooleanField(default=False, verbose_name='pseudonyms beside answers under discussion'),
        ),
        migrations.AddField(
            model_name='campaign',
            name='wording',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='design',
            name='closed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='guideline',
            name='change_en',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='guideline',
            name='change_zh',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='guideline',
            name='touches',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='invitation',
            name='revoked_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='item',
            name='exposed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='closed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='due_on',
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='outcome',
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='settings',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='user',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='item',
            name='retired_why',
            field=models.CharField(blank=True, choices=[('withdrawn', 'withdrawn'), ('replaced', 'replaced by a corrected text'), ('set_aside', 'set aside for a dry run')], max_length=10),
        ),
        migrations.CreateModel(
            name='Example',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('relation', models.CharField(max_length=40)),
                ('head', models.TextField()),
                ('tail', models.TextField()),
                ('label', models.CharField(max_length=3)),
                ('why_en', models.TextField(blank=True)),
                ('why_zh', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('retired_at', models.DateTimeField(null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='annotation.campaign')),
            ],
            options={
                'ordering': ['relation', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Gold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('label', models.CharField(max_length=3)),
                ('note', models.CharField(blank=True, max_length=500)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='gold', to='annotation.item')),
            ],
            options={
                'ordering': ['item'],
            },
        ),
        migrations.CreateModel(
            name='Thread',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('opened_at', models.DateTimeField(auto_now_add=True)),
                ('decision', models.TextField(blank=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('guideline', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='threads', to='annotation.guideline')),
                ('item', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='thread', to='annotation.item')),
                ('opened_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('resolved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['opened_at', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Acknowledgement',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('guideline', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='acknowledgements', to='annotation.guideline')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at'],
                'constraints': [models.UniqueConstraint(fields=('guideline', 'user'), name='guideline_acknowledged_once')],
            },
        ),
        migrations.CreateModel(
            name='Arbitration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('label', models.CharField(max_length=3)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('taken_back_at', models.DateTimeField(null=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='arbitrations', to='annotation.item')),
            ],
            options={
                'ordering': ['at', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('taken_back_at__isnull', True)), fields=('item',), name='arbitration_one_in_force'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='arbitration_has_a_reason')],
            },
        ),
        migrations.CreateModel(
            name='ExampleScore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('label', models.CharField(max_length=3)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('example', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='annotation.example')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('example', 'user'), name='example_scored_once')],
            },
        ),
        migrations.CreateModel(
            name='Precedent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('about', models.CharField(choices=[('atom', 'atom'), ('pattern', 'pattern'), ('relation', 'relation')], max_length=10)),
                ('key', models.CharField(max_length=200)),
                ('text_en', models.TextField()),
                ('text_zh', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('retired_at', models.DateTimeField(null=True)),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='precedents', to='annotation.campaign')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('guideline', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='precedents', to='annotation.guideline')),
                ('items', models.ManyToManyField(related_name='precedents', to='annotation.item')),
            ],
            options={
                'ordering': ['about', 'key', 'id'],
                'indexes': [models.Index(fields=['campaign', 'about', 'key'], name='precedent_by_key')],
            },
        ),
        migrations.CreateModel(
            name='Return',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField()),
                ('ruling', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='returns', to='annotation.assignment')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('assignment', 'revision'), name='answer_returned_once'), models.CheckConstraint(condition=models.Q(('ruling', ''), _negated=True), name='return_has_a_ruling')],
            },
        ),
        migrations.CreateModel(
            name='Comment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_key', models.UUIDField()),
                ('text', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('mentions', models.ManyToManyField(related_name='+', to=settings.AUTH_USER_MODEL)),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comments', to='annotation.thread')),
            ],
            options={
                'ordering': ['at', 'id'],
                'constraints': [models.UniqueConstraint(fields=('author', 'client_key'), name='comment_once'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='comment_has_a_text')],
            },
        ),
        migrations.CreateModel(
            name='ThreadSeen',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seen_at', models.DateTimeField()),
                ('thread', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.thread')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('thread', 'user'), name='thread_seen_once')],
            },
        ),
    ]
