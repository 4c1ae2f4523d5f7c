"""The examples of a task: native files where the data root has them, else the hub."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.fingerprints import combine_fingerprints, fingerprint_frame
from harness.data.frames import Collection, Examples, training_pairs
from harness.data.hub import read_hub_frame, read_hub_ranking
from harness.data.native import (
    has_role,
    native_files,
    read_native_frame,
    read_native_ranking,
)
from harness.data.ranking import choose_queries, keep_judged_documents, make_collection
from harness.data.splits import hold_out, limit_rows
from harness.errors import DataError
from harness.spec import HoldOut, Retrieval, Role, Task

Part = pd.DataFrame | Collection

_ROLES: tuple[Role, ...] = ("train", "validation", "test")


def load_examples(task: Task, data_root: Path | None) -> Examples:
    """Load the three splits of a task, held out and limited as its card says, labels checked.

    The validation split is taken out of train before the limits apply, and its rows keep the ids
    that they have there. Raises DataError naming file, line, value and remedy.
    """
    root = native_root(task, data_root)
    roles = _roles_to_read(task, root)
    if isinstance(task, Retrieval):
        parts = _read_collections(task, root, roles)
    else:
        parts = {role: _read_frame(task, root, role) for role in roles}
    if isinstance(task.splits.validation, HoldOut):
        train, validation = hold_out(_count(parts["train"]), task.splits.validation)
        whole = parts["train"]
        parts["train"], parts["validation"] = _choose(whole, train), _choose(whole, validation)
    parts = {role: _limited(task, parts[role], role) for role in _ROLES}
    fingerprints = {role: fingerprint_part(part) for role, part in parts.items()}
    return Examples(task, parts, fingerprints, "hub" if root is None else "native")


def native_root(task: Task, data_root: Path | None) -> Path | None:
    """Give the data root where the task's native files are used, None where the hub is.

    Raises DataError where neither is there, or where only some of the native files are.
    """
    source, hub = task.data.native, task.data.hub
    if source is None or (data_root is None and hub is not None):
        return None
    if data_root is None:
        raise DataError(
            f"task {task.name} has native files only: say with --data-root where they are"
        )
    names = native_files(source, _roles_to_read(task, data_root))
    missing = [name for name in names if not (data_root / name).is_file()]
    if len(missing) == len(names) and hub is not None:
        return None
    if missing:
        raise DataError(
            f"task {task.name}: {', '.join(missing)} not found under the data root {data_root}; "
            "put the files there, or give their places in a card of the same name (--tasks FOLDER)"
        )
    return data_root


def fingerprint_part(part: Part) -> str:
    """Digest everything that a split holds into 16 hex digits; order counts."""
    if isinstance(part, pd.DataFrame):
        return fingerprint_frame(part)
    return combine_fingerprints(
        part.queries_fingerprint, part.corpus_fingerprint, fingerprint_frame(part.qrels)
    )


def _roles_to_read(task: Task, root: Path | None) -> tuple[Role, ...]:
    held_out = isinstance(task.splits.validation, HoldOut)
    native = task.data.native
    if root is not None and native is not None and has_role(native, "validation") == held_out:
        raise DataError(
            f"task {task.name}: the card holds validation out of train and names a native file for "
            "it; write `splits: {validation: validation}` to use the file, or leave the file out"
            if held_out
            else f"task {task.name}: `splits.validation` names a split, so `data.native` needs a "
            "`validation` file; or hold it out with `validation: {of: train, fraction: 0.05}`"
        )
    return ("train", "test") if held_out else _ROLES


def _hub_split(task: Task, role: Role) -> str:
    return str(getattr(task.splits, role))


def _read_frame(task: Task, root: Path | None, role: Role) -> Part:
    if root is not None:
        assert task.data.native is not None
        return read_native_frame(task, task.data.native, root, role)
    assert task.data.hub is not None
    return read_hub_frame(task, task.data.hub, _hub_split(task, role))


def _read_collections(
    task: Retrieval, root: Path | None, roles: tuple[Role, ...]
) -> dict[Role, Part]:
    if root is not None:
        assert task.data.native is not None
        source = read_native_ranking(task, task.data.native, root, roles)
    else:
        assert task.data.hub is not None
        source = read_hub_ranking(task.data.hub, {role: _hub_split(task, role) for role in roles})
    return {role: make_collection(source.corpus, source.judged[role]) for role in roles}


def _count(part: Part) -> int:
    return len(part.queries if isinstance(part, Collection) else part)


def _choose(part: Part, rows: NDArray[np.int64]) -> Part:
    if isinstance(part, Collection):
        return choose_queries(part, rows)
    return part.iloc[rows].reset_index(drop=True)


def _limited(task: Task, part: Part, role: Role) -> Part:
    rows = limit_rows(_count(part), task.splits.limit, role)
    if len(rows) < _count(part):
        part = _choose(part, rows)
    if not isinstance(part, Collection):
        return part
    assert isinstance(task, Retrieval)
    if role == "train" and not len(training_pairs(part, task.min_relevance)):
        raise DataError(
            f"task {task.name}: no training query has a document of grade {task.min_relevance} or "
            "more in the corpus; check `min_relevance` and the qrels"
        )
    return keep_judged_documents(part, f"task {task.name}") if task.corpus == "judged" else part
