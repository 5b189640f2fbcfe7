"""What was done, in words: actions, what they were about, and values."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Campaign, Round
from annotation.templatetags.manage import round_name

register = template.Library()

MOST_VALUES = 20
FINGERPRINT = 12  # characters of a checksum that tell it from others; files hold the whole

ACTION_WORDS = {
    "account closed": gettext_lazy("account closed"),
    "account reopened": gettext_lazy("account opened again"),
    "answer returned": gettext_lazy("answer returned with a ruling"),
    "arbiter's decision taken back": gettext_lazy("arbiter's decision taken back"),
    "batch closed": gettext_lazy("batch closed"),
    "batch opened again": gettext_lazy("batch opened again"),
    "benchmark added": gettext_lazy("benchmark added"),
    "benchmark removed": gettext_lazy("benchmark removed"),
    "benchmark submission removed": gettext_lazy("submission to a benchmark removed"),
    "campaign archived": gettext_lazy("campaign archived"),
    "campaign closed": gettext_lazy("campaign closed"),
    "campaign created": gettext_lazy("campaign created"),
    "campaign opened again": gettext_lazy("campaign opened again"),
    "campaign taken out of the archive": gettext_lazy("campaign taken out of the archive"),
    "carry-over ended": gettext_lazy("carry-over of verdicts ended"),
    "checker found not to have seen the sample": gettext_lazy("checker found not to have seen the sample"),
    "discussion opened again": gettext_lazy("discussion opened again"),
    "discussion resolved": gettext_lazy("discussion resolved"),
    "dry run decided": gettext_lazy("dry run decided"),
    "dry run gate overridden": gettext_lazy("gate of the dry run overridden"),
    "example taken back": gettext_lazy("example taken back"),
    "gold marked": gettext_lazy("items with a known label marked"),
    "gold unmarked": gettext_lazy("items with a known label unmarked"),
    "guidelines changed": gettext_lazy("guidelines changed"),
    "interim figures": gettext_lazy("interim figures or answers looked at"),
    "invitation accepted": gettext_lazy("invitation accepted"),
    "invitation created": gettext_lazy("invitation made"),
    "invitation revoked": gettext_lazy("invitation ended"),
    "item restored": gettext_lazy("item restored"),
    "item withdrawn": gettext_lazy("item withdrawn"),
    "items imported": gettext_lazy("items imported"),
    "evaluation set built": gettext_lazy("evaluation set built"),
    "items opened to discussion": gettext_lazy("items opened to discussion"),
    "judgements imported": gettext_lazy("judgements imported"),
    "label decided by an arbiter": gettext_lazy("label decided by an arbiter"),
    "late items given out": gettext_lazy("late items given out"),
    "names exported": gettext_lazy("names exported"),
    "names read": gettext_lazy("names read by a program"),
    "names shown": gettext_lazy("names shown"),
    "part given back": gettext_lazy("part given back"),
    "parts assigned": gettext_lazy("parts given out"),
    "person added": gettext_lazy("person added"),
    "person created": gettext_lazy("account made"),
    "person erased": gettext_lazy("person erased"),
    "person removed": gettext_lazy("person removed"),
    "personal data exported": gettext_lazy("personal data exported"),
    "precedent added": gettext_lazy("precedent added"),
    "precedent taken back": gettext_lazy("precedent taken back"),
    "question answered": gettext_lazy("question answered"),
    "release frozen": gettext_lazy("release frozen"),
    "report looked at": gettext_lazy("report looked at"),
    "repeats taken out": gettext_lazy("repeats taken out"),
    "round closed": gettext_lazy("round closed"),
    "round due date set": gettext_lazy("due date of a round set"),
    "round opened": gettext_lazy("round opened"),
    "round opened again": gettext_lazy("round opened again"),
    "settings changed": gettext_lazy("settings changed"),
    "submission failed": gettext_lazy("submission failed"),
    "submissions opened or closed": gettext_lazy("submissions opened or closed"),
    "text corrected": gettext_lazy("text corrected"),
    "token created": gettext_lazy("token made"),
    "token revoked": gettext_lazy("token revoked"),
    "units moved": gettext_lazy("units moved"),
    "verdicts carried over": gettext_lazy("verdicts carried over to alike translations"),
    "wording changed": gettext_lazy("wording changed"),
}
# What an entry tells; keys that are not here are shown as they are.
KEY_WORDS = {
    "a": gettext_lazy("first"),
    "about": gettext_lazy("about"),
    "above": gettext_lazy("only above it"),
    "added": gettext_lazy("added"),
    "adversarial_n": gettext_lazy("candidates chosen"),
    "atoms": gettext_lazy("atoms"),
    "audience": gettext_lazy("who may submit"),
    "automatic": gettext_lazy("by itself"),
    "b": gettext_lazy("second"),
    "batch": gettext_lazy("batch"),
    "below": gettext_lazy("limit of soft uniqueness"),
    "changed": gettext_lazy("changed"),
    "checker": gettext_lazy("checker"),
    "class": gettext_lazy("class"),
    "days": gettext_lazy("valid for days"),
    "decision": gettext_lazy("decision"),
    "design": gettext_lazy("design"),
    "display": gettext_lazy("display of translations"),
    "distance": gettext_lazy("units between"),
    "drawn": gettext_lazy("drawn"),
    "expert": gettext_lazy("expert"),
    "experts": gettext_lazy("experts"),
    "file": gettext_lazy("file"),
    "files": gettext_lazy("files"),
    "filled": gettext_lazy("filled in"),
    "filled_fields": gettext_lazy("cells filled in"),
    "filter": gettext_lazy("diversity filter"),
    "format": gettext_lazy("format"),
    "from": gettext_lazy("from"),
    "given_before": gettext_lazy("given to the checker before"),
    "handed_in": gettext_lazy("handed in"),
    "hash": gettext_lazy("fingerprint"),
    "head": gettext_lazy("head"),
    "highlighted_forms": gettext_lazy("highlighted forms"),
    "item": gettext_lazy("item"),
    "item_id": gettext_lazy("item id"),
    "items": gettext_lazy("items"),
    "judged_anyway": gettext_lazy("judged anyway"),
    "k": gettext_lazy("experts per item"),
    "keep": gettext_lazy("pass the filter"),
    "key": gettext_lazy("key"),
    "kind": gettext_lazy("kind"),
    "label": gettext_lazy("label"),
    "leave_out": gettext_lazy("relations left out"),
    "loads": gettext_lazy("items of each expert"),
    "looked": gettext_lazy("looked at before"),
    "minimum": gettext_lazy("at least of each"),
    "missing": gettext_lazy("answers missing"),
    "n": gettext_lazy("how many"),
    "n_items": gettext_lazy("items"),
    "name": gettext_lazy("under the name"),
    "names_in_discussion": gettext_lazy("in discussions, experts see each other's pseudonyms"),
    "not_handed_in": gettext_lazy("not handed in by"),
    "note": gettext_lazy("note"),
    "number": gettext_lazy("number"),
    "open_answers": gettext_lazy("answers still to come"),
    "order": gettext_lazy("order of triples"),
    "overlap": gettext_lazy("units with a second expert"),
    "page": gettext_lazy("page"),
    "pairs": gettext_lazy("items that pairs share"),
    "part": gettext_lazy("part"),
    "pattern": gettext_lazy("pattern"),
    "patterns": gettext_lazy("patterns"),
    "percent": gettext_lazy("share in %"),
    "person": gettext_lazy("person"),
    "places": gettext_lazy("places"),
    "position": gettext_lazy("position"),
    "positions": gettext_lazy("positions"),
    "protocol": gettext_lazy("protocol"),
    "pseudonym": gettext_lazy("known as"),
    "question": gettext_lazy("question"),
    "quota": gettext_lazy("submissions allowed"),
    "quotas": gettext_lazy("shares"),
    "reason": gettext_lazy("reason"),
    "reasons": gettext_lazy("why a compound is wrong"),
    "reference": gettext_lazy("reference"),
    "relations": gettext_lazy("relations"),
    "repeats_withdrawn": gettext_lazy("repeats withdrawn"),
    "replaced": gettext_lazy("replaced"),
    "rework": gettext_lazy("parts to be done again"),
    "role": gettext_lazy("role"),
    "round": gettext_lazy("round"),
    "rounds": gettext_lazy("rounds"),
    "rows": gettext_lazy("rows"),
    "rule": gettext_lazy("rule"),
    "ruling": gettext_lazy("ruling"),
    "run": gettext_lazy("run"),
    "sample": gettext_lazy("sample"),
    "seed": gettext_lazy("seed"),
    "settings": gettext_lazy("settings"),
    "sha256": gettext_lazy("SHA-256"),
    "source": gettext_lazy("source"),
    "sources": gettext_lazy("sources"),
    "source_differs": gettext_lazy("source differs from the test set"),
    "split": gettext_lazy("split"),
    "state": gettext_lazy("state"),
    "stuck": gettext_lazy("units that stayed"),
    "system": gettext_lazy("system"),
    "table": gettext_lazy("table or report"),
    "tail": gettext_lazy("tail"),
    "thread": gettext_lazy("discussion"),
    "threshold": gettext_lazy("score from"),
    "title": gettext_lazy("title"),
    "to": gettext_lazy("to"),
    "touches": gettext_lazy("touches"),
    "translation": gettext_lazy("translation"),
    "triple_id": gettext_lazy("triple id"),
    "type": gettext_lazy("type"),
    "units": gettext_lazy("units"),
    "value": gettext_lazy("value"),
    "version": gettext_lazy("version"),
    "zero_detail": gettext_lazy("third answer to a triple"),
}
# What “value” stands for, where an action changes one thing only.
VALUE_OF = {
    "question answered": gettext_lazy("answer"),
    "round due date set": gettext_lazy("due on"),
}
VALUE_WORDS = {
    "accept": gettext_lazy("accepted"),
    "agreement": gettext_lazy("agreement"),
    "annotations": gettext_lazy("the judgements themselves"),
    "archived": gettext_lazy("archived"),
    "artifacts": gettext_lazy("artifacts"),
    "atom": gettext_lazy("atom"),
    "audit": gettext_lazy("audit"),
    "bleu": gettext_lazy("BLEU"),
    "campaign": gettext_lazy("overview of the campaign"),
    "closed": gettext_lazy("closed"),
    "comparison": gettext_lazy("comparison of systems"),
    "compound": gettext_lazy("compounds"),
    "compound-check": gettext_lazy("automatic check against the experts"),
    "counts": gettext_lazy("counts"),
    "dry_run": gettext_lazy("dry run"),
    "error-rates": gettext_lazy("error rates"),
    "estimate": gettext_lazy("estimate of error rates"),
    "evidence": gettext_lazy("how experts worked"),
    "expert": gettext_lazy("expert"),
    "gold": gettext_lazy("answers to items whose label is known"),
    "handed in": gettext_lazy("handed in"),
    "human": gettext_lazy("human performance"),
    "invitation": gettext_lazy("invitation"),
    "items": gettext_lazy("items"),
    "labels": gettext_lazy("the final labels"),
    "main": gettext_lazy("main"),
    "manager": gettext_lazy("manager"),
    "methods": gettext_lazy("methods paragraph"),
    "no_gate": gettext_lazy("no gate"),
    "not_passed": gettext_lazy("not passed"),
    "open": gettext_lazy("open"),
    "overridden": gettext_lazy("not passed, gone on with a reason"),
    "passed": gettext_lazy("passed"),
    "pattern": gettext_lazy("pattern"),
    "people": gettext_lazy("people"),
    "plan": gettext_lazy("planning from rates so far"),
    "rejudgement": gettext_lazy("second look"),
    "relation": gettext_lazy("relation"),
    "release": gettext_lazy("a release of the judgements"),
    "repeat": gettext_lazy("repeat"),
    "resolution": gettext_lazy("resolution"),
    "rework": gettext_lazy("rework"),
    "spot_check": gettext_lazy("spot check"),
    "statistics": gettext_lazy("composition (Table 1)"),
    "stopped": gettext_lazy("stopped"),
    "taken_back": gettext_lazy("taken back"),
    "texts": gettext_lazy("BLEU of any test set"),
    "triple": gettext_lazy("triples"),
    "viewer": gettext_lazy("viewer"),
    "what-if": gettext_lazy("labels under another rule or model"),
    "withdrawn": gettext_lazy("withdrawn"),
}
# Whose values are words of the site; elsewhere the same word may be somebody's own.
_CODED = frozenset({"state", "role", "round", "protocol", "decision", "about", "kind", "page", "table"})
_CHOICES: Mapping[str, Any] = {
    "reference": Campaign.Reference,
    "reasons": Campaign.Reasons,
    "order": Campaign.Order,
    "audience": {
        "closed": gettext_lazy("managers only"),
        "members": gettext_lazy("managers and viewers of this campaign"),
        "accounts": gettext_lazy("everybody with an account here but this campaign's experts"),
    },
    "display": {
        "alone": gettext_lazy("alone"),
        "side_by_side": gettext_lazy("side by side"),
    },
    "design": {
        "cyclic": gettext_lazy("cyclic"),
        "pairs": gettext_lazy("in pairs"),
        "quotas": gettext_lazy("by shares"),
        "single": gettext_lazy("single"),
    },
}
# What yes and no are called where the settings do not call them so, no first.
_SWITCHES: Mapping[str, Any] = {"zero_detail": (gettext_lazy("one key"), gettext_lazy("four keys"))}
# Numbers of rows, which tell people nothing; what they are about stands beside them.
_ROWS = frozenset({"annotation", "decision", "design", "example", "item", "precedent", "question", "thread"})
# Whose values go by people: how these are called is nobody's word.
_BY_PEOPLE = frozenset({"drawn", "loads", "missing", "to"})


@register.filter
def told(facts: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What of an entry is for people: without what is empty, and without numbers of rows. Files keep these.

    A round and its number make one name. Triples have no translations, so that how these are shown says nothing.
    """
    given = dict(facts)
    if given.get("protocol") == Campaign.Protocol.TRIPLE:
        given.pop("display", None)
    if {"round", "number"} <= given.keys():
        given["round"] = f"{given['round']} {given.pop('number')}"
    return [
        (name, value)
        for name, value in given.items()
        if not (value is None or value in ("", [], {}) or (name in _ROWS and isinstance(value, int)))
    ]


@register.filter
def action_word(action: str) -> str:
    """An action in words."""
    return str(ACTION_WORDS.get(action, action))


@register.filter
def key_word(key: str, action: str = "") -> str:
    """What something is about, in words."""
    if key == "value" and action in VALUE_OF:
        return str(VALUE_OF[action])
    return str(KEY_WORDS.get(key, key.replace("_", " ")))


@register.filter
def value_word(value: Any, key: str = "") -> str:
    """A value for people: yes and no, a dash for nothing, lists and records in a line."""
    if value is None or value == "" or value == [] or value == {}:
        return "–"
    if isinstance(value, bool):
        return str(_SWITCHES.get(key, (_("no"), _("yes")))[value])
    if isinstance(value, Mapping):
        if value.keys() == {"a", "b", "n_items"}:  # two people and what they share
            return f"{value['a']} – {value['b']}{_(': ')}{value['n_items']}"
        return _("; ").join(
            f"{name if key in _BY_PEOPLE else key_word(name)}{_(': ')}{value_word(one, name)}"
            for name, one in value.items()
        )
    if isinstance(value, list):
        shown = _(", ").join(value_word(one, key) for one in value[:MOST_VALUES])
        return f"{shown} …" if len(value) > MOST_VALUES else shown
    if isinstance(value, float):
        return f"{value:.4g}"
    if key == "part" and isinstance(value, int):
        return str(value + 1)  # people count from 1
    if key in _CODED and value in VALUE_WORDS:
        return str(VALUE_WORDS[value])
    if key in _CHOICES:
        return _chosen(_CHOICES[key], str(value))
    return _in_words(key, value) if isinstance(value, str) else str(value)


def _in_words(key: str, value: str) -> str:
    """A round, a time or a checksum as people read it; any other text as it is."""
    if key in ("round", "rounds"):
        kind, _blank, number = value.partition(" ")
        known = kind in Round.Kind.values and number.isdecimal()
        return round_name(Round(kind=kind, number=int(number))) if known else value
    if key == "handed_in":
        at = parse_datetime(value)
        return f"{timezone.localtime(at):%Y-%m-%d %H:%M}" if at else value
    if key in ("hash", "sha256") and len(value) > FINGERPRINT:
        return f"{value[:FINGERPRINT]}…"
    return value


def _chosen(choices: Any, value: str) -> str:
    """The word of a choice; what is none stays as it is."""
    words = choices if isinstance(choices, Mapping) else dict(choices.choices)
    return str(words.get(value, value))
