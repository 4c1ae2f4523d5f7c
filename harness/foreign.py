"""Runs that another tool made: what is known of them, which is less than of our own.

A foreign study is a study folder like any other: what is planned, the ledger, what each run scored
per example. Its tasks have no cards (there is nothing to load), its checkpoints no files, its
recipes only the numbers that the other tool tells. So it can be read and can't be run. What is
unknown is absent, and never filled in with our defaults.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from harness.errors import StudyError
from harness.grid import GRID_FILE, FrozenGrid, PartialRecipe, SkippedCheckpoint, read_frozen
from harness.spec import Kind, Name, Precision, Run, Spec, Task, canonical_json


class ForeignTask(Spec):
    """A task by name, kind and metrics: its data and how it was run belong to the other tool.

    Tasks of one `trained_on` share their trainings: a run of one is the same model, tested
    elsewhere, as the run of another with its checkpoint, recipe and seed.
    """

    name: Name
    kind: Kind
    metrics: tuple[str, ...] = Field(min_length=1)
    trained_on: str | None = None

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of name and kind: the rest is left out, as metrics of our own tasks."""
        return canonical_json({"name": self.name, "kind": self.kind})

    @property
    def main_metric(self) -> str:
        """The metric that chooses the rate and fills the table."""
        return self.metrics[0]


class ForeignCheckpoint(Spec):
    """A checkpoint by its name in the other tool; its content is not known."""

    name: str = Field(min_length=1)
    columns: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of the name: all that sets it apart."""
        return canonical_json({"name": self.name})


class ForeignRecipe(PartialRecipe):  # type: ignore[misc]
    """The numbers of a recipe that the other tool tells; all others are absent."""

    learning_rate: float | None = Field(None, gt=0)
    precision: Precision | None = None

    @cached_property
    def identity(self) -> str:
        """Canonical JSON of the known numbers."""
        return canonical_json(self.model_dump(mode="json"))


class ForeignRun(Spec):
    """One fine-tuning that another tool made or should have made."""

    source: str
    task: ForeignTask
    checkpoint: ForeignCheckpoint
    recipe: ForeignRecipe
    seed: int = Field(ge=0)

    @cached_property
    def run_id(self) -> str:
        """First 16 hex digits of the SHA-256 of all that is known; no run of ours has the same."""
        text = (
            f'{{"checkpoint":{self.checkpoint.identity},"foreign":{json.dumps(self.source)},'
            f'"recipe":{self.recipe.identity},"seed":{self.seed},"task":{self.task.identity}}}'
        )
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class ForeignGrid(Spec):
    """The runs of a foreign study: all that its names span, so that holes show as missing."""

    foreign: str = Field(min_length=1, description="the tool or file that the results come from")
    name: str
    tasks: tuple[ForeignTask, ...]
    checkpoints: tuple[ForeignCheckpoint, ...]
    recipes: dict[str, tuple[ForeignRecipe, ...]]
    seeds: tuple[int, ...]
    sweep: tuple[str, ...]
    skipped: tuple[SkippedCheckpoint, ...] = ()

    def runs(self) -> list[ForeignRun]:
        """List the runs: by checkpoint, then task, then seed, then recipe."""
        return list(self._each_run())

    def _each_run(self) -> Iterator[ForeignRun]:
        for checkpoint, task, seed in itertools.product(self.checkpoints, self.tasks, self.seeds):
            for recipe in self.recipes[task.name]:
                # Every part is validated already.
                yield ForeignRun.model_construct(
                    source=self.foreign, task=task, checkpoint=checkpoint, recipe=recipe, seed=seed
                )


AnyGrid = FrozenGrid | ForeignGrid
AnyRun = Run | ForeignRun
AnyTask = Task | ForeignTask


def read_grid(study: Path) -> AnyGrid:
    """Read what a study plans, be it our own or foreign.

    Raises:
        StudyError: the folder is no study, or its grid can't be read.
    """
    path = study / GRID_FILE
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return read_frozen(study)  # which says what is wrong
    if not isinstance(content, dict) or "foreign" not in content:
        return read_frozen(study)
    try:
        return ForeignGrid.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(step) for step in fault["loc"])
        raise StudyError(f"{path}: {where}: {fault['msg']}; the file is damaged") from None


# --- what each run scored per example ---------------------------------------------------------
#
# One file a checkpoint and task: a row an example, a column a run. Thousands of runs of another
# tool would be thousands of files of a few numbers each.


def example_scores_path(study: Path, checkpoint: str, task: str) -> Path:
    """Say where the example scores of a cell lie; names may hold what no file name can."""
    cell = hashlib.sha256(json.dumps([checkpoint, task]).encode()).hexdigest()[:16]
    return study / "predictions" / "foreign" / f"{cell}.parquet"


def write_example_scores(path: Path, table: pa.Table) -> None:
    """Write a cell: columns `split` and `id`, then one a run with its scores, NaN for none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    unfinished.replace(path)


def read_example_scores(path: Path, run_ids: list[str] | None = None) -> dict[str, Any]:
    """Read some or all runs of a cell as arrays: `split`, `id`, and a column a run.

    Raises:
        StudyError: there is no such file, or it lacks a run.
    """
    columns = None if run_ids is None else ["split", "id", *run_ids]
    try:
        with pq.ParquetFile(path) as file:
            known = set(file.schema_arrow.names)
            if lacking := sorted(set(columns or ()) - known):
                raise StudyError(f"{path}: has no scores per example of run {lacking[0]}")
            table = file.read(columns=columns)
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file: the source gave no scores per example") from None
    except pa.ArrowInvalid as error:
        raise StudyError(f"{path}: can't be read ({error}); import the results again") from None
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
