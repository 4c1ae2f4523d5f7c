"""What is asked of a study beyond its frames: tables, comparisons, curves, shares of variance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from numpy.typing import ArrayLike

from harness.foreign import AnyGrid, AnyRun
from harness.results.axes import make_table
from harness.results.cells import Cells, refuse
from harness.results.choosing import BY_VALIDATION
from harness.results.comparing import Comparer
from harness.results.curves import make_curves
from harness.results.examples import ExampleReader
from harness.results.letters import LEVEL
from harness.results.merging import name_rows
from harness.results.over_tasks import over_tasks_frame, profiles_frame
from harness.results.sensitivities import BUDGETS, sensitivity_frame
from harness.results.sensitivity_pairs import compare_sensitivities
from harness.results.spread import power_frame, seeds_frame, variance_frame
from harness.results.tabling import IntervalKind, Tabler


class Analyses:
    """The questions that a `Study` answers; it has the runs and their records."""

    paths: tuple[Path, ...]
    grids: tuple[AnyGrid, ...]
    planned: list[AnyRun]
    latest: Mapping[str, dict[str, Any]]
    homes: Mapping[str, Path]
    _with_columns: Callable[[pd.DataFrame], pd.DataFrame]

    @property
    def sweep(self) -> tuple[str, ...]:
        """The recipe fields that vary in any of the grids."""
        return tuple(dict.fromkeys(itertools.chain.from_iterable(g.sweep for g in self.grids)))

    def table(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        allow_incomplete: bool = False,
        confidence: float = 0.95,
        *,
        by: str | Sequence[str] = "task",
        interval: IntervalKind = "seeds",
        seed: int = 0,
    ) -> pd.DataFrame:
        """Choose a point for each checkpoint and task and report it: one row a cell.

        The choice is by the mean validation score of the task's main metric; or `select` is one
        learning rate for all, or `"per seed"`. `mean` is over the seeds of the chosen point, `low`
        to `high` its interval: over other `seeds` (Student t), over `both` seeds and examples, or
        `nested`, with the choice made anew as well. A cell without a point whose runs are all good
        has no mean, unless `allow_incomplete`.

        `by` names what makes the rows and the columns: `task` or `kind` the columns, all others
        the rows: `checkpoint`, a column of the checkpoints, or `learning_rate` (every point, no
        choice). Groups of cells are averaged, as fixed tasks and checkpoints; a group with an
        absent cell is absent.

        Raises StudyError for an unknown metric, split, rate or column, and for records that can't
        be pooled.
        """
        tabler = Tabler(
            self._cells, self._reader, interval=interval, confidence=confidence, seed=seed
        )
        names = (by,) if isinstance(by, str) else tuple(by)
        table = make_table(
            tabler,
            self._cells,
            names,
            metric=metric,
            split=split,
            select=select,
            allow_incomplete=allow_incomplete,
        )
        return self._with_columns(table)

    def rates(
        self, metric: str | None = None, split: str = "test", confidence: float = 0.95
    ) -> pd.DataFrame:
        """Report every point of each checkpoint and task, without a choice: one row a point.

        `mean` is over the good runs, `n_ok` of `n_planned`. Raises StudyError as `table` does.
        """
        return self.table(metric, split, confidence=confidence, by="learning_rate")

    def best(
        self,
        metric: str | None = None,
        split: str = "test",
        interval: Literal["seeds", "both"] = "seeds",
        correction: str = "holm",
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Give the best checkpoint of each task, and those that can't be told apart from it.

        Best is the largest mean, of a metric where lower is better the smallest. `tied` has the
        names, at 5 % corrected as all pairs of each task, since the best is picked from the same
        data. Tasks with an absent cell have no best.
        """
        table = self.table(metric, split, confidence=confidence, interval=interval)
        table = table.set_index(["checkpoint", "task"])
        pairs = self._comparer(
            metric=metric, split=split, interval=interval, correction=correction
        ).with_best()
        columns = ["metric", "mean", "low", "high", "n_ok", "n_planned"]
        rows = []
        for task in pairs["task"].unique():
            others = pairs[pairs["task"] == task]
            best = others["a"].iloc[0]
            # An absent p is no claim of a difference.
            tied = others.loc[~(others["p_corrected"] <= LEVEL), "b"].tolist()
            row = table.loc[(best, task), columns].to_dict()
            rows.append({"task": task, "best": best, **row, "tied": tied})
        return pd.DataFrame(rows, columns=["task", "best", *columns, "tied"])

    def compare(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        *,
        interval: str = "both",
        correction: str = "holm",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Compare two checkpoints on every task that both have whole: one row a task.

        `difference` is a minus b with its interval and two-sided `p`, by paired examples and seeds
        of each side (`both`) or over `seeds` alone (Welch); `p_corrected` is Holm's over the tasks,
        or Benjamini and Hochberg's (`bh`). Checks: `p_permutation` (signs of the examples'
        differences; seeds as given), `p_mcnemar` (one run a side). `improvement` is the probability
        that a run of a beats one of b, by a lower score where lower is better. `resampled`,
        `confidence` and `correction` say what the interval and the corrected p are. A last row has
        all tasks together, unless lower is better on some of them only.

        A side may be `column=value`: all such checkpoints. With several on both sides it is the
        checkpoints that vary, so the claim is one of recipes. Raises StudyError where runs have no
        examples in common.
        """
        return self._comparer(
            metric=metric,
            split=split,
            select=select,
            interval=interval,
            correction=correction,
            confidence=confidence,
            seed=seed,
        ).compare(a, b)

    def compare_all(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        *,
        interval: str = "both",
        correction: str = "holm",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Compare every pair of checkpoints: one row a pair and task, and one for all tasks.

        Columns as of `compare`; `p_corrected` is over all pairs and tasks. `letter_groups` of the
        rows of one task says who can't be told apart.
        """
        return self._comparer(
            metric=metric,
            split=split,
            select=select,
            interval=interval,
            correction=correction,
            confidence=confidence,
            seed=seed,
        ).compare_all()

    def over_tasks(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Sum up each checkpoint over all tasks: one row a checkpoint.

        `mean`, `interquartile_mean` (of all runs without the best and the worst quarter) and
        `median` over tasks; `rank`: the place, 1 the best, of one of its runs among one run of each
        checkpoint, mean over tasks and over all ways to draw them. Each has bounds over seeds,
        drawn within each task; tasks are as given. Runs are those of the chosen points.

        All are over the same tasks (`task_names`), without those that no checkpoint has whole
        (`left_out`). A checkpoint that lacks one has no numbers; scores with no common direction or
        scale have ranks alone; `absent` says so. Raises StudyError where no cell is whole.
        """
        return over_tasks_frame(
            self._cells,
            metric=metric,
            split=split,
            select=select,
            confidence=confidence,
            seed=seed,
        )

    def profiles(
        self,
        thresholds: ArrayLike | None = None,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Give performance profiles: one row a checkpoint and threshold.

        `share` of the runs of all tasks with a score above the threshold, of a metric where lower
        is better below it, with pointwise bounds over seeds. Without `thresholds` there are 51
        from the lowest to the highest score. Tasks and left-out checkpoints as of `over_tasks`; a
        left-out one has a row without a threshold. Raises StudyError where there is no common
        direction or scale.
        """
        return profiles_frame(
            self._cells,
            thresholds=thresholds,
            metric=metric,
            split=split,
            select=select,
            confidence=confidence,
            seed=seed,
        )

    def sensitivity(
        self,
        metric: str | None = None,
        split: str = "test",
        budgets: Sequence[int] = BUDGETS,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Say how much each checkpoint depends on the learning rate: one row a task, one for all.

        `range`, `deviation` and `area` (mean over log rate) of the means at each rate, with bounds
        over seeds; `best` mean; `regret` of the one rate that is best for all tasks; shares of
        diverged and collapsed runs; `best_of_m`: the expected score of the best on validation of m
        runs. Best is the largest, of a metric where lower is better the smallest.
        """
        return sensitivity_frame(
            self._cells,
            metric=metric,
            split=split,
            budgets=budgets,
            confidence=confidence,
            seed=seed,
        )

    def compare_sensitivity(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        split: str = "test",
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Give a minus b of the measures of `sensitivity`: a row a task and measure.

        `range`, `deviation` and `area` at the same rates, and the shares `diverged` and `collapsed`
        of the planned runs, on each task; `regret` on all shared tasks together. Bounds are over
        seeds; those of shares are open while planned runs have no record.
        """
        for name in (a, b):
            if name not in self._cells.checkpoints:
                refuse("checkpoint", name, self._cells.checkpoints)
        return compare_sensitivities(
            self._cells, a, b, metric=metric, split=split, confidence=confidence, seed=seed
        )

    def dynamics(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        *,
        by: Sequence[str] | None = None,
        interval: IntervalKind = "seeds",
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Give scores over pretraining steps: the rows of `table`, with `series` and `step`.

        A series is the checkpoints that differ in the step alone, or as the columns `by` say.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=select, by=by)
        return curves.frame(
            Tabler(self._cells, self._reader, interval=interval, confidence=confidence)
        )

    def crossings(
        self,
        a: str,
        b: str,
        metric: str | None = None,
        split: str = "test",
        *,
        by: Sequence[str] | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Find, on each task, the step from which one of two series stays ahead, with bounds.

        Ahead is the larger score, of a metric where lower is better the smaller.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=BY_VALIDATION, by=by)
        return curves.crossings(a, b, confidence=confidence, seed=seed)

    def steps_to_reach(
        self,
        target: float,
        metric: str | None = None,
        split: str = "test",
        *,
        by: Sequence[str] | None = None,
        confidence: float = 0.95,
        seed: int = 0,
    ) -> pd.DataFrame:
        """Find the first step at which each series reaches a score on each task, with bounds.

        It is reached from below, of a metric where lower is better from above.
        """
        curves = make_curves(self._cells, metric=metric, split=split, select=BY_VALIDATION, by=by)
        return curves.steps_to_reach(target, confidence=confidence, seed=seed)

    def variance(self, metric: str | None = None, split: str = "test") -> pd.DataFrame:
        """Split the variance of each task's scores by rate, seed, example and residual."""
        return variance_frame(self._cells, self._reader, metric=metric, split=split)

    def power(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        seeds: Sequence[int] = (3, 5, 10, 20),
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Say how wide intervals are with so many seeds, and which differences would be found."""
        return power_frame(
            self._cells,
            self._reader,
            metric=metric,
            split=split,
            select=select,
            seeds=seeds,
            confidence=confidence,
        )

    def seeds_needed(
        self,
        half_width: float,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Say how many seeds a cell of each task needs for an interval of that half width."""
        return seeds_frame(
            self._cells,
            self._reader,
            half_width,
            metric=metric,
            split=split,
            select=select,
            confidence=confidence,
        )

    def _comparer(self, **asked: Any) -> Comparer:
        return Comparer(self._cells, self._reader, **asked)

    @cached_property
    def _rows(self) -> dict[str, str]:
        return name_rows(self.planned, self.sweep)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.planned, self._rows, self.latest, self.sweep)

    @cached_property
    def _reader(self) -> ExampleReader:
        return ExampleReader(self.homes, self.latest)
