"""Encoded features on disk: one folder an entry, whole or absent, memory-mapped when read.

Several workers may ask for the same entry at once. Each that finds none makes it in a folder of
its own and renames it into place; whoever comes second takes the first one's. No locks, so that a
worker that dies leaves nothing in the way.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from harness.data.features import Encoded
from harness.errors import InputError
from harness.spec import canonical_json

ENCODING = 4
"""Version of how features are made. It rises when the same input would give other features."""

_TARGET = "target."


def cache_key(**parts: Any) -> str:
    """Digest everything that decides the content of an entry; the first 32 hex digits."""
    text = canonical_json({"encoding": ENCODING, **parts})
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def cached(cache: Path, key: str, build: Callable[[], Encoded]) -> Encoded:
    """Map the entry of that key, or build it, store it, and map what was stored.

    An entry that lacks a file, or has one of another type or length than it says, is built again.
    Raises InputError where the cache folder can't be written.
    """
    entry = cache / "encoded" / key
    if (found := _read(entry)) is not None:
        return found
    built = build()
    try:
        _store(entry, built)
    except OSError as error:
        raise InputError(f"{cache}: the cache can't be written: {error}") from error
    stored = _read(entry)
    return built if stored is None else stored


def _read(entry: Path) -> Encoded | None:
    try:
        meta = json.loads((entry / "meta.json").read_text(encoding="utf-8"))
        arrays = {}
        for name, (dtype, shape) in meta["arrays"].items():
            array = np.load(entry / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            if array.dtype.str != dtype or list(array.shape) != shape:
                return None
            arrays[name] = array
        return _from_arrays(arrays, meta["counts"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: the caller builds it


def _store(entry: Path, encoded: Encoded) -> None:
    """Write the entry beside its place and rename it, whole; one already there stays if valid."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    own = entry.with_name(f".{entry.name}.{uuid4().hex}")
    own.mkdir()
    try:
        _write(own, encoded)
        try:
            os.rename(own, entry)  # noqa: PTH104 - a folder in the way must be an error
        except OSError:
            if _read(entry) is None:
                damaged = entry.with_name(f".{entry.name}.{uuid4().hex}")
                entry.rename(damaged)
                own.rename(entry)
                shutil.rmtree(damaged, ignore_errors=True)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _write(folder: Path, encoded: Encoded) -> None:
    arrays = _to_arrays(encoded)
    for name, array in arrays.items():
        with (folder / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())  # a rename may reach the disk before what it names
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    meta = json.dumps({"arrays": shapes, "counts": encoded.counts})
    (folder / "meta.json").write_text(meta, encoding="utf-8")


def _to_arrays(encoded: Encoded) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {
        "token_ids": encoded.token_ids,
        "starts": encoded.starts,
        "example": encoded.example,
    }
    if encoded.type_ids is not None:
        arrays["type_ids"] = encoded.type_ids
    return arrays | {f"{_TARGET}{name}": array for name, array in encoded.targets.items()}


def _from_arrays(arrays: dict[str, NDArray[Any]], counts: dict[str, int]) -> Encoded:
    return Encoded(
        token_ids=arrays["token_ids"],
        starts=arrays["starts"],
        example=arrays["example"],
        type_ids=arrays.get("type_ids"),
        targets={
            name.removeprefix(_TARGET): array
            for name, array in arrays.items()
            if name.startswith(_TARGET)
        },
        counts={str(name): int(number) for name, number in counts.items()},
    )
