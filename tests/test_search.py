"""Each distinct corpus is embedded once, and every split gets the ranking that it would get alone.

A bag of words takes the place of a checkpoint where it matters what a text says.
"""

from __future__ import annotations

import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

from harness.batching import split_by_tokens
from harness.data import load_examples
from harness.data.encode import Encoded, EncodedCollection, encode
from harness.data.frames import Collection, Corpus
from harness.data.tokenizers import load_tokenizer
from harness.execute.worker import Worker
from harness.models.batch import Layout, collate
from harness.models.heads import EmbeddingHead, build_head
from harness.predict import predict
from harness.predictions import read_predictions
from harness.search import rank
from harness.seeding import torch_generator
from harness.spec import Retrieval, Run
from tests.models.tiny import RANKING, encoded_texts, lengths_of, recipe, tiny_bert
from tests.small_world import SmallWorld

LENGTHS = lengths_of(40, seed=3)


class BagOfWords:
    """Embeds a feature by the tokens that it has, without those around it; counts features."""

    def __init__(self, vocabulary: int, special: tuple[int, ...] = ()) -> None:
        self._weights = torch.ones(vocabulary)
        self._weights[list(special)] = 0
        self.embedded = 0

    def __call__(self, encoded: Encoded) -> Any:
        for rows in split_by_tokens(encoded.lengths, 60):
            batch = collate(encoded, rows, Layout(0, False, "mean"))
            counts = torch.zeros(len(rows), len(self._weights))
            tokens = torch.ones_like(batch.token_ids_BL, dtype=torch.float32)
            if batch.mask_BL is not None:
                tokens = tokens * batch.mask_BL
            counts.scatter_add_(1, batch.token_ids_BL, tokens)
            self.embedded += len(rows)
            yield rows, batch, torch.nn.functional.normalize(counts * self._weights, dim=1)


def collection(queries: int, documents: int, name: str) -> Collection:
    return Collection(
        pd.DataFrame({"id": [f"{name}{n}" for n in range(queries)], "text": "?"}),
        Corpus(pd.DataFrame({"id": [f"d{n}" for n in range(documents)], "title": "", "text": "x"})),
        pd.DataFrame(
            {
                "query_id": [f"{name}{n}" for n in range(queries)],
                "document_id": "d0",
                "relevance": 1,
            }
        ),
    )


def three_splits() -> tuple[dict[str, Collection], dict[str, EncodedCollection]]:
    """Validation and test have one corpus of 40 documents, `other` has one of 12."""
    big, small = encoded_texts(LENGTHS), encoded_texts(LENGTHS[:12], seed=9)
    parts = {
        "validation": collection(3, 40, "v"),
        "test": collection(5, 40, "t"),
        "other": collection(2, 12, "o"),
    }
    encoded = {
        "validation": EncodedCollection(encoded_texts([4, 2, 7], seed=1), big, "big"),
        "test": EncodedCollection(encoded_texts([3, 9, 5, 2, 2], seed=2), big, "big"),
        "other": EncodedCollection(encoded_texts([6, 3], seed=3), small, "small"),
    }
    return parts, encoded


def test_a_corpus_that_splits_share_is_embedded_once(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.search.SEARCH_PASSAGES", 7)
    parts, encoded = three_splits()
    backbone = tiny_bert(tmp_path)
    head = build_head(RANKING, 32, torch_generator(0, "head"))
    embedded: list[int] = []
    head.register_forward_hook(lambda _, __, outputs: embedded.append(len(outputs)))

    def predicted(*splits: str) -> dict[str, pd.DataFrame]:
        chosen = ({s: parts[s] for s in splits}, {s: encoded[s] for s in splits})
        more = {"device": "cpu", "max_tokens": 30}
        return predict(backbone, head, RANKING, *chosen, recipe(), **more)

    together = predicted("validation", "test", "other")
    assert sum(embedded) == (3 + 5 + 2) + (40 + 12)
    for split, frame in together.items():
        alone = predicted(split)[split]
        pd.testing.assert_frame_equal(frame, alone, check_exact=True)
        assert frame["id"].tolist() == parts[split].queries["id"].tolist()


def test_chunked_rankings_are_those_of_the_whole_product_with_its_ties(monkeypatch):
    monkeypatch.setattr("harness.search.SEARCH_PASSAGES", 6)
    parts, encoded = three_splits()
    for split, frame in rank(BagOfWords(60), parts, encoded, depth=15).items():
        embeddings = []
        for side in (encoded[split].queries, encoded[split].documents):
            whole = torch.zeros(len(side), 60)
            for rows, _, found in BagOfWords(60)(side):
                whole[rows] = found
            embeddings.append(whole)
        scores = (embeddings[0] @ embeddings[1].T).numpy()
        order = np.argsort(-scores, axis=1, kind="stable")[:, :15]
        assert frame["documents"].tolist() == [[f"d{place}" for place in row] for row in order]
        expected = np.take_along_axis(scores, order, 1)
        np.testing.assert_allclose(np.stack(frame["scores"]), expected, rtol=1e-6, atol=1e-7)
        ties = (expected[:, 1:] == expected[:, :-1]).any(1)
        assert split == "other" or ties.all()  # most documents share no token with a short query


def test_embeddings_of_documents_are_let_go_chunk_by_chunk(monkeypatch):
    monkeypatch.setattr("harness.search.SEARCH_PASSAGES", 12)
    encoded = EncodedCollection(encoded_texts([4, 2]), encoded_texts(lengths_of(200)), "many")
    batches: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []

    def embed(part: Encoded) -> Any:
        for rows, batch, embeddings in BagOfWords(60)(part):
            if part is encoded.documents:
                batches.append(weakref.ref(embeddings))
                alive.append(sum(reference() is not None for reference in batches))
            yield rows, batch, embeddings
            del embeddings

    rank(embed, {"test": collection(2, 200, "t")}, {"test": encoded}, depth=3)
    assert len(batches) > 20
    assert max(alive) <= 4  # a batch has five documents or more, and a chunk is full with twelve


def toy_search(world: SmallWorld, **card: Any) -> Retrieval:
    task = world.tasks["toy_search"]
    task = type(task).model_validate(task.model_dump() | card)
    assert isinstance(task, Retrieval)
    return task


def run_of(world: SmallWorld, task: Retrieval) -> Run:
    (run,) = world.grid("toy_search").runs()
    return Run(task=task, checkpoint=run.checkpoint, recipe=run.recipe, seed=0)


def test_a_run_embeds_its_corpus_once_for_validation_and_test(world: SmallWorld, tmp_path: Path):
    embedded: list[int] = []

    def count(module: torch.nn.Module, _: Any, outputs: torch.Tensor) -> None:
        if isinstance(module, EmbeddingHead) and not module.training:
            embedded.append(len(outputs))

    handle = register_module_forward_hook(count)
    try:
        record = Worker(world.workplace(tmp_path)).execute(run_of(world, toy_search(world)))
    finally:
        handle.remove()
    assert record["status"] == "ok", record["error"]
    counts = record["counts"]
    queries = sum(counts[split]["queries"]["features"] for split in ("validation", "test"))
    documents = counts["test"]["documents"]["features"]
    assert documents == counts["validation"]["documents"]["features"] == 150
    assert sum(embedded) == queries + documents


def test_a_record_says_which_documents_were_cut_and_which_windowed(
    world: SmallWorld, tmp_path: Path
):
    cut = toy_search(world, max_length=12)
    best = toy_search(world, max_length=12, long_documents="max_passage", passage_overlap=2)
    worker = Worker(world.workplace(tmp_path))
    counts = {}
    for task in (cut, best):
        run = run_of(world, task)
        record = worker.execute(run)
        assert record["status"] == "ok", record["error"]
        counts[task.long_documents] = record["counts"]
        rankings = read_predictions(tmp_path, run.run_id)["documents"]
        assert all(len(set(row)) == len(row) == 100 for row in rankings)
    long = counts[None]["test"]["documents"]["truncated"]
    assert long > 0
    assert "windowed" not in counts[None]["test"]["documents"]
    ranked = counts["max_passage"]["test"]["documents"]
    assert (ranked["truncated"], ranked["windowed"]) == (0, long)
    assert ranked["features"] >= 150 + long
    # Pairs are trained on the beginnings of documents.
    assert counts["max_passage"]["train"] == counts[None]["train"]


def write_long_document(folder: Path, filler: list[str], wanted: list[str]) -> None:
    documents = {"late": filler + wanted, "other": filler + filler[:3], "short": filler[:4]}
    lines = [
        json.dumps({"_id": name, "text": " ".join(words)}) for name, words in documents.items()
    ]
    (folder / "qrels").mkdir()
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    queries = [{"_id": str(n), "text": " ".join(wanted)} for n in range(3)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels" / "train.tsv").write_text(f"{header}0\tlate\t1\n1\tlate\t1\n")
    (folder / "qrels" / "test.tsv").write_text(f"{header}2\tlate\t1\n")


@pytest.mark.parametrize("choice", ["truncate", "max_passage"])
def test_words_at_the_end_of_a_long_document_are_found_with_passages_alone(
    world: SmallWorld, tmp_path: Path, choice: str
):
    tokenizer = load_tokenizer(world.encoder.path)
    special = set(tokenizer.all_special_ids)
    words = [word for word, number in tokenizer.get_vocab().items() if number not in special]
    words = sorted(word for word in words if word.isalpha())
    write_long_document(tmp_path, words[:30], words[40:43])
    native = {"format": "beir", "folder": ".", "train": "train", "test": "test"}
    task = toy_search(
        world,
        data={"native": native},
        document="{text}",
        splits={"validation": {"of": "train", "fraction": 0.5}},
        long_documents=choice,
    )
    examples = load_examples(task, tmp_path)
    encoded = encode(task, examples, "test", tokenizer, 12, tmp_path / "cache")
    assert isinstance(encoded, EncodedCollection)
    embed = BagOfWords(len(tokenizer), tuple(special))
    part = examples.parts["test"]
    assert isinstance(part, Collection)
    frame = rank(embed, {"test": part}, {"test": encoded}, depth=3)["test"]
    (documents,), (scores,) = frame["documents"], frame["scores"]
    assert sorted(documents) == ["late", "other", "short"]
    assert embed.embedded == 1 + len(encoded.documents)
    if choice == "truncate":
        assert scores.tolist() == [0, 0, 0]
    else:
        assert documents[0] == "late"
        assert scores[0] > 0.5 > scores[1]
