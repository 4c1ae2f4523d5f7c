"""Ranks documents for the queries of all splits; each distinct corpus is embedded once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from harness.models.batch import Batch
from harness.models.ranking import TopDocuments

if TYPE_CHECKING:
    from harness.data.encode import Encoded, EncodedCollection
    from harness.data.frames import Collection

SEARCH_PASSAGES = 8192
"""Documents, or passages of documents, that are embedded before they are compared with queries."""

Embed = Callable[["Encoded"], Iterator[tuple[NDArray[np.int64], Batch, torch.Tensor]]]
"""Embeds features batch by batch: their rows, the batch, and (B, D)."""


def rank(
    embed: Embed,
    parts: Mapping[str, Collection],
    encoded: Mapping[str, EncodedCollection],
    depth: int,
) -> dict[str, pd.DataFrame]:
    """Rank the documents for every query of every split, by the cosine of their embeddings.

    The splits of one corpus (equal `EncodedCollection.corpus`) are searched in the same pass over
    its documents. Besides the queries no more embeddings are held than those of a chunk.
    """
    tops = {
        split: TopDocuments(_embed_in_order(embed, collection.queries), depth)
        for split, collection in encoded.items()
    }
    sharing: dict[str, list[str]] = {}
    for split, collection in encoded.items():
        sharing.setdefault(collection.corpus, []).append(split)
    for splits in sharing.values():
        for places, passages_PD in _embed_chunks(embed, encoded[splits[0]].documents):
            for split in splits:
                tops[split].add(places, passages_PD)
    return {split: _list_rankings(parts[split], top) for split, top in tops.items()}


def _embed_in_order(embed: Embed, queries: Encoded) -> torch.Tensor:
    """Embed all queries, in the order of their frame: (Q, D)."""
    collected = [(queries.example[rows], embeddings) for rows, _, embeddings in embed(queries)]
    order = np.argsort(np.concatenate([places for places, _ in collected]))
    return torch.cat([embeddings for _, embeddings in collected])[order]


def _embed_chunks(
    embed: Embed, documents: Encoded
) -> Iterator[tuple[NDArray[np.int64], torch.Tensor]]:
    """Embed documents; yield their places in the corpus and embeddings, some batches at a time."""
    places: list[NDArray[np.int64]] = []
    pieces: list[torch.Tensor] = []
    for rows, _, embeddings in embed(documents):
        places.append(documents.example[rows])
        pieces.append(embeddings)
        if sum(map(len, places)) >= SEARCH_PASSAGES:
            yield np.concatenate(places), torch.cat(pieces)
            places, pieces = [], []
    if places:
        yield np.concatenate(places), torch.cat(pieces)


def _list_rankings(part: Collection, top: TopDocuments) -> pd.DataFrame:
    places, scores = top.sorted()
    names = part.corpus["id"].to_numpy()
    judged = part.qrels.groupby("query_id", sort=False)[["document_id", "relevance"]].agg(list)
    judged = judged.loc[part.queries["id"]]
    return pd.DataFrame(
        {
            "id": part.queries["id"],
            "documents": [list(row) for row in names[places]],
            "scores": list(scores),
            "gold": judged["document_id"].to_list(),
            "relevance": judged["relevance"].to_list(),
        }
    )
