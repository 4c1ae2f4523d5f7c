"""A small made-up world, generated from a seed: a corpus, a task of each kind, three checkpoints.

Everything is written as native files, so the ordinary loaders read it; nothing else knows that it
is made up.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from harness.toy.data import make_world

__all__ = ["make_all", "make_checkpoints", "make_world"]


def make_checkpoints(folder: Path, corpus: Path, seed: int = 0) -> None:
    """Pretrain the three toy checkpoints on a corpus (a text a line) and save them below a folder.

    They are `toy-encoder-mlm`, `toy-decoder-clm` and `toy-encoder-random`; that takes about 20
    seconds on one core. The same corpus and seed give the same bytes on the same machine.
    """
    from harness.toy import weights  # imports torch and transformers, which the data does not need

    weights.make_checkpoints(folder, corpus, seed)


def make_all(folder: Path, seed: int = 0) -> None:
    """Make `folder` with `data/` and `checkpoints/`, whole; one that is there already is kept."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        make_world(scratch, seed)
        make_checkpoints(scratch / "checkpoints", scratch / "data" / "corpus.txt", seed)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
