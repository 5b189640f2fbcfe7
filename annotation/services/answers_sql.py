"""The statements of the hot path, by hand: one on PostgreSQL, two at first, whatever the campaign's size.

1. `read`: who asks, and what the rows of the sheet are. Nothing is locked. PostgreSQL need not be asked again as
   long as the answer holds, which the second statement checks (`known_place`).
2. `write_and_read_next`: compare-and-set of the rows, their annotations, and the screens that come next, in one
   statement. It changes all rows or none: the rows are locked and counted before any is changed.

SQLite has no data-changing WITH, so the same is done there in three statements, the first two in one immediate
transaction; reading costs no way to a server there. The user's and the round's ids are parameters, never taken
from a join: from a join the planner cannot know how few rows they select, and the statement becomes thirty times
slower. On PostgreSQL both are prepared once per connection, because planning them takes longer than running them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakSet

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from annotation.protocol.wording import Wording, read_wording
from annotation.services.sheets import Answer, Sheet

Row = tuple[Any, ...]
LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class Place:
    """Where the rows of a sheet stand: whose campaign, and who may write there.

    `guideline` is the version in force; `acknowledged` are those that this expert knows up to it, the first one
    first, with their numbers (they never get fewer). `open_rounds` are those from which the next screens come;
    `asks_again`: one of them was opened for a change of the guidelines, and `changed_by` are the versions it is for
    where the sheet is of it. `atoms` is how many the sheet's compound has. These two are None in what is remembered
    of an earlier sheet. `own_wording` holds the campaign's own answers, details and reasons, None where all are the
    protocol's; they are read here only, for another wording comes with another version. `display` is the campaign's,
    stored with the answers.
    """

    password: str
    is_active: bool
    campaign: int
    protocol: str
    reference: str
    reasons: str
    zero_detail: bool
    display: str
    guideline: int
    open_rounds: tuple[int, ...]
    acknowledged: dict[int, int] = field(default_factory=dict)
    asks_again: bool = False
    own_wording: Wording | None = None
    changed_by: tuple[int, ...] | None = None
    atoms: int | None = None

    def under(self, told: int | None) -> int:
        """The version to store an answer under that says it was given under `told`: never one its author does not
        know.
        """
        if told in self.acknowledged:
            return told
        return next(reversed(self.acknowledged), self.guideline)

    def settles(self, told: int | None) -> bool:
        """Whether what is remembered is enough for such an answer; else what its author knows is read anew."""
        under = self.under(told)
        if under == self.guideline:
            return under in self.acknowledged and told in (None, under)
        return told == under and not self.asks_again


class NotFound(Exception):
    """This user has no such rows in such a campaign."""


# Of a campaign, in the order they were opened. Most have one; hidden repeats and a dry run stand beside it.
OPEN_ROUNDS = """
SELECT w.id FROM annotation_round w WHERE w.campaign_id = {campaign} AND w.state = 'open' ORDER BY w.id
"""
# The versions an expert knows: up to the last one that was no news to them or that they have acknowledged, as
# `guidelines.pending` has it; none after the one in force.
ACKNOWLEDGED = """
SELECT k.id, k.version FROM annotation_guideline k WHERE k.campaign_id = c.id AND k.version <= (
    SELECT max(g.version) FROM annotation_guideline g JOIN annotation_guideline f ON f.id = r.guideline_id
    WHERE g.campaign_id = c.id AND g.version <= f.version AND (
        g.version = 1 OR g.created_at <= m.joined_at OR EXISTS (
            SELECT 1 FROM annotation_acknowledgement w WHERE w.guideline_id = g.id AND w.user_id = u.id
        )
    )
) ORDER BY k.version
"""
READ = f"""
SELECT u.password, u.is_active, c.id, c.protocol, c.reference, c.reasons, c.zero_detail, c.display,
       r.guideline_id, a.round_id,
       (SELECT {{listed}} FROM ({OPEN_ROUNDS.format(campaign="c.id")}) open_round), a.unit_id,
       (SELECT s.unit_id FROM annotation_assignment s WHERE s.id = {{screen}} AND s.expert_id = {{expert}}),
       (SELECT w.atoms FROM annotation_unit w WHERE w.id = a.unit_id), {{own_wording}},
       (SELECT {{known}} FROM ({ACKNOWLEDGED}) acknowledged),
       EXISTS (SELECT 1 FROM annotation_round w
               WHERE w.campaign_id = c.id AND w.state = 'open' AND w.kind = 'rejudgement'),
       CASE WHEN r.kind = 'rejudgement' THEN r.settings END
FROM annotation_user u
JOIN annotation_membership m ON m.user_id = u.id AND m.role = 'expert'
JOIN annotation_campaign c ON c.id = m.campaign_id AND c.slug = {{slug}}
JOIN annotation_assignment a ON a.expert_id = {{expert}} AND a.id {{ids}}
JOIN annotation_round r ON r.id = a.round_id AND r.campaign_id = c.id
WHERE u.id = {{expert}}
"""


def read(sheet: Sheet, *, slug: str, expert: int) -> Place:
    """Statement 1. Raises NotFound unless all rows are this expert's, of one round and of the screen's unit."""
    ids = [answer.assignment for answer in sheet.answers]
    if sheet.screen > LARGEST_ID:
        raise NotFound
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            _execute_prepared(cursor, "assay_read", [slug, expert, ids, sheet.screen])
        else:
            places = ", ".join(["%s"] * len(ids))
            statement = READ.format(
                slug="%s",
                expert="%s",
                ids=f"IN ({places})",
                screen="%s",
                listed="group_concat(open_round.id)",
                known="group_concat(acknowledged.id || ':' || acknowledged.version)",
                own_wording="json_remove(c.wording, '$.relations', '$.class_groups')",
            )
            cursor.execute(statement, [sheet.screen, expert, slug, expert, *ids, expert])
        rows = cursor.fetchall()
    if (
        len(rows) != len(ids)
        or len({row[:10] for row in rows}) != 1
        or {row[11] for row in rows} != {rows[0][12]}
    ):
        raise NotFound
    first = rows[0]
    own_wording = _wording(first[3], _decoded(first[14]))
    place = Place(*(*first[:9], _numbers(first[10]), _numbered(first[15]), bool(first[16]), own_wording))
    _remember(place, slug=slug, expert=expert)
    return replace(place, atoms=len(_decoded(first[13])), changed_by=_changed_by(_decoded(first[17])))


def _decoded(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _wording(protocol: str, stored: Any) -> Wording | None:
    return read_wording(protocol, stored) if stored else None


def _numbered(listed: str | None) -> dict[int, int]:
    pairs = (pair.split(":") for pair in listed.split(",")) if listed else ()
    return {int(key): int(number) for key, number in pairs}


def _changed_by(settings: Any) -> tuple[int, ...]:
    """The versions that a round was opened for; none for a round of another kind."""
    named = (settings or {}).get("touched_by", ())
    return (named,) if isinstance(named, int) else tuple(named)


def _numbers(listed: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in listed.split(",")) if listed else ()


_places: dict[tuple[str, int], Place] = {}  # as this process last read them
PLACES_KEPT = 1000


def known_place(*, slug: str, expert: int) -> Place | None:
    """Where this expert's last sheet stood. Good for `write_and_read_next`, which falls short if it has changed."""
    return _places.get((slug, expert)) if connection.vendor == "postgresql" else None


def _remember(place: Place, *, slug: str, expert: int) -> None:
    if len(_places) >= PLACES_KEPT:
        _places.clear()
    _places[slug, expert] = place


# The screens that come next. The inner query walks the index of open rows in the order of the queue and stops
# at the limit: it groups by nothing but the queue, which a screen has for itself, or SQLite would read all open
# rows first. The outer one reads these screens whole, answered rows and their last annotation too.
SCREEN_COLUMNS = """
a.id, a.revision, a.position, a.queue, a.postponed_at IS NOT NULL, p."index", u.id, u.compound, u.atoms,
i.translation, i.head, i.relation, i.tail, i.context_id, x.source, x."start", x."end", x.reference, x.source_differs,
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
OPEN_PLACES = """
SELECT min(o.position) FROM annotation_assignment o
WHERE o.round_id = {round} AND o.expert_id = {expert} AND o.queue > {after}
  AND o.answered_at IS NULL AND o.withdrawn_at IS NULL {but}
GROUP BY o.queue ORDER BY o.queue LIMIT {count}
"""
NEXT = f"""
SELECT {SCREEN_COLUMNS}
FROM {SCREEN_JOINS}
WHERE a.round_id = {{round}} AND a.expert_id = {{expert}} AND a.withdrawn_at IS NULL AND a.position {{among}}
ORDER BY a.queue, a."row"
"""
# PostgreSQL takes a LIMIT that it does not know for a tenth of all rows, but an array for ten of them: only then
# is the plan the same in a small campaign and in a large one. OFFSET 0 keeps it from planning all rounds as one.
NEXT_SQLITE = NEXT.replace("{among}", f"IN ({OPEN_PLACES})")
NEXT_POSTGRESQL = f"""
SELECT coming.* FROM unnest({{rounds}}) AS of_round (id)
CROSS JOIN LATERAL ({NEXT.replace("{among}", f"= ANY (ARRAY ({OPEN_PLACES}))")} OFFSET 0) coming
""".replace("{round}", "of_round.id")


def read_next(*, rounds: Sequence[int], expert: int, after: int, count: int) -> list[Row]:
    """The rows of the next `count` screens of these rounds after a place in the queue."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            statement = NEXT_POSTGRESQL.format(rounds="%s", expert="%s", after="%s", count="%s", but="")
            cursor.execute(statement, [list(rounds), expert, expert, after, count])
            return _first_screens(cursor.fetchall(), count)
        statement = NEXT_SQLITE.format(round="%s", expert="%s", after="%s", count="%s", but="")
        rows: list[Row] = []
        for round_id in rounds:
            cursor.execute(statement, [round_id, expert, round_id, expert, after, count])
            rows += cursor.fetchall()
        return _first_screens(rows, count)


def _queue(row: Row) -> int:
    """Of a row in the order of SCREEN_COLUMNS."""
    return int(row[3])


def _first_screens(rows: list[Row], count: int) -> list[Row]:
    """Each round gave its first `count` screens, in their order; of all of them the first."""
    last = sorted({_queue(row) for row in rows})[:count][-1:]
    return sorted((row for row in rows if _queue(row) <= last[0]), key=_queue)


CHANGE_WHERE = """
a.expert_id = {expert} AND a.withdrawn_at IS NULL
AND a.unit_id = (SELECT s.unit_id FROM annotation_assignment s WHERE s.id = {screen} AND s.expert_id = {expert})
AND EXISTS (SELECT 1 FROM annotation_round r WHERE r.id = a.round_id AND r.state = 'open')
AND NOT EXISTS (SELECT 1 FROM annotation_handin h WHERE h.part_id = a.part_id AND h.expert_id = a.expert_id)
"""
ANNOTATION = """
(assignment_id, revision, client_key, digest, label, cannot_judge, problem, detail, reasons, atoms, note, unsure,
 seconds, visible_seconds, active_seconds, session, session_position, reference_seen, conditions, guideline_id,
 source, created_at)
"""
# Parameters: $1 expert, $2 screen, $3 now, $4 client key, $5 digest; $6 … $15 one array for each field of the answers;
# $16 … $24 what is the same for all of them; $25 after, $26 count; $27 … $36 what is taken for true. That holds for
# every round of the campaign, so that a hidden repeat, which is of another one, takes no longer than what is around it.
SAME_PLACE = f"""
a.round_id = ANY ($35) AND $35 = ARRAY ({OPEN_ROUNDS.format(campaign="$28")})
AND (SELECT r.guideline_id FROM annotation_round r WHERE r.id = a.round_id) = $34 AND EXISTS (
    SELECT 1 FROM annotation_user u
    JOIN annotation_membership m ON m.user_id = u.id AND m.role = 'expert'
    JOIN annotation_campaign c ON c.id = m.campaign_id
    WHERE u.id = $1 AND u.is_active AND u.password = $27 AND c.id = $28 AND c.slug = $29 AND c.protocol = $30
      AND c.reference = $31 AND c.reasons = $32 AND c.zero_detail = $33 AND c.display = $36
)
"""
# The atoms an answer names are some of the compound's. Most name none, and then nothing is looked up.
ATOMS_THERE = """
(g.atoms = '[]' OR (SELECT max(e::numeric) FROM jsonb_array_elements_text(g.atoms::jsonb) e)
    < (SELECT jsonb_array_length(w.atoms) FROM annotation_unit w WHERE w.id = a.unit_id))
"""
ONE_STATEMENT = f"""
WITH given AS (
    SELECT * FROM unnest($6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
        AS g (id, revision, label, cannot_judge, problem, detail, reasons, atoms, note, unsure)
),
held AS (
    SELECT a.id, a.round_id FROM annotation_assignment a JOIN given g ON g.id = a.id AND g.revision = a.revision
    WHERE a.id = ANY ($6) AND {CHANGE_WHERE.format(expert="$1", screen="$2")} AND {SAME_PLACE}
      AND {ATOMS_THERE}
      AND NOT EXISTS (SELECT 1 FROM annotation_annotation n
                      WHERE n.assignment_id = ANY ($6) AND n.client_key = $4)
    FOR UPDATE OF a
),
changed AS (
    UPDATE annotation_assignment a
    SET revision = a.revision + 1, label = g.label, cannot_judge = g.cannot_judge, answered_at = $3,
        postponed_at = NULL
    FROM given g
    WHERE a.id = ANY ($6) AND g.id = a.id AND a.id IN (SELECT id FROM held)
      AND (SELECT count(*) = cardinality($6) AND count(DISTINCT round_id) = 1 FROM held)
    RETURNING a.id, a.revision
),
added AS (
    INSERT INTO annotation_annotation {ANNOTATION}
    SELECT c.id, c.revision, $4, $5, g.label, g.cannot_judge, g.problem, g.detail, g.reasons::jsonb,
           g.atoms::jsonb, g.note, g.unsure, $16, $17, $18, $19, $20, $21, $22,
           $23, $24, $3
    FROM changed c JOIN given g ON g.id = c.id
    RETURNING assignment_id
),
coming AS ({
    NEXT_POSTGRESQL.format(rounds="$35", expert="$1", after="$25", count="$26", but="AND o.id <> ALL ($6)")
})
SELECT (SELECT count(*) FROM added), coming.* FROM (VALUES (1)) one LEFT JOIN coming ON true
"""
PREPARED = {
    "assay_read": (
        "text, bigint, bigint[], bigint",
        READ.format(
            slug="$1",
            expert="$2",
            ids="= ANY ($3)",
            screen="$4",
            listed="string_agg(open_round.id::text, ',')",
            known="string_agg(acknowledged.id || ':' || acknowledged.version, ',')",
            own_wording="c.wording - 'relations' - 'class_groups'",
        ),
    ),
    "assay_judge": (
        "bigint, bigint, timestamptz, uuid, text, bigint[], int[], text[], text[], text[], text[], text[], "
        "text[], text[], boolean[], float8, float8, float8, text, int, boolean, jsonb, bigint, text, bigint, int, "
        "text, bigint, text, text, text, text, boolean, bigint, bigint[], text",
        ONE_STATEMENT,
    ),
}
_prepared: WeakSet[Any] = WeakSet()  # the server connections that know the statements


def _execute_prepared(cursor: Any, name: str, parameters: Sequence[Any]) -> None:
    """Run a prepared statement."""
    prepare()
    cursor.execute(f"EXECUTE {name} ({', '.join(['%s'] * len(parameters))})", parameters)


def prepare() -> None:
    """Make both statements known to this connection to the server, unless it knows them."""
    connection.ensure_connection()
    if connection.connection not in _prepared:
        with connection.connection.cursor() as raw:
            for known, (types, statement) in PREPARED.items():
                raw.execute(f"PREPARE {known} ({types}) AS {statement}")
        _prepared.add(connection.connection)


class FellShort(Exception):
    """Fewer rows could be changed than answers were sent; nothing was stored."""


def write_and_read_next(
    sheet: Sheet, place: Place, *, slug: str, expert: int, source: str, after: int, count: int
) -> list[Row]:
    """Statement 2: store the sheet and read what comes next. Raises FellShort, with nothing stored.

    On PostgreSQL also where the account, the membership, the round or the campaign's settings are not, or no
    longer, what `place` says.
    """
    try:
        if connection.vendor == "postgresql":
            return _in_one_statement(
                sheet, place, slug=slug, expert=expert, source=source, after=after, count=count
            )
        _write(sheet, place, expert=expert, source=source)
    except IntegrityError:  # the client key was used at this moment by a twin of this request
        raise FellShort from None
    if not count:
        return []
    return read_next(rounds=place.open_rounds, expert=expert, after=after, count=count)


def _in_one_statement(
    sheet: Sheet, place: Place, *, slug: str, expert: int, source: str, after: int, count: int
) -> list[Row]:
    fields = zip(*(_given(answer) for answer in sheet.answers), strict=True)
    parameters = [
        expert, sheet.screen, timezone.now(), str(sheet.client_key), sheet.digest,
        *(list(values) for values in fields), *_about(sheet), place.under(sheet.guideline), source, after, count,
        place.password, place.campaign, slug, place.protocol, place.reference, place.reasons, place.zero_detail,
        place.guideline, list(place.open_rounds), place.display,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        _execute_prepared(cursor, "assay_judge", parameters)
        rows = cursor.fetchall()
    if rows[0][0] != len(sheet.answers):
        raise FellShort
    return _first_screens([row[1:] for row in rows if row[1] is not None], count)


def _given(answer: Answer) -> list[Any]:
    return [
        answer.assignment, answer.revision, answer.label, answer.cannot_judge, answer.problem, answer.detail,
        _listed(answer.reasons), _listed(answer.atoms), answer.note, answer.unsure,
    ]  # fmt: skip


def _listed(values: Sequence[object]) -> str:
    return json.dumps(values) if values else "[]"


def _about(sheet: Sheet) -> list[Any]:
    timing = sheet.timing
    return [
        timing.seconds, timing.visible_seconds, timing.active_seconds, timing.session, timing.session_position,
        sheet.reference_seen, json.dumps(sheet.conditions),
    ]  # fmt: skip


SET = f"""
UPDATE annotation_assignment AS a
SET revision = revision + 1, label = %s, cannot_judge = %s, answered_at = %s, postponed_at = NULL
WHERE a.id = %s AND a.revision = %s AND {CHANGE_WHERE.format(expert="%s", screen="%s")}
"""
ADD = f"""
INSERT INTO annotation_annotation {ANNOTATION}
VALUES ({", ".join(["%s"] * 22)})
"""


def _write(sheet: Sheet, place: Place, *, expert: int, source: str) -> None:
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    about = [*_about(sheet), place.under(sheet.guideline), source, now]
    with transaction.atomic(), connection.cursor() as cursor:
        for answer in sheet.answers:
            given = [answer.label, answer.cannot_judge, now, answer.assignment, answer.revision]
            cursor.execute(SET, [*given, expert, sheet.screen, expert])
            if cursor.rowcount != 1:
                raise FellShort
        cursor.executemany(
            ADD,
            [
                [
                    answer.assignment, answer.revision + 1, sheet.client_key.hex, sheet.digest, *_given(answer)[2:],
                    *about,
                ]
                for answer in sheet.answers
            ],
        )  # fmt: skip
