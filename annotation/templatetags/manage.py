"""Small words and figures on the pages of managers and viewers."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Campaign, Job, Membership, Round
from annotation.protocol.compound import COMPOUND
from annotation.protocol.errors import ProtocolError
from annotation.protocol.labels import REASONS, get_rule
from annotation.services.discussion import unread_threads
from annotation.services.evaluation_sets import CHOSEN, SAMPLED
from annotation.services.overview import ExpertLine
from annotation.services.part_names import part_name
from annotation.services.round_progress import ExpertShare
from annotation.services.rounds import FIRST_DRAWN
from annotation.services.sentences import message_of
from annotation.services.wording import wording_of
from annotation.templatetags.seat import in_language

register = template.Library()

LONG_WORDS = 20  # letters; shorter ones stay in one piece

CHECK_WORDS = {
    "exactly k experts per item": gettext_lazy("Every item given out has exactly its number of experts"),
    "units are never torn": gettext_lazy("No unit is torn between two parts"),
    "assignments stand in their place": gettext_lazy(
        "Everything given out names its own item, unit and part"
    ),
    "one screen in one place": gettext_lazy(
        "On one screen stands one unit, and each comes up at its own place"
    ),
    "experts take part": gettext_lazy("Who was given items is an expert of the campaign"),
    "somebody manages": gettext_lazy("The campaign has a manager, if it ever had one"),
    "moves add up": gettext_lazy("What was recorded of moved units agrees with what was given out"),
    "answers are the protocol's": gettext_lazy("Every answer, known label and decision is one that there is"),
    "nothing is open in what is handed in": gettext_lazy(
        "Nobody is asked for an answer in a closed batch or a part that was handed in"
    ),
    "discussion waits for judging": gettext_lazy(
        "Nothing is discussed or decided while it is judged independently"
    ),
    "items are judged again in their slots": gettext_lazy(
        "Items are judged again by the experts who judged them, and resolved once they are discussed"
    ),
    "checkers have not judged": gettext_lazy("Who checks an item has not judged it"),
    "nobody waits twice for one repeat": gettext_lazy("Nobody is to judge one item again twice"),
    "final labels are of items that count": gettext_lazy("No item was labelled after it was taken out"),
    "verdicts are carried over from alike translations": gettext_lazy(
        "Verdicts are carried over only between translations of one sentence with the same rendering of the compound"
    ),
    "verdicts are carried over from what is judged": gettext_lazy(
        "Verdicts are carried over only from translations that experts were given"
    ),
    "carried labels are those of their sources": gettext_lazy(
        "Every label that is carried over is that of its source"
    ),
    "withdrawn items rest": gettext_lazy("Nobody is asked for an item that was withdrawn or replaced"),
    "replaced items have a successor": gettext_lazy("Where a text was replaced, another stands in its place"),
    "set-aside items stay out": gettext_lazy(
        "What is set aside for a dry run is in that dry run and not in the main round"
    ),
    "gold stands on texts that stand": gettext_lazy("No gold mark is on a text that was replaced"),
    "rounds end together": gettext_lazy(
        "Rounds are open or closed as the campaign and the main round are, and have its number of experts"
    ),
    "guidelines are the campaign's": gettext_lazy(
        "Every answer goes by the campaign's guidelines, every open round by the newest"
    ),
    "repeats have originals": gettext_lazy("Who judges an item again has judged it before"),
    "repeats wait for somebody": gettext_lazy(
        "Every repeat that is still to come is that of an expert who is here"
    ),
    "answers agree with their annotations": gettext_lazy("Every answer is the last one its expert saved"),
    "final labels follow their rule": gettext_lazy("Every final label follows from its answers by its rule"),
    "frozen answers stay frozen": gettext_lazy("No frozen answer was changed or can be"),
    "outputs stand in their context": gettext_lazy("Every translation belongs to its context"),
    "no output stands on a replaced item": gettext_lazy("No translation is left on a text that was replaced"),
    "imports are complete": gettext_lazy("Every import holds as many items as it reported"),
}
# Where a violation may come from, for whoever finds one.
CHECK_HISTORY = {
    "nothing is open in what is handed in": gettext_lazy(
        "Earlier versions could leave such places behind when an item was restored."
    ),
    "gold stands on texts that stand": gettext_lazy("Earlier versions left the mark there."),
    "guidelines are the campaign's": gettext_lazy(
        "Earlier versions left a round that was opened again under the older one."
    ),
}
REPORT_WORDS = {
    "agreement": gettext_lazy("Agreement"),
    "error-rates": gettext_lazy("Error rates"),
    "comparison": gettext_lazy("Systems compared"),
    "human": gettext_lazy("Human performance"),
    "compound-check": gettext_lazy("Automatic compound check"),
    "estimate": gettext_lazy("Error rate from a sample"),
    "plan": gettext_lazy("Planning"),
    "what-if": gettext_lazy("What if"),
    "evidence": gettext_lazy("How experts worked"),
    "gold": gettext_lazy("Gold items"),
    "annotations": gettext_lazy("Judgements"),
    "labels": gettext_lazy("Final labels"),
    "release": gettext_lazy("Release"),
}
SPLIT_WORDS = {
    "test": gettext_lazy("test"),
    "dev": gettext_lazy("dev"),
    "train": gettext_lazy("train"),
    "all": gettext_lazy("all items"),
    "other": gettext_lazy("other"),
}
STATE_KINDS = {
    Job.State.PENDING: "",
    Job.State.RUNNING: "info",
    Job.State.DONE: "ok",
    Job.State.FAILED: "wrong",
}


@register.filter
def lookup(mapping: Mapping[Any, Any], key: Any) -> Any:
    """What a mapping holds under a key; nothing where it does not."""
    return mapping.get(key, "")


@register.filter
def grouped(number: object) -> object:
    """10012 as 10,012; what is no whole number stays as it is."""
    return f"{number:,}" if isinstance(number, int) else number


@register.filter
def label_word(label: str, campaign: Campaign) -> str:
    """A final label in words: a compound's is one of its answers, and called as the campaign calls these."""
    if campaign.protocol == Campaign.Protocol.COMPOUND:
        answer = COMPOUND.answer("1" if label == "1" else "0")
        return in_language(wording_of(campaign).answer_words(answer))
    return _("plausible") if label == "1" else _("not plausible")


@register.filter
def reason_word(reason: str) -> str:
    """Why an item has no label, in words."""
    return in_language(REASONS[reason]) if reason in REASONS else reason


@register.filter
def rule_word(rule: str) -> str:
    """What a label rule is called; one that is not known any more by its code."""
    try:
        return in_language(get_rule(rule).title)
    except ProtocolError:
        return rule


@register.filter
def rule_code(rule: str) -> SafeString:
    """How files and addresses name it, beside its name."""
    return format_html('<code class="muted">{}</code>', rule)


@register.filter
def split_word(split: str) -> str:
    """A split in words."""
    return str(SPLIT_WORDS.get(split, split))


@register.filter
def breakable(words: str) -> str:
    """Long words joined by slashes, which a narrow cell may break behind each."""
    if len(words) < LONG_WORDS:
        return words
    return format_html_join(SafeString("/<wbr>"), "{}", ((word,) for word in words.split("/")))


@register.filter
def check_word(rule: str) -> str:
    """What a check looks for, in words."""
    return str(CHECK_WORDS.get(rule, rule))


@register.filter
def check_history(rule: str) -> str:
    """What a violation of it may come from; nothing where there is nothing to tell."""
    return str(CHECK_HISTORY.get(rule, ""))


@register.filter
def report_word(kind: str) -> str:
    """A report in words."""
    return str(REPORT_WORDS.get(kind, kind))


@register.filter
def job_kind(state: str) -> str:
    """The look of a job's state."""
    return STATE_KINDS.get(Job.State(state), "")


@register.filter
def job_message(job: Job) -> str:
    """What a job says, in the language of the page where it is one of the site's own sentences."""
    if job.state == Job.State.FAILED and job.result and job.result.get("said"):
        return message_of(job.result)
    return _(job.message) if job.message else ""


@register.filter
def issue_message(issue: Mapping[str, Any]) -> str:
    """What is wrong with a file, in the language of the page."""
    return message_of(issue)


@register.filter
def origin_words(origin: Mapping[str, Any]) -> str:
    """Where an item came from and why it was chosen."""
    place = {
        "file": origin.get("file", "–"),
        "line": origin.get("line", "–"),
        "score": origin.get("score", "–"),
    }
    if origin.get("why") == SAMPLED:
        return _("drawn from %(file)s, line %(line)s") % place
    if origin.get("why") == CHOSEN:
        return _("candidate of %(file)s, line %(line)s, score %(score)s") % place
    return str(origin.get("note") or json.dumps(origin, ensure_ascii=False))


@register.filter
def people_named(experts: Iterable[ExpertLine], names: bool) -> str:
    """A1, A3, A4: the people somebody waits for."""
    return _(", ").join(
        f"{line.member.pseudonym} ({line.member.user.username})" if names else line.member.pseudonym
        for line in experts
    )


@register.filter
def members_named(shares: Iterable[ExpertShare], names: bool) -> str:
    """The same of a round's experts."""
    return _(", ").join(
        f"{share.member.pseudonym} ({share.member.user.username})" if names else share.member.pseudonym
        for share in shares
    )


@register.filter
def round_name(round_: Round) -> str:
    """What people call a round."""
    if round_.kind == Round.Kind.MAIN:
        return _("Main round")
    if round_.kind == Round.Kind.REPEAT:
        if round_.number < FIRST_DRAWN:
            return _("Repeats, imported")
        return _("Repeats %(number)d") % {"number": round_.number - FIRST_DRAWN + 1}
    return part_name(round_.kind, round_.number, 0)


@register.simple_tag
def unread_discussions(member: Membership | None) -> int:
    """How many discussions hold something that a manager has not read."""
    return unread_threads(member) if member else 0


@register.simple_tag
def exact(text: str) -> SafeString:
    """A text as it is: blanks and line breaks kept, nothing in it is markup; an empty one is said to be."""
    if text:
        return format_html('<span class="exact">{}</span>', text)
    return format_html('<span class="muted">{}</span>', _("(empty)"))
