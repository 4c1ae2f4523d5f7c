"""The cells of a study: the runs of a row's checkpoint on a task, by point and seed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.foreign import AnyRun, AnyTask
from harness.results.columns import groups_of
from harness.results.direction import orient
from harness.results.mixtures import refuse_mixtures, refuse_unlike

Record = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Cell:
    """All planned runs of one row on one task.

    `recipes` are its points and `seeds` those of any point; `runs` says which are planned, and
    `records` has the latest record of each that has one, both by (point, seed) positions.
    """

    checkpoint: str
    task: AnyTask
    columns: Mapping[str, Any]
    recipes: tuple[Any, ...]
    seeds: tuple[int, ...]
    runs: Mapping[tuple[int, int], AnyRun]
    records: Mapping[tuple[int, int], Record] = field(repr=False)

    @property
    def name(self) -> str:
        """The checkpoint's own name, without what sets its rows apart."""
        return str(next(iter(self.runs.values())).checkpoint.name)

    def values(self, split: str, metric: str) -> NDArray[np.float64]:
        """Give the scores, shape (points, seeds), NaN where a run has none."""
        scores = np.full((len(self.recipes), len(self.seeds)), np.nan)
        for place, record in self.records.items():
            if record["status"] == "ok":
                scores[place] = record["scores"].get(split, {}).get(metric, np.nan)
        return scores

    def gains(self, split: str, metric: str) -> NDArray[np.float64]:
        """Give the scores with the sign that makes larger ones better, shape (points, seeds)."""
        return orient(self.values(split, metric), metric)

    @property
    def is_planned(self) -> NDArray[np.bool_]:
        """Say which seeds are planned at which point, shape (points, seeds)."""
        planned = np.zeros((len(self.recipes), len(self.seeds)), dtype=np.bool_)
        planned[tuple(zip(*self.runs, strict=True))] = True
        return planned

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """The learning rate of each point, shape (points,), NaN where it is not known."""
        return np.array(
            [np.nan if r.learning_rate is None else r.learning_rate for r in self.recipes]
        )

    def at(self, point: int) -> list[Record | None]:
        """Give the latest record of each planned run at a point, None where there is none."""
        places = [(point, column) for column in range(len(self.seeds))]
        return [self.records.get(place) for place in places if place in self.runs]

    def collapsed(self, point: int) -> int:
        """Count the good runs at a point whose predictions are all the same."""
        return sum(1 for r in self.at(point) if r and r["status"] == "ok" and r.get("collapsed"))

    def run_ids(self, point: int) -> list[str | None]:
        """Give the run of each seed at a point, None where none is planned."""
        runs = (self.runs.get((point, column)) for column in range(len(self.seeds)))
        return [run.run_id if run else None for run in runs]


class Cells:
    """The cells of the planned runs, by checkpoint and then task; refuses a mixture."""

    def __init__(
        self,
        planned: Sequence[AnyRun],
        rows: Mapping[str, str],
        latest: Mapping[str, Record],
        sweep: Sequence[str],
    ) -> None:
        self.sweep = tuple(sweep) or ("learning_rate",)
        groups: dict[tuple[str, str], list[AnyRun]] = {}
        for run in planned:
            groups.setdefault((rows[run.run_id], run.task.name), []).append(run)
        _refuse_mixed_records(groups, latest)
        tasks = {task: number for number, task in enumerate(dict.fromkeys(t for _, t in groups))}
        names = {row: number for number, row in enumerate(dict.fromkeys(row for row, _ in groups))}
        ordered = sorted(groups, key=lambda key: (names[key[0]], tasks[key[1]]))
        self._cells = {key: _cell(key[0], groups[key], latest) for key in ordered}

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def __len__(self) -> int:
        return len(self._cells)

    def get(self, checkpoint: str, task: str) -> Cell | None:
        """Give a cell, None where no run of it is planned."""
        return self._cells.get((checkpoint, task))

    @property
    def checkpoints(self) -> list[str]:
        """The rows, in their order."""
        return list(dict.fromkeys(checkpoint for checkpoint, _ in self._cells))

    @property
    def tasks(self) -> list[str]:
        """The tasks, in their order."""
        return list(dict.fromkeys(cell.task.name for cell in self))

    def refuse_unlike(self, *groups: Iterable[Cell]) -> None:
        """Raise StudyError where cells to be taken together were not made in the same way."""
        refuse_unlike(groups, self.sweep)

    def point(self, recipe: Any) -> str:
        """Say a recipe by its swept numbers."""
        known = ((name, getattr(recipe, name)) for name in self.sweep)
        return " ".join(f"{name}={value}" for name, value in known if value is not None)

    def shown(self, metric: str | None, split: str) -> list[tuple[Cell, str]]:
        """List the cells with the metric that each shows; tasks that do not have it are left out.

        Raises StudyError for a metric or split that no record has.
        """
        if metric is not None and metric not in self._metrics:
            refuse("metric", metric, sorted(self._metrics))
        if self._splits and split not in self._splits:
            refuse("split", split, sorted(self._splits))
        return [
            (cell, metric or cell.task.main_metric)
            for cell in self
            if metric is None or cell.task.name in self._metrics[metric]
        ]

    def same_rate(self, asked: float) -> float:
        """Find a learning rate of the study that equals the one asked for, but for rounding."""
        rates = sorted({rate for cell in self for rate in cell.rates if np.isfinite(rate)})
        for rate in rates:
            if np.isclose(rate, asked, rtol=1e-9, atol=0):
                return float(rate)
        raise StudyError(
            f"no run of the study has learning_rate={asked}; it has {', '.join(map(str, rates))}"
        )

    @cached_property
    def _metrics(self) -> dict[str, set[str]]:
        tasks: dict[str, set[str]] = {}
        for cell in self:
            for metric in cell.task.metrics:
                tasks.setdefault(metric, set()).add(cell.task.name)
        for task_name, _, metric in self._scored:
            tasks.setdefault(metric, set()).add(task_name)
        return tasks

    @cached_property
    def _splits(self) -> set[str]:
        return {split for _, split, _ in self._scored}

    @cached_property
    def _scored(self) -> set[tuple[str, str, str]]:
        return {
            (cell.task.name, split, metric)
            for cell in self
            for record in cell.records.values()
            if record["status"] == "ok"
            for split, scores in record["scores"].items()
            for metric in scores
        }


def refuse(word: str, value: str, known: Sequence[str]) -> None:
    """Raise StudyError: the study has no such metric, split, checkpoint ...; say what it has."""
    close = difflib.get_close_matches(value, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}"
    raise StudyError(f"no run of this study has a {word} {value!r}; {hint}")


def _cell(checkpoint: str, runs: Sequence[AnyRun], latest: Mapping[str, Record]) -> Cell:
    recipes: dict[str, tuple[int, Any]] = {}
    for run in runs:
        recipes.setdefault(run.recipe.identity, (len(recipes), run.recipe))
    seeds = sorted({run.seed for run in runs})
    columns = {seed: column for column, seed in enumerate(seeds)}
    placed = {(recipes[run.recipe.identity][0], columns[run.seed]): run for run in runs}
    records = {place: latest[run.run_id] for place, run in placed.items() if run.run_id in latest}
    return Cell(
        checkpoint=checkpoint,
        task=runs[0].task,
        columns=groups_of(runs[0]),
        recipes=tuple(recipe for _, recipe in recipes.values()),
        seeds=tuple(seeds),
        runs=placed,
        records=records,
    )


def _refuse_mixed_records(
    groups: Mapping[tuple[str, str], Sequence[AnyRun]], latest: Mapping[str, Record]
) -> None:
    by_point: dict[tuple[str, str, str], list[Record | None]] = {}
    for (row, task), runs in groups.items():
        for run in runs:
            by_point.setdefault((row, task, run.recipe.identity), []).append(latest.get(run.run_id))
    refuse_mixtures(by_point)
