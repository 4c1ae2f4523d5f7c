"""The study: what a notebook, the command line and the reports read.

It knows what is planned and the ledger, and asks for predictions only where examples are resampled,
so it works on a laptop and while runs go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from harness.errors import StudyError
from harness.foreign import (
    AnyGrid,
    AnyRun,
    ForeignRun,
    example_scores_path,
    read_example_scores,
    read_grid,
)
from harness.grid import SkippedCheckpoint
from harness.ledger import latest_records, read_ledger
from harness.predictions import read_predictions
from harness.results.causes import Causes
from harness.results.claims import Claims
from harness.results.columns import columns_of, split_runs
from harness.results.frames import missing_frame, records_frame, scores_frame
from harness.results.merging import merge_runs

Paths = str | Path | Sequence[str | Path]


def load_study(path: Paths) -> Study:
    """Read a study folder, or several as one study.

    Of several, a run that two of them have counts once. Rows of one checkpoint that differ in a
    number which is not swept, in attention or in pooling are kept apart by name; raises StudyError
    where a folder is no study, or tasks or checkpoints of one name are not the same.
    """
    folders = [path] if isinstance(path, str | Path) else list(path)
    paths = tuple(dict.fromkeys(Path(folder) for folder in folders))
    if not paths:
        raise StudyError("no study: give at least one folder")
    grids = tuple(read_grid(folder) for folder in paths)
    read = [(record, folder) for folder in paths for record in read_ledger(folder)]
    folder_of = {id(record): folder for record, folder in read}
    in_order = sorted((record for record, _ in read), key=lambda record: record["finished"])
    latest = latest_records(in_order)
    homes = {run_id: folder_of[id(record)] for run_id, record in latest.items()}
    return Study(paths, grids, merge_runs(paths, grids), latest, homes)


@dataclass(frozen=True, eq=False, repr=False)
class Study(Claims, Causes):
    """The planned runs of one or several study folders, and the latest record of each run_id.

    `homes` has the folder that each of these records is from: its predictions are there.
    """

    paths: tuple[Path, ...]
    grids: tuple[AnyGrid, ...]
    planned: list[AnyRun]
    latest: Mapping[str, dict[str, Any]] = field(repr=False)
    homes: Mapping[str, Path] = field(repr=False)

    def __repr__(self) -> str:
        good = len(self.planned) - len(self.missing)
        where = ", ".join(repr(str(path)) for path in self.paths)
        return f"Study({where}: {good} of {len(self.planned)} runs ok)"

    @property
    def grid(self) -> AnyGrid:
        """What the folder plans; raises StudyError for a study of several folders."""
        if len(self.grids) > 1:
            raise StudyError("a study of several folders has no one grid; see `grids`")
        return self.grids[0]

    @property
    def tasks(self) -> list[str]:
        """The names of the planned tasks."""
        return list(dict.fromkeys(run.task.name for run in self.planned))

    @property
    def checkpoints(self) -> list[str]:
        """The names of the rows: checkpoints, and what sets like-named ones apart."""
        return list(dict.fromkeys(self._rows.values()))

    @property
    def skipped(self) -> tuple[SkippedCheckpoint, ...]:
        """The checkpoints that were found but could not be used, and why."""
        return tuple(itertools.chain.from_iterable(grid.skipped for grid in self.grids))

    def where(self, **conditions: Any) -> Study:
        """Keep the runs that have these values (or one of several) in these columns.

        Columns are checkpoint, task, kind, seed, the recipe's fields, and what is known of the
        checkpoints: `study.where(size="610m", task=["sst2", "mnli"])`. Raises StudyError for a
        column or value that no run has.
        """
        return self._of(split_runs(self.planned, self._rows, conditions)[0])

    def without(self, **conditions: Any) -> Study:
        """Leave out the runs that `where` would keep; raises StudyError as it does."""
        return self._of(split_runs(self.planned, self._rows, conditions)[1])

    @cached_property
    def records(self) -> pd.DataFrame:
        """One row a recorded run; the swept numbers, seconds and counts are columns of their own.

        `planned` is False for a run that is not in the grid; such a run is in no table.
        """
        frame = records_frame(self.latest.values(), self.sweep, set(self._rows))
        return self._with_columns(frame)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row a run, split and metric, with its `value`; a run that is not `ok` has none."""
        return self._with_columns(scores_frame(self.latest.values(), self.sweep))

    @cached_property
    def missing(self) -> pd.DataFrame:
        """One row a planned run without a good record, with the `reason`."""
        return self._with_columns(missing_frame(self.planned, self.latest, self.sweep))

    def predictions(self, run_id: str) -> pd.DataFrame:
        """Read what a run said, a row an example of each split; StudyError if there is none.

        Of a foreign run: the ids and scores of its examples.
        """
        run = self._by_id.get(run_id)
        if isinstance(run, ForeignRun):
            return self._foreign_predictions(run)
        return read_predictions(self.homes.get(run_id, self.paths[0]), run_id)

    @cached_property
    def _by_id(self) -> dict[str, AnyRun]:
        return {run.run_id: run for run in self.planned}

    def _of(self, runs: list[AnyRun]) -> Study:
        ids = {run.run_id for run in runs}
        latest = {run_id: record for run_id, record in self.latest.items() if run_id in ids}
        return replace(self, planned=runs, latest=latest)

    def _with_columns(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Name rows as the tables do, and add what is known of the checkpoints.

        A column that the frame has already, such as the `steps` of a run, is `checkpoint_steps`.
        A frame whose rows are no checkpoints stays as it is.
        """
        by_row = {self._rows[run.run_id]: run for run in self.planned}
        if "run_id" in frame:
            rows = frame["run_id"].map(self._rows).fillna(frame["checkpoint"]).astype("str")
        elif "checkpoint" in frame and set(frame["checkpoint"]) <= set(by_row):
            rows = frame["checkpoint"]
        else:
            return frame
        known = {row: columns_of(run) for row, run in by_row.items()}
        names = dict.fromkeys(name for columns in known.values() for name in columns)
        added = {}
        for name in names:
            title = f"checkpoint_{name}" if name in frame else name
            values = [known.get(row, {}).get(name) for row in rows]
            added[title] = pd.Series(values, index=frame.index, dtype=object).infer_objects()
        return frame.assign(checkpoint=rows, **added)

    def _foreign_predictions(self, run: ForeignRun) -> pd.DataFrame:
        folder = self.homes.get(run.run_id, self.paths[0])
        path = example_scores_path(folder, run.checkpoint.name, run.task.name)
        if not path.exists():
            raise StudyError(f"run {run.run_id}: its source gave no scores per example")
        columns = read_example_scores(path, [run.run_id])
        frame = pd.DataFrame(columns).rename(columns={run.run_id: "score"})
        return frame.dropna().reset_index(drop=True)
