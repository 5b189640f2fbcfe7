"""What experts are told, by version, in both languages."""

from django.db import models

from annotation.models.campaign import Campaign
from annotation.models.user import User


class Guideline(models.Model):
    """One version of a campaign's guidelines; an annotation names the version it was given under."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text_en = models.TextField()
    text_zh = models.TextField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["version"]
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="guideline_version_once")]
