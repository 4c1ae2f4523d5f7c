"""The cells of a table: the runs of a checkpoint on a task, chosen among and summed up."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.grid import FrozenGrid
from harness.results.frames import typed
from harness.results.mixtures import refuse_mixtures
from harness.spec import Recipe, Run, Task
from harness.stats import Interval, choose_and_report, student_t

BY_VALIDATION = "validation mean"
INCOMPLETE_TOO = "validation mean, incomplete rates too"

HEAD_TYPES = {
    "checkpoint": "str",
    "task": "str",
    "kind": "str",
    "metric": "str",
    "split": "str",
    "learning_rate": "float64",
    "point": "str",
}
INTERVAL_TYPES = {"mean": "float64", "low": "float64", "high": "float64", "half_width": "float64"}
TABLE_TYPES = {
    **HEAD_TYPES,
    "at_edge": "boolean",
    **INTERVAL_TYPES,
    "n_ok": "int64",
    "n_planned": "int64",
    "collapsed": "Int64",
    "select": "str",
    "interval": "str",
}
RATES_TYPES = {
    **HEAD_TYPES,
    **INTERVAL_TYPES,
    "n_ok": "int64",
    "n_planned": "int64",
    "diverged": "int64",
    "failed": "int64",
    "collapsed": "int64",
    "interval": "str",
}


class Cells:
    """The records of a study by checkpoint, task, point and seed; refuses a mixture."""

    def __init__(
        self, grid: FrozenGrid, latest: Mapping[str, Mapping[str, Any]], planned: Sequence[Run]
    ) -> None:
        self.grid = grid
        self._latest = latest
        self._records: dict[tuple[str, str, str], list[Mapping[str, Any] | None]] = {}
        for run in planned:
            key = (run.checkpoint.name, run.task.name, run.recipe.identity)
            self._records.setdefault(key, []).append(latest.get(run.run_id))
        refuse_mixtures(self._records)

    def __iter__(self) -> Iterator[tuple[str, Task]]:
        for checkpoint in self.grid.checkpoints:
            for task in self.grid.tasks:
                yield checkpoint.name, task

    def records(
        self, checkpoint: str, task: Task, recipe: Recipe
    ) -> list[Mapping[str, Any] | None]:
        """Give the latest record of each seed at a point, None where there is none."""
        return self._records[checkpoint, task.name, recipe.identity]

    def values(self, checkpoint: str, task: Task, split: str, metric: str) -> NDArray[np.float64]:
        """Give the scores of a cell, shape (points, seeds), NaN where a run has none."""
        return np.array(
            [
                [_value(record, split, metric) for record in self.records(checkpoint, task, recipe)]
                for recipe in self.grid.recipes[task.name]
            ]
        )

    def collapsed(self, checkpoint: str, task: Task, recipe: Recipe) -> int:
        """Count the good runs at a point whose predictions are all the same."""
        records = self.records(checkpoint, task, recipe)
        return sum(1 for r in records if r and r["status"] == "ok" and r.get("collapsed"))

    def point(self, recipe: Recipe) -> str:
        """Say a recipe by its swept numbers."""
        names = self.grid.sweep or ("learning_rate",)
        return " ".join(f"{name}={getattr(recipe, name)}" for name in names)

    def shown(self, metric: str | None, split: str) -> list[tuple[str, Task, str]]:
        """List the cells with the metric that each shows; tasks that do not have it are left out.

        Raises StudyError for a metric or split that no record has.
        """
        if metric is not None and metric not in self._metrics:
            _refuse("metric", metric, sorted(self._metrics))
        if self._splits and split not in self._splits:
            _refuse("split", split, sorted(self._splits))
        return [
            (checkpoint, task, metric or task.main_metric)
            for checkpoint, task in self
            if metric is None or task.name in self._metrics[metric]
        ]

    @cached_property
    def _metrics(self) -> dict[str, set[str]]:
        tasks: dict[str, set[str]] = {}
        for task in self.grid.tasks:
            for metric in task.metrics:
                tasks.setdefault(metric, set()).add(task.name)
        for task_name, _, metric in self._scored:
            tasks.setdefault(metric, set()).add(task_name)
        return tasks

    @cached_property
    def _splits(self) -> set[str]:
        return {split for _, split, _ in self._scored}

    @cached_property
    def _scored(self) -> set[tuple[str, str, str]]:
        return {
            (key[1], split, metric)
            for key, records in self._records.items()
            for record in records
            if record and record["status"] == "ok"
            for split, scores in record["scores"].items()
            for metric in scores
        }


def chosen_points(
    cells: Cells,
    *,
    metric: str | None,
    split: str,
    select: str | float,
    allow_incomplete: bool,
    confidence: float,
) -> pd.DataFrame:
    """Choose a point for each cell and report it, as `Study.table` says."""
    fixed_rate = _fixed_rate(cells.grid, select)
    said = INCOMPLETE_TOO if allow_incomplete else BY_VALIDATION
    if fixed_rate is not None:
        said = f"one rate for all, learning_rate={fixed_rate}"
    rows = []
    for checkpoint, task, metric_shown in cells.shown(metric, split):
        recipes = cells.grid.recipes[task.name]
        cell = choose_and_report(
            cells.values(checkpoint, task, "validation", task.main_metric),
            cells.values(checkpoint, task, split, metric_shown),
            [recipe.learning_rate for recipe in recipes],
            fixed_rate=fixed_rate,
            allow_incomplete=allow_incomplete,
            confidence=confidence,
        )
        row: dict[str, Any] = {
            "checkpoint": checkpoint,
            "task": task.name,
            "kind": task.kind,
            "split": split,
        }
        row |= {"metric": metric_shown, "n_ok": cell.n_ok, "n_planned": cell.n_planned}
        row |= {"select": said} | _interval_columns(cell.interval, confidence)
        if cell.choice:
            recipe = recipes[cell.choice.point]
            row |= {"learning_rate": recipe.learning_rate, "point": cells.point(recipe)}
            row |= {"at_edge": cell.choice.at_edge}
            row |= {"collapsed": cells.collapsed(checkpoint, task, recipe)}
        rows.append(row)
    return typed(pd.DataFrame(rows, columns=list(TABLE_TYPES)), TABLE_TYPES)


def every_point(cells: Cells, *, metric: str | None, split: str, confidence: float) -> pd.DataFrame:
    """Report each point of each cell without a choice, as `Study.rates` says."""
    rows = []
    for checkpoint, task, metric_shown in cells.shown(metric, split):
        recipes = cells.grid.recipes[task.name]
        values_PS = cells.values(checkpoint, task, split, metric_shown)
        for recipe, values_S in zip(recipes, values_PS, strict=True):
            records = cells.records(checkpoint, task, recipe)
            states = Counter(record["status"] for record in records if record)
            scores = values_S[np.isfinite(values_S)]
            interval = student_t(scores, confidence) if scores.size else None
            row: dict[str, Any] = {
                "checkpoint": checkpoint,
                "task": task.name,
                "kind": task.kind,
                "split": split,
            }
            row |= {"metric": metric_shown, "n_ok": scores.size, "n_planned": len(records)}
            row |= {"learning_rate": recipe.learning_rate, "point": cells.point(recipe)}
            row |= {"diverged": states["diverged"], "failed": states["failed"]}
            row |= {"collapsed": cells.collapsed(checkpoint, task, recipe)}
            rows.append(row | _interval_columns(interval, confidence))
    return typed(pd.DataFrame(rows, columns=list(RATES_TYPES)), RATES_TYPES)


def _interval_columns(interval: Interval | None, confidence: float) -> dict[str, Any]:
    said = f"Student t over seeds, {100 * confidence:g} %"
    if interval is None:
        return {"interval": said}
    ends = {"low": interval.low, "high": interval.high, "half_width": interval.half_width}
    return {"mean": interval.mean, "interval": said} | ends


def _value(record: Mapping[str, Any] | None, split: str, metric: str) -> float:
    if record is None or record["status"] != "ok":
        return np.nan
    return float(record["scores"].get(split, {}).get(metric, np.nan))


def _fixed_rate(grid: FrozenGrid, select: str | float) -> float | None:
    if select == BY_VALIDATION:
        return None
    if isinstance(select, str):
        raise StudyError(f"select: {select!r} is neither {BY_VALIDATION!r} nor a learning rate")
    rates = sorted({r.learning_rate for recipes in grid.recipes.values() for r in recipes})
    for rate in rates:
        if np.isclose(rate, select, rtol=1e-9, atol=0):
            return rate
    raise StudyError(
        f"no run of the study {grid.name!r} has learning_rate={select}; "
        f"it has {', '.join(map(str, rates))}"
    )


def _refuse(word: str, value: str, known: Sequence[str]) -> None:
    close = difflib.get_close_matches(value, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
    raise StudyError(f"no run of this study has a {word} {value!r}; {hint}")
