"""What is shown to people: tables for a terminal, a page, a paper, a program."""

from __future__ import annotations

from harness.report.layout import LaidCell, Layout, lay_out
from harness.report.tables import to_csv, to_latex, to_markdown, to_terminal, write_parquet

__all__ = [
    "LaidCell",
    "Layout",
    "lay_out",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_terminal",
    "write_parquet",
]
