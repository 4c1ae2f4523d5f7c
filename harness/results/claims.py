"""What is claimed of checkpoints: tables, comparisons, ranks over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
from numpy.typing import ArrayLike

from harness.results.axes import make_table
from harness.results.choosing import BY_VALIDATION
from harness.results.comparing import Comparer
from harness.results.letters import LEVEL
from harness.results.over_tasks import over_tasks_frame, profiles_frame
from harness.results.runs import Runs
from harness.results.tabling import IntervalKind, Tabler


class Claims(Runs):
    """Which checkpoint is better at what, and is it real?"""

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

    def _comparer(self, **asked: Any) -> Comparer:
        return Comparer(self._cells, self._reader, **asked)
