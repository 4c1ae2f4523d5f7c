"""The catalogue of tasks: name -> card, from the shipped folder and the user's own ones."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from harness.errors import SpecError
from harness.shipped import shipped_folder
from harness.spec import Task
from harness.yamlio import load_yaml

_TASK: TypeAdapter[Task] = TypeAdapter(Task)


def load_task_file(path: Path) -> Task:
    """Read one card; the file is called as the task is.

    A card that is not a shipped one knows the folder of its file: its data may lie there.

    Raises:
        SpecError: the card has faults (all of them are listed), or its name is not the file's.
    """
    if path.suffix != ".yaml":
        raise SpecError(f"{path}: a card's file ends in .yaml, else no folder shows it; rename it")
    task = load_yaml(path, _TASK)
    if task.name != path.stem:
        raise SpecError(
            f"{path}: name: {task.name!r} must be the file's own name, {path.stem!r}; rename either"
        )
    if task.home is not None:
        raise SpecError(f"{path}: home: is the folder of the file itself; leave it out")
    folder = path.resolve().parent
    if folder.is_relative_to(shipped_folder("tasks").resolve()):
        return task
    return task.model_copy(update={"home": str(folder)})


def load_tasks(folders: Sequence[Path] = ()) -> dict[str, Task]:
    """Read the shipped cards, then the given folders; of equal names the later folder wins.

    Cards are all `*.yaml` below a folder. The result is sorted by name.

    Raises:
        SpecError: a folder is missing, cards have faults (those of all cards are listed), or one
            folder has two cards of a name.
    """
    catalogue: dict[str, Task] = {}
    faults: list[str] = []
    for folder in (shipped_folder("tasks"), *folders):
        try:
            catalogue |= _load_folder(folder)
        except SpecError as error:
            faults.append(str(error))
    if faults:
        raise SpecError("\n".join(faults))
    return dict(sorted(catalogue.items()))


def find_task(name: str, catalogue: Mapping[str, Task]) -> Task:
    """Look a task up by name.

    Raises:
        SpecError: there is no such task; the message names the most similar one.
    """
    if name in catalogue:
        return catalogue[name]
    close = difflib.get_close_matches(name, list(catalogue), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "`harness tasks list` shows all"
    raise SpecError(f"{name!r}: no such task; {hint}")


def _load_folder(folder: Path) -> dict[str, Task]:
    if not folder.is_dir():
        raise SpecError(f"{folder}: no such folder of task cards")
    cards: dict[str, Task] = {}
    places: dict[str, Path] = {}
    faults: list[str] = []
    for path in sorted(folder.rglob("*.yaml")):
        try:
            task = load_task_file(path)
        except SpecError as error:
            faults.append(str(error))
            continue
        if task.name in cards:
            faults.append(f"{path}: name: {task.name!r} is also the name of {places[task.name]}")
        cards[task.name], places[task.name] = task, path
    if faults:
        raise SpecError("\n".join(faults))
    return cards
