"""Is a process, such as the one that asked for a run, still there?

A worker whose driver was killed must not append a record any more: the same command, given again,
may have read the ledger by then, and repeats the run. Ray ends such workers within a second or so;
this closes the gap on one machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process that can be told from a later one with the same number.

    `space` names the booted machine and the container in which `pid` means something; it is empty
    where there is no `/proc`, and then nothing is watched. `started` is in clock ticks since boot.
    """

    space: str
    pid: int
    started: str


def this_process() -> Process:
    """Describe the calling process."""
    pid = os.getpid()
    return Process(_space(), pid, _started(pid) or "")


def is_gone(process: Process) -> bool:
    """Say whether a process has ended; False where it can't be seen from here."""
    if not process.space or process.space != _space():
        return False
    return _started(process.pid) != process.started


def is_alive(process: Process) -> bool:
    """Say whether a process can be seen from here, and has not ended."""
    return bool(process.space) and process.space == _space() and not is_gone(process)


def _space() -> str:
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Read when a process began; None where it has ended, even if its parent has not noticed."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
