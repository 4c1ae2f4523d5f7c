"""Cores and GPUs are divided between workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.launch.slots import Slots, _quota, count_cores, count_gpus, find_slots
from harness.spec import Checkpoint

SMALL = Checkpoint(name="s", path="s", fingerprint="a" * 16, parameters=22_000_000)
LARGE = Checkpoint(name="l", path="l", fingerprint="b" * 16, parameters=610_000_000)


def test_small_checkpoints_get_a_worker_a_core_with_one_thread_each() -> None:
    assert find_slots([SMALL], cores=8) == Slots(workers=8, threads=1)


def test_one_large_checkpoint_gives_all_runs_all_cores() -> None:
    assert find_slots([SMALL, LARGE], cores=8) == Slots(workers=1, threads=8)


def test_large_checkpoints_share_the_cores_among_the_workers_asked_for() -> None:
    assert find_slots([LARGE], workers=3, cores=8) == Slots(workers=3, threads=2)


def test_a_number_of_threads_that_is_given_decides() -> None:
    assert find_slots([SMALL], threads_per_run=4, cores=8) == Slots(workers=2, threads=4)
    assert find_slots([SMALL], threads_per_run=16, cores=8) == Slots(workers=1, threads=16)


def test_gpus_decide_how_many_workers_there_are() -> None:
    assert find_slots([LARGE], gpus=2, gpus_per_run=0.25, cores=16) == Slots(8, 2, 0.25)
    assert find_slots([LARGE], gpus=2, gpus_per_run=1, cores=16) == Slots(2, 8, 1)


@pytest.mark.parametrize(
    "wrong", [{"threads_per_run": 0}, {"workers": 0}, {"gpus": 1, "gpus_per_run": 1.5}]
)
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"below 1|neither"):
        find_slots([SMALL], **wrong)  # type: ignore[arg-type]


def test_the_quota_of_a_container_is_read_in_whole_cores(tmp_path: Path) -> None:
    file = tmp_path / "cpu.max"
    file.write_text("350000 100000\n")
    assert _quota(file) == 3
    file.write_text("max 100000\n")
    assert _quota(file) > 1000
    assert _quota(tmp_path / "absent") > 1000


def test_this_machine_has_a_core() -> None:
    assert count_cores() >= 1


def test_gpus_are_those_that_torch_counts() -> None:
    import torch

    assert count_gpus() == torch.cuda.device_count()
