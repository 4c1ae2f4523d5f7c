"""The labels of the native files that no shipped card reads (the others: `test_counts.py`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.data.formats.conll import read_conll
from harness.data.formats.ranking import read_qrels
from harness.data.formats.tables import read_table
from harness.spec import ConllFiles, TableFiles

pytestmark = pytest.mark.real

NLI = ("entailment", "neutral", "contradiction")
TABLES = {  # file, column -> counts, in the order of the labels
    ("mnli/converted/train.tsv", "gold_label"): (NLI, (3061, 2980, 2958)),
    ("mnli/converted/dev_matched.tsv", "gold_label"): (NLI, (373, 311, 316)),
    ("mnli/converted/dev_mismatched.tsv", "gold_label"): (NLI, (346, 319, 335)),
    ("mnli/native/multinli_1.0_dev_matched.jsonl", "gold_label"): (NLI, (1, 1, 3)),
    ("qqp/converted/train.tsv", "is_duplicate"): ("01", (5747, 3252)),
    ("qqp/converted/dev.tsv", "is_duplicate"): ("01", (623, 377)),
}


@pytest.mark.parametrize(("file", "column"), list(TABLES))
def test_a_table_has_the_labels_that_are_known_of_it(
    file: str, column: str, real_data: Path
) -> None:
    layout = "jsonl" if file.endswith("jsonl") else "glue_tsv"
    rows = read_table(real_data / file, TableFiles(format=layout, train="a"))
    labels, counts = TABLES[file, column]
    assert Counter(rows.columns[column]) == dict(zip(labels, counts, strict=True))


def test_wnut_dev_has_other_entities_than_train(real_data: Path) -> None:
    path = real_data / "ner" / "wnut17" / "emerging.dev.conll"
    tags = read_conll(path, ConllFiles(format="conll", train="a"), "words", "tags").columns["tags"]
    found = Counter(tag[2:] for sentence in tags for tag in sentence if tag.startswith("B-"))
    assert found == {
        "corporation": 34,
        "creative-work": 105,
        "group": 39,
        "location": 74,
        "person": 470,
        "product": 114,
    }


def test_scores_of_stsb_train(real_data: Path) -> None:
    path = real_data / "glue_small" / "STS-B" / "train.tsv"
    rows = read_table(path, TableFiles(format="glue_tsv", train="a"))
    scores = [float(value) for value in rows.columns["score"]]
    assert (min(scores), max(scores), round(sum(scores) / len(scores), 4)) == (0.0, 5.0, 2.4461)


def test_nq_has_one_grade_and_several_answers_a_question(real_data: Path) -> None:
    folder = real_data / "ir" / "nq"
    assert set(read_qrels(folder / "qrels.beir-v1.0.0-nq.test.txt")["relevance"]) == {1}
    answers = TableFiles(format="jsonl", train="a")
    rows = read_table(folder / "NQ-open.dev.jsonl", answers)
    assert sum(map(len, rows.columns["answer"])) == 6490
