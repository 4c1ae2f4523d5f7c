"""Loading the examples of a task from native files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.data import Collection, Examples, load_examples, training_pairs
from harness.data.frames import Corpus, is_among
from harness.data.ranking import keep_judged_documents
from harness.data.sources import fingerprint_part
from harness.errors import DataError, SpecError
from harness.spec import Retrieval
from tests.data.conftest import make_task


def write_sentences(folder: Path, name: str, count: int) -> None:
    lines = [f"sentence {row}\t{row % 2}" for row in range(count)]
    (folder / name).write_text("\n".join(["sentence\tlabel", *lines]))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_sentences(tmp_path, "train.tsv", 40)
    write_sentences(tmp_path, "test.tsv", 10)
    return tmp_path


def test_held_out_rows_keep_their_order_and_their_train_ids(root: Path) -> None:
    task = make_task("sequence_classification", splits={"validation": {"fraction": 0.1}})
    examples = load_examples(task, root)
    train, validation, test = (examples.parts[r] for r in ("train", "validation", "test"))  # type: ignore[index]
    assert isinstance(train, pd.DataFrame)
    assert isinstance(validation, pd.DataFrame)
    assert isinstance(test, pd.DataFrame)
    assert (len(train), len(validation), len(test)) == (36, 4, 10)
    assert sorted([*train["id"], *validation["id"]], key=int) == [str(n) for n in range(40)]
    for part in (train, validation):
        assert [f"sentence {n}" for n in part["id"]] == part["sentence"].tolist()
        assert sorted(part["id"], key=int) == part["id"].tolist()
        assert part.index.tolist() == list(range(len(part)))
    assert examples.source == "native"
    assert len(set(examples.fingerprints.values())) == 3


def test_rows_that_are_left_out_are_counted_a_file(root: Path) -> None:
    train = (root / "train.tsv").read_text().split("\n")
    (root / "train.tsv").write_text("\n".join([*train[:3], "no label", *train[3:], "nor here"]))
    native = {"format": "glue_tsv", "train": "train.tsv", "test": "test.tsv"}
    task = make_task("sequence_classification", data={"native": native})
    with pytest.raises(DataError, match=r"train\.tsv:4: 2 rows do not have 2 fields"):
        load_examples(task, root)
    lenient = make_task(
        "sequence_classification", data={"native": native | {"short_rows": "leave_out"}}
    )
    examples = load_examples(lenient, root)
    assert examples.left_out == {"train": 2, "test": 0}
    (root / "train.tsv").write_text("\n".join(train))
    whole = load_examples(task, root)
    assert examples.fingerprints == whole.fingerprints
    assert whole.left_out == {}


def test_fingerprints_say_which_split_changed(root: Path) -> None:
    task = make_task("sequence_classification")
    before = load_examples(task, root).fingerprints
    assert load_examples(task, root).fingerprints == before
    write_sentences(root, "test.tsv", 11)
    after = load_examples(task, root).fingerprints
    assert after["train"] == before["train"]
    assert after["test"] != before["test"]


def test_what_can_not_be_held_out_is_named_with_its_task(root: Path) -> None:
    write_sentences(root, "train.tsv", 1)
    with pytest.raises(DataError, match="task small: validation can't be held out of 1 training"):
        load_examples(make_task("sequence_classification"), root)


def test_limits_apply_after_the_hold_out(root: Path) -> None:
    splits = {"validation": {"fraction": 0.25}, "limit": {"train": 12, "validation": 3, "test": 4}}
    limited = load_examples(make_task("sequence_classification", splits=splits), root)
    whole = load_examples(
        make_task("sequence_classification", splits={"validation": {"fraction": 0.25}}), root
    )
    assert [len(limited.parts[role]) for role in limited.parts] == [12, 3, 4]  # type: ignore[arg-type]
    for role, part in limited.parts.items():
        assert set(part["id"]) <= set(whole.parts[role]["id"])  # type: ignore[index]


def test_a_validation_file_is_used_where_the_card_says_so(root: Path) -> None:
    write_sentences(root, "dev.tsv", 7)
    native = {
        "format": "glue_tsv",
        "train": "train.tsv",
        "validation": "dev.tsv",
        "test": "test.tsv",
    }
    card: dict[str, Any] = {"data": {"native": native}}
    task = make_task("sequence_classification", **card, splits={"validation": "validation"})
    assert len(load_examples(task, root).parts["validation"]) == 7  # type: ignore[arg-type]
    with pytest.raises(DataError, match="names a native file for it"):
        load_examples(make_task("sequence_classification", **card), root)
    with pytest.raises(DataError, match=r"`data\.native` needs a `validation` file"):
        load_examples(
            make_task("sequence_classification", splits={"validation": "validation"}), root
        )


def test_missing_files_and_a_missing_data_root_are_named(root: Path) -> None:
    task = make_task("sequence_classification")
    (root / "test.tsv").unlink()
    with pytest.raises(DataError, match=r"task small: test\.tsv not found under the data root"):
        load_examples(task, root)
    with pytest.raises(
        DataError, match="has native files only: say with --data-root where they are"
    ):
        load_examples(task, None)


def test_a_format_that_can_not_hold_the_kind_is_refused(root: Path) -> None:
    native = {"format": "conll", "train": "train.tsv", "test": "test.tsv"}
    with pytest.raises(DataError, match="format conll does not hold a task of sequence_class"):
        load_examples(make_task("sequence_classification", data={"native": native}), root)
    with pytest.raises(DataError, match="format conll does not hold a task of retrieval"):
        load_examples(make_task("retrieval", data={"native": native}), root)


# --- retrieval ---------------------------------------------------------------------


def write_beir(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}"} for n in range(8)]
    queries = [{"_id": f"q{n}", "text": f"query {n}"} for n in range(6)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    head = "query-id\tcorpus-id\tscore\n"
    train = [("q0", "d1", 1), ("q0", "d0", 2), ("q2", "d9", 1), ("q1", "d2", 1), ("q2", "d3", 1)]
    test = [("q4", "d5", 2), ("q4", "d6", 0), ("q4", "d9", 1)]
    for name, pairs in (("train", train), ("test", test)):
        lines = [f"{query}\t{document}\t{grade}" for query, document, grade in pairs]
        (folder / "qrels" / f"{name}.tsv").write_text(head + "\n".join(lines))


def load_collections(root: Path, **card: Any) -> tuple[Examples, dict[str, Collection]]:
    native = {"format": "beir", "folder": "beir", "train": "train", "test": "test.tsv"}
    splits = {"validation": {"fraction": 0.34}}
    task = make_task("retrieval", **{"data": {"native": native}, "splits": splits, **card})
    examples = load_examples(task, root)
    parts = {str(role): part for role, part in examples.parts.items()}
    collections = {role: part for role, part in parts.items() if isinstance(part, Collection)}
    assert len(collections) == 3
    return examples, collections


def test_a_collection_has_its_judged_queries_and_the_whole_corpus(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    examples, parts = load_collections(tmp_path)
    assert parts["test"].queries.to_dict("list") == {"id": ["q4"], "text": ["query 4"]}
    assert len(parts["test"].corpus) == 8
    assert parts["test"].corpus.columns.tolist() == ["id", "title", "text"]
    # Judged, not in the corpus: the ideal ranking knows it, training does not.
    assert parts["test"].qrels["document_id"].tolist() == ["d5", "d6", "d9"]
    assert parts["train"].corpus_fingerprint == parts["test"].corpus_fingerprint
    assert len(set(examples.fingerprints.values())) == 3


@pytest.mark.parametrize(
    ("card", "message"),
    [({"query": "{title}"}, "no column 'title'"), ({"document": "text"}, "names no column")],
)
def test_a_template_of_an_unknown_column_is_found_with_the_data(
    tmp_path: Path, card: dict[str, str], message: str
) -> None:
    write_beir(tmp_path / "beir")
    with pytest.raises(SpecError, match=message):
        load_collections(tmp_path, **card)


def test_queries_are_held_out_with_their_judgements(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    _, parts = load_collections(tmp_path)
    held = parts["validation"].queries["id"].tolist()
    assert len(held) == 1
    assert sorted([*parts["train"].queries["id"], *held]) == ["q0", "q1", "q2"]
    assert set(parts["validation"].qrels["query_id"]) == set(held)
    assert not set(parts["train"].qrels["query_id"]) & set(held)


def test_a_judged_corpus_holds_the_documents_judged_for_its_split(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    _, parts = load_collections(tmp_path, corpus="judged")
    assert parts["test"].corpus["id"].tolist() == ["d5", "d6"]


def test_a_judged_corpus_read_alone_is_that_of_the_whole_one(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    _, whole = load_collections(tmp_path)
    corpus = tmp_path / "beir" / "corpus.jsonl"
    unjudged = json.dumps({"_id": "d7", "text": "of no interest"})
    corpus.write_text(f"{corpus.read_text()}\n{unjudged}\n")  # an id that is there twice
    examples, _ = load_collections(tmp_path, corpus="judged")
    for split, part in whole.items():
        expected = keep_judged_documents(part, split)
        assert examples.fingerprints[split] == fingerprint_part(expected)
    with pytest.raises(DataError, match=r"corpus\.jsonl:9: id 'd7' occurs twice"):
        load_collections(tmp_path)


def test_a_corpus_without_the_judged_documents_is_named(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("q4 0 d77 1\n")
    with pytest.raises(DataError, match="task small, test: none of the judged documents is in the"):
        load_collections(tmp_path, corpus="judged")


def test_training_pairs_come_in_qrels_order_and_only_from_the_corpus() -> None:
    collection = Collection(
        pd.DataFrame({"id": ["q0", "q2"], "text": ["", ""]}),
        Corpus(pd.DataFrame({"id": ["d0", "d1", "d3"], "title": [""] * 3, "text": [""] * 3})),
        pd.DataFrame(
            {
                "query_id": ["q2", "q0", "q0", "q2"],
                "document_id": ["d3", "d1", "d0", "d9"],
                "relevance": [2, 1, 3, 3],
            }
        ),
    )
    pairs = training_pairs(collection, 2)
    assert pairs.to_dict("list") == {"query_id": ["q2", "q0"], "document_id": ["d3", "d0"]}


def test_ids_are_looked_up_as_texts() -> None:
    ids, known = pd.Series(["1", "01", "x", "1"]), pd.Series(["x", "1"])
    assert is_among(ids, known).tolist() == [True, False, True, True]
    assert is_among(ids, known[:0]).tolist() == [False] * 4
    assert is_among(pd.Series([], dtype="object"), known).tolist() == []


def test_a_task_without_training_pairs_or_with_unknown_queries_is_refused(tmp_path: Path) -> None:
    write_beir(tmp_path / "beir")
    with pytest.raises(DataError, match="no training query has a document of grade 3"):
        load_collections(tmp_path, min_relevance=3)
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("q77 0 d5 1\n")
    with pytest.raises(DataError, match=r"test\.tsv: query 'q77' is judged but has no text"):
        load_collections(tmp_path)


def test_trec_files_make_collections_too(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("1\tone\n2\ttwo\n3\tthree\n")
    (tmp_path / "topics").write_bytes(b"a\tfirst\r\nb\tsecond\r\nc\tunjudged\r\n")
    (tmp_path / "qrels").write_text("a 0 1 1\nb 0 2 1\n")
    topics = {"queries": "topics", "qrels": "qrels"}
    native = {"format": "trec", "corpus": "collection.tsv", "train": topics, "test": topics}
    task = make_task("retrieval", data={"native": native}, splits={"validation": {"fraction": 0.5}})
    assert isinstance(task, Retrieval)
    test = load_examples(task, tmp_path).parts["test"]
    assert isinstance(test, Collection)
    assert test.queries["id"].tolist() == ["a", "b"]
    assert test.corpus["title"].tolist() == ["", "", ""]


def test_native_data_are_loaded_without_the_hubs_library_or_torch(root: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from harness.data import load_examples\n"
        "from harness.spec import Data, SequenceClassification\n"
        "native = dict(format='glue_tsv', train='train.tsv', test='test.tsv')\n"
        "task = SequenceClassification(name='a', kind='sequence_classification', \n"
        "    labels=['n', 'p'], text=['sentence'], metrics=['f1'], data=Data(native=native))\n"
        f"load_examples(task, Path({str(root)!r}))\n"
        "print([n for n in ('datasets', 'torch', 'transformers') if n in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
