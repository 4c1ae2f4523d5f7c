"""Exact nearest documents, chunk by chunk, in memory that does not grow with the corpus.

Shapes: Q queries, D units of an embedding, P passages of C documents, K documents kept a query.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

CHUNK_QUERIES = 256
"""Queries compared at once: bounds the scores in memory, and keeps them in a processor's cache."""

_LOW = (1 << 32) - 1
_NONE = -(1 << 63)
"""Below every key."""


class TopDocuments:
    """The best `depth` documents of each query among those added so far.

    A document is scored by its best passage. Its passages may come in any order and in different
    calls: one that was pushed out of the best returns with a better passage, so nothing is lost. Of
    equal scores those that come first in the corpus are kept, whatever the chunks were.
    """

    def __init__(self, queries_QD: torch.Tensor, depth: int) -> None:
        self._queries_QD = queries_QD.float()
        self._depth = depth
        self._keys_QK = torch.empty(len(queries_QD), 0, dtype=torch.long, device=queries_QD.device)

    def add(self, places: NDArray[np.int64], passages_PD: torch.Tensor) -> None:
        """Compare passages with all queries; `places` (P,) are their documents' in the corpus."""
        device = passages_PD.device
        passages_DP = passages_PD.float().T
        distinct, document_of = np.unique(places, return_inverse=True)
        has_repeats = len(distinct) < len(places)
        places_C = torch.from_numpy(distinct if has_repeats else places).to(device)
        document_P = torch.from_numpy(document_of).to(device)
        kept = []
        for begin in range(0, len(self._queries_QD), CHUNK_QUERIES):
            chunk = slice(begin, begin + CHUNK_QUERIES)
            scores_QC = self._queries_QD[chunk] @ passages_DP
            if has_repeats:
                scores_QC = _best_passages(scores_QC, document_P, len(places_C))
            new_QK = _largest(_make_keys(scores_QC, places_C), self._depth)
            both_QK = _without_repeats(torch.cat([self._keys_QK[chunk], new_QK], dim=1))
            kept.append(_largest(both_QK, self._depth))
        self._keys_QK = torch.cat(kept)

    def sorted(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give places in the corpus and scores, best first, equal ones by place: (Q, K) each.

        There are fewer than `depth` columns where there are fewer documents.
        """
        keys_QK = self._keys_QK[:, (self._keys_QK != _NONE).all(dim=0)]
        return _places(keys_QK).cpu().numpy(), _scores(keys_QK).cpu().numpy()


def _best_passages(
    scores_QP: torch.Tensor, document_P: torch.Tensor, documents: int
) -> torch.Tensor:
    """Give each document the largest score of its passages: (Q, C)."""
    scores_QC = scores_QP.new_full((len(scores_QP), documents), -torch.inf)
    return scores_QC.scatter_reduce_(1, document_P.expand_as(scores_QP), scores_QP, "amax")


def _make_keys(scores_QC: torch.Tensor, places_C: torch.Tensor) -> torch.Tensor:
    """Join score and place into one integer, larger where the score is, then where the place isn't.

    The bits of floats of one sign are in the order of their values; those of negative ones are
    turned round.
    """
    bits = (scores_QC + 0.0).view(torch.int32)  # -0.0 becomes 0.0, its equal
    bits ^= (bits >> 31) & 0x7FFFFFFF
    keys = bits.long()
    keys <<= 32
    keys += _LOW - places_C
    return keys


def _places(keys: torch.Tensor) -> torch.Tensor:
    return _LOW - (keys & _LOW)


def _scores(keys: torch.Tensor) -> torch.Tensor:
    bits = (keys >> 32).to(torch.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(torch.float32)


def _largest(keys_QC: torch.Tensor, depth: int) -> torch.Tensor:
    """Keep the largest keys of each row, in falling order."""
    return keys_QC.topk(min(depth, keys_QC.shape[1]), dim=1).values


def _without_repeats(keys_QK: torch.Tensor) -> torch.Tensor:
    """Put `_NONE` for the smaller key of a document that is there twice."""
    falling_QK = keys_QK.sort(dim=1, descending=True).values
    document_QK, order_QK = (falling_QK & _LOW).sort(dim=1, stable=True)
    keys_QK = falling_QK.gather(1, order_QK)
    keys_QK[:, 1:].masked_fill_(document_QK[:, 1:] == document_QK[:, :-1], _NONE)
    return keys_QK
