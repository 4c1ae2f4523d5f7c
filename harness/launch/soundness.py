"""Can every checkpoint be loaded, and does it read as it is asked to? Found out before the start.

Loading is the only proof that weights, config and tokenizer fit; it is done once for a content and
an attention, and remembered in the cache folder.

A checkpoint that can't be used at all is skipped by name. One that can't be used for some tasks
stops the start, since whoever skipped it would lose its other tasks, and who skipped the task
would lose the other checkpoints: which of them to leave out is for the user to say.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.data.encode.layout import Layout, pair_layout, text_layout
from harness.data.lengths import input_lengths
from harness.data.offsets import check_offsets
from harness.data.tokenizers import bare_tokenizer, load_tokenizer
from harness.errors import CheckpointError, DataError
from harness.grid import FrozenGrid, SkippedCheckpoint
from harness.models.backbone import load_backbone
from harness.models.probe import probe
from harness.spec import Checkpoint, QuestionAnswering, Retrieval, Task
from harness.version import __version__


def skip_unsound(
    grid: FrozenGrid, cache: Path, on_checkpoint: Callable[[Checkpoint], None] | None = None
) -> FrozenGrid:
    """Move the checkpoints that can't be used to `skipped`, each with its reason.

    Raises:
        CheckpointError: none is left; the message has a line a checkpoint.
        DataError: a task's `max_length` leaves no room for its text, or answers can't be cut out of
            contexts with a checkpoint's tokenizer; the message has a line a task and checkpoint.
    """
    sound, skipped, faults = [], [], []
    for checkpoint in grid.checkpoints:
        memo = _memo(cache, grid, checkpoint)
        if memo.is_file():
            sound.append(checkpoint)
            continue
        if on_checkpoint is not None:
            on_checkpoint(checkpoint)
        try:
            found = _faults(checkpoint, grid.tasks)
        except CheckpointError as error:
            skipped.append(SkippedCheckpoint(name=checkpoint.name, reason=str(error)))
            continue
        sound.append(checkpoint)
        faults += found
        if not found:
            _remember(memo)
    if faults:
        raise DataError("\n".join(faults))
    if not sound:
        lines = [f"{item.name}: {item.reason}" for item in skipped]
        raise CheckpointError("\n".join(["no checkpoint can be used:", *lines]))
    if not skipped:
        return grid
    return FrozenGrid.model_validate(
        dict(grid) | {"checkpoints": tuple(sound), "skipped": (*grid.skipped, *skipped)}
    )


def _faults(checkpoint: Checkpoint, tasks: tuple[Task, ...]) -> list[str]:
    """Load a checkpoint and say which tasks it can't be used for; CheckpointError where for all."""
    tokenizer = load_tokenizer(checkpoint.tokenizer or checkpoint.path)
    backbone = load_backbone(checkpoint)
    probe(backbone)
    faults = []
    layouts = {kind: _layout(tokenizer, kind) for kind in {_input_of(task) for task in tasks}}
    for task in tasks:
        try:
            shortest = min(input_lengths(task, tokenizer, backbone.config))
            layouts[_input_of(task)].capacity(shortest)
        except DataError as error:
            faults.append(f"task {task.name}, checkpoint {checkpoint.name}: {error}")
    answering = [task.name for task in tasks if isinstance(task, QuestionAnswering)]
    if answering:
        try:
            check_offsets(tokenizer)
        except CheckpointError as error:
            names = ", ".join(answering)
            faults.append(
                f"task {names}, checkpoint {checkpoint.name}: {error}; "
                f"this grid needs to do without {checkpoint.name}, or without {names}"
            )
    return faults


def _input_of(task: Task) -> str:
    """Say what a tokenizer has to be good for."""
    if isinstance(task, QuestionAnswering):
        return "answers"
    text = getattr(task, "text", "")
    return "pair" if isinstance(text, tuple) and len(text) == 2 else "text"


def _layout(tokenizer: Any, kind: str) -> Layout:
    if kind == "text":
        return text_layout(tokenizer)
    return pair_layout(tokenizer, bare_tokenizer(tokenizer))


def _memo(cache: Path, grid: FrozenGrid, checkpoint: Checkpoint) -> Path:
    needs = sorted({(_input_of(task), *_lengths(task)) for task in grid.tasks})
    key = f"{__version__} {checkpoint.identity} {needs}"
    return cache / "sound" / hashlib.sha256(key.encode()).hexdigest()


def _lengths(task: Task) -> list[int]:
    """List the lengths that a card gives, 0 for none."""
    if not isinstance(task, Retrieval):
        return [task.max_length or 0]
    documents = [task.document_length(split) for split in ("test", *task.further)]
    return [length or 0 for length in (*documents, task.query_max_length)]


def _remember(memo: Path) -> None:
    # Without a memo the next start is slower and nothing else.
    with contextlib.suppress(OSError):
        memo.parent.mkdir(parents=True, exist_ok=True)
        scratch = memo.with_name(f"{memo.name}.{os.getpid()}")
        scratch.touch()
        scratch.replace(memo)
