from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.data.encode import Encoded
from harness.models.batch import Layout, collate, flat_places

LAYOUT = Layout(pad_id=9, has_type_ids=True, pooling="mean")


def example(**targets: np.ndarray) -> Encoded:
    return Encoded(
        token_ids=np.array([1, 2, 3, 4, 5, 6], dtype=np.int32),
        starts=np.array([0, 2, 5, 6]),
        example=np.array([0, 0, 1]),
        type_ids=np.array([0, 0, 0, 1, 1, 0], dtype=np.uint8),
        targets=targets,
        counts={},
    )


def test_features_are_padded_on_the_right_in_the_order_asked_for():
    batch = collate(example(), np.array([1, 0]), LAYOUT)
    assert batch.token_ids_BL.tolist() == [[3, 4, 5], [1, 2, 9]]
    assert batch.mask_BL.tolist() == [[True, True, True], [True, True, False]]
    assert batch.type_ids_BL.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert batch.lengths_B.tolist() == [3, 2]
    assert batch.source.tolist() == [2, 3, 4, 0, 1]


def test_a_batch_without_padding_has_no_mask():
    assert collate(example(), np.array([1]), LAYOUT).mask_BL is None


def test_a_backbone_without_segments_gets_no_type_ids():
    layout = Layout(pad_id=9, has_type_ids=False, pooling="mean")
    assert collate(example(), np.array([0]), layout).type_ids_BL is None


def test_words_are_placed_in_the_flattened_batch():
    encoded = example(
        word=np.array([-1, 0, 0, -1, 1, 0], dtype=np.int32),
        tag=np.array([-100, 2, 1, -100, 0, 2], dtype=np.int16),
    )
    batch = collate(encoded, np.array([0, 1]), LAYOUT)
    assert batch.targets["word_position"].tolist() == [1, 3, 5]
    assert batch.targets["tag"].tolist() == [2, 1, 0]


def test_the_tokens_of_a_context_are_marked():
    encoded = example(
        start=np.array([0, 1, 0], dtype=np.int32),
        end=np.array([0, 2, 0], dtype=np.int32),
        null=np.array([0, 0, 0], dtype=np.int32),
        offset_start=np.array([-1, 0, -1, 0, 4, -1], dtype=np.int32),
    )
    batch = collate(encoded, np.array([0, 1]), LAYOUT)
    assert batch.targets["context_BL"].tolist() == [[False, True, False], [False, True, True]]
    assert batch.targets["end"].tolist() == [0, 2]


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.data())
def test_every_token_is_found_where_it_lies(lengths, data):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    encoded = Encoded(np.arange(starts[-1]), starts, np.arange(len(lengths)), None, {}, {})
    rows = np.array(data.draw(st.permutations(range(len(lengths)))))
    expected = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
    np.testing.assert_array_equal(flat_places(encoded, rows), expected)
