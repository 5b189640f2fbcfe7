"""What was measured, once it was measured."""

from django.db import models

from annotation.models import Campaign, Part


class Evaluation(models.Model):
    """The latest run of one measurement: a report of a campaign, of one of its parts, of one system."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="evaluations")
    kind = models.CharField(max_length=40)
    part = models.ForeignKey(Part, null=True, on_delete=models.CASCADE, related_name="evaluations")
    arguments = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)  # of kind, part and arguments
    result = models.JSONField()
    signature = models.TextField()
    created_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "part"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest"], name="evaluation_once_per_measurement"),
        ]
