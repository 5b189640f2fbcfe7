"""What superusers may look at. Work is done on the pages, where it is checked and written down; hence nearly
everything is read-only here.
"""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from annotation.models import (
    Annotation,
    Assignment,
    AuditEntry,
    Campaign,
    FinalLabel,
    HandIn,
    ImportBatch,
    Item,
    Job,
    Membership,
    Part,
    Round,
    Unit,
    User,
)

admin.site.site_header = "Assay"
admin.site.site_title = "Assay"


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """Rows to look at: none is added, changed or deleted, and a long table is not counted."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(User)
class UserAdmin(ReadOnly):
    """Accounts. Who administers the site is said here; passwords are set by invitation, names do not change."""

    list_display = ("username", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser")
    search_fields = ("username", "username_folded")
    fields = ("username", "email", "is_active", "is_staff", "is_superuser", "last_login", "date_joined")
    readonly_fields = ("username", "last_login", "date_joined")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))


@admin.register(Campaign)
class CampaignAdmin(ReadOnly):
    list_display = ("title", "slug", "protocol", "annotators_per_item", "rule", "label_version", "created_at")
    list_filter = ("protocol",)
    search_fields = ("slug", "title")


@admin.register(Membership)
class MembershipAdmin(ReadOnly):
    list_display = ("campaign", "pseudonym", "role", "user", "joined_at")
    list_filter = ("role",)
    list_select_related = ("campaign", "user")
    search_fields = ("campaign__slug", "user__username", "pseudonym")


@admin.register(Unit)
class UnitAdmin(ReadOnly):
    list_display = ("campaign", "position", "key", "compound", "pattern")
    list_select_related = ("campaign",)
    search_fields = ("campaign__slug", "key")


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ("campaign", "position", "key", "translation", "head", "relation", "tail", "retired_why")
    list_filter = ("retired_why",)
    list_select_related = ("campaign",)
    search_fields = ("campaign__slug", "key", "translation", "head", "tail")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnly):
    list_display = (
        "item_position",
        "round",
        "part",
        "slot",
        "expert",
        "label",
        "cannot_judge",
        "answered_at",
    )
    list_select_related = ("round", "part", "item", "expert")
    search_fields = ("round__campaign__slug", "expert__username")

    @admin.display(description="item")
    def item_position(self, row: Assignment) -> int:
        return row.item.position


@admin.register(Annotation)
class AnnotationAdmin(ReadOnly):
    list_display = (
        "assignment_id",
        "revision",
        "label",
        "cannot_judge",
        "problem",
        "unsure",
        "source",
        "created_at",
    )
    list_filter = ("source",)


@admin.register(FinalLabel)
class FinalLabelAdmin(ReadOnly):
    list_display = ("item_id", "label", "reason", "rule", "rule_version", "version", "computed_at")
    list_filter = ("rule", "reason")


@admin.register(Job)
class JobAdmin(ReadOnly):
    list_display = ("id", "campaign", "kind", "state", "attempt", "message", "created_at", "finished_at")
    list_filter = ("state", "kind")
    list_select_related = ("campaign",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    list_display = ("at", "campaign", "actor", "action", "detail")
    list_select_related = ("campaign", "actor")
    search_fields = ("campaign__slug", "actor__username", "action")


@admin.register(ImportBatch)
class ImportBatchAdmin(ReadOnly):
    list_display = ("campaign", "file_name", "created_by", "created_at", "published_at")
    list_select_related = ("campaign", "created_by")


@admin.register(Round)
class RoundAdmin(ReadOnly):
    list_display = ("campaign", "kind", "number", "k", "state", "created_at")
    list_select_related = ("campaign",)


@admin.register(Part)
class PartAdmin(ReadOnly):
    list_display = ("round", "index", "design_id")
    list_select_related = ("round",)


@admin.register(HandIn)
class HandInAdmin(ReadOnly):
    list_display = ("part_id", "expert", "at")
    list_select_related = ("expert",)
