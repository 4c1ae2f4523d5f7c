"""Several test sets of one training: further rows, further collections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from datasets import Dataset
from pydantic import ValidationError
from transformers import PreTrainedTokenizerFast

from harness.data import Collection, Examples, load_examples
from harness.data.encode import EncodedCollection, encode
from harness.data.fingerprints import fingerprint_frame
from harness.data.hub import read_hub_collection
from harness.data.lengths import effective_max_length
from harness.errors import DataError
from harness.execute.worker import Worker
from harness.launch.preflight import measure
from harness.predictions import read_predictions
from harness.spec import HubCollection, Run, TaskOfRows
from tests.data.conftest import make_task
from tests.small_world import SmallWorld


def write_sentences(path: Path, count: int) -> None:
    lines = [f"{path.stem} {row}\t{row % 2}" for row in range(count)]
    path.write_text("\n".join(["sentence\tlabel", *lines]))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, count in (("train", 40), ("test", 10), ("mismatched", 12)):
        write_sentences(tmp_path / f"{name}.tsv", count)
    return tmp_path


def sentences(**card: Any) -> TaskOfRows:
    task = make_task(
        "sequence_classification", **{"test_sets": {"mm": {"native": "mismatched.tsv"}}, **card}
    )
    assert isinstance(task, TaskOfRows)
    return task


def rows(examples: Examples, split: str) -> pd.DataFrame:
    part = examples.parts[split]
    assert isinstance(part, pd.DataFrame)
    return part


def collection(examples: Examples, split: str) -> Collection:
    part = examples.parts[split]
    assert isinstance(part, Collection)
    return part


def test_a_further_test_set_is_a_split_after_the_three(root: Path) -> None:
    examples = load_examples(sentences(), root)
    assert list(examples.parts) == ["train", "validation", "test", "mm"]
    assert len(rows(examples, "mm")) == 12
    assert rows(examples, "mm")["sentence"][0] == "mismatched 0"
    assert len(set(examples.fingerprints.values())) == 4
    assert measure(examples).test_examples == 22


def test_the_limit_of_test_holds_for_every_test_set(root: Path) -> None:
    examples = load_examples(sentences(splits={"limit": {"test": 5}}), root)
    assert len(rows(examples, "test")) == len(rows(examples, "mm")) == 5


def test_a_further_set_is_part_of_the_identity_and_its_absence_is_not() -> None:
    plain = make_task("sequence_classification")
    assert "test_sets" not in plain.identity
    assert sentences().identity != plain.identity


def test_a_role_is_no_name_of_a_further_set() -> None:
    with pytest.raises(ValidationError, match="'test' is a split already"):
        sentences(test_sets={"test": {"native": "a.tsv"}})
    with pytest.raises(ValidationError, match="needs `hub` or `native`"):
        sentences(test_sets={"mm": {}})


def test_a_set_that_the_source_lacks_is_named(root: Path) -> None:
    with pytest.raises(DataError, match="test set mm has no `native` file"):
        load_examples(sentences(test_sets={"mm": {"hub": "other"}}), root)
    with pytest.raises(DataError, match=r"absent\.tsv not found under the data root"):
        load_examples(sentences(test_sets={"mm": {"native": "absent.tsv"}}), root)


def test_a_set_that_the_hub_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    hub = tmp_path / "hub"
    hub.mkdir()
    for split in ("train", "test", "validation"):
        columns = {"sentence": [split, "b"], "label": [0, 1]}
        Dataset.from_dict(columns).to_parquet(hub / f"{split}.parquet")
    card = {"data": {"hub": {"path": str(hub)}}, "splits": {"validation": {"fraction": 0.5}}}
    with pytest.raises(DataError, match="test set mm has no `hub` split"):
        load_examples(sentences(**card), None)
    examples = load_examples(sentences(**card, test_sets={"mm": {"hub": "validation"}}), None)
    assert rows(examples, "mm")["sentence"].tolist() == ["validation", "b"]


def test_a_run_predicts_and_scores_every_test_set(world: SmallWorld, tmp_path: Path) -> None:
    (run,) = world.grid("toy_sentiment").runs()
    further = {"test_sets": {"again": {"native": "toy_sentiment/test.tsv"}}}
    task = type(run.task).model_validate(run.task.model_dump() | further)
    run = Run(task=task, checkpoint=run.checkpoint, recipe=run.recipe, seed=0)
    record = Worker(world.workplace(tmp_path)).execute(run)
    assert record["status"] == "ok", record["error"]
    assert set(record["scores"]) == {"validation", "test", "again"}
    assert record["scores"]["again"] == record["scores"]["test"]
    assert set(record["splits"]) == set(record["counts"]) - {"trained"}
    predictions = read_predictions(tmp_path, run.run_id)
    assert list(predictions["split"].unique()) == ["validation", "test", "again"]


# --- collections -------------------------------------------------------------------


def write_trec(folder: Path) -> None:
    (folder / "collection.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n")
    (folder / "topics").write_text("a\tfirst\nb\tsecond\nc\tthird\n")
    (folder / "qrels").write_text("a 0 1 1\nb 0 2 1\n")
    (folder / "qrels.c").write_text("c 0 3 2\nc 0 1 0\n")


def write_beir(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": str(n), "title": "T", "text": f"long text {n}"} for n in range(4)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "a", "text": "another first"}))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\t2\t1\n")


def search_task(**collections: Any) -> Any:
    topics = {"queries": "topics", "qrels": "qrels"}
    native = {"format": "trec", "corpus": "collection.tsv", "train": topics, "test": topics}
    return make_task(
        "retrieval",
        data={"native": native},
        splits={"validation": {"fraction": 0.5}},
        document="{text}",
        max_length=8,
        query_max_length=6,
        collections=collections,
    )


OTHER_TOPICS = {"native": {"format": "trec", "queries": "topics", "qrels": "qrels.c"}}
OTHER_WORLD = {
    "native": {"format": "beir", "folder": "beir"},
    "document": "{title}. {text}",
    "max_length": 16,
}


def test_a_collection_may_share_the_corpus_or_bring_its_own(tmp_path: Path) -> None:
    write_trec(tmp_path)
    write_beir(tmp_path / "beir")
    task = search_task(dl=OTHER_TOPICS, nq=OTHER_WORLD)
    examples = load_examples(task, tmp_path)
    assert list(examples.parts) == ["train", "validation", "test", "dl", "nq"]
    dl, nq, test = (collection(examples, name) for name in ("dl", "nq", "test"))
    assert dl.queries["id"].tolist() == ["c"]
    assert dl.corpus_fingerprint == test.corpus_fingerprint
    assert dl.corpus is test.corpus  # millions of passages are in memory once
    assert len(nq.corpus) == 4
    # Ids have a name space a collection: query `a` and document `2` are others here.
    assert nq.queries.to_dict("list") == {"id": ["a"], "text": ["another first"]}


def test_a_corpus_is_digested_once_for_all_that_rank_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trec(tmp_path)
    write_beir(tmp_path / "beir")
    digested = []

    def spy(frame: pd.DataFrame) -> str:
        digested.append(len(frame) if "title" in frame else "queries")
        return fingerprint_frame(frame)

    monkeypatch.setattr("harness.data.frames.fingerprint_frame", spy)
    load_examples(search_task(dl=OTHER_TOPICS, nq=OTHER_WORLD), tmp_path)
    assert digested.count("queries") == 5
    assert [count for count in digested if count != "queries"] == [3, 4]


def test_a_collection_has_its_own_template_and_length(
    tmp_path: Path, byte_level: PreTrainedTokenizerFast
) -> None:
    write_trec(tmp_path)
    write_beir(tmp_path / "beir")
    task = search_task(dl=OTHER_TOPICS, nq=OTHER_WORLD)
    examples = load_examples(task, tmp_path)
    lengths = {s: effective_max_length(task, byte_level, None, s) for s in examples.parts}
    assert lengths == {"train": 8, "validation": 8, "test": 8, "dl": 8, "nq": 16}

    def encoded(split: str) -> EncodedCollection:
        part = encode(task, examples, split, byte_level, lengths[split], tmp_path / "cache")
        assert isinstance(part, EncodedCollection)
        return part

    validation, test, dl, nq = (encoded(s) for s in ("validation", "test", "dl", "nq"))
    assert validation.corpus == test.corpus == dl.corpus != nq.corpus
    assert len(list((tmp_path / "cache" / "encoded").iterdir())) == 4 + 2  # queries, corpora
    first = nq.documents.token_ids[: nq.documents.starts[1]]
    assert byte_level.decode(first).startswith("T. long text")
    assert nq.documents.lengths.max() > 8 >= test.documents.lengths.max()
    assert nq.queries.lengths.max() <= 6


def test_a_missing_collection_is_named(tmp_path: Path) -> None:
    write_trec(tmp_path)
    with pytest.raises(DataError, match=r"collection nq: beir/corpus\.jsonl, .* not found under"):
        load_examples(search_task(nq=OTHER_WORLD), tmp_path)


def test_a_judged_corpus_is_judged_collection_by_collection(tmp_path: Path) -> None:
    write_trec(tmp_path)
    task = search_task(dl=OTHER_TOPICS).model_copy(update={"corpus": "judged"})
    examples = load_examples(task, tmp_path)
    assert collection(examples, "dl").corpus["id"].tolist() == ["1", "3"]
    assert collection(examples, "test").corpus["id"].tolist() == ["1", "2"]


def test_collections_of_the_hub_come_in_three_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    write_trec(tmp_path)
    documents = {"_id": ["d1", "d2"], "text": ["one", "two"]}
    queries = {"_id": ["1", "2"], "text": ["a", "b"]}
    pairs = {"query-id": ["2"], "corpus-id": ["d2"], "score": [3]}
    save_configs(tmp_path / "mteb", corpus=documents, queries=queries, default=pairs)
    long = {"docid": ["x", "y"], "text": ["long one", "long two"]}
    passages = [[{"docid": "y", "text": "long two"}]]
    asked = {"query_id": ["q"], "query": ["what?"], "positive_passages": passages}
    save_configs(tmp_path / "mldr", corpus=long, default=asked)
    task = search_task(
        mteb={"hub": {"path": str(tmp_path / "mteb"), "layout": "mteb"}},
        mldr={"hub": {"path": str(tmp_path / "mldr"), "layout": "mldr"}},
    )
    examples = load_examples(task, tmp_path)
    assert examples.source == "native and hub"
    mteb, mldr = collection(examples, "mteb"), collection(examples, "mldr")
    assert mteb.qrels.to_numpy().tolist() == [["2", "d2", 3]]
    assert mteb.queries["text"].tolist() == ["b"]
    assert mldr.qrels.to_numpy().tolist() == [["q", "y", 1]]
    assert mldr.corpus["text"].tolist() == ["long one", "long two"]


def test_of_the_hub_only_rows_of_documents_kept_become_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_OFFLINE", True)
    monkeypatch.setattr("harness.data.hub.ROWS_AT_ONCE", 2)
    texts = ["four", None, "six", "seven", None]  # a text that is made of None is an error
    queries = {"_id": ["1"], "text": ["a"]}
    pairs = {"query-id": ["1"], "corpus-id": ["4"], "score": [1]}
    documents = {"_id": [4, 5, 6, 7, 6], "text": texts}
    save_configs(tmp_path / "mteb", corpus=documents, queries=queries, default=pairs)
    asked = {"query_id": ["1"], "query": ["a"], "positive_passages": [[{"docid": "4"}]]}
    documents = {"docid": [4, 5, 6, 7, 6], "text": [*texts[:4], "again"]}
    save_configs(tmp_path / "mldr", corpus=documents, default=asked)

    def read(layout: str, *kept: str) -> list[list[str]]:
        place = HubCollection.model_validate({"path": str(tmp_path / layout), "layout": layout})
        read_corpus = read_hub_collection(place).read_corpus
        assert read_corpus is not None
        return read_corpus(frozenset(kept))[["id", "text"]].to_numpy().tolist()

    assert read("mteb", "4", "7", "8") == [["4", "four"], ["7", "seven"]]
    assert read("mldr", "4", "7", "8") == [["4", "four"], ["7", "seven"]]
    assert read("mteb", "8") == read("mldr", "8") == []
    with pytest.raises(DataError, match="mteb/corpus: row 4: needs `_id` and `text`"):
        read("mteb", "6")
    with pytest.raises(DataError, match="mldr/corpus: row 4: id '6' occurs twice"):
        read("mldr", "6")


def save_configs(folder: Path, **configs: dict[str, list[Any]]) -> None:
    """Save a repository with a configuration each; judgements are its split `test`."""
    lines = ["---", "configs:"]
    for name, columns in configs.items():
        split = "test" if name == "default" else name
        (folder / name).mkdir(parents=True)
        Dataset.from_dict(columns).to_parquet(folder / name / f"{split}.parquet")
        place = f"{{split: {split}, path: {name}/{split}.parquet}}"
        lines.append(f"- config_name: {name}\n  data_files: [{place}]")
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
