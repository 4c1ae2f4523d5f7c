"""Every native extract loads, with the rows and labels that are known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.data import Collection, Examples, count_examples, load_examples
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
from harness.errors import DataError
from harness.spec import ConllFiles, Retrieval, TableFiles
from harness.tasks import load_tasks
from tests.data.conftest import make_task
from tests.real.shipped_layout import link_extracts

pytestmark = pytest.mark.real

COLA = ("source", "label", "mark", "sentence")


def table(format_: str = "glue_tsv", **more: Any) -> Callable[[Path], int]:
    files = TableFiles(format=format_, train="a", **more)  # type: ignore[arg-type]
    return lambda path: len(read_table(path, files))


def conll(**more: Any) -> Callable[[Path], int]:
    files = ConllFiles(format="conll", train="a", **more)
    return lambda path: len(read_conll(path, files, "tokens", "tags"))


def rows(read: Callable[[Path], Any]) -> Callable[[Path], int]:
    return lambda path: len(read(path))


glue, jsonl, iob2 = table(), table("jsonl"), conll(token_column=1, tag_column=2, comment="#")
trec = "ir/msmarco_passage_dl"

FILES: dict[str, tuple[Callable[[Path], int], int]] = {
    "glue_small/CoLA/dev.tsv": (table(columns=COLA), 1043),
    "glue_small/CoLA/train.tsv": (table(columns=COLA), 315),
    "glue_small/MRPC/dev.tsv": (glue, 408),
    "glue_small/MRPC/train.tsv": (glue, 303),
    "glue_small/RTE/dev.tsv": (glue, 277),
    "glue_small/RTE/train.tsv": (glue, 301),
    "glue_small/STS-B/dev.tsv": (glue, 1500),
    "glue_small/STS-B/train.tsv": (glue, 308),
    "ir/cranfield/cran.all.1400": (rows(read_cranfield_documents), 1400),
    "ir/cranfield/cran.qry": (rows(read_cranfield_queries), 225),
    "ir/cranfield/cranqrel": (rows(read_cranfield_qrels), 1837),
    "ir/cranfield_beir/corpus.jsonl": (rows(read_beir_texts), 1400),
    "ir/cranfield_beir/qrels/test.tsv": (rows(read_qrels), 1837),
    "ir/cranfield_beir/queries.jsonl": (rows(read_beir_texts), 225),
    f"{trec}/collection.tsv": (rows(read_tsv_texts), 24884),
    f"{trec}/qrels.dl19-passage.txt": (rows(read_qrels), 9260),
    f"{trec}/qrels.dl20-passage.txt": (rows(read_qrels), 11386),
    f"{trec}/topics.dl19-passage.txt": (rows(read_tsv_texts), 43),
    f"{trec}/topics.dl20.txt": (rows(read_tsv_texts), 200),
    "ir/nq/NQ-open.dev.jsonl": (jsonl, 3610),
    "ir/nq/qrels.beir-v1.0.0-nq.test.txt": (rows(read_qrels), 4201),
    "ir/nq/topics.beir-v1.0.0-nq.test.tsv.gz": (rows(read_tsv_texts), 3452),
    "mnli/converted/dev_matched.tsv": (glue, 1000),
    "mnli/converted/dev_mismatched.tsv": (glue, 1000),
    "mnli/converted/train.tsv": (glue, 8999),
    "mnli/native/dev_matched.tsv": (glue, 2),
    "mnli/native/dev_mismatched.tsv": (glue, 2),
    "mnli/native/multinli_1.0_dev_matched.jsonl": (jsonl, 5),
    "mnli/native/test_matched.tsv": (glue, 1),
    "mnli/native/train.tsv": (glue, 480),
    "ner/uner_en_ewt/en_ewt-ud-dev.iob2": (iob2, 2001),
    "ner/uner_en_ewt/en_ewt-ud-test.iob2": (iob2, 2077),
    "ner/wnut17/emerging.dev.conll": (conll(), 1009),
    "ner/wnut17/emerging.test.annotated": (conll(), 1287),
    "ner/wnut17/wnut17train.conll": (conll(), 3394),
    "qqp/converted/dev.tsv": (glue, 1000),
    "qqp/converted/train.tsv": (glue, 8999),
    "qqp/native/dev.tsv": (glue, 2),
    "qqp/native/test.tsv": (glue, 1),
    "qqp/native/train.tsv": (glue, 320),
    "squad/train-v1.1.json": (rows(read_squad), 3807),
    "squad/xquad.en.json": (rows(read_squad), 1190),
    "squad_v2/dev-v2.0.json": (rows(read_squad), 1124),
    "squad_v2/train-v2.0.json": (rows(read_squad), 4719),
    "sst2/dev.tsv": (glue, 872),
    "sst2/train.tsv": (glue, 8000),
    "superglue/BoolQ/train.jsonl": (jsonl, 32),
    "superglue/BoolQ/val.jsonl": (jsonl, 3270),
    "superglue/CB/train.jsonl": (jsonl, 32),
    "superglue/CB/val.jsonl": (jsonl, 56),
    "superglue/ReCoRD/dev32.jsonl": (rows(read_record), 32),
    "superglue/ReCoRD/train.jsonl": (rows(read_record), 32),
}
NO_TASK_DATA = {
    "README.md",
    "ir/cranfield/cranqrel.readme",
    f"{trec}/trec_results_dl19.txt",  # runs of another system
    f"{trec}/trec_results_dl20.txt",
    "pretrain/wikitext-2/test.txt",
    "pretrain/wikitext-2/valid.txt",
}

LABELS: dict[str, dict[str, dict[str, int]]] = {
    "sst2": {
        "train": {"negative": 3565, "positive": 4435},
        "test": {"negative": 428, "positive": 444},
    },
    "mnli": {
        "train": {"entailment": 160, "neutral": 160, "contradiction": 160},
        "test": {"neutral": 1, "contradiction": 1},
        "mismatched": {"contradiction": 2},
    },
    "qqp": {"train": {"not_duplicate": 160, "duplicate": 160}, "test": {"not_duplicate": 2}},
    "cola": {
        "train": {"unacceptable": 156, "acceptable": 159},
        "test": {"unacceptable": 322, "acceptable": 721},
    },
    "mrpc": {
        "train": {"not_equivalent": 153, "equivalent": 150},
        "test": {"not_equivalent": 129, "equivalent": 279},
    },
    "rte": {
        "train": {"entailment": 148, "not_entailment": 153},
        "test": {"entailment": 146, "not_entailment": 131},
    },
    "boolq": {"train": {"no": 14, "yes": 18}, "test": {"no": 1237, "yes": 2033}},
    "cb": {
        "train": {"entailment": 19, "neutral": 3, "contradiction": 10},
        "test": {"entailment": 23, "neutral": 5, "contradiction": 28},
    },
    "wnut17": {
        "train": {
            "corporation": 221,
            "creative-work": 140,
            "group": 264,
            "location": 548,
            "person": 660,
            "product": 142,
        },
        "test": {
            "corporation": 66,
            "creative-work": 142,
            "group": 165,
            "location": 150,
            "person": 429,
            "product": 127,
        },
    },
    "uner_en": {
        "train": {"LOC": 399, "ORG": 224, "PER": 343},
        "test": {"LOC": 317, "ORG": 322, "PER": 449},
    },
}
ANSWERS = {  # with an answer, and golds of them all
    "squad": {"train": (3807, 3807), "test": (1190, 1190)},
    "squad_v2": {"train": (4371, 4371), "test": (583, 1840)},
    "record": {"train": (32, 77), "test": (32, 76)},
}
COMPLETE = {
    "sst2": ("test",),
    "cola": ("test",),
    "mrpc": ("test",),
    "rte": ("test",),
    "stsb": ("test",),
    "boolq": ("test",),
    "cb": ("test",),
    "uner_en": ("validation", "test"),
    "wnut17": ("train", "validation", "test"),
    "cranfield": ("validation", "test"),
}
"""Splits that are among the extracts as they were published."""
GRADES = {
    "cranfield": {"train": {0: 225, 1: 363, 2: 734, 3: 387, 4: 128}},
    "msmarco": {
        "test": {0: 5158, 1: 1601, 2: 1804, 3: 697},
        "dl20": {0: 7780, 1: 1940, 2: 1020, 3: 646},
    },
}


@pytest.fixture(scope="module")
def root(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_extracts(real_data, tmp_path_factory.mktemp("extracts"))


def load(name: str, root: Path) -> Examples:
    card = load_tasks()[name]
    if isinstance(card, Retrieval) and card.collections:  # the extracts have no NQ nor MLDR corpus
        card = card.with_further(["dl20"])
    return load_examples(card, root)


def whole(examples: Examples, split: str) -> list[Any]:
    """The parts of a split of the files: what was held out of train belongs to it."""
    splits = [split]
    if split == "train":
        rules = examples.task.splits
        splits += [r for r in ("validation", "test") if not isinstance(getattr(rules, r), str)]
    return [examples.parts[name] for name in splits]


def test_no_extract_is_left_out(real_data: Path) -> None:
    listed = (real_data / "SHA256SUMS").read_text(encoding="utf-8").split("\n")
    names = {line.split(maxsplit=1)[1].removeprefix("./") for line in listed if line}
    assert names == set(FILES) | NO_TASK_DATA


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_has_the_rows_that_are_known_of_it(name: str, real_data: Path) -> None:
    count, expected = FILES[name]
    assert count(real_data / name) == expected


@pytest.mark.parametrize("name", list(LABELS))
def test_the_shipped_card_finds_every_label(name: str, root: Path) -> None:
    examples = load(name, root)
    task: Any = examples.task
    for split, expected in LABELS[name].items():
        frame = pd.concat(whole(examples, split))
        if task.kind == "token_classification":
            tags = Counter(tag for sentence in frame["tags"] for tag in sentence)
            found = {label: tags[f"B-{label}"] for label in task.labels}
        else:
            found = dict(Counter(task.labels[number] for number in frame["label"]))
        assert found == expected


@pytest.mark.parametrize("name", list(COMPLETE))
def test_a_card_states_the_size_that_its_files_have(name: str, root: Path) -> None:
    examples = load(name, root)
    assert examples.task.size is not None
    for split in COMPLETE[name]:
        stated = examples.task.size.examples[split]
        assert count_examples(examples.parts[split]) == stated


@pytest.mark.parametrize("name", list(ANSWERS))
def test_the_shipped_card_finds_every_answer(name: str, root: Path) -> None:
    examples = load(name, root)
    for split, expected in ANSWERS[name].items():
        golds = pd.concat(whole(examples, split))["answers"].map(len)
        assert ((golds > 0).sum(), golds.sum()) == expected


@pytest.mark.parametrize("name", list(GRADES))
def test_the_shipped_card_finds_every_judgement(name: str, root: Path) -> None:
    examples = load(name, root)
    for split, expected in GRADES[name].items():
        parts = whole(examples, split)
        assert all(isinstance(part, Collection) for part in parts)
        grades = Counter(grade for part in parts for grade in part.qrels["relevance"])
        assert dict(grades) == expected


def test_the_scores_of_stsb_are_numbers_from_0_to_5(root: Path) -> None:
    frame = load("stsb", root).parts["test"]
    assert isinstance(frame, pd.DataFrame)
    assert (len(frame), frame["label"].min(), frame["label"].max()) == (1500, 0.0, 5.0)
    assert round(float(frame["label"].mean()), 4) == 2.3639


def test_files_without_labels_are_no_test_sets(real_data: Path) -> None:
    for folder, train, test, label, names in (
        ("mnli/native", "dev_matched.tsv", "test_matched.tsv", "gold_label", "sentence1"),
        ("qqp/native", "train.tsv", "test.tsv", "is_duplicate", "question1"),
    ):
        labels = ["entailment", "neutral", "contradiction"] if "mnli" in folder else ["no", "yes"]
        native = {"format": "glue_tsv", "train": train, "test": test}
        task = make_task(
            "sequence_classification",
            data={"native": native},
            text=[names],
            label=label,
            labels=labels,
            splits={"validation": {"fraction": 0.5}},
        )
        with pytest.raises(DataError, match=rf"{test}: no column '{label}'"):
            load_examples(task, real_data / folder)


def test_both_layouts_of_cranfield_say_the_same(real_data: Path) -> None:
    own, beir = real_data / "ir" / "cranfield", real_data / "ir" / "cranfield_beir"
    documents = read_cranfield_documents(own / "cran.all.1400")
    pd.testing.assert_frame_equal(documents, read_beir_texts(beir / "corpus.jsonl"))
    queries = read_cranfield_queries(own / "cran.qry")
    pd.testing.assert_frame_equal(queries, read_beir_texts(beir / "queries.jsonl")[["id", "text"]])
    qrels = read_cranfield_qrels(own / "cranqrel")
    pd.testing.assert_frame_equal(qrels, read_qrels(beir / "qrels" / "test.tsv"))
    assert documents.loc[documents["text"] == "", "id"].tolist() == ["471", "995"]
