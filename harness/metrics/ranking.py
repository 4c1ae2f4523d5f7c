"""Metrics of rankings, named as ir-measures names them and averaged over ties.

ir-measures reads the names and is the reference of the tests. Its providers order equal scores by
document id, so that an id can be worth a point of nDCG: the values come from `ties`, and measures
that have no formula there are refused. A card with `corpus: judged` says `judged/` before each
name, here and in tables; `paper/nDCG@10` is of that corpus by definition and says no more.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from harness.errors import RunError
from harness.metrics import paper, ties
from harness.spec import Retrieval

_STANDARD = ("nDCG@10", "RR@10", "R@100")
_EXAMPLES = ("nDCG@10", "RR@10", "R@100", "P@10", "AP", "Success@5", "Judged@10")
_PARAMETERS = {
    "nDCG": {"cutoff", "dcg"},
    "P": {"cutoff", "rel"},
    "R": {"cutoff", "rel"},
    "RR": {"cutoff", "rel"},
    "AP": {"cutoff", "rel"},
    "Success": {"cutoff", "rel"},
    "Judged": {"cutoff"},
}
_NEEDS_CUTOFF = {"P", "R", "Success", "Judged"}
_JUDGED = "judged/"
_PAPER = "paper/nDCG@10"
_PAPER_CUTOFF = 10


def names(task: Retrieval) -> tuple[str, ...]:
    """Name the standard metrics of the task, as deep as its rankings go."""
    standard = tuple(
        _prefix(task) + name for name in _STANDARD if int(name.split("@")[1]) <= task.depth
    )
    return standard if _paper_fault(task, _PAPER) else (*standard, _PAPER)


def fault(task: Retrieval, name: str) -> str | None:
    """Say what is wrong with a metric's name in the task's card, None if nothing is."""
    if name.startswith("paper/"):
        return _paper_fault(task, name)
    prefix = _prefix(task)
    if prefix and not name.startswith(prefix):
        return f"the corpus is `judged`, so say {prefix + name!r}"
    if name.startswith(_JUDGED) and not prefix:
        return f"the corpus is `full`, so say {name.removeprefix(_JUDGED)!r}"
    measure_name = name.removeprefix(prefix)
    try:
        measure = _parse(measure_name)
    except ValueError as error:
        return str(error)
    if str(measure) != measure_name:
        return f"write it as {prefix + str(measure)!r}"
    if (measure.params.get("cutoff") or 0) > task.depth:
        return f"looks deeper than the {task.depth} documents kept a query; raise `depth`"
    return None


def score(task: Retrieval, frame: pd.DataFrame, wanted: Collection[str]) -> dict[str, float]:
    """Score one split by the metrics that are wanted: means over its queries.

    A query without documents scores 0.

    Raises:
        RunError: a score is not finite, or a document is ranked twice for a query.
    """
    rankings = _rankings(frame)
    prefix = _prefix(task)
    return {name: float(np.mean(_values(name.removeprefix(prefix), rankings))) for name in wanted}


def per_query(task: Retrieval, frame: pd.DataFrame, name: str) -> ties.Floats:
    """Give what each query of a split scores by one metric, (Q,); raises RunError as `score`."""
    return _values(_parse(name.removeprefix(_prefix(task))), _rankings(frame))


def is_collapsed(frame: pd.DataFrame) -> bool:
    """Say whether each query's documents score the same, or all queries rank alike."""
    several = [scores for scores in frame["scores"] if len(scores) > 1]
    # Equal embeddings differ by rounding when they come from batches of different shapes.
    if several and all(max(scores) - min(scores) <= 1e-6 for scores in several):
        return True
    return len(frame) > 1 and len({tuple(documents) for documents in frame["documents"]}) == 1


def _prefix(task: Retrieval) -> str:
    return _JUDGED if task.corpus == "judged" else ""


def _paper_fault(task: Retrieval, name: str) -> str | None:
    """Say why the task can't have the paper's score, None if it can."""
    if name != _PAPER:
        return f"the paper has one score of rankings, {_PAPER!r}"
    if task.corpus != "judged":
        return "the paper ranks judged documents alone; set `corpus: judged` in the card"
    if task.depth < _PAPER_CUTOFF:
        return f"looks deeper than the {task.depth} documents kept a query; raise `depth`"
    return None


def _parse(name: str) -> ir_measures.Measure:
    """Read a measure's name; ValueError says what is wrong with it."""
    try:
        measure = ir_measures.parse_measure(name)
    except (ValueError, NameError, TypeError):
        written = {example.lower(): example for example in _EXAMPLES}
        close = difflib.get_close_matches(name.lower(), written, n=1, cutoff=0.5)
        hint = f"; did you mean {written[close[0]]!r}?" if close else ""
        raise ValueError(f"no such measure{hint} (such names are {', '.join(_EXAMPLES)})") from None
    if measure.NAME not in _PARAMETERS:
        raise ValueError(f"has no value averaged over ties; take one of {', '.join(_PARAMETERS)}")
    parameters = dict(measure.params)
    if surplus := sorted(parameters.keys() - _PARAMETERS[measure.NAME]):
        raise ValueError(f"parameter {surplus[0]!r} is not supported")
    if parameters.get("dcg", "log2") not in {"log2", "exp-log2"}:
        raise ValueError("dcg must be 'log2' or 'exp-log2'")
    if measure.NAME in _NEEDS_CUTOFF and "cutoff" not in parameters:
        raise ValueError(f"needs a cutoff, such as {measure.NAME}@10")
    for key in parameters.keys() & {"cutoff", "rel"}:
        if type(parameters[key]) is not int or parameters[key] < 1:
            raise ValueError(f"{key} must be a whole number from 1 on")
    return measure


def _values(name: str, rankings: ties.Rankings) -> ties.Floats:
    """Compute a measure for every query, (Q,)."""
    if name == _PAPER:
        return paper.retrieved_ndcg(rankings, _PAPER_CUTOFF)
    measure = _parse(name)
    arguments: dict[str, Any] = dict(measure.params)
    match measure.NAME:
        case "nDCG":
            exponential = arguments.pop("dcg", "log2") == "exp-log2"
            return ties.ndcg(rankings, **arguments, exponential=exponential)
        case "P":
            return ties.precision(rankings, **arguments)
        case "R":
            return ties.recall(rankings, **arguments)
        case "RR":
            return ties.reciprocal_rank(rankings, **arguments)
        case "AP":
            return ties.average_precision(rankings, **arguments)
        case "Success":
            return ties.success(rankings, **arguments)
        case "Judged":
            return ties.judged_share(rankings, **arguments)
    raise AssertionError(measure)


def _rankings(frame: pd.DataFrame) -> ties.Rankings:
    width = max(1, *map(len, frame["documents"]))
    scores_QD = np.full((len(frame), width), -np.inf, dtype=np.float32)
    grades_QD = np.zeros((len(frame), width), dtype=np.int64)
    known_QD = np.zeros((len(frame), width), dtype=np.bool_)
    judged_QJ = np.zeros((len(frame), max(1, *map(len, frame["gold"]))), dtype=np.int64)
    columns = (frame[name] for name in ("id", "documents", "scores", "gold", "relevance"))
    for row, (query, documents, scores, gold, relevance) in enumerate(zip(*columns, strict=True)):
        _check_ranking(query, documents, scores)
        grade_of = dict(zip(gold, relevance, strict=True))
        scores_QD[row, : len(documents)] = scores
        grades_QD[row, : len(documents)] = [grade_of.get(document, 0) for document in documents]
        known_QD[row, : len(documents)] = [document in grade_of for document in documents]
        judged_QJ[row, : len(gold)] = relevance
    order = np.argsort(-scores_QD, axis=1, kind="stable")
    return ties.Rankings(
        np.take_along_axis(scores_QD, order, axis=1),
        np.take_along_axis(grades_QD, order, axis=1),
        np.take_along_axis(known_QD, order, axis=1),
        judged_QJ,
    )


def _check_ranking(query: str, documents: Sequence[str], scores: Sequence[float]) -> None:
    if not np.isfinite(scores).all():
        raise RunError(
            f"query {query!r}: a document's score is not a finite number; "
            "a smaller learning rate may help"
        )
    if len(set(documents)) != len(documents):
        twice = next(document for document in documents if list(documents).count(document) > 1)
        raise RunError(f"query {query!r}: document {twice!r} is ranked twice; ids must be unique")
