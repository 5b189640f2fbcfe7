"""A private word between an expert and the managers about one unit."""

from django.db import models
from django.db.models import Q

from annotation.models.campaign import Campaign
from annotation.models.item import Unit
from annotation.models.user import User


class Question(models.Model):
    """What an expert asks about a unit, and the manager's ruling: a rule to judge by, never a score.

    Nobody but the one who asked and the campaign's managers sees it.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="questions")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="questions")
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="questions")
    client_key = models.UUIDField()  # sent again, it is asked once
    text = models.TextField()
    asked_at = models.DateTimeField(auto_now_add=True)
    answer = models.TextField(blank=True)
    answered_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    answered_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)  # the expert said that they have read the answer as it stands

    class Meta:
        ordering = ["asked_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["asked_by", "client_key"], name="question_asked_once"),
            models.CheckConstraint(condition=~Q(text=""), name="question_has_a_text"),
            models.CheckConstraint(
                condition=Q(
                    answer="", answered_by__isnull=True, answered_at__isnull=True, read_at__isnull=True
                )
                | ~Q(answer="") & Q(answered_by__isnull=False, answered_at__isnull=False),
                name="question_answer_has_its_author",
            ),
        ]
        indexes = [models.Index(fields=["campaign", "asked_by"], name="question_by_asker")]
