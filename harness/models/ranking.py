"""Exact nearest documents, chunk by chunk, in memory that does not grow with the corpus."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

CHUNK_QUERIES = 1024


class TopDocuments:
    """The best `depth` documents of each query among those added so far."""

    def __init__(self, queries_QD: torch.Tensor, depth: int) -> None:
        self._queries_QD = queries_QD.float()
        self._depth = depth
        device = queries_QD.device
        self._scores_QK = torch.empty(len(queries_QD), 0, device=device)
        self._places_QK = torch.empty(len(queries_QD), 0, dtype=torch.long, device=device)

    def add(self, places: NDArray[np.int64], documents_CD: torch.Tensor) -> None:
        """Compare documents, known by their places in the corpus, with all queries."""
        known_C = torch.from_numpy(places).to(documents_CD.device)
        documents_DC = documents_CD.float().T
        scores, chosen = [], []
        for begin in range(0, len(self._queries_QD), CHUNK_QUERIES):
            chunk = slice(begin, begin + CHUNK_QUERIES)
            new_QC = self._queries_QD[chunk] @ documents_DC
            top_QK, which_QK = new_QC.topk(min(self._depth, new_QC.shape[1]), dim=1)
            all_scores = torch.cat([self._scores_QK[chunk], top_QK], dim=1)
            all_places = torch.cat([self._places_QK[chunk], known_C[which_QK]], dim=1)
            best_QK, kept_QK = all_scores.topk(min(self._depth, all_scores.shape[1]), dim=1)
            scores.append(best_QK)
            chosen.append(all_places.gather(1, kept_QK))
        self._scores_QK, self._places_QK = torch.cat(scores), torch.cat(chosen)

    def sorted(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give places in the corpus and scores, best first: (queries, depth); ties by place."""
        places = self._places_QK.cpu().numpy()
        scores = self._scores_QK.cpu().numpy()
        order = np.lexsort((places, -scores), axis=1)
        return np.take_along_axis(places, order, 1), np.take_along_axis(scores, order, 1)
