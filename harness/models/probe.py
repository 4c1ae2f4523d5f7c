"""Does a backbone see both ways? Found out by trying, since flags in configs do not say.

The last token is changed; if the first hidden state moves, the first token sees the last one. Tried
with and without padding, in a batch and alone: some architectures are causal only where nothing is
padded, since no mask is made at all.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from harness.errors import CheckpointError
from harness.models.backbone import Backbone
from harness.models.batch import Batch

LENGTH = 8
PADDED_LENGTH = 6
CONDITIONS = {
    "without padding": (LENGTH, 2),
    "with padding": (PADDED_LENGTH, 2),
    "alone without padding": (LENGTH, 1),
    "alone with padding": (PADDED_LENGTH, 1),
}
"""Length of a text and texts a batch: in all of them the answer must be the same."""
# Relative to the largest hidden state: what the last token can't reach is equal to the last bit.
TOLERANCE = 1e-6


@torch.no_grad()
def probe(backbone: Backbone) -> bool:
    """Say whether the first token sees the last one.

    Raises:
        CheckpointError: the attention is not as the checkpoint asks, or padding or the size of a
            batch changes its direction.
    """
    checkpoint = backbone.checkpoint
    was_training = backbone.module.training
    backbone.module.eval()
    seen = {
        said: _first_sees_last(backbone, length, rows)
        for said, (length, rows) in CONDITIONS.items()
    }
    backbone.module.train(was_training)
    advice = f"{backbone.config.model_type} can't be turned that way; give `attention: native`"
    if len(set(seen.values())) > 1:
        where = ", ".join(said for said, sees in seen.items() if sees)
        raise CheckpointError(
            f"{checkpoint.path}: with attention {checkpoint.attention} the first token sees the "
            f"last one {where} only. {advice}"
        )
    sees = all(seen.values())
    wanted = {"native": sees, "bidirectional": True, "causal": False}[checkpoint.attention]
    if sees != wanted:
        raise CheckpointError(
            f"{checkpoint.path}: attention is to be {checkpoint.attention}, but the first token "
            f"{'sees' if sees else 'does not see'} the last one. {advice}"
        )
    return sees


def _first_sees_last(backbone: Backbone, length: int, rows: int) -> bool:
    """Compare the first hidden state before and after a change of token `length`, the last one.

    Both texts in a batch, or (`rows` 1) each in a batch of its own.
    """
    pad_id = backbone.layout("cpu").pad_id
    vocabulary = np.array([i for i in range(LENGTH + 2) if i != pad_id])
    token_ids = vocabulary[:LENGTH][None, :].repeat(2, axis=0)
    token_ids[1, length - 1] = vocabulary[LENGTH]
    token_ids[:, length:] = pad_id
    first = [
        backbone.hidden(_batch(backbone, token_ids[begin : begin + rows], length))[:, 0].float()
        for begin in range(0, 2, rows)
    ]
    first_2D = torch.cat(first)
    change = (first_2D[0] - first_2D[1]).abs().max()
    return bool(change > TOLERANCE * first_2D.abs().max())


def _batch(backbone: Backbone, token_ids: NDArray[np.int64], length: int) -> Batch:
    device = next(backbone.module.parameters()).device
    mask = torch.arange(LENGTH, device=device).expand(len(token_ids), LENGTH) < length
    return Batch(
        token_ids_BL=torch.from_numpy(token_ids).to(device),
        lengths_B=torch.full((len(token_ids),), length, device=device),
        mask_BL=None if length == LENGTH else mask,
        type_ids_BL=None,
        targets={},
        pooling="first",
        source=np.arange(0),
    )
