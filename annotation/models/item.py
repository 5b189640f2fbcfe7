"""What is judged: units on a screen, their contexts, the items a label attaches to, and who produced them.

Rows are written by an import in chunks and are invisible until the import is published by one update; every
reader starts from `.published()`.
"""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.campaign import Campaign
from annotation.models.user import User


class ImportBatch(models.Model):
    """One file that was imported: where items came from. Unpublished, its rows do not exist for anybody."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="import_batches")
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    report = models.JSONField(default=dict)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    lease_until = models.DateTimeField()  # past it, an unpublished batch is what a killed import left behind
    published_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            # The claim: whoever inserts the row imports; a second import at the same time cannot.
            models.UniqueConstraint(
                fields=["campaign"], condition=Q(published_at__isnull=True), name="import_one_at_a_time"
            ),
        ]


class System(models.Model):
    """A translation system, by name; each of its runs is another set of outputs."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="systems")
    name = models.CharField(max_length=100)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="system_name_once")]

    def __str__(self) -> str:
        return self.name


class UnitQuerySet(models.QuerySet["Unit"]):
    def published(self) -> "UnitQuerySet":
        return self.filter(batch__published_at__isnull=False)


class Unit(models.Model):
    """What stands on one screen: a compound with its contexts, or a triple."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="units")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="units")
    key = models.CharField(max_length=1000)  # compound: its folded text (and block); triple: the item's key
    position = models.PositiveIntegerField()
    compound = models.TextField(blank=True)
    type = models.CharField(max_length=10, blank=True)
    pattern = models.CharField(max_length=60, blank=True)
    atoms = models.JSONField(default=list)  # [[kind, text, start, end], …]; empty where not recognised
    words = models.PositiveSmallIntegerField(default=0)

    objects = UnitQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "key"], name="unit_key_once"),
            models.UniqueConstraint(fields=["campaign", "position"], name="unit_position_once"),
        ]


class Context(models.Model):
    """One source sentence of a compound, with its reference translation and where the compound stands."""

    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="contexts")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=1000)  # as given, or derived
    key_folded = models.CharField(max_length=1000)
    given_key = models.BooleanField()  # the file had an id column
    number = models.PositiveSmallIntegerField()
    source = models.TextField()
    reference = models.TextField(blank=True)
    source_differs = models.BooleanField(default=False)  # from the test set's line: no reference, not in BLEU
    start = models.PositiveIntegerField(null=True)  # of the compound in the source, in code points
    end = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["unit", "number", "id"]
        constraints = [
            models.UniqueConstraint(fields=["unit", "key_folded"], name="context_key_once"),
        ]


class ItemQuerySet(models.QuerySet["Item"]):
    def published(self) -> "ItemQuerySet":
        return self.filter(batch__published_at__isnull=False)

    def active(self) -> "ItemQuerySet":
        """The items that count: published, neither withdrawn, replaced by a corrected text nor set aside."""
        return self.published().filter(retired_at__isnull=True)


def in_play(prefix: str = "") -> Q:
    """Items that somebody may be judging: those that count, and those set aside for a dry run.

    `prefix` leads to the item, such as `item__`.
    """
    return Q(**{f"{prefix}retired_at__isnull": True}) | Q(**{f"{prefix}retired_why": Item.Retired.SET_ASIDE})


class Item(models.Model):
    """The smallest thing a label attaches to: one translation of one context, or one triple."""

    class Retired(models.TextChoices):
        WITHDRAWN = "withdrawn", _("withdrawn")
        REPLACED = "replaced", _("replaced by a corrected text")
        SET_ASIDE = "set_aside", _("set aside for a dry run")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="items")
    unit = models.ForeignKey(Unit, on_delete=models.CASCADE, related_name="items")
    context = models.ForeignKey(Context, null=True, on_delete=models.CASCADE, related_name="items")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="items")
    position = models.PositiveIntegerField()  # import order in the campaign, from 1
    key = models.CharField(max_length=1000)
    key_folded = models.CharField(max_length=1000)
    given_key = models.BooleanField()
    translation = models.TextField(blank=True)
    digest = models.CharField(max_length=64, blank=True)  # sha256 of the normalised translation
    head = models.TextField(blank=True)
    relation = models.CharField(max_length=40, blank=True)
    tail = models.TextField(blank=True)
    item_class = models.CharField(max_length=40, blank=True)
    split = models.CharField(max_length=20, blank=True)
    imported_label = models.CharField(max_length=3, blank=True)
    # Where it came from and why it was chosen, where a set was built: see `services/evaluation_sets.py`.
    origin = models.JSONField(default=dict)
    retired_at = models.DateTimeField(null=True)
    retired_why = models.CharField(max_length=10, choices=Retired, blank=True)
    # Talked about before its independent answers were in, in a dry run: kept out of agreement.
    exposed_at = models.DateTimeField(null=True)

    objects = ItemQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "position"],
                condition=Q(retired_at__isnull=True) | ~Q(retired_why="replaced"),
                name="item_position_once",
            ),
            models.UniqueConstraint(
                fields=["context", "digest"],
                condition=Q(context__isnull=False) & ~Q(retired_why="replaced"),
                name="item_text_once_in_a_context",
            ),
            models.UniqueConstraint(
                fields=["unit"],
                condition=Q(context__isnull=True) & ~Q(retired_why="replaced"),
                name="item_one_per_triple",
            ),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True, retired_why="")
                | Q(retired_at__isnull=False) & ~Q(retired_why=""),
                name="item_retired_with_a_reason",
            ),
        ]


class Output(models.Model):
    """What one run of a system produced for one context. Identical outputs share one item, judged once."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="outputs")
    run = models.CharField(max_length=100, blank=True)
    context = models.ForeignKey(Context, on_delete=models.CASCADE, related_name="outputs")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="outputs")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="outputs")
    translation = models.TextField(blank=True)  # as given; the item holds the first of those that are equal

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "run", "context"], name="output_once_per_run_and_context"
            ),
        ]
