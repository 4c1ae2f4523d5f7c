"""Rows of unequal length in one flat array, and how to gather spans of them without a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ragged:
    """Token ids of N texts: `flat` int32 (T,), text n from `starts[n]` to `starts[n + 1]`."""

    flat: NDArray[np.int32]
    starts: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each text, int64 (N,)."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Spans:
    """A span of a flat array for each of F features: where it begins, and its length."""

    flat: NDArray[np.int32]
    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]


def starts_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn N lengths into N + 1 starts, from 0 to their sum."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def positions(begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the positions of many spans one after another: begin, begin + 1, ... of each."""
    starts = starts_of(lengths)
    return np.repeat(begins - starts[:-1], lengths) + np.arange(starts[-1], dtype=np.int64)


def from_lists(rows: Sequence[Sequence[int]]) -> Ragged:
    """Flatten lists of token ids."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    starts = starts_of(lengths)
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(starts[-1]))
    return Ragged(flat, starts)


def concatenate(parts: Sequence[Ragged]) -> Ragged:
    """Put several blocks of texts one after another."""
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(np.concatenate([part.flat for part in parts]), starts_of(lengths))


def tokenise(bare: Any, texts: Sequence[str], at_once: int = 20_000) -> Ragged:
    """Encode texts without special tokens, in batches, with a tokenizer from `bare_tokenizer`."""
    blocks = []
    for begin in range(0, len(texts), at_once):
        encodings = bare.encode_batch_fast(
            list(texts[begin : begin + at_once]), add_special_tokens=False
        )
        blocks.append(from_lists([encoding.ids for encoding in encodings]))
    return concatenate(blocks)
