"""The nouns, one per file."""

from annotation.models.access import AuditEntry, Invitation, Token
from annotation.models.annotation import Annotation, Surplus
from annotation.models.campaign import Campaign, Membership
from annotation.models.final_label import FinalLabel
from annotation.models.guideline import Guideline
from annotation.models.item import Context, ImportBatch, Item, Output, System, Unit
from annotation.models.job import Job, Worker
from annotation.models.question import Question
from annotation.models.round import Assignment, Design, HandIn, Part, PartUnit, Round
from annotation.models.time_entry import TimeEntry
from annotation.models.user import User

__all__ = [
    "Annotation",
    "Assignment",
    "AuditEntry",
    "Campaign",
    "Context",
    "Design",
    "FinalLabel",
    "Guideline",
    "HandIn",
    "ImportBatch",
    "Invitation",
    "Item",
    "Job",
    "Membership",
    "Output",
    "Part",
    "PartUnit",
    "Question",
    "Round",
    "Surplus",
    "System",
    "TimeEntry",
    "Token",
    "Unit",
    "User",
    "Worker",
]
