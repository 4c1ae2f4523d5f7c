"""Which columns make the rows of a table, and which make its columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pandas as pd

from harness.errors import StudyError
from harness.results.cells import Cells
from harness.results.choosing import pick, pick_each_point
from harness.results.columns import unknown_column
from harness.results.tabling import COLUMN_AXES, RATE, Tabler


def make_table(
    tabler: Tabler,
    cells: Cells,
    by: Sequence[str],
    *,
    metric: str | None,
    split: str,
    select: str | float,
    allow_incomplete: bool,
) -> pd.DataFrame:
    """Make the table whose rows and columns `by` names.

    `task` (the default) or `kind` make the columns, all others the rows: `checkpoint` (the
    default), `learning_rate` (every point, nothing chosen), or a column of the checkpoints.
    """
    known = {name for cell in cells for name in cell.columns} | {*COLUMN_AXES, "checkpoint", RATE}
    for name in by:
        if name not in known:
            raise StudyError(unknown_column(name, known))
    column = "kind" if "kind" in by and "task" not in by else "task"
    axes = [name for name in dict.fromkeys(by) if name not in COLUMN_AXES]
    if axes in ([], [RATE]):
        axes = ["checkpoint", *axes]
    if RATE in axes:
        by_cell = pick_each_point(cells, metric=metric, split=split)
        points = list(itertools.chain.from_iterable(by_cell))
        if column == "task" and axes == ["checkpoint", RATE]:
            return tabler.every_point(points)
        return tabler.grouped(points, axes, column)
    picks = pick(
        cells, metric=metric, split=split, select=select, allow_incomplete=allow_incomplete
    )
    if column == "task" and axes == ["checkpoint"]:
        return tabler.chosen(picks)
    return tabler.grouped(picks, axes, column)
