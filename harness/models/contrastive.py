"""The loss of a bi-encoder over pairs of texts, in one piece or with a gradient cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from harness.models.batch import Batch

Embed = Callable[[Batch], torch.Tensor]


@dataclass(frozen=True)
class Side:
    """The queries or the documents of B pairs, in pieces; `places`: which pairs each holds."""

    batches: Sequence[Batch]
    places: Sequence[NDArray[np.int64]]

    def join(self, pieces: Sequence[torch.Tensor]) -> torch.Tensor:
        """Put the embeddings of all pieces in the order of the pairs: (B, D)."""
        order = torch.from_numpy(np.argsort(np.concatenate(self.places)))
        return torch.cat(list(pieces))[order.to(pieces[0].device)]


class KnownPairs:
    """All pairs of query and document that are known to belong together."""

    def __init__(self, pairs: NDArray[np.int64]) -> None:
        self._documents = int(pairs[:, 1].max()) + 1
        self._codes = np.unique(pairs[:, 0] * self._documents + pairs[:, 1])

    def not_negative(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the documents of a batch that are no negatives for a query of the batch: (B, B).

        Those are other pairs' documents which are relevant to it, for example its own document once
        more.
        """
        codes = pairs[:, 0][:, None] * self._documents + pairs[:, 1][None, :]
        found = np.searchsorted(self._codes, codes).clip(max=len(self._codes) - 1)
        known: NDArray[np.bool_] = self._codes[found] == codes
        np.fill_diagonal(known, False)
        return known


def pair_loss(
    queries_BD: torch.Tensor,
    documents_BD: torch.Tensor,
    not_negative_BB: torch.Tensor,
    temperature: float,
) -> torch.Tensor:
    """Mean cross entropy of finding each query's document among those of the batch (InfoNCE)."""
    scores_BB = queries_BD @ documents_BD.T / temperature
    scores_BB = scores_BB.masked_fill(not_negative_BB, float("-inf"))
    return cross_entropy(scores_BB, torch.arange(len(scores_BB), device=scores_BB.device))


def backward_pairs(
    embed: Embed,
    queries: Side,
    documents: Side,
    not_negative_BB: torch.Tensor,
    temperature: float,
) -> torch.Tensor:
    """Compute the loss of a batch of pairs and its gradient; return the loss.

    Where a side is in several pieces, activations are kept for one piece at a time (gradient cache,
    Gao et al. 2021): embed all, take the gradient at the embeddings, then embed each piece again
    and carry it on.
    """
    if len(queries.batches) == len(documents.batches) == 1:
        whole = [side.join([embed(side.batches[0])]) for side in (queries, documents)]
        loss = pair_loss(whole[0], whole[1], not_negative_BB, temperature)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    embeddings = []
    states = []
    with torch.no_grad():
        for side in (queries, documents):
            pieces = []
            for batch in side.batches:
                states.append(_random_state(batch))
                pieces.append(embed(batch))
            embeddings.append(side.join(pieces).requires_grad_())
    loss = pair_loss(embeddings[0], embeddings[1], not_negative_BB, temperature)
    loss.backward()  # type: ignore[no-untyped-call]
    replay = iter(states)
    for side, whole_BD in zip((queries, documents), embeddings, strict=True):
        assert whole_BD.grad is not None
        for batch, places in zip(side.batches, side.places, strict=True):
            _set_random_state(batch, next(replay))  # the same dropout as in the first pass
            gradient = whole_BD.grad[torch.from_numpy(places).to(whole_BD.device)]
            embed(batch).backward(gradient)  # type: ignore[no-untyped-call]
    return loss.detach()


def _random_state(batch: Batch) -> torch.Tensor:
    device = batch.token_ids_BL.device
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def _set_random_state(batch: Batch, state: torch.Tensor) -> None:
    device = batch.token_ids_BL.device
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
