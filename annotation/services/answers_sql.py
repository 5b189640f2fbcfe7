"""The statements of the hot path, by hand: two on PostgreSQL, whatever the campaign's size.

1. `read`: who asks, and what the rows of the sheet are. Nothing is locked.
2. `write_and_read_next`: compare-and-set of the rows, their annotations, and the screens that come next, in one
   statement. It changes all rows or none: the rows are locked and counted before any is changed.

SQLite has no data-changing WITH, so the same is done there in three statements, the first two in one immediate
transaction. The user's and the round's ids are parameters, never taken from a join: from a join the planner
cannot know how few rows they select, and the statement becomes thirty times slower.
"""

import json
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotation.services.sheets import Answer, Sheet

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Place:
    """Where the rows of a sheet stand: whose campaign and round, and who may write there."""

    password: str
    is_active: bool
    campaign: int
    protocol: str
    reference: str
    round: int
    guideline: int


class NotFound(Exception):
    """This user has no such rows in such a campaign."""


READ = """
SELECT u.password, u.is_active, c.id, c.protocol, c.reference, a.round_id, r.guideline_id, a.unit_id
FROM annotation_user u
JOIN annotation_membership m ON m.user_id = u.id AND m.role = 'expert'
JOIN annotation_campaign c ON c.id = m.campaign_id AND c.slug = %s
JOIN annotation_assignment a ON a.expert_id = %s AND a.id IN ({ids})
JOIN annotation_round r ON r.id = a.round_id AND r.campaign_id = c.id
WHERE u.id = %s
"""


def read(sheet: Sheet, *, slug: str, expert: int) -> Place:
    """Statement 1. Raises NotFound unless all rows are this expert's, of one round and of the sheet's unit."""
    ids = [answer.assignment for answer in sheet.answers]
    statement = READ.format(ids=", ".join(["%s"] * len(ids)))
    with connection.cursor() as cursor:
        cursor.execute(statement, [slug, expert, *ids, expert])
        rows = cursor.fetchall()
    if len(rows) != len(ids) or len({row[:7] for row in rows}) != 1 or rows[0][7] != sheet.unit:
        raise NotFound
    return Place(*rows[0][:7])


# The screens that come next. The inner query walks the index of open rows in the order of the queue and stops
# at the limit; the outer one reads these screens whole, answered rows and their last annotation too.
SCREEN_COLUMNS = """
a.id, a.revision, a.position, a.queue, a.postponed_at IS NOT NULL, p."index", u.id, u.compound, u.atoms,
i.translation, i.head, i.relation, i.tail, x.source, x."start", x."end", x.reference, x.source_differs,
n.label, n.cannot_judge, n.problem, n.detail, n.reasons, n.atoms, n.note, n.unsure
"""
SCREEN_JOINS = """
annotation_assignment a
JOIN annotation_part p ON p.id = a.part_id
JOIN annotation_unit u ON u.id = a.unit_id
JOIN annotation_item i ON i.id = a.item_id
LEFT JOIN annotation_context x ON x.id = i.context_id
LEFT JOIN annotation_annotation n ON n.assignment_id = a.id AND n.revision = a.revision
"""
NEXT = f"""
SELECT {SCREEN_COLUMNS}
FROM {SCREEN_JOINS}
WHERE a.round_id = %s AND a.expert_id = %s AND a.withdrawn_at IS NULL AND a.position IN (
    SELECT o.position FROM annotation_assignment o
    WHERE o.round_id = %s AND o.expert_id = %s AND o.queue > %s
      AND o.answered_at IS NULL AND o.withdrawn_at IS NULL {{but}}
    GROUP BY o.queue, o.position ORDER BY o.queue LIMIT %s
)
ORDER BY a.queue, a."row"
"""


def read_next(*, round_id: int, expert: int, after: int, count: int) -> list[Row]:
    """The rows of the next `count` screens after a place in the queue."""
    with connection.cursor() as cursor:
        cursor.execute(NEXT.format(but=""), [round_id, expert, round_id, expert, after, count])
        rows: list[Row] = cursor.fetchall()
        return rows


CHANGE_WHERE = """
a.expert_id = %s AND a.unit_id = %s AND a.withdrawn_at IS NULL
AND EXISTS (SELECT 1 FROM annotation_round r WHERE r.id = a.round_id AND r.state = 'open')
AND NOT EXISTS (SELECT 1 FROM annotation_handin h WHERE h.part_id = a.part_id AND h.expert_id = a.expert_id)
"""
GIVEN = "(id, revision, label, cannot_judge, problem, detail, reasons, atoms, note, unsure)"
FIRST_GIVEN = "(%s::bigint, %s::int, %s, %s, %s, %s, %s::jsonb, %s::jsonb, %s, %s::boolean)"
MORE_GIVEN = "(%s, %s, %s, %s, %s, %s, %s::jsonb, %s::jsonb, %s, %s)"
ANNOTATION = """
(assignment_id, revision, client_key, digest, label, cannot_judge, problem, detail, reasons, atoms, note, unsure,
 seconds, visible_seconds, active_seconds, session, session_position, reference_seen, conditions, guideline_id,
 source, created_at)
"""
ONE_STATEMENT = f"""
WITH given {GIVEN} AS (VALUES {{given}}),
held AS (
    SELECT a.id FROM annotation_assignment a JOIN given g ON g.id = a.id AND g.revision = a.revision
    WHERE {CHANGE_WHERE}
      AND NOT EXISTS (SELECT 1 FROM annotation_annotation n WHERE n.assignment_id = a.id AND n.client_key = %s)
    FOR UPDATE OF a
),
changed AS (
    UPDATE annotation_assignment a
    SET revision = a.revision + 1, label = g.label, cannot_judge = g.cannot_judge, answered_at = %s,
        postponed_at = NULL
    FROM given g
    WHERE g.id = a.id AND a.id IN (SELECT id FROM held) AND (SELECT count(*) FROM held) = %s
    RETURNING a.id, a.revision
),
added AS (
    INSERT INTO annotation_annotation {ANNOTATION}
    SELECT c.id, c.revision, %s, %s, g.label, g.cannot_judge, g.problem, g.detail, g.reasons, g.atoms, g.note,
           g.unsure, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s
    FROM changed c JOIN given g ON g.id = c.id
    RETURNING assignment_id
),
coming AS ({{coming}})
SELECT (SELECT count(*) FROM added), coming.* FROM (VALUES (1)) one LEFT JOIN coming ON true
"""


class FellShort(Exception):
    """Fewer rows could be changed than answers were sent; nothing was stored."""


def write_and_read_next(
    sheet: Sheet, place: Place, *, expert: int, source: str, after: int, count: int
) -> list[Row]:
    """Statement 2: store the sheet and read what comes next. Raises FellShort, with nothing stored."""
    try:
        if connection.vendor == "postgresql":
            return _in_one_statement(sheet, place, expert=expert, source=source, after=after, count=count)
        _write(sheet, place, expert=expert, source=source)
    except IntegrityError:  # the client key was used at this moment by a twin of this request
        raise FellShort from None
    if not count:
        return []
    return read_next(round_id=place.round, expert=expert, after=after, count=count)


def _in_one_statement(
    sheet: Sheet, place: Place, *, expert: int, source: str, after: int, count: int
) -> list[Row]:
    ids = [answer.assignment for answer in sheet.answers]
    # The statement reads the state before it: the rows it changes are open there, and must not come up again.
    but = f"AND o.id NOT IN ({', '.join(['%s'] * len(ids))})"
    statement = ONE_STATEMENT.format(
        given=", ".join([FIRST_GIVEN, *[MORE_GIVEN] * (len(ids) - 1)]), coming=NEXT.format(but=but)
    )
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    parameters = [
        *(value for answer in sheet.answers for value in _given(answer)),
        expert, sheet.unit, str(sheet.client_key), now, len(ids), str(sheet.client_key), sheet.digest, *_about(sheet, place, source), now,
        place.round, expert, place.round, expert, after, *ids, count,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    if rows[0][0] != len(ids):
        raise FellShort
    return [row[1:] for row in rows if row[1] is not None]


def _given(answer: Answer) -> list[Any]:
    return [
        answer.assignment, answer.revision, answer.label, answer.cannot_judge, answer.problem, answer.detail,
        json.dumps(answer.reasons), json.dumps(answer.atoms), answer.note, answer.unsure,
    ]  # fmt: skip


def _about(sheet: Sheet, place: Place, source: str) -> list[Any]:
    timing = sheet.timing
    return [
        timing.seconds, timing.visible_seconds, timing.active_seconds, timing.session, timing.session_position,
        sheet.reference_seen, json.dumps(sheet.conditions), place.guideline, source,
    ]  # fmt: skip


SET = f"""
UPDATE annotation_assignment AS a
SET revision = revision + 1, label = %s, cannot_judge = %s, answered_at = %s, postponed_at = NULL
WHERE a.id = %s AND a.revision = %s AND {CHANGE_WHERE}
"""
ADD = f"INSERT INTO annotation_annotation {ANNOTATION} VALUES ({', '.join(['%s'] * 22)})"


def _write(sheet: Sheet, place: Place, *, expert: int, source: str) -> None:
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    about = _about(sheet, place, source)
    with transaction.atomic(), connection.cursor() as cursor:
        for answer in sheet.answers:
            given = [answer.label, answer.cannot_judge, now, answer.assignment, answer.revision]
            cursor.execute(SET, [*given, expert, sheet.unit])
            if cursor.rowcount != 1:
                raise FellShort
        cursor.executemany(
            ADD,
            [
                [
                    answer.assignment, answer.revision + 1, sheet.client_key.hex, sheet.digest, *_given(answer)[2:],
                    *about, now,
                ]
                for answer in sheet.answers
            ],
        )  # fmt: skip
