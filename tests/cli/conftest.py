"""The command line, called as a user calls it but in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from harness.cli import main


@dataclass(frozen=True)
class Said:
    """What a command printed, with white space made even (rich folds lines), and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def harness(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """Give a function that calls `harness` with some arguments."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["harness", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Said(code, " ".join(captured.out.split()), " ".join(captured.err.split()))

    return call
