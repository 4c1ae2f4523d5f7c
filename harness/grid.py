"""What is varied: a YAML file that expands to runs, and its frozen form inside a study.

A `Grid` is the file as written. Freezing it resolves its task names and adds the checkpoints; the
`FrozenGrid` is written into the study as `grid.json` and alone says which runs are planned.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)

from harness.checkpoints import Discovery, discover
from harness.errors import SpecError, StudyError
from harness.shipped import shipped_folder
from harness.spec import (
    TEMPERATURE,
    Attention,
    Checkpoint,
    Pooling,
    QuestionAnswering,
    Recipe,
    Retrieval,
    Run,
    Spec,
    Start,
    StartFrom,
    Task,
)
from harness.tasks import find_task, load_tasks
from harness.yamlio import load_yaml

GRID_FILE = "grid.json"


def _refuse_duplicates(values: tuple[Any, ...]) -> tuple[Any, ...]:
    for position, value in enumerate(values):
        if value in values[:position]:
            first = values.index(value)
            raise ValueError(
                f"{value!r} stands twice (items {first + 1} and {position + 1}): one point"
            )
    return values


class _Points(Spec):
    """Base of `Sweep`: no point may be given twice."""

    @field_validator("*")
    @classmethod
    def _each_point_once(cls, values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return values if values is None else _refuse_duplicates(values)


def _field_types() -> dict[str, Any]:
    """Give the type of every recipe field, constraints included."""
    return {
        name: Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        for name, field in Recipe.model_fields.items()
    }


_fields: dict[str, Any] = {name: (type_, None) for name, type_ in _field_types().items()}
PartialRecipe: Any = create_model("PartialRecipe", __base__=Spec, **_fields)
"""Some fields of a recipe: what the base recipe and an override of a grid give."""

_fields = {
    name: (Annotated[tuple[type_, ...], Field(min_length=1)] | None, None)  # type: ignore[valid-type]
    for name, type_ in _field_types().items()
}
Sweep: Any = create_model("Sweep", __base__=_Points, **_fields)
"""Recipe fields with the values that each takes."""


class Override(Spec):
    """What differs for some tasks: recipe fields, where runs start, what they are tested on."""

    tasks: tuple[str, ...] = Field(min_length=1)
    recipe: PartialRecipe = PartialRecipe()
    start_from: Start | None = None
    further: tuple[str, ...] | None = Field(
        None, description="of the card's further test sets or collections; None: all of them"
    )

    _each_once = field_validator("further")(
        lambda names: names if names is None else _refuse_duplicates(names)
    )


class Select(Spec):
    """How one point is chosen a checkpoint and task; the choice never sees the test split."""

    split: Literal["validation"] = "validation"
    statistic: Literal["mean"] = "mean"


class Grid(Spec):
    """A grid as its file says it."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    tasks: tuple[str, ...] = Field(min_length=1)
    sweep: Sweep = Sweep()
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    recipe: PartialRecipe = PartialRecipe()
    overrides: tuple[Override, ...] = ()
    select: Select = Select()

    _each_once = field_validator("tasks", "seeds")(_refuse_duplicates)

    @model_validator(mode="after")
    def _is_whole(self) -> Grid:
        swept = self.sweep.model_dump(exclude_none=True)
        both = sorted(set(swept) & self.recipe.model_fields_set)
        if both:
            raise ValueError(f"{both[0]!r} stands in `sweep` and in `recipe`; keep one")
        if "learning_rate" not in swept and "learning_rate" not in self.recipe.model_fields_set:
            raise ValueError("no `learning_rate`; give it under `sweep` (a list) or `recipe`")
        for position, override in enumerate(self.overrides):
            for name in override.tasks:
                if name not in self.tasks:
                    raise ValueError(f"overrides.{position}: {name!r} is no task of this grid")
            clash = sorted(set(swept) & override.recipe.model_fields_set)
            if clash:
                raise ValueError(f"overrides.{position}: {clash[0]!r} is swept; it can't be fixed")
            if override.start_from and override.start_from.task not in self.tasks:
                raise ValueError(
                    f"overrides.{position}: start_from: {override.start_from.task!r} is no task of "
                    "this grid; add it under `tasks`"
                )
        for name in self.tasks:
            self.recipes(name)
        return self

    @property
    def swept(self) -> tuple[str, ...]:
        """Names of the recipe fields that vary, in the order of the recipe."""
        return tuple(self.sweep.model_dump(exclude_none=True))

    def recipes(self, task: str) -> tuple[Recipe, ...]:
        """Expand to the recipes of a task: the product of all swept values, in the file's order.

        Raises:
            ValueError: two fields of a recipe contradict each other.
        """
        fixed = self.recipe.model_dump(exclude_unset=True)
        for override in self.overrides:
            if task in override.tasks:
                fixed |= override.recipe.model_dump(exclude_unset=True)
        swept = self.sweep.model_dump(exclude_none=True)
        made = []
        for values in itertools.product(*swept.values()):
            try:
                made.append(Recipe(**fixed, **dict(zip(swept, values, strict=True))))
            except ValidationError as error:
                message = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"recipe of {task}: {message}") from None
        return tuple(made)

    def start_of(self, task: Task) -> StartFrom | None:
        """Say what the runs of a task start from: what the grid says, else what its card says."""
        starts = [one.start_from for one in self.overrides if task.name in one.tasks]
        return next((start for start in reversed(starts) if start), task.start_from)

    def adapt(self, task: Task) -> Task:
        """Give a card as this grid uses it: where its runs start, what they are tested on.

        Raises:
            ValueError: the grid names a further test set that the card lacks.
        """
        for override in self.overrides:
            if task.name in override.tasks and override.further is not None:
                task = task.with_further(override.further)
        start = self.start_of(task)
        return task if start is None else task.model_copy(update={"start_from": start})


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


def find_grid_file(name: str | Path) -> Path:
    """Find a grid file: a path, or the name of a shipped grid with or without `.yaml`.

    Raises:
        SpecError: neither exists.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = shipped_folder("grids")
    for candidate in (shipped / path.name, shipped / f"{path.name}.yaml"):
        if path.name == str(name) and candidate.is_file():
            return candidate
    names = ", ".join(sorted(file.name for file in shipped.glob("*.yaml")))
    raise SpecError(f"{name}: no such grid file, and no shipped grid either ({names})")


def task_folders(file: Path, given: Sequence[str | Path]) -> list[Path]:
    """List the folders of cards that a grid file sees: `tasks` beside it, then those given."""
    beside = file.parent / "tasks"
    return [*([beside] if beside.is_dir() else []), *map(Path, given)]


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
