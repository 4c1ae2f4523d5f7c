"""What is odd in the real extracts is there, and is read right: nothing lost, mended or guessed.

That the counts of rows and labels are those of the extracts' own list is in `test_counts.py`, what
splits share in `tests/data/test_check.py`.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.data import Collection, load_examples
from harness.data.formats.conll import read_conll
from harness.data.formats.cranfield import read_cranfield_qrels, read_cranfield_queries
from harness.data.formats.ranking import read_qrels, read_tsv_texts
from harness.data.formats.record import read_record
from harness.data.formats.squad import read_squad
from harness.data.formats.tables import read_table
from harness.spec import ConllFiles, Retrieval, TableFiles
from harness.tasks import load_tasks
from tests.real.shipped_layout import link_extracts

pytestmark = pytest.mark.real

COLA = ("source", "label", "mark", "sentence")


@pytest.fixture(scope="module")
def root(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_extracts(real_data, tmp_path_factory.mktemp("extracts"))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def table(path: Path, **more: Any) -> dict[str, list[Any]]:
    return read_table(path, TableFiles(format="glue_tsv", train="a", **more)).columns


def rows_with_quoting(path: Path) -> list[list[str]]:
    """What a reader sees that takes quotes for marks of CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_sentences_of_sst2_lose_the_space_before_the_tab(real_data: Path, root: Path) -> None:
    lines = text_of(real_data / "sst2" / "train.tsv").splitlines()[1:]
    assert all(line.split("\t")[0].endswith(" ") for line in lines)
    parts = load_examples(load_tasks()["sst2"], root).parts
    train, test = pd.concat([parts["train"], parts["validation"]]), parts["test"]  # type: ignore[list-item]
    assert isinstance(test, pd.DataFrame)
    for frame, words in ((train, 9.4), (test, 19.5)):
        assert not frame["sentence"].str.endswith(" ").any()
        assert round(frame["sentence"].str.split().map(len).mean(), 1) == words


@pytest.mark.parametrize(
    ("file", "columns", "annotators"),
    [("train", 12, 1), ("dev_matched", 16, 5), ("dev_mismatched", 16, 5), ("test_matched", 10, 0)],
)
def test_mnli_has_as_many_columns_as_a_file_has_annotators(
    file: str, columns: int, annotators: int, real_data: Path
) -> None:
    found = table(real_data / "mnli" / "native" / f"{file}.tsv")
    assert len(found) == columns
    labels = [name for name in found if name.startswith("label")]
    assert labels == [f"label{number}" for number in range(1, annotators + 1)]
    assert ("gold_label" in found) == (annotators > 0)


def test_doubled_quotes_of_qqp_stay(real_data: Path) -> None:
    path = real_data / "qqp" / "converted" / "train.tsv"
    found = table(path)
    pairs = list(zip(found["question1"], found["question2"], strict=True))
    assert sum(any(text.startswith('"') for text in pair) for pair in pairs) == 324
    assert any(a.startswith('"""Marriage is an institution.""') for pair in pairs for a in pair)
    quoted = rows_with_quoting(path)
    assert len(quoted) == 1 + len(pairs)  # a count of rows would not have shown it
    assert [row[0] for row in quoted[1:]] != found["question1"]


@pytest.mark.parametrize(("task", "lines", "quoted"), [("MRPC", 409, 390), ("STS-B", 1501, 1471)])
def test_unbalanced_quotes_swallow_no_rows(
    task: str, lines: int, quoted: int, real_data: Path
) -> None:
    path = real_data / "glue_small" / task / "dev.tsv"
    assert len(rows_with_quoting(path)) == quoted
    assert len(next(iter(table(path).values()))) == lines - 1


def test_cola_ends_without_a_newline_and_its_last_row_is_read(real_data: Path) -> None:
    path = real_data / "glue_small" / "CoLA" / "dev.tsv"
    text = text_of(path)
    assert not text.endswith("\n")
    found = table(path, columns=COLA)
    assert "\t".join(found[name][-1] for name in COLA) == text.split("\n")[-1]
    assert found["mark"].count("") > len(found["mark"]) / 2


def test_mrpc_begins_with_a_byte_order_mark(real_data: Path) -> None:
    path = real_data / "glue_small" / "MRPC" / "dev.tsv"
    assert path.read_bytes().startswith(b"\xef\xbb\xbfQuality")
    assert list(table(path)) == ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]


def test_scores_of_stsb_are_of_mixed_precision(real_data: Path) -> None:
    folder = real_data / "glue_small" / "STS-B"
    scores = {
        value for file in ("train", "dev") for value in table(folder / f"{file}.tsv")["score"]
    }
    assert {"5.000", "3.6", "0"} <= scores


def test_plausible_answers_are_no_golds(real_data: Path) -> None:
    path = real_data / "squad_v2" / "dev-v2.0.json"
    impossible = {
        question["id"]: question["plausible_answers"]
        for article in json.loads(text_of(path))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
        if question["is_impossible"]
    }
    assert len(impossible) == 541
    assert any(impossible.values())
    found = read_squad(path).columns
    golds = dict(zip(found["id"], found["answers"], strict=True))
    assert {name for name, answers in golds.items() if not answers} == set(impossible)


def test_contexts_of_squad_are_long_and_not_ascii(real_data: Path) -> None:
    contexts = read_squad(real_data / "squad_v2" / "train-v2.0.json").columns["context"]
    assert max(len(context.split()) for context in contexts) > 490
    assert not all(context.isascii() for context in contexts)


def test_answers_of_record_have_inclusive_ends_and_spelling_variants(real_data: Path) -> None:
    path = real_data / "superglue" / "ReCoRD" / "train.jsonl"
    for line in text_of(path).splitlines():
        item = json.loads(line)
        passage = item["passage"]["text"]
        assert "@highlight" in passage
        for answer in (a for question in item["qas"] for a in question["answers"]):
            assert passage[answer["start"] : answer["end"] + 1] == answer["text"]
    found = read_record(path).columns
    for context, answers in zip(found["context"], found["answers"], strict=True):
        for answer in answers:
            begin = answer["answer_start"]
            assert context[begin : begin + len(answer["text"])] == answer["text"]
    assert any(len({answer["text"] for answer in answers}) > 1 for answers in found["answers"])


def test_comments_of_uner_are_no_words(real_data: Path) -> None:
    path = real_data / "ner" / "uner_en_ewt" / "en_ewt-ud-dev.iob2"
    lines = [line for line in text_of(path).split("\n") if line]
    tokens = [line for line in lines if not line.startswith("#")]
    assert {line.count("\t") for line in tokens} == {4}
    files = ConllFiles(format="conll", train="a", token_column=1, tag_column=2, comment="#")
    words = read_conll(path, files, "words", "tags").columns["words"]
    assert [word for sentence in words for word in sentence] == [
        line.split("\t")[1] for line in tokens
    ]
    assert len(tokens) < len(lines)


def test_a_line_of_one_tab_ends_a_sentence_of_wnut(real_data: Path) -> None:
    path = real_data / "ner" / "wnut17" / "wnut17train.conll"
    lines = text_of(path).split("\n")
    assert lines.count("\t") == 2394
    words = read_conll(path, ConllFiles(format="conll", train="a"), "w", "t").columns["w"]
    assert sum(map(len, words)) == sum(bool(line.strip()) for line in lines)


def test_qrels_of_cranfield_count_queries_by_position(real_data: Path) -> None:
    folder = real_data / "ir" / "cranfield"
    numbers = [
        int(line.split()[1])
        for line in text_of(folder / "cran.qry").splitlines()
        if line.startswith(".I")
    ]
    assert numbers != list(range(1, 226))
    queries = read_cranfield_queries(folder / "cran.qry")
    assert queries["id"].tolist() == [str(n) for n in range(1, 226)]
    qrels = read_cranfield_qrels(folder / "cranqrel")
    undefined = qrels[qrels["relevance"] == 0]
    assert sorted(undefined["query_id"], key=int) == queries["id"].tolist()  # one each


def test_passages_that_look_mis_decoded_stay_as_they_are(real_data: Path) -> None:
    path = real_data / "ir" / "msmarco_passage_dl" / "collection.tsv"
    passages = read_tsv_texts(path)["text"]
    assert passages.str.contains("Ã|â€").sum() == 342
    assert passages.tolist() == [
        line.split("\t")[1].removesuffix("\r") for line in text_of(path).rstrip("\n").split("\n")
    ]


def test_only_judged_queries_of_trec_count(real_data: Path, root: Path) -> None:
    assert len(read_tsv_texts(real_data / "ir" / "msmarco_passage_dl" / "topics.dl20.txt")) == 200
    card = load_tasks()["msmarco"]
    assert isinstance(card, Retrieval)
    assert card.collections is not None
    card = card.model_copy(update={"collections": {"dl20": card.collections["dl20"]}})
    parts = load_examples(card, root).parts
    for split, queries in (("test", 43), ("dl20", 54)):
        part = parts[split]
        assert isinstance(part, Collection)
        assert len(part.queries) == queries
        best = part.qrels[part.qrels["document_id"].isin(part.corpus["id"])]
        assert best.groupby("query_id")["relevance"].max().ge(2).sum() == queries


def test_judgements_that_point_into_the_collection(real_data: Path) -> None:
    folder = real_data / "ir" / "msmarco_passage_dl"
    known = set(read_tsv_texts(folder / "collection.tsv")["id"])
    for year, inside in (("19", 3839), ("20", 5009)):
        qrels = read_qrels(folder / f"qrels.dl{year}-passage.txt")
        assert qrels["document_id"].isin(known).sum() == inside


@pytest.mark.parametrize(
    ("task", "texts", "label", "converted", "shared"),
    [
        ("mnli", ("sentence1", "sentence2"), "gold_label", ("train",), 6),
        ("qqp", ("question1", "question2"), "is_duplicate", ("train", "dev"), 10),
    ],
)
def test_labels_of_converted_files_are_those_of_the_native_ones(
    task: str,
    texts: tuple[str, str],
    label: str,
    converted: tuple[str, ...],
    shared: int,
    real_data: Path,
) -> None:
    def labelled(path: Path) -> dict[tuple[str, str], str]:
        found = table(path)
        pairs = zip(*([" ".join(x.split()) for x in found[name]] for name in texts), strict=True)
        return dict(zip(pairs, found[label], strict=True))

    folder = real_data / task
    native = labelled(folder / "native" / "train.tsv")
    other: dict[tuple[str, str], str] = {}
    for name in converted:
        other |= labelled(folder / "converted" / f"{name}.tsv")
    both = set(native) & set(other)
    assert len(both) == shared
    assert [native[pair] for pair in both] == [other[pair] for pair in both]
