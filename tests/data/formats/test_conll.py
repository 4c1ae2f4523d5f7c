"""CoNLL files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.data.formats.conll import read_conll
from harness.errors import DataError
from harness.spec import ConllFiles


def files(**more: Any) -> ConllFiles:
    return ConllFiles(format="conll", train="a", test="b", **more)


def test_a_line_of_white_space_ends_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "wnut"
    path.write_bytes(b"#\tO\nParis\tB-LOC\n\t\n\n\nin\tO\r\n")
    rows = read_conll(path, files(), "words", "tags")
    assert rows.columns == {
        "words": [["#", "Paris"], ["in"]],
        "tags": [["O", "B-LOC"], ["O"]],
    }
    assert rows.place(1) == f"{path}:6"


def test_comments_are_no_tokens_and_end_no_sentence(tmp_path: Path) -> None:
    path = tmp_path / "uner"
    path.write_text("# text = a\n1\t#\tO\t-\tX\n# note\n2\tLi\tB-PER\t-\tX\n\n# b\n1\tb\tO\t-\tX\n")
    rows = read_conll(path, files(token_column=1, tag_column=2, comment="#"), "tokens", "tags")
    assert rows.columns["tokens"] == [["#", "Li"], ["b"]]


def test_fields_may_be_apart_by_blanks(tmp_path: Path) -> None:
    path = tmp_path / "conll2003"
    path.write_text("-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n")
    rows = read_conll(path, files(comment="-DOCSTART-"), "words", "tags")
    assert rows.columns == {"words": [["EU", "rejects"]], "tags": [["B-ORG", "O"]]}


def test_a_line_without_its_fields_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("Li\tB-PER\nShi\n")
    with pytest.raises(DataError, match="a:2: 1 fields instead of 2"):
        read_conll(path, files(), "words", "tags")
    path.write_text("Li\n")
    with pytest.raises(DataError, match="a:1: a token and a tag are needed"):
        read_conll(path, files(), "words", "tags")
    path.write_text("Li\tB-PER\n")
    with pytest.raises(DataError, match="the task card asks for column 0"):
        read_conll(path, files(tag_column=3), "words", "tags")
    path.write_text("# only\n")
    with pytest.raises(DataError, match="no sentences"):
        read_conll(path, files(comment="#"), "words", "tags")
