"""The table checkpoint x task as text, before it is Markdown, LaTeX or a terminal's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.results import BY_VALIDATION, INCOMPLETE_TOO, NOT_RUN, Study
from harness.spec import LOWER_IS_BETTER

ABSENT = "—"
EDGE = "†"
COLLAPSED = "‡"
NOTES_SHOWN = 20
BEST_TIE = 1e-12
CHOSEN_BY = {
    BY_VALIDATION: "Learning rate of each cell: largest mean validation score of the task's main "
    "metric among rates whose runs are all good, the smaller rate of equals",
    INCOMPLETE_TOO: "Learning rate of each cell: largest mean validation score of the task's main "
    "metric, over the good runs where some are missing; the smaller rate of equals",
}


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


def lay_out(study: Study, table: pd.DataFrame) -> Layout:
    """Lay out what `study.table` or `study.rates` gave, with what is missing from it in the notes.

    A row is a checkpoint, or a checkpoint at a point. The best of a column is marked only among
    chosen points, and only where every cell has a mean of the same number of runs.
    """
    is_chosen = "select" in table
    names = ["checkpoint"] if is_chosen else ["checkpoint", "point"]
    columns = list(dict.fromkeys(zip(table["task"], table["metric"], strict=True)))
    cells: dict[tuple[str, ...], LaidCell] = {}
    unranked = []
    for task, _ in columns:
        column = table[table["task"] == task]
        best = best_of(column) if is_chosen else None
        if best is None and is_chosen and len(column) > 1:
            unranked.append(task)
        marks = [False] * len(column) if best is None else list(best)
        for row, mark in zip(column.to_dict("records"), marks, strict=True):
            cells[(*(row[name] for name in names), task)] = LaidCell(cell_text(row), bool(mark))
    # A point that is not planned for a task has no cell there at all.
    rows = tuple(
        (*map(LaidCell, row), *(cells.get((*row, task), LaidCell("")) for task, _ in columns))
        for row in dict.fromkeys(zip(*(table[name] for name in names), strict=True))
    )
    header = (*names, *(f"{task} ({metric})" for task, metric in columns))
    return Layout(header, rows, caption_of(table), tuple(_notes(study, table, unranked)))


def best_of(column: pd.DataFrame) -> NDArray[np.bool_] | None:
    """Mark the best means of a column, shape (rows,); None where it can't be ranked.

    The best are the largest, of a metric where lower is better the smallest.
    A column can't be ranked where a mean is absent or the numbers of runs differ.
    """
    counts = set(zip(column["n_ok"], column["n_planned"], strict=True))
    means = column["mean"].to_numpy(np.float64)
    if column["metric"].isin(LOWER_IS_BETTER).all():
        means = -means
    if len(column) < 2 or len(counts) > 1 or not np.isfinite(means).all():
        return None
    marks: NDArray[np.bool_] = means >= means.max() - BEST_TIE
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

    Without an interval (NaN) three decimals are written and none is claimed.
    """
    if math.isnan(half_width):
        return f"{mean:.3f}"
    rounded = float(f"{half_width:.1e}")
    decimals = 1 - math.floor(math.log10(rounded)) if rounded else 4
    decimals = min(max(decimals, 0), 4)
    return f"{mean:.{decimals}f} ± {half_width:.{decimals}f}"


def caption_of(table: pd.DataFrame) -> str:
    """Say what a cell shows: which interval, what varies in it, how the rate was chosen."""
    if table.empty:
        return "No cells."
    first = table.iloc[0]
    parts = [
        f"Mean on the {first['split']} split ± half width of its interval ({first['interval']}: "
        "what other seeds would give, on the same test examples); in brackets good runs of "
        "planned ones."
    ]
    if "select" in table:
        select = str(first["select"])
        parts += [
            f"{CHOSEN_BY.get(select, select.capitalize())}.",
            "Best: largest mean of a column whose cells all have the same number of runs; it need "
            "not differ for real.",
        ]
        if table["at_edge"].fillna(False).any():
            parts.append(f"{EDGE} the chosen rate is the smallest or largest of the grid.")
    else:
        parts.append("Every point, without a choice; means are over the good runs.")
    if table["collapsed"].fillna(0).any():
        parts.append(f"{COLLAPSED} some of these runs say the same of every example.")
    return " ".join(parts)


def _notes(study: Study, table: pd.DataFrame, unranked: list[str]) -> Iterator[str]:
    for skipped in study.grid.skipped:
        yield f"skipped: {skipped.name}: {skipped.reason}"
    if unranked:
        yield f"not ranked, as means are absent or numbers of runs differ: {', '.join(unranked)}"
    missing = study.missing[study.missing["task"].isin(set(table["task"]))]
    is_waiting = missing["reason"] == NOT_RUN
    notes = [*_broken(missing[~is_waiting]), *_scoreless(study, table)]
    yield from notes[:NOTES_SHOWN]
    if len(notes) > NOTES_SHOWN:
        yield f"and {len(notes) - NOTES_SHOWN} more such notes; `Study.missing` has every run"
    if is_waiting.any():
        yield f"{_runs(int(is_waiting.sum()))} not run yet"


def _broken(missing: pd.DataFrame) -> Iterator[str]:
    # The step at which a run diverged differs from run to run; one line tells them all.
    reasons = missing["reason"].str.replace(r"^diverged at step \d+$", "diverged", regex=True)
    groups = missing.groupby(["checkpoint", "task", reasons], sort=False)
    for (checkpoint, task, reason), group in groups:
        rates = ", ".join(f"{rate:g}" for rate in sorted(set(group["learning_rate"])))
        yield f"{checkpoint}, {task}: {_runs(len(group))} {reason} (learning rate {rates})"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _scoreless(study: Study, table: pd.DataFrame) -> list[str]:
    """Say which good runs have no score in the shown metric, as of a constant prediction."""
    records = study.records
    good = records[(records["status"] == "ok") & records["planned"]]
    notes = []
    for (task, metric, split), cells in table.groupby(["task", "metric", "split"], sort=False):
        scores = study.scores
        wanted = (
            (scores["metric"] == metric) & (scores["split"] == split) & (scores["task"] == task)
        )
        bare = good[(good["task"] == task) & ~good["run_id"].isin(scores.loc[wanted, "run_id"])]
        for checkpoint in cells["checkpoint"].unique():
            count = int((bare["checkpoint"] == checkpoint).sum())
            if count:
                notes.append(f"{checkpoint}, {task}: {_runs(count)} without a {split} {metric}")
    return notes
