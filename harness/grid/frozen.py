"""A grid inside a study: with its cards and checkpoints, it alone says which runs are planned."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from harness.errors import StudyError
from harness.grid.written import Select
from harness.spec import Checkpoint, Recipe, Run, Spec, Task

GRID_FILE = "grid.json"


class SkippedCheckpoint(Spec):
    """A folder that was found but can't be used, and why."""

    name: str
    reason: str


class FrozenGrid(Spec):
    """A grid with its task cards and checkpoints: exactly the runs that a study plans."""

    name: str
    tasks: tuple[Task, ...]
    checkpoints: tuple[Checkpoint, ...]
    recipes: dict[str, tuple[Recipe, ...]] = Field(description="task name -> its points")
    seeds: tuple[int, ...]
    sweep: tuple[str, ...] = Field(description="recipe fields that vary")
    skipped: tuple[SkippedCheckpoint, ...] = ()
    select: Select = Select()

    def runs(self) -> list[Run]:
        """List the planned runs: by checkpoint, then task, then seed, then recipe."""
        return list(self._each_run())

    def _each_run(self) -> Iterator[Run]:
        tasks = {task.name: task for task in self.tasks}
        for checkpoint, task, seed in itertools.product(self.checkpoints, self.tasks, self.seeds):
            for recipe in self.recipes[task.name]:
                # Every part is validated already; validating 18,000 wholes would take seconds.
                fields: dict[str, Any] = {"checkpoint": checkpoint, "seed": seed}
                if task.start_from is not None:
                    source = Run.model_construct(
                        task=tasks[task.start_from.task],
                        recipe=self.source_recipe(task, recipe),
                        **fields,
                    )
                    fields["source"] = source.run_id
                yield Run.model_construct(task=task, recipe=recipe, **fields)

    def source_recipe(self, task: Task, recipe: Recipe) -> Recipe:
        """Find the recipe of the run that a run of a task starts from, at the same swept point.

        Raises:
            ValueError: the source task has no point with the learning rate that is fixed.
        """
        assert task.start_from is not None
        points = self.recipes[task.start_from.task]
        # Both tasks sweep the same values in the same order.
        same = points[self.recipes[task.name].index(recipe)]
        rate = task.start_from.learning_rate
        wanted = same if rate is None else same.model_copy(update={"learning_rate": rate})
        if wanted not in points:
            raise ValueError(
                f"start_from: {task.start_from.task} has no run with learning_rate={rate}"
            )
        return wanted


def read_frozen(study: Path) -> FrozenGrid:
    """Read the frozen grid of a study.

    Raises:
        StudyError: the folder is no study, or its grid can't be read.
    """
    path = study / GRID_FILE
    try:
        return FrozenGrid.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise StudyError(
            f"{study}: is no study ({GRID_FILE} is missing); `harness run` makes one"
        ) from None
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(step) for step in fault["loc"])
        if any(item["loc"] == ("foreign",) for item in error.errors()):
            raise StudyError(
                f"{study}: its results were imported; it can be read, but nothing can be run in it"
            ) from None
        raise StudyError(f"{path}: {where}: {fault['msg']}; the file is damaged") from None


def write_frozen(study: Path, grid: FrozenGrid) -> None:
    """Write the frozen grid into a study, whole; a study may grow but not change.

    Raises:
        StudyError: the study was made by another grid; some planned runs are not in this one.
    """
    path = study / GRID_FILE
    if path.exists():
        _refuse_other_grid(study, read_frozen(study), grid)
    study.mkdir(parents=True, exist_ok=True)
    scratch = study / f".{GRID_FILE}.{os.getpid()}"
    scratch.write_text(grid.model_dump_json(indent=1), encoding="utf-8")
    scratch.replace(path)


def _refuse_other_grid(study: Path, old: FrozenGrid, new: FrozenGrid) -> None:
    planned = {run.run_id for run in new.runs()}
    lost = [run for run in old.runs() if run.run_id not in planned]
    if not lost:
        return
    raise StudyError(
        f"{study}: was made by another grid: {len(lost)} of its planned runs are not in this one "
        f"({_difference(old, new)}). A study may only grow; give another folder with --study, or "
        "put back what was taken out"
    )


def _difference(old: FrozenGrid, new: FrozenGrid) -> str:
    """Name the first thing that sets two grids apart."""
    new_tasks = {task.name: task for task in new.tasks}
    new_checkpoints = {checkpoint.name: checkpoint for checkpoint in new.checkpoints}
    for task in old.tasks:
        if task.name not in new_tasks:
            return f"task {task.name!r} is gone"
        if task.identity != new_tasks[task.name].identity:
            return f"the card of task {task.name!r} has changed"
        points = {recipe.identity: recipe for recipe in new.recipes[task.name]}
        for recipe in old.recipes[task.name]:
            if recipe.identity not in points:
                return f"{task.name}: no longer has the point {_nearest(recipe, points.values())}"
    for checkpoint in old.checkpoints:
        if checkpoint.name not in new_checkpoints:
            return f"checkpoint {checkpoint.name!r} is gone"
        if checkpoint.identity != new_checkpoints[checkpoint.name].identity:
            return f"checkpoint {checkpoint.name!r} has changed in content, attention or pooling"
    return f"seeds were {list(old.seeds)} and are {list(new.seeds)}"


def _nearest(recipe: Recipe, others: Any) -> str:
    """Say a recipe by the fields in which it differs from the most similar other one."""
    mine = recipe.model_dump()
    differences = [
        {key: value for key, value in mine.items() if other.model_dump()[key] != value}
        for other in others
    ]
    fewest = min(differences, key=len)
    return ", ".join(f"{key}={value}" for key, value in fewest.items())
