"""The native files of a task card, below a data root."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.data.formats.conll import read_conll
from harness.data.formats.ranking import read_beir_texts, read_qrels, read_tsv_texts
from harness.data.formats.squad import read_squad
from harness.data.formats.tables import read_table
from harness.data.ranking import Judged, RankingSource
from harness.data.rows import Rows
from harness.data.standard import standard_frame
from harness.errors import DataError
from harness.spec import (
    BeirFolder,
    ConllFiles,
    NativeSource,
    QuestionAnswering,
    Role,
    SquadFiles,
    TableFiles,
    Task,
    TokenClassification,
    TrecFiles,
)


def native_files(source: NativeSource, roles: tuple[Role, ...]) -> tuple[str, ...]:
    """Name the files, relative to the data root, that these roles need."""
    match source:
        case BeirFolder():
            qrels = [_beir_qrels(source, role) for role in roles]
            names = [f"{source.folder}/{name}" for name in ("corpus.jsonl", "queries.jsonl")]
            return (*names, *qrels)
        case TrecFiles():
            topics = [getattr(source, role) for role in roles]
            names = [name for pair in topics for name in (pair.queries, pair.qrels)]
            return (source.corpus, *names)
        case _:
            return tuple(getattr(source, role) for role in roles)


def has_role(source: NativeSource, role: Role) -> bool:
    """Tell whether the source names a file for a role."""
    return getattr(source, role) is not None


def _beir_qrels(source: BeirFolder, role: Role) -> str:
    name = str(getattr(source, role)).removesuffix(".tsv")
    return f"{source.folder}/qrels/{name}.tsv"


def read_native_frame(task: Task, source: NativeSource, root: Path, role: Role) -> pd.DataFrame:
    """Read one split of a task that is no retrieval."""
    return standard_frame(task, _read_rows(task, source, root / str(getattr(source, role))))


def _read_rows(task: Task, source: NativeSource, path: Path) -> Rows:
    match source, task:
        case TableFiles(), _:
            return read_table(path, source)
        case ConllFiles(), TokenClassification():
            return read_conll(path, source, task.words, task.tags)
        case SquadFiles(), QuestionAnswering():
            return read_squad(path)
    raise DataError(f"task {task.name}: format {source.format} does not hold a task of {task.kind}")


def read_native_ranking(
    task: Task, source: NativeSource, root: Path, roles: tuple[Role, ...]
) -> RankingSource:
    """Read the corpus, topics and judgements of a retrieval task."""
    match source:
        case BeirFolder():
            folder = root / source.folder
            queries = read_beir_texts(folder / "queries.jsonl")
            paths = {role: root / _beir_qrels(source, role) for role in roles}
            judged = {
                role: Judged(queries, read_qrels(path), str(path)) for role, path in paths.items()
            }
            return RankingSource(read_beir_texts(folder / "corpus.jsonl"), judged)
        case TrecFiles():
            judged = {}
            for role in roles:
                topics = getattr(source, role)
                qrels = read_qrels(root / topics.qrels)
                queries = read_tsv_texts(root / topics.queries)
                judged[role] = Judged(queries, qrels, str(root / topics.qrels))
            return RankingSource(read_tsv_texts(root / source.corpus), judged)
    raise DataError(f"task {task.name}: format {source.format} does not hold a task of {task.kind}")
