"""A driver sees what is appended to a ledger, whoever appends it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.launch.follow import LedgerFollower, Progress
from harness.launch.outcome import Outcome, Tally
from harness.ledger import LedgerWriter


def record(run_id: str, status: str = "ok") -> dict[str, Any]:
    return {"run_id": run_id, "status": status, "finished": "2025-01-01T00:00:00+00:00"}


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [item["run_id"] for item in records]


def test_records_of_all_writers_are_seen_once(tmp_path: Path) -> None:
    follower = LedgerFollower(tmp_path)
    assert follower.new_records() == []
    with LedgerWriter(tmp_path) as one, LedgerWriter(tmp_path) as two:
        one.append(record("a"))
        two.append(record("b"))
        assert sorted(ids(follower.new_records())) == ["a", "b"]
        assert follower.new_records() == []
        one.append(record("c"))
        assert ids(follower.new_records()) == ["c"]


def test_what_was_there_before_is_passed_over(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as writer:
        writer.append(record("old"))
        follower = LedgerFollower(tmp_path)
        writer.append(record("new"))
    assert ids(follower.new_records()) == ["new"]


def test_half_a_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "ledger" / "w.jsonl"
    file.parent.mkdir()
    file.write_bytes(b'{"run_id": "a"}\n{"run_i')
    follower = LedgerFollower(tmp_path)
    assert follower.new_records() == []
    with file.open("ab") as end:
        end.write(b'd": "b"}\n')
    assert ids(follower.new_records()) == ["b"]


def test_a_torn_line_longer_than_a_chunk_does_not_hide_the_lines_before_it(tmp_path: Path) -> None:
    file = tmp_path / "ledger" / "w.jsonl"
    file.parent.mkdir()
    torn = b'{"run_id": "b", "error": "' + b"x" * 200_000
    file.write_bytes(b'{"run_id": "a"}\n' + torn)
    follower = LedgerFollower(tmp_path)
    with file.open("ab") as end:
        end.write(b'"}\n')
    assert ids(follower.new_records()) == ["b"]


def test_a_tally_counts_each_run_of_the_plan_once() -> None:
    seen: list[str] = []
    tally = Tally(["a", "b", "c"], lambda item: seen.append(item["run_id"]))
    tally.add([record("a"), record("a"), record("of another plan"), record("b", "diverged")])
    assert seen == ["a", "b"]
    assert tally.is_open("c")
    assert tally.outcome() == Outcome(ok=1, diverged=1, failed=0, left=1)


def test_progress_is_told_while_it_happens(tmp_path: Path) -> None:
    told = threading.Event()
    tally = Tally(["a"], lambda _: told.set())
    with Progress(tmp_path, tally, threading.Event()), LedgerWriter(tmp_path) as writer:
        writer.append(record("a"))
        assert told.wait(10)
    assert tally.outcome() == Outcome(ok=1)


def test_a_fault_of_who_is_told_stops_the_study_and_is_raised(tmp_path: Path) -> None:
    def broken(_: Mapping[str, Any]) -> None:
        raise OSError("the pipe is closed")

    stop = threading.Event()
    progress = Progress(tmp_path, Tally(["a"], broken), stop)
    progress.__enter__()
    with LedgerWriter(tmp_path) as writer:
        writer.append(record("a"))
    assert stop.wait(10)
    with pytest.raises(OSError, match="the pipe is closed"):
        progress.__exit__(None, None, None)
