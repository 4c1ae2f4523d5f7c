"""A table written as Markdown, CSV, JSON, Parquet, or for the terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from harness.report.layout import Layout

if TYPE_CHECKING:
    from rich.console import Group


def to_markdown(layout: Layout) -> str:
    """Write a GitHub Markdown table, the best of a column in bold, caption and notes beneath."""
    header = [_escape_markdown(text) for text in layout.header]
    body = [
        [
            f"**{text}**" if cell.is_best else text
            for cell in row
            for text in [_escape_markdown(cell.text)]
        ]
        for row in layout.rows
    ]
    widths = [max(3, *(len(row[i]) for row in [header, *body])) for i in range(len(header))]
    rule = ["-" * width for width in widths]
    lines = [
        f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |"
        for row in [header, rule, *body]
    ]
    notes = [f"- {_escape_markdown(note)}" for note in layout.notes]
    return "\n".join(
        [*lines, "", _escape_markdown(layout.caption), *([""] if notes else []), *notes, ""]
    )


def to_terminal(layout: Layout) -> Group:
    """Give what `rich` prints: the table, its caption, its notes."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for text in layout.header:
        name, _, metric = text.partition(" (")
        grid.add_column(Text(f"{name}\n({metric}" if metric else name), overflow="fold")
    for row in layout.rows:
        grid.add_row(*(Text(cell.text, style="bold" if cell.is_best else "") for cell in row))
    notes = [Text(f"- {note}") for note in layout.notes]
    return Group(grid, Text(layout.caption), *notes)


def to_csv(table: pd.DataFrame) -> str:
    """Write a frame as CSV with a header; absent values are empty."""
    return table.to_csv(index=False, lineterminator="\n")


def to_json(table: pd.DataFrame) -> str:
    """Write a frame as a JSON list of its rows; absent values are null."""
    text = table.to_json(
        orient="records", indent=1, force_ascii=False, date_format="iso", double_precision=15
    )
    return text + "\n"


def write_parquet(table: pd.DataFrame, path: str | Path) -> None:
    """Write a frame as Parquet, whole: under a temporary name first, then renamed.

    A column of numbers and words, as the sizes 7 and 7b, becomes one of words.
    """
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}")
    words = {
        str(name): column.map(str, "ignore")
        for name, column in table.items()
        if column.dtype == object and len(set(map(type, column.dropna()))) > 1
    }
    table.assign(**words).to_parquet(scratch, index=False)
    scratch.replace(target)


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|")
