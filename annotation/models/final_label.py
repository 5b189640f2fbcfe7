"""What the experts' answers amount to, by a rule that can be run again."""

from django.db import models
from django.db.models import Q

from annotation.models.item import Item


class FinalLabel(models.Model):
    """The label of an item by a named rule, or none, with the reason."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="final_label")
    label = models.CharField(max_length=3, blank=True)
    reason = models.CharField(max_length=20, blank=True)
    rule = models.CharField(max_length=40)
    rule_version = models.CharField(max_length=20)
    version = models.PositiveIntegerField()  # the campaign's label version in which this row last changed
    inputs = models.JSONField()  # the effective scores in slot order, null for cannot judge
    revisions = (
        models.PositiveIntegerField()
    )  # sum over the answers read: another sum now means a stale label
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["item"]
        constraints = [
            models.CheckConstraint(
                condition=Q(label="") & ~Q(reason="") | ~Q(label="") & Q(reason=""),
                name="final_label_or_a_reason",
            ),
        ]
