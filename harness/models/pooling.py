"""From the hidden states of a sequence to one vector: by the lengths, never by token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from harness.models.batch import Batch


def pool(hidden_BLD: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Take the mean, the first or the last token of each sequence: (B, D), fp32."""
    if batch.pooling == "first":
        return hidden_BLD[:, 0].float()
    if batch.pooling == "last":
        rows = torch.arange(len(batch), device=hidden_BLD.device)
        return hidden_BLD[rows, batch.lengths_B - 1].float()
    hidden_BLD = hidden_BLD.float()
    if batch.mask_BL is None:
        return hidden_BLD.mean(1)
    total_BD = (hidden_BLD * batch.mask_BL.unsqueeze(-1)).sum(1)
    return total_BD / batch.lengths_B.unsqueeze(-1)
