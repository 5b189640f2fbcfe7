"""Work that takes longer than a page should: the row is the truth, the broker only a wake-up."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.campaign import Campaign
from annotation.models.user import User


class Job(models.Model):
    """One piece of work and how it stands. A task may run twice; its result is stored once."""

    class State(models.TextChoices):
        PENDING = "pending", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=40)
    arguments = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)  # of the arguments: the same job does not wait twice
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    progress = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    message = models.TextField(blank=True)
    result = models.JSONField(null=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "kind", "digest"], condition=Q(state="pending"), name="job_waits_once"
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["pending", "running"]), name="job_unfinished"),
        ]


class Worker(models.Model):
    """A worker process and when it was last alive."""

    name = models.CharField(max_length=200, unique=True)
    beat_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]
