"""What experts are told, by version, in both languages; who has read it; and what single decisions add to it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.campaign import Campaign
from annotation.models.user import User


class Guideline(models.Model):
    """One version of a campaign's guidelines; an annotation names the version it was given under."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text_en = models.TextField()
    text_zh = models.TextField()
    change_en = models.TextField(blank=True)  # what is new against the version before, and why
    change_zh = models.TextField(blank=True)
    # Which items the change touches: {relations: […], patterns: […], atoms: […], items: [positions]}; {}: none.
    touches = models.JSONField(default=dict)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["version"]
        constraints = [models.UniqueConstraint(fields=["campaign", "version"], name="guideline_version_once")]


class Acknowledgement(models.Model):
    """An expert has read a version of the guidelines."""

    guideline = models.ForeignKey(Guideline, on_delete=models.CASCADE, related_name="acknowledgements")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]
        constraints = [
            models.UniqueConstraint(fields=["guideline", "user"], name="guideline_acknowledged_once"),
        ]


class Precedent(models.Model):
    """A settled decision, found by what it is about. It names items only after they were settled."""

    class About(models.TextChoices):
        ATOM = "atom", _("atom")
        PATTERN = "pattern", _("pattern")
        RELATION = "relation", _("relation")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="precedents")
    about = models.CharField(max_length=10, choices=About)
    key = models.CharField(max_length=200)  # which atom, pattern or relation
    text_en = models.TextField()
    text_zh = models.TextField(blank=True)
    guideline = models.ForeignKey(Guideline, null=True, on_delete=models.PROTECT, related_name="precedents")
    items = models.ManyToManyField("annotation.Item", related_name="precedents")
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)  # no longer good law

    class Meta:
        ordering = ["about", "key", "id"]
        indexes = [models.Index(fields=["campaign", "about", "key"], name="precedent_by_key")]
