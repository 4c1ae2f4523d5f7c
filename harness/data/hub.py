"""The hub source of a task card, read through `datasets`, which is imported only here.

A folder of parquet files works in place of a repository id. Nothing here decides whether the
network may be used: `HF_HUB_OFFLINE` does, and a set that is not there is named with what to do.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness.data.formats.ranking import beir_frame, unique_qrels
from harness.data.ranking import Judged, RankingSource
from harness.data.rows import Rows
from harness.data.standard import standard_frame
from harness.errors import DataError
from harness.spec import HubSource, Role, Task


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
    """Read a repository in BEIR's layout.

    Its configurations `corpus` and `queries` hold the texts; the splits of the sister repository
    `<path>-qrels` hold the judgements.
    """
    corpus = _beir_texts(source, "corpus")
    queries = _beir_texts(source, "queries")
    judged = {}
    for role, split in splits.items():
        origin = f"{source.path}-qrels[{split}]"
        rows = Rows(dict(_load(f"{source.path}-qrels", None, None, split)[:]), origin)
        qrels = pd.DataFrame(
            {
                "query_id": [str(value) for value in rows.column("query-id")],
                "document_id": [str(value) for value in rows.column("corpus-id")],
                "relevance": pd.Series(rows.column("score"), dtype="int64"),
            }
        )
        judged[role] = Judged(queries, unique_qrels(qrels, origin), origin)
    return RankingSource(corpus, judged)


def _beir_texts(source: HubSource, name: str) -> pd.DataFrame:
    table = _load(source.path, name, source.revision, name)
    items = table.select_columns([c for c in ("_id", "title", "text") if c in table.features])
    return beir_frame(items.to_list(), f"{source.path}/{name}")


def _class_names(feature: Any) -> list[str] | None:
    """Give the names of a ClassLabel, or of a list of them."""
    names: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _load(path: str, name: str | None, revision: str | None, split: str) -> Any:
    # Slow to import, and of no use to workers whose data are native files.
    import datasets

    datasets.disable_progress_bars()
    try:
        return datasets.load_dataset(path, name, revision=revision, split=split)
    except Exception as error:  # it raises whatever its layers raise
        where = f"{path}{f'/{name}' if name else ''}[{split}]"
        raise DataError(
            f"{where}: can't be loaded from the hub ({type(error).__name__}: {error}). "
            "Where there is no network, bring it once with `harness fetch --grid FILE`, "
            "or give native files with --data-root"
        ) from error
