"""Tagged words to features."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from harness.data.encode.tagging import encode_words, split_words
from harness.data.features import Encoded
from harness.spec import TokenClassification
from tests.data.conftest import make_task

SENTENCE = "The Normans gave their name in 2005 to Zürich , didn't they ?".split()  # noqa: SIM905


def tagging_task(**card: Any) -> TokenClassification:
    task = make_task("token_classification", **card)
    assert isinstance(task, TokenClassification)
    return task


def frame(*sentences: list[str]) -> pd.DataFrame:
    tags = [["B-LOC" if word == "Zürich" else "O" for word in s] for s in sentences]
    return pd.DataFrame({"id": range(len(sentences)), "words": list(sentences), "tags": tags})


def shown(encoded: Encoded, tokenizer: PreTrainedTokenizerFast) -> list[list[tuple[int, str]]]:
    """For each feature its words: index, and the text from its first token to the next word's."""
    result = []
    for begin, end in zip(encoded.starts[:-1], encoded.starts[1:], strict=True):
        marks = encoded.targets["word"][begin:end]
        where = [*np.flatnonzero(marks >= 0), end - begin - 1]
        ids = encoded.token_ids[begin:end]
        result.append(
            [
                (int(marks[a]), tokenizer.decode(ids[a:b]).replace("##", "").strip())
                for a, b in pairwise(where)
            ]
        )
    return result


def test_each_word_is_marked_where_it_begins(tokenizer: PreTrainedTokenizerFast) -> None:
    task = tagging_task()
    encoded = encode_words(task, frame(SENTENCE, ["in", "Zürich"]), tokenizer, 128)
    first, second = shown(encoded, tokenizer)
    assert [index for index, _ in first] == list(range(len(SENTENCE)))
    assert [index for index, _ in second] == [0, 1]
    tags = encoded.targets["tag"]
    assert (tags >= 0).tolist() == (encoded.targets["word"] >= 0).tolist()
    assert tags[tags >= 0].tolist().count(task.tag_names.index("B-LOC")) == 2
    assert set(tags[tags < 0].tolist()) == {-100}
    assert encoded.counts["unseen_words"] == 0


def test_byte_level_words_are_those_of_the_running_text(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    encoded = encode_words(tagging_task(), frame(SENTENCE), byte_level, 128)
    expected = byte_level(" ".join(SENTENCE))["input_ids"]
    assert encoded.token_ids.tolist() == [*expected, 2]
    # "2005" is a space, then digits: the mark is on the first digit, for the space shows nothing.
    assert shown(encoded, byte_level)[0][6] == (6, "2005")
    assert byte_level.decode(encoded.token_ids[encoded.targets["word"] == 6]) == "2"


def test_wordpiece_words_are_those_of_the_running_text(wordpiece: PreTrainedTokenizerFast) -> None:
    encoded = encode_words(tagging_task(), frame(SENTENCE), wordpiece, 128)
    expected = wordpiece(SENTENCE, is_split_into_words=True)["input_ids"]
    assert encoded.token_ids.tolist() == expected


def test_a_sentence_longer_than_the_window_keeps_every_word(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    task = tagging_task(overlap=2)
    encoded = encode_words(task, frame(["bears"], SENTENCE * 3), tokenizer, 24)
    assert encoded.lengths.max() <= 24
    assert len(encoded) > 3
    assert encoded.example.tolist() == [0] + [1] * (len(encoded) - 1)
    windows = shown(encoded, tokenizer)[1:]
    assert {index for window in windows for index, _ in window} == set(range(3 * len(SENTENCE)))
    for window, following in pairwise(windows):
        assert [index for index, _ in window[-2:]] == [index for index, _ in following[:2]]
    assert encoded.counts["unseen_words"] == 0
    assert encoded.counts["truncated"] == 0


def test_context_counts_the_words_on_the_shorter_side(wordpiece: PreTrainedTokenizerFast) -> None:
    encoded = encode_words(tagging_task(), frame(["a", "it", "in", "to"]), wordpiece, 64)
    context = encoded.targets["context"]
    assert context[context >= 0].tolist() == [0, 1, 1, 0]
    assert (context >= 0).tolist() == (encoded.targets["word"] >= 0).tolist()


def test_a_word_longer_than_the_window_is_cut_and_the_rest_kept(
    byte_level: PreTrainedTokenizerFast,
) -> None:
    sentence = ["in", "x" * 200, "Zürich"]
    encoded = encode_words(tagging_task(overlap=1), frame(sentence), byte_level, 16)
    seen = {index for window in shown(encoded, byte_level) for index, _ in window}
    assert seen == {0, 1, 2}
    assert encoded.lengths.max() == 16
    assert encoded.token_ids[encoded.starts[1:] - 1].tolist() == [2] * len(encoded)
    assert encoded.counts["truncated"] == 1


def test_words_that_become_no_token_are_counted_as_unseen(
    wordpiece: PreTrainedTokenizerFast,
) -> None:
    sentences = frame(["in", "\u200b", "Zürich"], ["\u200b"], [])
    encoded = encode_words(tagging_task(), sentences, wordpiece, 16)
    assert [[index for index, _ in window] for window in shown(encoded, wordpiece)] == [
        [0, 2],
        [],
        [],
    ]
    assert encoded.example.tolist() == [0, 1, 2]
    assert encoded.counts["unseen_words"] == 2
    only_empty = encode_words(tagging_task(), frame([]), wordpiece, 16)
    assert only_empty.token_ids.tolist() == [2, 3]


def test_a_tokenizer_that_marks_every_word_gets_no_space_twice(tmp_path: Any) -> None:
    from tokenizers import models, pre_tokenizers, trainers

    from tests.data.conftest import TEXT, save_tokenizer

    unigram = Tokenizer(models.Unigram())
    unigram.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=["</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    unigram.train_from_iterator(TEXT, trainer)
    tokenizer = save_tokenizer(tmp_path, unigram, eos_token="</s>", unk_token="<unk>")
    words = ["The", "Normans", "gave", "their", "name"]
    encoded = encode_words(tagging_task(), frame(words), tokenizer, 64)
    assert encoded.token_ids[:-1].tolist() == unigram.encode(" ".join(words)).ids


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(2, 12), st.integers(0, 20))
def test_windows_cover_a_sentence_and_move_on(
    sizes: list[int], capacity: int, overlap: int
) -> None:
    windows = split_words(sizes, capacity, overlap)
    assert windows[0][0] == 0
    assert windows[-1][1] == len(sizes)
    for begin, end in windows:
        assert end > begin
        assert sum(sizes[begin:end]) <= capacity or end == begin + 1
    for (begin, end), (later, later_end) in pairwise(windows):
        assert begin < later <= end < later_end
        assert end - later <= overlap
        assert sum(sizes[later:end]) <= capacity // 2


def test_windows_share_at_most_half_of_their_tokens() -> None:
    windows = split_words([1] * 60, 13, 16)
    assert windows == [(n, n + 13) for n in (0, 7, 14, 21, 28, 35, 42)] + [(49, 60)]
    assert split_words([2, 2, 2, 2, 2, 2], 8, 3) == [(0, 4), (2, 6)]
    assert split_words([1, 1, 1, 5, 5], 8, 3) == [(0, 4), (4, 5)]  # one word is over half


def test_an_overlap_as_long_as_the_length_makes_few_windows(
    wordpiece: PreTrainedTokenizerFast,
) -> None:
    sentences = frame(*[["in", "to", "it", "a"] * 8] * 6)  # 32 tokens each, of which 14 fit
    encoded = encode_words(tagging_task(overlap=16), sentences, wordpiece, 16)
    assert encoded.starts[1] == 16
    assert encoded.counts["features"] == len(encoded) == 6 * 4  # 14 tokens, then 7 new ones each
    assert encoded.counts["tokens"] == encoded.starts[-1] == 6 * (32 + 3 * 7 + 4 * 2)
    assert encoded.counts["unseen_words"] == encoded.counts["truncated"] == 0


@pytest.mark.parametrize("overlap", [0, 3])
def test_overlap_is_the_number_of_shared_words(overlap: int) -> None:
    windows = split_words([1] * 20, 8, overlap)
    shared = [end - later for (_, end), (later, _) in pairwise(windows)]
    assert set(shared) == {overlap}
