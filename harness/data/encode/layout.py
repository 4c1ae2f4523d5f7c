"""The tokens that a tokenizer puts before, between and after texts, and features laid out so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.data.encode.ragged import Spans, positions, starts_of
from harness.errors import DataError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@dataclass(frozen=True)
class Layout:
    """Fixed tokens around one text or two: fixed[0] text fixed[1] (text fixed[2]).

    `fixed` are token ids (int32), `fixed_types` and `text_types` their type ids.
    """

    fixed: tuple[NDArray[np.int32], ...]
    fixed_types: tuple[NDArray[np.uint8], ...]
    text_types: tuple[int, ...]
    has_type_ids: bool

    def capacity(self, max_length: int) -> int:
        """Count the tokens of text that fit; DataError where the length leaves no room."""
        room = max_length - sum(len(ids) for ids in self.fixed)
        if room < 2 * len(self.text_types):
            raise DataError(
                f"max_length {max_length} leaves {max(room, 0)} tokens for the text itself; "
                "give the task a greater max_length"
            )
        return room


def text_layout(tokenizer: PreTrainedTokenizerFast) -> Layout:
    """Find the layout of a single text.

    A tokenizer that puts nothing at the end (most decoders' do not) gets its end token there.
    """
    ids, types, sequence = _probe(tokenizer, "a")
    return _layout(tokenizer, ids, types, sequence, 1, None)


def pair_layout(tokenizer: PreTrainedTokenizerFast, bare: Any) -> Layout:
    r"""Find the layout of two texts: the tokenizer's own separators, or "\n" where it has none."""
    ids, types, sequence = _probe(tokenizer, "a", "b")
    newline = np.array(bare.encode("\n", add_special_tokens=False).ids, dtype=np.int32)
    return _layout(tokenizer, ids, types, sequence, 2, newline)


def _probe(
    tokenizer: PreTrainedTokenizerFast, *texts: str
) -> tuple[NDArray[np.int32], NDArray[np.uint8], list[int]]:
    """Encode a pattern: its ids, its type ids, and which text each token is of (-1: none)."""
    encoding = tokenizer(*texts, return_token_type_ids=True)
    sequence = [-1 if number is None else number for number in encoding.sequence_ids(0)]
    ids = np.array(encoding["input_ids"], dtype=np.int32)
    return ids, np.array(encoding["token_type_ids"], dtype=np.uint8), sequence


def _layout(
    tokenizer: PreTrainedTokenizerFast,
    ids: NDArray[np.int32],
    types: NDArray[np.uint8],
    sequence: list[int],
    texts: int,
    newline: NDArray[np.int32] | None,
) -> Layout:
    first = [sequence.index(number) for number in range(texts)]
    last = [len(sequence) - sequence[::-1].index(number) for number in range(texts)]
    gaps = list(zip([0, *last], [*first, len(ids)], strict=True))
    fixed = [ids[begin:end] for begin, end in gaps]
    fixed_types = [types[begin:end] for begin, end in gaps]
    # A begin token repeated before the second text separates nothing.
    if newline is not None and (not len(fixed[1]) or np.array_equal(fixed[1], fixed[0])):
        fixed[1], fixed_types[1] = newline, np.zeros(len(newline), dtype=np.uint8)
    if not len(fixed[-1]):
        fixed[-1] = np.array([_end_token(tokenizer)], dtype=np.int32)
        fixed_types[-1] = types[last[-1] - 1 : last[-1]]
    return Layout(
        tuple(fixed),
        tuple(fixed_types),
        tuple(int(types[position]) for position in first),
        "token_type_ids" in tokenizer.model_input_names,
    )


def _end_token(tokenizer: PreTrainedTokenizerFast) -> int:
    for token in (tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id):
        if token is not None:
            return int(token)
    raise AssertionError("load_tokenizer gives every tokenizer a pad token")


@dataclass(frozen=True)
class Assembled:
    """F features: `token_ids`, `starts`, `type_ids` as in Encoded, and where their texts begin.

    `text_starts` holds an int64 (F,) a text: positions in `token_ids`.
    """

    token_ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    type_ids: NDArray[np.uint8] | None
    text_starts: tuple[NDArray[np.int64], ...]


def assemble(layout: Layout, texts: Sequence[Spans]) -> Assembled:
    """Lay out features: the fixed tokens around one span (or two) of text each."""
    fixed_length = sum(len(ids) for ids in layout.fixed)
    starts = starts_of(fixed_length + np.sum([spans.lengths for spans in texts], axis=0))
    token_ids = np.empty(int(starts[-1]), dtype=np.int32)
    type_ids = np.empty(len(token_ids), dtype=np.uint8) if layout.has_type_ids else None
    cursor = starts[:-1].copy()
    text_starts = []
    for number, ids in enumerate(layout.fixed):
        where = cursor[:, None] + np.arange(len(ids))
        token_ids[where] = ids
        if type_ids is not None:
            type_ids[where] = layout.fixed_types[number]
        cursor = cursor + len(ids)
        if number == len(texts):
            break
        spans = texts[number]
        where = positions(cursor, spans.lengths)
        token_ids[where] = spans.flat[positions(spans.begins, spans.lengths)]
        if type_ids is not None:
            type_ids[where] = layout.text_types[number]
        text_starts.append(cursor)
        cursor = cursor + spans.lengths
    return Assembled(token_ids, starts, type_ids, tuple(text_starts))
