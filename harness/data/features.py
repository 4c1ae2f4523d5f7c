"""Encoded features: what the loop and the predictor read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Encoded:
    """The ragged features of one split, or of the queries or documents of a collection.

    F features have T tokens together; `starts[f]` to `starts[f + 1]` are those of feature f.

        token_ids  int32 (T,)
        starts     int64 (F + 1,)
        example    int64 (F,)    row of the split's frame that the feature was made from
        type_ids   uint8 (T,), or None where the tokenizer's model takes none
        targets    by kind:
            sequence_classification  label int64 (F,)
            sequence_regression      label float32 (F,)
            token_classification     word int32 (T,): index in the example of the word that begins
                                     at this token, else -1; tag int16 (T,): class of that word,
                                     else -100; context int32 (T,): the smaller of the numbers of
                                     words to its left and right within the window, else -1
            question_answering       start, end int32 (F,): token positions in the feature, the end
                                     inclusive, both = null where the answer is not whole in this
                                     window; null int32 (F,): position of the null token;
                                     offset_start, offset_end int32 (T,): character span in the
                                     context (end exclusive, without white space at its ends), -1
                                     for tokens that show no character of the context;
                                     context_begin int32 (F,): position in the feature less place
                                     among the tokens of the context, of every context token;
                                     gold_first, gold_last int32 (F,): places of the first gold
                                     answer, in this window or not, -1 where there is none
            retrieval                none
        counts     features, tokens, truncated (examples cut by the length), and what a kind adds;
                   for documents in passages windowed (those that have more than one)
    """

    token_ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    example: NDArray[np.int64]
    type_ids: NDArray[np.uint8] | None
    targets: dict[str, NDArray[Any]]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.example)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each feature, int64 (F,)."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class EncodedCollection:
    """The queries and documents of a collection, in the order of its frames.

    Each is one feature, save that documents to be ranked may be in several passages. `corpus` names
    the content of `documents`: where it is equal they are.
    """

    queries: Encoded
    documents: Encoded
    corpus: str


EncodedPart = Encoded | EncodedCollection
