"""Where the variance of scores comes from, and how many seeds a claim needs: a row a task."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import InputError
from harness.foreign import AnyRun
from harness.results.cells import Cell, Cells
from harness.results.choosing import Picked, pick
from harness.results.examples import ExampleReader
from harness.results.frames import typed
from harness.stats import (
    average_components,
    components,
    half_width,
    seeds_needed,
    smallest_difference,
)
from harness.stats.variance import Components, difference_components

PARTS = ("rate", "seed", "example", "residual")
VARIANCE_TYPES = {
    "task": "str",
    "metric": "str",
    **dict.fromkeys(PARTS, "float64"),
    **{f"{part}_share": "float64" for part in PARTS},
    "checkpoints": "int64",
    "split_by": "str",
    "left_out": "str",
}
POWER_TYPES = {
    "task": "str",
    "metric": "str",
    "examples": "Int64",
    "seeds": "int64",
    "half_width": "float64",
    "smallest_difference": "float64",
}
NEEDED_TYPES = {
    "task": "str",
    "metric": "str",
    "wanted_half_width": "float64",
    "examples": "Int64",
    "seeds_needed": "Int64",
}


def variance_frame(
    cells: Cells, reader: ExampleReader, *, metric: str | None, split: str
) -> pd.DataFrame:
    """Split the variance of the scores of each task, averaged over its checkpoints.

    By rate, seed, example and residual where any cell has scores per example of the metric; else by
    rate and seed, from the scores of runs, where "seed" has the noise of examples in it. Cells take
    part that have all runs good and several seeds, all of a task from scores of one kind;
    `left_out` names the others.
    """
    by_task: dict[str, list[tuple[Cell, str]]] = {}
    for cell, name in cells.shown(metric, split):
        by_task.setdefault(cell.task.name, []).append((cell, name))
    rows = []
    for task, of_task in by_task.items():
        cells.refuse_unlike(*([cell] for cell, _ in of_task))
        values = {cell.checkpoint: _values(cell, reader, split, name) for cell, name in of_task}
        # Scores of runs have one axis less than scores per example.
        axes = max((of_cell.ndim for of_cell in values.values() if of_cell is not None), default=0)
        kept = {
            name: of_cell
            for name, of_cell in values.items()
            if of_cell is not None and of_cell.ndim == axes
        }
        if kept:
            found = [components(of_cell) for of_cell in kept.values()]
            mean = average_components(found)
            has_examples = axes == 3
            row: dict[str, Any] = {"task": task, "metric": of_task[0][1]}
            row |= {"split_by": "scores per example" if has_examples else "scores of runs"}
            row |= {"left_out": ", ".join(name for name in values if name not in kept)}
            row |= {"checkpoints": len(found)} | {part: getattr(mean, part) for part in PARTS}
            rows.append(row | {f"{part}_share": s for part, s in mean.shares().items()})
    return typed(pd.DataFrame(rows, columns=list(VARIANCE_TYPES)), VARIANCE_TYPES)


def power_frame(
    cells: Cells,
    reader: ExampleReader,
    *,
    metric: str | None,
    split: str,
    select: str | float,
    seeds: Sequence[int],
    confidence: float,
) -> pd.DataFrame:
    """Say for numbers of seeds how wide an interval is, and which difference would be found.

    From the variances of the chosen runs of this study, averaged over checkpoints; differences
    from those of the pairs of checkpoints, with a power of 80 % at 5 %.
    """
    rows = []
    for task, picks in _chosen(cells, metric, split, select).items():
        of_cells, of_pairs, n_examples = _pilot(reader, picks)
        for n_seeds in seeds:
            row: dict[str, Any] = {"task": task, "metric": picks[0].metric, "seeds": n_seeds}
            count = n_examples or 1
            row["half_width"] = half_width(of_cells, n_seeds, count, confidence=confidence)
            if of_pairs is not None:
                row["smallest_difference"] = smallest_difference(of_pairs, n_seeds, count)
            rows.append(row | {"examples": n_examples})
    return typed(pd.DataFrame(rows, columns=list(POWER_TYPES)), POWER_TYPES)


def seeds_frame(
    cells: Cells,
    reader: ExampleReader,
    wanted: float,
    *,
    metric: str | None,
    split: str,
    select: str | float,
    confidence: float,
) -> pd.DataFrame:
    """Say how many seeds a cell of each task needs for an interval of that half width.

    Absent where no number of seeds is enough: more seeds do not make up for few test examples.
    """
    rows = []
    for task, picks in _chosen(cells, metric, split, select).items():
        of_cells, _, n_examples = _pilot(reader, picks)
        needed = seeds_needed(of_cells, n_examples or 1, wanted, confidence=confidence)
        row = {"task": task, "metric": picks[0].metric, "wanted_half_width": wanted}
        rows.append(row | {"examples": n_examples, "seeds_needed": needed})
    return typed(pd.DataFrame(rows, columns=list(NEEDED_TYPES)), NEEDED_TYPES)


def _values(
    cell: Cell, reader: ExampleReader, split: str, metric: str
) -> NDArray[np.float64] | None:
    """Give values (rates, seeds, examples) or (rates, seeds); None for holes or one seed."""
    scores_PK = cell.values(split, metric)
    if not np.isfinite(scores_PK).all() or scores_PK.shape[1] < 2:
        return None
    places = itertools.product(range(len(cell.recipes)), range(len(cell.seeds)))
    runs = [cell.runs[place] for place in places]
    read = _read(reader, runs, split, metric)
    return scores_PK if read is None else read.reshape(*scores_PK.shape, -1)


def _read(
    reader: ExampleReader, runs: Sequence[AnyRun], split: str, metric: str
) -> NDArray[np.float64] | None:
    """Read scores (runs, examples); None where there are none whose mean is the score."""
    try:
        read = reader.read(runs, split, metric)
    except InputError:
        return None
    return read.given if read.form == "mean" and read.given.shape[1] > 1 else None


def _chosen(
    cells: Cells, metric: str | None, split: str, select: str | float
) -> dict[str, list[Picked]]:
    by_task: dict[str, list[Picked]] = {}
    for picked in pick(cells, metric=metric, split=split, select=select):
        if picked.is_whole and picked.scores.size > 1:
            by_task.setdefault(picked.cell.task.name, []).append(picked)
    cells.refuse_unlike(*([picked.cell] for of_task in by_task.values() for picked in of_task))
    return by_task


def _pilot(
    reader: ExampleReader, picks: Sequence[Picked]
) -> tuple[Components, Components | None, int | None]:
    """Give the components of a task's cells and of its pairs, and how many examples it has."""
    values: list[NDArray[np.float64]] = [picked.scores for picked in picks]
    n_examples = None
    runs = [run for picked in picks for run in picked.runs]
    read = _read(reader, runs, picks[0].split, picks[0].metric)
    if read is not None:
        ends = np.cumsum([picked.scores.size for picked in picks])[:-1]
        values, n_examples = np.split(read, ends), read.shape[1]
    of_cells = average_components([components(of_cell[None]) for of_cell in values])
    pairs = [difference_components(a, b) for a, b in itertools.combinations(values, 2)]
    return of_cells, average_components(pairs) if pairs else None, n_examples
