"""The methods paragraph as text: a heading and a paragraph in each language."""

from scoring.reports.table import Document

HEADINGS = {"en": "Methods", "zh-hans": "方法"}


def paragraphs(document: Document) -> list[tuple[str, str]]:
    """Heading and text, English first."""
    return [(HEADINGS[language], text) for language, text in document["text"].items()]
