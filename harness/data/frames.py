"""Loaded examples: one pandas frame a split, with the standard columns of its kind.

    sequence_classification  id, the card's text columns, label (int64, index into `task.labels`)
    sequence_regression      id, the card's text columns, label (float64)
    token_classification     id, words (list of str), tags (list of str, IOB2)
    question_answering       id, question, context, answers (list of {"text", "start"}; [] = none)
    retrieval                a `Collection`

Every frame has a RangeIndex, and an `id` (str) which is unique within the split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from harness.data.fingerprints import fingerprint_frame
from harness.spec import Task


@dataclass(frozen=True)
class Corpus:
    """Documents to rank: id, title ("" where there is none), text.

    The splits that rank them hold the same object, so that millions of them are digested once.
    """

    documents: pd.DataFrame

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of the content of the documents."""
        return fingerprint_frame(self.documents)


@dataclass(frozen=True)
class Collection:
    """Queries, the documents to rank for them, and which document is how relevant to which query.

    `queries`: id, text (only judged queries). `qrels`: query_id, document_id, relevance (int64); a
    document of theirs may lack in the corpus.
    """

    queries: pd.DataFrame
    ranked: Corpus
    qrels: pd.DataFrame

    @property
    def corpus(self) -> pd.DataFrame:
        """The documents: id, title, text."""
        return self.ranked.documents

    @cached_property
    def queries_fingerprint(self) -> str:
        """16 hex digits of the content of the queries."""
        return fingerprint_frame(self.queries)

    @property
    def corpus_fingerprint(self) -> str:
        """16 hex digits of the content of the corpus."""
        return self.ranked.fingerprint


@dataclass(frozen=True)
class Examples:
    """The splits of a task: train, validation, test, then the further test sets of its card.

    `source` is `native`, `hub`, or `native and hub` where a further collection is from elsewhere.
    `left_out` counts the rows with too few fields that the file of a split has, for the splits
    whose card lets them be left out.
    """

    task: Task
    parts: dict[str, pd.DataFrame | Collection]
    fingerprints: dict[str, str]
    source: str
    left_out: dict[str, int] = field(default_factory=dict)


def count_examples(part: pd.DataFrame | Collection) -> int:
    """Count the examples of a split: rows, or queries."""
    return len(part.queries if isinstance(part, Collection) else part)


def training_pairs(collection: Collection, min_relevance: int) -> pd.DataFrame:
    """List the positive pairs (query_id, document_id), in the order of the qrels.

    A pair counts from that grade on, and only where its document is in the corpus.
    """
    qrels = collection.qrels
    there = is_among(qrels["document_id"], collection.corpus["id"])
    positive = there & (qrels["relevance"] >= min_relevance)
    return qrels.loc[positive, ["query_id", "document_id"]].reset_index(drop=True)


def is_among(ids: pd.Series, known: pd.Series) -> NDArray[np.bool_]:
    """Say of each id whether it is one of those known, (ids,).

    As `ids.isin(known)`, which turns every known id into an object: a minute for MS MARCO's.
    """
    texts = (pa.array(column, type=pa.large_string()) for column in (ids, known))
    return np.asarray(pc.is_in(*texts), dtype=np.bool_)
