"""The native files of a task card, below a data root."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from harness.data.formats.conll import read_conll
from harness.data.formats.cranfield import (
    read_cranfield_documents,
    read_cranfield_qrels,
    read_cranfield_queries,
)
from harness.data.formats.ranking import read_beir_texts, read_qrels, read_tsv_texts
from harness.data.formats.record import read_record
from harness.data.formats.squad import read_squad
from harness.data.formats.tables import read_table
from harness.data.ranking import FurtherSource, Judged, RankingSource
from harness.data.rows import Rows
from harness.data.standard import standard_frame
from harness.errors import DataError
from harness.spec import (
    BeirCollection,
    BeirFolder,
    ConllFiles,
    CranfieldFiles,
    NativeSource,
    QuestionAnswering,
    RecordFiles,
    Role,
    SquadFiles,
    TableFiles,
    Task,
    TaskOfRows,
    TokenClassification,
    TrecCollection,
    TrecFiles,
)


def native_files(task: Task, source: NativeSource, roles: tuple[Role, ...]) -> tuple[str, ...]:
    """Name the files, relative to the data root, that these roles and further test sets need."""
    match source:
        case BeirFolder():
            qrels = [_beir_qrels(source.folder, getattr(source, role)) for role in roles]
            return (*_beir_texts(source.folder), *qrels)
        case TrecFiles():
            topics = [getattr(source, role) for role in roles]
            names = [name for pair in topics for name in (pair.queries, pair.qrels)]
            return (source.corpus, *names)
        case CranfieldFiles():
            return (source.corpus, source.queries, source.qrels)
        case _:
            splits = (*roles, *task.further)
            return tuple(native_file(task, source, split) for split in splits)


def native_file(task: Task, source: NativeSource, split: str) -> str:
    """Name the file of a split; DataError where a further test set has none."""
    if split not in task.further:
        return str(getattr(source, split))
    assert isinstance(task, TaskOfRows)
    assert task.test_sets is not None
    name = task.test_sets[split].native
    if name is None:
        raise DataError(
            f"task {task.name}: test set {split} has no `native` file, and the rest of the task is "
            "read from native files; name one, or leave the set out"
        )
    return name


def collection_files(place: TrecCollection | BeirCollection) -> tuple[str, ...]:
    """Name the files, relative to the data root, of a further collection."""
    if isinstance(place, BeirCollection):
        return (*_beir_texts(place.folder), _beir_qrels(place.folder, place.qrels))
    own = () if place.corpus is None else (place.corpus,)
    return (*own, place.queries, place.qrels)


def has_role(source: NativeSource, role: Role) -> bool:
    """Tell whether the source names a file for a role."""
    return getattr(source, role, None) is not None


def _beir_texts(folder: str) -> tuple[str, str]:
    return f"{folder}/corpus.jsonl", f"{folder}/queries.jsonl"


def _beir_qrels(folder: str, name: str) -> str:
    return f"{folder}/qrels/{name.removesuffix('.tsv')}.tsv"


def read_native_frame(
    task: Task, source: NativeSource, root: Path, split: str
) -> tuple[pd.DataFrame, int | None]:
    """Read one split of a task that is no retrieval, and count the rows that were left out.

    None where the card lets no row be left out.
    """
    rows = _read_rows(task, source, root / native_file(task, source, split))
    return standard_frame(task, rows), rows.left_out


def _read_rows(task: Task, source: NativeSource, path: Path) -> Rows:
    match source, task:
        case TableFiles(), _:
            return read_table(path, source)
        case ConllFiles(), TokenClassification():
            return read_conll(path, source, task.words, task.tags)
        case SquadFiles(), QuestionAnswering():
            return read_squad(path)
        case RecordFiles(), QuestionAnswering():
            return read_record(path)
    raise DataError(f"task {task.name}: format {source.format} does not hold a task of {task.kind}")


def read_native_ranking(
    task: Task, source: NativeSource, root: Path, roles: tuple[Role, ...]
) -> RankingSource:
    """Read the topics and judgements of a retrieval task; its corpus can be read afterwards."""
    match source:
        case BeirFolder():
            corpus, topics = (root / name for name in _beir_texts(source.folder))
            queries = read_beir_texts(topics)
            paths = {
                role: root / _beir_qrels(source.folder, getattr(source, role)) for role in roles
            }
            judged = {
                role: Judged(queries, read_qrels(path), str(path)) for role, path in paths.items()
            }
            return RankingSource(judged, partial(read_beir_texts, corpus))
        case TrecFiles():
            judged = {}
            for role in roles:
                place = getattr(source, role)
                judged[role] = _read_topics(root, place.queries, place.qrels)
            return RankingSource(judged, partial(read_tsv_texts, root / source.corpus))
        case CranfieldFiles():
            qrels = read_cranfield_qrels(root / source.qrels)
            queries = read_cranfield_queries(root / source.queries)
            every = Judged(queries, qrels, str(root / source.qrels))
            documents = partial(read_cranfield_documents, root / source.corpus)
            return RankingSource({"train": every}, documents)
    raise DataError(f"task {task.name}: format {source.format} does not hold a task of {task.kind}")


def read_native_collection(place: TrecCollection | BeirCollection, root: Path) -> FurtherSource:
    """Read the judged topics of a further collection; its corpus can be read afterwards."""
    if isinstance(place, BeirCollection):
        corpus, topics = (root / name for name in _beir_texts(place.folder))
        qrels = root / _beir_qrels(place.folder, place.qrels)
        judged = Judged(read_beir_texts(topics), read_qrels(qrels), str(qrels))
        return FurtherSource(judged, partial(read_beir_texts, corpus))
    judged = _read_topics(root, place.queries, place.qrels)
    own = None if place.corpus is None else partial(read_tsv_texts, root / place.corpus)
    return FurtherSource(judged, own)


def _read_topics(root: Path, queries: str, qrels: str) -> Judged:
    return Judged(read_tsv_texts(root / queries), read_qrels(root / qrels), str(root / qrels))
