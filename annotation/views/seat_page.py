"""What the judging page hands to its script, in full: nothing else reaches the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from annotation.models import Campaign, Guideline, User
from annotation.protocol.base import get_protocol
from annotation.protocol.compound import WRONG_REASONS
from annotation.protocol.definition import Choice, Words
from annotation.protocol.display import HIDDEN
from annotation.protocol.wording import Wording
from annotation.services.answers import NOTE_LIMIT
from annotation.services.hours import REST_HINT, REST_MINUTES
from annotation.services.questions import LENGTH as QUESTION_LENGTH
from annotation.services.screens import LookedBack
from annotation.services.seat import POSTPONED_LIMIT, postponed_positions
from annotation.services.wording import wording_of
from annotation.templatetags.seat import connector_text, in_language, unlike

# At least ten minutes' work, so that ten minutes without network cost nothing.
HELD = {Campaign.Protocol.COMPOUND.value: 20, Campaign.Protocol.TRIPLE.value: 100}
GUARD = 250  # milliseconds in which nobody can have read a new unit

# Letters that no other key uses: m t d e o l.
REASON_KEYS = {
    "missing": "KeyM",
    "mistranslated": "KeyT",
    "modifier": "KeyD",
    "added": "KeyE",
    "untranslated": "KeyO",
    "not_fluent": "KeyL",
}


AT_ONCE = 9  # rows that have a digit each, as the script has it (`sheet.js`)


@dataclass(frozen=True)
class Closed:
    """Why nothing of a part can be changed: what stands above its screens, and what is said to who tries."""

    title: str | Promise
    rest: str | Promise
    why: str | Promise


CLOSED = {
    "campaign": Closed(
        _("Campaign closed"),
        _("to look at; nothing is judged in this campaign any more"),
        _("This campaign is closed: nothing is judged in it any more."),
    ),
    "round": Closed(
        _("Round closed"),
        _("to look at; nothing is judged in it any more"),
        _("This round is closed; ask the manager to open it again."),
    ),
    "batch": Closed(
        _("Batch closed"),
        _("to look at; all its answers are frozen"),
        _("The batch of this part is closed: all its answers are frozen."),
    ),
    "part": Closed(
        _("Part handed in"),
        _("to look at; the manager can give the part back to you"),
        _("This part was handed in; ask the manager to give it back to you."),
    ),
}


def closed_by(campaign: Campaign, part: dict[str, Any]) -> str:
    """Which of these closes a part, the widest first; "" where it can be judged."""
    if part["closed"]:
        return "campaign" if campaign.closed_at else "round"
    if not part["handed_in"]:
        return ""
    return "batch" if part["frozen"] else "part"


@dataclass(frozen=True)
class Line:
    """One row of a screen as the page lists it, for those without the script and for the first look of the others.

    `shared`: what its context's translations have in common stands above it. `waits`: the script shows it later.
    """

    row: dict[str, Any]
    number: int
    shared: bool = False
    waits: bool = False


def is_side_by_side(screen: dict[str, Any] | None) -> bool:
    return screen is not None and "context" in screen["rows"][0]


def lines_of(screen: dict[str, Any]) -> list[Line]:
    """The rows in their order; side by side they are counted in each context."""
    if not is_side_by_side(screen):
        return [Line(row, number) for number, row in enumerate(screen["rows"], start=1)]
    lines: list[Line] = []
    for row in screen["rows"]:
        begins = not lines or lines[-1].row["context"] != row["context"]
        number = 1 if begins else lines[-1].number + 1
        lines.append(Line(row, number, shared=begins, waits=row["context"] > 1 or number > AT_ONCE))
    return lines


def reason_keys(wording: Wording) -> list[tuple[str, Words]]:
    """The letters that say why a row is wrong, for the list of keys."""
    keys = _keys_of(wording.reasons)
    return [(_letter(keys[reason.code]), reason.words) for reason in wording.reasons]


def _keys_of(reasons: Sequence[Choice]) -> dict[str, str]:
    """A key for each reason: the protocol's own keep theirs, a campaign's get what is left, in its order."""
    codes = [reason.code for reason in reasons]
    free = iter([key for code, key in REASON_KEYS.items() if code not in codes])
    return {code: REASON_KEYS[code] if code in REASON_KEYS else next(free) for code in codes}


def _letter(key: str) -> str:
    return key.removeprefix("Key").lower()


def _words(wording: Wording) -> dict[str, str]:
    """Every word the script may say, answers as the campaign calls them."""
    words = {name: str(word) for name, word in WORDS.items()}
    words |= {name: in_language(said) for name, said in wording.answers.items() if name in words}
    for key, names in OWN_WORDS.items():
        if key in wording.answers:
            words |= {name: str(word) % {"answer": words[key]} for name, word in names.items()}
    own = [reason.code for reason in wording.reasons] != list(REASON_KEYS)
    if own and wording.reasons:
        letters = ", ".join(letter for letter, _said in reason_keys(wording))
        words["reasonsMissing"] = str(_("Say why row {n} is wrong: %(letters)s.") % {"letters": letters})
    return words


def page_data(
    campaign: Campaign,
    *,
    expert: User,
    guideline: Guideline | None,
    shown: dict[str, Any] | None,
    held: list[dict[str, Any]],
    standing: dict[str, Any],
    before: LookedBack,
) -> dict[str, Any]:
    """Who sits here, the rules of the seat, the screens ahead, every word the script may say."""
    protocol, wording = get_protocol(campaign.protocol), wording_of(campaign)
    # Keys are kept for all campaigns of a browser, so those of a compound's reasons are taken beside triples too.
    reasons = wording.reasons or WRONG_REASONS
    keys = _keys_of(reasons)
    return {
        "user": {"id": expert.pk, "name": expert.username},
        "campaign": campaign.slug,
        "protocol": campaign.protocol,
        "language": get_language(),
        "guideline": guideline and guideline.pk,
        "settings": {
            "reference": campaign.reference,
            "zeroDetail": campaign.zero_detail,
            "reasons": campaign.reasons,
            "noteLimit": NOTE_LIMIT,
            "postponedLimit": POSTPONED_LIMIT,
            "questionLimit": QUESTION_LENGTH,
            "guard": GUARD,
            "restMinutes": REST_MINUTES,
            "held": HELD[campaign.protocol],
        },
        "answers": {answer.key: in_language(wording.answer_words(answer)) for answer in protocol.scale},
        "details": _choices(wording.details),
        "causes": _choices(protocol.cannot_judge_causes),
        "reasons": [{**choice, "key": keys[choice["code"]]} for choice in _choices(reasons)],
        "connectors": {
            name: {"text": connector_text(name, wording), "unlike": unlike(name, wording)}
            for name in wording.relations
        },
        "hidden": HIDDEN,
        "highlight": campaign.highlighted_forms or None,
        "urls": _urls(campaign.slug),
        "words": _words(wording),
        "shown": shown,
        "screens": held,
        "recent": before.screens,
        "partial": before.partial,
        "closed": before.closed,
        "whyClosed": [
            {"by": name, "title": str(closed.title), "rest": str(closed.rest), "why": str(closed.why)}
            for name, closed in CLOSED.items()
        ],
        "closedBy": {part["index"]: closed_by(campaign, part) for part in standing["parts"]},
        "progress": standing,
        "postponed": postponed_positions(campaign, expert_id=expert.pk),
    }


def _choices(choices: tuple[Choice, ...]) -> list[dict[str, str]]:
    return [{"code": choice.code, "word": in_language(choice.words)} for choice in choices]


def _urls(slug: str) -> dict[str, str]:
    """Addresses; in some of them the script puts a number in place of “{number}”."""
    return {
        "judge": reverse("judge", args=[slug]),
        "worker": f"{reverse('offline_worker')}?language={get_language()}",
        "workerScope": f"{reverse('home')}campaigns/",
        "work": reverse("work", args=[slug]),
        "history": reverse("history", args=[slug]),
        "change": f"{reverse('guideline_change', args=[slug])}?next={reverse('judge', args=[slug])}",
        "handIn": _numbered("hand_in", slug),
        "signIn": reverse("sign_in"),
        "next": reverse("api_next", args=[slug]),
        "recent": reverse("api_recent", args=[slug]),
        "screen": _numbered("api_screen", slug),
        "answers": _numbered("api_answers", slug),
        "answersInOrder": reverse("api_answers_in_order", args=[slug]),
        "later": _numbered("api_later", slug),
        "back": _numbered("api_later_back", slug),
        "ask": _numbered("api_ask", slug),
        "words": _numbered("api_words", slug),
        "time": reverse("api_time", args=[slug]),
    }


def _numbered(name: str, slug: str) -> str:
    """The last number of the address is the gap: a campaign may go by a number itself."""
    before, _gap, after = reverse(name, args=[slug, 0]).rpartition("/0/")
    return f"{before}/{{number}}/{after}"


# What is said of a compound's rows where the campaign calls that answer otherwise.
OWN_WORDS: dict[str, dict[str, Promise]] = {
    "correct": {
        "allCorrect": _("all rows: %(answer)s"),
        "restMarked": _("{n} rows marked “%(answer)s”; the same key takes it back."),
        "restMarkedOne": _("One row marked “%(answer)s”; the same key takes it back."),
    },
    "wrong": {"rowWrong": _("row {rows}: %(answer)s"), "rowsWrong": _("rows {rows}: %(answer)s")},
}

WORDS: dict[str, str | Promise] = {
    # the badge
    "saved": _("saved"),
    "notSaved": _("not saved yet"),
    "waiting": _("{n} waiting"),
    "offline": _("offline · {n} waiting"),
    "signedOut": _("signed out · {n} waiting"),
    "needsYou": _("{n} to look at"),
    # verdicts
    "wrong": _("wrong"),
    "correct": _("correct"),
    "cannotJudge": _("cannot judge"),
    "blank": _("no answer"),
    "row": _("Row {n}"),
    "rowIs": _("Row {n}: {answer}"),
    "context": _("Sentence {n} of {of}"),
    "contextPart": _("Sentence {n} of {of} · translations {from}–{to} of {all}"),
    "nextContext": _("Next sentence"),
    "nextRows": _("More translations"),
    "unsure": _("unsure"),
    "notUnsure": _("no longer unsure"),
    "problem": _("problem: {cause}"),
    "note": _("note: {note}"),
    # the line about the last answer
    "lastAnswer": _("Last: {unit} → {answer}"),
    "lastLater": _("Put off: {unit}"),
    "lastBack": _("Back again: {unit}"),
    "allCorrect": _("all correct"),
    "rowWrong": _("row {rows} wrong"),
    "rowsWrong": _("rows {rows} wrong"),
    "rowCannot": _("row {rows} cannot be judged"),
    "rowsCannot": _("rows {rows} cannot be judged"),
    "between": _(", "),
    # saving
    "save": _("Save"),
    "saveLeft": _("{n} left"),
    "saveCorrection": _("Save the correction"),
    "blanksLeft": _("{n} rows have no answer yet."),
    "blanksLeftOne": _("One row has no answer yet."),
    "reasonsMissing": _("Say why row {n} is wrong: m, t, d, e, o or l."),
    "chooseDetail": _("Choose an answer first."),
    "unchanged": _("Nothing was changed."),
    "corrected": _("Corrected."),
    "restMarked": _("{n} rows marked correct; the same key takes it back."),
    "restMarkedOne": _("One row marked correct; the same key takes it back."),
    "restUndone": _("Taken back."),
    # accidents
    "tooEarly": _("Too quick to have read it: press again."),
    "stillHeld": _("Let go of the key first."),
    # later
    "postponedFull": _("{n} units are put off already; judge one of them first."),
    "laterNotNow": _("An answered unit need not come up again."),
    # notices
    "part": _("Part {part}"),
    "partDone": _("{part} is fully judged."),
    "handIn": _("Look through it and hand it in"),
    "elsewhere": _("Answered elsewhere in the meantime: {unit}"),
    "elsewhereRow": _("stored: {stored} · yours: {own}"),
    "keepStored": _("Keep what is stored"),
    "saveOwn": _("Save mine"),
    "otherTab": _("Answered in another tab: {unit}"),
    "refused": _("Not saved: {unit}"),
    "keptAside": _(
        "Part of it was withdrawn, or given to somebody else, before your answer arrived. What you answered there is "
        "kept for the manager and does not count."
    ),
    "notAsked": _("Not asked: {unit}"),
    "notReadable": _("This page cannot read what it kept here; another version of it may have stored that."),
    "serverSays": _("The server answered {status}. Your answer is kept in this browser."),
    "retry": _("Try again"),
    "discard": _("Discard my answer"),
    "signedOutText": _("You were signed out. Your answers are kept in this browser; sign in to send them."),
    "signIn": _("Sign in"),
    "signInFailed": _("Name and password do not match, or the server cannot be reached."),
    "otherUser": _(
        "Somebody else signed in in this browser. Your answers are kept and wait until {name} signs in again."
    ),
    "unreachable": _("The server cannot be reached. Go on: your answers are kept and sent later."),
    "serverTrouble": _("The server has trouble ({status}). Go on: your answers are kept and sent again."),
    "memoryOnly": _("This browser cannot keep answers over a restart: do not close it while answers wait."),
    "rest": REST_HINT,
    "dismiss": _("Dismiss"),
    "noMore": _("No unit is left in this browser; waiting for the network."),
    "searchFailed": _(
        "The server did not answer, so nothing was searched. Search again once it can be reached."
    ),
    "leaving": _(
        "{n} answers have not reached the server. They stay in this browser and are sent when you sign in here again. "
        "Sign out?"
    ),
    "leavingOne": _(
        "One answer has not reached the server. It stays in this browser and is sent when you sign in here again. "
        "Sign out?"
    ),
    # questions, words
    "asked": _("On its way: the answer will appear under “My questions”."),
    "newAnswers": _("new answers: {n}"),
    "newGuidelines": _("The guidelines have changed. Answers on this page go on under the version it shows."),
    "seeChange": _("See what is new"),
    "wordsComing": _("Looking for the words …"),
    "noWords": _("Word boundaries need the network; they are not there now."),
    # dialogs
    "nothingFound": _("Nothing found."),
    "nothingAnswered": _("Nothing answered yet."),
    "characters": _("{n} of {limit} characters"),
    "pressKey": _("press a key"),
    "keyTaken": _("That key is taken by: {action}"),
    "reasonKey": _("why a row is wrong: {reason}"),
    "correcting": _("Correction"),
    "leave": _("Leave as it was"),
    "goOn": _("Go on judging"),
    "unit": _("Unit {n}"),
    "nothingBefore": _("There is no earlier answer."),
}
