"""A campaign: one body of items, the people who work on it, and its settings."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.user import User


class Campaign(models.Model):
    """One body of items judged under one protocol."""

    class Protocol(models.TextChoices):
        COMPOUND = "compound", _("Compounds")
        TRIPLE = "triple", _("Triples")

    class Display(models.TextChoices):
        """How the translations of a compound stand before an expert.

        Alone, a screen holds one translation of each context, and what else was produced for it comes up later. Side
        by side, a screen holds the whole compound, one context at a time with all its distinct translations.
        """

        ALONE = "alone", _("one translation of a sentence on a screen")
        SIDE_BY_SIDE = "side_by_side", _("all translations of a sentence side by side")

    class Reference(models.TextChoices):
        HIDDEN = "hidden", _("hidden")
        ON_DEMAND = "on_demand", _("on demand")
        SHOWN = "shown", _("always shown")

    class Reasons(models.TextChoices):
        OFF = "off", _("not asked")
        OPTIONAL = "optional", _("may be given")
        REQUIRED = "required", _("must be given")

    class Order(models.TextChoices):
        SHUFFLED = "shuffled", _("fully shuffled")
        RUNS = "runs", _("in runs of about 20 of one relation")

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(_("title"), max_length=200)
    protocol = models.CharField(max_length=20, choices=Protocol)
    annotators_per_item = models.PositiveSmallIntegerField(_("experts per item"))
    seed = models.PositiveIntegerField(default=0)
    reference = models.CharField(
        _("reference"), max_length=20, choices=Reference, default=Reference.ON_DEMAND
    )
    display = models.CharField(
        _("display of translations"), max_length=20, choices=Display, default=Display.ALONE
    )
    zero_detail = models.BooleanField(_("say why a triple is not plausible"), default=False)
    reasons = models.CharField(
        _("why a compound is wrong"), max_length=10, choices=Reasons, default=Reasons.OPTIONAL
    )
    # What is marked in translations: the forms of each atom by which the automatic check looks. Empty: nothing.
    highlighted_forms = models.JSONField(default=dict)
    order = models.CharField(_("order of triples"), max_length=10, choices=Order, default=Order.SHUFFLED)
    # A campaign's own relations, answers, reasons and class groups, where it does not use the protocol's; see
    # `protocol/wording.py`. Scores and label rules stay the protocol's.
    wording = models.JSONField(default=dict)
    names_in_discussion = models.BooleanField(_("pseudonyms beside answers under discussion"), default=False)
    rule = models.CharField(max_length=40, blank=True)  # the label rule of the last finalize
    label_version = models.PositiveIntegerField(default=0)  # raised whenever a final label changed
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    closed_at = models.DateTimeField(null=True)  # nobody judges any more
    archived_at = models.DateTimeField(null=True)  # and it is out of the way; both can be undone

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(annotators_per_item__gte=1),
                name="campaign_needs_at_least_one_expert_per_item",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Membership(models.Model):
    """One person's role in one campaign, and the name under which their work appears to others."""

    class Role(models.TextChoices):
        MANAGER = "manager", _("manager")
        EXPERT = "expert", _("expert")
        VIEWER = "viewer", _("viewer")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    pseudonym = models.CharField(max_length=20)  # A1, A2 …: experts first, in the order they joined
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "user"], name="membership_one_role_per_person"),
            models.UniqueConstraint(
                fields=["campaign", "pseudonym"], name="membership_one_person_per_pseudonym"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pseudonym} ({self.role})"
