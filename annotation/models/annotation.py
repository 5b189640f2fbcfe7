"""What an expert answered, every time they answered; rows are only ever added."""

from django.db import models
from django.db.models import Case, F, Q, When

from annotation.models.guideline import Guideline
from annotation.models.round import Assignment


class Surplus(models.Model):
    """An answer that came after its item was withdrawn or moved: kept for the manager, counted nowhere."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="surplus")
    client_key = models.UUIDField()
    answer = models.JSONField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["received_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "client_key"], name="surplus_client_key_once"),
        ]


class Annotation(models.Model):
    """One saved answer: a label, or "cannot judge" with its cause."""

    class Source(models.TextChoices):
        SEAT = "seat"  # the expert's page
        FORM = "form"  # the same page without JavaScript
        API = "api"
        IMPORT = "import"

    assignment = models.ForeignKey(
        Assignment, on_delete=models.CASCADE, related_name="annotations", db_index=False
    )
    revision = models.PositiveIntegerField()
    client_key = models.UUIDField()
    digest = models.CharField(max_length=64)  # of the request body: the same key with another body is refused
    label = models.CharField(max_length=3, blank=True)
    cannot_judge = models.CharField(max_length=30, blank=True)
    problem = models.CharField(max_length=30, blank=True)  # reported beside a triple's score
    detail = models.CharField(max_length=30, blank=True)  # of a triple's third answer
    reasons = models.JSONField(default=list)  # why a compound is wrong
    atoms = models.JSONField(default=list)  # which atoms are concerned, by index
    note = models.TextField(blank=True)
    unsure = models.BooleanField(default=False)
    seconds = models.FloatField(null=True)  # wall, from paint to answer
    visible_seconds = models.FloatField(null=True)
    active_seconds = models.FloatField(null=True)
    session = models.CharField(max_length=36, blank=True)
    session_position = models.PositiveIntegerField(null=True)
    reference_seen = models.BooleanField(null=True)
    conditions = models.JSONField(
        default=dict
    )  # display, highlighting, rest: what else may explain an answer
    guideline = models.ForeignKey(Guideline, on_delete=models.PROTECT, related_name="+", db_index=False)
    source = models.CharField(max_length=10, choices=Source)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["assignment", "revision"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "revision"], name="annotation_revision_once"),
            models.UniqueConstraint(fields=["assignment", "client_key"], name="annotation_client_key_once"),
            models.CheckConstraint(
                condition=Q(label="") & ~Q(cannot_judge="") | ~Q(label="") & Q(cannot_judge=""),
                name="annotation_is_a_label_or_a_cause",
            ),
        ]


# The version of the guidelines that an answer was given under. Of an imported one that is not known: its row holds the
# version its round went by.
JUDGED_UNDER = Case(When(~Q(source=Annotation.Source.IMPORT), then=F("guideline__version")))
