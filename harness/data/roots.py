"""Which folder has the native files of a task: the data root, else the folder of its card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.data.native import collection_files, native_files
from harness.errors import AbsentDataError, DataError
from harness.spec import ROLES, HoldOut, Retrieval, Role, Task


def roles_to_read(task: Task) -> tuple[Role, ...]:
    """Name the roles that a source must have; others are held out of train."""
    return tuple(role for role in ROLES if not isinstance(getattr(task.splits, role), HoldOut))


def native_root(task: Task, data_root: Path | None) -> Path | None:
    """Give the folder whose native files are used, None where the hub is.

    Raises DataError where neither is there, or where only some of the native files are.
    """
    source = task.data.native
    if source is None:
        return None
    names = native_files(task, source, roles_to_read(task))
    return _find(f"task {task.name}", names, task.data.hub is not None, task, data_root)


def collection_root(task: Retrieval, name: str, data_root: Path | None) -> Path | None:
    """Give the folder with a further collection's native files, None where the hub is used.

    Raises DataError as `native_root`.
    """
    assert task.collections is not None
    place = task.collections[name]
    if place.native is None:
        return None
    what = f"task {task.name}: collection {name}"
    return _find(what, collection_files(place.native), place.hub is not None, task, data_root)


def _find(
    what: str, names: Sequence[str], has_hub: bool, task: Task, data_root: Path | None
) -> Path | None:
    home = None if task.home is None else Path(task.home)
    folders = [folder for folder in (data_root, home) if folder is not None]
    missing = {
        folder: [name for name in names if not (folder / name).is_file()] for folder in folders
    }
    for folder, lacking in missing.items():
        if not lacking:
            return folder
    if has_hub and all(len(lacking) == len(names) for lacking in missing.values()):
        return None
    nearest = min(missing, key=lambda folder: len(missing[folder]), default=None)
    if nearest is None or (data_root is None and len(missing[nearest]) == len(names)):
        beside = "" if nearest is None else f" (beside the card, in {nearest}, they are not)"
        raise AbsentDataError(
            f"{what} has native files only: say with --data-root where they are{beside}"
        )
    kind = "the data root" if nearest == data_root else "the card's folder"
    absent = len(missing[nearest]) == len(names)
    raise (AbsentDataError if absent else DataError)(
        f"{what}: {', '.join(missing[nearest])} not found under {kind} {nearest}; "
        "put the files there, or give their places in a card of the same name (--tasks FOLDER)"
    )
