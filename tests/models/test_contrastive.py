from __future__ import annotations

import math

import numpy as np
import torch

from harness.models.contrastive import KnownPairs, pair_loss


def test_the_same_document_twice_in_a_batch_is_no_negative():
    known = KnownPairs(np.array([[0, 5], [1, 5], [2, 6]]))
    mask = known.not_negative(np.array([[0, 5], [1, 5], [2, 6]]))
    assert mask.tolist() == [[False, True, False], [True, False, False], [False, False, False]]


def test_another_relevant_document_of_the_query_is_no_negative():
    known = KnownPairs(np.array([[0, 5], [0, 6], [1, 7]]))
    mask = known.not_negative(np.array([[0, 5], [0, 6], [1, 7]]))
    assert mask.tolist() == [[False, True, False], [True, False, False], [False, False, False]]


def test_a_pair_that_is_only_known_from_elsewhere_is_no_negative():
    known = KnownPairs(np.array([[0, 5], [0, 7], [1, 7]]))
    mask = known.not_negative(np.array([[0, 5], [1, 7]]))
    assert mask.tolist() == [[False, True], [False, False]]


def test_the_loss_is_the_cross_entropy_over_the_batch_at_its_temperature():
    queries = torch.eye(2)
    loss = pair_loss(queries, torch.eye(2), torch.zeros(2, 2, dtype=torch.bool), 0.5)
    assert abs(loss.item() - math.log(1 + math.exp(-2))) < 1e-6


def test_a_masked_document_takes_no_part_in_the_loss():
    mask = torch.tensor([[False, True], [True, False]])
    assert pair_loss(torch.ones(2, 2), torch.ones(2, 2), mask, 0.05).item() == 0.0
