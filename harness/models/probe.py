"""Does a backbone see both ways? Found out by trying, since flags in configs do not say.

The last token is changed; if the first hidden state moves, the first token sees the last one. Tried
with and without padding: some architectures are causal without padding only, where no mask is made
at all.
"""

from __future__ import annotations

import numpy as np
import torch

from harness.errors import CheckpointError
from harness.models.backbone import Backbone
from harness.models.batch import Batch

LENGTH = 8
PADDED_LENGTH = 6
# Relative to the largest hidden state: what the last token can't reach is equal to the last bit.
TOLERANCE = 1e-6


@torch.no_grad()
def probe(backbone: Backbone) -> bool:
    """Say whether the first token sees the last one.

    Raises:
        CheckpointError: the attention is not as the checkpoint asks, or padding changes its
        direction.
    """
    checkpoint = backbone.checkpoint
    was_training = backbone.module.training
    backbone.module.eval()
    unpadded = _first_sees_last(backbone, LENGTH)
    padded = _first_sees_last(backbone, PADDED_LENGTH)
    backbone.module.train(was_training)
    advice = f"{backbone.config.model_type} can't be turned that way; give `attention: native`"
    if unpadded != padded:
        raise CheckpointError(
            f"{checkpoint.path}: with attention {checkpoint.attention} the first token sees the "
            f"last one {'with' if padded else 'without'} padding only. {advice}"
        )
    wanted = {"native": padded, "bidirectional": True, "causal": False}[checkpoint.attention]
    if padded != wanted:
        raise CheckpointError(
            f"{checkpoint.path}: attention is to be {checkpoint.attention}, but the first token "
            f"{'sees' if padded else 'does not see'} the last one. {advice}"
        )
    return padded


def _first_sees_last(backbone: Backbone, length: int) -> bool:
    """Compare the first hidden state before and after a change of token `length`, the last one."""
    pad_id = backbone.layout("cpu").pad_id
    vocabulary = np.array([i for i in range(LENGTH + 2) if i != pad_id])
    token_ids = vocabulary[:LENGTH][None, :].repeat(2, axis=0)
    token_ids[1, length - 1] = vocabulary[LENGTH]
    token_ids[:, length:] = pad_id
    device = next(backbone.module.parameters()).device
    mask = torch.arange(LENGTH, device=device).expand(2, LENGTH) < length
    batch = Batch(
        token_ids_BL=torch.from_numpy(token_ids).to(device),
        lengths_B=torch.tensor([length, length], device=device),
        mask_BL=None if length == LENGTH else mask,
        type_ids_BL=None,
        targets={},
        pooling="first",
        source=np.arange(0),
    )
    first_2D = backbone.hidden(batch)[:, 0].float()
    change = (first_2D[0] - first_2D[1]).abs().max()
    return bool(change > TOLERANCE * first_2D.abs().max())
