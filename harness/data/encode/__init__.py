"""Examples to features, one function a kind, through the cache on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from harness.data.cache import cache_key, cached
from harness.data.encode.answers import encode_questions
from harness.data.encode.tagging import encode_words
from harness.data.encode.texts import encode_passages, encode_texts
from harness.data.features import Encoded, EncodedCollection, EncodedPart
from harness.data.frames import Collection, Examples
from harness.data.lengths import query_length
from harness.data.templates import render, render_template
from harness.data.tokenizers import tokenizer_fingerprint
from harness.spec import (
    QuestionAnswering,
    Retrieval,
    SequenceClassification,
    SequenceRegression,
    Task,
    TokenClassification,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["Encoded", "EncodedCollection", "EncodedPart", "encode"]


def encode(
    task: Task,
    examples: Examples,
    split: str,
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
    cache: Path,
) -> EncodedPart:
    """Encode a split, or map its features from the cache where they lie already.

    `max_length` counts all tokens of a feature (see `harness.data.lengths`). The rows of the result
    are in the order of the split; the entry's key is made of the tokenizer, the data, the parts of
    the card that shape features, and the length. Raises DataError where the length leaves no room.
    """
    part = examples.parts[split]
    mark = tokenizer_fingerprint(tokenizer)
    if isinstance(part, Collection):
        assert isinstance(task, Retrieval)
        return _encode_collection(task, split, part, tokenizer, mark, max_length, cache)
    frame = part
    key = cache_key(
        tokenizer=mark, data=examples.fingerprints[split], card=_shape(task), length=max_length
    )
    return cached(cache, key, lambda: _encode_frame(task, frame, tokenizer, max_length))


def _encode_frame(
    task: Task, frame: pd.DataFrame, tokenizer: PreTrainedTokenizerFast, max_length: int
) -> Encoded:
    match task:
        case SequenceClassification():
            targets = {"label": frame["label"].to_numpy(np.int64)}
            return encode_texts(render(task.text, frame), tokenizer, max_length, targets)
        case SequenceRegression():
            scores = {"label": frame["label"].to_numpy(np.float32)}
            return encode_texts(render(task.text, frame), tokenizer, max_length, scores)
        case TokenClassification():
            return encode_words(task, frame, tokenizer, max_length)
        case QuestionAnswering():
            return encode_questions(task, frame, tokenizer, max_length)
        case Retrieval():
            raise AssertionError("a collection is encoded by _encode_collection")


def _encode_collection(
    task: Retrieval,
    split: str,
    part: Collection,
    tokenizer: PreTrainedTokenizerFast,
    mark: str,
    max_length: int,
    cache: Path,
) -> EncodedCollection:
    """Encode queries and documents apart, so that splits which share a corpus share its entry."""

    def encoded(
        frame: pd.DataFrame, data: str, template: str, length: int, overlap: int | None = None
    ) -> tuple[str, Encoded]:
        card = {"template": template, "passage_overlap": overlap}
        key = cache_key(tokenizer=mark, data=data, card=card, length=length)

        def build() -> Encoded:
            texts = render_template(template, frame)
            if overlap is None:
                return encode_texts([texts], tokenizer, length, {})
            return encode_passages(texts, tokenizer, length, overlap)

        return key, cached(cache, key, build)

    asked = query_length(task, max_length)
    _, queries = encoded(part.queries, part.queries_fingerprint, task.query, asked)
    corpus, documents = encoded(
        part.corpus,
        part.corpus_fingerprint,
        task.document_template(split),
        max_length,
        task.overlap_of_passages(split),
    )
    return EncodedCollection(queries, documents, corpus)


def _shape(task: Task) -> dict[str, Any]:
    """Give what of a card, beside its data, decides how features look."""
    match task:
        case SequenceClassification() | SequenceRegression():
            return {"kind": task.kind, "text": task.text}
        case TokenClassification():
            return {"kind": task.kind, "tags": task.tag_names, "overlap": task.overlap}
        case QuestionAnswering():
            return {"kind": task.kind, "stride": task.stride}
        case Retrieval():
            return {"kind": task.kind}
