"""What superusers may look at: the latest runs of measurements, submissions, releases."""

from django.contrib import admin

from annotation.admin import ReadOnly
from scoring.models import Benchmark, Evaluation, Release, Submission


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnly):
    list_display = ("campaign", "kind", "part_id", "signature", "created_at")
    list_select_related = ("campaign",)
    list_filter = ("kind",)


@admin.register(Submission)
class SubmissionAdmin(ReadOnly):
    list_display = ("campaign", "system", "run", "split", "release", "created_by", "created_at")
    list_select_related = ("campaign", "release", "created_by")
    list_filter = ("split",)


@admin.register(Release)
class ReleaseAdmin(ReadOnly):
    list_display = ("campaign", "name", "sha256", "size", "created_by", "created_at")
    list_select_related = ("campaign", "created_by")


@admin.register(Benchmark)
class BenchmarkAdmin(ReadOnly):
    list_display = ("campaign", "name", "kind", "sha256", "created_by", "created_at")
    list_select_related = ("campaign", "created_by")
    list_filter = ("kind",)
