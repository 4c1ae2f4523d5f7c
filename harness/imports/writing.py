"""Foreign results written as a study: the plan that they span, the ledger, the example scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from harness.errors import StudyError
from harness.foreign import ForeignGrid, ForeignRun, example_scores_path, write_example_scores
from harness.grid import GRID_FILE, SkippedCheckpoint
from harness.ledger import LedgerWriter

Scores = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Result:
    """What the source says of one run; `fault` says why it has no scores.

    `examples` has the ids and the scores of the main metric of each split, where they are known.
    """

    run: ForeignRun
    finished: float
    scores: Scores = field(default_factory=dict)
    examples: dict[str, tuple[Sequence[str], NDArray[np.float64]]] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True)
class Imported:
    """What an import found: runs with scores, broken ones, runs that the names span but lack."""

    study: Path
    good: int
    broken: int
    missing: int
    skipped: tuple[SkippedCheckpoint, ...]


class StudyWriter:
    """Writes the results of a source into a new study folder, a cell at a time.

    Raises StudyError where the folder already holds a study.
    """

    def __init__(self, study: Path) -> None:
        if (study / GRID_FILE).exists():
            raise StudyError(
                f"{study}: already holds a study; import into a new folder, or remove this one"
            )
        self.study = study
        self._records: list[dict[str, Any]] = []

    def add_cell(self, results: Sequence[Result]) -> None:
        """Add results that share checkpoint and task."""
        self._records += map(_record, results)
        if any(result.examples for result in results):
            run = results[0].run
            path = example_scores_path(self.study, run.checkpoint.name, run.task.name)
            write_example_scores(path, _lay_out(results))

    def finish(self, grid: ForeignGrid) -> Imported:
        """Write ledger and plan, the plan last: without it the folder is no study."""
        with LedgerWriter(self.study) as ledger:
            ledger.append_all(self._records)
        scratch = self.study / f".{GRID_FILE}"
        scratch.write_text(grid.model_dump_json(indent=1, exclude_none=True), encoding="utf-8")
        scratch.replace(self.study / GRID_FILE)
        good = {record["run_id"] for record in self._records if record["status"] == "ok"}
        planned = {run.run_id for run in grid.runs()}
        broken = {record["run_id"] for record in self._records} - good
        missing = len(planned) - len(good) - len(broken)
        return Imported(self.study, len(good), len(broken), missing, grid.skipped)


def _record(result: Result) -> dict[str, Any]:
    run = result.run
    record: dict[str, Any] = {
        "run_id": run.run_id,
        "status": "failed" if result.fault else "ok",
        "task": run.task.name,
        "kind": run.task.kind,
        "checkpoint": run.checkpoint.name,
        "recipe": run.recipe.model_dump(mode="json", exclude_none=True),
        "seed": run.seed,
        "main_metric": run.task.main_metric,
        "data_source": run.source,
        "finished": datetime.fromtimestamp(result.finished, UTC).isoformat(timespec="microseconds"),
    }
    if run.recipe.precision is not None:
        record["precision"] = run.recipe.precision
    if result.fault:
        return record | {"error": {"type": "ImportError", "message": result.fault}}
    counts = {split: {"examples": len(scores)} for split, (_, scores) in result.examples.items()}
    return record | {"scores": result.scores, "counts": counts}


def _lay_out(results: Sequence[Result]) -> pa.Table:
    """Lay out a cell: a row for each example that any run has, a column for each run."""
    rows: dict[tuple[str, str], int] = {}
    blocks: dict[tuple[str, int], NDArray[np.intp]] = {}
    for result in results:
        for split, (ids, _) in result.examples.items():
            if (split, id(ids)) not in blocks:
                places = [rows.setdefault((split, name), len(rows)) for name in ids]
                blocks[split, id(ids)] = np.array(places, dtype=np.intp)
    columns: dict[str, Any] = {
        "split": pa.array([split for split, _ in rows], pa.string()),
        "id": pa.array([name for _, name in rows], pa.string()),
    }
    for result in results:
        if result.examples:
            column = np.full(len(rows), np.nan)
            for split, (ids, scores) in result.examples.items():
                column[blocks[split, id(ids)]] = scores
            columns[result.run.run_id] = pa.array(column)
    return pa.table(columns)
