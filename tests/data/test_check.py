"""What a check finds in the data of a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.data import load_examples
from harness.data.check import Contradiction, DataCheck, Leak, PartCheck, check_examples
from harness.data.templates import render_template
from harness.spec import Task
from tests.data.conftest import make_task

PAIRS = [
    ("a dog runs", "a dog moves", "1"),
    ("a dog  runs", "a dog moves", "0"),  # the same but for a space
    ("it rains", "", "0"),
    ("one two three four", "five", "1"),
]
TEST_PAIRS = [("a dog runs", "a dog moves", "1"), ("it rains", "A dog runs", "0")]


def write_pairs(path: Path, pairs: list[tuple[str, str, str]]) -> None:
    path.write_text("\n".join(["sentence1\tsentence2\tlabel", *map("\t".join, pairs)]))


def pair_task(root: Path, **card: Any) -> Task:
    write_pairs(root / "train.tsv", PAIRS)
    write_pairs(root / "dev.tsv", [("nothing like it", "at all", "0")])
    write_pairs(root / "test.tsv", TEST_PAIRS)
    files = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
    return make_task(
        "sequence_classification",
        text=["sentence1", "sentence2"],
        data={"native": {"format": "glue_tsv"} | files},
        splits={"validation": "validation"},
        **card,
    )


def part(found: DataCheck, name: str) -> PartCheck:
    return next(item for item in found.parts if item.name == name)


def test_empty_and_repeated_examples_and_lengths_are_counted(tmp_path: Path) -> None:
    task = pair_task(tmp_path, max_length=5)
    train = part(check_examples(load_examples(task, tmp_path)), "train")
    assert train.content == "negative 2, positive 2"
    assert (train.examples, train.empty, train.repeated) == (4, 1, 1)
    assert train.words == (6, 6, 6, 6)
    assert train.over == 0.5


def test_texts_with_several_labels_are_counted_and_one_is_shown(tmp_path: Path) -> None:
    task = pair_task(tmp_path)
    pairs = [("a", "b", "1"), ("c", "d", "0"), ("a", "b", "1"), ("c", " d", "1"), ("c", "d", "0")]
    write_pairs(tmp_path / "dev.tsv", [*pairs, ("b", "a", "0"), ("e", "", "0"), ("e", "", "1")])
    found = check_examples(load_examples(task, tmp_path))
    dev = part(found, "validation")
    assert (dev.repeated, dev.contradictions) == (4, 2)  # (c, d) three times, (e, "") twice
    assert dev.contradiction == Contradiction(("c", "d"), ("negative", "positive"))
    train, test = part(found, "train"), part(found, "test")
    assert train.contradiction == Contradiction(PAIRS[0][:2], ("positive", "negative"))
    assert (test.contradictions, test.contradiction) == (0, None)


def test_a_text_with_two_scores_is_a_contradiction(tmp_path: Path) -> None:
    rows = [("it rains", "2.5"), ("it rains", "2.50"), ("it  pours", "1"), ("it pours", "5")]
    for name in ("train", "test"):
        lines = ["sentence\tlabel", *map("\t".join, rows)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines))
    task = make_task("sequence_regression", text=["sentence"])
    test = part(check_examples(load_examples(task, tmp_path)), "test")
    assert (test.repeated, test.contradictions) == (2, 1)
    assert test.contradiction == Contradiction(("it pours",), ("1", "5"))


def test_shared_examples_and_shared_texts_are_told_apart(tmp_path: Path) -> None:
    found = check_examples(load_examples(pair_task(tmp_path), tmp_path))
    assert found.leaks == (
        Leak("train", "test", "examples", 1, (("a dog runs", "a dog moves"),)),
        Leak("train", "test", "texts", 3, (("a dog runs",), ("a dog moves",), ("it rains",))),
    )


def test_an_empty_text_leaks_nothing(tmp_path: Path) -> None:
    write_pairs(tmp_path / "train.tsv", PAIRS)
    task = pair_task(tmp_path)
    write_pairs(tmp_path / "test.tsv", [("new", "", "0")])
    assert check_examples(load_examples(task, tmp_path)).leaks == ()


def test_questions_and_contexts_are_compared_apart(tmp_path: Path) -> None:
    def write(name: str, context: str, *questions: str) -> None:
        qas = [
            {"id": f"{name}{n}", "question": q, "answers": [{"text": "x", "answer_start": 0}]}
            for n, q in enumerate(questions)
        ]
        paragraphs = [{"context": context, "qas": qas}]
        (tmp_path / name).write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))

    write("train", "x is here", "Where is x?", "Is x here?")
    write("dev", "x is there", "Where is x?")
    write("test", "x is here", "What is x?")
    files = {"train": "train", "validation": "dev", "test": "test"}
    task = make_task(
        "question_answering",
        data={"native": {"format": "squad_json"} | files},
        splits={"validation": "validation"},
    )
    found = check_examples(load_examples(task, tmp_path))
    assert [(x.first, x.second, x.what, x.count) for x in found.leaks] == [
        ("train", "validation", "questions", 1),
        ("train", "test", "contexts", 1),
    ]
    assert part(found, "train").content == "2 with an answer (2 golds), 0 without"


def test_sentences_of_words_and_their_entities(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("Li B-PER\nran O\n\nin O\nRome B-LOC\n\nhe O\n")
    (tmp_path / "test").write_text("in O\nRome B-LOC\n")
    native = {"format": "conll", "train": "train", "validation": "test", "test": "test"}
    task = make_task(
        "token_classification", data={"native": native}, splits={"validation": "validation"}
    )
    found = check_examples(load_examples(task, tmp_path))
    assert part(found, "train").content == "PER 1, LOC 1"
    assert part(found, "train").words == (2, 2, 2, 2)
    assert {(x.first, x.second, x.count) for x in found.leaks} == {
        ("train", "validation", 1),
        ("train", "test", 1),
        ("validation", "test", 1),
    }


def test_documents_without_a_text_and_documents_under_two_ids(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("1\tsome words\n2\t\n3\tsome words\n4\tother words\n")
    (tmp_path / "topics").write_text("a\tone\nb\ttwo\nc\tone\n")
    (tmp_path / "qrels").write_text("a 0 1 2\nb 0 2 0\nb 0 3 2\n")
    (tmp_path / "qrels.c").write_text("c 0 4 1\nc 0 9 1\n")
    topics = {"queries": "topics", "qrels": "qrels"}
    other = {"queries": "topics", "qrels": "qrels.c"}
    native = {"format": "trec", "corpus": "corpus", "train": topics, "test": other}
    task = make_task(
        "retrieval",
        document="Document: {text}",
        data={"native": native},
        splits={"validation": {"fraction": 0.5}},
    )
    found = check_examples(load_examples(task, tmp_path))
    documents = part(found, "test: documents")
    assert (documents.examples, documents.empty, documents.repeated) == (4, 1, 1)
    contents = [part(found, split).content for split in ("train", "validation")]
    assert sorted(contents) == ["1 judgements, grade 2: 1", "2 judgements, grade 0: 1, grade 2: 1"]
    lost = "2 judgements, grade 1: 2; 1 of documents that the corpus lacks"
    assert part(found, "test").content == lost
    assert ("test", 1) in {(leak.second, leak.count) for leak in found.leaks}


def test_a_corpus_that_splits_share_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").write_text("1\tsome words\n2\tother words\n")
    (tmp_path / "topics").write_text("a\tone\nb\ttwo\n")
    (tmp_path / "qrels").write_text("a 0 1 1\nb 0 2 1\n")
    topics = {"format": "trec", "queries": "topics", "qrels": "qrels"}
    pair = {"queries": "topics", "qrels": "qrels"}
    native = {"format": "trec", "corpus": "corpus", "train": pair, "test": pair}
    task = make_task(
        "retrieval",
        document="{text}",
        data={"native": native},
        splits={"validation": {"fraction": 0.5}},
        collections={
            "same": {"native": topics},
            "long": {"native": topics, "document": "A {text}"},
        },
    )
    rendered = []

    def spy(template: str, frame: pd.DataFrame) -> list[str]:
        rendered.append(template)
        return render_template(template, frame)

    monkeypatch.setattr("harness.data.check.render_template", spy)
    found = check_examples(load_examples(task, tmp_path))
    assert rendered == ["{text}", "A {text}"]
    words = {item.name: item.words for item in found.parts if "documents" in item.name}
    splits = ("train", "validation", "test", "same")
    assert words == {f"{split}: documents": (2, 2, 2, 2) for split in splits} | {
        "long: documents": (3, 3, 3, 3)
    }


# --- what is known of the real extracts ---------------------------------------------


def rows_task(train: str, test: str, *texts: str, **card: Any) -> Task:
    native = {"format": "glue_tsv", "train": train, "test": test}
    kind = card.pop("kind", "sequence_classification")
    return make_task(kind, data={"native": native}, text=list(texts), **card)


def leaks(task: Task, root: Path, what: str = "examples") -> dict[tuple[str, str], int]:
    found = check_examples(load_examples(task, root))
    return {(x.first, x.second): x.count for x in found.leaks if x.what == what}


NLI = {"label": "gold_label", "labels": ["entailment", "neutral", "contradiction"]}
MNLI = ("sentence1", "sentence2")
QQP = ("question1", "question2")


@pytest.mark.real
def test_pairs_of_the_native_mnli_and_qqp_files_are_in_the_converted_ones(real_data: Path) -> None:
    mnli = rows_task("mnli/converted/train.tsv", "mnli/native/train.tsv", *MNLI, **NLI)
    found = leaks(mnli, real_data)
    assert found["train", "test"] + found["validation", "test"] == 6
    qqp = rows_task(
        "qqp/converted/train.tsv",
        "qqp/native/train.tsv",
        *QQP,
        label="is_duplicate",
        test_sets={"dev": {"native": "qqp/converted/dev.tsv"}},
    )
    found = leaks(qqp, real_data)
    assert found == {("train", "test"): 9, ("test", "dev"): 1}


@pytest.mark.real
def test_questions_of_qqp_are_in_train_and_dev_and_no_pair_is(real_data: Path) -> None:
    native = {
        "format": "glue_tsv",
        "train": "qqp/converted/train.tsv",
        "validation": "qqp/converted/dev.tsv",
        "test": "qqp/native/dev.tsv",
    }
    task = make_task(
        "sequence_classification",
        data={"native": native},
        text=list(QQP),
        label="is_duplicate",
        splits={"validation": "validation"},
    )
    assert leaks(task, real_data, "texts")["train", "validation"] == 111
    assert ("train", "validation") not in leaks(task, real_data)


@pytest.mark.real
def test_one_pair_of_stsb_is_in_train_and_dev(real_data: Path) -> None:
    files = ("glue_small/STS-B/train.tsv", "glue_small/STS-B/dev.tsv")
    task = rows_task(*files, *MNLI, kind="sequence_regression", label="score")
    assert leaks(task, real_data)["train", "test"] == 1


@pytest.mark.real
def test_four_phrases_of_sst2_stand_twice_in_train_and_none_in_dev(real_data: Path) -> None:
    task = rows_task("sst2/train.tsv", "sst2/dev.tsv", "sentence")
    found = check_examples(load_examples(task, real_data))
    inside = part(found, "train").repeated + part(found, "validation").repeated
    across = {(x.first, x.second): x.count for x in found.leaks}
    assert inside + across["train", "validation"] == 4
    assert set(across) == {("train", "validation")}


@pytest.mark.real
def test_the_squad_files_share_articles(real_data: Path) -> None:
    further = {
        "train2": {"native": "squad_v2/train-v2.0.json"},
        "dev2": {"native": "squad_v2/dev-v2.0.json"},
    }
    native = {
        "format": "squad_json",
        "train": "squad/train-v1.1.json",
        "test": "squad/xquad.en.json",
    }
    task = make_task(
        "question_answering", unanswerable=True, data={"native": native}, test_sets=further
    )
    found = check_examples(load_examples(task, real_data))
    contexts = {(x.first, x.second): x.count for x in found.leaks if x.what == "contexts"}
    assert contexts["train", "train2"] > 400
    assert set(contexts) == {
        ("train", "validation"),
        ("train", "train2"),
        ("validation", "train2"),
        ("test", "dev2"),
    }
    shared = articles(real_data / "squad" / "xquad.en.json") & articles(
        real_data / "squad_v2" / "dev-v2.0.json"
    )
    assert contexts["test", "dev2"] == len(shared) > 0


def articles(path: Path) -> set[str]:
    """The contexts of a file, white space made even, read without the reader under test."""
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    return {
        " ".join(paragraph["context"].split())
        for article in data
        for paragraph in article["paragraphs"]
    }


@pytest.mark.real
def test_two_abstracts_of_cranfield_are_empty_and_five_passages_have_two_ids(
    real_data: Path,
) -> None:
    native = {"format": "beir", "folder": "ir/cranfield_beir", "train": "test", "test": "test"}
    task = make_task("retrieval", data={"native": native})
    assert part(check_examples(load_examples(task, real_data)), "test: documents").empty == 2
    folder = "ir/msmarco_passage_dl"
    topics = {
        "queries": f"{folder}/topics.dl19-passage.txt",
        "qrels": f"{folder}/qrels.dl19-passage.txt",
    }
    corpus = f"{folder}/collection.tsv"
    native = {"format": "trec", "corpus": corpus, "train": topics, "test": topics}  # type: ignore[dict-item]
    task = make_task("retrieval", data={"native": native}, document="{text}")
    assert part(check_examples(load_examples(task, real_data)), "test: documents").repeated == 5
