from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.checkpoints import discover
from harness.data.sources import load_examples
from harness.spec import Task
from harness.tasks import load_tasks
from harness.toy import make_checkpoints, make_world, text, weights
from harness.toy.text import Fact, Scene

TASKS = {name: task for name, task in load_tasks().items() if name.startswith("toy_")}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_world(folder, seed=0)
    return folder


@pytest.fixture(scope="module")
def checkpoints(world: Path) -> Path:
    """The three, with a few steps of pretraining each."""
    folder = world / "checkpoints"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "ENCODER_STEPS", 48)
        patch.setattr(weights, "DECODER_STEPS", 48)
        make_checkpoints(folder, world / "data" / "corpus.txt")
    return folder


def contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


# --- the files ----------------------------------------------------------------------------------


def test_the_same_seed_writes_the_same_bytes(world: Path, tmp_path: Path) -> None:
    make_world(tmp_path, seed=0)
    assert contents(tmp_path / "data") == contents(world / "data")


def test_another_seed_writes_another_world(world: Path, tmp_path: Path) -> None:
    make_world(tmp_path, seed=1)
    one, other = contents(tmp_path / "data"), contents(world / "data")
    assert one.keys() == other.keys()
    same = {name for name in one if one[name] == other[name]}
    assert same == {"toy_search/qrels/train.tsv", "toy_search/qrels/test.tsv"}  # nothing but ids


def test_there_is_one_toy_task_of_each_kind() -> None:
    assert sorted(task.kind for task in TASKS.values()) == [
        "question_answering",
        "retrieval",
        "sequence_classification",
        "sequence_regression",
        "token_classification",
    ]


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_the_ordinary_loader_reads_it(task: Task, world: Path) -> None:
    examples = load_examples(task, world / "data")
    assert set(examples.parts) == {"train", "validation", "test"}
    assert examples.source == "native"


def test_the_sizes_are_those_of_a_demo(world: Path) -> None:
    sizes = {
        name: [len(load_examples(TASKS[name], world / "data").parts[role]) for role in roles]
        for name in ("toy_sentiment", "toy_similarity", "toy_entities", "toy_answers")
        for roles in [("train", "validation", "test")]
    }
    assert {name: rows[0] + rows[1] for name, rows in sizes.items()} == {
        "toy_sentiment": 512,
        "toy_similarity": 512,
        "toy_entities": 512,
        "toy_answers": 400,
    }
    assert [rows[2] for rows in sizes.values()] == [200, 200, 200, 120]


def test_the_two_moods_are_even(world: Path) -> None:
    rows = (world / "data" / "toy_sentiment" / "test.tsv").read_text().splitlines()[1:]
    assert Counter(row.split("\t")[1] for row in rows) == {"negative": 100, "positive": 100}


def test_answers_stand_where_the_file_says_and_about_a_third_have_none(world: Path) -> None:
    file = json.loads((world / "data" / "toy_answers" / "train.json").read_text())
    answered = 0
    for paragraph in file["data"][0]["paragraphs"]:
        for question in paragraph["qas"]:
            assert question["is_impossible"] == (not question["answers"])
            for answer in question["answers"]:
                begin = answer["answer_start"]
                found = paragraph["context"][begin : begin + len(answer["text"])]
                assert found == answer["text"]
                answered += 1
    assert 240 < answered < 293


def test_queries_of_test_ask_for_documents_that_train_does_not_know(world: Path) -> None:
    def judged(role: str) -> set[str]:
        file = world / "data" / "toy_search" / "qrels" / f"{role}.tsv"
        return {line.split("\t")[1] for line in file.read_text().splitlines()[1:]}

    assert judged("train")
    assert not judged("train") & judged("test")


# --- the sentences ------------------------------------------------------------------------------


def test_a_scene_told_in_other_words_is_as_like_as_can_be() -> None:
    scene = Scene(("man", "fellow"), ("buying", "purchasing"), ("cup", "mug"), ("here", "there"))
    assert text.likeness(scene, scene) == 5.0
    other = Scene(scene.agent, scene.action, ("hat", "cap"), scene.spot)
    assert text.likeness(scene, other) == 3.5
    strange = Scene(("boy", "lad"), ("hiding", "concealing"), ("hat", "cap"), ("near", "close"))
    assert text.likeness(scene, strange) == 0.0


def test_every_entity_begins_with_b_and_goes_on_with_its_own_kind() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        before = "O"
        for _, tag in text.news(rng):
            if tag.startswith("I-"):
                assert before[2:] == tag[2:]
            before = tag


def test_one_name_is_person_place_and_company() -> None:
    rng = np.random.default_rng(0)
    kinds: dict[str, set[str]] = {}
    for _ in range(2000):
        for word, tag in text.news(rng):
            kinds.setdefault(word, set()).add(tag[2:])
    assert kinds["Halden"] == {"PER", "LOC", "ORG"}


def test_an_answer_stands_in_its_statement() -> None:
    facts = text.facts(np.random.default_rng(0), "Anna")
    assert len(facts) == 6
    assert all(isinstance(fact, Fact) and fact.answer in fact.statement for fact in facts)


# --- the checkpoints ----------------------------------------------------------------------------


def test_three_checkpoints_are_found_and_each_knows_its_pooling(checkpoints: Path) -> None:
    found = discover(checkpoints)
    assert found.skipped == ()
    assert [(checkpoint.name, checkpoint.pooling) for checkpoint in found.checkpoints] == [
        ("toy-decoder-clm", "last"),
        ("toy-encoder-mlm", "mean"),
        ("toy-encoder-random", "mean"),
    ]


def test_the_two_encoders_differ_in_their_weights_alone(checkpoints: Path) -> None:
    trained = contents(checkpoints / "toy-encoder-mlm")
    untrained = contents(checkpoints / "toy-encoder-random")
    assert trained.keys() == untrained.keys()
    differing = {name for name in trained if trained[name] != untrained[name]}
    assert differing == {"model.safetensors"}


def test_the_same_seed_trains_the_same_weights(
    world: Path, checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    torch.rand(7)  # what went on before must not matter
    monkeypatch.setattr(weights, "ENCODER_STEPS", 48)
    monkeypatch.setattr(weights, "DECODER_STEPS", 48)
    make_checkpoints(tmp_path / "again", world / "data" / "corpus.txt")
    assert contents(tmp_path / "again") == contents(checkpoints)


def test_making_them_leaves_the_random_state_of_torch_alone(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(weights, "ENCODER_STEPS", 0)
    monkeypatch.setattr(weights, "DECODER_STEPS", 0)
    before = torch.get_rng_state()
    make_checkpoints(tmp_path, world / "data" / "corpus.txt")
    assert torch.equal(before, torch.get_rng_state())


def test_pretraining_lowers_the_surprise_at_masked_words(world: Path, checkpoints: Path) -> None:
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    lines = (world / "data" / "corpus.txt").read_text().splitlines()[:64]

    def surprise(name: str) -> float:
        tokenizer: Any = AutoTokenizer.from_pretrained(checkpoints / name)
        model: Any = AutoModelForMaskedLM.from_pretrained(checkpoints / name)
        batch = tokenizer(lines, padding=True, return_tensors="pt")
        hidden = batch["attention_mask"].bool() & (batch["input_ids"] % 3 == 0)
        labels = torch.where(hidden, batch["input_ids"], -100)
        batch["input_ids"] = torch.where(hidden, tokenizer.mask_token_id, batch["input_ids"])
        with torch.no_grad():
            return float(model(**batch, labels=labels).loss)

    assert surprise("toy-encoder-mlm") < surprise("toy-encoder-random") - 1.0


def test_the_decoder_ends_a_text_with_the_token_that_also_pads(checkpoints: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(checkpoints / "toy-decoder-clm")
    assert tokenizer.pad_token == tokenizer.eos_token == "<|endoftext|>"
    assert tokenizer.decode(tokenizer("A man is here.")["input_ids"]) == "A man is here."
