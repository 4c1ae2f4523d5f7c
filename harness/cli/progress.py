"""Progress with the time left: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LOG_SECONDS = 30.0


class ItemProgress:
    """Counts runs as they come."""

    def __init__(self, console: Console, bar: Progress, words: str) -> None:
        self._console = console
        self._bar = bar
        self._task = bar.add_task(words, total=None)
        self._done = self._total = 0
        self._begun = self._logged = time.monotonic()

    def say(self, what: str) -> None:
        """Replace the words before the bar."""
        self._bar.update(self._task, description=escape(what))

    def start(self, total: int) -> None:
        """Begin counting towards that many runs."""
        self._total = total
        self._begun = time.monotonic()
        self._bar.update(self._task, total=total, completed=0)

    def count(self, name: str) -> None:
        """Count one run, and show its name."""
        self._done += 1
        self._bar.update(self._task, description=escape(name), completed=self._done)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._logged > LOG_SECONDS:
            self._logged = now
            # From the start, as workers end together: the time between two ends says nothing.
            left = (now - self._begun) / self._done * (self._total - self._done)
            self._console.print(f"{self._done} of {self._total} runs, about {left:.0f} s left")


class RunProgress(ItemProgress):
    """Counts records as they come; failures are said at once, by name."""

    def advance(self, record: Mapping[str, Any]) -> None:
        """Count one record."""
        name = f"{record['checkpoint']} on {record['task']}"
        if record["status"] != "ok":
            self._console.print(
                f"[yellow]{record['status']}[/] {escape(name)}: {escape(_fault(record))}"
            )
        self.count(name)


def _fault(record: Mapping[str, Any]) -> str:
    error = record.get("error") or {}
    first_line = str(error.get("message", "")).partition("\n")[0]
    return (
        f"learning rate {record['recipe']['learning_rate']:g}, seed {record['seed']}: "
        f"{error.get('type', '')}: {first_line} (run {record['run_id']})"
    )


@contextmanager
def run_progress(console: Console) -> Iterator[RunProgress]:
    """Show a bar while runs go on."""
    with _bar(console) as bar:
        yield RunProgress(console, bar, "checking")


@contextmanager
def item_progress(console: Console, words: str) -> Iterator[ItemProgress]:
    """Show a bar while finished runs are looked at one after another; `words` stand before it."""
    with _bar(console) as bar:
        yield ItemProgress(console, bar, words)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        disable=not console.is_terminal,
    )
