"""Can every checkpoint be loaded, and does it read as it is asked to? Found out before the start.

Loading is the only proof that weights, config and tokenizer fit; it is done once for a content and
an attention, and remembered in the cache folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from harness.data.encode.layout import text_layout
from harness.data.lengths import effective_max_length
from harness.data.tokenizers import load_tokenizer
from harness.errors import CheckpointError, DataError
from harness.grid import FrozenGrid, SkippedCheckpoint
from harness.models.backbone import load_backbone
from harness.models.probe import probe
from harness.spec import Checkpoint, Task
from harness.version import __version__


def skip_unsound(
    grid: FrozenGrid, cache: Path, on_checkpoint: Callable[[Checkpoint], None] | None = None
) -> FrozenGrid:
    """Move the checkpoints that can't be used to `skipped`, each with its reason.

    Raises:
        CheckpointError: none is left; the message has a line a checkpoint.
        DataError: a task's `max_length` leaves no room for its text.
    """
    sound, skipped = [], []
    for checkpoint in grid.checkpoints:
        memo = _memo(cache, grid, checkpoint)
        if memo.is_file():
            sound.append(checkpoint)
            continue
        if on_checkpoint is not None:
            on_checkpoint(checkpoint)
        try:
            _try(checkpoint, grid.tasks)
        except CheckpointError as error:
            skipped.append(SkippedCheckpoint(name=checkpoint.name, reason=str(error)))
        else:
            sound.append(checkpoint)
            _remember(memo)
    if not sound:
        lines = [f"{item.name}: {item.reason}" for item in skipped]
        raise CheckpointError("\n".join(["no checkpoint can be used:", *lines]))
    if not skipped:
        return grid
    return FrozenGrid.model_validate(
        dict(grid) | {"checkpoints": tuple(sound), "skipped": (*grid.skipped, *skipped)}
    )


def _try(checkpoint: Checkpoint, tasks: tuple[Task, ...]) -> None:
    tokenizer = load_tokenizer(checkpoint.tokenizer or checkpoint.path)
    backbone = load_backbone(checkpoint)
    probe(backbone)
    for task in tasks:
        try:
            length = effective_max_length(task, tokenizer, backbone.config)
            text_layout(tokenizer).capacity(length)
        except DataError as error:
            raise DataError(f"task {task.name}, checkpoint {checkpoint.name}: {error}") from None


def _memo(cache: Path, grid: FrozenGrid, checkpoint: Checkpoint) -> Path:
    lengths = sorted({task.max_length or 0 for task in grid.tasks})
    key = f"{__version__} {checkpoint.identity} {lengths}"
    return cache / "sound" / hashlib.sha256(key.encode()).hexdigest()


def _remember(memo: Path) -> None:
    # Without a memo the next start is slower and nothing else.
    with contextlib.suppress(OSError):
        memo.parent.mkdir(parents=True, exist_ok=True)
        scratch = memo.with_name(f"{memo.name}.{os.getpid()}")
        scratch.touch()
        scratch.replace(memo)
