"""From a grid file to a frozen grid: task names become cards, checkpoints are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from harness.checkpoints import Discovery, discover
from harness.errors import SpecError
from harness.grid.frozen import FrozenGrid, SkippedCheckpoint
from harness.grid.written import Grid, find_grid_file, task_folders
from harness.spec import TEMPERATURE, Attention, Pooling, QuestionAnswering, Recipe, Retrieval, Task
from harness.tasks import find_task, load_tasks
from harness.yamlio import load_yaml


def load_grid(
    path: str | Path,
    checkpoints: str | Path | Sequence[str | Path],
    *,
    tasks: Sequence[str | Path] = (),
    attention: Attention | None = None,
    pooling: Pooling | None = None,
    tokenizer: str | Path | None = None,
    name_pattern: str | None = None,
    random_init: bool = False,
) -> FrozenGrid:
    """Read a grid file and resolve it with checkpoints and task cards.

    Args:
        path: a grid file, or the name of a shipped grid.
        checkpoints: one or more folders of checkpoints, checkpoint folders, files that list
            some, or hub ids.
        tasks: folders with task cards of your own; they win over cards in a folder `tasks` beside
            the grid file, and these over shipped cards of the same name.
        attention: overrides the attention of every checkpoint.
        pooling: overrides the pooling of every checkpoint.
        tokenizer: folder of the tokenizer of checkpoints that have none.
        name_pattern: regular expression whose named groups become columns of the checkpoints.
        random_init: adds a control with random weights for every config.

    Raises:
        SpecError: a YAML file has faults, or a task is unknown.
        CheckpointError: no usable checkpoint is found.
    """
    file = find_grid_file(path)
    grid = load_yaml(file, TypeAdapter(Grid))
    catalogue = load_tasks(task_folders(file, tasks))
    found = discover(
        checkpoints,
        attention=attention,
        pooling=pooling,
        tokenizer=tokenizer,
        name_pattern=name_pattern,
        random_init=random_init,
    )
    return freeze(grid, catalogue, found, file)


def freeze(grid: Grid, catalogue: Mapping[str, Task], found: Discovery, file: Path) -> FrozenGrid:
    """Resolve a grid's names; every unknown task is reported at once.

    Raises:
        SpecError: a task is unknown, or one of its test sets.
    """
    faults, resolved = [], []
    for position, name in enumerate(grid.tasks):
        try:
            resolved.append(grid.adapt(find_task(name, catalogue)))
        except SpecError as error:
            faults.append(f"{file}: tasks.{position}: {error}")
        except ValueError as error:
            faults.append(f"{file}: overrides: further: {error}")
    if faults:
        raise SpecError("\n".join(faults))
    frozen = FrozenGrid(
        name=grid.name,
        tasks=tuple(resolved),
        checkpoints=found.checkpoints,
        recipes={task.name: _fit(grid.recipes(task.name), task, file) for task in resolved},
        seeds=grid.seeds,
        sweep=grid.swept,
        skipped=tuple(
            SkippedCheckpoint(name=item.name, reason=item.reason) for item in found.skipped
        ),
        select=grid.select,
    )
    _check_starts(frozen, file)
    return frozen


def _check_starts(grid: FrozenGrid, file: Path) -> None:
    tasks = {task.name: task for task in grid.tasks}
    faults = []
    for task in grid.tasks:
        start = task.start_from
        if start is None:
            continue
        where = f"{file}: task {task.name}: start_from"
        if start.task not in tasks:
            faults.append(f"{where}: {start.task!r} is no task of this grid; add it under `tasks`")
        elif tasks[start.task].start_from is not None or start.task == task.name:
            faults.append(f"{where}: {start.task!r} must start from the checkpoint itself")
        else:
            try:
                for recipe in grid.recipes[task.name]:
                    grid.source_recipe(task, recipe)
            except ValueError as error:
                faults.append(f"{file}: task {task.name}: {error}")
    if faults:
        raise SpecError("\n".join(faults))


def _fit(recipes: tuple[Recipe, ...], task: Task, file: Path) -> tuple[Recipe, ...]:
    """Leave out what the kind of task has no use for, and say a temperature: one id a training."""
    is_retrieval, has_answers = isinstance(task, Retrieval), isinstance(task, QuestionAnswering)
    fitted = tuple(
        recipe.model_copy(
            update={
                "temperature": (recipe.temperature or TEMPERATURE) if is_retrieval else None,
                "head": recipe.head if has_answers else None,
            }
        )
        for recipe in recipes
    )
    if len({recipe.identity for recipe in fitted}) < len(fitted):
        raise SpecError(
            f"{file}: sweep: some points are the same training for task {task.name}, which has no "
            "use for a field that is swept (temperature: retrieval; head: question_answering; "
            "bucket_batches: bucketed)"
        )
    return fitted
