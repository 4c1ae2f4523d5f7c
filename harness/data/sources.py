"""The examples of a task: native files where the data root has them, else the hub."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.data.fingerprints import combine_fingerprints, fingerprint_frame
from harness.data.frames import Collection, Corpus, Examples, count_examples, training_pairs
from harness.data.hub import read_hub_collection, read_hub_frame, read_hub_ranking
from harness.data.native import (
    has_role,
    read_native_collection,
    read_native_frame,
    read_native_ranking,
)
from harness.data.ranking import (
    FurtherSource,
    Judged,
    RankingSource,
    ReadCorpus,
    choose_queries,
    judged_documents,
    keep_judged_documents,
    make_collection,
    with_title,
)
from harness.data.roots import collection_root, native_root, roles_to_read
from harness.data.splits import hold_out, limit_rows
from harness.data.templates import render_template
from harness.errors import DataError
from harness.spec import ROLES, HoldOut, Retrieval, Role, Task, TaskOfRows

Part = pd.DataFrame | Collection

HELD_OUT: tuple[Role, ...] = ("test", "validation")
"""The roles that may be held out of train, in the order in which that happens."""


def load_examples(task: Task, data_root: Path | None) -> Examples:
    """Load all splits of a task, held out and limited as its card says, labels checked.

    They are train, validation and test, then the further test sets of the card. What is held out
    is taken out of train before the limits apply, and its rows keep the ids that they have there.
    Raises DataError naming file, line, value and remedy, and SpecError for a template of a column
    that there is not.
    """
    _check_roles(task)
    root = native_root(task, data_root)
    sources = {"hub" if root is None else "native"}
    left_out: dict[str, int] = {}
    if isinstance(task, Retrieval):
        parts = _read_collections(task, root, data_root, sources)
    else:
        splits = (*roles_to_read(task), *task.further)
        parts = {split: _read_frame(task, root, split, left_out) for split in splits}
    for role in HELD_OUT:
        rule = getattr(task.splits, role)
        if isinstance(rule, HoldOut):
            parts["train"], parts[role] = _hold_out(task, parts["train"], rule, role)
    parts = {split: _limited(task, parts[split], split) for split in (*ROLES, *task.further)}
    fingerprints = {split: fingerprint_part(part) for split, part in parts.items()}
    source = " and ".join(sorted(sources, reverse=True))
    return Examples(task, parts, fingerprints, source, left_out)


def fingerprint_part(part: Part) -> str:
    """Digest everything that a split holds into 16 hex digits; order counts."""
    if isinstance(part, pd.DataFrame):
        return fingerprint_frame(part)
    return combine_fingerprints(
        part.queries_fingerprint, part.corpus_fingerprint, fingerprint_frame(part.qrels)
    )


def _check_roles(task: Task) -> None:
    native = task.data.native
    for role in HELD_OUT:
        held_out = isinstance(getattr(task.splits, role), HoldOut)
        if native is None or has_role(native, role) != held_out:
            continue
        raise DataError(
            f"task {task.name}: the card holds {role} out of train and names a native file for "
            f"it; write `splits: {{{role}: {role}}}` to use the file, or leave the file out"
            if held_out
            else f"task {task.name}: `splits.{role}` names a split, so `data.native` needs a "
            f"`{role}` file; or hold it out with `{role}: {{of: train, fraction: 0.05}}`"
        )


def _hub_split(task: Task, split: str) -> str:
    if split not in task.further:
        return str(getattr(task.splits, split))
    assert isinstance(task, TaskOfRows)
    assert task.test_sets is not None
    name = task.test_sets[split].hub
    if name is None:
        raise DataError(
            f"task {task.name}: test set {split} has no `hub` split, and the rest of the task is "
            "read from the hub; name one, give --data-root, or leave the set out"
        )
    return name


def _read_frame(task: Task, root: Path | None, split: str, left_out: dict[str, int]) -> Part:
    """Read a split; note how many rows were left out, where the card lets some be."""
    if root is not None:
        assert task.data.native is not None
        frame, count = read_native_frame(task, task.data.native, root, split)
        if count is not None:
            left_out[split] = count
        return frame
    assert task.data.hub is not None
    return read_hub_frame(task, task.data.hub, _hub_split(task, split))


def _read_collections(
    task: Retrieval, root: Path | None, data_root: Path | None, sources: set[str]
) -> dict[str, Part]:
    """Read the task's own collection a role, then the further ones; note their kinds of source.

    Topics come first: of a judged corpus only the documents that they need are read.
    """
    own = _read_topics(task, root)
    further = {}
    for name in task.collections or {}:
        folder = collection_root(task, name, data_root)
        sources.add("hub" if folder is None else "native")
        further[name] = _read_further_topics(task, name, folder)
    sharing = [found.judged for found in further.values() if found.read_corpus is None]
    ranked = [*own.judged.values(), *sharing]
    own_corpus = _read_corpus(task, own.read_corpus, ranked)  # one for all that rank it
    parts: dict[str, Part] = {}
    for role in roles_to_read(task):
        parts[role] = make_collection(own_corpus, own.judged[role])
    for name, found in further.items():
        corpus = own_corpus
        if found.read_corpus is not None:
            corpus = _read_corpus(task, found.read_corpus, [found.judged])
        parts[name] = make_collection(corpus, found.judged)
    return parts


def _read_topics(task: Retrieval, root: Path | None) -> RankingSource:
    roles = roles_to_read(task)
    if root is not None:
        assert task.data.native is not None
        return read_native_ranking(task, task.data.native, root, roles)
    assert task.data.hub is not None
    return read_hub_ranking(task.data.hub, {role: _hub_split(task, role) for role in roles})


def _read_further_topics(task: Retrieval, name: str, root: Path | None) -> FurtherSource:
    assert task.collections is not None
    place = task.collections[name]
    if root is not None:
        assert place.native is not None
        return read_native_collection(place.native, root)
    assert place.hub is not None
    return read_hub_collection(place.hub)


def _read_corpus(task: Retrieval, read: ReadCorpus, ranked: list[Judged]) -> Corpus:
    """Read the documents that these splits rank, each with a title."""
    kept = judged_documents(*ranked) if task.corpus == "judged" else None
    return Corpus(with_title(read(kept)))


def _hold_out(task: Task, whole: Part, rule: HoldOut, role: Role) -> tuple[Part, Part]:
    count = count_examples(whole)
    if count < 2:
        unit = "query" if isinstance(whole, Collection) else "example"
        raise DataError(
            f"task {task.name}: {role} can't be held out of {count} training {unit}; give more, "
            f"or name a split of its own under `splits.{role}`"
        )
    kept, held = hold_out(count, rule, role)
    return _choose(whole, kept), _choose(whole, held)


def _choose(part: Part, rows: NDArray[np.int64]) -> Part:
    if isinstance(part, Collection):
        return choose_queries(part, rows)
    return part.iloc[rows].reset_index(drop=True)


def _limited(task: Task, part: Part, split: str) -> Part:
    rows = limit_rows(count_examples(part), task.splits.limit, split)
    if len(rows) < count_examples(part):
        part = _choose(part, rows)
    if not isinstance(part, Collection):
        return part
    assert isinstance(task, Retrieval)
    # A column that a template misspells is to be found before a run renders it.
    render_template(task.query, part.queries.head(1))
    render_template(task.document_template(split), part.corpus.head(1))
    if split == "train" and not len(training_pairs(part, task.min_relevance)):
        raise DataError(
            f"task {task.name}: no training query has a document of grade {task.min_relevance} or "
            "more in the corpus; check `min_relevance` and the qrels"
        )
    if task.corpus == "full":
        return part
    return keep_judged_documents(part, f"task {task.name}, {split}")
