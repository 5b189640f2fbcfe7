"""How people and programs come in: invitations and tokens. Only hashes are stored."""

from django.db import models

from annotation.models.campaign import Campaign
from annotation.models.user import User


class Invitation(models.Model):
    """A link that lets one person set their password, once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="invitations")
    token_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]


class Token(models.Model):
    """A personal key for the REST interface; it may do what its owner may."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]


class AuditEntry(models.Model):
    """Who did what, when: every manager action."""

    campaign = models.ForeignKey(Campaign, null=True, on_delete=models.CASCADE, related_name="audit_entries")
    actor = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    action = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["campaign", "-at"], name="audit_by_campaign")]
