"""Real extracts of every native format: nothing lost, nothing altered."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from harness.data import Collection, load_examples, training_pairs
from harness.data.encode import Encoded, EncodedCollection, encode
from harness.data.formats.tables import read_table
from harness.data.tokenizers import load_tokenizer
from harness.spec import Role, TableFiles
from harness.tasks import load_tasks
from tests.data.conftest import make_task

pytestmark = pytest.mark.real

CARDS = Path(__file__).with_name("tasks")
ROLES: tuple[Role, ...] = ("train", "validation", "test")
SIZES = {
    "sst2": (7600, 200, 872),
    "mnli": (8549, 100, 300),
    "qqp": (8549, 100, 300),
    "stsb": (262, 46, 300),
    "wnut17": (3394, 200, 400),
    "squad_v2": (4483, 60, 150),
    "msmarco": (49, 5, 10),
}


@pytest.fixture(scope="module")
def byte_level(
    real_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer as decoders have, trained on part of the real text."""
    text = (real_data / "squad_v2" / "dev-v2.0.json").read_text(encoding="utf-8")[:300_000]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<end>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    folder = tmp_path_factory.mktemp("byte_level")
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", model_input_names=["input_ids"]
    ).save_pretrained(folder)
    return load_tokenizer(folder)


def table(path: Path, **more: Any) -> dict[str, list[Any]]:
    files = TableFiles(format="glue_tsv", train="a", test="b", **more)
    return read_table(path, files).columns


@pytest.mark.parametrize("name", list(SIZES))
def test_every_override_card_loads_as_many_examples_as_it_says(name: str, real_data: Path) -> None:
    examples = load_examples(load_tasks([CARDS])[name], real_data)
    parts = [examples.parts[role] for role in ROLES]
    counts = [len(p.queries if isinstance(p, Collection) else p) for p in parts]
    assert tuple(counts) == SIZES[name]
    assert examples.source == "native"


def test_the_override_cards_differ_from_the_shipped_ones_in_their_data_only() -> None:
    shipped, own = load_tasks(), load_tasks([CARDS])
    for name in SIZES:
        assert own[name].kind == shipped[name].kind
        assert own[name].metrics == shipped[name].metrics
        for key in ("labels", "text", "unanswerable"):
            assert getattr(own[name], key, None) == getattr(shipped[name], key, None)


@pytest.mark.parametrize(
    ("file", "rows", "columns"),
    [
        ("sst2/train.tsv", 8000, 2),
        ("sst2/dev.tsv", 872, 2),
        ("mnli/native/train.tsv", 480, 12),
        ("mnli/native/dev_matched.tsv", 2, 16),
        ("mnli/converted/train.tsv", 8999, 3),
        ("qqp/converted/train.tsv", 8999, 3),
        ("glue_small/MRPC/dev.tsv", 408, 5),
        ("glue_small/STS-B/dev.tsv", 1500, 10),
        ("glue_small/RTE/dev.tsv", 277, 4),
    ],
)
def test_glue_files_keep_every_row_and_every_character(
    real_data: Path, file: str, rows: int, columns: int
) -> None:
    read = table(real_data / file)
    assert len(read) == columns
    assert {len(column) for column in read.values()} == {rows}
    lines = (real_data / file).read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    again = ["\t".join(row) for row in zip(*read.values(), strict=True)]
    assert ["\t".join(read), *again] == lines


def test_cola_has_no_header_and_mrpc_a_byte_order_mark(real_data: Path) -> None:
    names = ("source", "label", "mark", "sentence")
    cola = table(real_data / "glue_small" / "CoLA" / "dev.tsv", columns=names)
    assert len(cola["label"]) == 1043
    assert set(cola["label"]) == {"0", "1"}
    mrpc = table(real_data / "glue_small" / "MRPC" / "dev.tsv", rename={"#1 String": "a"})
    assert next(iter(mrpc)) == "Quality"
    assert sum(text.startswith('"') for text in mrpc["a"]) > 0


def test_wnut_and_uner_have_the_sentences_of_their_papers(real_data: Path) -> None:
    parts = load_examples(
        load_tasks([CARDS])["wnut17"].model_copy(
            update={
                "splits": make_task("token_classification").splits.model_copy(
                    update={"validation": "validation"}
                )
            }
        ),
        real_data,
    ).parts
    assert [len(parts[role]) for role in ROLES] == [3394, 1009, 1287]  # type: ignore[arg-type]
    folder = "ner/uner_en_ewt/en_ewt-ud"
    native = {
        "format": "conll",
        "train": f"{folder}-dev.iob2",
        "test": f"{folder}-test.iob2",
        "token_column": 1,
        "tag_column": 2,
        "comment": "#",
    }
    task = make_task("token_classification", labels=["LOC", "ORG", "PER"], data={"native": native})
    uner = load_examples(task, real_data).parts
    assert [len(uner[role]) for role in ROLES] == [1901, 100, 2077]  # type: ignore[arg-type]
    test = uner["test"]
    assert isinstance(test, pd.DataFrame)
    assert sum(map(len, test["words"])) == 25_097


def test_superglue_answers_of_true_and_false_are_classes(real_data: Path) -> None:
    native = {
        "format": "jsonl",
        "train": "superglue/BoolQ/train.jsonl",
        "test": "superglue/BoolQ/val.jsonl",
    }
    task = make_task(
        "sequence_classification",
        text=["question", "passage"],
        labels=["no", "yes"],
        data={"native": native},
    )
    test = load_examples(task, real_data).parts["test"]
    assert isinstance(test, pd.DataFrame)
    assert len(test) == 3270
    assert round(float(test["label"].mean()), 4) == 0.6217


def test_cranfield_keeps_documents_without_a_text(
    real_data: Path, tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    native = {
        "format": "beir",
        "folder": "ir/cranfield_beir",
        "train": "test",
        "test": "test",
    }
    task = make_task("retrieval", data={"native": native})
    examples = load_examples(task, real_data)
    part = examples.parts["test"]
    assert isinstance(part, Collection)
    assert (len(part.queries), len(part.corpus), len(part.qrels)) == (225, 1400, 1837)
    assert part.corpus["text"].eq("").sum() == 2
    encoded = encode(task, examples, "test", byte_level, 64, tmp_path)
    assert isinstance(encoded, EncodedCollection)
    assert len(encoded.documents) == 1400
    assert encoded.documents.lengths.min() == 1


def test_msmarco_trains_on_judged_passages_of_its_collection_alone(real_data: Path) -> None:
    card = load_tasks([CARDS])["msmarco"].model_copy(
        update={"splits": make_task("retrieval").splits, "corpus": "full"}
    )
    parts = load_examples(card, real_data).parts
    train, test = parts["train"], parts["test"]
    assert isinstance(train, Collection)
    assert isinstance(test, Collection)
    assert len(test.corpus) == len(train.corpus) == 24_884
    assert len(test.qrels) == 9260
    assert test.qrels["document_id"].isin(test.corpus["id"]).sum() == 3839
    pairs = training_pairs(train, 2)
    assert pairs["document_id"].isin(train.corpus["id"]).all()
    assert set(pairs["query_id"]) == set(train.queries["id"])
    assert not train.queries["text"].str.contains("\r").any()


def test_real_answers_come_back_from_their_tokens(
    real_data: Path, tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    task = load_tasks([CARDS])["squad_v2"]
    examples = load_examples(task, real_data)
    frame = examples.parts["train"]
    assert isinstance(frame, pd.DataFrame)
    encoded = encode(task, examples, "train", byte_level, 192, tmp_path)
    assert isinstance(encoded, Encoded)
    assert encoded.counts["unplaced"] <= 1  # one answer of 60 words is cut by every window
    targets = encoded.targets
    exact = covered = total = 0
    for feature in np.flatnonzero(targets["start"] != targets["null"]):
        row = int(encoded.example[feature])
        first = encoded.starts[feature]
        begin = int(targets["offset_start"][first + targets["start"][feature]])
        end = int(targets["offset_end"][first + targets["end"][feature]])
        gold = frame["answers"][row][0]
        total += 1
        covered += gold["text"].strip() in frame["context"][row][begin:end]
        exact += frame["context"][row][begin:end] == gold["text"].strip()
    assert covered == total > 4000
    assert exact > 0.99 * total  # the rest begins or ends inside a token, as "1950" in "1950s"


def test_real_sentences_become_windows_that_show_every_word(
    real_data: Path, tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    task = load_tasks([CARDS])["wnut17"]
    examples = load_examples(task, real_data)
    frame = examples.parts["test"]
    assert isinstance(frame, pd.DataFrame)
    encoded = encode(task, examples, "test", byte_level, 40, tmp_path)
    assert isinstance(encoded, Encoded)
    assert len(encoded) > len(frame)
    assert encoded.counts["unseen_words"] == 0
    seen: dict[int, set[int]] = {row: set() for row in range(len(frame))}
    for row, (begin, end) in zip(encoded.example.tolist(), pairwise(encoded.starts), strict=True):
        seen[row] |= {int(word) for word in encoded.targets["word"][begin:end] if word >= 0}
    assert [len(seen[row]) for row in range(len(frame))] == [len(w) for w in frame["words"]]


@pytest.mark.slow
def test_as_many_rows_as_sst2_has_encode_in_seconds(
    real_data: Path, tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    lines = (real_data / "sst2" / "train.tsv").read_text(encoding="utf-8").split("\n")[1:8001]
    header = "sentence\tlabel\n"
    (tmp_path / "train.tsv").write_text(header + "\n".join((lines * 9)[:67_349]))
    (tmp_path / "test.tsv").write_text(header + "\n".join(lines[:872]))
    task = make_task("sequence_classification")
    begin = perf_counter()
    examples = load_examples(task, tmp_path)
    encode(task, examples, "train", byte_level, 128, tmp_path)
    # About 2 s on one idle core; the bound leaves room for a busy machine.
    assert perf_counter() - begin < 20
