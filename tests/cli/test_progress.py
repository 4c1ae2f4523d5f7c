"""A log says how far a study is, and what is left at the pace since its start."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.cli import progress


def test_the_time_left_is_that_of_the_pace_since_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    said = io.StringIO()
    with progress.item_progress(Console(file=said, width=100), "looking") as items:
        now[0] += 50  # what comes before the first run
        items.start(10)
        for seconds in (40, 0, 40):  # two workers that end together
            now[0] += seconds
            items.count("a")
    assert said.getvalue().splitlines() == [
        "1 of 10 runs, about 360 s left",
        "3 of 10 runs, about 187 s left",
    ]
