"""One folder -> one checkpoint, or the reason why it can't be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.architectures import reads_left_to_right, why_refused
from harness.checkpoints.naming import Columns
from harness.errors import CheckpointError
from harness.fingerprints import (
    CONFIG,
    VOCABULARIES,
    fingerprint,
    fingerprint_of_random,
    read_json,
)
from harness.spec import Attention, Checkpoint, Pooling
from harness.weightfiles import count_parameters, list_weight_files


def default_pooling(config: Mapping[str, Any], attention: Attention) -> Pooling:
    """Choose `last` where the model reads left to right, else `mean`.

    Left to right reads a decoder with native attention, and anything with causal attention. So a
    decoder with bidirectional attention gets `mean`.
    """
    is_causal = attention == "causal" or (attention == "native" and reads_left_to_right(config))
    return "last" if is_causal else "mean"


def describe(
    folder: Path,
    name: str,
    *,
    attention: Attention | None = None,
    pooling: Pooling | None = None,
    tokenizer: Path | None = None,
    columns: Columns | None = None,
) -> Checkpoint:
    """Check one folder and describe it; `tokenizer` is used where it has none of its own.

    Raises:
        CheckpointError: why it can't be used.
    """
    config = _read_config(folder)
    parameters = count_parameters(folder)
    vocabulary = _find_tokenizer(folder, tokenizer)
    chosen: Attention = attention or "native"
    return Checkpoint(
        name=name,
        path=str(folder),  # absolute: a worker may stand in another folder
        fingerprint=fingerprint(folder, list_weight_files(folder), vocabulary),
        attention=chosen,
        pooling=pooling or default_pooling(config, chosen),
        columns=columns or {},
        parameters=parameters,
        tokenizer=None if vocabulary == folder else str(vocabulary),
    )


def random_control(checkpoint: Checkpoint) -> Checkpoint:
    """Describe the control of a checkpoint: its config and tokenizer, weights drawn at random."""
    tokenizer = Path(checkpoint.tokenizer) if checkpoint.tokenizer else None
    size = {key: value for key, value in checkpoint.columns.items() if key == "size"}
    return checkpoint.model_copy(
        update={
            "name": f"{checkpoint.name}@random",
            "fingerprint": fingerprint_of_random(Path(checkpoint.path), tokenizer),
            "columns": size | {"objective": "random"},
            "weights": "random",
        }
    )


def _read_config(folder: Path) -> dict[str, Any]:
    if not (folder / CONFIG).is_file():
        # Without a config the weights tell best what the folder is.
        list_weight_files(folder)
        raise CheckpointError(f"no {CONFIG}")
    config = read_json(folder / CONFIG)
    if not isinstance(config.get("model_type"), str):
        raise CheckpointError(f"{CONFIG} does not say a `model_type`")
    refused = why_refused(config)
    if refused is not None:
        raise CheckpointError(refused)
    return config


def _find_tokenizer(folder: Path, given: Path | None) -> Path:
    """Find the folder of the tokenizer: the checkpoint's own, the one given, or its parent."""
    for place in (folder, given, folder.parent):
        if place is not None and any((place / file).is_file() for file in VOCABULARIES):
            return place
    raise CheckpointError(
        "no tokenizer (neither tokenizer.json nor vocabulary files), in its parent folder neither; "
        "save the tokenizer into the same folder, or give one with --tokenizer FOLDER"
    )
