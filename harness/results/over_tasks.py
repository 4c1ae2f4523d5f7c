"""Checkpoints over all tasks together: means, ranks and performance profiles, with intervals.

Tasks are as given, never sampled: seeds are drawn within each task. All numbers of a frame are over
the same tasks, so that a checkpoint that lacks one of them has none, and its row says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.errors import StudyError
from harness.results.cells import Cells
from harness.results.choosing import Picked, pick, same_select
from harness.results.direction import BETWEEN, lower_is_better, lower_ones, name_together, orient
from harness.results.frames import typed
from harness.results.shared import share_trainings
from harness.seeding import numpy_generator
from harness.stats import (
    Bounds,
    aggregate_bounds,
    interquartile_mean,
    mean_over_tasks,
    mean_rank_bounds,
    mean_ranks,
    median_over_tasks,
    performance_profile,
    profile_bounds,
)

Floats = NDArray[np.float64]

AGGREGATES = {
    "mean": mean_over_tasks,
    "interquartile_mean": interquartile_mean,
    "median": median_over_tasks,
}
RESAMPLED = "seeds within each task"
SHARED = " (as if no two tasks shared a training, which some do: bounds are too narrow)"
THRESHOLDS = 51
"""So many thresholds from the lowest to the highest score, where none are asked for."""
HEAD = {"checkpoint": "str", "metric": "str", "split": "str"}
MEANT = {
    "n_ok": "int64",
    "n_planned": "int64",
    "tasks": "int64",
    "task_names": "str",
    "left_out": "str",
    "absent": "str",
    "select": "str",
    "resampled": "str",
    "confidence": "float64",
}
NUMBERS = tuple(f"{name}{end}" for name in (*AGGREGATES, "rank") for end in ("", "_low", "_high"))
OVER_TASKS_TYPES = HEAD | dict.fromkeys(NUMBERS, "float64") | MEANT
PROFILE_TYPES = HEAD | dict.fromkeys(("threshold", "share", "low", "high"), "float64") | MEANT


@dataclass(frozen=True, eq=False)
class SameTasks:
    """What checkpoints have on the same tasks.

    `picks` has the whole cells of a checkpoint by task; `absent` says of a checkpoint why it has
    none of the numbers; `left_out` are tasks that no checkpoint has whole.
    """

    tasks: list[str]
    left_out: list[str]
    picks: dict[str, dict[str, Picked]]
    absent: dict[str, str]
    planned: dict[str, int]
    metric: str
    split: str

    @classmethod
    def of(cls, cells: Cells, *, metric: str | None, split: str, select: str | float) -> SameTasks:
        """Choose in every cell; StudyError where no cell has all runs good at one rate."""
        chosen = pick(cells, metric=metric, split=split, select=select)
        names = list(dict.fromkeys(picked.cell.task.name for picked in chosen))
        whole = {p.cell.task.name for p in chosen if p.is_whole}
        if not whole:
            raise StudyError("no checkpoint has a task with all runs good at one learning rate")
        tasks = [name for name in names if name in whole]
        picks: dict[str, dict[str, Picked]] = {name: {} for name in cells.checkpoints}
        planned = dict.fromkeys(cells.checkpoints, 0)
        for picked in chosen:
            if picked.cell.task.name in whole:
                planned[picked.cell.checkpoint] += picked.n_planned
                if picked.is_whole:
                    picks[picked.cell.checkpoint][picked.cell.task.name] = picked
        return cls(
            tasks,
            [name for name in names if name not in whole],
            picks,
            {name: why for name in picks if (why := _why_absent(tasks, picks[name]))},
            planned,
            name_together(p.metric for p in chosen if p.cell.task.name in whole),
            split,
        )

    @property
    def present(self) -> list[str]:
        """The checkpoints that have all the tasks."""
        return [name for name in self.picks if name not in self.absent]

    def scores(self, checkpoint: str) -> Floats:
        """Give the reported scores of a checkpoint, shape (seeds, tasks)."""
        return np.stack([self.picks[checkpoint][task].scores for task in self.tasks], axis=1)

    def gains(self, checkpoint: str) -> Floats:
        """Give them with the sign that makes larger ones better."""
        return np.stack([self.picks[checkpoint][task].gains for task in self.tasks], axis=1)

    @cached_property
    def meant(self) -> dict[str, Any]:
        """Say what all rows have in common."""
        shared = any(share_trainings(of_one.values()) for of_one in self.picks.values())
        return {
            "metric": self.metric,
            "split": self.split,
            "tasks": len(self.tasks),
            "task_names": ", ".join(self.tasks),
            "left_out": ", ".join(self.left_out) or None,
            "select": same_select(p.select for of in self.picks.values() for p in of.values()),
            "resampled": RESAMPLED + (SHARED if shared else ""),
        }

    def row(self, checkpoint: str, confidence: float) -> dict[str, Any]:
        """Say what the numbers of a checkpoint are of."""
        return self.meant | {
            "checkpoint": checkpoint,
            "n_ok": sum(picked.n_ok for picked in self.picks[checkpoint].values()),
            "n_planned": self.planned[checkpoint],
            "absent": self.absent.get(checkpoint),
            "confidence": confidence,
        }


def over_tasks_frame(
    cells: Cells,
    *,
    metric: str | None,
    split: str,
    select: str | float,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Sum up every checkpoint over the tasks that all shown ones have: one row a checkpoint."""
    same = SameTasks.of(cells, metric=metric, split=split, select=select)
    ranks = _ranks(same, confidence, seed)
    why = _why_no_mean(same)
    rows = []
    for checkpoint in same.picks:
        row = same.row(checkpoint, confidence)
        if checkpoint in ranks:
            row |= _columns("rank", ranks[checkpoint])
            row |= {"absent": why} if why else _aggregates(same, checkpoint, confidence, seed)
        rows.append(row)
    return typed(pd.DataFrame(rows, columns=list(OVER_TASKS_TYPES)), OVER_TASKS_TYPES)


def profiles_frame(
    cells: Cells,
    *,
    thresholds: ArrayLike | None,
    metric: str | None,
    split: str,
    select: str | float,
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Give the share of runs that are better than each threshold: a row a checkpoint and threshold.

    A checkpoint that lacks a task has one row, without a threshold. Raises StudyError where scores
    of the tasks can't stand on one axis.
    """
    same = SameTasks.of(cells, metric=metric, split=split, select=select)
    if why := _why_no_mean(same):
        raise StudyError(f"no profile over these tasks: {why}; keep some (--where task=NAME)")
    every = [same.scores(name) for name in same.present]
    if thresholds is None and every:
        ends = min(s.min() for s in every), max(s.max() for s in every)
        thresholds = np.linspace(*ends, THRESHOLDS)
    asked = np.asarray([] if thresholds is None else thresholds, dtype=np.float64).ravel()
    rows = []
    for checkpoint in same.picks:
        row = same.row(checkpoint, confidence)
        if checkpoint in same.absent:
            rows.append(row)
            continue
        generator = numpy_generator(seed, f"profile/{checkpoint}")
        found = _profile(same.gains(checkpoint), orient(asked, same.metric), generator, confidence)
        rows += [
            row | dict(zip(("threshold", "share", "low", "high"), numbers, strict=True))
            for numbers in zip(asked, *found, strict=True)
        ]
    return typed(pd.DataFrame(rows, columns=list(PROFILE_TYPES)), PROFILE_TYPES)


def _why_absent(tasks: Sequence[str], picks: dict[str, Picked]) -> str | None:
    lacking = [task for task in tasks if task not in picks]
    if lacking:
        return f"without a learning rate with all runs good: {', '.join(lacking)}"
    counts = {task: picks[task].scores.size for task in tasks}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{task} {count}" for task, count in counts.items())
        return f"numbers of runs differ ({said}); keep the same seeds (--where seed=N)"
    return None


def _why_no_mean(same: SameTasks) -> str | None:
    """Say why scores of the tasks can't be averaged, None where they can.

    Scores of several metrics share a scale where all are shares or correlations (within -1 and 1)
    on every task, or on none, as percents.
    """
    if lower_is_better(same.metric) is None:
        return f"lower is better for {', '.join(lower_ones([same.metric]))} only"
    largest = [
        max(np.abs(of[task].scores).max() for of in same.picks.values() if task in of)
        for task in same.tasks
    ]
    if BETWEEN in same.metric and min(largest) <= 1 < max(largest):
        return f"scores of {same.metric} are not on one scale"
    return None


def _aggregates(
    same: SameTasks, checkpoint: str, confidence: float, seed: int
) -> dict[str, float | None]:
    scores_KT = same.scores(checkpoint)
    found: dict[str, float | None] = {}
    for name, aggregate in AGGREGATES.items():
        bounds = Bounds(float(aggregate(scores_KT)), None, None)
        if len(scores_KT) > 1:
            generator = numpy_generator(seed, f"over tasks/{name}/{checkpoint}")
            bounds = aggregate_bounds(scores_KT, aggregate, generator, confidence=confidence)
        found |= _columns(name, bounds)
    return found


def _ranks(same: SameTasks, confidence: float, seed: int) -> dict[str, Bounds]:
    """Rank the checkpoints that have all tasks; without an interval where one has a single run."""
    gains = [same.gains(name) for name in same.present]
    if not gains:
        return {}
    if min(map(len, gains)) > 1:
        generator = numpy_generator(seed, "over tasks/ranks")
        bounds = mean_rank_bounds(gains, generator, confidence=confidence)
    else:
        bounds = [Bounds(float(rank), None, None) for rank in mean_ranks(gains)]
    return dict(zip(same.present, bounds, strict=True))


def _profile(
    gains_KT: Floats, thresholds_H: Floats, generator: np.random.Generator, confidence: float
) -> tuple[Floats, Floats, Floats]:
    if len(gains_KT) > 1:
        return profile_bounds(gains_KT, thresholds_H, generator, confidence=confidence)
    open_ends = np.full(thresholds_H.shape, np.nan)
    return performance_profile(gains_KT, thresholds_H), open_ends, open_ends


def _columns(name: str, bounds: Bounds) -> dict[str, float | None]:
    return {name: bounds.value, f"{name}_low": bounds.low, f"{name}_high": bounds.high}
