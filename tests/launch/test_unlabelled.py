"""A test set without labels is an error when a study is planned, for every kind of task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import DataError
from harness.launch.preflight import check_tasks
from tests.data.conftest import make_task


def questions(answers: list[dict[str, Any]]) -> str:
    qas = [{"id": str(n), "question": "?", "answers": answers} for n in range(4)]
    return json.dumps({"data": [{"paragraphs": [{"context": "x y", "qas": qas}]}]})


def table(*labels: str) -> str:
    return "\n".join(["sentence\tlabel", *(f"text {n}\t{x}" for n, x in enumerate(labels))])


ROWS = {"format": "glue_tsv", "train": "train", "test": "test"}
CASES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "sequence_classification": (
        {"data": {"native": ROWS}, "metrics": ["accuracy"]},
        table("0", "1", "0", "1"),
        table("-1", "-1"),
        r"test:2: column 'label' has no label \(it is '-1'\)",
    ),
    "sequence_regression": (
        {"data": {"native": ROWS}, "metrics": ["spearman"], "text": ["sentence"]},
        table("0", "1.5", "3", "5"),
        table("-1", "-1"),
        r"test:2: column 'label' has no label",
    ),
    "token_classification": (
        {"data": {"native": ROWS | {"format": "conll"}}, "metrics": ["entity_f1"]},
        "Li B-PER\n\nhe O\n\nRome B-LOC\n",
        "Li -1\nran -1\n",
        r"test:1: tag '-1' of word 1 is unknown: the sentence has no tags",
    ),
    "question_answering": (
        {"data": {"native": ROWS | {"format": "squad_json"}}, "metrics": ["f1"]},
        questions([{"text": "x", "answer_start": 0}]),
        questions([]),
        r"test: row 0: the question has no answer; a split without answers can't be scored",
    ),
}


@pytest.mark.parametrize("kind", list(CASES))
def test_hidden_labels_are_named_with_their_place(kind: str, tmp_path: Path) -> None:
    card, train, test, message = CASES[kind]
    task = make_task(kind, splits={"validation": {"fraction": 0.5}}, **card)
    (tmp_path / "train").write_text(train)
    (tmp_path / "test").write_text(train)
    assert check_tasks([task], tmp_path).sizes["small"].test_examples > 0
    (tmp_path / "test").write_text(test)
    with pytest.raises(DataError, match=f"task small: .*{message}"):
        check_tasks([task], tmp_path)


def test_queries_without_judgements_are_no_test_set(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("1\tone\n2\ttwo\n")
    (tmp_path / "topics").write_text("a\tfirst\nb\tsecond\n")
    (tmp_path / "qrels").write_text("a 0 1 1\nb 0 2 1\n")
    topics = {"queries": "topics", "qrels": "qrels"}
    hidden = {"queries": "topics", "qrels": "hidden"}
    native = {"format": "trec", "corpus": "corpus", "train": topics, "test": hidden}
    task = make_task(
        "retrieval",
        data={"native": native},
        metrics=["nDCG@10"],
        splits={"validation": {"fraction": 0.5}},
    )
    (tmp_path / "hidden").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(DataError, match="hidden"):
        check_tasks([task], tmp_path)
