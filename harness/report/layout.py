"""The table checkpoint x task as text, before it is Markdown, LaTeX or a terminal's."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.report.captions import ABSENT, COLLAPSED, EDGE, TIED, caption_of, notes_of
from harness.results import Study, lower_is_better, name_together

BEST_TIE = 1e-12
ROUNDING = 1e-8
"""A half width below this is what is left of equal numbers."""


@dataclass(frozen=True)
class LaidCell:
    """The text of a cell, and whether it is the best of its column."""

    text: str
    is_best: bool = False


@dataclass(frozen=True)
class Layout:
    """Header, rows of cells (names first), a caption, and notes beneath."""

    header: tuple[str, ...]
    rows: tuple[tuple[LaidCell, ...], ...]
    caption: str
    notes: tuple[str, ...]
    names: int = 1
    """How many columns, from the left, hold names."""


def lay_out(
    study: Study, table: pd.DataFrame, tied: Collection[tuple[str, str]] = frozenset()
) -> Layout:
    """Lay out what `study.table` or `study.rates` gave, with what is missing from it in the notes.

    A row is a checkpoint, a checkpoint at a point, or a group. The best of a column is marked only
    among chosen points, and only where every cell has a mean of the same number of runs; `tied`
    are cells (checkpoint, task) that can't be told apart from the best of their column.
    """
    is_chosen = "select" in table
    names, column = axes_of(table)
    columns = list(dict.fromkeys(zip(table[column], table["metric"], strict=True)))
    cells: dict[tuple[str, ...], LaidCell] = {}
    unranked = []
    for value, metric in columns:
        rows = table[(table[column] == value) & (table["metric"] == metric)]
        best = best_of(rows) if is_chosen else None
        if best is None and is_chosen and len(rows) > 1 and lower_is_better(metric) is not None:
            unranked.append(str(value))
        marks = [False] * len(rows) if best is None else list(best)
        for row, mark in zip(rows.to_dict("records"), marks, strict=True):
            is_tied = not mark and best is not None and (row.get("checkpoint"), value) in tied
            text = cell_text(row) + (TIED if is_tied else "")
            key = (*(name_text(row[name]) for name in names), value, metric)
            cells[key] = LaidCell(text, bool(mark))
    keys = dict.fromkeys(tuple(map(name_text, row)) for row in table[names].itertuples(index=False))
    # A point that is not planned for a task has no cell there at all.
    laid = tuple(
        (*map(LaidCell, row), *(cells.get((*row, *pair), LaidCell("")) for pair in columns))
        for row in keys
    )
    header = (*names, *(f"{value} ({metric})" for value, metric in columns))
    caption = caption_of(table, has_ties=bool(tied))
    return Layout(header, laid, caption, tuple(notes_of(study, table, unranked)), len(names))


def axes_of(table: pd.DataFrame) -> tuple[list[str], str]:
    """Name the columns that make the rows of a table, and the one that makes its columns."""
    if "checkpoints" in table:
        at = list(table.columns).index("metric")
        return list(table.columns[: at - 1]), str(table.columns[at - 1])
    return (["checkpoint"] if "select" in table else ["checkpoint", "point"]), "task"


def name_text(value: object) -> str:
    """Write a value that rows are named by; a dash where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    return f"{value:g}" if isinstance(value, float) else str(value)


def best_of(column: pd.DataFrame) -> NDArray[np.bool_] | None:
    """Mark the best means of a column, shape (rows,); None where it can't be ranked.

    The best are the largest, of a metric where lower is better the smallest. A column can't be
    ranked where a mean is absent, the numbers of runs differ, or it has means over metrics of which
    some are better when lower.
    """
    sizes = [name for name in ("n_ok", "n_planned", "checkpoints", "tasks") if name in column]
    counts = set(column[sizes].itertuples(index=False, name=None))
    means = column["mean"].to_numpy(np.float64)
    is_lower = lower_is_better(name_together(column["metric"]))
    if len(column) < 2 or len(counts) > 1 or not np.isfinite(means).all() or is_lower is None:
        return None
    gains = -means if is_lower else means
    marks: NDArray[np.bool_] = gains >= gains.max() - BEST_TIE
    return marks


def cell_text(row: dict[str, object]) -> str:
    """Write a cell: `0.912 ± 0.020 (3/3)`, with marks for an edge rate and for collapsed runs."""
    n = f"({row['n_ok']}/{row['n_planned']})"
    mean, half_width = float(row["mean"]), float(row["half_width"])  # type: ignore[arg-type]
    if math.isnan(mean):
        return f"{ABSENT} {n}"
    marks = EDGE if row.get("at_edge") is True else ""
    collapsed = row["collapsed"]
    marks += COLLAPSED if isinstance(collapsed, int) and collapsed else ""
    return f"{number_text(mean, half_width)} {n}{marks}"


def number_text(mean: float, half_width: float) -> str:
    """Write a mean with the digits that its half width supports, two significant ones of it.

    One of 0 is written with four decimals, and one that is but rounding as `<0.0001`.
    Without an interval (NaN) three decimals are written, two of numbers from 10 on, and none is
    claimed.
    """
    if math.isnan(half_width):
        return f"{mean:.3f}" if abs(mean) < 10 else f"{mean:.2f}"
    if half_width < ROUNDING:
        return f"{mean:.4f} ± {'<0.0001' if half_width else '0.0000'}"
    rounded = float(f"{half_width:.1e}")
    decimals = max(1 - math.floor(math.log10(rounded)), 0)
    return f"{mean:.{decimals}f} ± {half_width:.{decimals}f}"
