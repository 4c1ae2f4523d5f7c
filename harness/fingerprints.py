"""The fingerprint of a checkpoint: its weights, config and tokenizer, never its path or time.

Hashing gigabytes takes minutes, so the hash of a file is remembered in the cache folder under its
resolved path, inode, size and times.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import CheckpointError

VOLATILE = frozenset(
    {
        "_name_or_path",
        "name_or_path",
        "_commit_hash",
        "_attn_implementation_autoset",
        "transformers_version",
        "is_local",
        "local_files_only",
    }
)
"""Keys of config.json and tokenizer_config.json that tell where or with what a file was written."""

STORAGE = frozenset({"architectures", "dtype", "torch_dtype"})
"""Keys of config.json that tell how trained weights were stored, and change nothing else."""

VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)
"""Files that can hold a vocabulary; a checkpoint needs one of them."""

CONFIG = "config.json"
_TOKENIZER_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_RACY_SECONDS = 2.0

RANDOM_SEED = 0
"""From which the weights of a control are drawn: one checkpoint, like the trained ones."""


def default_cache() -> Path:
    """Give the cache folder: `$HARNESS_CACHE`, or `~/.cache/harness`."""
    given = os.environ.get("HARNESS_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "harness"


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds one object.

    Raises:
        CheckpointError: it does not.
    """
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path.name} can't be read: {error}") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path.name} can't be read: it holds no JSON object")
    return value


def fingerprint(folder: Path, weights: Sequence[Path], tokenizer: Path | None = None) -> str:
    """Hash a checkpoint's content to 16 hex digits (the first of a SHA-256).

    `tokenizer` is the folder of the tokenizer where it is another one. The names of the weight
    files are left out, their order is not; of JSON settings the keys in `VOLATILE` are left out.

    Raises:
        CheckpointError: a file can't be read.
    """
    parts = [("weights", hash_file(path)) for path in weights]
    return _digest(parts + _rest(folder, tokenizer or folder, VOLATILE))


def fingerprint_of_random(folder: Path, tokenizer: Path | None = None) -> str:
    """Hash config and tokenizer of a checkpoint whose weights are drawn from `RANDOM_SEED`.

    What says in which form the trained weights were stored does not count.

    Raises:
        CheckpointError: a file can't be read.
    """
    parts = [("weights", f"random, seed {RANDOM_SEED}")]
    return _digest(parts + _rest(folder, tokenizer or folder, VOLATILE | STORAGE))


def _rest(folder: Path, tokenizer: Path, left_out: frozenset[str]) -> list[tuple[str, str]]:
    """Hash all but the weights: vocabularies, config and the tokenizer's settings."""
    parts = [
        (name, hash_file(tokenizer / name)) for name in VOCABULARIES if (tokenizer / name).is_file()
    ]
    parts.append((CONFIG, _hash_settings(folder / CONFIG, left_out)))
    return parts + [
        (name, _hash_settings(tokenizer / name, VOLATILE))
        for name in _TOKENIZER_SETTINGS
        if (tokenizer / name).is_file()
    ]


def _digest(parts: list[tuple[str, str]]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def hash_file(path: Path) -> str:
    """Hash a file's bytes (SHA-256, hex), or remember the hash from last time.

    Raises:
        CheckpointError: the file can't be read.
    """
    try:
        real = path.resolve(strict=True)
        before = real.stat()
        # The time of change of the inode too: copies often keep the time of the content.
        place = f"{real}\n{before.st_dev}\n{before.st_ino}"
        key = f"{place}\n{before.st_size}\n{before.st_mtime_ns}\n{before.st_ctime_ns}"
        memo = default_cache() / "hashes" / hashlib.sha256(key.encode()).hexdigest()
        if memo.is_file():
            return memo.read_text(encoding="ascii")
        with real.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path.name} can't be read: {error}") from None
    # A file changed just now could change again within the clock's tick and keep its size.
    if time.time() - max(before.st_mtime, before.st_ctime) > _RACY_SECONDS:
        _remember(memo, digest)
    return digest


def _remember(memo: Path, digest: str) -> None:
    # Without a memo the next start is slower and nothing else, so an unwritable cache is no error.
    with contextlib.suppress(OSError):
        memo.parent.mkdir(parents=True, exist_ok=True)
        scratch = memo.with_name(f"{memo.name}.{os.getpid()}")
        scratch.write_text(digest, encoding="ascii")
        scratch.replace(memo)


def _hash_settings(path: Path, left_out: frozenset[str]) -> str:
    kept = {key: value for key, value in read_json(path).items() if key not in left_out}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()
