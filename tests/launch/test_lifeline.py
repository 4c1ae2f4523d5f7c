"""A worker can tell whether its driver is still there."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from harness.launch.lifeline import Process, is_alive, is_gone, this_process

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are watched through /proc"
)

SAY_WHO = "from harness.launch.lifeline import *; print(this_process(), flush=True); input()"


def test_a_living_process_is_not_gone() -> None:
    assert not is_gone(this_process())
    assert is_alive(this_process())


def test_a_killed_process_is_gone_even_before_its_parent_has_noticed() -> None:
    command = [sys.executable, "-c", SAY_WHO]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as child:
        assert child.stdout is not None
        process = eval(child.stdout.readline(), {"Process": Process})
        assert process.pid == child.pid
        assert not is_gone(process)
        child.kill()
        while not is_gone(process):  # a zombie until `wait`
            pass
        child.wait()
        assert is_gone(process)
        assert not is_alive(process)


def test_another_process_with_the_same_number_is_not_mistaken_for_it() -> None:
    assert is_gone(dataclasses.replace(this_process(), started="1"))


def test_a_process_elsewhere_is_not_watched() -> None:
    assert not is_gone(Process(space="another machine", pid=1, started="1"))
    assert not is_gone(Process(space="", pid=1, started="1"))
    assert not is_alive(Process(space="another machine", pid=1, started="1"))
    assert not is_alive(Process(space="", pid=1, started="1"))
