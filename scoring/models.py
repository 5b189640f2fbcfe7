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


class Benchmark(models.Model):
    """A frozen set of questions and what is right: references of generations, or gold options. It never changes.

    `hypotheses` and `cased` say how generations are scored: all submissions to one benchmark are scored alike.
    """

    class Kind(models.TextChoices):
        GENERATION = "generation", _("generations, scored against references")
        CHOICE = "choice", _("choices among options, scored against the right one")

    class Hypotheses(models.TextChoices):
        FIRST = "first", _("the first of each head and relation")
        ALL = "all", _("all of them, each for itself")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="benchmarks")
    name = models.CharField(_("Name"), max_length=100)
    kind = models.CharField(_("What models give"), max_length=10, choices=Kind)
    hypotheses = models.CharField(
        _("Which hypotheses are scored"), max_length=5, choices=Hypotheses, default=Hypotheses.FIRST
    )
    cased = models.BooleanField(_("Upper and lower case differ"), default=False)
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["campaign", "name"], name="benchmark_name_once")]

    def __str__(self) -> str:
        return self.name


class BenchmarkQuestion(models.Model):
    """One question: a head with its relation and references, or a question's id with its gold option.

    `group` is the relation or the skill; `options` is empty where the file names none.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="questions")
    position = models.PositiveIntegerField()
    key = models.CharField(max_length=600)  # folded: what files are matched by
    name = models.TextField()
    group = models.TextField(blank=True)
    texts = models.JSONField()  # [head, relation], or [question_id]
    gold = models.JSONField()  # the references, or [the right option]
    options = models.JSONField(default=list)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "key"], name="benchmark_question_once"),
            models.UniqueConstraint(fields=["benchmark", "position"], name="benchmark_position_once"),
        ]


class BenchmarkSubmission(models.Model):
    """One run of one system on one benchmark. `human`: people's answers, which stand beside the systems.

    `statistics` are each question's counts and similarities in the order of the questions, of which every figure is
    made; None, and no `scored_at`, until they are worked out.
    """

    benchmark = models.ForeignKey(Benchmark, on_delete=models.CASCADE, related_name="submissions")
    system = models.CharField(max_length=100)
    run = models.CharField(max_length=100, blank=True)
    human = models.BooleanField(default=False)
    file_name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)  # of the file and its names: sent again it is the same
    statistics = models.JSONField(null=True)
    scored_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "digest"], name="benchmark_submission_once")
        ]


class BenchmarkResponse(models.Model):
    """What a submission says to one question: its hypotheses, or the option chosen."""

    submission = models.ForeignKey(BenchmarkSubmission, on_delete=models.CASCADE, related_name="responses")
    question = models.ForeignKey(BenchmarkQuestion, on_delete=models.CASCADE, related_name="+")
    said = models.JSONField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["submission", "question"], name="benchmark_response_once")
        ]
