from __future__ import annotations

import numpy as np
import torch

from harness.models.batch import collate
from harness.models.vocabulary import only_rows
from tests.models.tiny import encoded_texts, tiny_bert


def test_inside_only_the_read_rows_are_trained_and_all_come_back(tmp_path):
    backbone = tiny_bert(tmp_path)
    embedding = backbone.module.get_input_embeddings()
    before = embedding.weight.detach().clone()
    encoded = encoded_texts([3, 5])
    batch = collate(encoded, np.array([0, 1]), backbone.layout("cpu"))
    with torch.no_grad():
        expected = backbone.hidden(batch)
    read = np.unique(encoded.token_ids)
    with torch.no_grad(), only_rows(backbone.module, read) as unread:
        assert len(embedding.weight) == len(np.union1d(read, [0]))
        torch.testing.assert_close(backbone.hidden(batch), expected)
        embedding.weight.add_(1)
        unread.decay(0.1, 0.5)
        unread.decay(0.1, 0.5)
    changed = torch.zeros(len(before), dtype=torch.bool)
    changed[read] = True
    changed[0] = True  # the pad id
    torch.testing.assert_close(embedding.weight[changed], before[changed] + 1)
    torch.testing.assert_close(embedding.weight[~changed], before[~changed] * 0.95**2)
    assert embedding.padding_idx == 0


def test_the_pad_row_is_not_trained_inside_either(tmp_path):
    backbone = tiny_bert(tmp_path)
    encoded = encoded_texts([2, 5])
    batch = collate(encoded, np.array([0, 1]), backbone.layout("cpu"))
    with only_rows(backbone.module, np.unique(encoded.token_ids)):
        backbone.hidden(batch).sum().backward()
        embedding = backbone.module.get_input_embeddings()
        assert embedding.weight.grad[embedding.padding_idx].abs().max() == 0


def test_shared_embeddings_are_left_whole(tmp_path):
    backbone = tiny_bert(tmp_path)
    backbone.module.other = torch.nn.Linear(32, 60)
    backbone.module.other.weight = backbone.module.get_input_embeddings().weight
    with only_rows(backbone.module, np.array([1, 2])):
        assert len(backbone.module.get_input_embeddings().weight) == 60
