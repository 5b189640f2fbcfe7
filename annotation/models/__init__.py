"""The nouns, one per file."""

from annotation.models.access import AuditEntry, Invitation, Token
from annotation.models.annotation import JUDGED_UNDER, Annotation, Surplus
from annotation.models.campaign import Campaign, Membership
from annotation.models.carry_over import CarryOver
from annotation.models.discussion import Arbitration, Comment, Thread, ThreadSeen
from annotation.models.example import Example, ExampleScore
from annotation.models.final_label import FinalLabel
from annotation.models.guideline import Acknowledgement, Guideline, Precedent
from annotation.models.item import Context, ImportBatch, Item, Output, System, Unit
from annotation.models.job import Job, Worker
from annotation.models.question import Question
from annotation.models.round import Assignment, Design, Gold, HandIn, Part, PartUnit, Return, Round
from annotation.models.time_entry import TimeEntry
from annotation.models.user import User

__all__ = [
    "JUDGED_UNDER",
    "Acknowledgement",
    "Annotation",
    "Arbitration",
    "Assignment",
    "AuditEntry",
    "Campaign",
    "CarryOver",
    "Comment",
    "Context",
    "Design",
    "Example",
    "ExampleScore",
    "FinalLabel",
    "Gold",
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
    "Precedent",
    "Question",
    "Return",
    "Round",
    "Surplus",
    "System",
    "Thread",
    "ThreadSeen",
    "TimeEntry",
    "Token",
    "Unit",
    "User",
    "Worker",
]
