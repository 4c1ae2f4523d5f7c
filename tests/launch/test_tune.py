"""Shards through Ray Tune: the same scores as a plain loop, and one run lost a dead worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.execute import StudyLostError, Workplace
from harness.launch.local import run_local
from harness.launch.outcome import Outcome
from harness.launch.plan import Plan, make_plan
from harness.launch.tune import MAX_DEATHS, _connection, run_tune
from harness.ledger import LedgerWriter, latest_records, read_ledger
from tests.launch.recording import recording, workplace_in
from tests.small_study import record_of, small_grid
from tests.small_world import SmallWorld

ROOT = Path(__file__).parents[2]

PATIENCE = {
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_health_check_failure_threshold": "50",
    "RAY_worker_register_timeout_seconds": "300",
}
"""A busy machine must not cost workers that the tests do not kill."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start Ray once for the tests that only record."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENCE.items():
            patch.setenv(name, value)
        with _connection(None, workplace_in(tmp_path_factory.mktemp("cluster")), workers=2):
            yield


def planned(study: Path) -> Plan:
    return make_plan(small_grid(seeds=range(4)), study, workers=2)


def statuses(study: Path) -> Counter[str]:
    return Counter(record["status"] for record in read_ledger(study))


@pytest.mark.usefixtures("cluster")
def test_every_run_is_executed_once_by_workers_that_are_kept(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    seen: list[str] = []

    def note(record: Mapping[str, Any]) -> None:
        seen.append(record["run_id"])

    outcome = run_tune(
        plan, workplace_in(tmp_path), workers=2, on_record=note, make_worker=recording()
    )
    assert outcome == Outcome(ok=32)
    assert sorted(seen) == sorted(run.run_id for run in plan.runs)
    assert len(plan.shards) == 8
    # a writer is a worker: at most two for eight shards, and nothing of Ray's in the study
    assert len({record["writer"] for record in read_ledger(tmp_path)}) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


@pytest.mark.usefixtures("cluster")
def test_a_dead_worker_and_a_lost_device_cost_one_run_each(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    dead, broken = (plan.shards[place].runs[1].run_id for place in (0, 4))
    worker = recording(dies_at=dead, breaks_at=broken)
    outcome = run_tune(plan, workplace_in(tmp_path), make_worker=worker)
    records = read_ledger(tmp_path)
    faults = {r["run_id"]: r.get("error") for r in records if r["status"] != "ok"}
    assert faults.keys() == {dead, broken}, faults
    assert faults[dead]["type"] == "WorkerDied"
    assert outcome == Outcome(ok=30, failed=2)
    assert len(records) == 32


@pytest.mark.usefixtures("cluster")
def test_a_run_that_another_driver_does_meanwhile_is_not_repeated(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    theirs = plan.shards[-1].runs[0]
    with LedgerWriter(tmp_path) as another:  # after the plan, before the workers are there
        another.append(record_of(theirs, 0.5, 0.5))
    outcome = run_tune(plan, workplace_in(tmp_path), workers=2, make_worker=recording())
    assert outcome == Outcome(ok=32)
    assert len(read_ledger(tmp_path)) == 32


@pytest.mark.usefixtures("cluster")
def test_a_study_that_can_not_be_written_ends_all_shards_at_once(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    worker = recording(0.5, full_at=plan.shards[0].runs[0].run_id)
    with pytest.raises(StudyLostError, match=r"^No space left on device$"):
        run_tune(plan, workplace_in(tmp_path), workers=1, make_worker=worker)
    assert len(read_ledger(tmp_path)) < len(plan.shards)


@pytest.mark.usefixtures("cluster")
def test_a_fault_outside_of_any_run_is_raised_and_recorded_of_no_run(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    worker = recording(raises_at=plan.shards[0].runs[1].run_id)
    with pytest.raises(RuntimeError, match="no space left on device"):
        run_tune(plan, workplace_in(tmp_path), make_worker=worker)
    assert statuses(tmp_path).keys() == {"ok"}
    rest = planned(tmp_path)
    assert 0 < rest.to_run <= len(plan.shards[0])
    assert run_tune(rest, workplace_in(tmp_path), make_worker=recording()).left == 0


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_fault_of_who_is_told_ends_the_study(tmp_path: Path) -> None:
    def broken(_: Mapping[str, Any]) -> None:
        raise OSError("the pipe is closed")

    with pytest.raises(OSError, match="the pipe is closed"):
        run_tune(
            planned(tmp_path),
            workplace_in(tmp_path),
            on_record=broken,
            make_worker=recording(0.05),
        )


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_shard_whose_workers_all_die_is_given_up(tmp_path: Path) -> None:
    plan = make_plan(small_grid(seeds=range(5)), tmp_path)
    outcome = run_tune(plan, workplace_in(tmp_path), make_worker=recording(dies_always=True))
    assert outcome.failed == MAX_DEATHS * len(plan.shards)
    assert outcome.left == plan.to_run - outcome.failed


@pytest.mark.usefixtures("cluster")
def test_a_plain_loop_and_ray_give_the_same_scores_to_the_last_digit(
    world: SmallWorld, tmp_path: Path
) -> None:
    grid = world.grid("toy_sentiment", "toy_entities", rates=(1e-3, 3e-3), seeds=(0, 1))
    scores = []
    for name in ("loop", "ray"):
        study = tmp_path / name
        study.mkdir()
        plan = make_plan(grid, study, workers=2)
        workplace: Workplace = world.workplace(study)
        if name == "loop":
            outcome = run_local(plan, workplace)
        else:
            outcome = run_tune(plan, workplace, workers=2)
        assert outcome == Outcome(ok=8)
        records = latest_records(read_ledger(study))
        scores.append({run_id: record["scores"] for run_id, record in records.items()})
    assert scores[0] == scores[1]


# --- a driver that is stopped ---------------------------------------------------------------


def start_driver(study: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a driver of 160 runs, and wait until six of them have a record."""
    study.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.launch.recording", str(study), str(seconds)]
    driver = subprocess.Popen(command, cwd=ROOT, stdout=-1, text=True, start_new_session=True)
    assert driver.stdout is not None
    told = 0
    while told < 6:
        line = driver.stdout.readline()
        assert line, "the driver ended before it was stopped"
        told += line.startswith("record")
    return driver


def finish(study: Path) -> None:
    """Give the same command again; nothing is done twice and nothing is left."""
    before = len(read_ledger(study))
    command = [sys.executable, "-m", "tests.launch.recording", str(study), "0.01"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"planned {160 - before}\n" in done.stdout
    assert f"Outcome(ok={160 - before}, diverged=0, failed=0, blocked=0, left=0" in done.stdout
    times = Counter(record["run_id"] for record in read_ledger(study))
    assert len(times) == 160
    assert set(times.values()) == {1}


@pytest.mark.slow
def test_a_killed_driver_takes_its_workers_with_it_and_no_run_is_done_twice(tmp_path: Path) -> None:
    with start_driver(tmp_path / "study", 0.2) as driver:
        driver.kill()
        time.sleep(2)
        recorded = len(read_ledger(tmp_path / "study"))
        time.sleep(2)
        assert len(read_ledger(tmp_path / "study")) == recorded < 160
    finish(tmp_path / "study")


@pytest.mark.slow
@pytest.mark.parametrize("whole_group", [False, True])
def test_ctrl_c_ends_a_study_cleanly_and_it_can_go_on(tmp_path: Path, whole_group: bool) -> None:
    with start_driver(tmp_path / "study", 0.2) as driver:
        stop = os.killpg if whole_group else os.kill  # a terminal sends it to the whole group
        stop(driver.pid, signal.SIGINT)
        output, _ = driver.communicate(timeout=60)
    recorded = len(read_ledger(tmp_path / "study"))
    assert driver.returncode == 0
    assert "stopping" in output
    left = 160 - recorded
    assert (
        f"Outcome(ok={recorded}, diverged=0, failed=0, blocked=0, left={left}, interrupted=True)"
        in output
    )
    finish(tmp_path / "study")
