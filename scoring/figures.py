"""From a report's data to pictures for papers: SVG and PDF, letters within the file, told apart without colour.

An SVG holds its letters as outlines, a PDF its fonts; the same data give the same bytes.
"""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Document = Mapping[str, Any]
Form = Literal["svg", "pdf"]

FORMS: dict[str, str] = {"svg": "image/svg+xml", "pdf": "application/pdf"}
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei")
NAMED_ROWS = 60  # compounds that can still be read beside a heat map
NAMED_WORDS = 12


def draw(kind: str, data: Document, form: str) -> bytes:
    """`artifacts` (a scatter), `comparison` (a heat map), `precision-recall` or `reliability` as a file."""
    from matplotlib import rc_context  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.font_manager import fontManager  # noqa: PLC0415

    there = {font.name for font in fontManager.ttflist}
    settings: Any = {
        "font.family": [font for font in FONTS if font in there],
        "font.size": 9,
        "svg.fonttype": "path",
        "svg.hashsalt": "assay",
        "pdf.fonttype": 42,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with rc_context(settings):
        figure = Figure(figsize=(6.0, 4.2), layout="constrained")
        _DRAWN[kind](figure, data)
        buffer = io.BytesIO()
        dated = {"Date": None} if form == "svg" else {"CreationDate": None}
        figure.savefig(buffer, format=form, metadata=dated)
    return buffer.getvalue()


def _scatter(figure: "Figure", data: Document) -> None:
    """Words by how many triples hold them and how many of these are plausible."""
    axes: Axes = figure.subplots()
    for beyond, marker, face, told in (
        (False, "o", "none", "within chance, or in fewer than 20 triples"),
        (True, "^", "black", "gives a label away"),
    ):
        points = [point for point in data["points"] if point["beyond"] is beyond]
        if points:
            axes.scatter(
                [point["n"] for point in points],
                [point["percent"] for point in points],
                s=22 if beyond else 9,
                marker=marker,
                facecolors=face,
                edgecolors="black" if beyond else "0.6",
                linewidths=0.6,
                label=told,
                rasterized=len(points) > 3000,
            )
    for bound, style in (("lower", "--"), ("upper", "-")):
        found = data["curve"]
        if found:
            axes.plot(
                [one["n"] for one in found],
                [one[bound] for one in found],
                style,
                color="black",
                lw=1,
                label=f"{bound} bound",
            )
    for point in [one for one in data["points"] if one["beyond"]][:NAMED_WORDS]:
        axes.annotate(
            point["word"],
            (point["n"], point["percent"]),
            textcoords="offset points",
            xytext=(4, 3),
            fontsize=7,
        )
    axes.set_xscale("log")
    axes.set_ylim(-3, 103)
    axes.set_xlabel("triples that hold the word")
    axes.set_ylabel("plausible among them (%)")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7)


def _heat_map(figure: "Figure", data: Document) -> None:
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
        axes.set_ylabel(f"{len(rows)} compounds, the hardest first")
    figure.colorbar(image, ax=axes, label="wrong contexts (%)")


def _precision_recall(figure: "Figure", data: Document) -> None:
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
        axes.axhline(data["base"], color="0.4", ls=":", lw=1, label="share of plausible triples")
    axes.set_xlim(-2, 102)
    axes.set_ylim(-2, 102)
    axes.set_xlabel("recall of plausible triples (%)")
    axes.set_ylabel("precision (%)")
    axes.legend(frameon=False, fontsize=8)


def _reliability(figure: "Figure", data: Document) -> None:
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
    axes.plot([0, 100], [0, 100], color="0.4", ls="--", lw=1, label="perfect calibration")
    axes.set_xlim(-2, 102)
    axes.set_ylim(-2, 102)
    axes.set_xlabel("mean score of the bin (%)")
    axes.set_ylabel("plausible (%), 95 % interval")
    axes.legend(frameon=False, fontsize=8)


_DRAWN = {
    "artifacts": _scatter,
    "comparison": _heat_map,
    "precision-recall": _precision_recall,
    "reliability": _reliability,
}
