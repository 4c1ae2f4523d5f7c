"""Encoding through the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from transformers import PreTrainedTokenizerFast

from harness.data import Collection, Examples
from harness.data.encode import Encoded, EncodedCollection, encode
from harness.data.frames import Corpus
from harness.data.sources import fingerprint_part
from harness.spec import Task
from tests.data.conftest import make_task

SENTENCES = pd.DataFrame({"id": ["0", "1"], "sentence": ["bears", "in France"], "label": [1, 0]})


def examples_of(task: Task, part: pd.DataFrame | Collection) -> Examples:
    return Examples(task, {"test": part}, {"test": fingerprint_part(part)}, "native")


def entries(cache: Path) -> set[str]:
    return {path.name for path in (cache / "encoded").iterdir()}


def encode_sentences(cache: Path, tokenizer: Any, length: int = 32, **card: Any) -> Encoded:
    task = make_task("sequence_classification", **card)
    encoded = encode(task, examples_of(task, SENTENCES), "test", tokenizer, length, cache)
    assert isinstance(encoded, Encoded)
    return encoded


def test_labels_are_targets_of_the_kinds_types(
    tmp_path: Path, wordpiece: PreTrainedTokenizerFast
) -> None:
    encoded = encode_sentences(tmp_path, wordpiece)
    assert encoded.targets["label"].tolist() == [1, 0]
    assert encoded.targets["label"].dtype == "int64"
    task = make_task("sequence_regression", text=["sentence"])
    scored = SENTENCES.assign(label=[0.5, 5.0])
    regression = encode(task, examples_of(task, scored), "test", wordpiece, 32, tmp_path)
    assert isinstance(regression, Encoded)
    assert regression.targets["label"].dtype == "float32"


def test_only_what_shapes_the_features_makes_a_new_entry(
    tmp_path: Path, wordpiece: PreTrainedTokenizerFast, byte_level: PreTrainedTokenizerFast
) -> None:
    first = encode_sentences(tmp_path, wordpiece)
    encode_sentences(tmp_path, wordpiece, name="other", metrics=["mcc"], description="new")
    assert len(entries(tmp_path)) == 1
    encode_sentences(tmp_path, wordpiece, length=16)
    encode_sentences(tmp_path, wordpiece, text="Review: {sentence}")
    encode_sentences(tmp_path, byte_level)
    assert len(entries(tmp_path)) == 4
    again = encode_sentences(tmp_path, wordpiece)
    assert again.token_ids.tolist() == first.token_ids.tolist()
    assert again.counts == first.counts


def test_splits_with_one_corpus_share_its_documents(
    tmp_path: Path, wordpiece: PreTrainedTokenizerFast
) -> None:
    task = make_task("retrieval", query_max_length=8, query="Query: {text}")
    corpus = pd.DataFrame(
        {"id": ["d1", "d2"], "title": ["", "The Normans"], "text": ["", "gave their name"]}
    )
    qrels = pd.DataFrame({"query_id": ["q"], "document_id": ["d1"], "relevance": [1]})
    long = "who gave their name to Normandy in the 1000's and 1100's"
    parts = {
        text: Collection(pd.DataFrame({"id": ["q"], "text": [text]}), Corpus(corpus), qrels)
        for text in ("who", long)
    }
    encoded = [
        encode(task, examples_of(task, part), "test", wordpiece, 32, tmp_path)
        for part in parts.values()
    ]
    assert len(entries(tmp_path)) == 3
    both = encoded[1]
    assert isinstance(both, EncodedCollection)
    assert both.queries.lengths.tolist() == [8]
    assert both.documents.lengths[0] == 2  # an empty document: [CLS] [SEP]
    assert both.documents.targets == {}
    expected = wordpiece("The Normans gave their name")["input_ids"]
    assert both.documents.token_ids[2:].tolist() == expected


def test_a_corpus_has_another_name_with_another_template_length_or_passages(
    tmp_path: Path, wordpiece: PreTrainedTokenizerFast
) -> None:
    corpus = pd.DataFrame({"id": ["d1"], "title": ["A"], "text": ["The Normans gave their name"]})
    qrels = pd.DataFrame({"query_id": ["q"], "document_id": ["d1"], "relevance": [1]})
    passages = {"long_documents": "max_passage", "passage_overlap": 1}

    def encoded(
        split: str, length: int = 6, name: str = "q", corpus: pd.DataFrame = corpus, **card: Any
    ) -> EncodedCollection:
        task = make_task("retrieval", **card)
        part = Collection(
            pd.DataFrame({"id": [name], "text": ["who"]}),
            Corpus(corpus),
            qrels.assign(query_id=name),
        )
        examples = Examples(task, {split: part}, {}, "native")
        made = encode(task, examples, split, wordpiece, length, tmp_path)
        assert isinstance(made, EncodedCollection)
        return made

    plain = encoded("test")
    assert encoded("validation", name="other").corpus == plain.corpus
    assert encoded("test", long_documents="truncate").corpus == plain.corpus
    assert encoded("train", **passages).corpus == plain.corpus
    others = [
        encoded("test", length=9),
        encoded("test", document="{text}"),
        encoded("test", corpus=corpus.assign(id="d2")),
        encoded("test", **passages),
        encoded("test", **passages | {"passage_overlap": 2}),
    ]
    assert len({plain.corpus, *(other.corpus for other in others)}) == 6
    assert len(others[3].documents) > len(plain.documents) == 1


def test_the_windows_of_a_card_are_part_of_the_entry(
    tmp_path: Path, wordpiece: PreTrainedTokenizerFast
) -> None:
    words = pd.DataFrame({"id": ["0"], "words": [["bears"] * 20], "tags": [["O"] * 20]})
    context = "The Normans were the people who gave their name to Normandy."
    answers = [[{"text": "Normans", "start": 4}]]
    questions = pd.DataFrame(
        {"id": ["0"], "question": ["Who?"], "context": [context], "answers": answers}
    )
    for overlap in (0, 2):
        task = make_task("token_classification", overlap=overlap)
        encode(task, examples_of(task, words), "test", wordpiece, 12, tmp_path)
    assert len(entries(tmp_path)) == 2
    for stride in (1, 2):
        task = make_task("question_answering", stride=stride)
        encode(task, examples_of(task, questions), "test", wordpiece, 16, tmp_path)
    assert len(entries(tmp_path)) == 4
