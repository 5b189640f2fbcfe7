"""What was done, looked up: who, what, before and after; and that every action there is has its words."""

import ast
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override

from annotation.models import AuditEntry
from annotation.protocol.moves import Moves
from annotation.services import audit_trail
from annotation.services.access import create_invitation
from annotation.services.audit_trail import COLUMNS, Wanted, actions_of, export_rows, trail
from annotation.services.campaign_settings import FIELDS, change_settings
from annotation.services.import_fill import _IDS, _PLACES
from annotation.services.moves import MOVED
from annotation.services.people import add_person, audit, deactivate
from annotation.templatetags.audit import (
    _ROWS,
    ACTION_WORDS,
    KEY_WORDS,
    VALUE_WORDS,
    action_word,
    key_word,
    told,
    value_word,
)
from scoring.services.methods import KINDS as LOOKED_AT
from scoring.views.words import KINDS
from tests.factories import Cast, make_cast

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def actions_in_the_code() -> dict[str, str]:
    """Every action that some code writes down, with where it stands."""
    found: dict[str, str] = {}
    for app in ("annotation", "scoring"):
        for path in (ROOT / app).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            constants = {
                name: value.value
                for node in tree.body
                if isinstance(node, ast.Assign)
                for target in node.targets
                for name, value in pairs(target, node.value)
                if isinstance(value, ast.Constant) and isinstance(value.value, str)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and name_of(node.func) in ("audit", "write_down"):
                    for action in said(node.args[2], constants):
                        found[action] = str(path.relative_to(ROOT))
    return found


def pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return [
            (one.id, of) for one, of in zip(target.elts, value.elts, strict=True) if isinstance(one, ast.Name)
        ]
    return []


def name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else ""


def said(argument: ast.expr, constants: dict[str, str]) -> list[str]:
    if isinstance(argument, ast.Constant):
        return [str(argument.value)]
    if isinstance(argument, ast.IfExp):
        return said(argument.body, constants) + said(argument.orelse, constants)
    assert isinstance(argument, ast.Name), ast.dump(argument)
    return [constants[argument.id]]


def test_every_action_has_words() -> None:
    found = actions_in_the_code()

    assert len(found) > 40
    assert {action: where for action, where in found.items() if action not in ACTION_WORDS} == {}
    assert set(ACTION_WORDS) - set(found) == set(), "nothing writes these any more"


def keys_in_the_code() -> dict[str, str]:
    """Every key that some code writes down with an action, with where it stands."""
    found: dict[str, str] = {}
    modules = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for app in ("annotation", "scoring")
        for path in (ROOT / app).rglob("*.py")
    }
    every = [function for tree in modules.values() for function in functions_of(tree)]
    for path, tree in modules.items():
        known = [*functions_of(tree), *every]  # those of the same file first
        for function in functions_of(tree):
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                if name_of(call.func) in ("audit", "write_down") and len(call.args) > 3:
                    for key in keys_of(call.args[3], function, known):
                        found[key] = str(path.relative_to(ROOT))
    return found


def functions_of(tree: ast.Module) -> list[ast.FunctionDef]:
    """Those of a file and of its classes; what is made in one of them belongs to it."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]


def keys_of(written: ast.expr, function: ast.FunctionDef, known: list[ast.FunctionDef]) -> set[str]:
    """The keys of a record as the code makes it; what cannot be followed has to stand in `ELSEWHERE`."""
    if (text := ast.unparse(written)) in ELSEWHERE:
        return set(ELSEWHERE[text])
    if isinstance(written, ast.Dict):
        found: set[str] = set()
        for key, value in zip(written.keys, written.values, strict=True):
            if key is None:
                found |= keys_of(value, function, known)
            else:
                named = str(key.value) if isinstance(key, ast.Constant) else ast.unparse(key)
                found |= {named, *ELSEWHERE.get(ast.unparse(value), ())}  # a record in the record, too
        return found
    if isinstance(written, ast.DictComp) and isinstance(written.generators[0].iter, ast.Tuple):
        return {str(ast.literal_eval(name)) for name in written.generators[0].iter.elts}
    if isinstance(written, ast.BinOp):
        return keys_of(written.left, function, known) | keys_of(written.right, function, known)
    if isinstance(written, ast.IfExp):
        return keys_of(written.body, function, known) | keys_of(written.orelse, function, known)
    found = set()
    if isinstance(written, ast.Name):
        made = [
            (node.value, function)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == written.id
        ]
    else:
        name = name_of(written.func) if isinstance(written, ast.Call) else ""
        called = [one for one in known if one.name == name][:1]
        made = [
            (node.value, one)
            for one in called
            for node in ast.walk(one)
            if isinstance(node, ast.Return) and node.value
        ]
    assert made, f"{function.name}: say in ELSEWHERE which keys “{text}” has"
    for value, where in made:
        found |= keys_of(value, where, known)
    return found


# Records, and records in them, that are put together elsewhere.
ELSEWHERE = {
    "dict(touches)": {"relations", "patterns", "atoms", "items"},
    "moves.as_json()": Moves(
        giver="A1", takers=(), moves=(), stuck=(), loads={}, pairs={}, hash=""
    ).as_json(),
    "outcome": {"missing", "reason", "decision", "rework", "expert", "part"},  # of every kind of round
    "round_.settings": {"percent", "seed", "distance", "drawn"},  # of repeats
    "stored": {"items", "units", "rows", "replaced", "filled", "filled_fields", *_PLACES, *_IDS},
    "asked": {"sample", "quotas", "overlap"},
    "document['settings']": {  # of a built set
        *(
            "leave_out",
            "n",
            "minimum",
            "adversarial_n",
            "threshold",
            "above",
            "filter",
            "keep",
            "below",
            "class",
        ),
    },
    "{name: [stored[name], text] for name, text in changed.items()}": {
        "source",
        "translation",
        "head",
        "tail",
    },
    "{name: _in_short(pair) for name, pair in changed.items()}": {
        "atoms",
        *(name for names in FIELDS.values() for name in names),
    },
}


def test_every_key_has_words() -> None:
    found = keys_in_the_code()

    told_apart = {"before", "after", *_ROWS}  # before and after a change, and numbers that nobody is told

    assert len(found) > 60
    assert {key: where for key, where in found.items() if key not in KEY_WORDS.keys() | told_apart} == {}


def test_every_report_and_table_has_words() -> None:
    reports = {kind.name for kinds in KINDS.values() for kind in kinds}

    assert (reports | set(LOOKED_AT)) - set(VALUE_WORDS) == set()


def test_it_says_what_was_there_before_and_after(cast: Cast) -> None:
    change_settings(cast.campaign, {"title": "New"}, by=cast.mei)
    deactivate(cast.lin, cast.mei)

    closed, changed = trail(cast.campaign, Wanted()).entries

    assert changed.changes == (("title", "Main", "New"),)
    assert (changed.who, changed.action) == ("M1", "settings changed")
    assert closed.changes == (("state", "open", "closed"),)
    assert closed.facts == (("person", "A2"),)


def test_names_stand_in_it_only_when_asked_for(cast: Cast) -> None:
    create_invitation(cast.ada, cast.mei)
    add_person(cast.campaign, "wei", "expert", cast.mei)
    audit(cast.campaign, cast.mei, "parts assigned", {"experts": ["ada", "a stranger"]})

    hidden = repr(trail(cast.campaign, Wanted()))
    exported = json.dumps(list(export_rows(cast.campaign, Wanted())))
    shown = repr(trail(cast.campaign, Wanted(), names=True))

    for name in ("'ada'", "wei", "mei", "stranger"):
        assert name not in hidden
        assert name not in exported
    assert "A1 (ada)" in shown
    assert "M1 (mei)" in shown


@pytest.mark.parametrize("action", [MOVED, "late items given out"])
def test_moves_and_late_items_name_people_by_their_pseudonyms(action: str, cast: Cast) -> None:
    moved = {"from": "A1", "to": {"A2": 2}, "loads": {"A1": 0, "A2": 2},
             "pairs": [{"a": "A1", "b": "A2", "n_items": 2}], "stuck": 0}  # fmt: skip
    audit(cast.campaign, cast.mei, action, moved)

    (hidden,) = trail(cast.campaign, Wanted()).entries
    (shown,) = trail(cast.campaign, Wanted(), names=True).entries

    said = {key: value_word(value, key) for key, value in told(hidden.facts)}
    assert said["loads"] == "A1: 0; A2: 2"
    assert said["pairs"] == "A1 – A2: 2"
    assert "A1 (ada): 0" in value_word(dict(shown.facts)["loads"], "loads")


def test_people_are_told_no_numbers_of_rows_and_nothing_empty(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "batch closed", {"design": 4, "batch": 1, "missing": {}, "reason": ""})
    audit(cast.campaign, cast.mei, "parts assigned", {"design": "pairs", "seed": 0})

    assigned, closed = trail(cast.campaign, Wanted()).entries

    assert told(closed.facts) == [("batch", 1)]
    assert {(key, value_word(value, key)) for key, value in told(assigned.facts)} == {
        ("design", "in pairs"),
        ("seed", "0"),
    }
    assert value_word("on_demand", "reference") == "on demand"
    (exported,) = [row for row in export_rows(cast.campaign, Wanted()) if row[2] == "batch closed"]
    assert '"design": 4' in str(exported[5])


def test_rounds_times_checksums_and_people_are_told_as_they_are_read(cast: Cast) -> None:
    audit(cast.campaign, cast.mei, "label decided by an arbiter", {"position": 7, "decision": 3})
    audit(cast.campaign, cast.mei, "question answered", {"question": 1, "before": None, "after": "Yes."})

    answered, decided = trail(cast.campaign, Wanted()).entries

    assert told(decided.facts) == [("position", 7)]
    assert [key_word(key, answered.action) for key, *_values in answered.changes] == ["answer"]
    assert value_word(["main 1", "dry_run 2", "repeat 2"], "rounds") == "Main round, Dry run 2, Repeats 1"
    assert value_word(["gone 1", "main"], "rounds") == "gone 1, main"
    assert value_word("ab" * 32, "sha256") == "abababababab…"
    assert value_word({"A1 (li_wei)": 2}, "missing") == "A1 (li_wei): 2"
    assert value_word([{"expert": "A1", "part": 0}], "rework") == "expert: A1; part: 1"
    with timezone.override("Asia/Shanghai"):
        assert value_word("2026-11-30T16:05:09+00:00", "handed_in") == "2026-12-01 00:05"


def test_another_campaigns_entries_are_not_in_it(cast: Cast) -> None:
    audit(cast.otto.memberships.get().campaign, cast.otto, "round closed", {"round": "main"})
    create_invitation(cast.otto, None)

    assert trail(cast.campaign, Wanted()).entries == ()


def test_it_is_narrowed_down_by_person_action_and_day(cast: Cast) -> None:
    add_person(cast.campaign, "wei", "manager", None)
    audit(cast.campaign, cast.mei, "names shown", {"page": "people"})
    old = audit(cast.campaign, cast.mei, "round closed", {"round": "main"})
    AuditEntry.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=3))
    place = cast.campaign.memberships.get(user=cast.mei).pk

    def actions(**wanted: object) -> list[str]:
        return [entry.action for entry in trail(cast.campaign, Wanted(**wanted)).entries]  # type: ignore[arg-type]

    assert actions(member=place) == ["round closed", "names shown"]
    assert actions(action="names shown") == ["names shown"]
    assert actions(day=timezone.localdate() - timedelta(days=3)) == ["round closed"]
    assert actions(member=999_999) == []
    assert set(actions_of(cast.campaign)) == {"names shown", "person added", "person created", "round closed"}


def test_pages_neither_repeat_nor_skip_and_cost_the_same(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_trail, "PAGE", 3)
    made = [audit(cast.campaign, cast.mei, "names shown", {"page": str(n)}).pk for n in range(7)]
    seen: list[int] = []
    before, costs = None, set()
    while True:
        with CaptureQueriesContext(connection) as queries:
            page = trail(cast.campaign, Wanted(), before=before)
        costs.add(len(queries))
        seen += [entry.pk for entry in page.entries]
        audit(cast.campaign, cast.mei, "names shown", {"page": "meanwhile"})
        if page.next_before is None:
            break
        before = page.next_before

    assert seen == made[::-1]
    assert costs == {2}


def test_the_export_holds_everything_in_its_columns(cast: Cast) -> None:
    change_settings(cast.campaign, {"title": "New"}, by=cast.mei)
    (row,) = export_rows(cast.campaign, Wanted())

    entry = dict(zip(COLUMNS, row, strict=True))
    assert (entry["who"], entry["action"]) == ("M1", "settings changed")
    assert json.loads(str(entry["before"])) == {"title": "Main"}
    assert json.loads(str(entry["after"])) == {"title": "New"}


def test_words_fall_back_to_what_is_written() -> None:
    assert action_word("something new") == "something new"
    assert key_word("some_key") == "some key"
    with override("en"):
        assert (
            value_word({"part": 0, "k": None, "automatic": True})
            == "part: 1; experts per item: –; by itself: yes"
        )
        assert value_word("main", "round") == "main"
        assert value_word(list(range(25))).endswith(" …")
