"""Cranfield 1400 in its own layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.data import Collection, load_examples
from harness.data.formats.cranfield import (
    read_cranfield_documents,
    read_cranfield_qrels,
    read_cranfield_queries,
)
from harness.errors import DataError
from tests.data.conftest import make_task

DOCUMENTS = """.I 1
.T
a wing in
a slipstream .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
a wing in a slipstream .
  an experimental study .
.I 2
.T
.A
.B
.W
"""
QUERIES = ".I 001\n.W\nwhat of \nwings .\n.I 004\n.W\nwhat of heat .\n"
JUDGEMENTS = "1 1 2\n1 2 -1\n2 1 4 \n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in (("cran", DOCUMENTS), ("qry", QUERIES), ("rel", JUDGEMENTS)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_sections_become_title_and_text_and_an_empty_document_stays(root: Path) -> None:
    frame = read_cranfield_documents(root / "cran")
    assert frame.to_dict("list") == {
        "id": ["1", "2"],
        "title": ["a wing in a slipstream .", ""],
        "text": ["a wing in a slipstream . an experimental study .", ""],
    }


def test_queries_are_counted_by_position(root: Path) -> None:
    frame = read_cranfield_queries(root / "qry")
    assert frame.to_dict("list") == {
        "id": ["1", "2"],
        "text": ["what of wings .", "what of heat ."],
    }


def test_a_low_code_is_a_high_grade_and_the_undefined_one_is_0(root: Path) -> None:
    qrels = read_cranfield_qrels(root / "rel")
    assert qrels.to_numpy().tolist() == [["1", "1", 3], ["1", "2", 0], ["2", "1", 1]]


def test_an_unknown_code_and_a_missing_beginning_are_named(root: Path) -> None:
    (root / "rel").write_text("1 1 2\n1 2 7\n")
    with pytest.raises(DataError, match="rel:2: not a query, a document and a code"):
        read_cranfield_qrels(root / "rel")
    (root / "qry").write_text(".W\nno number\n")
    with pytest.raises(DataError, match=r"qry:1: must begin with `\.I NUMBER`"):
        read_cranfield_queries(root / "qry")


def test_a_repeated_document_and_a_contradiction_are_at_their_lines(root: Path) -> None:
    (root / "cran").write_text(f"{DOCUMENTS}.I 1\n.T\nanother\n")
    with pytest.raises(DataError, match="cran:17: id '1' occurs twice"):
        read_cranfield_documents(root / "cran")
    (root / "rel").write_text("1 1 2\n2 1 4\n1 1 2\n1 1 3\n")
    with pytest.raises(DataError, match="rel:4: query '1' and document '1' have two different"):
        read_cranfield_qrels(root / "rel")


def test_its_one_set_of_queries_is_parted(root: Path) -> None:
    (root / "qry").write_text("".join(f".I {n}\n.W\nquery {n}\n" for n in range(1, 9)))
    (root / "rel").write_text("".join(f"{n} 1 2\n" for n in range(1, 9)))
    native = {"format": "cranfield", "corpus": "cran", "queries": "qry", "qrels": "rel"}
    splits = {"validation": {"fraction": 0.25}, "test": {"fraction": 0.5}}
    parts = load_examples(
        make_task("retrieval", data={"native": native}, splits=splits), root
    ).parts
    ids = []
    for split, count in (("train", 3), ("validation", 1), ("test", 4)):
        part = parts[split]
        assert isinstance(part, Collection)
        assert len(part.queries) == count
        ids += part.queries["id"].tolist()
    assert sorted(ids) == [str(n) for n in range(1, 9)]
    with pytest.raises(DataError, match=r"`data\.native` needs a `test` file"):
        load_examples(make_task("retrieval", data={"native": native}), root)
