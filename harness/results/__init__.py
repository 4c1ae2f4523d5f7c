"""A study as pandas frames: its records, its scores, what is missing, and the table."""

from __future__ import annotations

from harness.results.cells import BY_VALIDATION, INCOMPLETE_TOO
from harness.results.frames import NOT_RUN
from harness.results.study import Study, load_study

__all__ = ["BY_VALIDATION", "INCOMPLETE_TOO", "NOT_RUN", "Study", "load_study"]
