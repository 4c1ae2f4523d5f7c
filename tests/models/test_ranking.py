from __future__ import annotations

import numpy as np
import pytest
import torch

from harness.models import ranking
from harness.models.ranking import TopDocuments, _make_keys
from harness.seeding import torch_generator


def rank_naively(scores: np.ndarray, document_of: np.ndarray, depth: int) -> list[list[tuple]]:
    """Sort all documents by their best passage, then by place: an independent implementation."""
    rankings = []
    for row in scores.tolist():
        best: dict[int, float] = {}
        for document, score in zip(document_of.tolist(), row, strict=True):
            best[document] = max(score, best.get(document, score))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        rankings.append(ranked[:depth])
    return rankings


def pairs_of(top: TopDocuments) -> list[list[tuple]]:
    places, scores = top.sorted()
    assert scores.dtype == np.float32
    return [
        list(zip(*row, strict=True)) for row in zip(places.tolist(), scores.tolist(), strict=True)
    ]


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


@pytest.mark.parametrize("chunks", [1, 2, 7, 20])
def test_ties_at_the_cut_go_to_the_first_of_the_corpus_whatever_the_chunks_are(chunks):
    order = np.random.default_rng(chunks).permutation(20)
    documents = torch.zeros(20, 1)
    documents[[4, 11]] = 1.0
    documents[[0, 19]] = -1.0
    top = TopDocuments(torch.tensor([[1.0], [-1.0]]), 5)
    for chunk in np.array_split(order, chunks):
        top.add(chunk, documents[chunk])
    assert pairs_of(top) == [
        [(4, 1.0), (11, 1.0), (1, 0.0), (2, 0.0), (3, 0.0)],
        [(0, 1.0), (19, 1.0), (1, 0.0), (2, 0.0), (3, 0.0)],
    ]


def test_a_document_has_the_score_of_its_best_passage_and_one_place():
    # Document 7 has its best passage last, 8 has one only, 9 comes back after it was pushed out.
    passages = [(9, 0.1), (7, 0.3), (8, 0.5), (7, -0.9), (6, 0.4), (7, 0.8), (9, 0.6), (6, 0.2)]
    expected = [(7, 0.8), (9, 0.6), (8, 0.5)]
    for size in (1, 2, 3, 8):
        top = TopDocuments(torch.ones(1, 1), 3)
        for begin in range(0, 8, size):
            places, scores = zip(*passages[begin : begin + size], strict=True)
            top.add(np.array(places), torch.tensor(scores)[:, None])
        assert top.sorted()[0].tolist() == [[document for document, _ in expected]]
        np.testing.assert_allclose(top.sorted()[1], [[score for _, score in expected]])


def test_passages_fill_no_places_of_documents():
    top = TopDocuments(torch.ones(1, 1), 2)
    top.add(np.array([3, 3, 3, 5]), torch.tensor([[0.9], [0.8], [0.7], [0.1]]))
    top.add(np.array([3, 3]), torch.tensor([[0.6], [0.5]]))
    assert top.sorted()[0].tolist() == [[3, 5]]


@pytest.mark.parametrize("seed", range(20))
def test_random_passages_in_random_chunks_are_ranked_as_naively(seed, monkeypatch):
    monkeypatch.setattr(ranking, "CHUNK_QUERIES", 2)
    rng = np.random.default_rng(seed)
    documents = int(rng.integers(1, 30))
    document_of = rng.integers(0, documents, int(rng.integers(1, 90)))
    # Small whole numbers: products are exact in any order, and many scores are equal.
    queries = torch.from_numpy(rng.integers(-2, 3, (5, 3)).astype(np.float32))
    passages = torch.from_numpy(rng.integers(-2, 3, (len(document_of), 3)).astype(np.float32))
    depth = int(rng.integers(1, 12))
    top = TopDocuments(queries, depth)
    for chunk in np.array_split(rng.permutation(len(document_of)), int(rng.integers(1, 6))):
        if len(chunk):
            top.add(document_of[chunk], passages[chunk])
    assert pairs_of(top) == rank_naively((queries @ passages.T).numpy(), document_of, depth)


def test_scores_come_back_bit_by_bit():
    scores = torch.tensor([[1.0], [-1.0], [1e-30], [-1e-30], [0.1], [-0.1], [1e30], [-1e30]])
    top = TopDocuments(torch.ones(1, 1), 8)
    top.add(np.arange(8), scores)
    places, found = top.sorted()
    assert places.tolist() == [[6, 0, 4, 2, 3, 5, 1, 7]]
    assert found[0].tolist() == scores[places[0], 0].tolist()


def test_a_negative_zero_is_as_good_as_zero():
    keys = _make_keys(torch.tensor([[-0.0, 0.0, 1e-30]]), torch.arange(3))
    assert keys.argsort(dim=1, descending=True).tolist() == [[2, 0, 1]]
