"""The hub source, on local folders of parquet files, which `datasets` loads in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import huggingface_hub
import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, Features, Sequence, Value

from harness.data import Collection, load_examples
from harness.data.hub import read_hub_collection, read_hub_rows
from harness.errors import AbsentDataError, DataError
from harness.spec import HubCollection, HubSource
from tests.data.conftest import make_task


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)


def save(folder: Path, features: Features, **splits: dict[str, list[Any]]) -> str:
    folder.mkdir(parents=True)
    for split, columns in splits.items():
        Dataset.from_dict(columns, features=features).to_parquet(folder / f"{split}.parquet")
    return str(folder)


def test_classes_are_mapped_by_name_whatever_their_order(tmp_path: Path) -> None:
    features = Features(
        {"text": Value("string"), "gold": ClassLabel(names=["positive", "negative"])}
    )
    rows = {"text": [" good ", "bad", "dull", "fine"], "gold": [0, 1, 1, 0]}
    path = save(tmp_path / "set", features, train=rows, validation=rows)
    hub = {"path": path, "rename": {"text": "sentence", "gold": "label"}}
    task = make_task(
        "sequence_classification",
        data={"hub": hub},
        splits={"validation": {"fraction": 0.25}, "test": "validation"},
    )
    examples = load_examples(task, None)
    test = examples.parts["test"]
    assert isinstance(test, pd.DataFrame)
    assert examples.source == "hub"
    assert test["sentence"].tolist() == ["good", "bad", "dull", "fine"]
    assert test["label"].tolist() == [1, 0, 0, 1]
    # A data root without the native files leaves the task to the hub.
    native = {"format": "glue_tsv", "train": "train.tsv", "test": "dev.tsv"}
    both = task.model_copy(
        update={"data": task.data.model_validate({"hub": hub, "native": native})}
    )
    assert load_examples(both, tmp_path).source == "hub"


def test_tags_of_lists_of_classes_become_names(tmp_path: Path) -> None:
    names = ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]
    features = Features(
        {"words": Sequence(Value("string")), "ner": Sequence(ClassLabel(names=names))}
    )
    rows = {"words": [["Li", "Na"], ["in", "Rome"], []], "ner": [[3, 4], [0, 1], []]}
    path = save(tmp_path / "set", features, train=rows, validation=rows, test=rows)
    task = make_task(
        "token_classification",
        data={"hub": {"path": path, "rename": {"words": "tokens", "ner": "tags"}}},
        splits={"validation": "validation"},
    )
    test = load_examples(task, None).parts["test"]
    assert isinstance(test, pd.DataFrame)
    assert test["tags"].tolist() == [["B-PER", "I-PER"], ["O", "B-LOC"], []]


def test_unlabelled_splits_are_refused(tmp_path: Path) -> None:
    features = Features({"sentence": Value("string"), "label": ClassLabel(names=["no", "yes"])})
    labelled = {"sentence": ["a", "b"], "label": [0, 1]}
    hidden = {"sentence": ["a", "b"], "label": [-1, -1]}
    path = save(tmp_path / "set", features, train=labelled, test=hidden)
    task = make_task("sequence_classification", data={"hub": {"path": path}}, labels=["no", "yes"])
    with pytest.raises(DataError, match=r"\[test\]: row 0: .* has no label"):
        load_examples(task, None)


def test_questions_keep_their_ids(tmp_path: Path) -> None:
    features = Features(
        {
            "id": Value("string"),
            "question": Value("string"),
            "context": Value("string"),
            "answers": {
                "text": Sequence(Value("string")),
                "answer_start": Sequence(Value("int32")),
            },
        }
    )
    rows = {
        "id": ["x1", "x2"],
        "question": ["Where?", "Who?"],
        "context": ["In Rome.", "In Rome."],
        "answers": [{"text": ["Rome"], "answer_start": [3]}, {"text": [], "answer_start": []}],
    }
    path = save(tmp_path / "set", features, train=rows, validation=rows)
    task = make_task(
        "question_answering",
        unanswerable=True,
        data={"hub": {"path": path}},
        splits={"validation": {"fraction": 0.5}, "test": "validation"},
    )
    test = load_examples(task, None).parts["test"]
    assert isinstance(test, pd.DataFrame)
    assert test["id"].tolist() == ["x1", "x2"]
    assert test["answers"].tolist() == [[{"text": "Rome", "start": 3}], []]


def test_a_beir_repository_has_a_sister_with_its_qrels(tmp_path: Path) -> None:
    folder = tmp_path / "marco"
    texts = Features({"_id": Value("string"), "title": Value("string"), "text": Value("string")})
    documents = {"_id": ["d1", "d2"], "title": ["", "T"], "text": ["one", "two"]}
    queries = {"_id": ["1", "2", "3"], "title": [""] * 3, "text": ["a", "b", "c"]}
    for name, rows in (("corpus", documents), ("queries", queries)):
        (folder / name).mkdir(parents=True)
        Dataset.from_dict(rows, features=texts).to_parquet(folder / name / f"{name}.parquet")
    (folder / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: corpus\n  data_files: [{split: corpus, path: corpus/corpus.parquet}]\n"
        "- config_name: queries\n  data_files: [{split: queries, path: queries/queries.parquet}]\n"
        "---\n"
    )
    pairs = Features(
        {"query-id": Value("int64"), "corpus-id": Value("string"), "score": Value("int64")}
    )
    train = {"query-id": [1, 2], "corpus-id": ["d1", "d2"], "score": [1, 1]}
    test = {"query-id": [3], "corpus-id": ["d2"], "score": [2]}
    save(tmp_path / "marco-qrels", pairs, train=train, test=test)
    task = make_task(
        "retrieval",
        data={"hub": {"path": str(folder)}},
        splits={"validation": {"fraction": 0.5}},
    )
    part = load_examples(task, None).parts["test"]
    assert isinstance(part, Collection)
    assert part.queries.to_dict("list") == {"id": ["3"], "text": ["c"]}
    assert part.corpus["title"].tolist() == ["", "T"]
    assert part.qrels.to_dict("list") == {
        "query_id": ["3"],
        "document_id": ["d2"],
        "relevance": [2],
    }


def test_faults_of_a_ranking_are_named_by_their_rows(tmp_path: Path) -> None:
    texts = Features({"_id": Value("string"), "text": Value("string")})
    pairs = Features(
        {"query-id": Value("string"), "corpus-id": Value("string"), "score": Value("int64")}
    )
    folder = tmp_path / "marco"
    for name, ids in (("corpus", ["a", "b", "b"]), ("queries", ["1", "2"])):
        save(folder / name, texts, **{name: {"_id": ids, "text": ids}})
    (folder / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: corpus\n  data_files: [{split: corpus, path: corpus/corpus.parquet}]\n"
        "- config_name: queries\n  data_files: [{split: queries, path: queries/queries.parquet}]\n"
        "---\n"
    )
    place = HubCollection(path=str(folder))
    judged = {"query-id": ["1", "1", "1"], "corpus-id": ["a", "a", "a"], "score": [1, 1, 2]}
    save(tmp_path / "marco-qrels", pairs, test=judged)
    with pytest.raises(DataError, match=r"marco-qrels\[test\]: row 2: query '1' and document 'a'"):
        read_hub_collection(place)
    save(tmp_path / "fine" / "marco-qrels", pairs, test={n: v[:1] for n, v in judged.items()})
    folder.rename(tmp_path / "fine" / "marco")
    found = read_hub_collection(HubCollection(path=str(tmp_path / "fine" / "marco")))
    assert found.read_corpus is not None
    with pytest.raises(DataError, match="marco/corpus: row 2: id 'b' occurs twice"):
        found.read_corpus(None)


def test_a_set_that_is_not_there_is_named_with_the_remedy(tmp_path: Path) -> None:
    message = r"(?s)nobody/nothing/x\[train\]: can't be loaded .*harness fetch --grid FILE"
    with pytest.raises(DataError, match=message):
        read_hub_rows(HubSource(path="nobody/nothing", name="x"), "train")
    features = Features({"a": Value("string")})
    path = save(tmp_path / "set", features, train={"a": ["1"]})
    with pytest.raises(DataError, match=r"\[dev\]: can't be loaded"):
        read_hub_rows(HubSource(path=path), "dev")


def test_a_hub_that_is_out_of_reach_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    switches = []

    def load(*_: Any, **__: Any) -> None:
        switches.append((datasets.config.HF_HUB_OFFLINE, huggingface_hub.is_offline_mode()))
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", load)
    for _ in range(2):
        with pytest.raises(AbsentDataError, match=r"org/set\[train\]: can't be loaded .* no route"):
            read_hub_rows(HubSource(path="org/set"), "train")
    assert switches == [(False, False), (True, True)]
