"""The hub source of a task card, read through `datasets`, which is imported only here.

A folder of parquet files works in place of a repository id. Nothing here decides whether the
network may be used: `HF_HUB_OFFLINE` does, and a set that is not there is named with what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import partial
from itertools import count
from typing import Any

import pandas as pd

from harness.data.formats.ranking import Kept, Place, beir_frame, text_frame, unique_qrels
from harness.data.ranking import FurtherSource, Judged, RankingSource
from harness.data.rows import Rows
from harness.data.standard import standard_frame
from harness.errors import AbsentDataError, DataError
from harness.spec import HubCollection, HubSource, Role, Task

ROWS_AT_ONCE = 10_000
"""Rows of a corpus that are Python objects at once."""


def read_hub_frame(task: Task, source: HubSource, split: str) -> pd.DataFrame:
    """Read one split of a task that is no retrieval."""
    return standard_frame(task, read_hub_rows(source, split))


def read_hub_rows(source: HubSource, split: str) -> Rows:
    """Read every row of a split under the card's column names, with the names of its classes."""
    table = _load(source.path, source.name, source.revision, split)
    origin = f"{source.path}{f'/{source.name}' if source.name else ''}[{split}]"
    if not len(table):
        raise DataError(f"{origin}: it has no rows")
    names = {
        column: tuple(found)
        for column, feature in table.features.items()
        if (found := _class_names(feature)) is not None
    }
    return Rows(dict(table[:]), origin, class_names=names).renamed(source.rename)


def read_hub_ranking(source: HubSource, splits: dict[Role, str]) -> RankingSource:
    """Read the topics of a repository in BEIR's layout; its corpus can be read afterwards.

    Its configurations `corpus` and `queries` hold the texts; the splits of the sister repository
    `<path>-qrels` hold the judgements.
    """
    queries = _beir_texts(source.path, source.revision, "queries")
    judged: dict[Role, Judged] = {
        role: _judged(queries, f"{source.path}-qrels", None, None, split)
        for role, split in splits.items()
    }
    return RankingSource(judged, partial(_beir_texts, source.path, source.revision, "corpus"))


def read_hub_collection(place: HubCollection) -> FurtherSource:
    """Read the topics of a further collection, by its layout; its corpus can be read afterwards."""
    path, revision = place.path, place.revision
    if place.layout == "mldr":
        return FurtherSource(_mldr_topics(place), partial(_mldr_documents, place))
    queries = _beir_texts(path, revision, "queries")
    if place.layout == "beir":
        judged = _judged(queries, f"{path}-qrels", None, None, place.split)
    else:
        judged = _judged(queries, path, "default", revision, place.split)
    return FurtherSource(judged, partial(_beir_texts, path, revision, "corpus"))


def _judged(
    queries: pd.DataFrame, path: str, name: str | None, revision: str | None, split: str
) -> Judged:
    origin = f"{path}[{split}]"
    rows = Rows(dict(_load(path, name, revision, split)[:]), origin)
    qrels = pd.DataFrame(
        {
            "query_id": [str(value) for value in rows.column("query-id")],
            "document_id": [str(value) for value in rows.column("corpus-id")],
            "relevance": pd.Series(rows.column("score"), dtype="int64"),
        }
    )
    return Judged(queries, unique_qrels(qrels, _place(origin)), origin)


def _beir_texts(path: str, revision: str | None, name: str, kept: Kept = None) -> pd.DataFrame:
    table = _load(path, name, revision, None)
    table = table.select_columns([c for c in ("_id", "title", "text") if c in table.features])
    place = _place(f"{path}/{name}")
    return beir_frame(_items(table, "_id", f"{path}/{name}", kept), place, kept)


def _mldr_topics(place: HubCollection) -> Judged:
    """Read a row a query, with its positive passages, of MLDR's layout."""
    origin = f"{place.path}[{place.split}]"
    asked = Rows(dict(_load(place.path, "default", place.revision, place.split)[:]), origin)
    ids = [str(value) for value in asked.column("query_id")]
    texts = [text.strip() for text in asked.column("query")]
    queries = text_frame(("id", "text"), zip(count(), ids, texts), _place(origin))
    pairs = dict.fromkeys(
        (query, str(passage["docid"]), 1)
        for query, passages in zip(ids, asked.column("positive_passages"), strict=True)
        for passage in passages
    )
    qrels = pd.DataFrame(list(pairs), columns=["query_id", "document_id", "relevance"])
    return Judged(queries, qrels, origin)


def _mldr_documents(place: HubCollection, kept: Kept = None) -> pd.DataFrame:
    """Read documents `docid, text` of MLDR's layout."""
    origin = f"{place.path}/corpus"
    table = _load(place.path, "corpus", place.revision, None)
    items = _items(table.select_columns(["docid", "text"]), "docid", origin, kept)
    rows = ((number, str(item["docid"]), item["text"].strip()) for number, item in items)
    return text_frame(("id", "text"), rows, _place(origin), kept)


def _items(
    table: Any, column: str, origin: str, kept: Kept
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the rows of these ids, or all, with their numbers, a piece of the table at a time."""
    if not len(table):
        raise DataError(f"{origin}: it is empty")
    for begin in range(0, len(table), ROWS_AT_ONCE):
        some: Sequence[int] = range(begin, min(begin + ROWS_AT_ONCE, len(table)))
        if kept is not None and column in table.features:
            ids = table.select_columns([column]).select(some).to_list()
            # A row without an id is kept to be refused by name.
            some = [n for n, row in zip(some, ids, strict=True) if _is_kept(row[column], kept)]
        yield from zip(some, table.select(some).to_list(), strict=True)


def _is_kept(value: Any, kept: Set[str]) -> bool:
    return value is None or str(value) in kept


def _place(origin: str) -> Place:
    return lambda row: f"{origin}: row {row}"


def _class_names(feature: Any) -> list[str] | None:
    """Give the names of a ClassLabel, or of a list of them."""
    names: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _load(path: str, name: str | None, revision: str | None, split: str | None) -> Any:
    """Load a split, or the only one of a configuration."""
    # Slow to import, and of no use to workers whose data are native files.
    import datasets

    datasets.disable_progress_bars()
    where = f"{path}{f'/{name}' if name else ''}{f'[{split}]' if split else ''}"
    try:
        loaded = datasets.load_dataset(path, name, revision=revision, split=split)
    except Exception as error:  # it raises whatever its layers raise
        if isinstance(error, ConnectionError):
            _stop_asking(datasets.config)
        raise AbsentDataError(
            f"{where}: can't be loaded from the hub ({type(error).__name__}: {error}). "
            "Where there is no network, bring it once with `harness fetch --grid FILE` and set "
            "HF_HUB_OFFLINE=1, or give native files with --data-root"
        ) from error
    if split is not None:
        return loaded
    if len(loaded) != 1:
        raise DataError(f"{where}: needs one split, it has {', '.join(loaded)}")
    return next(iter(loaded.values()))


def _stop_asking(config: Any) -> None:
    """Leave the network alone from now on: what else is needed is in the cache or fails at once.

    The hub was out of reach for as long as its client is patient, half a minute a data set.
    """
    from huggingface_hub import constants

    config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
