"""A grid as its YAML file says it, and where such files lie."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from harness.errors import SpecError
from harness.shipped import shipped_folder
from harness.spec import Recipe, Spec, Start, StartFrom, Task


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
