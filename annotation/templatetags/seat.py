"""Items on the page: the compound marked in its source, the people of a triple as chips, guidelines."""

import re

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from markdown_it import MarkdownIt

from annotation.models import Guideline
from annotation.protocol.base import get_protocol
from annotation.protocol.definition import Words
from annotation.protocol.display import chips, joined_translation, marked_source
from annotation.protocol.wording import Wording

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
def joined(translation: str) -> str:
    """A translation as it is read: without the blanks that segmentation put there."""
    return joined_translation(translation)


@register.filter
def with_chips(text: str) -> SafeString:
    """PersonX, PersonY … told apart by shape and colour; the text itself is unchanged, copied too."""
    return format_html_join(
        "",
        "{}",
        ((_chip(segment.text, segment.role) if segment.role else segment.text,) for segment in chips(text)),
    )


@register.filter
def connector_text(relation: str, wording: Wording) -> str:
    """What joins head and tail, in the language of the page."""
    return in_language(wording.relation(relation).connector)


@register.filter
def anchor(relation: str) -> str:
    """A relation's name as part of an id: a campaign's own may hold blanks."""
    return re.sub(r"\W+", "-", relation)


@register.filter
def unlike(relation: str, wording: Wording) -> str:
    """The relations this one is easily taken for: "≠ xIntent, xEffect"; nothing where none is known."""
    names = wording.relation(relation).unlike
    return f"≠ {', '.join(names)}" if names else ""


@register.filter
def answer_word(score: str, wording: Wording) -> str:
    """The answer of a score in words; experts never see the scores."""
    return in_language(wording.answer_words(get_protocol(wording.protocol).answer(score)))


@register.filter
def own_answer(answer: dict[str, str], wording: Wording) -> str:
    """An answer in words, by the name of its label, with its detail where one was asked for."""
    for detail in wording.details:
        if detail.code == answer["detail"]:
            return in_language(detail.words)
    scale = get_protocol(wording.protocol).scale
    return next((in_language(wording.answer_words(one)) for one in scale if one.key == answer["label"]), "")


@register.filter
def cause_word(code: str, causes: dict[str, Words]) -> str:
    """A cause in words."""
    return in_language(causes[code]) if code in causes else code


def _chip(text: str, role: str) -> SafeString:
    return format_html('<span class="chip chip-{}">{}</span>', role.lower(), text)


@register.filter
def guideline_change_text(guideline: Guideline) -> str:
    """What a version says is new in it, in the language of the page."""
    return in_language(Words(guideline.change_en, guideline.change_zh))


@register.filter
def guideline_html(guideline: Guideline) -> SafeString:
    """A version of the guidelines in the language of the page."""
    text = in_language(Words(guideline.text_en, guideline.text_zh))
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):  # the page's own title stands above
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return SafeString(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))
