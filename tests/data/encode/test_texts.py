"""Texts and pairs to features, against what transformers makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from harness.data.encode.texts import cut_lengths, cut_passages, encode_passages, encode_texts
from harness.data.features import Encoded
from tests.data.conftest import TEXT

FIRST = [*TEXT, "", "bears"]
SECOND = ["", *TEXT, "1100's"]


def features(encoded: Encoded) -> list[list[int]]:
    return [
        encoded.token_ids[begin:end].tolist()
        for begin, end in zip(encoded.starts[:-1], encoded.starts[1:], strict=True)
    ]


def test_single_texts_are_what_transformers_makes_of_them(
    wordpiece: PreTrainedTokenizerFast, roberta_like: PreTrainedTokenizerFast
) -> None:
    for tokenizer in (wordpiece, roberta_like):
        encoded = encode_texts([FIRST], tokenizer, 20, {})
        expected = tokenizer(FIRST, truncation=True, max_length=20)["input_ids"]
        assert features(encoded) == expected
        assert encoded.counts["features"] == len(FIRST)
        whole = tokenizer(FIRST)["input_ids"]
        assert encoded.counts["truncated"] == sum(len(ids) > 20 for ids in whole) > 0
        assert encoded.lengths.max() == 20
        assert encoded.example.tolist() == list(range(len(FIRST)))


def test_pairs_are_what_transformers_makes_of_them(
    wordpiece: PreTrainedTokenizerFast, roberta_like: PreTrainedTokenizerFast
) -> None:
    for tokenizer in (wordpiece, roberta_like):
        encoded = encode_texts([FIRST, SECOND], tokenizer, 512, {})
        assert features(encoded) == tokenizer(FIRST, SECOND)["input_ids"]
    expected = wordpiece(FIRST, SECOND)["token_type_ids"]
    encoded = encode_texts([FIRST, SECOND], wordpiece, 512, {})
    assert encoded.type_ids is not None
    assert encoded.type_ids.tolist() == [number for row in expected for number in row]
    assert encode_texts([FIRST, SECOND], roberta_like, 512, {}).type_ids is None


def test_a_decoder_gets_its_end_token_after_the_cut(byte_level: PreTrainedTokenizerFast) -> None:
    encoded = encode_texts([FIRST], byte_level, 10, {})
    for text, ids in zip(FIRST, features(encoded), strict=True):
        assert ids == [*byte_level(text)["input_ids"][:9], 2]
    assert features(encoded)[4] == [2]  # an empty text still is one token


def test_a_pair_without_separators_is_joined_by_a_newline(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    encoded = encode_texts([["bears"], ["in France"]], byte_level, 64, {})
    assert byte_level.decode(encoded.token_ids) == "bears\nin France</s>"
    assert features(encoded)[0][:-1] == byte_level("bears\nin France")["input_ids"]


def test_a_begin_token_before_the_second_text_is_no_separator(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    import copy

    from tokenizers import processors

    llama_like = copy.deepcopy(byte_level)
    llama_like.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)]
    )
    encoded = encode_texts([["bears"], ["in France"]], llama_like, 64, {})
    assert llama_like.decode(encoded.token_ids) == "<s>bears\nin France</s>"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1), st.integers(4, 50))
def test_the_longer_text_of_a_pair_is_cut_first(
    lengths: list[tuple[int, int]], capacity: int
) -> None:
    first, second = (np.array(column) for column in zip(*lengths, strict=True))
    kept_first, kept_second = cut_lengths([first, second], capacity)
    assert (kept_first <= first).all()
    assert (kept_second <= second).all()
    assert (kept_first + kept_second == np.minimum(first + second, capacity)).all()
    cut = (kept_first < first) & (kept_second < second)
    assert (np.abs(kept_first - kept_second)[cut] <= 1).all()
    only_first = (kept_first < first) & (kept_second == second)
    assert (kept_first >= kept_second - 1)[only_first].all()


def test_a_long_text_is_covered_by_passages_with_the_tokens_around_each(
    wordpiece: PreTrainedTokenizerFast,
) -> None:
    whole = wordpiece(FIRST, add_special_tokens=False)["input_ids"]
    encoded = encode_passages(FIRST, wordpiece, 10, 3)
    expected = []
    example = []
    for row, ids in enumerate(whole):
        begins = [0]
        while begins[-1] + 8 < len(ids):
            begins.append(min(begins[-1] + 5, len(ids) - 8))
        expected += [[2, *ids[begin : begin + 8], 3] for begin in begins]
        example += [row] * len(begins)
    assert features(encoded) == expected
    assert encoded.example.tolist() == example
    long = sum(len(ids) > 8 for ids in whole)
    assert encoded.counts == {
        "features": len(expected),
        "tokens": len(encoded.token_ids),
        "truncated": 0,
        "windowed": long,
    }
    assert 0 < long < len(FIRST)
    assert encoded.type_ids is not None
    assert encoded.type_ids.tolist() == [0] * len(encoded.token_ids)


def test_blocks_of_texts_keep_the_rows_of_their_passages(
    wordpiece: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = encode_passages(FIRST, wordpiece, 10, 3)
    monkeypatch.setattr("harness.data.encode.texts._TEXTS_AT_ONCE", 2)
    in_blocks = encode_passages(FIRST, wordpiece, 10, 3)
    assert features(in_blocks) == features(at_once)
    assert in_blocks.example.tolist() == at_once.example.tolist()
    assert in_blocks.counts == at_once.counts


def test_passages_of_hand_counted_lengths() -> None:
    text, begins, lengths = cut_passages(np.array([0, 4, 5, 11]), 4, 1)
    assert text.tolist() == [0, 1, 2, 2, 3, 3, 3, 3]
    assert begins.tolist() == [0, 0, 0, 1, 0, 3, 6, 7]
    assert lengths.tolist() == [0, 4, 4, 4, 4, 4, 4, 4]


@given(st.lists(st.integers(0, 60), min_size=1), st.integers(2, 20), st.integers(0, 30))
def test_passages_cover_every_token_and_share_at_least_the_overlap(
    lengths: list[int], capacity: int, overlap: int
) -> None:
    text, begins, sizes = cut_passages(np.array(lengths), capacity, overlap)
    shared = min(overlap, capacity // 2)
    for row, length in enumerate(lengths):
        first, size = begins[text == row], sizes[text == row]
        assert (first[0], first[-1] + size[-1]) == (0, length)
        assert (size == min(length, capacity)).all()
        assert (first[1:] > first[:-1]).all()
        assert (first[:-1] + size[:-1] - first[1:] >= shared).all()
