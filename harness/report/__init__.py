"""What is shown to people: tables for a terminal, a page, a paper, a program."""

from __future__ import annotations

from harness.report.claims import lay_out_comparison, lay_out_matrix, lay_out_sensitivity
from harness.report.latex import to_latex
from harness.report.layout import LaidCell, Layout, lay_out
from harness.report.over_tasks import lay_out_over_tasks
from harness.report.tables import (
    to_csv,
    to_json,
    to_markdown,
    to_terminal,
    write_parquet,
)

__all__ = [
    "LaidCell",
    "Layout",
    "lay_out",
    "lay_out_comparison",
    "lay_out_matrix",
    "lay_out_over_tasks",
    "lay_out_sensitivity",
    "to_csv",
    "to_json",
    "to_latex",
    "to_markdown",
    "to_terminal",
    "write_parquet",
]
