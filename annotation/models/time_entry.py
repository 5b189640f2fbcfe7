"""Time that counts besides the time at the seat, and corrections of it."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.campaign import Campaign
from annotation.models.user import User


class TimeEntry(models.Model):
    """A line of an expert's hours: guidelines read, practice, discussion, or a correction with its reason."""

    class Kind(models.TextChoices):
        GUIDELINE = "guideline", _("guidelines")
        PRACTICE = "practice", _("practice")
        DISCUSSION = "discussion", _("discussion")
        CORRECTION = "correction", _("correction")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="time_entries")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="time_entries")
    kind = models.CharField(max_length=20, choices=Kind)
    seconds = models.FloatField()  # a correction may take away
    day = models.DateField()
    reason = models.CharField(max_length=500, blank=True)
    client_key = models.UUIDField()  # sent again, it counts once
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["day", "id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "client_key"], name="time_entry_once"),
            models.CheckConstraint(
                condition=~Q(kind="correction") & Q(seconds__gte=0) | Q(kind="correction") & ~Q(reason=""),
                name="time_entry_correction_has_a_reason",
            ),
        ]
