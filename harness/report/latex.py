r"""A table written as LaTeX, for pdfLaTeX with `\usepackage{booktabs,graphicx}`."""

from __future__ import annotations

import re

from harness.report.captions import ABSENT, COLLAPSED, EDGE, TIED
from harness.report.layout import LaidCell, Layout

NEEDS = r"\usepackage{booktabs,graphicx}"
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",  # of itself a dash in LaTeX's own fonts
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    ABSENT: "---",
    EDGE: r"$^\dagger$",
    COLLAPSED: r"$^\ddagger$",
    TIED: r"$^\circ$",
}
FITTED = (
    r"\ifdim\wd0>\linewidth\sbox0{\resizebox{\linewidth}{!}{\usebox0}}\fi",
    r"\ifdim\dimexpr\ht0+\dp0>.75\textheight\sbox0{\resizebox*{!}{.75\textheight}{\usebox0}}\fi",
    r"\usebox0",
)
"""A caption of some lines has room above a table that is as high as this."""
CODE = re.compile("`([^`]*)`")
MINUS = r"(?<![\w-])-(?=\d)"
DASHES = r"-(?=-)"  # two of them would become one dash
SPECIAL = re.compile(f"{DASHES}|{MINUS}|[{re.escape(''.join(LATEX))}]")


def to_latex(layout: Layout) -> str:
    r"""Write a LaTeX table with booktabs rules, no larger than a page.

    Needs `\usepackage{booktabs,graphicx}`. Letters that pdfLaTeX does not know, such as Greek ones
    in the name of a checkpoint, are written as they are and need LuaLaTeX.
    """
    columns = "l" * layout.names + "r" * (len(layout.header) - layout.names)
    notes = [escape_latex(note) for note in layout.notes]
    beneath = [r"\par\smallskip\raggedright\footnotesize " + r" \\ ".join(notes)] if notes else []
    return "\n".join(
        [
            rf"% needs {NEEDS}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape_latex(layout.caption)}}}",
            r"\smallskip",
            # Set in a box first, so that what is larger than a page can be made smaller.
            r"\sbox0{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *_header(layout),
            r"\midrule",
            *(" & ".join(map(_cell, row)) + r" \\" for row in layout.rows),
            r"\bottomrule",
            r"\end{tabular}}",
            *FITTED,
            *beneath,
            r"\end{table}",
            "",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Write text so that LaTeX prints it as it is, on one line; `code` is \texttt."""
    parts = CODE.split(" ".join(text.split()))
    written = [
        rf"\texttt{{{_escape(part)}}}" if place % 2 else _escape(part)
        for place, part in enumerate(parts)
    ]
    # After the end of a row LaTeX would read a bracket or a star as an option of it.
    return ("{}" if text.startswith(("[", "*")) else "") + "".join(written)


def _escape(text: str) -> str:
    return SPECIAL.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    if found[0] != "-":
        return LATEX[found[0]]
    return "-{}" if found.string[found.end()] == "-" else "$-$"


def _header(layout: Layout) -> list[str]:
    """Write the names and, on a second line, what stands in brackets after them."""
    pairs = [text.partition(" (") for text in layout.header]
    lines = [[name for name, *_ in pairs]]
    if any(bracket for _, bracket, _ in pairs):
        lines.append([f"({rest}" if bracket else "" for _, bracket, rest in pairs])
    return [" & ".join(map(escape_latex, line)) + r" \\" for line in lines]


def _cell(cell: LaidCell) -> str:
    text = escape_latex(cell.text)
    # \bm would need a package; bold text with the sign in math mode does not.
    return rf"\textbf{{{text}}}" if cell.is_best else text
