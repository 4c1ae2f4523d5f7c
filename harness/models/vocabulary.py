"""Trains only the rows of the input embedding that some step reads: exact, and far less work.

A row that no step reads has a zero gradient, so that AdamW only shrinks it, by the product of
(1 - learning rate x weight decay): that is done at the end, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


@dataclass
class UnreadRows:
    """The rows that are left out; `kept` is the fraction that weight decay leaves of them."""

    kept: float = 1.0

    def decay(self, learning_rate: float, weight_decay: float) -> None:
        """Count one step of AdamW's decoupled weight decay."""
        self.kept *= 1.0 - learning_rate * weight_decay


@contextmanager
def only_rows(module: Any, read: NDArray[np.int64]) -> Iterator[UnreadRows]:
    """Keep only the read rows of a module's input embedding inside; all are there again afterwards.

    `read` are the sorted token ids which occur inside. Does nothing where rows can't be left out: a
    shared or frozen embedding, or one with a gradient rule of its own.
    """
    embedding = module.get_input_embeddings()
    unread = UnreadRows()
    if not _is_plain(module, embedding):
        yield unread
        return
    full, pad = embedding.weight, embedding.padding_idx
    if pad is not None:
        read = np.union1d(read, [pad])
    rows = torch.from_numpy(read).to(full.device)
    place = torch.zeros(len(full), dtype=torch.long, device=full.device)
    place[rows] = torch.arange(len(rows), device=full.device)
    embedding.weight = nn.Parameter(full.detach()[rows])
    embedding.padding_idx = None if pad is None else int(place[pad])
    hook = embedding.register_forward_pre_hook(lambda _, inputs: (place[inputs[0]], *inputs[1:]))
    try:
        yield unread
    finally:
        hook.remove()
        with torch.no_grad():
            full.mul_(unread.kept)
            full[rows] = embedding.weight
        embedding.weight, embedding.padding_idx = full, pad


def _is_plain(module: nn.Module, embedding: Any) -> bool:
    if not isinstance(embedding, nn.Embedding) or not embedding.weight.requires_grad:
        return False
    uses = sum(
        parameter is embedding.weight
        for _, parameter in module.named_parameters(remove_duplicate=False)
    )
    special = embedding.max_norm is not None or embedding.scale_grad_by_freq or embedding.sparse
    return uses == 1 and not special
