"""What is given on the command line -> folders: a folder, a file with a list, or a hub id."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.checkpoints.naming import Parts
from harness.errors import CheckpointError

_HUB_ID = re.compile(r"(?P<org>[\w-][\w.-]*)/(?P<name>[\w-][\w.-]*)(?:@(?P<revision>\S+))?")
_HUB_FILES = ("*.safetensors", "*.json", "*.txt", "*.model")
_LINKS_ONLY = "`org/name@revision`, or a folder"


@dataclass(frozen=True)
class Root:
    """A folder that was asked for: what it was called, and the names that lead to it."""

    said: str
    folder: Path
    parts: Parts


def find_roots(given: str | Path) -> Iterator[Root]:
    """Find the folders that are meant: one, or one a line of a list; a hub id is fetched.

    Raises:
        CheckpointError: there is no such folder, and the hub does not give it either.
    """
    # Not resolved: a linked folder keeps the name that it has here.
    path = Path(os.path.abspath(given))  # noqa: PTH100
    if path.is_dir():
        yield Root(str(given), path, path.parts[1:] or (path.anchor,))
    elif path.is_file():
        yield from _read_list(path)
    else:
        yield _fetch(str(given))


def _read_list(path: Path) -> Iterator[Root]:
    """Read a list: a hub id or a folder (from where the list lies) a line, `#` begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(
            f"{path}: can't be read as a list of checkpoints, {_LINKS_ONLY} a line ({error})"
        ) from None
    entries = [(number, line.split("#")[0].strip()) for number, line in enumerate(lines, start=1)]
    if not any(entry for _, entry in entries):
        raise CheckpointError(f"{path}: lists no checkpoint; write {_LINKS_ONLY} a line")
    for number, entry in entries:
        if not entry:
            continue
        below = path.parent / entry
        try:
            if below.is_file():
                raise CheckpointError(f"{entry}: is a file; a list holds {_LINKS_ONLY} a line")
            yield from find_roots(below if below.is_dir() else entry)
        except CheckpointError as error:
            raise CheckpointError(f"{path}:{number}: {error}") from None


def _fetch(name: str) -> Root:
    """Give the local folder of a hub checkpoint, downloading it where the hub can be reached."""
    path = Path(name)
    match = _HUB_ID.fullmatch(name)
    if match is None or path.parent.is_dir():
        siblings = [child.name for child in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, siblings, n=1)
        hint = f"; did you mean {path.parent / close[0]}?" if close else ""
        raise CheckpointError(f"{name}: no such folder{hint}")
    from huggingface_hub import snapshot_download

    revision = match["revision"]
    try:
        folder = snapshot_download(
            f"{match['org']}/{match['name']}", revision=revision, allow_patterns=list(_HUB_FILES)
        )
    except Exception as error:  # the hub's client raises what several libraries below it raise
        cause = str(error).strip().split("\n")[0] or type(error).__name__
        raise CheckpointError(
            f"{name}: no such folder, and the hub does not give it either ({cause}). Without "
            "internet, bring it with `harness fetch` where there is some, or give a local folder"
        ) from None
    called = match["name"] if revision is None else f"{match['name']}@{revision}"
    return Root(name, Path(folder), (match["org"], called))
