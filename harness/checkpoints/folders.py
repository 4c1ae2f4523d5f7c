"""The folders below a root that look like checkpoints, in natural order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.checkpoints.naming import Parts, natural_order, says_only_a_step
from harness.checkpoints.roots import Root
from harness.errors import CheckpointError
from harness.weightfiles import has_optimiser, has_weights

_TEMPORARY = re.compile(r"(^|[-_.])(te?mp|incomplete|partial)([-_.\d]|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """A folder that looks like a checkpoint, and the root below which it lies.

    `below` are the names from the root down to it, none where it is the root itself. `fault` says
    why it is not looked at.
    """

    root: Root
    below: Parts
    fault: str | None = None

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.root.folder.joinpath(*self.below)

    @property
    def parts(self) -> Parts:
        """All names that lead to it."""
        return self.root.parts + self.below

    @property
    def told(self) -> Parts:
        """The names that tell of it: from the root on, and of its parent where it is but a step."""
        told = self.below or self.parts[-1:]
        return self.parts[-2:] if len(told) == 1 and says_only_a_step(told[0]) else told


def find_folders(root: Root) -> list[Found]:
    """Find the checkpoints of a root: itself if it has a config.json, else all below it.

    Raises:
        CheckpointError: nothing there looks like a checkpoint.
    """
    if (root.folder / "config.json").is_file():
        fault = f"lies inside {root.said}, which is a checkpoint itself; give it too to have it"
        inner = [Found(root, below, fault) for below, _ in _walk(root.folder, inside=True)]
        return [Found(root, ()), *sorted(inner, key=lambda found: natural_order(found.below))]
    below = [Found(root, below, fault) for below, fault in _walk(root.folder)]
    if not below:
        raise CheckpointError(
            f"{root.said}: no checkpoint here or below; a checkpoint is a folder with config.json, "
            "safetensors weights and tokenizer files"
        )
    return sorted(below, key=lambda found: natural_order(found.below))


def _walk(
    folder: Path, inside: bool = False, above: frozenset[Path] = frozenset()
) -> Iterator[tuple[Parts, str | None]]:
    """Walk down to all folders that look like checkpoints, through links too.

    Inside a checkpoint a folder counts if it has both config and weights, or one of them and a
    step's name: intermediate steps do, the little folders of other tools don't.
    """
    real = folder.resolve()
    if real in above:
        return
    for child in sorted(folder.iterdir()):
        if child.name.startswith(".") or not child.is_dir():
            continue
        signs = ((child / "config.json").is_file(), has_weights(child))
        if inside and not says_only_a_step(child.name):
            is_one = all(signs)
        else:
            is_one = any(signs) or (not inside and has_optimiser(child))
        if _TEMPORARY.search(child.name):
            if is_one:
                yield (child.name,), "its name is that of something temporary; rename it if whole"
            continue
        if is_one:
            yield (child.name,), None
        for below, fault in _walk(child, inside or is_one, above | {real}):
            yield (child.name, *below), fault
