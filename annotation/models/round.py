"""Who judges what: rounds, their parts, and one assignment for every item, slot and expert."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.models.campaign import Campaign
from annotation.models.guideline import Guideline
from annotation.models.item import Item, Unit
from annotation.models.user import User


class Round(models.Model):
    """One pass over some units: k experts each, under one guideline version at a time."""

    class Kind(models.TextChoices):
        DRY_RUN = "dry_run", _("dry run")
        MAIN = "main", _("main")
        RESOLUTION = "resolution", _("resolution")
        REJUDGEMENT = "rejudgement", _("re-judgement")
        SPOT_CHECK = "spot_check", _("spot check")
        REPEAT = "repeat", _("repeat")

    class State(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="rounds")
    kind = models.CharField(max_length=20, choices=Kind)
    number = models.PositiveSmallIntegerField(default=1)
    k = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    guideline = models.ForeignKey(Guideline, on_delete=models.PROTECT, related_name="+")
    settings = models.JSONField(
        default=dict
    )  # what was fixed beforehand: seed, sample, gate, plan of a spot check
    outcome = models.JSONField(null=True)  # how it ended: figures, decision, reason, who was missing
    due_on = models.DateField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "kind", "number"], name="round_number_once"),
            models.CheckConstraint(condition=Q(k__gte=1), name="round_k_at_least_one"),
        ]


class Design(models.Model):
    """How parts were given to experts: confirmed once, kept with its seed and hash."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="designs")
    name = models.CharField(max_length=20)
    seed = models.PositiveIntegerField()
    hash = models.CharField(max_length=64)
    plan = models.JSONField()  # as `assign_parts --json` printed it
    closed_at = models.DateTimeField(
        null=True
    )  # of a batch: its answers are frozen, its items may be discussed
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]


class Part(models.Model):
    """Some of a round's units, handed in together. In the main round its units have the same k experts, as far as none
    were moved since; where items are judged again, each has those that it had.
    """

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="parts")
    design = models.ForeignKey(Design, on_delete=models.CASCADE, related_name="parts")
    index = models.PositiveIntegerField()
    units: "models.ManyToManyField[Unit, PartUnit]" = models.ManyToManyField(
        Unit, through="PartUnit", related_name="+"
    )

    class Meta:
        ordering = ["index"]
        constraints = [models.UniqueConstraint(fields=["round", "index"], name="part_index_once")]

    @property
    def number(self) -> int:
        """What people call it: they count from 1, addresses and documents from 0."""
        return self.index + 1


class PartUnit(models.Model):
    """A unit in its part: in one part of a round only."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="+")
    part = models.ForeignKey(Part, on_delete=models.CASCADE, related_name="part_units")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="part_units")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["round", "unit"], name="unit_in_one_part_of_a_round")]


class Assignment(models.Model):
    """One item given to one expert in one slot, with their current answer.

    `position` is the screen in the expert's own order, drawn once; the rows of one screen share it, and `row`
    is their order on it. `queue` is when the screen comes up: by position, part after part, with room at the
    end of each part for what is postponed. `revision` counts saved answers; the compare-and-set of saving is
    on it. The answer stands here as well as in the last annotation, because statistics and the next screen
    read nothing else.
    """

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="assignments", db_index=False)
    part = models.ForeignKey(Part, null=True, on_delete=models.CASCADE, related_name="assignments")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="assignments")
    expert = models.ForeignKey(User, on_delete=models.PROTECT, related_name="assignments")
    slot = models.PositiveSmallIntegerField()
    position = models.PositiveIntegerField()
    row = models.PositiveSmallIntegerField(default=1)
    queue = models.PositiveIntegerField()
    revision = models.PositiveIntegerField(default=0)
    label = models.CharField(max_length=3, blank=True)
    cannot_judge = models.CharField(max_length=30, blank=True)
    answered_at = models.DateTimeField(null=True)
    postponed_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)  # the item was withdrawn, or moved to somebody else

    class Meta:
        ordering = ["position", "row"]
        constraints = [
            models.UniqueConstraint(
                fields=["round", "item", "slot"],
                condition=Q(withdrawn_at__isnull=True),
                name="assignment_slot_once",
            ),
            models.UniqueConstraint(fields=["round", "item", "expert"], name="assignment_expert_once"),
            models.UniqueConstraint(
                fields=["round", "expert", "position", "row"], name="assignment_place_once"
            ),
            models.CheckConstraint(condition=Q(slot__gte=1), name="assignment_slot_from_one"),
            models.CheckConstraint(
                condition=Q(revision=0, answered_at__isnull=True, label="", cannot_judge="")
                | Q(revision__gte=1, answered_at__isnull=False, cannot_judge="") & ~Q(label="")
                | Q(revision__gte=1, answered_at__isnull=False, label="") & ~Q(cannot_judge=""),
                name="assignment_answer_is_a_label_or_a_cause",
            ),
        ]
        indexes = [
            models.Index(
                F("round"),
                F("expert"),
                F("queue"),
                condition=Q(answered_at__isnull=True, withdrawn_at__isnull=True),
                name="assignment_open",
            ),
        ]


class HandIn(models.Model):
    """An expert handed in a part: from now on their answers in it are final until the part is reopened."""

    part = models.ForeignKey(Part, on_delete=models.CASCADE, related_name="hand_ins")
    expert = models.ForeignKey(User, on_delete=models.PROTECT, related_name="hand_ins")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at"]
        constraints = [models.UniqueConstraint(fields=["part", "expert"], name="hand_in_once")]


class Return(models.Model):
    """A manager gave an answer back with a ruling: what "cannot judge" or a problem was about is cleared up.

    It waits until the expert has answered again, which the assignment's revision tells.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="returns")
    revision = models.PositiveIntegerField()  # of the answer that was given back
    ruling = models.TextField()
    by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "revision"], name="answer_returned_once"),
            models.CheckConstraint(condition=~Q(ruling=""), name="return_has_a_ruling"),
        ]


class Gold(models.Model):
    """An item whose label is known beforehand. Nothing an expert gets says so."""

    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="gold")
    label = models.CharField(max_length=3)
    note = models.CharField(max_length=500, blank=True)
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["item"]
