"""Records outlive the processes that write them, and nothing half-written is taken for a record."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StudyError
from harness.ledger import (
    RECORD_KEYS,
    LedgerWriter,
    good_run_ids,
    latest_records,
    read_ledger,
)

ROOT = Path(__file__).parents[1]


def record(run_id: str, status: str = "ok", second: int = 0, **more: Any) -> dict[str, Any]:
    finished = f"2025-01-01T00:{second // 60:02}:{second % 60:02}+00:00"
    return {"run_id": run_id, "status": status, "finished": finished, **more}


def run_ids(study: Path) -> list[str]:
    return [found["run_id"] for found in read_ledger(study)]


def start_writer(study: Path, name: str, count: int) -> subprocess.Popen[str]:
    """Start a process that appends so many records and prints each number after its record."""
    script = """
import sys, pathlib
from harness.ledger import LedgerWriter
study, name, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with LedgerWriter(study) as ledger:
    for number in range(count):
        run_id = f"{name}{number}"
        ledger.append({"run_id": run_id, "status": "ok", "finished": "", "task": "x" * 5000})
        print(number, flush=True)
"""
    return subprocess.Popen(
        [sys.executable, "-c", script, str(study), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_the_keys_of_a_record_are_pinned() -> None:
    assert RECORD_KEYS == (
        "run_id", "status", "task", "kind", "checkpoint", "fingerprint", "attention", "pooling",
        "sees_future", "recipe", "seed", "protocol", "scores", "collapsed", "main_metric", "splits",
        "data_source", "counts", "steps", "seconds", "threads", "device", "precision", "versions",
        "host", "writer", "started", "finished", "error", "source",
    )  # fmt: skip


def test_a_record_is_one_line_of_json_with_the_writers_name(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as ledger:
        path, name = ledger.path, ledger.writer
        ledger.append(record("a", scores={"test": {"accuracy": 0.5}}, checkpoint="süß\u2028\n"))
    assert path == tmp_path / "ledger" / f"{name}.jsonl"
    assert path.read_text() == (
        '{"run_id":"a","status":"ok","finished":"2025-01-01T00:00:00+00:00",'
        '"scores":{"test":{"accuracy":0.5}},"checkpoint":"s\\u00fc\\u00df\\u2028\\n",'
        f'"writer":"{name}"}}\n'
    )
    assert read_ledger(tmp_path) == [json.loads(path.read_text())]


def test_a_writer_is_named_by_host_process_and_eight_digits(tmp_path: Path) -> None:
    name = LedgerWriter(tmp_path).writer
    assert re.fullmatch(rf"[A-Za-z0-9.-]+-{os.getpid()}-[0-9a-f]{{8}}", name)
    assert name != LedgerWriter(tmp_path).writer


def test_a_writer_without_records_leaves_no_file(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_a_number_that_is_not_finite_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as ledger:
        ledger.append(record("a"))
        with pytest.raises(ValueError, match="JSON compliant"):
            ledger.append(record("b", scores={"test": {"pearson": float("nan")}}))
        ledger.append(record("c", second=1))
    assert run_ids(tmp_path) == ["a", "c"]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (record("a", score=1), "no key 'score'"),
        ({"run_id": "a", "status": "ok"}, "needs the key 'finished'"),
        (record("a", status="done"), "'done' is none of ok, diverged, failed"),
    ],
)
def test_a_record_of_another_shape_is_refused(
    tmp_path: Path, broken: dict[str, Any], words: str
) -> None:
    with LedgerWriter(tmp_path) as ledger, pytest.raises(ValueError, match=words):
        ledger.append(broken)


def test_records_come_in_the_order_in_which_they_were_finished(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as one, LedgerWriter(tmp_path) as other:
        one.append(record("b", second=2))
        one.append(record("d", second=4))
        other.append(record("a", second=1))
        other.append(record("c", second=3))
    assert run_ids(tmp_path) == ["a", "b", "c", "d"]


def test_records_of_one_moment_come_in_the_order_of_their_writers(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    folder.mkdir()
    for writer in ("b", "a"):
        line = json.dumps(record(f"by-{writer}", writer=writer))
        (folder / f"{writer}.jsonl").write_text(line + "\n")
    assert run_ids(tmp_path) == ["by-a", "by-b"]


def test_a_last_line_torn_at_any_byte_is_ignored(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as ledger:
        ledger.append(record("a"))
        kept = ledger.path.stat().st_size
        ledger.append(record("b", checkpoint="ü"))
        path = ledger.path
    whole = path.read_bytes()
    for size in range(kept, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert run_ids(tmp_path) == ["a"], size
    for size in (len(whole) - 1, len(whole)):  # all but the line feed, and all
        path.write_bytes(whole[:size])
        assert run_ids(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("line", ['{"run_id": "b", "sta', "", "7", '{"run_id": "b"}', "\0\0\0"])
def test_a_damaged_line_elsewhere_is_an_error_with_place_and_remedy(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "ledger" / "w.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(record("a")) + "\n" + line + "\n" + json.dumps(record("c")) + "\n")
    with pytest.raises(StudyError, match=r"ledger/w\.jsonl:2: .*delete this line"):
        read_ledger(tmp_path)


def test_a_study_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="no such study folder"):
        read_ledger(tmp_path / "nowhere")


def test_a_study_without_a_ledger_has_no_records(tmp_path: Path) -> None:
    assert read_ledger(tmp_path) == []
    assert good_run_ids(tmp_path) == set()


def test_hidden_files_and_files_of_other_names_are_no_ledgers(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "._w.jsonl").write_text("not ours\n")
    (tmp_path / "ledger" / "w.jsonl~").write_text("not ours\n")
    assert read_ledger(tmp_path) == []


def test_the_latest_record_of_a_run_counts_but_never_instead_of_an_ok_one() -> None:
    records = [
        record("a", "failed", 0), record("a", "ok", 1), record("a", "failed", 2),
        record("b", "failed", 3), record("b", "diverged", 4),
        record("c", "ok", 5), record("c", "ok", 6),
    ]  # fmt: skip
    latest = latest_records(records)
    assert {run_id: found["status"] for run_id, found in latest.items()} == {
        "a": "ok",
        "b": "diverged",
        "c": "ok",
    }
    assert latest["c"] is records[-1]


def test_good_runs_are_those_with_an_ok_record(tmp_path: Path) -> None:
    with LedgerWriter(tmp_path) as ledger:
        for number, status in enumerate(["ok", "failed", "diverged", "ok"]):
            ledger.append(record(f"run{number}", status))
    assert good_run_ids(tmp_path) == {"run0", "run3"}


def test_two_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    processes = [start_writer(tmp_path, name, 60) for name in ("a", "b")]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert len([*(tmp_path / "ledger").iterdir()]) == 2
    assert sorted(run_ids(tmp_path)) == sorted(f"{name}{i}" for name in "ab" for i in range(60))


def test_a_killed_writer_loses_at_most_the_record_it_is_writing(tmp_path: Path) -> None:
    with start_writer(tmp_path, "a", 1_000_000) as process:
        assert process.stdout is not None
        for _ in range(20):
            process.stdout.readline()
        process.kill()
        written = 20 + len(process.stdout.readlines())
    found = run_ids(tmp_path)
    assert len(found) in {written, written + 1}
    assert found == [f"a{number}" for number in range(len(found))]


def test_after_a_full_disk_the_next_record_goes_to_a_new_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: the third record does not fit."""
    script = """
import pathlib, resource, signal, sys
from harness.ledger import LedgerWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (25_000, 25_000))
with LedgerWriter(pathlib.Path(sys.argv[1])) as ledger:
    for number in "0123":
        try:
            ledger.append({"run_id": number, "status": "ok", "finished": "", "task": "x" * 10_000})
        except OSError as error:
            print(number, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.startswith("2 ")
    assert "bytes could be written" in done.stdout
    assert sorted(run_ids(tmp_path)) == ["0", "1", "3"]


def test_eighteen_thousand_records_are_read_in_a_few_seconds(tmp_path: Path) -> None:
    values = dict.fromkeys(("accuracy", "f1", "macro_f1", "mcc"), 0.123456789012345)
    scores = {"validation": values, "test": values}
    recipe = {f"knob_{number}": 1e-5 for number in range(20)}
    line = json.dumps(record("0123456789abcdef", scores=scores, recipe=recipe, seconds=recipe))
    (tmp_path / "ledger").mkdir()
    for writer in range(8):
        path = tmp_path / "ledger" / f"w{writer}.jsonl"
        path.write_text((line + "\n") * (18_000 // 8))
    begin = time.perf_counter()
    assert len(read_ledger(tmp_path)) == 18_000
    assert time.perf_counter() - begin < 5  # about 0.5 s on an idle core


def test_records_made_elsewhere_are_written_at_once(tmp_path):
    finished = "2025-01-01T00:00:00+00:00"
    records = [{"run_id": f"{n}", "status": "ok", "finished": finished} for n in range(3)]
    with LedgerWriter(tmp_path) as ledger:
        ledger.append_all(records)
        ledger.append({"run_id": "last", "status": "ok", "finished": finished})
    assert [record["run_id"] for record in read_ledger(tmp_path)] == ["0", "1", "2", "last"]
    assert len(list((tmp_path / "ledger").iterdir())) == 1


def test_of_records_made_elsewhere_a_bad_one_stops_all(tmp_path):
    good = {"run_id": "a", "status": "ok", "finished": "2025-01-01T00:00:00+00:00"}
    with LedgerWriter(tmp_path) as ledger, pytest.raises(ValueError, match="no key 'colour'"):
        ledger.append_all([good, good | {"colour": "red"}])
    assert not (tmp_path / "ledger").exists()
