"""A driver sees what is appended to a ledger, whoever appends it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.launch.follow import LedgerFollower, Progress, Turns
from harness.launch.outcome import Outcome, Tally
from harness.ledger import LedgerWriter
from tests.small_study import small_grid


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


def test_the_first_look_gives_what_was_there_before(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as writer:
        writer.append(record("old"))
        follower = LedgerFollower(tmp_path)
        writer.append(record("new"))
    assert ids(follower.new_records()) == ["old", "new"]


def test_progress_counts_what_another_driver_did_since_the_plan_but_no_old_failure(
    tmp_path: Path,
) -> None:
    with LedgerWriter(tmp_path) as writer:
        writer.append(record("a"))
        writer.append(record("b", "failed"))
    tally = Tally(["a", "b"], None)
    with Progress(tmp_path, tally, threading.Event()):
        assert not tally.is_open("a")
        assert tally.is_open("b")


def test_a_turn_passes_over_what_has_a_good_record_by_now(tmp_path: Path) -> None:
    one, two, three, *_ = runs = small_grid().runs()
    passed: list[str] = []
    turns = Turns(tmp_path, lambda item: passed.append(item["run_id"]))
    turns.begin(runs[:3])
    assert turns.next() == one
    with LedgerWriter(tmp_path) as writer:
        writer.append(record(one.run_id, "failed"))
        writer.append(record(two.run_id))
        writer.append(record(three.run_id, "failed"))
    assert turns.next() == three
    assert passed == [two.run_id]
    assert (len(turns), turns.next()) == (0, None)
    turns.begin(runs[1:4])
    assert turns.next() == three


def test_two_workers_that_are_at_the_same_run_part_ways(tmp_path: Path) -> None:
    runs = small_grid().runs()
    done: list[str] = []
    with LedgerWriter(tmp_path) as first, LedgerWriter(tmp_path) as second:
        workers = [(Turns(tmp_path), first), (Turns(tmp_path), second)]
        for turns, _ in workers:
            turns.begin(runs)
        at = [turns.next() for turns, _ in workers]
        while any(at):  # in turn: one ends its run and begins another, while one is in flight
            for place, (turns, writer) in enumerate(workers):
                run = at[place]
                if run is not None:
                    writer.append(record(run.run_id))
                    done.append(run.run_id)
                    at[place] = turns.next()
    assert set(done) == {run.run_id for run in runs}
    assert len(done) <= len(runs) + 3


def test_half_a_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "ledger" / "w.jsonl"
    file.parent.mkdir()
    file.write_bytes(b'{"run_id": "a"}\n{"run_i')
    follower = LedgerFollower(tmp_path)
    assert ids(follower.new_records()) == ["a"]
    with file.open("ab") as end:
        end.write(b'd": "b"}\n')
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
