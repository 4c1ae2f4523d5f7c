"""How many tokens inputs have, and what becomes of those that are too long."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedTokenizerFast

from harness.data import load_examples
from harness.data.fit import check_fit
from tests.data.conftest import make_task


def test_texts_that_are_too_long_are_cut(
    tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    lines = [f"{'x' * size}\t{size % 2}" for size in range(1, 11)]
    for name in ("train.tsv", "test.tsv"):
        (tmp_path / name).write_text("\n".join(["sentence\tlabel", *lines]))
    task = make_task("sequence_classification", max_length=6)
    test = check_fit(load_examples(task, tmp_path), byte_level, None)[-1]
    assert test.name == "test"
    assert test.tokens == (7, 11, 11, 11)  # letters, and the end token
    assert (test.length, test.over, test.fate) == (6, 0.5, "cut")


def test_sentences_and_contexts_become_windows(
    tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    sentence = "\n".join("x O" for _ in range(20))
    (tmp_path / "train").write_text(f"{sentence}\n\nx O\n")
    native = {"format": "conll", "train": "train", "test": "train"}
    task = make_task(
        "token_classification",
        data={"native": native},
        max_length=8,
        splits={"validation": {"fraction": 0.5}},
    )
    fit = check_fit(load_examples(task, tmp_path), byte_level, None)[-1]
    assert (fit.over, fit.fate, fit.lost) == (0.5, "in several windows", "")


def test_an_answer_that_no_window_holds_is_counted(
    tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    text = "x" * 100
    question = '{"id": "%d", "question": "?", "answers": [{"text": "%s", "answer_start": 0}]}'
    qas = ", ".join(question % (number, text) for number in range(2))
    (tmp_path / "train").write_text(
        f'{{"data": [{{"paragraphs": [{{"context": "{text}", "qas": [{qas}]}}]}}]}}'
    )
    native = {"format": "squad_json", "train": "train", "test": "train"}
    task = make_task(
        "question_answering",
        data={"native": native},
        max_length=32,
        splits={"validation": {"fraction": 0.5}},
    )
    fit = check_fit(load_examples(task, tmp_path), byte_level, None)[-1]
    assert fit.lost == "2 answers are whole in no window"


def test_queries_and_documents_have_lengths_of_their_own(
    tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    (tmp_path / "corpus").write_text(f"1\t{'x' * 30}\n2\ty\n")
    (tmp_path / "topics").write_text(f"a\t{'x' * 10}\nb\ty\n")
    (tmp_path / "qrels").write_text("a 0 1 1\nb 0 2 1\n")
    topics = {"queries": "topics", "qrels": "qrels"}
    native = {"format": "trec", "corpus": "corpus", "train": topics, "test": topics}
    task = make_task(
        "retrieval",
        data={"native": native},
        max_length=20,
        query_max_length=8,
        document="{text}",
        splits={"validation": {"fraction": 0.5}},
    )
    queries, documents = check_fit(load_examples(task, tmp_path), byte_level, None)[-2:]
    assert (queries.name, queries.length, queries.tokens[-1], queries.over) == ("test", 8, 11, 0.5)
    assert documents.name == "test: documents"
    assert (documents.length, documents.tokens[-1], documents.over) == (20, 31, 0.5)
    assert documents.fate == "cut"
    windowed = type(task).model_validate(task.model_dump() | {"long_documents": "max_passage"})
    fits = check_fit(load_examples(windowed, tmp_path), byte_level, None)
    assert {fit.name: fit.fate for fit in fits if fit.name.endswith("documents")} == {
        "train: documents": "cut",
        "validation: documents": "in several passages",
        "test: documents": "in several passages",
    }
