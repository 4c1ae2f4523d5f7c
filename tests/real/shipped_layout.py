"""The real extracts under the names that the shipped cards give their native files."""

from __future__ import annotations

from pathlib import Path

LINKS = {
    "SST-2/train.tsv": "sst2/train.tsv",
    "SST-2/dev.tsv": "sst2/dev.tsv",
    "MNLI/train.tsv": "mnli/native/train.tsv",
    "MNLI/dev_matched.tsv": "mnli/native/dev_matched.tsv",
    "MNLI/dev_mismatched.tsv": "mnli/native/dev_mismatched.tsv",
    "QQP/train.tsv": "qqp/native/train.tsv",
    "QQP/dev.tsv": "qqp/native/dev.tsv",
    "CoLA": "glue_small/CoLA",
    "MRPC": "glue_small/MRPC",
    "RTE": "glue_small/RTE",
    "STS-B": "glue_small/STS-B",
    "BoolQ": "superglue/BoolQ",
    "CB": "superglue/CB",
    "ReCoRD/train.jsonl": "superglue/ReCoRD/train.jsonl",
    "ReCoRD/val.jsonl": "superglue/ReCoRD/dev32.jsonl",
    "squad/train-v1.1.json": "squad/train-v1.1.json",
    "squad/dev-v1.1.json": "squad/xquad.en.json",
    "squad_v2": "squad_v2",
    "wnut17": "ner/wnut17",
    "uner_en_ewt/en_ewt-ud-train.iob2": "ner/uner_en_ewt/en_ewt-ud-dev.iob2",
    "uner_en_ewt/en_ewt-ud-dev.iob2": "ner/uner_en_ewt/en_ewt-ud-dev.iob2",
    "uner_en_ewt/en_ewt-ud-test.iob2": "ner/uner_en_ewt/en_ewt-ud-test.iob2",
    "cranfield": "ir/cranfield",
    "msmarco/collection.tsv": "ir/msmarco_passage_dl/collection.tsv",
    "msmarco/queries.train.tsv": "ir/msmarco_passage_dl/topics.dl20.txt",
    "msmarco/qrels.train.tsv": "ir/msmarco_passage_dl/qrels.dl20-passage.txt",
    "msmarco/queries.dev.small.tsv": "ir/msmarco_passage_dl/topics.dl20.txt",
    "msmarco/qrels.dev.small.tsv": "ir/msmarco_passage_dl/qrels.dl20-passage.txt",
    "msmarco/msmarco-test2019-queries.tsv": "ir/msmarco_passage_dl/topics.dl19-passage.txt",
    "msmarco/2019qrels-pass.txt": "ir/msmarco_passage_dl/qrels.dl19-passage.txt",
    "msmarco/msmarco-test2020-queries.tsv": "ir/msmarco_passage_dl/topics.dl20.txt",
    "msmarco/2020qrels-pass.txt": "ir/msmarco_passage_dl/qrels.dl20-passage.txt",
}
"""Name in a shipped card -> name among the extracts.

Files that the extracts lack are played by others: UNER's train by its dev, MS MARCO's train and dev
by TREC DL 2020, SQuAD's dev by XQuAD's English part. Good enough to read, not to report.
"""


def link_extracts(real_data: Path, root: Path) -> Path:
    """Fill a data root with links to the extracts."""
    for name, target in LINKS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(real_data / target)
    return root
