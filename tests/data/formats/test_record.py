"""ReCoRD's jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.data import load_examples
from harness.data.formats.record import read_record
from harness.errors import DataError
from tests.data.conftest import make_task

TEXT = "Li Na met Émile in Rome.\n@highlight\nÉmile was late"


def item(**changes: Any) -> dict[str, Any]:
    answers = [
        {"start": 10, "end": 14, "text": "Émile"},
        {"start": 36, "end": 40, "text": "Émile"},
    ]
    asked = {"query": "@placeholder lost his watch", "idx": 7, "answers": answers}
    return {"passage": {"text": TEXT, "entities": []}, "qas": [asked | changes], "idx": 3}


def write(folder: Path, *items: dict[str, Any]) -> Path:
    path = folder / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, items)))
    return path


def test_inclusive_ends_become_offsets_and_every_mention_is_a_gold(tmp_path: Path) -> None:
    write(tmp_path, item(), item(idx=8))
    native = {"format": "record_jsonl", "train": "train.jsonl"}
    task = make_task(
        "question_answering",
        data={"native": native},
        splits={"validation": {"fraction": 0.5}, "test": {"fraction": 0.5}},
    )
    with pytest.raises(DataError, match="can't be held out of 1"):
        load_examples(task, tmp_path)
    rows = read_record(tmp_path / "train.jsonl")
    assert rows.columns["id"] == ["7", "8"]
    assert rows.columns["question"][0] == "@placeholder lost his watch"
    assert rows.columns["answers"][0] == [
        {"text": "Émile", "answer_start": 10},
        {"text": "Émile", "answer_start": 36},
    ]


def test_an_exclusive_end_is_refused(tmp_path: Path) -> None:
    wrong = [{"start": 10, "end": 15, "text": "Émile"}]
    path = write(tmp_path, item(), item(answers=wrong))
    with pytest.raises(DataError, match=r"train\.jsonl:2: answer 'Émile' has 5 characters, but"):
        read_record(path)


def test_another_layout_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, {"question": "?", "passage": "text"})
    with pytest.raises(DataError, match=r"train\.jsonl:1: not ReCoRD's own layout"):
        read_record(path)


def test_hidden_answers_are_no_test_set(tmp_path: Path) -> None:
    asked = {"query": "?", "idx": 1}
    write(tmp_path, {"passage": {"text": "t"}, "qas": [asked]}, item())
    native = {"format": "record_jsonl", "train": "train.jsonl", "test": "train.jsonl"}
    with pytest.raises(DataError, match=r"train\.jsonl:1: the question has no answer"):
        load_examples(make_task("question_answering", data={"native": native}), tmp_path)
