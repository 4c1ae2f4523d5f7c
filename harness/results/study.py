"""The study: what a notebook, the command line and the reports read.

It knows the frozen grid and the ledger only, so it works on a laptop and while runs go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.grid import FrozenGrid, read_frozen
from harness.ledger import latest_records, read_ledger
from harness.predictions import read_predictions
from harness.results.cells import BY_VALIDATION, Cells, chosen_points, every_point
from harness.results.checkpoints import with_columns
from harness.results.frames import missing_frame, records_frame, scores_frame
from harness.spec import Run


def load_study(path: str | Path) -> Study:
    """Read a study folder; raises StudyError where it is none or can't be read."""
    folder = Path(path)
    grid = read_frozen(folder)
    return Study(folder, grid, latest_records(read_ledger(folder)))


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The planned runs of a study and the latest record of each run_id, at one moment.

    In every frame, what is known of a checkpoint (size, objective, steps ...) stands in the last
    columns: `harness.results.checkpoints`.
    """

    path: Path
    grid: FrozenGrid
    latest: Mapping[str, dict[str, Any]]

    def __repr__(self) -> str:
        good = len(self.planned) - len(self.missing)
        return f"Study({str(self.path)!r}: {good} of {len(self.planned)} runs ok)"

    @cached_property
    def planned(self) -> list[Run]:
        """Every run of the frozen grid."""
        return self.grid.runs()

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row a recorded run; the swept numbers, seconds and counts are columns of their own.

        `planned` is False for a run that is not in the grid; such a run is in no table.
        """
        planned = {run.run_id for run in self.planned}
        return self._known(records_frame(self._recorded, self.grid.sweep, planned))

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row a run, split and metric, with its `value`; a run that is not `ok` has none."""
        return self._known(scores_frame(self._recorded, self.grid.sweep))

    @cached_property
    def missing(self) -> pd.DataFrame:
        """One row a planned run without a good record, with the `reason`."""
        return self._known(missing_frame(self.planned, self.latest, self.grid.sweep))

    def predictions(self, run_id: str) -> pd.DataFrame:
        """Read what a run said, a row an example of each split; StudyError if there is none."""
        return read_predictions(self.path, run_id)

    def table(
        self,
        metric: str | None = None,
        split: str = "test",
        select: str | float = BY_VALIDATION,
        allow_incomplete: bool = False,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Choose a point for each checkpoint and task and report it: one row a cell.

        The choice is by the mean validation score of the task's main metric, or `select` is one
        learning rate for all. `mean` is over the seeds of the chosen point, `low` to `high` its
        Student t interval. A cell without a point whose runs are all good has no mean, unless
        `allow_incomplete`. Raises StudyError for an unknown metric, split or rate, and for records
        that can't be pooled.
        """
        chosen = chosen_points(
            self._cells,
            metric=metric,
            split=split,
            select=select,
            allow_incomplete=allow_incomplete,
            confidence=confidence,
        )
        return self._known(chosen)

    def rates(
        self, metric: str | None = None, split: str = "test", confidence: float = 0.95
    ) -> pd.DataFrame:
        """Report every point of each checkpoint and task, without a choice: one row a point.

        `mean` is over the good runs, `n_ok` of `n_planned`. Raises StudyError as `table` does.
        """
        points = every_point(self._cells, metric=metric, split=split, confidence=confidence)
        return self._known(points)

    @cached_property
    def _recorded(self) -> list[dict[str, Any]]:
        """The latest records, under the names that their checkpoints have in the grid now."""
        names = {run.run_id: run.checkpoint.name for run in self.planned}
        return [
            record | {"checkpoint": names.get(run_id, record["checkpoint"])}
            for run_id, record in self.latest.items()
        ]

    def _known(self, frame: pd.DataFrame) -> pd.DataFrame:
        return with_columns(frame, self.grid)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(self.grid, self.latest, self.planned)
