"""What a worker keeps between runs: examples, encoded data, and the weights of one checkpoint."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.encode import EncodedCollection, EncodedPart, encode
from harness.data.frames import Collection, Examples, training_pairs
from harness.data.lengths import effective_max_length
from harness.data.sources import load_examples
from harness.data.tokenizers import load_tokenizer
from harness.errors import CheckpointError
from harness.execute.record import Clock, Workplace
from harness.models.backbone import Backbone, load_backbone
from harness.models.probe import probe
from harness.spec import Checkpoint, Retrieval, Task

Kept = TypeVar("Kept")


class Recent(Generic[Kept]):
    """Keeps the values that were used last, and makes those that are missing."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, Kept] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return the value of a key; the oldest one leaves before a new one is made."""
        if key not in self._values:
            while len(self._values) >= self._size:
                self._values.popitem(last=False)
            self._values[key] = make()
        self._values.move_to_end(key)
        return self._values[key]

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()


@dataclass(frozen=True)
class LoadedCheckpoint:
    """A checkpoint in memory, and whether its first token sees the last one."""

    backbone: Backbone
    tokenizer: Any
    sees_future: bool


@dataclass(frozen=True)
class Prepared:
    """All that a run needs and does not change."""

    examples: Examples
    loaded: LoadedCheckpoint
    encoded: dict[str, EncodedPart]
    pairs: NDArray[np.int64] | None


class Warm:
    """Prepares runs, from memory where it can."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._examples: Recent[Examples] = Recent(2)
        self._checkpoints: Recent[LoadedCheckpoint] = Recent(1)  # weights are what fills the memory
        self._encoded: Recent[dict[str, EncodedPart]] = Recent(2)
        self._pairs: Recent[NDArray[np.int64] | None] = Recent(2)

    def prepare(self, task: Task, checkpoint: Checkpoint, clock: Clock) -> Prepared:
        """Give the data and the checkpoint of a run.

        Raises:
            DataError, CheckpointError: one of them can't be used.
        """
        with clock.phase("load"):
            examples = self._examples.get(
                task.identity, lambda: load_examples(task, self._workplace.data_root)
            )
            loaded = self._checkpoints.get(checkpoint.identity, lambda: _load(checkpoint))
        with clock.phase("encode"):
            encoded = self._encoded.get(
                (task.identity, checkpoint.fingerprint),
                lambda: self._encode(task, examples, loaded),
            )
            pairs = self._pairs.get(task.identity, lambda: _pair_rows(task, examples))
        return Prepared(examples, loaded, encoded, pairs)

    def forget(self) -> None:
        """Drop everything: after a fault nothing in memory is trusted."""
        for kept in (self._examples, self._checkpoints, self._encoded, self._pairs):
            kept.clear()

    def _encode(
        self, task: Task, examples: Examples, loaded: LoadedCheckpoint
    ) -> dict[str, EncodedPart]:
        tokenizer, config = loaded.tokenizer, loaded.backbone.config
        lengths = {
            split: effective_max_length(task, tokenizer, config, split) for split in examples.parts
        }
        cache = self._workplace.cache
        encoded = {
            split: encode(task, examples, split, tokenizer, length, cache)
            for split, length in lengths.items()
        }
        for part in encoded.values():
            _refuse_unknown_ids(loaded.backbone, part)
        return encoded


def _load(checkpoint: Checkpoint) -> LoadedCheckpoint:
    backbone = load_backbone(checkpoint)
    tokenizer = load_tokenizer(checkpoint.tokenizer or checkpoint.path)
    return LoadedCheckpoint(backbone, tokenizer, probe(backbone))


def _refuse_unknown_ids(backbone: Backbone, part: EncodedPart) -> None:
    """Refuse token ids without an embedding: on a GPU they would break the process, not the run."""
    rows = backbone.module.get_input_embeddings().num_embeddings
    sides = (part.queries, part.documents) if isinstance(part, EncodedCollection) else (part,)
    largest = max(int(side.token_ids.max(initial=0)) for side in sides)
    if largest >= rows:
        raise CheckpointError(
            f"{backbone.checkpoint.path}: its tokenizer gives token {largest}, but its embedding "
            f"has {rows} rows; it needs the tokenizer that it was trained with"
        )


def _pair_rows(task: Task, examples: Examples) -> NDArray[np.int64] | None:
    """Give the training pairs of a retrieval task, (n, 2): rows of its queries and documents."""
    collection = examples.parts["train"]
    if not isinstance(task, Retrieval) or not isinstance(collection, Collection):
        return None
    pairs = training_pairs(collection, task.min_relevance)
    queries = pd.Index(collection.queries["id"]).get_indexer(pairs["query_id"])
    documents = pd.Index(collection.corpus["id"]).get_indexer(pairs["document_id"])
    return np.stack([queries, documents], axis=1).astype(np.int64)
