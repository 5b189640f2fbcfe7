"""Items on the page: the compound marked in its source, the people of a triple as chips, guidelines."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from markdown_it import MarkdownIt

from annotation.models import Guideline
from annotation.protocol.compound import COMPOUND
from annotation.protocol.definition import Words
from annotation.protocol.display import chips, marked_source
from annotation.protocol.triple import RELATIONS, TRIPLE, ZERO_DETAILS, connector

register = template.Library()

# Managers write guidelines; HTML in them stays text, so that nobody's script runs on an expert's page.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@register.filter
def in_language(words: Words) -> str:
    """One of a protocol's own texts, in the language of the page."""
    return words.zh if (get_language() or "").startswith("zh") else words.en


@register.filter
def marked(source: str, span: list[int] | None) -> SafeString:
    """The source with its compound highlighted. The translation never is: that would prompt the judge."""
    cut = marked_source(source, (span[0], span[1]) if span else None)
    if not cut.compound:
        return format_html("{}", source)
    return format_html('{}<mark class="compound">{}</mark>{}', cut.before, cut.compound, cut.after)


@register.filter
def with_chips(text: str) -> SafeString:
    """PersonX, PersonY … told apart by shape and colour; the text itself is unchanged, copied too."""
    return format_html_join(
        "",
        "{}",
        ((_chip(segment.text, segment.role) if segment.role else segment.text,) for segment in chips(text)),
    )


@register.filter
def connector_text(relation: str) -> str:
    """What joins head and tail, in the language of the page."""
    return in_language(connector(relation))


@register.filter
def unlike(relation: str) -> str:
    """The relations this one is easily taken for: "≠ xIntent, xEffect"; nothing where none is known."""
    if relation not in RELATIONS:
        return ""
    names = [name for confusion in RELATIONS[relation].confused_with for name in confusion.relations]
    return f"≠ {', '.join(names)}"


@register.filter
def answer_word(score: str) -> str:
    """An example's answer in words; experts never see the scores."""
    return in_language(TRIPLE.answer(score).words)


@register.filter
def own_answer(answer: dict[str, str]) -> str:
    """An answer to either kind of item in words, by the name of its label."""
    words = {choice.key: choice.words for choice in COMPOUND.scale}
    return in_language(words[answer["label"]]) if answer["label"] in words else triple_answer(answer)


@register.filter
def triple_answer(answer: dict[str, str]) -> str:
    """An answer to a triple in words, with its detail where one was asked for."""
    for detail in ZERO_DETAILS:
        if detail.code == answer["detail"]:
            return in_language(detail.words)
    return next((in_language(choice.words) for choice in TRIPLE.scale if choice.key == answer["label"]), "")


@register.filter
def cause_word(code: str, causes: dict[str, Words]) -> str:
    """A cause in words."""
    return in_language(causes[code]) if code in causes else code


def _chip(text: str, role: str) -> SafeString:
    return format_html('<span class="chip chip-{}">{}</span>', role.lower(), text)


@register.filter
def guideline_html(guideline: Guideline) -> SafeString:
    """A version of the guidelines in the language of the page."""
    text = in_language(Words(guideline.text_en, guideline.text_zh))
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):  # the page's own title stands above
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return SafeString(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
