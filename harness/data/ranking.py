"""Collections of a retrieval task: which queries, documents and judgements belong to a split."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.frames import Collection, Corpus, is_among
from harness.errors import DataError
from harness.spec import Role


@dataclass(frozen=True)
class Judged:
    """The topics and judgements of one split as a source gave them; `origin` is for errors."""

    queries: pd.DataFrame
    qrels: pd.DataFrame
    origin: str


ReadCorpus = Callable[[Set[str] | None], pd.DataFrame]
"""Reads the documents of these ids, or all of them: id, text, and title where there are some."""


@dataclass(frozen=True)
class RankingSource:
    """The judged topics of each split that a source has, and how to read its corpus."""

    judged: dict[Role, Judged]
    read_corpus: ReadCorpus


@dataclass(frozen=True)
class FurtherSource:
    """The judged topics of a further collection, and how to read its corpus.

    None: it ranks the corpus of the task itself.
    """

    judged: Judged
    read_corpus: ReadCorpus | None


def judged_documents(*judged: Judged) -> frozenset[str]:
    """Name the documents that are judged for some query of these splits."""
    return frozenset(name for some in judged for name in some.qrels["document_id"])


def make_collection(corpus: Corpus, judged: Judged) -> Collection:
    """Keep the queries that are judged, in the order of their file; all documents stay.

    Raises DataError where a judged query has no text.
    """
    known = is_among(judged.qrels["query_id"], judged.queries["id"])
    if not known.all():
        query = judged.qrels["query_id"][int((~known).argmax())]
        raise DataError(
            f"{judged.origin}: query {query!r} is judged but has no text; "
            "give the topics that belong to these qrels"
        )
    keep = is_among(judged.queries["id"], judged.qrels["query_id"])
    queries = judged.queries.loc[keep, ["id", "text"]].reset_index(drop=True)
    return Collection(queries, corpus, judged.qrels)


def with_title(corpus: pd.DataFrame) -> pd.DataFrame:
    """Give every document a title, empty where its source has none."""
    if list(corpus.columns) == ["id", "title", "text"]:
        return corpus
    return corpus.assign(title="")[["id", "title", "text"]]


def choose_queries(collection: Collection, rows: NDArray[np.int64]) -> Collection:
    """Keep some queries (rows of `queries`, ascending) with their judgements."""
    queries = collection.queries.iloc[rows].reset_index(drop=True)
    qrels = collection.qrels
    qrels = qrels[is_among(qrels["query_id"], queries["id"])].reset_index(drop=True)
    return Collection(queries, collection.ranked, qrels)


def keep_judged_documents(collection: Collection, origin: str) -> Collection:
    """Keep the documents that are judged for some query of the split, in corpus order."""
    corpus = collection.corpus
    judged = is_among(corpus["id"], collection.qrels["document_id"])
    corpus = corpus[judged].reset_index(drop=True)
    if not len(corpus):
        raise DataError(f"{origin}: none of the judged documents is in the corpus")
    return Collection(collection.queries, Corpus(corpus), collection.qrels)
