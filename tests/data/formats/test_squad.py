"""SQuAD's own JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.data.formats.squad import read_squad
from harness.errors import DataError


def test_impossible_questions_have_no_answers(tmp_path: Path) -> None:
    paragraph = {
        "context": "Normandy is in France.",
        "qas": [
            {"id": "a", "question": "Where?", "answers": [{"text": "France", "answer_start": 15}]},
            {
                "id": "b",
                "question": "Why?",
                "is_impossible": True,
                "answers": [],
                "plausible_answers": [{"text": "Normandy", "answer_start": 0}],
            },
        ],
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"version": "v2.0", "data": [{"paragraphs": [paragraph]}]}))
    rows = read_squad(path)
    assert rows.columns["id"] == ["a", "b"]
    assert rows.columns["answers"] == [[{"text": "France", "answer_start": 15}], []]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data": [', "not JSON"),
        ("[1]", "no `data`"),
        ('{"data": [{"paragraphs": [{"qas": [{"id": "a"}]}]}]}', "missing: 'question'"),
        ('{"data": []}', "no questions"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_squad(tmp_path / "a.json")
