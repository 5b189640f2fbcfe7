"""Tables as Markdown and as LaTeX, with the document's signature."""

import re
from collections.abc import Iterable

from scoring.reports.kinds import tables
from scoring.reports.methods import paragraphs
from scoring.reports.table import Document, Table

METHODS = "methods"  # text, no table

# What LaTeX would take for itself, and what its plain fonts do not have or show as another sign.
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}", "<": r"$<$", ">": r"$>$",
    "–": "--", "—": "---", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$",
    "≈": r"$\approx$", "→": r"$\rightarrow$", "·": r"$\cdot$", "α": r"$\alpha$", "β": r"$\beta$", "κ": r"$\kappa$",
    "“": "``", "”": "''", "‘": "`", "’": "'", "…": r"\ldots{}", "\N{NO-BREAK SPACE}": "~", "\n": " ", "\r": " ",
}  # fmt: skip
CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
FOR_CHINESE = r"% Chinese text: compile with xelatex or lualatex, with \usepackage{ctex} in the preamble."
# After \\ and \midrule these would be read as belonging to the command.
OF_COMMANDS = ("[", "*")


def as_markdown(kind: str, document: Document) -> str:
    """The tables in Markdown, the signature below."""
    blocks = [f"## {heading}\n\n{text}" for heading, text in _paragraphs(kind, document)]
    blocks += [_markdown_table(table) for table in _tables(kind, document)]
    return "\n\n".join([*blocks, *(f"Signature: `{found}`" for found in _signatures(document))]) + "\n"


def _paragraphs(kind: str, document: Document) -> list[tuple[str, str]]:
    return paragraphs(document) if kind == METHODS else []


def _tables(kind: str, document: Document) -> list[Table]:
    return [] if kind == METHODS else tables(kind, document)


def _signatures(document: Document) -> list[str]:
    """Its signature; none where it would tell a reader what they may not see."""
    return [document["signature"]] if "signature" in document else []


def _markdown_table(table: Table) -> str:
    if not table.columns:
        return "\n\n".join([f"**{table.title}**", *table.notes])
    lines = [
        _markdown_row(table.columns),
        "|" + "|".join([" --- ", *(" ---: " for _ in table.columns[1:])]) + "|",
    ]
    lines += [_markdown_row(row) for row in table.rows]
    return "\n\n".join(
        [f"**{table.title}**", "\n".join(lines), *(f"–: {note}" for note in table.notes), *table.remarks]
    )


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def as_latex(kind: str, document: Document) -> str:
    """The tables for booktabs, the signature as a comment."""
    blocks = [
        rf"\paragraph{{{_latex(heading)}}} {_latex(text)}" for heading, text in _paragraphs(kind, document)
    ]
    blocks += [_latex_table(table) for table in _tables(kind, document)]
    head = [f"% {found}" for found in _signatures(document)]
    head += [FOR_CHINESE] if CHINESE.search("".join(blocks)) else []
    return "\n\n".join(["\n".join(head), *blocks]).lstrip() + "\n"


def _latex_table(table: Table) -> str:
    if not table.columns:
        return "\n".join(f"% {table.title}: {note}".replace("\n", " ") for note in table.notes)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(table.title)}}}",
            r"\begin{tabular}{l" + "r" * (len(table.columns) - 1) + "}",
            r"\toprule",
            _latex_row(table.columns),
            r"\midrule",
            *(_latex_row(row) for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(rf"\par\footnotesize --: {_latex(note)}" for note in table.notes),
            *(rf"\par\footnotesize {_latex(remark)}" for remark in table.remarks),
            r"\end{table}",
        ]
    )


def _latex_row(cells: Iterable[str]) -> str:
    row = " & ".join(_latex(cell) for cell in cells)
    return (f"{{{row[0]}}}{row[1:]}" if row.startswith(OF_COMMANDS) else row) + r" \\"


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)
