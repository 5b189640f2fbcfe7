"""What holds for every page: readable contrasts, and nothing that the content policy would drop."""

import re
from itertools import product

import pytest

from scripts.messages import BASE

COLOUR = re.compile(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);")
LIGHT, DARK = 0, 1
SURFACES = ("paper", "sheet", "raised", "sunk")

# Text on what it stands on: at least 4.5 to 1 (WCAG 2.2, 1.4.3).
TEXTS = [
    *product(("ink", "muted", "accent", "wrong"), SURFACES),
    *product(("ink",), ("accent-soft", "ok-soft", "wrong-soft", "warn-soft")),
    ("accent", "accent-soft"),
    ("accent-strong", "accent-soft"),
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("ok", "ok-soft"),
    ("ok", "paper"),
    ("wrong", "wrong-soft"),
    ("warn", "warn-soft"),
]
# What must be seen to be used, beside its surface: at least 3 to 1 (1.4.11).
EDGES = [*product(("edge", "accent", "wrong"), ("paper", "sheet", "raised")), ("accent", "line")]


def colours(mode: int) -> dict[str, str]:
    tokens = (BASE / "static/tokens.css").read_text()
    return {name: pair[mode] for name, *pair in COLOUR.findall(tokens)}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_it_measures_contrast_as_wcag_does() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the well-known near miss


@pytest.mark.parametrize("mode", [LIGHT, DARK])
@pytest.mark.parametrize(("pairs", "least"), [(TEXTS, 4.5), (EDGES, 3.0)])
def test_it_can_be_read(mode: int, pairs: list[tuple[str, str]], least: float) -> None:
    named = colours(mode)

    low = {pair: contrast(named[pair[0]], named[pair[1]]) for pair in pairs}

    assert {pair: round(value, 2) for pair, value in low.items() if value < least} == {}


def test_it_calls_colours_by_their_names() -> None:
    """Outside of a token with its light and its dark value, a colour is called by its name."""
    for sheet in (BASE / "static").rglob("*.css"):
        if "vendor" not in sheet.parts:
            rest = COLOUR.sub("", sheet.read_text())
            assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{}]*[;}])", rest) == [], sheet.name


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("a style attribute", r"<[^>]*\sstyle="),
        ("a style element", r"<style\b"),
        ("a script in the page", r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")"),
        ("a handler in the page", r"<[^>]*\son\w+="),
        ("something from another site", r"(?:src|href)=\"(?:https?:)?//"),
    ],
)
def test_it_has_nothing_in_templates_that_the_policy_drops(what: str, pattern: str) -> None:
    for template in (BASE / "templates").rglob("*.html"):
        assert not re.search(pattern, template.read_text()), f"{what} in {template.name}"


def rules_of(selector: str, *, sheet: str = "app.css") -> str:
    """What a sheet says of a selector, wherever it says it."""
    text = re.sub(r"/\*.*?\*/", "", (BASE / "static" / sheet).read_text(), flags=re.DOTALL)
    blocks = re.findall(r"([^{}]+)\{([^{}]*)\}", text)
    return " ".join(body for heads, body in blocks if selector in heads.strip().split(",\n"))


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        (":is(h1, h2, h3):lang(zh)", "text-wrap: wrap"),
        (".table.stacked [data-label]::before", "overflow-wrap: break-word"),
        (".stack.loose > .stack", "--gap: var(--s4)"),
        (".page-head > :first-child", "flex: 1 1"),
        (".keep", "white-space: nowrap"),
        ("time", "white-space: nowrap"),
        (".choice", "gap: 1px"),
    ],
)
def test_it_breaks_lines_where_words_and_figures_end(selector: str, says: str) -> None:
    assert says in rules_of(selector)


def test_chinese_cells_keep_the_narrow_dot_between_their_parts() -> None:
    assert not rules_of(".items td:lang(zh)", sheet="manage.css")


def test_no_percent_sign_is_torn_from_its_figure() -> None:
    torn = [
        str(path.relative_to(BASE))
        for path in (BASE / "templates").rglob("*.html")
        if re.search(r"(\d|\}\}|</strong>) %(?!\})", path.read_text())
    ]
    assert torn == []


def test_only_sentences_and_one_filter_write_a_percent_sign() -> None:
    outside = re.compile(r"{% (?:block)?translate.*?{% endblocktranslate %}|{% translate .*?%}", re.DOTALL)
    for template in (BASE / "templates").rglob("*.html"):
        assert not re.search(r"}}(?:&nbsp;| )?%(?!})", outside.sub("", template.read_text())), template
