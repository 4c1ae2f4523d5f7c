"""Tagged words to features: windows that end between words, with words of context around."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.encode.layout import assemble, text_layout
from harness.data.encode.ragged import Ragged, Spans, from_lists, positions, starts_of
from harness.data.features import Encoded
from harness.data.tokenizers import bare_tokenizer
from harness.spec import TokenClassification

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_PROBES = (("a", "b"), ("The", "cat"), ("in", "2005"), ("it", "'s"))


def encode_words(
    task: TokenClassification,
    frame: pd.DataFrame,
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
) -> Encoded:
    """Encode sentences of words; a sentence that is too long becomes several windows.

    Neighbouring windows share `task.overlap` words, but at most half a window, so that every
    overlap goes with every length, and fewer where a large word follows. A word that no window can
    hold is cut; one of no tokens is in no window (`counts["unseen_words"]`).
    """
    sentences = frame["words"].tolist()
    words = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    bare = bare_tokenizer(tokenizer)
    layout = text_layout(tokenizer)
    capacity = layout.capacity(max_length)
    pieces, lead, row_of_word = _encode_distinct(bare, sentences)
    sizes = pieces.lengths[row_of_word]
    flat = pieces.flat[positions(pieces.starts[row_of_word], sizes)]
    token_starts = starts_of(sizes)
    example, first, last = _windows(words, sizes, capacity, task.overlap)
    begins = token_starts[first]
    lengths = np.minimum(token_starts[last] - begins, capacity)
    made = assemble(layout, [Spans(flat, begins, lengths)])
    targets, seen = _targets(
        _beginning_words(sizes, lead[row_of_word])[positions(begins, lengths)],
        np.repeat(np.arange(len(example)), lengths),
        first,
        last,
        starts_of(words)[example],
        _classes(task, frame),
        positions(made.text_starts[0], lengths),
        len(made.token_ids),
    )
    counts = {
        "features": len(example),
        "tokens": len(made.token_ids),
        "truncated": len(np.unique(_owner(words)[sizes > capacity])),
        "unseen_words": int(words.sum()) - seen,
    }
    return Encoded(made.token_ids, made.starts, example, made.type_ids, targets, counts)


def _beginning_words(sizes: NDArray[np.int64], lead: NDArray[np.int64]) -> NDArray[np.int64]:
    """Say which word of the split begins (after its lead) at each token of text; -1 for none."""
    words = np.full(int(sizes.sum()), -1, dtype=np.int64)
    some = sizes > 0
    words[starts_of(sizes)[:-1][some] + lead[some]] = np.flatnonzero(some)
    return words


def _owner(words: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(words), dtype=np.int64), words)


def _classes(task: TokenClassification, frame: pd.DataFrame) -> NDArray[np.int16]:
    index = {name: number for number, name in enumerate(task.tag_names)}
    return np.fromiter((index[tag] for tag in chain.from_iterable(frame["tags"])), dtype=np.int16)


def _targets(
    global_word: NDArray[np.int64],
    feature: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    sentence_start: NDArray[np.int64],
    classes: NDArray[np.int16],
    where: NDArray[np.int64],
    tokens: int,
) -> tuple[dict[str, NDArray[Any]], int]:
    """Make word, tag and context (T,) from the words of the windows' text tokens; count the seen.

    `global_word` and `feature` are per text token, `where` is its place among all T tokens;
    `first`, `last` (exclusive) and `sentence_start` are per feature, in words of the whole split.
    """
    begins = global_word >= 0
    word, owner, where = global_word[begins], feature[begins], where[begins]
    targets: dict[str, NDArray[Any]] = {
        "word": np.full(tokens, -1, dtype=np.int32),
        "tag": np.full(tokens, -100, dtype=np.int16),
        "context": np.full(tokens, -1, dtype=np.int32),
    }
    targets["word"][where] = word - sentence_start[owner]
    targets["tag"][where] = classes[word]
    targets["context"][where] = np.minimum(word - first[owner], last[owner] - 1 - word)
    return targets, len(np.unique(word))


def _encode_distinct(
    bare: Any, sentences: list[list[str]]
) -> tuple[Ragged, NDArray[np.int64], NDArray[np.int64]]:
    """Encode each distinct word once: its tokens, its lead, and which of them each word is.

    The lead counts tokens at the front of a word that show only the space before it: some
    tokenizers keep that space apart, and a causal model can't tag a word before it sees any of it.
    """
    before = _space_before_words(bare)
    numbers: dict[str, int] = {}
    rows = np.fromiter(
        (
            numbers.setdefault(word if position == 0 else before + word, len(numbers))
            for sentence in sentences
            for position, word in enumerate(sentence)
        ),
        dtype=np.int64,
    )
    distinct = list(numbers)
    if not distinct:
        return from_lists([]), np.zeros(0, dtype=np.int64), rows
    encodings = bare.encode_batch(distinct, add_special_tokens=False)
    lead = [
        _lead(encoding.offsets, len(before) if text.startswith(" ") else 0)
        for text, encoding in zip(distinct, encodings, strict=True)
    ]
    return from_lists([e.ids for e in encodings]), np.array(lead, dtype=np.int64), rows


def _lead(offsets: list[tuple[int, int]], spaces: int) -> int:
    for position, (begin, end) in enumerate(offsets):
        if end > max(begin, spaces):
            return position
    return 0


def _space_before_words(bare: Any) -> str:
    """Find what goes before a word inside a sentence: nothing where a tokenizer splits at spaces.

    Byte-level tokenizers make the space a part of the word that follows.
    """

    def ids(text: str) -> list[int]:
        return list(bare.encode(text, add_special_tokens=False).ids)

    for before in ("", " "):
        if all(ids(f"{a} {b}") == ids(a) + ids(before + b) for a, b in _PROBES):
            return before
    return " "


def _windows(
    words: NDArray[np.int64], sizes: NDArray[np.int64], capacity: int, overlap: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Choose windows: example (F,), and first and last word (exclusive) in words of the split."""
    word_starts = starts_of(words)
    token_starts = starts_of(sizes)
    lengths = token_starts[word_starts[1:]] - token_starts[word_starts[:-1]]
    example, first, last = [], [], []
    for row in range(len(words)):
        begin, stop = int(word_starts[row]), int(word_starts[row + 1])
        spans = [(begin, stop)]
        if lengths[row] > capacity:
            spans = [
                (begin + left, begin + right)
                for left, right in split_words(sizes[begin:stop].tolist(), capacity, overlap)
            ]
        example += [row] * len(spans)
        first += [left for left, _ in spans]
        last += [right for _, right in spans]
    return np.array(example), np.array(first), np.array(last)


def split_words(sizes: list[int], capacity: int, overlap: int) -> list[tuple[int, int]]:
    """Cover a sentence of words of these sizes (tokens) by windows of at most `capacity` tokens.

    Every word is in a window; one that is larger than the capacity has a window of its own.
    Neighbours share `overlap` words, or fewer where these have more than half a window's tokens.
    """
    windows = []
    begin = 0
    while True:
        end, tokens = begin, 0
        while end < len(sizes) and (tokens + sizes[end] <= capacity or end == begin):
            tokens += sizes[end]
            end += 1
        windows.append((begin, end))
        if end == len(sizes):
            return windows
        shared = range(max(begin + 1, end - overlap), end)
        begin = next((word for word in shared if sum(sizes[word:end]) <= capacity // 2), end)
        # The next window must reach the word at which this one ended.
        while begin < end and sum(sizes[begin : end + 1]) > capacity:
            begin += 1
