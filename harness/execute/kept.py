"""Weights that a run leaves for others to start from: `<study>/weights/<run_id>/`.

They are there only while some planned run needs them.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunError

if TYPE_CHECKING:
    from harness.models.backbone import Backbone


def kept_weights(study: Path, run_id: str) -> Path:
    """Say where the final weights of a run's backbone lie, if they are kept."""
    return study / "weights" / run_id / "backbone.safetensors"


def save_weights(study: Path, run_id: str, backbone: Backbone) -> None:
    """Write the weights of a backbone as training left them, whole or not at all."""
    from safetensors.torch import save_file

    path = kept_weights(study, run_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{secrets.token_hex(4)}.unfinished")
    # Copies: tensors that share their memory can't be written.
    state = backbone.module.state_dict()
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in state.items()}
    try:
        save_file(tensors, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def load_weights(study: Path, run_id: str, backbone: Backbone) -> None:
    """Put the weights that a run left into a backbone, in the precision that it has.

    Raises:
        RunError: they are not there, or damaged.
    """
    import torch
    from safetensors.torch import load_file

    path = kept_weights(study, run_id)
    try:
        tensors = load_file(path)
    except Exception as error:  # of the system, or of the safetensors library
        raise RunError(
            f"{path}: the weights of the run to start from can't be read ({error}); the same "
            "command makes them again once the file is deleted"
        ) from None
    with torch.no_grad():
        for name, value in backbone.module.state_dict().items():
            value.copy_(tensors[name])


def drop_weights(study: Path, needed: Collection[str]) -> None:
    """Delete the weights of all runs but those that are still needed."""
    for folder in (study / "weights").glob("*"):
        if folder.name not in needed:
            shutil.rmtree(folder, ignore_errors=True)
