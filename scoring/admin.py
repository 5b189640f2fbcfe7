"""What superusers may look at: the latest runs of measurements."""

from django.contrib import admin

from annotation.admin import ReadOnly
from scoring.models import Evaluation


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly):
    list_display = ("campaign", "kind", "part_id", "signature", "created_at")
    list_select_related = ("campaign",)
    list_filter = ("kind",)
