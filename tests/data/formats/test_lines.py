"""Text files as lines."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from harness.data.formats.lines import iterate_lines, read_json_lines, read_lines
from harness.errors import DataError


def test_only_newlines_part_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffone\u2028still one\x85\r\ntwo\n\nthree".encode())
    assert read_lines(tmp_path / "a") == ["one\u2028still one\x85", "two", "", "three"]


def test_a_gzipped_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_lines(tmp_path / "a.gz") == ["one", "two"]


def test_missing_empty_and_undecodable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"\n \n")
    (tmp_path / "latin").write_bytes(b"fine\nZ\xfcrich\n")
    (tmp_path / "broken.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"none: no such file; check --data-root"):
        read_lines(tmp_path / "none")
    with pytest.raises(DataError, match=r"empty: the file is empty"):
        read_lines(tmp_path / "empty")
    with pytest.raises(DataError, match=r"latin:2: not UTF-8"):
        read_lines(tmp_path / "latin")
    with pytest.raises(DataError, match=r"broken\.gz: can't be read"):
        read_lines(tmp_path / "broken.gz")
    with pytest.raises(DataError, match="can't be read"):
        read_lines(tmp_path)


def test_white_space_ends_a_file_or_parts_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\n \none\n\n\ntwo\n\n \n\n\r\n")
    assert read_lines(tmp_path / "a") == ["", " ", "one", "", "", "two", "", " "]
    (tmp_path / "separator").write_text("\u2028\n")
    assert read_lines(tmp_path / "separator") == ["\u2028"]


def test_lines_come_before_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"fine\n" * 9000 + b"Z\xfcrich\n")
    lines = iterate_lines(tmp_path / "latin")
    assert [next(lines) for _ in range(9000)] == ["fine"] * 9000
    with pytest.raises(DataError, match="latin:9001: not UTF-8"):
        next(lines)


def test_a_bad_json_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n')
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n[2]\n')
    with pytest.raises(DataError, match=r"a\.jsonl:2: not JSON"):
        read_json_lines(tmp_path / "a.jsonl")
    with pytest.raises(DataError, match=r"b\.jsonl:2: not a JSON object"):
        read_json_lines(tmp_path / "b.jsonl")


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv.gz"
    whole = gzip.compress(b"1\tdo goldfish grow\n" * 50)
    path.write_bytes(whole[:15] + bytes([whole[15] ^ 0xFF]) + whole[16:])
    with pytest.raises(DataError, match=r"queries\.tsv\.gz: can't be read"):
        read_lines(path)


def test_a_damaged_archive_is_said_before_what_came_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv.gz"
    whole = gzip.compress(b"Z\xfcrich\nBasel\n")
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"queries\.tsv\.gz:1: not UTF-8"):
        read_lines(path)
    path.write_bytes(whole[:-8] + b"\0" * 8)  # its checksum and its size
    with pytest.raises(DataError, match=r"queries\.tsv\.gz: can't be read"):
        read_lines(path)
