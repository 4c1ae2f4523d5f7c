"""Texts and pairs of texts to features: classification, regression, queries, documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.data.encode.layout import Assembled, assemble, pair_layout, text_layout
from harness.data.encode.ragged import Spans, starts_of, tokenise
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
    bare = bare_tokenizer(tokenizer)
    layout = text_layout(tokenizer) if len(texts) == 1 else pair_layout(tokenizer, bare)
    capacity = layout.capacity(max_length)
    count = len(texts[0])
    blocks: list[Assembled] = []
    truncated = 0
    for begin in range(0, count, _TEXTS_AT_ONCE):
        ragged = [tokenise(bare, column[begin : begin + _TEXTS_AT_ONCE]) for column in texts]
        whole = [part.lengths for part in ragged]
        kept = cut_lengths(whole, capacity)
        truncated += int(np.count_nonzero(sum(kept) < sum(whole)))
        spans = [
            Spans(part.flat, part.starts[:-1], length)
            for part, length in zip(ragged, kept, strict=True)
        ]
        blocks.append(assemble(layout, spans))
    token_ids = np.concatenate([block.token_ids for block in blocks])
    type_ids = [block.type_ids for block in blocks if block.type_ids is not None]
    return Encoded(
        token_ids=token_ids,
        starts=starts_of(np.concatenate([np.diff(block.starts) for block in blocks])),
        example=np.arange(count, dtype=np.int64),
        type_ids=np.concatenate(type_ids) if type_ids else None,
        targets=targets,
        counts={"features": count, "tokens": len(token_ids), "truncated": truncated},
    )


def cut_lengths(lengths: list[NDArray[np.int64]], capacity: int) -> list[NDArray[np.int64]]:
    """Say how many tokens stay of each text, or of both texts of each pair."""
    if len(lengths) == 1:
        return [np.minimum(lengths[0], capacity)]
    first, second = lengths
    half = capacity // 2
    kept_first = np.minimum(first, np.maximum(half, capacity - second))
    return [kept_first, np.minimum(second, capacity - kept_first)]
