from __future__ import annotations

import numpy as np
import torch

from harness.models import ranking
from harness.models.ranking import TopDocuments
from harness.seeding import torch_generator


def test_chunks_of_documents_and_queries_give_what_a_full_sort_gives(monkeypatch):
    monkeypatch.setattr(ranking, "CHUNK_QUERIES", 3)
    generator = torch_generator(0, "x")
    queries = torch.randn(7, 8, generator=generator)
    documents = torch.randn(50, 8, generator=generator)
    order = np.random.default_rng(0).permutation(50)
    top = TopDocuments(queries, 10)
    for chunk in np.array_split(order, 9):
        top.add(chunk, documents[chunk])
    places, scores = top.sorted()
    full = (queries @ documents.T).numpy()
    np.testing.assert_array_equal(places, np.argsort(-full, axis=1)[:, :10])
    np.testing.assert_allclose(scores, -np.sort(-full, axis=1)[:, :10], rtol=1e-5)


def test_a_corpus_smaller_than_the_depth_is_ranked_whole():
    top = TopDocuments(torch.ones(1, 1), 5)
    top.add(np.array([1, 0]), torch.tensor([[2.0], [3.0]]))
    places, scores = top.sorted()
    assert places.tolist() == [[0, 1]]
    assert scores.tolist() == [[3.0, 2.0]]


def test_equal_scores_are_in_the_order_of_the_corpus():
    top = TopDocuments(torch.ones(1, 1), 3)
    top.add(np.array([2, 0, 1]), torch.ones(3, 1))
    assert top.sorted()[0].tolist() == [[0, 1, 2]]
