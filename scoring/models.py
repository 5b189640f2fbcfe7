"""What was measured, once it was measured; what systems sent in; what was frozen."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models import Campaign, Context, Item, Part, User


class Board(models.Model):
    """Who may send in what systems say, and how often against test. Without a row: managers only."""

    class Audience(models.TextChoices):
        CLOSED = "closed", _("managers only")
        MEMBERS = "members", _("managers and viewers of this campaign")
        ACCOUNTS = "accounts", _("everybody with an account here but this campaign's experts")

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="board")
    audience = models.CharField(_("Who may submit"), max_length=10, choices=Audience, default=Audience.CLOSED)
    quota = models.PositiveSmallIntegerField(_("Submissions against test, per account"), default=5)


class Release(models.Model):
    """A campaign as it was frozen: one file, known by its checksum. Nothing of it ever changes."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="releases")
    name = models.CharField(max_length=40)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    manifest = models.JSONField()  # as `release --json` printed it
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="release_name_once")]

    def __str__(self) -> str:
        return self.name


class ReleaseItem(models.Model):
    """What a release says of one item, kept for scoring against it. An item's texts never change."""

    release = models.ForeignKey(Release, on_delete=models.CASCADE, related_name="items")
    item = models.ForeignKey(Item, on_delete=models.RESTRICT, related_name="+")
    item_class = models.CharField(max_length=40, blank=True)
    split = models.CharField(max_length=20, blank=True)
    label = models.CharField(max_length=3, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["release", "item"], name="release_item_once")]


class Submission(models.Model):
    """One run of one system: what it says about every triple, or how it translates every context."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="submissions")
    release = models.ForeignKey(Release, null=True, on_delete=models.RESTRICT, related_name="submissions")
    system = models.CharField(max_length=100)
    run = models.CharField(max_length=100, blank=True)
    split = models.CharField(max_length=10)  # test, dev or all
    labels = models.CharField(max_length=10, blank=True)  # imported or final, where one was asked for
    threshold = models.FloatField(null=True)  # null: tuned on dev
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    digest = models.CharField(
        max_length=64
    )  # of the file and how it was to be read: sent again it is the same
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="submissions")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["campaign", "split"], name="submission_by_split")]


class Prediction(models.Model):
    """A submission's score of one triple: the higher, the more plausible."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="predictions")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    score = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["submission", "item"], name="prediction_once")]


class Translation(models.Model):
    """A submission's translation of one context. Nobody judges it: judged ones are items."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="translations")
    context = models.ForeignKey(Context, on_delete=models.CASCADE, related_name="+")
    text = models.TextField(blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["submission", "context"], name="translation_once")]


class Evaluation(models.Model):
    """The latest run of one measurement: a report of a campaign, of a part, of one system; a submission's."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="evaluations")
    kind = models.CharField(max_length=40)
    part = models.ForeignKey(Part, null=True, on_delete=models.CASCADE, related_name="evaluations")
    submission = models.OneToOneField(
        Submission, null=True, on_delete=models.CASCADE, related_name="evaluation"
    )
    arguments = models.JSONField(default=dict)
    digest = models.CharField(max_length=64)  # of kind, part or submission, and arguments
    result = models.JSONField()
    signature = models.TextField()
    created_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "part"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "digest"], name="evaluation_once_per_measurement"),
        ]
