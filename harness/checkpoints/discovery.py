"""Folders, lists and hub ids -> checkpoints, in natural order, with all that is skipped and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.checkpoints.beside import Beside, Known
from harness.checkpoints.describe import describe, random_control
from harness.checkpoints.folders import Found, find_folders
from harness.checkpoints.naming import (
    Columns,
    name_columns,
    pattern_columns,
    read_pattern,
    short_names,
)
from harness.checkpoints.roots import find_roots
from harness.errors import CheckpointError
from harness.spec import Attention, Checkpoint, Pooling


@dataclass(frozen=True)
class Skipped:
    """A folder that looks like a checkpoint and can't be used, or a row that is another's copy."""

    name: str
    path: Path
    reason: str


@dataclass(frozen=True)
class Discovery:
    """What was found, in natural order (step9 before step10), roots in the order given."""

    checkpoints: tuple[Checkpoint, ...]
    skipped: tuple[Skipped, ...]


def discover(
    roots: str | Path | Sequence[str | Path],
    *,
    attention: Attention | None = None,
    pooling: Pooling | None = None,
    tokenizer: str | Path | None = None,
    name_pattern: str | None = None,
    random_init: bool = False,
) -> Discovery:
    """Find the checkpoints of folders, of files that list some, and of the hub.

    A root is a folder, such a file (a root a line), or a hub id (`org/name@revision`). A folder
    with a config.json is one checkpoint; of any other folder all sub-folders with a config.json or
    with weights are looked at. What `checkpoints.yaml` beside them says holds, but
    `attention` and `pooling` given here win; else attention is native and pooling
    `default_pooling`. `tokenizer` is a folder for checkpoints without one. `random_init` adds a
    control with random weights for each config that is there.

    Raises:
        CheckpointError: there is no such folder, nothing in it can be used, or the hub does not
            give it.
        SpecError: `checkpoints.yaml` has faults.
        InputError: the pattern is none, or two checkpoints would have one name.
    """
    pattern = read_pattern(name_pattern)
    if tokenizer is not None and not Path(tokenizer).is_dir():
        raise CheckpointError(f"--tokenizer {tokenizer}: no such folder")
    found = _all_folders([roots] if isinstance(roots, str | Path) else roots)
    names = short_names([one.parts for one in found])
    _refuse_idle(pattern, found)
    reader = _Reader(attention, pooling, Path(tokenizer).absolute() if tokenizer else None, pattern)
    for one, name, beside in zip(found, names, _files_beside(found, names), strict=True):
        reader.read(one, name, beside)
    reader.refuse_empty_roots()
    checkpoints = list(reader.checkpoints.values())
    if random_init:
        controls: dict[str, Checkpoint] = {}
        for control in map(random_control, checkpoints):
            controls.setdefault(control.identity, control)  # named after the first of its config
        checkpoints += controls.values()
    _refuse_equal_names(checkpoints)
    return Discovery(tuple(checkpoints), tuple(reader.skipped))


def _all_folders(roots: Iterable[str | Path]) -> list[Found]:
    """List what lies below all roots; what two of them reach counts once, asked for if possible."""
    found: dict[Path, Found] = {}
    for given in roots:
        for root in find_roots(given):
            for one in find_folders(root):
                earlier = found.setdefault(one.path, one)
                if earlier.fault and not one.fault:
                    found[one.path] = one
    return list(found.values())


def _files_beside(found: Sequence[Found], names: Sequence[str]) -> list[Beside]:
    """Read the checkpoints.yaml of each root: in it, or beside it if it is a checkpoint itself."""
    groups: dict[Path, list[int]] = {}
    for place, one in enumerate(found):
        folder = one.root.folder
        is_one = (folder / "config.json").is_file()
        groups.setdefault(folder.parent if is_one else folder, []).append(place)
    files: dict[int, Beside] = {}
    for folder, places in groups.items():
        beside = Beside(folder, [found[i] for i in places], [names[i] for i in places])
        files |= dict.fromkeys(places, beside)
    return [files[place] for place in range(len(found))]


class _Reader:
    """Describes folder after folder; keeps one checkpoint of each identity."""

    def __init__(
        self,
        attention: Attention | None,
        pooling: Pooling | None,
        tokenizer: Path | None,
        pattern: re.Pattern[str] | None,
    ) -> None:
        self._attention, self._pooling = attention, pooling
        self._tokenizer, self._pattern = tokenizer, pattern
        self._used: dict[str, bool] = {}
        self.checkpoints: dict[str, Checkpoint] = {}
        self.skipped: list[Skipped] = []

    def read(self, found: Found, name: str, beside: Beside) -> None:
        """Describe a folder under its own name, then under the others that it has."""
        self._used.setdefault(found.root.said, False)
        own = beside.own(found)
        for row, said in [(name, own), *beside.rows(found)]:
            if found.fault:
                self.skipped.append(Skipped(row, found.path, found.fault))
                continue
            columns = name_columns(found.told, self._pattern)
            if said is not own:
                columns |= own.columns | pattern_columns(row, self._pattern)
            self._add(found, row, said, columns | said.columns)

    def _add(self, found: Found, name: str, said: Known, columns: Columns) -> None:
        try:
            checkpoint = describe(
                found.path,
                name,
                attention=self._attention or said.attention,
                pooling=self._pooling or said.pooling,
                tokenizer=self._tokenizer,
                columns=columns,
            )
        except CheckpointError as error:
            if not found.below:
                raise CheckpointError(f"{found.root.said}: can't be used: {error}") from None
            self.skipped.append(Skipped(name, found.path, str(error)))
            return
        self._used[found.root.said] = True
        twin = self.checkpoints.setdefault(checkpoint.identity, checkpoint)
        if twin is not checkpoint:
            # The same content means the same run ids, hence the same records.
            reason = f"has the same content as {twin.name!r}, so it is the same checkpoint"
            self.skipped.append(Skipped(name, found.path, reason))

    def refuse_empty_roots(self) -> None:
        """Refuse a root of which nothing can be used."""
        for said, is_used in self._used.items():
            if not is_used:
                reasons = "\n".join(f"  {item.path}: {item.reason}" for item in self.skipped)
                raise CheckpointError(f"{said}: none of its checkpoints can be used:\n{reasons}")


def _refuse_idle(pattern: re.Pattern[str] | None, found: Sequence[Found]) -> None:
    told = ["/".join(one.told) for one in found]
    if pattern is not None and not any(map(pattern.search, told)):
        raise CheckpointError(
            f"name pattern {pattern.pattern!r}: fits no checkpoint here, such as {told[0]!r}"
        )


def _refuse_equal_names(checkpoints: Sequence[Checkpoint]) -> None:
    places: dict[str, str] = {}
    for checkpoint in checkpoints:
        other = places.setdefault(checkpoint.name, checkpoint.path)
        if other is not checkpoint.path:
            raise CheckpointError(
                f"two checkpoints are called {checkpoint.name!r}: {other} and {checkpoint.path}; "
                "rename one"
            )
