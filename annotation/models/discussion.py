"""Talking about an item once its independent answers are frozen, and what is decided there."""

from django.db import models
from django.db.models import Q

from annotation.models.guideline import Guideline
from annotation.models.item import Item
from annotation.models.user import User


class Thread(models.Model):
    """The discussion of one item. That it exists says that the item is open to discussion."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="thread")
    opened_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    opened_at = models.DateTimeField(auto_now_add=True)
    decision = models.TextField(blank=True)
    resolved_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    resolved_at = models.DateTimeField(null=True)
    guideline = models.ForeignKey(Guideline, null=True, on_delete=models.PROTECT, related_name="threads")

    class Meta:
        ordering = ["opened_at", "id"]


class Comment(models.Model):
    """What somebody said in a thread, and whom they turned to."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    client_key = models.UUIDField()  # sent again, it is said once
    text = models.TextField()
    mentions = models.ManyToManyField(User, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["author", "client_key"], name="comment_once"),
            models.CheckConstraint(condition=~Q(text=""), name="comment_has_a_text"),
        ]


class ThreadSeen(models.Model):
    """How far somebody has read a thread."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "user"], name="thread_seen_once")]


class Arbitration(models.Model):
    """A label that an arbiter decided, in place of what the rule makes of the votes. The votes stay as they are."""

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="arbitrations")
    label = models.CharField(max_length=3)
    reason = models.TextField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    taken_back_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["item"], condition=Q(taken_back_at__isnull=True), name="arbitration_one_in_force"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="arbitration_has_a_reason"),
        ]
