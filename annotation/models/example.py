"""Examples of a campaign's own relations, scored blind by people who did not write them before anybody is shown one."""

from django.db import models

from annotation.models.campaign import Campaign
from annotation.models.user import User


class Example(models.Model):
    """A triple that shows how a relation is judged, with the answer its author holds for right."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="examples")
    relation = models.CharField(max_length=40)
    head = models.TextField()
    tail = models.TextField()
    label = models.CharField(max_length=3)
    why_en = models.TextField(blank=True)
    why_zh = models.TextField(blank=True)
    author = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["relation", "id"]


class ExampleScore(models.Model):
    """How somebody who did not write an example judged it, without seeing its answer."""

    example = models.ForeignKey(Example, on_delete=models.CASCADE, related_name="scores")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    label = models.CharField(max_length=3)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [models.UniqueConstraint(fields=["example", "user"], name="example_scored_once")]
