"""Texts and pairs of texts to features: classification, regression, queries, documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.data.encode.layout import Assembled, assemble, pair_layout, text_layout
from harness.data.encode.ragged import Ragged, Spans, positions, starts_of, tokenise
from harness.data.features import Encoded
from harness.data.tokenizers import bare_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_TEXTS_AT_ONCE = 200_000
"""Texts laid out together: bounds the memory beside the result itself, for corpora of millions."""


def encode_texts(
    texts: Sequence[list[str]],
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
    targets: dict[str, NDArray[Any]],
) -> Encoded:
    """Encode one list of texts, or two of equal length (pairs): one feature a row, in order.

    Text is cut first, and the end token is put after it: no feature lacks it. A pair that is too
    long loses tokens of its longer text until both are equally long.
    """
    return _encode(texts, tokenizer, max_length, targets, _cut)


def encode_passages(
    texts: list[str], tokenizer: PreTrainedTokenizerFast, max_length: int, overlap: int
) -> Encoded:
    """Encode texts whole: one that is too long becomes several features (see `cut_passages`).

    `counts["windowed"]` counts these texts.
    """

    def cut(ragged: list[Ragged], capacity: int) -> _Pieces:
        (text,) = ragged
        rows, begins, lengths = cut_passages(text.lengths, capacity, overlap)
        spans = [Spans(text.flat, text.starts[rows] + begins, lengths)]
        return _Pieces(rows, spans, {"windowed": int(np.count_nonzero(text.lengths > capacity))})

    return _encode([texts], tokenizer, max_length, {}, cut)


@dataclass(frozen=True)
class _Pieces:
    """What features show of a block of texts: the row of each, spans, and counts of rows."""

    rows: NDArray[np.int64]
    spans: list[Spans]
    counts: dict[str, int]


def _encode(
    texts: Sequence[list[str]],
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
    targets: dict[str, NDArray[Any]],
    cut: Callable[[list[Ragged], int], _Pieces],
) -> Encoded:
    bare = bare_tokenizer(tokenizer)
    layout = text_layout(tokenizer) if len(texts) == 1 else pair_layout(tokenizer, bare)
    capacity = layout.capacity(max_length)
    blocks: list[Assembled] = []
    rows: list[NDArray[np.int64]] = []
    counts = Counter(truncated=0)
    for begin in range(0, len(texts[0]), _TEXTS_AT_ONCE):
        block = [tokenise(bare, column[begin : begin + _TEXTS_AT_ONCE]) for column in texts]
        pieces = cut(block, capacity)
        blocks.append(assemble(layout, pieces.spans))
        rows.append(begin + pieces.rows)
        counts.update(pieces.counts)
    token_ids = np.concatenate([block.token_ids for block in blocks])
    type_ids = [block.type_ids for block in blocks if block.type_ids is not None]
    example = np.concatenate(rows)
    return Encoded(
        token_ids=token_ids,
        starts=starts_of(np.concatenate([np.diff(block.starts) for block in blocks])),
        example=example,
        type_ids=np.concatenate(type_ids) if type_ids else None,
        targets=targets,
        counts={"features": len(example), "tokens": len(token_ids), **counts},
    )


def _cut(ragged: list[Ragged], capacity: int) -> _Pieces:
    """Keep the beginning of each text, or of both texts of each pair."""
    whole = [part.lengths for part in ragged]
    kept = cut_lengths(whole, capacity)
    spans = [
        Spans(part.flat, part.starts[:-1], length)
        for part, length in zip(ragged, kept, strict=True)
    ]
    truncated = int(np.count_nonzero(sum(kept) < sum(whole)))
    return _Pieces(np.arange(len(kept[0])), spans, {"truncated": truncated})


def cut_lengths(lengths: list[NDArray[np.int64]], capacity: int) -> list[NDArray[np.int64]]:
    """Say how many tokens stay of each text, or of both texts of each pair."""
    if len(lengths) == 1:
        return [np.minimum(lengths[0], capacity)]
    first, second = lengths
    half = capacity // 2
    kept_first = np.minimum(first, np.maximum(half, capacity - second))
    return [kept_first, np.minimum(second, capacity - kept_first)]


def cut_passages(
    lengths: NDArray[np.int64], capacity: int, overlap: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cover texts by passages of at most `capacity` tokens: text, first token, tokens, (F,) each.

    Passages begin every capacity - overlap tokens (half a passage at least), but the last one ends
    with its text and is as long as the others: it may share more.
    """
    step = capacity - min(overlap, capacity // 2)
    last = np.maximum(lengths - capacity, 0)
    count = 1 + -(-last // step)
    text = np.repeat(np.arange(len(lengths), dtype=np.int64), count)
    number = positions(np.zeros(len(count), dtype=np.int64), count)
    return text, np.minimum(number * step, last[text]), np.minimum(lengths, capacity)[text]
