from __future__ import annotations

import numpy as np
import pytest
import torch

from harness.models.batch import Layout, collate
from harness.models.pooling import pool
from tests.models.tiny import encoded_texts


@pytest.mark.parametrize(
    ("pooling", "expected"), [("mean", [0.5, 3.0]), ("first", [0.0, 2.0]), ("last", [1.0, 4.0])]
)
def test_padding_takes_no_part_in_pooling(pooling, expected):
    batch = collate(encoded_texts([2, 3]), np.array([0, 1]), Layout(0, False, pooling))
    hidden_BLD = torch.tensor([[[0.0], [1.0], [100.0]], [[2.0], [3.0], [4.0]]])
    assert pool(hidden_BLD, batch).squeeze(-1).tolist() == expected


def test_the_last_token_is_found_where_the_pad_id_equals_the_end_token():
    encoded = encoded_texts([2, 3])
    encoded.token_ids[:] = 7
    batch = collate(encoded, np.array([0, 1]), Layout(7, False, "last"))
    hidden_BLD = torch.arange(6.0).view(2, 3, 1)
    assert pool(hidden_BLD, batch).squeeze(-1).tolist() == [1.0, 5.0]


def test_a_mean_without_padding_needs_no_mask():
    batch = collate(encoded_texts([2]), np.array([0]), Layout(0, False, "mean"))
    assert pool(torch.tensor([[[1.0], [2.0]]]), batch).tolist() == [[1.5]]
