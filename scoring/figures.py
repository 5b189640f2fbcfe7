"""From a report's data to pictures for papers: SVG and PDF, letters within the file, told apart without colour.

An SVG holds its letters as outlines, a PDF its fonts; the same data give the same bytes.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from annotation.protocol.sentences import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]
Translate = Callable[[str], str]

FORMS: dict[str, str] = {"svg": "image/svg+xml", "pdf": "application/pdf"}
LATIN = "DejaVu Sans"  # comes with matplotlib
CHINESE = (
    "Noto Sans CJK SC", "Source Han Sans SC", "Noto Sans SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei", "Droid Sans Fallback", "PingFang SC", "Hiragino Sans GB", "Heiti SC", "STHeiti",
    "Microsoft YaHei", "SimHei",
)  # fmt: skip
NAMED_ROWS = 60  # compounds that can still be read beside a heat map
NAMED_WORDS = 12


def draw(kind: str, data: Document, form: str, *, translate: Translate = str) -> bytes:
    """`error-rates` (a histogram), `artifacts` (a scatter), `comparison` (a heat map), `precision-recall` or
    `reliability` as a file.

    `translate` says a text in the language of the picture; one that no font here can show stays English.
    """
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    fonts = _fonts()
    settings: Any = {
        "font.family": fonts,
        "font.size": 9,
        "svg.fonttype": "path",
        "svg.hashsalt": "assay",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with rc_context(settings):
        figure = Figure(figsize=(6.0, 4.2), layout="constrained")
        _DRAWN[kind](figure, data, lambda text: _legible(text, translate, fonts))
        buffer = io.BytesIO()
        dated = {"Date": None} if form == "svg" else {"CreationDate": None}
        with rc_context({"pdf.fonttype": _pdf_font_type(figure)}):
            figure.savefig(buffer, format=form, metadata=dated)
    return buffer.getvalue()


def _fonts() -> list[str]:
    """The families to look for a letter in, one after the other: those that this machine has."""
    from matplotlib.font_manager import fontManager  # noqa: PLC0415

    there = {font.name for font in fontManager.ttflist}
    return [LATIN, *(font for font in CHINESE if font in there)]


def _legible(text: str, translate: Translate, fonts: Sequence[str]) -> str:
    translated = translate(text)
    return translated if translated == text or _shown(translated, fonts) else str(text)


def _shown(text: str, fonts: Sequence[str]) -> bool:
    """Whether the fonts together have every letter of the text."""
    from matplotlib.font_manager import FontProperties, findfont, get_font  # noqa: PLC0415

    there = [get_font(findfont(FontProperties(family=font))) for font in fonts]
    return all(any(font.get_char_index(ord(letter)) for font in there) for letter in text)


def _pdf_font_type(figure: "Figure") -> int:
    """TrueType fonts go into a PDF as they are (42). Chinese ones mostly are of another kind: their letters go in as
    drawings (3), which every reader can show."""
    from matplotlib.text import Text  # noqa: PLC0415

    ticks = [label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    written = "".join(text.get_text() for text in (*ticks, *figure.findobj(Text)) if isinstance(text, Text))
    return 42 if _shown(written, (LATIN,)) else 3


def _histogram(figure: "Figure", data: Document, translate: Translate) -> None:
    """Compounds by how many of their contexts are wrong."""
    axes: Axes = figure.subplots()
    wrong = range(len(data["counts"]))
    bars = axes.bar(wrong, data["counts"], width=0.8, color="0.75", edgecolor="black", linewidth=0.8)
    axes.bar_label(bars, padding=2, fontsize=8)
    axes.set_xticks(wrong)
    axes.set_xlabel(translate(say("wrong contexts of the compound")))
    axes.set_ylabel(translate(say("number of compounds")))
    axes.set_title(data["title"], fontsize=9)


def _scatter(figure: "Figure", data: Document, translate: Translate) -> None:
    """Words by how many triples hold them and how many of these are plausible."""
    axes: Axes = figure.subplots()
    _words(
        axes,
        [point for point in data["points"] if not point["beyond"]],
        label=translate(say("within chance, or in fewer than 20 triples")),
        marker="o",
        s=9,
        facecolors="none",
        edgecolors="0.6",
    )
    beyond = [point for point in data["points"] if point["beyond"]]
    _words(axes, beyond, label=translate(say("gives a label away")), marker="^", s=22, color="black")
    if data["curve"]:
        places = [one["n"] for one in data["curve"]]
        for bound, style, told in (("lower", "--", say("lower bound")), ("upper", "-", say("upper bound"))):
            heights = [one[bound] for one in data["curve"]]
            axes.plot(places, heights, style, color="black", lw=1, label=translate(told))
    for point in beyond[:NAMED_WORDS]:
        axes.annotate(
            point["word"],
            (point["n"], point["percent"]),
            textcoords="offset points",
            xytext=(4, 3),
            fontsize=7,
        )
    axes.set_xscale("log")
    axes.set_ylim(-3, 103)
    axes.set_xlabel(translate(say("triples that hold the word")))
    axes.set_ylabel(translate(say("plausible among them (%)")))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7)


def _words(axes: "Axes", points: Sequence[Document], **look: Any) -> None:
    if points:
        axes.scatter(
            [point["n"] for point in points],
            [point["percent"] for point in points],
            linewidths=0.6,
            rasterized=len(points) > 3000,
            **look,
        )


def _heat_map(figure: "Figure", data: Document, translate: Translate) -> None:
    """Compounds by systems, the darker the more contexts are wrong; white with a stroke where nothing is judged."""
    import numpy as np  # noqa: PLC0415

    rows = data["rows"]
    share = np.array(
        [[np.nan if one is None else one for one in row["percent"]] for row in rows], dtype=np.float64
    ).reshape(len(rows), len(data["systems"]))
    named = len(rows) <= NAMED_ROWS
    figure.set_size_inches(2.6 + 0.9 * len(data["systems"]), max(2.5, 1 + 0.16 * len(rows)) if named else 8)
    axes: Axes = figure.subplots()
    image = axes.imshow(share, cmap="Greys", vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    for place in np.argwhere(np.isnan(share)).tolist() if named else ():
        axes.text(place[1], place[0], "–", ha="center", va="center")
    axes.set_xticks(
        range(len(data["systems"])), [name or "–" for name in data["systems"]], rotation=30, ha="right"
    )
    if named:
        axes.set_yticks(range(len(rows)), [row["compound"] for row in rows], fontsize=7)
    else:
        axes.set_ylabel(translate(say("{n} compounds, the hardest first", n=len(rows))))
    figure.colorbar(image, ax=axes, label=translate(say("wrong contexts (%)")))


def _precision_recall(figure: "Figure", data: Document, translate: Translate) -> None:
    """A staircase from the highest score down; the dotted line is a model that knows nothing."""
    axes: Axes = figure.subplots()
    points = data["points"]
    axes.step(
        [0, *(point["recall"] for point in points)],
        [points[0]["precision"], *(point["precision"] for point in points)],
        where="pre",  # the precision at a threshold belongs to the recall it gains
        color="black",
        lw=1.2,
        label=data["title"],
    )
    if data["base"] is not None:
        base = translate(say("share of plausible triples"))
        axes.axhline(data["base"], color="0.4", ls=":", lw=1, label=base)
    axes.set_xlim(-2, 102)
    axes.set_ylim(-2, 102)
    axes.set_xlabel(translate(say("recall of plausible triples (%)")))
    axes.set_ylabel(translate(say("precision (%)")))
    axes.legend(frameon=False, fontsize=8)


def _reliability(figure: "Figure", data: Document, translate: Translate) -> None:
    """How often triples of about one score are plausible, with intervals; the dashed line is perfect calibration."""
    axes: Axes = figure.subplots()
    bins = [one for one in data["bins"] if one["mean_score"] is not None]
    low = [one["percent"] - one["ci95"][0] for one in bins]
    high = [one["ci95"][1] - one["percent"] for one in bins]
    axes.errorbar(
        [100 * one["mean_score"] for one in bins],
        [one["percent"] for one in bins],
        yerr=[low, high],
        fmt="o-",
        color="black",
        lw=1,
        capsize=2,
        markersize=4,
        label=data["title"],
    )
    diagonal = translate(say("perfect calibration"))
    axes.plot([0, 100], [0, 100], color="0.4", ls="--", lw=1, label=diagonal)
    axes.set_xlim(-2, 102)
    axes.set_ylim(-2, 102)
    axes.set_xlabel(translate(say("mean score of the bin (%)")))
    axes.set_ylabel(translate(say("plausible (%), 95 % interval")))
    axes.legend(frameon=False, fontsize=8)


_DRAWN = {
    "error-rates": _histogram,
    "artifacts": _scatter,
    "comparison": _heat_map,
    "precision-recall": _precision_recall,
    "reliability": _reliability,
}
