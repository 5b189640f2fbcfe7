"""Verdicts that are carried over from one translation of a sentence to another that renders the compound alike."""

from django.db import models
from django.db.models import F, Q

from annotation.models.campaign import Campaign
from annotation.models.item import Item
from annotation.models.user import User


class CarryOver(models.Model):
    """An item that takes the final label of its source, or, `checked`, could have taken it and is judged anyway.

    `stretch` is the rendering of the compound that both share, as the rule found it; `rule` is its signature, with all
    that decided what is carried and what is judged.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="carry_overs")
    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="carry_over")
    source = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="carried_to")
    stretch = models.TextField()
    rule = models.CharField(max_length=200)
    checked = models.BooleanField()
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item"]
        constraints = [
            models.CheckConstraint(condition=~Q(item=F("source")), name="carry_over_from_another_item"),
        ]
